#!/usr/bin/env bats
# Sorted tables: build, get, scan, info, compact.
load common

rows() { # N: rows with keys in the order of bytes
  seq -f 'key%06g' "$1" | sed 's/key\(.*\)/key\1\tvalue \1/'
}

@test "sst build and get: every key with its value, nothing else" {
  rows 5000 > rows
  nay sst build -q -o t.ldb rows
  cut -f1 rows | nay sst get -q t.ldb | cmp - rows
  run -1 --separate-stderr nay sst get t.ldb < <(seq 1000)
  [ "$output" = "" ]
  [[ $stderr == "nay sst: 1,000 keys looked up, 0 selected; filter negatives: "* ]]
  [ "$(printf 'key000007\nno\n' | nay sst get -q -v t.ldb)" = no ]
  [ "$(cut -f1 rows | nay sst get -q -c t.ldb)" -eq 5000 ]
  cut -f1 rows > keys
  [ "$(nay sst get -q --no-values --keys keys t.ldb | wc -l)" -eq 5000 ]
}

@test "sst build: each kind of filter, and snappy" {
  rows 3000 > rows
  for filter in none leveldb small full partitioned; do
    for codec in none snappy; do
      nay sst build -q --filter $filter --compress $codec --prefix-length 5 -o t.ldb -f rows
      nay sst scan t.ldb | cmp - rows
      cut -f1 rows | nay sst get -q t.ldb | cmp - rows
      run -0 nay sst info --verify t.ldb
      [[ $output == *"entries  3,000, every checksum matches"* && $output != *"not used"* ]]
    done
  done
  nay sst build -q -t ribbon -p 0.1% -o r.ldb rows
  [[ $(nay sst info r.ldb) == *ribbon* ]]
  [ "$(nay sst info --json r.ldb | jq '.fpr_now < 0.0012')" = true ]
}

@test "sst build -n: the filter is sized before the rows come" {
  rows 3000 > rows
  for type in blocked bloom counting cuckoo fuse; do
    nay sst build -q -t $type -p 1% -o counted.ldb -f rows
    nay sst build -q -t $type -p 1% -n 3000 -o said.ldb -f rows
    cmp counted.ldb said.ldb
  done
  nay sst build -q -n 1M -b 8 -o large.ldb rows
  [ "$(nay sst info --json large.ldb | jq '.nbytes > 900000')" = true ]
  run -0 --separate-stderr nay sst build -q -n 100 -o small.ldb rows
  [[ $stderr == "nay sst: warning: small.ldb has a false-positive rate of "*": planned for 100 keys"* ]]
  cut -f1 rows | nay sst get -q small.ldb | cmp - rows # slower, never wrong
  [ "$(nay sst build -q --json -n 3000 -f -o t.ldb rows | jq .overfilled)" = false ]
  [ "$(nay sst build -q --json -n 30 -f -o t.ldb rows 2> /dev/null | jq .overfilled)" = true ]
  for how in "--filter partitioned" "--filter leveldb" "--filter small" "--filter none" "--format nori"; do
    run -2 nay sst build -n 10 $how -f -o t.ldb rows
    [[ $output == "nay sst: -n is not for "* ]]
  done
  run -2 nay sst compact -n 10 t.ldb -o u.ldb
}

@test "sst build -n: of few keys the table is the one whose keys were counted" {
  for kind in bloom blocked counting window cuckoo; do
    for n in 1 10 100; do
      seq -w $n | nay sst build -q -f -t $kind -o counted.ldb
      seq -w $n | nay sst build -q -f -t $kind -n $n -o stated.ldb
      cmp counted.ldb stated.ldb
    done
  done
  run -2 nay sst build -q -f -t counting -b 0.01 -n 10 -o t.ldb < /dev/null # too few for any number
  [[ $output == *": the size is below one block and its counters" ]]
}

