#!/usr/bin/env bash
# scripts/demo with the programs of this build: it ends well, no step is missing, and what it shows is what it says.
# NAY_SOURCE and NAY_BUILD are set by ctest. Prints TAP.
set -uo pipefail
. "${NAY_SOURCE:?}/tests/support/tap.sh"
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
shown=$scratch/shown
if [ ! -r /usr/share/dict/words ] && [ ! -r /usr/share/dict/american-english-insane ]; then
  echo "ok 1 - the demo # SKIP no word list"; echo 1..1; exit 0
fi

runs() { TMPDIR=$scratch "$NAY_SOURCE/scripts/demo" "${NAY_BUILD:?}" >"$shown" 2>&1 </dev/null || { tail -n 20 "$shown"; return 1; }; }
ok "scripts/demo ends without an error" runs
steps() { [ "$(grep -cE '^[0-9]+\. ' "$shown")" = "$(grep -c '^step ' "$NAY_SOURCE/scripts/demo")" ]; }
ok "every step is shown" steps
says() { grep -qE -- "$1" "$shown" || { echo "no line has: $1"; return 1; }; }
ok "real words come through" says '^serendipity$'
ok "a word that is none is certainly absent" says '^blorptastic$'
ok "the damaged file gives no answers" says 'exit status [1-9]: a corrupt file gives no answers'
ok "merged halves have the bytes of the whole" says '^the same bytes as building it at once$'
spared() { # the blocks that lookups read with filters, and without
  local with without
  with=$(sed -n 's/^with filters: \([0-9]*\) blocks read$/\1/p' "$shown")
  without=$(sed -n 's/^without filters: \([0-9]*\) blocks read$/\1/p' "$shown")
  echo "$with of $without blocks read"
  [ "$((20 * with))" -lt "$without" ]
}
ok "filters spare nineteen blocks of twenty" spared
if [ -e /usr/include/leveldb/filter_policy.h ] && command -v g++ >/dev/null; then
  all_words() { awk '/^LevelDB: / { if (!first) first = $2 == $4 && $2 > 1000 } END { exit !first }' "$shown"; }
  ok "LevelDB itself finds every word" all_words
fi
quiet() { ! grep -E 'command not found|No such file|[Ss]egmentation|Traceback|Permission denied' "$shown"; }
ok "nothing is missing on the way" quiet
clean() { [ -z "$(ls -d "$scratch"/nay-demo.* 2>/dev/null)" ]; }
ok "it leaves nothing behind" clean
tap_end
