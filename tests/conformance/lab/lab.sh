#!/usr/bin/env bash
# The lab's program in each language: all print the same lines. TAP.
set -uo pipefail
build=${NAY_BUILD:?} source=${NAY_SOURCE:?}
here=$source/tests/conformance/lab
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
printf '%s\n' 070000001400000000000000b2a609 "union: 600 of 600 members, 36 of 4000 others" "remove: not supported" >"$scratch/expected"
n=0 failed=0
same() { # language command...: a command that is not there is skipped
  local language=$1; shift; n=$((n + 1))
  if ! "$@" >"$scratch/out" 2>"$scratch/err" && [ ! -s "$scratch/err" ]; then
    echo "ok $n - $language # SKIP its tools are not here"; return
  fi
  if cmp -s "$scratch/out" "$scratch/expected"; then echo "ok $n - $language"; else
    echo "not ok $n - $language"; failed=1; cat "$scratch/out" "$scratch/err" | head -n 30 | sed 's/^/# /'; fi
}
same C "$build/tests/conformance/lab_c"
same C++ "$build/bindings/cpp/lab_cpp"
same Rust "$source/bindings/rust/test_rust.sh" lab
same Go "$source/bindings/go/test_go.sh" lab
same Python "$source/bindings/python/tests/run" "$here/lab.py"
javascript() {
  [ -f "$source/build/wasm/libnay/index.js" ] && command -v node >/dev/null || return 1
  mkdir -p "$scratch/node_modules" && ln -sfn "$source/build/wasm/libnay" "$scratch/node_modules/libnay" &&
    cp "$here/lab.mjs" "$scratch/" && (cd "$scratch" && node lab.mjs)
}
same JavaScript javascript
echo "1..$n"
exit $failed
