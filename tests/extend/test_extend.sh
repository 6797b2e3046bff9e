#!/usr/bin/env bash
# A new family, format or command is one file and one line (ARCHITECTURE.md, "Where a new thing
# goes"), a format also one page, with its test vector: adds the three of toy/ to a copy of the tree
# by these steps alone, builds it and uses them. The format has a hash and a probing scheme that are
# nowhere else. Prints TAP. NAY_SOURCE is set by ctest.
set -uo pipefail
source_dir=${NAY_SOURCE:?}
. "$source_dir/tests/support/tap.sh"
toys=$source_dir/tests/extend/toy
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree nay=$scratch/build/nay/cli/nay
if command -v ccache >/dev/null; then
  # the copy lies elsewhere each time: with relative paths its objects are found again
  export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1
fi

# ---- the steps ----
parts=(src include plugins/codecs cli cmake doc tools web tests/contract tests/support tests/unit tests/golden/golden.h CMakeLists.txt LICENSE)
copy() { # the parts of the tree that the build, the amalgamation and the contract tests need
  mkdir -p "$tree/tests/golden" "$tree/plugins" && for part in "${parts[@]}"; do cp -R "$source_dir/$part" "$tree/$part" || return 1; done
}
add_line() { # header line: the first of the list, after the #define
  sed -i "/^#define NAY_[A-Z]*S(X)/a\\  $2 \\\\" "$tree/$1"
}
add_toys() {
  cp "$toys/toy.c" "$tree/src/family/" && add_line src/family/families.h "X(toy)" &&
    cp "$toys/fmt_toy.c" "$tree/src/format/" && add_line src/format/format.h "X(toy, toy)" &&
    cp "$toys/toy.md" "$tree/doc/formats/" &&
    cp "$toys/cmd_toy.c" "$tree/cli/" && add_line cli/commands.h "X(toy)"
}
steps_alone() { # three files and a page more, three lines more, nothing else
  local part
  for part in "${parts[@]}"; do diff -rU0 "$source_dir/$part" "$tree/$part"; done >"$scratch/changes"
  diff - <(grep -E '^(Only|[-+] )' "$scratch/changes" | sed -e "s|$scratch/||" -e 's/ *\\$//' | LC_ALL=C sort) <<'EXPECTED'
+  X(toy)
+  X(toy)
+  X(toy, toy)
Only in tree/cli: cmd_toy.c
Only in tree/doc/formats: toy.md
Only in tree/src/family: toy.c
Only in tree/src/format: fmt_toy.c
EXPECTED
}
ok "the tree can be copied" copy
ok "a family, a format, a command: a file and a line each" add_toys
ok "and nothing else has changed" steps_alone

# ---- the build: nay as a part of another project, so that tests and plug-ins stay out ----
build() {
  printf '%s\n' 'cmake_minimum_required(VERSION 3.21)' 'project(extend C)' 'add_subdirectory(tree nay)' \
    'target_compile_options(nay_objects PRIVATE -Wall -Wextra -Werror)' >"$scratch/CMakeLists.txt"
  cmake -S "$scratch" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 \
    -DNAY_CLI=ON -DNAY_TESTS=OFF -DNAY_INSTALL=OFF && cmake --build "$scratch/build" --target nay
}
ok "library and command build without a warning" build
[ "$failed" = 1 ] && tap_end
cd "$scratch" || exit 1
amalgamated() { # the names of the files come from the registries there as well
  python3 "$tree/tools/amalgamate.py" dist && grep -q '^const nay_family nay__family_toy' dist/nay.c &&
    grep -q '^const nay_format nay__format_toy' dist/nay.c
}
ok "the amalgamation has the family and the format" amalgamated

