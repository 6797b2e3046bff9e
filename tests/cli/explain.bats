#!/usr/bin/env bats
# nay explain: the answer and its reason, keys from everywhere, the keys behind each bit, tables, JSON.
load common

GOLDEN=$BATS_TEST_DIRNAME/../golden

fruit() {
  printf '%s\n' apple pear plum cherry quince > fruit
  nay build -q -t bloom -b 5 -o fruit.nay fruit
}

@test "every family and layout: answers, groups, and the keys behind each step" {
  python3 "$BATS_TEST_DIRNAME/explain_model.py"
}

@test "a false positive is explained by the keys that set its bits" {
  fruit
  run -0 nay explain fruit.nay moon --keys fruit
  [ "${lines[0]}" = $'maybe\tmoon' ]
  [[ $output == *"bit 1 "*"set by apple and cherry"* ]]
  [[ $output == *"all 3 bits are set"*"a false positive (FPR 11.1%): it is none of the 5 keys" ]]
  run -0 nay explain fruit.nay pear --keys fruit
  [[ $output == *"it is one of the 5 keys" ]]
  run -1 nay explain fruit.nay stone --keys fruit
  [[ $output == *"bit 2 of 3 is 0: certainly absent"*"it is none of the 5 keys" ]]
}

@test "keys of a file that the filter was not made of are told" {
  fruit
  printf 'stone\nmoon\n' > other
  run -1 nay explain fruit.nay stone --keys other
  [[ $output == *"it is one of the 2 keys, but the filter was not made of all of them" ]]
  echo stone > other
  run -1 nay explain fruit.nay stone --keys other
  [[ $output == *"it is the one key given, but the filter was not made of it" ]]
  run -0 nay explain fruit.nay pear --keys other
  [[ $output == *"it is not the one key given" ]]
  echo unrelated > other
  run -0 nay explain fruit.nay pear --keys other
  [[ $output == *"set by none of these keys"* ]]
}

@test "exit statuses are those of check" {
  fruit
  run -0 nay explain fruit.nay stone pear
  run -1 nay explain fruit.nay stone
  [ -z "$(nay explain -q fruit.nay pear)" ]
  run -1 nay explain -q fruit.nay stone
  run -2 nay explain missing.nay stone
  run -2 nay explain fruit.nay stone --keys missing
  run -2 nay explain
  flip fruit.nay 130
  run -3 nay explain fruit.nay pear
}

@test "keys are operands, -e, or standard input, of any type" {
  fruit
  nay explain fruit.nay pear stone > operands || true
  nay explain fruit.nay -e pear -e stone > options || true
  printf 'pear\nstone\n' | nay explain fruit.nay > input || true
  cmp operands options
  cmp operands input
  [ "$(grep -c '^$' operands)" = 1 ]
  run -2 nay explain fruit.nay pear -e stone
  [[ $output == *"one operand too many: 'pear'"* ]]
  for keys in pear '-e pear'; do
    # shellcheck disable=SC2086
    run -2 nay explain -0 fruit.nay $keys
    [[ $output == *"-0 is for keys in files"* ]]
  done
  printf 'pear\0' > zeros
  nay explain -0 fruit.nay pear --keys zeros | grep -q 'it is the one key given'
  seq 100 | nay build -q --key int -p 1e-6 -o int.nay
  run -0 nay explain --key int int.nay 0x7
  run -1 nay explain --key int int.nay 101
  run -2 nay explain --key int int.nay seven
  seq 100 > numbers
  nay explain --key int int.nay 007 --keys numbers | grep -q 'set by 7'
}

@test "options about files are for --keys; without it they contradict arguments" {
  fruit
  printf 'name,n\napple,1\npear,2\n' > fruit.csv
  run -0 nay explain --csv -k name fruit.nay pear --keys fruit.csv
  [[ $output == *"it is one of the 2 keys" ]]
  run -2 nay explain --csv -k name fruit.nay pear
  run -2 nay explain fruit.nay --keys fruit
  [[ $output == *"give the keys to explain as operands or with -e"* ]]
}

