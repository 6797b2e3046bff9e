#!/usr/bin/env bash
# TAP: the library, compiled for other CPUs without a warning and run by qemu, writes and reads the golden files byte
# for byte, answers alike with every table of kernels, and replays the fuzz corpus: s390x is
# big-endian, i686 has 32-bit pointers, aarch64 has NEON.
#   run_endian.sh [CPU ...]     s390x i686 aarch64 unless named
set -uo pipefail
source=${NAY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

report() { # status description log
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
    echo "not ok $n - $2"; failed=1; grep -v '^ok ' "$3" | tail -n 20 | sed 's/^/# /'; fi
}

# xxhash.h alone: /usr/include as a whole has the headers of this machine
mkdir "$work/xxhash"
cp "${XXHASH_INCLUDE:-/usr/include}/xxhash.h" "$work/xxhash/"

# Fuzz targets that these CPUs can run: all but the one that needs the codecs' own libraries.
fuzz_targets() { ls "$source"/tests/fuzz/fuzz_*.c | xargs -n 1 basename -s .c | grep -vx fuzz_codecs; }

build() { # cpu compiler
  cmake -S "$source" -B "$work/$1" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$1" \
    -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=Release -DNAY_TESTS=OFF -DNAY_CLI=OFF -DNAY_WERROR=ON \
    -DXXHASH_INCLUDE="$work/xxhash" && cmake --build "$work/$1" --target nay_static naysst_static kv_store || return
  local program more include=(-I"$source/include" -I"$source/sst/include" -I"$source/tests" -I"$source/src" -I"$source/sst")
  for program in golden/native/make_native golden/map/make_map golden/range/make_range endian/{tables,kernels,keys,inline}_again \
    $(fuzz_targets | sed 's|^|fuzz/|'); do
    more=()
    [[ $program == fuzz/* ]] && more+=("$source/tests/fuzz/replay.c")
    [ "$program" = fuzz/fuzz_snappy ] && more+=("$source/web/wasm/snappy.c")
    [ "$program" = fuzz/fuzz_kv ] && more+=(-D_DEFAULT_SOURCE -I"$source/examples/kv" "$(find "$work/$1" -name libkv_store.a)")
    "$2" -O2 -static -D_FILE_OFFSET_BITS=64 "${include[@]}" -I"$work/xxhash" \
      "$source/tests/$program.c" "${more[@]}" "$work/$1/libnaysst.a" "$work/$1/libnay.a" -lm -pthread \
      -o "$work/$1/$(basename "$program")" || return
  done
}

try() { # cpu qemu-name
  local compiler=$1-linux-gnu-gcc run=qemu-$2-static log=$work/log
  if ! command -v "$compiler" >/dev/null || ! command -v "$run" >/dev/null; then
    n=$((n + 1)); echo "ok $n - $1 # skip no $compiler or $run (scripts/bootstrap long)"; return
  fi
  build "$1" "$compiler" >"$log" 2>&1
  local status=$?
  report $status "$1: builds" "$log"
  [ $status -eq 0 ] || return
  "$run" "$work/$1/make_native" check "$source/tests/golden/native" >"$log" 2>&1
  report $? "$1: the golden files, written and read: $(grep -c '^ok ' "$log") checks" "$log"
  "$run" "$work/$1/make_map" check "$source/tests/golden/map" >"$log" 2>&1
  report $? "$1: the golden files of static maps: $(grep -c '^ok ' "$log") checks" "$log"
  "$run" "$work/$1/make_range" check "$source/tests/golden/range" >"$log" 2>&1
  report $? "$1: the golden files of range filters: $(grep -c '^ok ' "$log") checks" "$log"
  "$run" "$work/$1/kernels_again" >"$log" 2>&1
  report $? "$1: every table of kernels: $(grep -c '^ok ' "$log") checks" "$log"
  "$run" "$work/$1/tables_again" "$source/tests/golden/leveldb-tables" "$work/copy.ldb" >"$log" 2>&1
  report $? "$1: LevelDB's tables, read and written again: $(grep -c '^ok ' "$log") files" "$log"
  "$run" "$work/$1/keys_again" "$source/tests/golden/keys/keys.txt" >"$log" 2>&1
  report $? "$1: the golden vectors of typed keys" "$log"
  "$run" "$work/$1/inline_again" >"$log" 2>&1
  report $? "$1: inline probes: $(grep -c '^ok ' "$log") shapes" "$log"
  local name
  for name in $(fuzz_targets); do
    "$run" "$work/$1/$name" "$source/tests/fuzz/corpus/$name" >"$log" 2>&1
    report $? "$1: $name on its corpus" "$log"
  done
}

for cpu in "${@:-s390x i686 aarch64}"; do
  for one in $cpu; do try "$one" "${one/i686/i386}"; done
done
echo "1..$n"
exit $failed