# ---- the family ----
has() { # text command...: the output has the text
  local text=$1 out; shift
  out=$("$@" 2>&1); case $out in *"$text"*) ;; *) printf '%s\n' "no '$text' in" "$out"; return 1 ;; esac
}
seq 1000 >keys; seq 2001 3000 >absent
ok "nay --version --json lists the family" has '"toy"' "$nay" --version --json
ok "nay plan has a row for it" has '100.0%' "$nay" plan -t toy -n 1000 --no-measure
ok "nay plan of all families has it too" has '  toy ' "$nay" plan -n 1000 --no-measure
always_maybe() {
  "$nay" build -q -t toy -n 1000 -o toy.nay <keys && cp toy.nay other.nay && "$nay" check toy.nay <keys | cmp - keys &&
    "$nay" check toy.nay <absent | cmp - absent
}
ok "nay build and nay check: maybe for every key" always_maybe
ok "nay info names it" has toy "$nay" info toy.nay
ok "and does not call a filter of no keys overfilled" has $'of 1,000 planned (0%)\n' "$nay" info toy.nay
ok "nay verify accepts its file" "$nay" verify toy.nay
ok "nay merge refuses what it lacks" has "filter does not support merge" "$nay" merge toy.nay other.nay -o merged.nay
contract() { # compiles and runs tests/contract/test_answers.c, which goes over the registry
  ${CMAKE_C_COMPILER_LAUNCHER:-} cc -O1 -D_GNU_SOURCE -I"$tree/tests" -I"$tree/src" -I"$tree/include" \
    -c "$tree/tests/contract/test_answers.c" -o answers.o &&
    cc answers.o build/nay/libnay.a -lcmocka -lpthread -lm -o answers || return 1
  CMOCKA_MESSAGE_OUTPUT=TAP ./answers >answers.tap 2>&1
  grep -q '^ok.* toy: no_false_nay_when_built$' answers.tap || { cat answers.tap; return 1; }
}
ok "the contract tests run with it" contract
# Six promises need a filter that answers nay to some key; the tests find that this one does not.
breaks_these_alone() {
  diff - <(sed -n 's/^not ok.* toy: //p' answers.tap | LC_ALL=C sort) <<'EXPECTED'
add_tells_what_is_new
builds_keep_the_rate
every_length_is_another_key
the_empty_filter_is_soon_overloaded
the_empty_filter_says_nay
the_key_of_no_bytes_is_a_key
EXPECTED
}
ok "contract: it keeps all promises but those that need a nay" breaks_these_alone
others_keep_it() { ! grep '^not ok' answers.tap | grep -v ' toy: '; }
ok "contract: the other families keep it" others_keep_it

# ---- the format ----
ok "nay --version --json lists the format" has '"toy-format"' "$nay" --version --json
round_trip() { # bytes -> filter -> bytes
  "$nay" build -q --format toy-format -n 1000 -b 10 -o a.toy <keys && "$nay" check a.toy <keys | cmp - keys &&
    "$nay" convert -q --to toy-format a.toy -o b.toy && cmp a.toy b.toy && [ "$(head -c 4 a.toy)" = TOY1 ]
}
ok "the format is recognised and round-trips" round_trip
refused() { head -c 20 a.toy >cut.toy && ! "$nay" info cut.toy 2>message && has "m does not fit" cat message; }
ok "and a file that is cut is refused" refused
named_wrong() {
  "$nay" check --format leveldb a.toy <keys 2>message; [ $? = 3 ] && has "the layout is toy-format by its magic number" cat message
}
ok "its magic number outweighs another name" named_wrong
ok "nay info names it" has "the filter of no system" "$nay" info a.toy
info_json() { "$nay" info --json a.toy | grep -q '"hash":"toy-hash"'; }
ok "and its hash" info_json
few() { # at 10 bits per key about 1% of absent keys are maybes
  local n; n=$("$nay" check -c a.toy <absent); [ "$n" -gt 0 ] && [ "$n" -lt 50 ] || { echo "$n of 1000"; return 1; }
}
ok "its probing scheme keeps the FPR" few
explained() { # six bits, each with its place, and the answer of nay check
  "$nay" explain --json a.toy -e 7 >why && [ "$(grep -o '"step":"bit"' why | wc -l)" = 6 ] && grep -q '"maybe":true' why &&
    ! grep -q '"found":0' why
}
ok "nay explain tells the bits of a key" explained
model() { # nay explain against nay check, over all layouts
  mkdir model && (cd model && PATH=$(dirname "$nay"):$PATH python3 "$source_dir/tests/cli/explain_model.py")
}
ok "and the model of explanations holds for it" model
converts() { # keys cannot be got out of a filter: another layout needs them
  "$nay" convert -q --to leveldb a.toy -o c.ldb 2>message && return 1
  has "--keys" cat message && "$nay" convert -q --to leveldb --keys keys a.toy -o c.ldb && "$nay" check --format leveldb c.ldb <keys | cmp - keys
}
ok "nay convert refuses another layout without the keys" converts
merges() {
  "$nay" build -q --format toy-format -n 1000 -b 10 -o d.toy <absent && "$nay" merge -q a.toy d.toy -o e.toy &&
    cat keys absent | "$nay" check -c e.toy | grep -qx 2000
}
ok "two of its filters merge" merges
ok "nay man lists it" has '`toy-format`' "$nay" man --markdown
vector() { # the bytes of doc/formats/toy.md, which a model in another language made
  ${CMAKE_C_COMPILER_LAUNCHER:-} cc -O1 -D_GNU_SOURCE -DTEST_SOURCE="\"$tree\"" -I"$tree/tests" -I"$tree/src" -I"$tree/include" \
    "$tree/tests/unit/test_format_doc.c" build/nay/libnay.a -lcmocka -lpthread -lm -o doc &&
    CMOCKA_TEST_FILTER=examples CMOCKA_MESSAGE_OUTPUT=TAP ./doc >doc.tap 2>&1
  grep -q '^ok.*examples_are_what_the_library_writes' doc.tap || { cat doc.tap; return 1; }
}
ok "the library writes the test vector of its page" vector
if command -v wasm-ld wasm-opt clang ninja node >/dev/null; then
  wasm() { # the module of all layouts, in node
    "$tree/web/wasm/build" "$scratch/wasm" libnay/libnay-full.wasm && cat >wasm.mjs <<'SCRIPT' && node wasm.mjs
import { load } from './wasm/libnay/index.js';
import { readFileSync } from 'node:fs';
const nay = await load({ full: true, simd: false });
const bytes = readFileSync('a.toy');
const filter = nay.formats.open('toy-format', bytes);
const is = nay.formats.recognise(bytes) === 'toy-format' && filter.has('7') &&
  Buffer.from(nay.formats.encode('toy-format', filter)).equals(bytes);
process.exit(is ? 0 : 1);
SCRIPT
  }
  ok "and the WebAssembly module reads and writes it" wasm
