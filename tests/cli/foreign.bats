#!/usr/bin/env bats
# Tables of nori and mini-lsm, as their engines wrote them: sst, info, check, extract, verify.
load common

NORI="$BATS_TEST_DIRNAME/../golden/nori-engine"
MINI="$BATS_TEST_DIRNAME/../golden/mini-lsm-engine"

key8() { for i in $(seq 0 $(($1 - 1))); do printf 'key%08d\n' "$i"; done; }

@test "every table of nori opens by its magic number, and all its keys are found" {
  for table in "$NORI"/sst_*.sst; do
    n=$(nay sst info --json --verify "$table" | jq .nentries)
    [ "$(nay sst scan --versions -c "$table")" -eq "$n" ] || { [ "$n" -eq 0 ] && true; } || { echo "$table"; false; }
  done
}

@test "the writer of a version-0 table is told" {
  run -0 nay sst info "$NORI/sst_568d277_basic_lz4.sst"
  [[ $output == *"not compressed although the footer names a codec"* ]]
  [[ $output == *"versions: none, told by parsing every block"* ]]
  [[ $output == *"nori of today takes another modulus"* ]]
  run -0 nay sst info "$NORI/sst_34fbb75_basic_zstd.sst"
  [[ $output == *zstd* && $output == *"versions: sequence, told"* ]]
  run -0 nay sst info "$NORI/sst_5305f49_basic_none.sst"
  [[ $output == *"versions: term and index, told"* ]]
  run -0 nay sst info "$NORI/sst_390efce_basic_none.sst"
  [[ $output == *"footer version 1"* && $output == *"versions: term and index"* && $output != *"told by"* ]]
}

@test "keys that nori denies are found, and info and verify say so" {
  table="$NORI/sst_390efce_qf_overfull.sst"
  key8 600 > keys
  [ "$(nay sst get -q -c "$table" --keys keys)" -eq 600 ]
  [ "$(nay check -c "$table" keys)" -eq 600 ]
  run -0 nay verify "$table"
  [[ $output == *"nori itself denies 338 present keys"* ]]
  run -0 nay sst info --verify "$table"
  [[ $output == *"338 present keys by its own filter"* && $output == *"saves no block read"* ]]
  run -0 nay info "$table"
  [[ $output == *"full filter"* && $output == *"saves no block read"* ]]
}

@test "a block that nori cannot read itself is read" {
  run -0 nay sst scan --no-values "$NORI/sst_390efce_huge_lz4.sst"
  [ "${lines[1]}" = key00000001 ]
}

@test "tombstones are deletions, terms and indexes are told" {
  run -0 nay sst scan --versions "$NORI/sst_390efce_tomb_none.sst"
  [ "${lines[0]}" = $'1:5\tdelete\tkey00000000\t' ]
  [ "${lines[1]}" = $'1:305\tput\tkey00000001\tvalue00000001' ]
  run -1 nay sst get -q "$NORI/sst_390efce_tomb_none.sst" key00000000
}