@test "sst build: rows out of order are refused and named, --sort puts them in order" {
  run -2 nay sst build -o t.ldb < <(printf 'b\t1\na\t2\n')
  [[ $output == "nay sst: row 2: the key 'a' is not greater than the previous one; --sort "* ]]
  [ ! -e t.ldb ]
  run -2 nay sst build -o t.ldb < <(printf 'a\t1\na\t2\n')
  [[ $output == *"row 2: the key 'a'"* ]]
  run -0 nay sst build --sort -o t.ldb < <(printf 'b\t1\na\t2\nb\t3\n\t4\n')
  [[ $output == *"1 row overwritten by a later row with the same key"* ]]
  [ "$(nay sst scan t.ldb)" = "$(printf '\t4\na\t2\nb\t3')" ]
  rows 20000 | shuf --random-source=<(yes) | nay sst build -q --sort -o big.ldb
  rows 20000 | cmp - <(nay sst scan big.ldb)
}

@test "sst build: keys without values, in other forms, and from compressed files" {
  printf 'a\nb\n' | nay sst build -q -o t.ldb
  [ "$(nay sst scan t.ldb)" = "$(printf 'a\t\nb\t')" ]
  printf 'a\t1\0b\t2\0' | nay sst build -q -0 -o t.ldb -f
  [ "$(nay sst scan -0 t.ldb | tr '\0' '\n')" = "$(printf 'a\t1\nb\t2')" ]
  printf '00ff\tx\n01\ty\n' | nay sst build -q --key hex -o t.ldb -f
  [ "$(nay sst scan --no-values t.ldb | od -An -tx1 | tr -d ' \n')" = 00ff0a010a ]
  printf 'name,id\n"Ada, Countess",1\nGrace,2\n' | nay sst build -q --csv -k id -o t.ldb -f
  [ "$(echo 1 | nay sst get -q t.ldb)" = "$(printf '1\t"Ada, Countess",1')" ]
  printf 'a\t1\r\nb\t2\r\n' | nay sst build -q --crlf -o t.ldb -f
  [ "$(nay sst scan t.ldb)" = "$(printf 'a\t1\nb\t2')" ]
  rows 100 | gzip > rows.gz
  nay sst build -q -o t.ldb -f rows.gz
  rows 100 | cmp - <(nay sst scan t.ldb)
  nay sst build -q -o empty.ldb < /dev/null
  run -1 nay sst scan empty.ldb
}

@test "sst scan: many tables as one, both ways" {
  printf 'a\t1\nb\t1\nc\t1\nd\t1\n' | nay sst build -q --sequence 1 -o old.ldb
  printf 'b\nc\t2\ne\t2\n' | nay sst build -q --sequence 2 -o new.ldb
  [ "$(nay sst scan new.ldb old.ldb)" = "$(printf 'a\t1\nc\t2\nd\t1\ne\t2')" ]
  [ "$(nay sst scan --reverse new.ldb old.ldb)" = "$(printf 'e\t2\nd\t1\nc\t2\na\t1')" ]
  [ "$(nay sst scan --snapshot 1 new.ldb old.ldb)" = "$(nay sst scan old.ldb)" ]
  [ "$(nay sst scan --from b --to d new.ldb old.ldb)" = "$(printf 'c\t2')" ]
  [ "$(nay sst scan --prefix d --no-values new.ldb old.ldb)" = d ]
  [ "$(nay sst scan --reverse --max-count 2 --no-values new.ldb old.ldb | paste -sd ' ')" = 'e d' ]
  [ "$(nay sst scan --reverse --no-values old.ldb | paste -sd ' ')" = 'd c b a' ]
  [ "$(nay sst scan --versions --from b --to d new.ldb old.ldb)" = \
    "$(printf '2\tdelete\tb\t\n1\tput\tb\t1\n2\tput\tc\t2\n1\tput\tc\t1')" ]
  nay sst compact -q --bottom new.ldb old.ldb -o all.ldb
  cmp <(nay sst scan new.ldb old.ldb) <(nay sst scan all.ldb)
  run -1 nay sst scan --from x new.ldb old.ldb
  run -2 nay sst scan --prefix a --from b new.ldb old.ldb
  run -1 nay sst scan --snapshot 0 new.ldb old.ldb # before the first write
  [ -z "$output" ]
  run -1 nay sst scan --snapshot 0 --reverse old.ldb
  printf 'z\t1\n' | nay sst build -q -o plain.ldb
  run ! nay sst scan new.ldb plain.ldb
  [[ $output == *"plain keys and some have internal keys"* ]]
}

