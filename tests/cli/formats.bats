#!/usr/bin/env bats
# A magic number, or a checksum that holds, outweighs --format: in every command that has the option.
load common

GOLDEN=$BATS_TEST_DIRNAME/../golden

# What each command with --format is given; "%" stands for the file. A command without a row fails.
arguments() {
  case $1 in
    check) echo "-v % keys" ;;
    explain) echo "% foo" ;;
    add | remove) echo "% keys" ;;
    info | verify | fold) echo "%" ;;
    merge) echo "% % -o out" ;;
    convert) echo "--to nay % -o out" ;;
    build) echo "" ;; # there it is the layout to write
    sst | extract) echo "" ;; # there it names a table: foreign.bats
    *) echo "no row for $1" >&2; return 1 ;;
  esac
}

commands() { nay help | sed -n 's|^  \([a-z]*\)  *[a-z].*|\1|p' | grep -vx nay; }

formats() { nay --version --json | jq -r '.formats[]'; }

# refused FILE FORMAT WORD: every command refuses it under this name, says what it is, leaves it alone.
refused() {
  local row command
  for command in $(commands); do
    nay "$command" --help | grep -q -- '--format=NAME' || continue
    row=$(arguments "$command") || return 1
    [ -n "$row" ] || continue
    cp "$1" before
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" --format "$2" ${row//%/$1}
    [ "$status" -eq 3 ] || { echo "$command --format $2 $1: status $status, $output$stderr"; return 1; }
    [[ $stderr == *"$3"* ]] || { echo "$command --format $2 $1: $stderr"; return 1; }
    cmp "$1" before
    [ ! -e out ]
  done
}

@test "every command with --format has a row here" {
  n=0
  for command in $(commands); do
    if nay "$command" --help | grep -q -- '--format=NAME'; then arguments "$command"; n=$((n + 1)); fi
  done
  [ "$n" -eq 12 ]
}

@test "a native file under the name of every other layout is refused, whatever the command" {
  seq 1000 > keys
  nay build -q -o f keys
  for format in $(formats); do
    [ "$format" = nay ] || refused f "$format" "is nay by its magic number, not $format"
  done
}

@test "so are Redis' DUMP, a file with mini-lsm's checksum, and tables" {
  echo foo > keys
  cp "$GOLDEN/redisbloom/bf_1pct_1000.dump" f
  for format in nay leveldb nori12 redisbloom-bf redis-dump-cf; do
    refused f "$format" "is redis-dump-bf by its magic number, not $format"
  done
  nay build -q -f -n 100 -b 10 --format mini-lsm -o f keys
  for format in leveldb rocksdb-bloom lab; do refused f "$format" "the checksum of mini-lsm holds"; done
  cp "$(ls "$GOLDEN"/leveldb-tables/*.ldb | head -n 1)" f
  for format in nay leveldb rocksdb-bloom; do refused f "$format" "is a table by its magic number"; done
}

@test "from standard input too" {
  seq 1000 > keys
  nay build -q -o f keys
  run nay check --format leveldb - keys < f
  [ "$status" -eq 3 ]
  nay sst build -q --sort -o t.ldb keys
  run nay check --format leveldb - keys < t.ldb
  [ "$status" -eq 3 ]
}

@test "the right name is taken, and layouts without a magic number need theirs" {
  seq 1000 > keys
  nay build -q -o f keys
  [ "$(nay check -c --format nay f keys)" -eq 1000 ]
  for format in leveldb mini-lsm mini-lsm-week1 nori nori12 nori12-unrounded lab rocksdb-bloom; do
    nay build -q -f -n 1000 -b 10 --format "$format" -o "f.$format" keys
    [ "$(nay check -c --format "$format" "f.$format" keys)" -eq 1000 ]
  done
}

@test "a filter with which nori loses keys says so" {
  nori="$GOLDEN/nori-engine"
  for i in $(seq 0 199); do printf 'key%08d\n' "$i"; done > keys
  for file in bloom_390efce_key8_n5_b10_sized0.bloom:nori12:'nori denies every key' \
    qf_390efce_key8_n200_sized64_r7.qf:nori-quotient:'nori drops and denies'; do
    IFS=: read -r name format why <<< "$file"
    for command in info verify; do
      run -0 nay "$command" --format "$format" "$nori/$name"
      [[ $output == *"$why"* ]]
    done
    nay info --json --format "$format" "$nori/$name" | jq -e --arg why "$why" '.caveats[0] | contains($why)'
    run nay check -c --format "$format" "$nori/$name" keys
    [[ $output == *warning*"$why"* ]]
  done
  [ "$(nay check -c --format nori-quotient "$nori/qf_390efce_key8_n200_sized64_r7.qf" keys 2> /dev/null)" -eq 200 ]
}
