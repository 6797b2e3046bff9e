#!/usr/bin/env bash
# The libraries keep the ABIs that are stored here; and scripts/abi, which says so, is right: it is asked about a small
# library before and after each kind of change. Prints TAP. NAY_SOURCE and NAY_BUILD are set by ctest.
set -uo pipefail
source_dir=${NAY_SOURCE:?} build=${NAY_BUILD:?}
. "$source_dir/tests/support/tap.sh"
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
if ! command -v abidw >/dev/null || [ "$(uname -m)" != x86_64 ]; then
  echo "ok 1 - the ABI # skip no abidw (make deps TIER=long), or not x86-64"; echo 1..1; exit 0
fi

ok "libnay.so and libnaysst.so are compatible with the stored ABIs" "$source_dir/scripts/abi" check "$build"
no_paths() { ! grep -n "='/" "$source_dir"/tests/abi/*.abi; }
ok "the stored ABIs have no absolute path" no_paths
all_exports() { # those of the build; a function that was added after the dump may be missing
  comm -23 <("$source_dir/scripts/abi" symbols | tr -d ' ;' | sort) \
    <(nm -D --defined-only "$build/libnay.so" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | sort) >"$scratch/removed" &&
    [ ! -s "$scratch/removed" ] && "$source_dir/scripts/abi" symbols | grep -x '    nay_filter_add;'
}
ok "scripts/abi symbols lists functions of the library" all_exports

# ---- a library as small as can be, and its changes ----
mkdir "$scratch/old"
cat >"$scratch/old/toy.h" <<'H'
#include <stddef.h>
#include <stdint.h>
typedef enum toy_kind { TOY_A = 1, TOY_B = 2 } toy_kind;
/* a caller says how much of it there is */
typedef struct toy_params {
  size_t size;
  uint64_t nkeys; /* and more */
  toy_kind kind;
} toy_params;
typedef struct toy_hash {
  uint64_t lo, hi;
} toy_hash;
typedef struct toy toy;
int toy_new(const toy_params *params, toy **made);
toy_hash toy_hash_of(const toy *t, const void *key, size_t len);
void toy_free(toy *t);
H
cat >"$scratch/old/toy.c" <<'C'
#include "toy.h"
struct toy {
  int a;
};
int toy_new(const toy_params *params, toy **made) { return params == NULL || made == NULL; }
toy_hash toy_hash_of(const toy *t, const void *key, size_t len) {
  toy_hash h = {t != NULL, key != NULL ? len : 0};
  return h;
}
void toy_free(toy *t) { (void)t; }
C
library() { # directory: compiles it and writes its ABI
  (cd "$scratch/$1" && gcc -g -O1 -fPIC -shared -Wl,-soname,"${2:-libtoy.so.1}" toy.c -o libtoy.so) &&
    "$source_dir/scripts/abi" write "$scratch/$1/libtoy.so" "$scratch/$1" "$scratch/$1/toy.abi"
}
verdict() { # directory: what scripts/abi says of the change from old to it, as an exit status
  "$source_dir/scripts/abi" compare "$scratch/old/toy.abi" "$scratch/$1/toy.abi"
}
changed() { # name sed-program...: a copy of the library, changed; each program must change a file
  local name=$1; shift
  cp -R "$scratch/old" "$scratch/$name" && rm "$scratch/$name/toy.abi"
  for program in "$@"; do
    sed -i "$program" "$scratch/$name"/toy.[ch]
  done
  if cmp -s "$scratch/old/toy.h" "$scratch/$name/toy.h" && cmp -s "$scratch/old/toy.c" "$scratch/$name/toy.c"; then
    echo "nothing changed"; return 1
  fi
}
passes() { changed "$@" && library "$1" && verdict "$1"; }
fails() { changed "$@" && library "$1" && { verdict "$1"; [ $(($? & 12)) -ne 0 ]; }; }
ok "the small library" library old
ok "unchanged: passes" verdict old

ok "a new function: passes" passes function '$a int toy_more(toy *t);' '/^void toy_free.*{/a int toy_more(toy *t) { return t != NULL; }'
ok "a new constant at the end of an enum: passes" passes constant 's/TOY_B = 2/TOY_B = 2, TOY_C = 3/'
ok "a field at the end of a struct with a size: passes" passes appended 's/^  toy_kind kind;/&\n  uint64_t more[2];/'
ok "a private struct: passes" passes private 's/^  int a;/  double a, b;/'

ok "a function that is gone: fails" fails gone '/toy_free/d'
ok "a function under another name: fails" fails renamed 's/toy_free/toy_release/'
ok "one more parameter: fails" fails parameter 's/toy_free(toy \*t)/toy_free(toy *t, int how)/'
ok "another type of a parameter: fails" fails narrower 's/size_t len/uint32_t len/'
ok "another type of a result: fails" fails result 's/^void toy_free(toy \*t) *{.*/long toy_free(toy *t) { return t != NULL; }/; s/^void toy_free/long toy_free/'
ok "a field at the end of a struct without a size: fails" fails unsized 's/uint64_t lo, hi;/uint64_t lo, hi, more;/'
ok "a field in the middle of a struct with a size: fails" fails middle 's/^  toy_kind kind;/  uint64_t more;\n&/'
ok "a field in the padding at the end of a struct with a size: fails" fails padding 's/^  toy_kind kind;/&\n  uint32_t more;/'
ok "a struct with a size that shrinks: fails" fails shrunk '/^  toy_kind kind;/d'
ok "a field behind the end, and another one wider: fails" fails both 's/^  toy_kind kind;/  uint64_t kind, more;/'
ok "a field that is gone: fails" fails field '/nkeys/d'
ok "a wider field: fails" fails wider 's/^  toy_kind kind;/  uint64_t kind;/'
ok "two fields that change places: fails" fails swapped 's/^  uint64_t nkeys;.*/  toy_kind kind;/;t;s/^  toy_kind kind;/  uint64_t nkeys;/'
ok "a constant with another value: fails" fails renumbered 's/TOY_B = 2/TOY_B = 3/'
ok "a constant that is gone: fails" fails constant_gone 's/, TOY_B = 2//'
soname() { changed soname '1s/^/\n/' && library soname libtoy.so.2 && { verdict soname; [ $? -ne 0 ]; }; }
ok "another SONAME: fails" soname
without_debug() {
  cp -R "$scratch/old" "$scratch/bare" && (cd "$scratch/bare" && gcc -fPIC -shared toy.c -o libtoy.so) &&
    ! "$source_dir/scripts/abi" write "$scratch/bare/libtoy.so" "$scratch/bare" "$scratch/bare/toy.abi"
}
ok "a library without debug information: an error" without_debug

tap_end