@test "sst scan: of many tables, the damaged one is named" {
  rows 1000 | nay sst build -q --filter none -o whole.ldb
  seq -f 'row%06g' 1000 | sed 's/$/\tvalue/' | nay sst build -q --filter none -o bad.ldb
  printf 'X' | dd of=bad.ldb bs=1 seek=9000 conv=notrunc status=none
  for way in '' --reverse; do
    run -3 nay sst scan -c $way whole.ldb bad.ldb
    [[ $output == "nay sst: bad.ldb: "*"checksum"* ]]
  done
}

@test "sst --comparator: built in order, stored by name, checked" {
  printf '100\tc\n7\ta\n12\tb\n' > rows
  run -2 nay sst build --comparator decimal -o t.ldb rows
  [[ $output == "nay sst: row 2: the key '7' is not greater"* ]]
  for order in decimal reverse prefix.1 bytewise; do
    nay sst build -q --sort --comparator $order -f -o t.ldb rows
    case $order in
      decimal) want='7 12 100' name=nay.decimal ;;
      reverse) want='7 12 100' name=rocksdb.ReverseBytewiseComparator ;;
      prefix.1) want='12 100 7' name=nay.prefix.1 ;;
      bytewise) want='100 12 7' name=leveldb.BytewiseComparator ;;
    esac
    [ "$(nay sst scan --no-values t.ldb | paste -sd ' ')" = "$want" ]
    [ "$(nay sst info --json t.ldb | jq -r .comparator)" = $name ]
    [ "$(nay sst get -q --no-values t.ldb 7 8 100 | paste -sd ' ')" = '7 100' ]
    nay sst scan --comparator $order t.ldb > /dev/null
    nay sst info --verify t.ldb > /dev/null
    [ $order = decimal ] || run ! nay sst scan --comparator decimal t.ldb
  done
  nay sst build -q --sort --comparator decimal -f -o t.ldb rows
  run -2 nay sst scan --comparator reverse t.ldb
  [ "$output" = "nay sst: t.ldb: the keys are in the order of the comparator 'nay.decimal', not of 'rocksdb.ReverseBytewiseComparator'" ]
  run -2 nay sst scan --comparator bytewise t.ldb
  [ "$output" = "nay sst: t.ldb: the keys are in the order of the comparator 'nay.decimal', not of 'leveldb.BytewiseComparator'" ]
  run -2 nay sst build --comparator alphabet -o u.ldb rows
  [[ $output == "nay sst: --comparator: no comparator 'alphabet'"* ]]
  run -2 nay sst build --format nori --comparator reverse -o u.ldb rows
  [[ $output == *"tables of other engines are in bytewise order"* ]]
}

@test "sst --comparator: compaction and lookups keep the order of their tables" {
  printf '7\told\n12\tb\n' | nay sst build -q --comparator decimal -o old.ldb
  printf '7\tnew\n100\tc\n' | nay sst build -q --comparator decimal -o new.ldb
  printf '7\tplain\n' | nay sst build -q -o plain.ldb
  nay sst compact -q new.ldb old.ldb -o all.ldb
  [ "$(nay sst scan all.ldb)" = "$(printf '7\tnew\n12\tb\n100\tc')" ]
  [ "$(nay sst get -q new.ldb --older old.ldb 12 7)" = "$(printf '12\tb\n7\tnew')" ]
  run ! nay sst get -q new.ldb --older plain.ldb 7
  [[ $output == *comparator* ]]
  run ! nay sst compact new.ldb plain.ldb -o bad.ldb
  [[ $output == *comparator* ]]
  [ ! -e bad.ldb ]
}

@test "sst scan: ranges, prefixes, limits" {
  rows 1000 | nay sst build -q --prefix-length 6 -o t.ldb
  [ "$(nay sst scan -c t.ldb)" -eq 1000 ]
  [ "$(nay sst scan -c --from key000990 t.ldb)" -eq 11 ]
  [ "$(nay sst scan -c --from key000100 --to key000200 t.ldb)" -eq 100 ]
  [ "$(nay sst scan -c --prefix key0009 t.ldb)" -eq 100 ]
  [ "$(nay sst scan -m 1 --no-values t.ldb)" = key000001 ]
  run -1 nay sst scan --prefix nothing t.ldb
  run -2 nay sst scan --prefix a --from b t.ldb
  [ "$(nay sst scan -c t.ldb t.ldb)" -eq 1000 ]
  [ "$(nay sst scan --max-count 1 --json t.ldb)" = '{"key":"key000001","value":"value 000001"}' ]
}

