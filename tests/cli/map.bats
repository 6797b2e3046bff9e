#!/usr/bin/env bats
# nay map: static maps from rows of a key, a tab and a value.
load common

rows() { seq "$1" | awk '{ printf "key%06d\t%d\n", $1, ($1 * 7919) % 251 }'; }

@test "map build and get: every key with its value, in the order of the keys" {
  rows 5000 > rows
  nay map build -q -o m.nay rows
  cut -f1 rows | nay map get -q m.nay | cmp - rows
  nay map get -q m.nay --keys <(cut -f1 rows) | cmp - rows
  [ "$(cut -f1 rows | nay map get -q -c m.nay)" -eq 5000 ]
  [ "$(nay map get -q m.nay key000003)" = "$(grep '^key000003' rows)" ]
  [ "$(nay map get -q --max-count 2 m.nay --keys <(cut -f1 rows) | wc -l)" -eq 2 ]
  [ "$(nay map get -q --line-number m.nay --keys <(cut -f1 rows) | tail -n 1)" = "5000:$(tail -n 1 rows)" ]
}

@test "map get: without check bits stderr says that other keys get arbitrary values" {
  rows 100 | nay map build -q -o m.nay
  run -0 --separate-stderr nay map get m.nay nobody
  [[ $output == nobody$'\t'* ]]
  [ "$stderr" = "nay map: no check bits: a key outside the set gets an arbitrary value" ]
  run -2 nay map get -v m.nay nobody
  [[ $output == *"does not know absent keys" ]]
}

@test "map get: with check bits a key outside the set is absent" {
  rows 1000 | nay map build -q --check 24 -o m.nay
  [ "$(seq 10000 | nay map get -q -v -c m.nay)" -ge 9995 ]
  run -1 --separate-stderr nay map get m.nay nobody
  [ "$output$stderr" = '' ]
  [ "$(nay map get -v m.nay nobody)" = nobody ]
  run -1 nay map get -v m.nay key000001
  [ "$(nay map get --json m.nay key000001 nobody)" = '{"key":"key000001","number":138}' ]
}

@test "map build: the fewest bits by default, -r sets them, values too wide are named" {
  printf 'a\t5\nb\t0x7f\n' > rows
  [ "$(nay map build --json -o m.nay rows | jq .value_bits)" -eq 7 ]
  [ "$(nay map build --json -f -r 64 -o m.nay rows | jq .value_bits)" -eq 64 ]
  [ "$(nay map get -q m.nay b)" = $'b\t127' ]
  run -2 nay map build -f -r 6 -o m.nay rows
  [[ $output == "nay map: rows: line 2: 127 needs more than the 6 bits of -r" ]]
  run -2 nay map build -f -r 65 -o m.nay rows
  run -2 nay map build -f -r 60 --check 5 -o m.nay rows
  [[ $output == "nay map: --check: at most 64 bits together with those of the value" ]]
  run -2 nay map build -f --check 60 -o m.nay rows
  [ "$output" = "nay map: --check: at most 57 bits, since the values have 7" ]
  nay map build -q -f --check 57 -o m.nay rows
  printf 'a\t18446744073709551615\nb\t0xFFFFFFFFFFFFFFFF\nc\t0\n' | nay map build -q -f -o m.nay
  [ "$(nay map get -q m.nay a b c | cut -f2 | sort -u | xargs)" = "0 18446744073709551615" ]
}

@test "map build: two values for one key is an error that names file and line, equal ones are not" {
  printf 'a\t1\nb\t2\na\t1\n' > rows
  [ "$(nay map build --json -o m.nay rows | jq -c '[.nkeys, .ndistinct]')" = '[3,2]' ]
  printf 'a\t1\nb\t2\na\t2\n' > rows
  run -2 nay map build -f -o m.nay rows
  conflict="an earlier row has the same key and another value"
  [ "$output" = "nay map: rows: line 3: $conflict" ]
  [ "$(nay map get -q m.nay a)" = $'a\t1' ] # the old file stays
  # blank lines, headers and rows of several lines count; so does each file for itself
  printf 'k\tv\n\na\t1\n\t9\nb\t2\n\n\nc\t3\n' > first
  printf 'k\tv\nd\t1\n\ne\t1\nf\t1\nb\t3\n' > second
  run -2 nay map build --header --skip-empty -f -o m.nay first second
  [ "$output" = "nay map: second: line 6: $conflict" ]
  run -2 nay map build --header --skip-empty -f -o m.nay second first
  [ "$output" = "nay map: first: line 5: $conflict" ]
  run -2 nay map build --csv -f -o m.nay <<< $'"a\nb",1\n"c\nd",2\ne,3\n"a\nb",2\n'
  [ "$output" = "nay map: standard input: line 6: $conflict" ]
  run -2 nay map build -0 -f -o m.nay < <(printf 'a\t1\0b\t1\0a\t2\0')
  [ "$output" = "nay map: standard input: record 3: $conflict" ]
}