@test "extracted filters answer as the table's own" {
  for table in sst_390efce_qf_lz4 sst_34fbb75_basic_lz4; do
    nay extract -q -o "$table/" "$NORI/$table.sst"
    nay extract "$NORI/$table.sst" > list
    [ "$(ls "$table" | wc -l)" -eq "$(wc -l < list)" ]
    for file in "$table"/*; do run -0 nay info --format "${file##*.}" "$file"; done
  done
  key8 500 > keys
  [ "$(nay check -c --format nori12-unrounded sst_34fbb75_basic_lz4/0000.nori12-unrounded keys)" -eq 500 ]
}

@test "mini-lsm's tables are read when they are named, by week or by trial" {
  for table in "$MINI"/sst_*.sst; do
    form=$(basename "$table" | cut -d_ -f2)
    case $form in w1d4) name=day4 ;; w1d7) name=week1 ;; w2) name=week2 ;; w3) name=week3 ;; esac
    [ "$(nay sst info --json --format mini-lsm-sst "$table" | jq -r .table_format)" = "mini-lsm-sst-$name" ]
    nay sst scan --format "mini-lsm-sst-$name" --versions "$table" > by-name
    nay sst scan --format mini-lsm-sst --versions "$table" | cmp - by-name
    run -3 nay sst info "$table"
    run nay check --format mini-lsm-sst -c "$table" -e key00000000
  done
}

@test "a version by its timestamp" {
  table="$MINI/sst_w3_versions.sst"
  run -0 nay sst scan --format mini-lsm-sst --versions --to key00000001 "$table"
  [ "${#lines[@]}" -eq 4 ]
  for ts in 1004 1003 1002; do
    value=$(nay sst scan --format mini-lsm-sst --versions --to key00000001 "$table" | grep "^$ts" | cut -f4)
    [ "$(nay sst get -q --format mini-lsm-sst --snapshot $ts "$table" key00000000)" = "key00000000"$'\t'"$value" ]
  done
  run -1 nay sst get -q --format mini-lsm-sst --snapshot 1001 "$table" key00000000 # a deletion
  run -1 nay sst get -q --format mini-lsm-sst --snapshot 1000 "$table" key00000000 # before the first
}

@test "a name does not override a magic number, and a wrong name is an error with its offset" {
  run -3 nay sst info --format mini-lsm-sst "$NORI/sst_390efce_basic_none.sst"
  [[ $output == *"the file has the magic number of nori-sstable"* ]]
  run -3 nay check --format nori12 "$NORI/sst_390efce_basic_none.sst" -e a
  [[ $output == *"a table by its magic number"* ]]
  run -3 nay sst info --format mini-lsm-sst-week3 "$MINI/sst_w2_basic.sst"
  [[ $output == *"at byte"* ]]
  run -3 nay sst info --format nori-sst "$MINI/sst_w2_basic.sst"
  for command in "check -e a" "explain -e a" info verify "sst scan"; do
    # shellcheck disable=SC2086
    run -3 nay $command --format mini-lsm-sst "$NORI/sst_390efce_basic_none.sst"
    [[ $output == *"the file has the magic number of nori-sstable"* ]]
  done
  for command in "check -e a" "explain -e a" info verify; do
    for table in "$MINI"/sst_w*_basic.sst; do
      # shellcheck disable=SC2086
      run -3 nay $command --format mini-lsm "$table"
      [[ $output == *"may be a table, which --format=mini-lsm-sst reads"* ]]
    done
  done
  echo "neither filter nor table" > t
  run -3 nay check --format mini-lsm t -e a
  [[ $output != *"may be a table"* ]]
  run -2 nay sst info --format mini-lsm-sst-week4 "$MINI/sst_w2_basic.sst"
  run -2 nay info --format mini-lsm-sst - < "$MINI/sst_w2_basic.sst"
}

@test "damage is an error with its offset, or what info warns of" {
  cp "$MINI/sst_w2_basic.sst" t
  printf 'X' | dd of=t bs=1 seek=100 conv=notrunc 2> /dev/null
  run -3 nay sst scan --format mini-lsm-sst-week2 t
  [[ $output == *"CRC-32 of a block is wrong"*"at byte"* ]]
  cp "$NORI/sst_390efce_basic_none.sst" t
  printf '\377\377' | dd of=t bs=1 seek=0 conv=notrunc 2> /dev/null
  run -3 nay sst scan t
  [[ $output == *"at byte"* ]]
  printf '\377' | dd of=t bs=1 seek=$(($(stat -c %s t) - 40)) conv=notrunc 2> /dev/null
  run -3 nay verify t
  [[ $output == *"CRC-32C of the footer is wrong"* ]]
}

@test "compact makes a LevelDB table of them" {
  nay sst compact -q --key=text "$NORI/sst_390efce_tomb_none.sst" "$NORI/sst_34fbb75_basic_lz4.sst" -o both.ldb
  nay sst scan --versions -c both.ldb
  [ "$(nay sst get -q both.ldb key00000001)" = $'key00000001\tvalue00000001' ]
  run -1 nay sst get -q both.ldb key00000000
  run -2 nay sst compact --format nori "$NORI/sst_390efce_tomb_none.sst" -o other.ldb
  [[ $output == *"compact writes LevelDB's tables"* ]]
  [ ! -e other.ldb ]
  nay sst compact -q --key=text --format mini-lsm "$MINI/sst_w2_basic.sst" -o mini.ldb
  nay sst info mini.ldb | grep -q 'internal keys'
}

@test "verify and info say the same of checksums" {
  for table in "$NORI/sst_390efce_basic_none.sst" "$MINI"/sst_w*_basic.sst; do
    format=
    [[ $table != *mini* ]] || format=--format=mini-lsm-sst
    nay sst info --verify $format "$table" > info
    nay verify $format "$table" > verify
    if grep -q 'every checksum matches' info; then
      grep -q 'every checksum matches' verify
    else
      caveat=$(sed -n 's/^  caveat   \(.*checksum.*\)/\1/p' info)
      [ -n "$caveat" ]
      grep -qF "$caveat" verify
    fi
  done
}

@test "versions start at 0" {
  printf 'a\t1\nb\n' > rows
  for format in "" "--format nori" "--format mini-lsm-sst-week3"; do
    # shellcheck disable=SC2086
    nay sst build -q -f --sequence 0 $format -o t rows
    # shellcheck disable=SC2086
    [ "$(nay sst get -q --snapshot 0 $format t a b)" = $'a\t1' ]
    # shellcheck disable=SC2086
    [ "$(nay sst scan --snapshot 0 --versions -c $format t)" = 2 ]
  done
  run -2 nay sst build --sequence 18446744073709551615 -f -o t rows
  run -2 nay sst compact --snapshot 0 -f -o t2 t
}

@test "build writes mini-lsm's own bytes" {
  for form in w1d4:day4 w1d7:week1 w2:week2; do
    table="$MINI/sst_${form%:*}_basic.sst" name="mini-lsm-sst-${form#*:}"
    nay sst scan --format "$name" "$table" | nay sst build -q -f --format "$name" -o t
    cmp t "$table"
    table="$MINI/sst_${form%:*}_tomb_bs256.sst"
    nay sst scan --format "$name" --versions "$table" |
      awk -F '\t' -v OFS='\t' '{ if ($2 == "delete") print $3; else print $3, $4 }' |
      nay sst build -q -f --block 256 --format "$name" -o t
    cmp t "$table"
  done
}

@test "build writes tables of nori, with either filter and every codec" {
  seq -w 0 4999 | sed 's/.*/k&\tvalue &/' > rows
  cut -f1 rows > keys
  for how in "" "--compress lz4" "--compress zstd" "--filter quotient" "--filter quotient --compress zstd"; do
    # shellcheck disable=SC2086
    nay sst build -q -f --format nori $how -o t rows
    nay sst scan t | cmp - rows
    run -0 nay sst info --verify t
    [[ $output == *"no key by its own filter"* ]]
    [ "$(nay sst get -q -c t --keys keys)" -eq 5000 ]
    run nay verify t
    [[ $output != *denies* ]]
  done
  # empty values: nori itself would drop keys from the filter of a block
  nay sst build -q -f --format nori --filter quotient -o t keys
  nay sst info --json --verify t | jq -e '.ndenied == 0 and .nentries == 5000'
  printf 'a\t1\nb\n' | nay sst build -q -f --sequence 9 --format nori -o t
  run -0 nay sst scan --versions t
  [ "$output" = $'0:9\tput\ta\t1\n0:9\tdelete\tb\t' ]
}