@test "sst get: the newest table answers" {
  printf 'a\told\nb\told\n' | nay sst build -q -o 1.ldb
  printf 'a\tnew\nc\tnew\n' | nay sst build -q -o 2.ldb
  [ "$(printf 'a\nb\nc\nd\n' | nay sst get -q 2.ldb --older 1.ldb)" = "$(printf 'a\tnew\nb\told\nc\tnew')" ]
  [ "$(echo b | nay sst get -q --json 2.ldb --older 1.ldb)" = '{"key":"b","value":"old","table":"1.ldb"}' ]
}

@test "sst compact: plain keys" {
  rows 1000 > old
  sed -n '1~3p' old | sed 's/value/newer/' > new
  nay sst build -q -o old.ldb old
  nay sst build -q -o new.ldb new
  run -0 nay sst compact new.ldb old.ldb -o all.ldb
  [ "$output" = "nay sst: wrote all.ldb: 1,000 entries of 1,334; superseded: 334, deletions dropped: 0" ]
  sort -s -u -k1,1 new old | cmp - <(nay sst scan all.ldb)
  cp old.ldb before
  run -2 nay sst compact -q -f new.ldb old.ldb -o old.ldb
  [ "$output" = "nay sst: -o old.ldb would replace an input, old.ldb: choose another file" ]
  cmp old.ldb before
  [ "$(nay sst compact --json -q -f new.ldb old.ldb -o all.ldb | jq -c '[.nread,.nwritten,.nsuperseded]')" = "[1334,1000,334]" ]
}

@test "sst compact --target-size: several tables, the same for any number of threads" {
  rows 20000 > old
  sed -n '1~3p' old | sed 's/value/newer/' > new
  nay sst build -q -o old.ldb old
  nay sst build -q -o new.ldb new
  run -0 nay sst compact -T 1 --target-size 20000 new.ldb old.ldb -o all.ldb
  [[ $output == "nay sst: wrote "*" tables: 20,000 entries of 26,667; superseded: 6,667, deletions dropped: 0" ]]
  [ ! -e all.ldb ]
  n=$(find . -name 'all-*.ldb' | wc -l)
  [ "$n" -gt 10 ]
  for i in $(seq "$n"); do nay sst scan "all-$i.ldb"; done | cmp - <(sort -s -u -k1,1 new old)
  mkdir many
  nay sst compact -q --json -T 3 --target-size 20000 new.ldb old.ldb -o many/all > report
  [ "$(jq -c '[.nread,.nwritten,(.files|length)]' report)" = "[26667,20000,$n]" ]
  jq -r '.files[].file' report | xargs cat | cmp - <(for i in $(seq "$n"); do cat "all-$i.ldb"; done)
  [ "$(jq '[.files[]|.nentries]|add' report)" -eq 20000 ]
  run -2 nay sst compact -f --target-size 20000 new.ldb old.ldb -o all.ldb
  [[ $output == *"-f is not for 'nay sst compact --target-size'" ]]
  run -2 nay sst compact --target-size 20000 new.ldb old.ldb -o all.ldb
  [[ $output == *"all-1.ldb exists: --target-size overwrites no file" ]]
  flip old.ldb 300000
  run -3 nay sst compact -T 1 --target-size 20000 old.ldb -o bad.ldb
  [ -z "$(find . -name 'bad-*')" ]
}

