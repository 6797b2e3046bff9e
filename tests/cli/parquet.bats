#!/usr/bin/env bats
# Filters inside Parquet files: prune, check --in, info, extract. The files are DuckDB's.
load common

PARQUET=$BATS_TEST_DIRNAME/../golden/parquet

@test "prune prints the files that may hold a value, and says what it read" {
  cp "$PARQUET"/duckdb_n{100_p001,1000_p0001_snappy,6000_rg2048}.parquet .
  run -0 --separate-stderr nay prune --in s -e key000900 ./*.parquet
  [ "$output" = "./duckdb_n1000_p0001_snappy.parquet
./duckdb_n6000_rg2048.parquet" ]
  [[ $stderr == *"2 of 3 files, 2 of 5 row groups, 5 filters; read "* ]]
  run -0 --separate-stderr nay prune --in b -e 5999 ./*.parquet
  [ "$output" = ./duckdb_n6000_rg2048.parquet ]
  run -0 nay prune -q -v --in b -e 5999 ./*.parquet
  run -1 --separate-stderr nay prune --in b -e 1000000000 ./*.parquet
  [ -z "$output" ]
  [ "$(nay prune -q -c --in b -e 5999 -e 50 ./*.parquet)" -eq 3 ]
  run -0 --separate-stderr nay prune --row-groups --in s -e key002048 ./*.parquet
  [ "$output" = "./duckdb_n6000_rg2048.parquet	1" ]
  run -0 --separate-stderr nay prune -v --row-groups --in s -e key002048 ./duckdb_n6000_rg2048.parquet
  [ "$output" = "./duckdb_n6000_rg2048.parquet	0
./duckdb_n6000_rg2048.parquet	2" ]
  [ "$(nay prune -q -c -v --row-groups --in s -e key002048 ./duckdb_n6000_rg2048.parquet)" -eq 2 ]
}

@test "prune never drops a file that holds the value" {
  for i in $(seq 0 17 999); do
    run -0 --separate-stderr nay prune --in b -e "$i" "$PARQUET/duckdb_n1000_p0001_snappy.parquet" "$PARQUET/duckdb_n1000_default_options.parquet"
    [ "${#lines[@]}" -eq 2 ]
  done
  run -0 nay prune --in f -e 49.5 "$PARQUET/duckdb_n100_p01.parquet"
  run -0 nay prune --in d -e -0 "$PARQUET/duckdb_n100_p01.parquet"
  run -0 nay prune --in d -e nan "$PARQUET/duckdb_n100_p01.parquet"
}

@test "a file that lacks the column, or is no Parquet file, is told; others are still answered" {
  cp "$PARQUET/duckdb_n100_p01.parquet" a.parquet
  cp "$PARQUET/duckdb_n6000_rg2048.parquet" b.parquet
  run -2 --separate-stderr nay prune --in j -e 1000 a.parquet b.parquet
  [ "$output" = b.parquet ] # nothing is known of it
  [[ $stderr == *"b.parquet: j: no column has this name"* ]]
  echo text > c.parquet
  run -3 --separate-stderr nay prune --in s -e key000001 c.parquet a.parquet
  [ "$output" = a.parquet ]
  run -2 nay prune --in s -e key000001 missing.parquet
  run -2 nay prune --in b -e seven a.parquet
  [[ $output == *"'seven' is no value of b, which is INT64 (int64)"* ]]
  run -2 nay prune -e 7 a.parquet
  run -2 nay prune --in b a.parquet
  head -c 500 a.parquet > cut.parquet
  run -3 --separate-stderr nay prune --in b -e 7 cut.parquet
  [ "$output" = cut.parquet ] # its end is missing: nothing is known of it
  run -3 --separate-stderr nay prune -v --in b -e 7 cut.parquet
  [ -z "$output" ]
  printf 'PAREabcdefgh\x04\0\0\0PARE' > encrypted.parquet
  run -2 --separate-stderr nay prune --in b -e 1000000 encrypted.parquet a.parquet
  [ "$output" = encrypted.parquet ]
  [[ $stderr == *"the footer of this Parquet file is encrypted"* ]]
  # which of its row groups is not known
  run -2 --separate-stderr nay prune --row-groups --in b -e 1000000 encrypted.parquet a.parquet
  [ "$output" = encrypted.parquet ]
  run -3 --separate-stderr nay prune --row-groups --json --in b -e 7 cut.parquet
  [ "$output" = '{"file":"cut.parquet","row_group":null}' ]
  run -3 --separate-stderr nay prune -c --row-groups --in b -e 7 cut.parquet
  [ "$output" -eq 1 ]
}

@test "every text of a value of every type is found, in files that no engine wrote" {
  run -0 python3 "$BATS_TEST_DIRNAME/parquet_types.py" nay
  [ -z "$output" ]
  # a column that another file has in a narrower type: that file is printed with an error, and the others are answered
  run -2 --separate-stderr nay prune --in id -e 3000000000 narrow.parquet wide.parquet
  [ "$output" = "narrow.parquet
wide.parquet" ]
  [[ $stderr == *"narrow.parquet: '3000000000' is no value of id, which is INT32: the number is outside"* ]]
  run -2 --separate-stderr nay prune -v --in id -e 3000000000 narrow.parquet wide.parquet
  [ -z "$output" ]
  run -2 --separate-stderr nay prune --in id -e 5 -e five narrow.parquet # also where 5 answers first
  [[ $stderr == *"'five' is no value of id"* ]]
  run -2 --separate-stderr nay prune --in id -e 0.05 decimals.parquet
  [ "$output" = decimals.parquet ]
  [[ $stderr == *"decimals.parquet: id, which is BYTE_ARRAY (decimal, 2 digits), cannot be probed"* ]]
  run -2 nay check --in id decimals.parquet -e 0.05
  [[ $output == *"cannot be probed"* ]]
  # an offset of a time zone, in a column without one: nobody knows which time is meant
  run -2 nay check --in local1 types.parquet -e 2024-02-29T13:34:56.789+01:00
  run -2 nay check --in f32 types.parquet -e 16777217
  [[ $output == *"the text lies between two floats"* ]]
}

@test "check --in: what is no value of the column is a bad record" {
  python3 "$BATS_TEST_DIRNAME/parquet_types.py" nay
  printf '5\nfive\n3000000000\n5\n' > keys
  run -2 --separate-stderr nay check -c --in id narrow.parquet keys
  [ "$output" -eq 2 ]
  [[ $stderr == *"keys: line 2: 'five' is not of type INT32: "*"keys: line 3: '3000000000'"* ]]
  run -0 --separate-stderr nay check -c --in id --on-bad=skip narrow.parquet keys
  [ "$output" -eq 2 ]
  run -0 --separate-stderr nay check --in id --on-bad=pass narrow.parquet keys
  [ "$output" = "$(cat keys)" ]
  run -2 nay check --in id --on-bad=line narrow.parquet keys
  printf '{"v":["five",5]}\n' > lines
  run -2 --separate-stderr nay check -c --in id --jsonl -k 'v[]' narrow.parquet lines
  [[ $stderr == *"'five' is not of type INT32"* ]]
}

@test "check --in reads keys as they are, and refuses what a Parquet file has not" {
  file=$PARQUET/duckdb_n6000_rg2048.parquet
  for option in --trim -i --key=text --format=sbbf --blob=0 --now=now --secret=secret; do
    run -2 nay check --in s "$option" "$file" -e KEY000001
    [[ $output == *"--in "*"omit "* ]]
  done
}

@test "check --in reads keys in the type of the column" {
  file=$PARQUET/duckdb_n6000_rg2048.parquet
  seq 0 5999 > numbers
  [ "$(nay check -c --in b "$file" numbers)" -eq 6000 ]
  seq -f '%06.0f' 0 5999 | sed 's/^/key/' > keys
  [ "$(nay check -c --in s "$file" keys)" -eq 6000 ]
  [ "$(nay check -c --in s --row-group 1 "$file" -e key002048 -e key004095)" -eq 2 ]
  [ "$(nay check -c --in b "$file" -e 0x10 -e 007)" -eq 2 ]
  run -1 nay check --in b "$file" -e 10000000000
  run -2 nay check --in b "$file" -e seven
  run -2 nay check --in b --key=int "$file" -e 7
  run -2 nay check --in b --row-group 3 "$file" -e 7
  run -2 nay check --row-group 0 "$file" -e 7
  run -0 nay check --in s "$PARQUET/duckdb_n1000_default_options.parquet" -e anything
  [[ $output == *"every answer is maybe"* ]]
  run -3 nay check "$file" -e 7
  [[ $output == *"a Parquet file, not a filter"* ]]
}

@test "info and extract" {
  run -0 nay info "$PARQUET/duckdb_n100_p01.parquet"
  [[ $output == *"100 rows in 1 row group, 7 filters"* ]]
  nay info --json "$PARQUET/duckdb_n6000_rg2048.parquet" | jq -e '.nfilters == 6 and .columns[1].column == "b"'
  nay extract -q "$PARQUET/duckdb_n6000_rg2048.parquet" -o d/
  [ "$(ls d | wc -l)" -eq 6 ]
  printf '\x05\x00\x00\x00\x00\x00\x00\x00' > five
  [ "$(nay check -c --key=hex --format sbbf d/0000.b.sbbf -e 0500000000000000)" -eq 1 ]
  run -0 nay info d/0000.b.sbbf
  [[ $output == *"likely sbbf"* ]]
  nay merge -q --format sbbf d/0000.s.sbbf d/0001.s.sbbf d/0002.s.sbbf -o all.sbbf
  seq -f '%06.0f' 0 5999 | sed 's/^/key/' > keys
  [ "$(nay check -c --format sbbf all.sbbf keys)" -eq 6000 ]
  run -2 nay extract "$PARQUET/duckdb_n6000_rg2048.parquet" -o one
  run -1 nay extract "$PARQUET/duckdb_n1000_default_options.parquet"
}

@test "sbbf: built, folded, and the same bytes as DuckDB's" {
  nay extract -q "$PARQUET/duckdb_n1000_p0001_snappy.parquet" -o d/
  seq 0 999 | nay build -q --format sbbf --key=int -p 0.01% -o ours
  cmp ours d/0000.b.sbbf
  nay fold -q --format sbbf --factor 4 ours -o folded
  [ "$(seq 0 999 | nay check -c --format sbbf --key=int folded)" -eq 1000 ]
}
