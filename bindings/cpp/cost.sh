#!/usr/bin/env bash
# Instructions of a call through nay.hpp and of the same call of C, counted by valgrind; prints TAP.
set -uo pipefail
program=$1 n=100000
command -v valgrind >/dev/null || { echo "ok 1 - cost # SKIP no valgrind here (make deps TIER=test)"; echo "1..1"; exit 0; }
count() { # c|cpp what n
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
failed=0 i=0
for what in has add; do
  i=$((i + 1))
  for side in c cpp; do # the difference of two runs: what the program does beside the calls is in both
    declare "$side=$(($(count $side $what $((2 * n))) - $(count $side $what $n)))"
  done
  line="$what: C $((c / n)).$((c % n * 10 / n)) instructions a call, C++ $((cpp / n)).$((cpp % n * 10 / n))"
  # shellcheck disable=SC2154
  if [ "$c" -gt $((10 * n)) ] && [ $((cpp - c)) -le $((n * ${2:-0})) ]; then echo "ok $i - $line"; else echo "not ok $i - $line"; failed=1; fi
done
echo "1..$i"
exit $failed