@test "map build: rows that are none are named" {
  for row in 'a' 'a\t' 'a\tx' 'a\t-1' 'a\t1.5' 'a\t0x' 'a\t1 ' 'a\t18446744073709551616' 'a\t1\t2' 'a\t0x1g'; do
    run -2 --separate-stderr nay map build -o m.nay < <(printf "b\t1\n$row\n")
    [[ $stderr == "nay map: standard input: line 2: "* ]] || { echo "$row: $stderr"; return 1; }
    [ ! -e m.nay ]
  done
  run -2 nay map build -0 -o m.nay < <(printf 'b\t1\0a\0')
  [ "$output" = "nay map: standard input: record 2: no value: a row is a key, a tab and a value" ]
  run -2 nay map build --skip-empty -o m.nay < <(printf 'a\t1\n\n\nb\tx\n')
  [ "$output" = "nay map: standard input: line 4: 'x' is not a number from 0 to 2^64 - 1" ]
}

@test "map build and verify: rows of columns, of fields and of bytes" {
  rows 3000 > rows
  nay map build -q --check 16 -o want.nay rows
  check() { # what the options read makes the same map, and verifies
    nay map build -q --check 16 -o got.nay "$@" && cmp want.nay got.nay || { echo "build: $*"; return 1; }
    run -0 nay map verify want.nay "${@:1:$#-1}" --keys "${@: -1}"
    [[ $output == *"3,000 rows, 0 wrong" ]] || { echo "verify: $*: $output"; return 1; }
    rm got.nay
  }
  check --tsv rows
  awk -F'\t' -v OFS='\t' '{ print "x", $2, $1, "y" }' rows > turned
  check --tsv -k3 --value 2 turned
  check -k3 --value 2 turned
  { printf 'a\tvalue\tkey\tz\n'; cat turned; } > named
  check --tsv -k key --value value named
  check -k key --value 2 named
  check --header -k3 --value value named
  tr '\t' , < named > named.csv
  check --csv -k key --value value named.csv
  sed '1!s/[^,]*/"&"/g' named.csv | sed 's/"x"/"x ""\n,"/' > quoted.csv
  check --csv -k key --value value quoted.csv
  tr '\t' ';' < named > semicolons
  check --csv --delimiter ';' -k key --value value semicolons
  check -F ';' --header -k3 --value 2 semicolons
  check -F '\t' -k3 --value 2 turned
  sed 's/$/\r/' turned > turned.crlf
  check -F '\t' --crlf -k3 --value 2 turned.crlf
  sed 's/$/\r/' rows > rows.crlf
  check rows.crlf
  tr '\n' '\0' < turned > zeroes
  check -0 -F '\t' -k3 --value 2 zeroes
  python3 - <<'PY'
import struct
rows = [line.split("\t") for line in open("rows")]
with open("prefixed", "wb") as f:
    f.writelines(struct.pack("<I", len(k)) + k.encode() + struct.pack("<Q", int(v)) for k, v in rows)
with open("eights", "wb") as f:
    f.writelines(struct.pack("<QQ", i, int(v)) for i, (_, v) in enumerate(rows))
with open("eights.keys", "wb") as f:
    f.writelines(struct.pack("<Q", i) for i in range(len(rows)))
PY
  check --length-prefixed prefixed
  nay map build -q -f --check 16 --key=u64le -o want.nay eights
  check --key=u64le eights
  [ "$(nay map get -c --key=u64le want.nay --keys eights.keys)" -eq 3000 ]
  head -c -1 eights > cut
  run -2 nay map build --key=u64le -o x.nay cut
  [ "$output" = "nay map: cut: record 3000: fewer than 16 bytes at the end" ]
  head -c -1 prefixed > cut
  run -2 nay map build --length-prefixed -o x.nay cut
  [ "$output" = "nay map: cut: record 3000: the input ends inside a row" ]
}

