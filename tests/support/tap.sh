# tap.sh - sourced by tests that are shell scripts: counts and prints TAP.
# shellcheck shell=bash
n=0 failed=0

ok() { # description command...: passes when the command does
  local what=$1 out; shift; n=$((n + 1))
  if out=$("$@" 2>&1); then echo "ok $n - $what"; return; fi
  failed=1
  echo "not ok $n - $what"; printf '%s\n' "$out" | head -n 60 | sed 's/^/# /'
}

tap_end() { # the last command of the script
  echo "1..$n"
  exit "$failed"
}