@test "sst get: many keys, in any order, errors included" {
  rows 20000 > old
  sed -n '1~3p' old | sed 's/value/newer/' > new
  nay sst build -q -o old.ldb old
  nay sst build -q -o new.ldb new
  cut -f1 old | shuf --random-source=<(yes) > keys
  sort -s -u -k1,1 new old > all
  nay sst get -q --keys keys new.ldb --older old.ldb | cut -f1 | cmp - keys
  nay sst get -q --keys keys new.ldb --older old.ldb | sort | cmp - all
  [ "$(sed 's/^/no/' keys | nay sst get -q -v -c new.ldb --older old.ldb)" -eq 20000 ]
  flip old.ldb 300000
  run -3 nay sst get -q --keys keys new.ldb --older old.ldb
  [[ $output == *"nay sst: old.ldb: "*"(at byte "* ]]
}

@test "sst compact: versions and deletions" {
  printf 'a\t1\nb\t1\nc\t1\n' | nay sst build -q --sequence 1 -o 1.ldb
  printf 'a\t5\nb\n' | nay sst build -q --sequence 5 -o 5.ldb
  nay sst compact -q 5.ldb 1.ldb -o upper.ldb
  [ "$(nay sst scan --versions upper.ldb)" = "$(printf '5\tput\ta\t5\n5\tdelete\tb\t\n1\tput\tc\t1')" ]
  [ "$(nay sst scan upper.ldb)" = "$(printf 'a\t5\nc\t1')" ]
  run -1 nay sst get -q upper.ldb <<< b
  nay sst compact -q --bottom 5.ldb 1.ldb -o bottom.ldb
  [ "$(nay sst scan --versions bottom.ldb)" = "$(printf '5\tput\ta\t5\n1\tput\tc\t1')" ]
  nay sst compact -q --bottom --snapshot 3 5.ldb 1.ldb -o kept.ldb
  [ "$(nay sst scan --versions -c kept.ldb)" -eq 5 ]
  printf 'a\tx\n' | nay sst build -q -o plain.ldb
  run -2 nay sst compact 5.ldb plain.ldb -o x.ldb
  [[ $output == *"some tables have plain keys and some have internal keys"* ]]
}

@test "sst: tables that the real LevelDB wrote, and damage" {
  golden=$BATS_TEST_DIRNAME/../golden
  table=$(find "$golden" -name '*.ldb' | sort | head -n 1)
  [ -n "$table" ]
  run -0 nay sst info --verify "$table"
  [[ $output == *"every checksum matches"* ]]
  rows 5000 | nay sst build -q -o t.ldb
  flip t.ldb 5000
  run -3 nay sst info --verify t.ldb
  [[ $output == "nay sst: t.ldb: "*"(at byte "* ]]
  run -3 nay sst scan t.ldb
  run -3 nay sst compact t.ldb -o u.ldb
  [ ! -e u.ldb ]
  run -3 nay sst get t.ldb <<< $'key000000\nkey000300'
  run -3 nay sst info "$BATS_TEST_FILENAME"
  run -2 nay sst info nowhere.ldb
}

@test "sst: a table with another comparator is refused by every verb, and says so" {
  rows 10 | nay sst build -q -o good.ldb
  for table in table_str_n20_b10_none_reverse table_str_n300_b10_none_bs512_reverse; do
    cp "$BATS_TEST_DIRNAME/../golden/leveldb-tables/$table.ldb" t.ldb
    for verb in "info t.ldb" "info --verify t.ldb" "scan t.ldb" "scan --from key000003 t.ldb" \
      "get t.ldb" "get good.ldb --older t.ldb" "compact t.ldb -o u.ldb" "compact good.ldb t.ldb -o u.ldb"; do
      # shellcheck disable=SC2086
      run -2 --separate-stderr nay sst $verb <<< key000003
      [ "$output" = "" ]
      [ "$stderr" = "nay sst: t.ldb: the keys are not in bytewise order: the table has another comparator, or is corrupt" ]
    done
    [ ! -e u.ldb ]
  done
}