@test "map build: columns that are not there, or the same, are named" {
  printf 'key,value,value\na,1,2\n' > in.csv
  refused() { # MESSAGE ARGUMENT...
    run -2 nay map build -o x.nay "${@:2}"
    [ "$output" = "nay map: $1" ] || { echo "${*:2}: $output"; return 1; }
    [ ! -e x.nay ]
  }
  same="-k and --value are the same column: give another one for the value"
  refused "in.csv: line 1: the header has the column of --value twice: give its number, and --header" --csv --value value in.csv
  refused "in.csv: line 1: the header has no column 'none': it has key, value, value" --csv --value none in.csv
  refused "in.csv: line 1: the header has no column 'none': it has key, value, value" --csv -k none --value 2 in.csv
  refused "in.csv: line 1: $same" --csv -k key --value 1 in.csv
  refused "in.csv: line 1: the row has too few columns" --csv --value 4 in.csv
  refused "in.csv: line 1: 'value' is not a number from 0 to 2^64 - 1" --csv in.csv
  refused "in.csv: line 1: the line has too few fields" -F, --value 4 in.csv
  refused "$same" --csv -k2 in.csv
  refused "$same" --csv --value 1 in.csv
  refused "$same" -F, -k 1-3 in.csv
  refused "--value: columns are counted from 1" --csv --value 0 in.csv
  refused "--value: 'key' is not the number of a field" -F, --value key in.csv
  refused "--value names a column; a binary row is a key and 8 bytes of value" --key=u64le --value 2 in.csv
  run -2 nay map get --value 2 x.nay
  [[ $output == *"--value is not for 'nay map get'" ]]
}

@test "map build to standard output, get, info and verify from standard input" {
  rows 500 > rows
  nay map build -q -o m.nay rows
  nay map build -q -o - rows | cmp - m.nay
  nay map build -q rows | cmp - m.nay
  run -0 --separate-stderr nay map build -o - rows
  [ "$stderr" = "nay map: built standard output: 500 keys, values of 8 bits, check 0 bits, $(stat -c %s m.nay) B" ]
  run -2 nay map build --json rows
  [[ $output == *"--json writes to standard output"* ]]
  [ "$(nay map get -q - key000003 < m.nay)" = "$(grep '^key000003' rows)" ]
  [ "$(nay map info - < m.nay | head -n 1)" = "-: a static map of 500 keys" ]
  [ "$(nay map verify --keys rows - < m.nay | tail -n 1)" = "-: 500 rows, 0 wrong" ]
  [ "$(nay map get -q <(cat m.nay) key000003)" = "$(grep '^key000003' rows)" ]
  run -3 nay map info - < rows
  [[ $output == "nay map: standard input: "* ]]
}

@test "map: typed keys, zero bytes, carriage returns, compressed rows, no rows" {
  printf '1\t5\n002\t6\n' | nay map build -q --key int --check 20 -o m.nay
  [ "$(nay map get -q --key int m.nay 01 2 3)" = $'01\t5\n2\t6' ]
  printf 'a\t5\0b c\t6\0' | nay map build -q -0 -f -o m.nay
  [ "$(printf 'a\0b c\0' | nay map get -q -0 m.nay | tr '\0' '\n')" = $'a\t5\nb c\t6' ]
  printf 'a\t5\r\nb\t6\r\n' | nay map build -q --crlf -f -o m.nay
  [ "$(nay map get -q m.nay a b)" = $'a\t5\nb\t6' ]
  rows 100 | gzip > rows.gz
  nay map build -q -f -o m.nay rows.gz
  rows 100 | cut -f1 | nay map get -q m.nay | cmp - <(rows 100)
  nay map build -q -f --check 8 -o m.nay /dev/null
  run -1 nay map get -q m.nay a
}

@test "map: a secret key, stored or not; the seed changes the bytes; so do no threads" {
  rows 300 > rows
  printf 0123456789abcdef > secret
  nay map build -q --secret secret -o m.nay rows
  run -2 nay map get m.nay key000001
  [[ $output == *"is keyed: give its key with --secret" ]]
  cut -f1 rows | nay map get -q --secret secret m.nay | cmp - rows
  echo fedcba9876543210 > wrong
  run -2 nay map get --secret wrong m.nay key000001
  [ "$output" = "nay map: m.nay: --secret is not the key of this map" ]
  nay map build -q -o plain.nay rows
  seq 10 | nay build -q -o f.nay
  for verb in 'map get plain.nay a' 'map info plain.nay' 'map verify plain.nay' 'check f.nay -e 1'; do
    run -2 nay $verb --secret secret
    [[ $output == *".nay"*"is not keyed: omit --secret" ]] || { echo "$verb: $output"; return 1; }
  done
  [ "$(nay map info --json m.nay | jq .locked)" = true ]
  nay map verify m.nay
  nay map build -q --secret secret --store-key -o s.nay rows
  cut -f1 rows | nay map get -q s.nay | cmp - rows
  [ "$(stat -c %a s.nay)" = 600 ]
  nay map build -q --seed 1 -o a.nay rows
  nay map build -q --seed 2 -o b.nay rows
  ! cmp -s a.nay b.nay
  cut -f1 rows | nay map get -q b.nay | cmp - rows
  tac rows | nay map build -q --seed 1 -T 3 -o c.nay
  cmp a.nay c.nay
}

