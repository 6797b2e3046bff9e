#!/usr/bin/env bats
# sst_range.bats - range filters in tables: nay sst build --filter=full,range, and what scans read.

load common

counts() { jq -c '[.nselected] + [.tables[] | .nrange_checks, .nrange_useful, .nrange_false_positives, .nblock_reads]'; }

@test "typed numbers: a scan that finds nothing reads no block" {
  seq 1000 100 900000 | nay sst build -q --filter=full,range --key=int --range-length 50 -p 0.1% -o t.ldb
  [ "$(nay sst scan --json -c t.ldb --from 1001 --to 1050 | counts)" = "[0,1,1,0,0]" ]
  [ "$(nay sst scan --json -c t.ldb --from 1001 --to 1100 | counts)" = "[0,1,1,0,0]" ]
  [ "$(nay sst scan --json -c t.ldb --from 1001 --to 1101 | counts)" = "[1,1,0,0,1]" ]
  [ "$(nay sst scan t.ldb --from 1001 --to 1101 --no-values)" = 1100 ]
  nay sst info t.ldb | grep -q 'ranges '
  [ "$(nay sst info --json t.ldb | jq -c '[.range_used, .range_length]')" = "[true,50]" ]
  nay info t.ldb | grep -q 'ranges '
  [ "$(nay sst get -q t.ldb 1100 1101 --no-values)" = 1100 ]
}

@test "every scan gives what it gives without the filter, one table or three, from both ends" {
  for t in 1 2 3; do
    seq -f 'user:%03g:order:000000' 1 200 | awk -v t=$t 'BEGIN { srand(t) }
      { for (i = 0; i < 20; i++) printf "%s%06d\n", substr($0, 1, length($0) - 6), rand() * 5000 }' |
      LC_ALL=C sort -u | tee $t.keys |
      nay sst build -q --filter=none,range --range-delimiter=: --range-length 20 -o $t.ldb
    nay sst build -q --filter=none -o $t.plain $t.keys
  done
  for i in $(seq 1 40); do
    from=$(printf 'user:%03d:order:%06d' $((i * 5)) $((i * 97 % 5000)))
    to=$(printf 'user:%03d:order:%06d' $((i * 5)) $((i * 97 % 5000 + i)))
    for how in "1" "1 2 3" "3 2 1"; do
      a=() b=()
      for t in $how; do a+=("$t.ldb") b+=("$t.plain"); done
      for reverse in "" --reverse; do
        [ "$(nay sst scan $reverse --from "$from" --to "$to" "${a[@]}")" = "$(nay sst scan $reverse --from "$from" --to "$to" "${b[@]}")" ]
      done
    done
  done
  nay sst compact -q --key=text 1.ldb 2.ldb 3.ldb --filter=full,range --range-delimiter=: -o all.ldb
  LC_ALL=C sort -u 1.keys 2.keys 3.keys | cmp - <(nay sst scan --no-values all.ldb)
  [ "$(nay sst scan --json -c all.ldb --from user:001:order:900000 --to user:001:order:900010 | counts)" = "[0,1,1,0,0]" ]
}

@test "digits of several lengths: a warning, and the data answers" {
  seq 100 | LC_ALL=C sort > keys
  run -0 nay sst build --filter=range -o t.ldb keys
  [[ $output == *"warning: keys end in 1 to 3 digits"* ]]
  [ "$(nay sst scan -c t.ldb --from 10 --to 11)" -eq 2 ]
  [ "$(nay sst scan --json -c t.ldb --from 55 --to 56 | counts)" = "[1,1,0,0,1]" ]
}

@test "deletions hide older entries behind the filter" {
  seq -w 1 100 | sed 's/$/\told/' | nay sst build -q --sequence 1 --filter=range -o old.ldb
  echo 050 | nay sst build -q --sequence 2 --filter=range -o new.ldb
  run -1 nay sst scan new.ldb old.ldb --from 050 --to 051
  [ "$(nay sst scan --no-values new.ldb old.ldb --from 049 --to 052)" = "$(printf '049\n051')" ]
}

@test "a damaged range filter is reported, and every scan is right" {
  seq 1000 100 90000 | nay sst build -q --filter=full,range --key=int -o t.ldb
  at=$(nay extract t.ldb | awk '/ranges/ { print $2 + 40 }')
  printf '\377' | dd of=t.ldb bs=1 seek="$at" conv=notrunc status=none
  [ "$(nay sst scan --no-values t.ldb --from 1050 --to 1150)" = 1100 ]
  [ "$(nay sst scan --json -c t.ldb --from 1001 --to 1050 | jq -c '.tables[0] | [.nrange_checks, .nfilter_faults, .nblock_reads]')" = "[0,1,1]" ]
  run -3 nay sst info --verify t.ldb
  [[ $output == *"ranges "*"damaged, not used"* ]]
  run -3 nay extract t.ldb
  [[ $output == *"ranges, damaged"* ]]
}

@test "options that do not fit" {
  seq -w 10 > keys
  run -2 nay sst build --filter=full,small,range -o t.ldb keys
  [[ $output == *"one kind of filter"* ]]
  run -2 nay sst build --range-length 5 -o t.ldb keys
  run -2 nay sst build --filter=range --key=hex -o t.ldb keys
  [[ $output == *"--range-keys"* ]]
  run -2 nay sst build --filter=range --comparator=reverse --sort -o t.ldb keys
  [[ $output == *"order of their bytes"* ]]
  run -2 nay sst build --filter=range --key=int --range-delimiter=: -o t.ldb keys
  run -2 nay sst build --filter=range --format=nori -o t.ldb keys
  run -2 nay sst build --filter=range --format=mini-lsm-sst -o t.ldb keys
  run -2 nay sst build --filter=range --range-length 0 -p 2 -o t.ldb keys
  [ ! -e t.ldb ]
  nay sst build -q --key=int --sort -o i.ldb keys
  run -2 nay sst compact i.ldb --filter=range -o t.ldb
  [[ $output == *"ordered-int"* ]]
  [ ! -e t.ldb ]
}