@test "sst: an error of the system names the file and says what it is" {
  rows 5000 > rows
  nay sst build -q -o old.ldb rows
  cp old.ldb before
  rows 200000 > many
  # a limit for files stands for a full disk: the write fails in the middle of the rows, or at the end
  for input in many rows; do
    for verb in "build -f -o old.ldb $input" "build -f --sort -o old.ldb $input" \
      "build -f --filter none -o old.ldb $input"; do
      run -2 bash -c "trap '' XFSZ; ulimit -f 64; nay sst $verb"
      [[ $output == "nay sst: old.ldb: "*": File too large" ]]
      cmp old.ldb before
    done
  done
  run -2 bash -c "trap '' XFSZ; ulimit -f 64; nay sst compact old.ldb -f -o new.ldb"
  [[ $output == "nay sst: new.ldb: "*": File too large" ]]
  [ ! -e new.ldb ]
  for verb in "build -o no/where.ldb rows" "compact old.ldb -o no/where.ldb"; do
    # shellcheck disable=SC2086
    run -2 nay sst $verb
    [[ $output == "nay sst: "*"no/where.ldb: "*"No such file or directory" ]]
  done
  for verb in info scan get compact; do
    run -2 nay sst $verb -q nowhere.ldb $([ $verb != compact ] || echo "-o x.ldb") < /dev/null
    [[ $output == "nay sst: nowhere.ldb: "*": No such file or directory" ]]
  done
  for verb in scan get; do
    run -2 bash -c "cut -f1 rows | nay sst $verb -q old.ldb > /dev/full"
    [[ $output == *"No space left on device"* ]]
  done
}

@test "sst: of several tables the one that is damaged is named" {
  rows 2000 | nay sst build -q --filter none -o a.ldb
  rows 2000 | sed 's/key/kez/' | nay sst build -q --filter none -o b.ldb
  flip b.ldb 5000
  run -3 nay sst get -q a.ldb --older b.ldb < <(seq -f 'kez%06g' 2000)
  [[ $output == *"nay sst: b.ldb: "*"(at byte "* ]]
  run -3 nay sst compact -q --key=text a.ldb b.ldb -o c.ldb
  [[ $output == "nay sst: b.ldb: "*"(at byte "* ]]
  [ ! -e c.ldb ]
}

@test "sst: usage" {
  run -2 nay sst
  run -2 nay sst bild
  [[ $output == *"did you mean build?" ]]
  run -2 nay sst get
  run -2 nay sst build < /dev/null
  [[ $output == *"-o FILE"* ]]
  rows 3 | nay sst build -q -o t.ldb
  run -2 nay sst build -o t.ldb < /dev/null
  [[ $output == *"exists; -f overwrites it" ]]
  run -2 nay sst scan --bottom t.ldb
  [[ $output == *"--bottom is not for 'nay sst scan'" ]]
  run -2 nay sst build --filter small -p 1% -o u.ldb < /dev/null
  run -2 nay sst build --filter bloom -o u.ldb < /dev/null
  run -2 nay sst build --prefix-length 3 --prefix-delimiter / -o u.ldb < /dev/null
  run -2 nay sst build --filter leveldb -b 9.5 -o u.ldb < /dev/null
  [ ! -e u.ldb ]
}

@test "sst: 400 command lines of nonsense: an exit status of 0 to 3, never a crash or a hang" {
  rows 300 | nay sst build -q --prefix-length 4 -o t.ldb
  rows 30 > rows
  python3 - <<'PY'
import random, subprocess
random.seed(13)
verbs = "build get scan info compact".split()
words = ["-o", "x.ldb", "-f", "t.ldb", "t.ldb", "rows", "missing", ".", "--filter", "full", "small", "leveldb", "none",
         "partitioned", "-p", "1%", "-b", "10", "0", "-t", "ribbon", "--prefix-length", "--prefix-delimiter", "/",
         "--compress", "snappy", "--block", "1", "--sort", "--sequence", "1e18", "7", "--bottom", "--snapshot", "--from",
         "--to", "--prefix", "key0001", "--max-count", "--versions", "--no-values", "--verify", "-c", "-v", "--keys", "-q",
         "--json", "-0", "--csv", "--key=hex", "--length-prefixed", "-k", "2", "", "\xff", "--", "-", "x" * 300]
golden = open("t.ldb", "rb").read()
for i in range(400):
    line = ["nay", "sst", random.choice(verbs)] + [random.choice(words) for _ in range(random.randrange(7))]
    done = subprocess.run(line, stdin=open("rows"), capture_output=True, timeout=120)
    if not 0 <= done.returncode <= 3:
        raise SystemExit(f"status {done.returncode}: {line}\n{done.stderr[-500:]!r}")
    if done.returncode == 2 and not done.stderr:
        raise SystemExit(f"status 2 without a word: {line}")
    open("t.ldb", "wb").write(golden)
PY
}