@test "map info and verify" {
  rows 20000 > rows
  nay map build -q --check 8 --meta 'by user' -o m.nay rows
  run -0 nay map info m.nay
  [[ $output == "m.nay: a static map of 20,000 keys"*"value    8 bits"*"check    8 bits"*"layers   2"*"note     by user"* ]]
  [ "$(nay map info --json m.nay | jq -c '[.ndistinct, .value_bits, .check_bits, .meta, .nbytes]')" = \
    "[20000,8,8,\"by user\",$(stat -c %s m.nay)]" ]
  [ "$(nay map info --json m.nay | jq '.bits_per_key < 16.2')" = true ]
  run -0 nay map verify --keys rows m.nay
  [ "$output" = $'m.nay: intact, every checksum matches\nm.nay: 20,000 rows, 0 wrong' ]
  printf 'key000001\t1\nnobody\t1\n' > wrong
  run -1 --separate-stderr nay map verify --keys wrong m.nay
  [ "$stderr" = $'nay map: wrong: line 1: \'key000001\' has the value 138\nnay map: wrong: line 2: \'nobody\' is absent' ]
  [ "$(nay map verify --json --keys wrong m.nay 2> /dev/null | jq -c '[.nkeys, .nwrong, .ok]')" = '[2,2,false]' ]
}

@test "map: damage is status 3, and filters and maps are told apart" {
  rows 1000 | nay map build -q -o m.nay
  cp m.nay bad.nay
  printf X | dd of=bad.nay bs=1 seek=700 conv=notrunc status=none
  for verb in 'get bad.nay a' 'info bad.nay' 'verify bad.nay'; do
    run -3 nay map $verb
    [[ $output == *checksum* ]]
  done
  seq 10 | nay build -q -o f.nay
  run -3 nay map info f.nay
  [[ $output == *"a filter, not a static map"* ]]
  for line in 'check m.nay -e a' 'info m.nay' 'verify m.nay' 'add m.nay -e a' 'merge m.nay m.nay -o x'; do
    run -3 nay $line
    [[ $output == *"a static map, not a filter"* ]] || { echo "$line: $output"; return 1; }
  done
  run -2 nay map get missing.nay a
  for file in bad missing f; do
    status=3; [ $file != missing ] || status=2
    run -$status --separate-stderr nay map verify --json $file.nay
    [ "$(jq -c '[.schema, .file, .ok, (.checksum | length > 9)]' <<< "$output")" = "[\"nay.map.verify/1\",\"$file.nay\",false,true]" ]
    [[ $stderr == "nay map: $file.nay: $(jq -r .checksum <<< "$output")" ]]
  done
  # info goes on, and its status is the worst
  run -3 --separate-stderr nay map info m.nay missing.nay bad.nay m.nay
  [ "$(grep -c '^m.nay: a static map' <<< "$output")" -eq 2 ]
  [[ $stderr == "nay map: missing.nay: "*$'\n'"nay map: bad.nay: "* ]]
  run -2 --separate-stderr nay map info --json missing.nay m.nay
  [ "$(jq -c '[.file, .checksum == "ok"]' <<< "$output" | xargs)" = '[missing.nay,false] [m.nay,true]' ]
  # rows that cannot be read
  run -2 --separate-stderr nay map verify --json --keys missing --keys <(rows 1000) m.nay
  [ "$(jq -c '[.nkeys, .nwrong, .ok]' <<< "$output")" = '[1000,0,false]' ]
  run -2 --separate-stderr nay map verify --json --keys <(rows 5; echo 'x	y'; rows 9) m.nay
  [ "$(jq -c '[.nkeys, .nwrong, .nbad, .ok]' <<< "$output")" = '[14,0,1,false]' ]
  [[ $stderr == *"line 6: 'y' is not a number from 0 to 2^64 - 1" ]]
  run -2 nay map verify m.nay m.nay
  run -2 nay map get
}
