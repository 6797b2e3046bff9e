#!/usr/bin/env bash
# Consumes the library as two files, nay.c and nay.h: a program of a user prints what it does when it
# is linked with libnay.a. Prints TAP. An argument: with further compilers' flags (long).
# NAY_SOURCE and NAY_BUILD are set by ctest.
set -uo pipefail
source_dir=${NAY_SOURCE:?} build=${NAY_BUILD:?}
. "$source_dir/tests/support/tap.sh"
here=$source_dir/tests/install
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
cached=()
command -v ccache >/dev/null && cached=(ccache) # what was compiled before need not be again

reference() {
  gcc -O1 -I"$source_dir/include" "$here/consumer.c" "$build/libnay.a" -o "$scratch/reference" &&
    "$scratch/reference" >"$scratch/expected" && [ "$(wc -l <"$scratch/expected")" -gt 20 ]
}
ok "a program linked with the build's libnay.a works" reference

dist=$scratch/dist warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wvla
  -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Werror)
amalgamate() {
  python3 "$source_dir/tools/amalgamate.py" "$dist" && python3 "$source_dir/tools/amalgamate.py" "$dist.again" &&
    diff -r "$dist" "$dist.again" && [ "$(ls "$dist" | paste -sd' ')" = "nay.c nay.h" ]
}
ok "two files, the same bytes twice" amalgamate
amalgamate_prints() { # make amalgamation says what it wrote
  diff <(printf 'wrote %s: %s bytes\n' "$dist/nay.h" "$(wc -c <"$dist/nay.h")" "$dist/nay.c" "$(wc -c <"$dist/nay.c")") \
    <(python3 "$source_dir/tools/amalgamate.py" "$dist" | sed -E 's/: [0-9,]+ lines,/:/; s/,//g')
}
ok "the files are named, with their sizes" amalgamate_prints
compiled() { # compiler and flags: without warnings, and a program prints the same
  local out=$scratch/amalgam
  (cd "$dist" && "${cached[@]}" "$@" "${warnings[@]}" -c nay.c -o "$out.o") &&
    "$1" -DNAY_AMALGAMATED -I"$dist" "$here/consumer.c" "$out.o" -o "$out" && "$out" >"$scratch/out" &&
    diff "$scratch/expected" "$scratch/out"
}
if [ $# -gt 0 ]; then
  ok "gcc -O2" compiled gcc -O2
  ok "gcc -O3 -march=native, C11" compiled gcc -O3 -march=native -std=c11
  ok "gcc -O2 -march=native, fused multiply-add allowed" compiled gcc -O2 -march=native
  ok "clang -O2, C11" compiled clang -O2 -std=c11
  ok "clang -O2 -march=native" compiled clang -O2 -march=native
fi
ok "gcc -O1, as an object of a shared library" compiled gcc -O1 -std=c11 -fPIC -fvisibility=hidden -DNAY_SHARED
both() { # libnaysst as well: four files, whose names do not clash
  python3 "$source_dir/tools/amalgamate.py" --sst "$dist.both" &&
    (cd "$dist.both" && "${cached[@]}" gcc -O1 "${warnings[@]}" -Wno-inline -c naysst.c -o naysst.o) &&
    sed 's/<nay_sst.h>/"naysst.h"/' "$here/sst_consumer.c" >"$dist.both/program.c" &&
    (cd "$dist.both" && gcc program.c naysst.o "$scratch/amalgam.o" -o program && [ "$(./program)" = "ada: 1815" ])
}
ok "tables: naysst.c beside nay.c" both
from_cpp() {
  g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$dist" "$here/consumer.cpp" "$scratch/amalgam.o" -o "$scratch/cpp" &&
    [ "$("$scratch/cpp")" = nay ]
}
ok "from C++17" from_cpp
public_names() { # of the libraries that a user makes of it
  (cd "$dist" && gcc -shared "$scratch/amalgam.o" -o libnay.so && ar rcs libnay.a "$scratch/amalgam.o") &&
    "$source_dir/tools/check_symbols.sh" --unversioned "$dist"
}
ok "only the public names are exported" public_names

tap_end