@test "scan prints typed keys: every golden key of every type, and building from what it prints gives the same table" {
  vectors="$BATS_TEST_DIRNAME/../golden/keys/keys.txt"
  for type in int float bool date timestamp uuid numeric hex b64; do
    awk -F'\t' -v type=$type '$1 == type && $3 != "error" && $2 != "" { print $2 }' "$vectors" > texts
    [ "$(wc -l < texts)" -gt 4 ]
    nay sst build -q --sort --key=$type -f -o a.ldb texts
    nay sst scan --key=$type --no-values a.ldb > printed
    nay sst build -q --sort --key=$type -f -o b.ldb printed
    cmp a.ldb b.ldb
    [ "$(nay sst get -q -c --key=$type a.ldb --keys printed)" -eq "$(wc -l < printed)" ]
  done
  printf '%s\n' 2024-02-29T12:34:56.789Z infinity -0043-03-15 > times
  nay sst build -q --sort --key=timestamp -o t.ldb times
  [ "$(nay sst scan --key=timestamp --no-values t.ldb | sort | paste -sd' ')" = "-0043-03-15T00:00:00Z 2024-02-29T12:34:56.789000Z infinity" ]
  [ "$(nay sst scan --key=timestamp --json --no-values --max-count 1 t.ldb | jq -r .key | wc -c)" -gt 9 ]
  echo short | nay sst build -q --filter leveldb -o s.ldb # a table of LevelDB's, which states no type
  for type in int float bool date timestamp uuid numeric; do
    run -2 nay sst scan --key=$type s.ldb
    [[ $output == *"the key 'short' is not of type $type"* ]]
  done
  echo 0700000000000000 | nay sst build -q --filter leveldb --key=hex -o seven.ldb
  run -2 nay sst scan --key=bool seven.ldb
  run -0 nay sst scan --key=date --no-values seven.ldb
  [ "$output" = 1970-01-08 ]
}

# lie TABLE NAME VALUE: a property of one byte gets another value, and the block a checksum that fits
lie() {
  python3 - "$@" <<'PYTHON'
import sys
path, name, value = sys.argv[1], sys.argv[2].encode(), bytes([int(sys.argv[3])])
data = bytearray(open(path, "rb").read())
def varint(at):
    number = shift = 0
    while True:
        byte = data[at]; at += 1
        number |= (byte & 127) << shift; shift += 7
        if byte < 128: return number, at
offset, at = varint(data.rindex(b"nay.properties") + len(b"nay.properties"))
size, stated = varint(at)
at = data.index(name, offset, offset + size) + len(name)
data[at:at + 1] = value
def seal(offset, size):
    crc = 0xffffffff
    for byte in data[offset:offset + size + 1]:
        crc ^= byte
        for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    masked = ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
    data[offset + size + 1:offset + size + 5] = masked.to_bytes(4, "little")
    return masked.to_bytes(4, "little")
data[stated:stated + 4] = seal(offset, size)
offset, at = varint(len(data) - 48)
seal(offset, varint(at)[0])
open(path, "wb").write(data)
PYTHON
}

# flip FILE BYTE: changes one bit.
flip() {
  python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[2])] ^= 1
open(sys.argv[1], "wb").write(data)' "$1" "$2"
}

@test "sst info says that a filter is damaged, and --verify exits with 3" {
  local layout i line
  for layout in full partitioned leveldb; do
    nay sst build -q -f --filter $layout --prefix-length 5 -o sound.ldb <(rows 3000)
    run -0 nay sst info --verify sound.ldb
    [[ $output == *"every checksum matches"* && $output != *damaged* ]]
    [ "$(nay sst info --json sound.ldb | jq .nfilter_faults)" = 0 ]
    nay extract sound.ldb > filters
    [ "$(wc -l < filters)" -ge 2 ]
    for i in 1 \$; do # the first filter, and that of the prefixes
      line=$(sed -n "${i}p" filters)
      cp sound.ldb damaged.ldb
      flip damaged.ldb $(($(cut -f2 <<< "$line") + 20))
      run -0 nay sst info damaged.ldb
      [[ $output == *", damaged"* ]]
      [ "$(nay sst info --json damaged.ldb | jq '.nfilter_faults > 0')" = true ]
      run -3 nay sst info --verify damaged.ldb
      [[ $output == *"the checksums of the data match"* && $output == *"a filter is damaged"* ]]
      [ "$(nay sst get -c damaged.ldb key000117)" = 1 ] # the data answers
    done
  done
}

