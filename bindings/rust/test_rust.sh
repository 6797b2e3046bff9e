#!/usr/bin/env bash
# The tests of the Rust crates, as TAP: tests, doctests, examples; with the argument `rust` or `rust_pure` that runner of the
# conformance kit, with `bundled` a program with the amalgamation inside. Debian's cargo, offline; writes below the build
# directory alone.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
build=${NAY_BUILD:?} source=${NAY_SOURCE:?}
bin=/usr/bin; [ -x $bin/cargo ] && [ -x $bin/rustc ] || bin=$(dirname "$(command -v cargo || echo /none/cargo)")
if [ ! -x "$bin/cargo" ]; then echo "ok 1 - cargo # SKIP no cargo here (make deps TIER=test)"; echo "1..1"; exit 0; fi
export RUSTC=$bin/rustc RUSTDOC=$bin/rustdoc CARGO_TARGET_DIR=$build/rust/target CARGO_HOME=$build/rust/home CARGO_NET_OFFLINE=true
export NAY_LIB_DIR=$build LD_LIBRARY_PATH=$build NAY_CONFORMANCE=$source/tests/conformance RUSTFLAGS="-D warnings"
unset CARGO_BUILD_TARGET RUSTC_WRAPPER
mkdir -p "$CARGO_HOME"
failed=0 n=0
tap() { # description command...
  n=$((n + 1)); local what=$1 out; shift
  if out=$("$@" 2>&1); then echo "ok $n - $what"; else
    echo "not ok $n - $what"; printf '%s\n' "$out" | head -n 60 | sed 's/^/# /'; failed=1; fi
}
cargo() { "$bin/cargo" "$@"; }
example() { cargo run -q --locked -p nay --example "$1"; }

case ${1:-} in
  rust | rust_pure)
    tests=conformance; [ "$1" = rust_pure ] && tests=conformance_pure
    export NAY_TAP=$build/rust/tap; mkdir -p "$NAY_TAP"; rm -f "$NAY_TAP/$1"
    out=$(cargo test -q --locked -p nay --test "$tests" 2>&1); status=$?
    if [ -s "$NAY_TAP/$1" ]; then cat "$NAY_TAP/$1"; else printf '%s\n' "$out" | sed 's/^/# /'; echo "not ok 1 - cargo"; echo 1..1; fi
    exit $status ;;
  lab) example lab; exit ;; # tests/conformance/lab/lab.sh compares what it prints
  bundled)
    export NAY_AMALGAMATION=$build/rust/amalgamation
    tap "the amalgamation" "$source/tools/amalgamate.py" "$NAY_AMALGAMATION"
    tap "cargo test --features bundled" env -u NAY_LIB_DIR -u LD_LIBRARY_PATH \
      "$bin/cargo" test -q --locked -p nay --features bundled --test filters ;;
  *)
    tap "cargo test: filters, doctests, what must not compile" cargo test -q --locked --workspace
    tap "examples/bloom_filter.rs" example bloom_filter
    tap "examples/mini_lsm_bloom.rs, mini-lsm's bytes" example mini_lsm_bloom ;;
esac
echo "1..$n"
exit $failed
