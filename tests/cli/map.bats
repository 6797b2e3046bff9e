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
  [[ $output == "nay map: row 2: 127 needs more than the 6 bits of -r" ]]
  run -2 nay map build -f -r 65 -o m.nay rows
  run -2 nay map build -f -r 60 --check 5 -o m.nay rows
  [[ $output == "nay map: --check: at most 64 bits together with those of the value" ]]
  run -2 nay map build -f --check 60 -o m.nay rows
  [[ $output == *"check_bits"* ]]
  printf 'a\t18446744073709551615\nb\t0xFFFFFFFFFFFFFFFF\nc\t0\n' | nay map build -q -f -o m.nay
  [ "$(nay map get -q m.nay a b c | cut -f2 | sort -u | xargs)" = "0 18446744073709551615" ]
}

@test "map build: two values for one key is an error that names the row, equal ones are not" {
  printf 'a\t1\nb\t2\na\t1\n' > rows
  [ "$(nay map build --json -o m.nay rows | jq -c '[.nkeys, .ndistinct]')" = '[3,2]' ]
  printf 'a\t1\nb\t2\na\t2\n' > rows
  run -2 nay map build -f -o m.nay rows
  [[ $output == "nay map: row 3: an earlier row has the same key and another value" ]]
  [ "$(nay map get -q m.nay a)" = $'a\t1' ] # the old file stays
}

@test "map build: rows that are none are named" {
  for row in 'a' 'a\t' 'a\tx' 'a\t-1' 'a\t1.5' 'a\t0x' 'a\t1 ' 'a\t18446744073709551616' 'a\t1\t2' 'a\t0x1g'; do
    run -2 --separate-stderr nay map build -o m.nay < <(printf "b\t1\n$row\n")
    [[ $stderr == "nay map: row 2"* ]] || { echo "$row: $stderr"; return 1; }
    [ ! -e m.nay ]
  done
  for option in --csv --tsv -F, -k1 --length-prefixed --key=u64le; do
    run -2 nay map build "$option" -o m.nay < <(rows 3)
    [[ $output == *"a row is a key, a tab and a value"* ]]
  done
  run -2 nay map build < <(rows 3)
  [[ $output == *"-o FILE"* ]]
  run -2 nay map build -o - < <(rows 3)
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
  [[ $stderr == "nay map: row 1: 'key000001' has the value 138"*"row 2: 'nobody' is absent" ]]
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
  run -2 nay map verify m.nay m.nay
  run -2 nay map get
}