@test "sst build --properties: info shows them, and --verify finds a table that lies" {
  printf 'a\t1\nb\ncc\t333\n' > few
  nay sst build -q --properties --sequence 7 -o p.ldb few
  [ "$(nay sst info --json p.ldb | jq -c '[.stated_nentries, .stated_ndeletions, .stated_nbytes_keys,
    .stated_nbytes_values, .stated_sequence_low, .stated_smallest, .stated_largest]')" = '[3,1,28,4,7,"a","cc"]' ]
  run -0 nay sst info --verify p.ldb
  [[ $output == *"states   3 entries, of them 1 deletion; keys of 28 B, values of 4 B"* ]]
  nay sst build -q --properties -o plain.ldb <(rows 2000)
  [ "$(nay sst info --json plain.ldb | jq -c '[.stated_nentries, .stated_ndeletions, .stated_largest]')" = '[2000,null,"key002000"]' ]
  nay sst compact -q --properties --bottom -o c.ldb p.ldb
  [ "$(nay sst info --verify --json c.ldb | jq -c '[.stated_nentries, .stated_ndeletions, .nentries]')" = '[2,0,2]' ]
  nay sst build -q -o none.ldb few
  [ "$(nay sst info --json none.ldb | jq .stated_nentries)" = null ]
  run -2 nay sst build -q --properties --format nori --sequence 1 -o n.sst few
  [[ $output == *"--properties"* ]]
  local row
  for row in "nay.entries 4 entries" "nay.deletions 0 deletions" "nay.key.bytes 27 bytes" "nay.value.bytes 5 bytes" \
    "nay.smallest.sequence 6 smallest" "nay.largest.sequence 8 largest" "nay.merges 1 merge" "nay.smallest.key 98 first" "nay.largest.key 100 last"; do
    set -- $row
    cp p.ldb lies.ldb
    lie lies.ldb "$1" "$2"
    run -0 nay sst get -q lies.ldb a # searches do not rely on them
    run -3 nay sst info --verify lies.ldb
    [[ $output == *"$3"* ]]
  done
}

@test "sst: every codec, by build and compact" {
  seq -w 3000 | awk '{print $1 "\tvalue of " $1}' > rows
  for codec in none snappy lz4 zstd; do
    nay sst build -q --compress $codec -o $codec.ldb rows
    [ "$(nay sst info --json --verify $codec.ldb | jq -r .codec)" = $codec ]
    nay sst scan $codec.ldb | cmp - rows
    nay sst compact -q --compress $codec none.ldb -o again.ldb
    cmp again.ldb $codec.ldb
    rm again.ldb
  done
}

@test "sst: options that would do nothing are refused" {
  seq 9 | nay sst build -q -o plain.ldb
  for options in "-t ribbon" "-b 10" "-p 1%"; do
    # shellcheck disable=SC2086
    run -2 bash -c "seq 9 | nay sst build --filter none $options -o t.ldb"
    [[ $output == *"is not for 'nay sst --filter none'"* ]]
  done
  [ ! -e t.ldb ]
  for line in "get --snapshot 3 plain.ldb 5" "scan --snapshot 3 plain.ldb" "scan --reverse --snapshot 3 plain.ldb" \
    "scan --versions plain.ldb" "compact --snapshot 3 plain.ldb -o t.ldb"; do
    # shellcheck disable=SC2086
    run -2 nay sst $line
    [[ $output == *"plain.ldb: the keys are plain, without sequence numbers: omit --"* ]]
  done
  [ ! -e t.ldb ]
  run -2 bash -c "seq 9 | nay sst build --block 2G -o t.ldb"
  [[ $output == *"--block: at most 1 GiB"* ]]
}