@test "of each bit three keys are named, and all are counted" {
  seq 10000 > many
  nay build -q -t bloom -n 100 -b 8 -o full.nay many 2> /dev/null
  run -0 nay explain full.nay 1 --keys many
  [[ $output == *" more"* ]]
  [ "$(nay explain --json full.nay 1 --keys many 2> /dev/null | jq '[.steps[] | (.members | length) == 3 and .nmembers > 3] | all')" = true ]
}

@test "a table: the filters that are probed, and why" {
  cp "$GOLDEN"/rocksdb/sst_part_bloom.sst .
  run -0 nay explain sst_part_bloom.sst key000007
  [[ $output == *"filter at 61,457: maybe"*"all 6 bits are set" ]]
  for key in key000007 key001999 absent key000007x; do
    maybe=true
    nay check -q sst_part_bloom.sst -e $key || maybe=false
    [ "$(nay explain --json sst_part_bloom.sst $key | jq .maybe)" = $maybe ]
    [ "$(nay explain --json sst_part_bloom.sst $key | jq '[.probed[].maybe] | any')" = $maybe ]
  done
  seq -w 1000 > sorted
  nay sst build -q -o t.ldb sorted
  nay explain t.ldb 0005 --keys sorted | grep -q 'it is one of the 1,000 keys'
  nay explain t.ldb 0005 --keys sorted | grep -q 'set by .*0005'
  nay sst build -q --filter none -o none.ldb sorted
  run -0 nay explain none.ldb 0005
  [[ $output == *"the table has no filter for this key" ]]
  nay sst build -q --filter small -o small.ldb sorted
  run -0 nay explain small.ldb 0005
  [[ $output == *"a policy without explanations" ]]
}

@test "tables of every engine: explanations answer as check does" {
  n=0
  for table in $(ls "$GOLDEN"/{rocksdb,nori-engine,leveldb-tables}/*.{sst,ldb} 2> /dev/null | awk 'NR % 12 == 1'); do
    seq 0 997 40000 | sed 's/^/key000/' | head -n 12 > keys
    nay check -a "$table" keys > asked 2> /dev/null || [ $? -eq 1 ] || continue
    nay explain --json "$table" < keys > explained 2> /dev/null || [ $? -eq 1 ]
    cmp <(cut -f 1 asked) <(jq -r 'if .maybe then "maybe" else "nay" end' explained) || { echo "$table"; return 1; }
    jq -se 'all(.[]; .maybe == ([.probed[].maybe] | any) or (.probed | length) == 0)' explained > /dev/null
    n=$((n + 1))
  done
  [ "$n" -ge 8 ]
}

@test "keyed filters need their secret, as for check" {
  head -c 16 /dev/zero > secret
  seq 10 | nay build -q --secret secret -o keyed.nay
  run -2 nay explain keyed.nay 7
  run -0 nay explain --secret secret keyed.nay 7
  [[ $output == *siphash13* ]]
}

@test "colour where it is wanted, none with NO_COLOR, never in JSON" {
  fruit
  nay explain --color always fruit.nay pear | grep -q $'\x1b\\[32m1'
  ! CLICOLOR_FORCE=1 NO_COLOR=1 nay explain fruit.nay pear | grep -q $'\x1b'
  CLICOLOR_FORCE=1 nay explain fruit.nay pear | grep -q $'\x1b'
  ! nay explain --json --color always fruit.nay pear | grep -q $'\x1b'
}

@test "keys of any bytes: no control character on a terminal line, base64 in JSON" {
  printf 'a\tb\n\033[31mred\n\377\376\n' > odd
  nay build -q -p 1e-6 -o odd.nay odd
  run -0 nay explain odd.nay "$(printf '\033[31mred')" --keys odd
  [[ ${output#*$'\n'} != *$'\x1b'* ]]
  nay explain --json odd.nay "$(printf '\377\376')" --keys odd | jq -e '.key.b64 == "//4=" and .steps[0].members[0].b64 == "//4="'
}