fi

# ---- the command ----
says() { # output arguments...
  local want=$1; shift; [ "$("$nay" toy "$@")" = "$want" ]
}
ok "the command runs with an option of its own" says $'toy play\ntoy play' play --times 2
ok "whose value has a default" says 'toy play' play
ok "and with another, by its letter" says $'hey rest' rest -g hey
ok "and with one that it shares" says '{"schema":"nay.toy/1","times":3,"greeting":"hey"}' play --times=3 --greeting=hey --json
own_struct() { # every field that it fills is declared in its file
  ! grep -hoE '_AT\([a-z_]+' "$tree/cli/cmd_toy.c" | grep -v 'toy_options'
}
ok "its options fill its own struct" own_struct
wrong_type() { # a row that fills a field of another type does not compile
  sed 's/COUNT_AT(toy_options, times)/COUNT_AT(toy_options, greeting)/' "$tree/cli/cmd_toy.c" >"$tree/cli/wrong.c" &&
    ! cc -std=c11 -fsyntax-only -I"$tree/cli" -I"$tree/include" "$tree/cli/wrong.c" 2>/dev/null &&
    cc -std=c11 -fsyntax-only -I"$tree/cli" -I"$tree/include" "$tree/cli/cmd_toy.c"
}
ok "an option that fills a field of another type does not compile" wrong_type
ok "nay help lists it" has "  toy       say toy" "$nay" help
ok "nay toy --help has its option" has "--times=N" "$nay" toy --help
ok "nay man has its page" has "play: how often" "$nay" man --markdown toy
ok "nay man lists it" has "nay-toy(1)" "$nay" man --markdown
completion() { # all that can follow: candidate... -- word...
  local want=
  while [ "$1" != -- ]; do want+=$1$'\n'; shift; done
  diff <(printf %s "$want") <("$nay" complete list "$@" | cut -f 1)
}
ok "it is completed" completion toy -- to
ok "and its verbs" completion play rest -- toy ''
ok "and its option" completion --times= -- toy play --t
ok "where it applies" completion -- toy rest --t
ok "a mistyped name is corrected" has "did you mean toy?" "$nay" toi
ok "a mistyped verb is corrected" has "did you mean play?" "$nay" toy plya
ok "a mistyped option is corrected" has "did you mean --greeting?" "$nay" toy play --greetnig=x
ok "an option of another command is unknown" has "no option --times" "$nay" fold --times=2
ok "a bad value is refused" has "'many' is not a count" "$nay" toy play --times=many
other_verb() {
  "$nay" toy rest --times 2 2>message; [ $? = 2 ] && has "--times is not for 'nay toy rest'" cat message
}
ok "an option of another verb is refused" other_verb

tap_end