@test "build refuses what a layout cannot hold" {
  run -2 nay sst build --format mini-lsm -o t < /dev/null
  [[ $output == *"without entries"* ]]
  run -2 bash -c "printf 'a\t\n' | nay sst build --format mini-lsm-sst -o t"
  [[ $output == *"row 1, key 'a': an empty value"* ]]
  run -2 bash -c "printf 'a\t1\n' | nay sst build --format mini-lsm-sst --sequence 4 -o t"
  [[ $output == *"no versions"* ]]
  run -2 bash -c "printf 'b\t1\na\t1\n' | nay sst build --format nori -o t"
  [[ $output == *"row 2, key 'a': the key is not above"* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format nori --filter small -o t"
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format mini-lsm --filter quotient -o t"
  for codec in snappy lz4 zstd; do
    run -2 bash -c "printf 'b\t1\n' | nay sst build --format mini-lsm --compress $codec -o t"
    [[ $output == *"--compress: a table of mini-lsm is not compressed"* ]]
  done
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format nori --compress snappy -o t"
  [[ $output == *"--compress: a table of nori takes none, lz4 or zstd"* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format nori --filter quotient -b 20 -o t"
  [[ $output == *"-b is for --filter full"* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format mini-lsm -b 20 -o t"
  [[ $output == *"-b: "* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format mini-lsm-sst-day4 --filter full -o t"
  [[ $output == *"--filter: a table of mini-lsm-sst-day4 has none"* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format mini-lsm-sst --filter none -o t"
  printf 'b\t1\n' | nay sst build -q --format mini-lsm-sst-day4 --filter none -o day4
  run -2 bash -c "printf '9\n10\n8\n' | nay sst build --key int -o t"
  [[ $output == *"row 3: the key '8' is not"*"--sort sorts"* && $output != *LC_ALL* ]]
  run -2 bash -c "printf '10\n8\n' | nay sst build --key int --format nori -o t"
  [[ $output == *"row 2, key '8': "* ]]
  run -2 bash -c "printf 'b\t1\n' | nay sst build --format nori -p 1% -o t"
  run -2 bash -c "printf 'b\t1\n' | nay sst build --filter quotient -o t"
  [ ! -e t ]
}
