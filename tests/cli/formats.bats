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
    puffin) echo "% -o out" ;;
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
  [ "$n" -eq 13 ]
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
  echo 000102030405060708090a0b0c0d0e0f > secret
  for format in $(nay --version --json | jq -r '.formats[]'); do
    options=() size=10
    case $format in
      nay | redis*) continue ;; # recognised, or sized by an FPR
      bip158) options=(--secret secret) size=24 ;;
      xor* | binary-fuse*) options=(--key=int) size=20 ;; # numbers alone
    esac
    nay build -q -f -n 1000 -b "$size" "${options[@]}" --format "$format" -o "f.$format" keys
    [ "$(nay check -c "${options[@]}" --format "$format" "f.$format" keys)" -eq 1000 ]
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

# ---- Cassandra's Filter.db ----

# The members of the shared vectors named key8.
key8() { for i in $(seq 0 $(($1 - 1))); do printf 'key%08d\n' "$i"; done; }

@test "the version in the name of a Filter.db tells its form" {
  key8 1000 > keys
  while read -r name form; do
    mkdir -p d
    file=new
    [ "$form" = cassandra ] || file=${form#cassandra-}
    cp "$GOLDEN/cassandra/${file}_key8_n1000_fp0.01.db" "d/$name"
    [ "$(nay info --json "d/$name" | jq -r .format)" = "$form" ]
    [ "$(nay check -c "d/$name" keys)" -eq 1000 ]
    run -0 nay verify --keys keys "d/$name"
    [[ $output == *"1,000 keys, 0 missing"* ]]
  done << 'NAMES'
nb-1-big-Filter.db cassandra
na-12-big-Filter.db cassandra
oa-3g1o_0abc_1a2b3c-big-Filter.db cassandra
da-1-bti-Filter.db cassandra
me-7-big-Filter.db cassandra-old
ma-1-big-Filter.db cassandra-old
la-1-big-Filter.db cassandra-old-swapped
ks-table-ka-1-Filter.db cassandra-old-swapped
ks-table.index-tmp-jb-22-Filter.db cassandra-old-swapped
NAMES
}

@test "no other name does" {
  for name in Filter.db nb-Filter.db 1-big-Filter.db NB-1-big-Filter.db nbx-1-big-Filter.db nb-1-big-Data.db x-nb-1-big-Filter.db \
    ks-table-hd-1-Filter.db -nb-1-big-Filter.db --Filter.db -Filter.db; do
    cp "$GOLDEN/cassandra/new_key8_n1000_fp0.01.db" "./$name"
    run -3 nay info "./$name"
    [[ $output == *"need --format"* ]]
  done
}

@test "--format is stronger than the name, with a warning; a magic number is stronger than both" {
  key8 1000 > keys
  cp "$GOLDEN/cassandra/old_key8_n1000_fp0.01.db" la-1-big-Filter.db
  run -0 --separate-stderr nay check -c --format cassandra-old la-1-big-Filter.db keys
  [ "$output" -eq 1000 ]
  [[ $stderr == *"warning: la-1-big-Filter.db is cassandra-old-swapped by the version in its name, not cassandra-old"* ]]
  nay build -q -f -o nb-1-big-Filter.db keys
  run -0 --separate-stderr nay info --json nb-1-big-Filter.db
  [ "$(jq -r .format <<< "$output")" = nay ]
  [ -z "$stderr" ]
}

@test "verify --keys names the form in which no key is missing" {
  key8 1000 > keys
  for is in new old old-swapped; do
    right=cassandra; [ "$is" = new ] || right="cassandra-$is"
    for named in cassandra cassandra-old cassandra-old-swapped; do
      run --separate-stderr nay verify --keys keys --format "$named" "$GOLDEN/cassandra/${is}_key8_n1000_fp0.01.db"
      if [ "$named" = "$right" ]; then
        [ "$status" -eq 0 ]
        [[ $output != *"no key is missing with"* ]]
      else
        [ "$status" -eq 1 ]
        [[ $output == *"no key is missing with --format=$right"* ]]
      fi
    done
  done
  nay verify --json --keys keys --format cassandra "$GOLDEN/cassandra/old_key8_n1000_fp0.01.db" 2> /dev/null |
    jq -e '.format_fitting == "cassandra-old" and (.ok | not)'
  key8 2000 > more # members and others: no form has them all
  run --separate-stderr nay verify --keys more --format cassandra "$GOLDEN/cassandra/old_key8_n1000_fp0.01.db"
  [ "$status" -eq 1 ]
  [[ $output != *"no key is missing with"* ]]
}

@test "build and convert write Cassandra's own bytes, and info lists the plans" {
  key8 1000 > keys
  for p in 0.1 0.05 0.02 0.01 0.001 0.0001 0.39 0.393 0.4 0.5 0.9 6.71E-5; do
    nay build -q -f -n 1000 -p "$p" --format cassandra -o f keys
    cmp f "$GOLDEN/cassandra/new_key8_n1000_fp$p.db"
  done
  nay build -q -f -o native keys
  nay convert -q -f --to cassandra-old --keys keys native -o f
  [ "$(nay check -c --format cassandra-old f keys)" -eq 1000 ]
  nay build -q -f -p 0.01 --format cassandra-old -o f keys # the number of keys is counted
  cmp f "$GOLDEN/cassandra/old_key8_n1000_fp0.01.db"
  run -2 nay build -n 1000 -p 6.7e-5 --format cassandra -o g keys
  [[ $output == *"6.71e-5"* ]]
  run -2 nay build -n 1000 -b 21 --format cassandra -o g keys
  [[ $output == *"above 20"* ]]
  run -0 nay info --format cassandra-old f
  [[ $output == *"at most 1,002 keys, 10 bits per key, FPR 0.943%"* ]]
  : > empty
  run -0 nay info --format cassandra empty
  [[ $output == *"every answer is maybe"* ]]
  run -0 nay check -c --format cassandra empty -e anything
}

@test "convert keeps a note in native files, and says when it cannot" {
  seq 100 > keys
  nay build -q -t bloom -b 10 --meta "made by hand" -o noted.nay keys
  run --separate-stderr -0 nay convert --to nay --keys keys noted.nay -o rebuilt.nay
  [[ $stderr != *note* ]]
  nay convert -q --to nay noted.nay -o copied.nay
  for file in rebuilt.nay copied.nay; do [[ $(nay info $file) == *"made by hand"* ]]; done
  run --separate-stderr -0 nay convert --to leveldb --keys keys noted.nay -o noted.leveldb
  [[ $stderr == *"the note of the filter is not kept"* ]]
}

# ---- Guava, Spark, DCSO ----

@test "info says what is likely, and what answers wants the name" {
  engines=$GOLDEN/engines
  for i in $(seq 0 99); do printf 'key%06d\n' "$i"; done > keys
  while read -r file format; do
    nay info --json "$engines/$file" | jq -e --arg f "$format" '.format == $f and .format_confidence == "likely"'
    run -3 nay check "$engines/$file" keys
    [[ $output == *"probably $format"*"--format=$format"* ]]
    nay info --json --format "$format" "$engines/$file" | jq -e '.format_confidence == "named"'
    cp "$engines/$file" keyfile # its bytes are no keys
    nay build -q -f -o f keys
    run -2 nay check f keyfile
    [[ $output == *"probably a filter ($format)"* ]]
  done << 'FILES'
xorfilter/fuse8_ser_rnd_n100.bin binary-fuse8
xorfilter/fuse16_ser_rnd_n100.bin binary-fuse16
xorfilter/xor8_ser_rnd_n100.bin xor8
xorfilter/xor16_ser_rnd_n100.bin xor16
guava/bf_mitz64_str_n100_p0.01.bin guava
guava/bf_mitz32_str_n100_p0.01.bin guava-mitz32
spark/v1_string_key8_n100_fp0.03.bin spark-v1
spark/v2_long_seq_n100_fp0.03_s0.bin spark-v2
dcso/dcso_str_n100_e100_p0.01.bloom dcso
FILES
  [ "$(nay check -c --format guava "$engines/guava/bf_mitz64_str_n100_p0.01.bin" keys)" -eq 100 ]
  head -c 100 "$engines/guava/bf_mitz64_str_n100_p0.01.bin" > cut # the length decides
  run -3 nay info cut
  [[ $output == *"need --format"* ]]
}

@test "nay builds their bytes" {
  engines=$GOLDEN/engines
  for i in $(seq 0 99); do printf 'key%06d\n' "$i"; done > keys
  nay build -q -p 1% --format guava -o guava keys
  cmp guava "$engines/guava/bf_mitz64_str_n100_p0.01.bin"
  nay build -q -p 1% -n 100 --format dcso -o dcso keys
  cmp dcso "$engines/dcso/dcso_str_n100_e100_p0.01.bloom"
  seq 0 99 | nay build -q -p 3% -n 100 --key=int --format spark-v2 -o spark
  cmp spark "$engines/spark/v2_long_seq_n100_fp0.03_s0.bin"
}

@test "DCSO's: gzip is unpacked, data at its end is the note" {
  for i in $(seq 0 99); do printf 'key%06d\n' "$i"; done > keys
  nay build -q -p 1% -n 100 --format dcso --meta 'from here' -o f keys
  [ "$(tail -c 9 f)" = "from here" ]
  nay info f | grep 'meta .* from here'
  gzip -k f
  [ "$(nay check -c --format dcso f.gz keys)" -eq 100 ]
  run -2 nay add --format dcso f.gz -e more
  [[ $output == *"compressed by gzip: -o FILE"* ]]
  nay add -q --format dcso f.gz -o g -e more
  [ "$(nay check -c --format dcso g -e more)" -eq 1 ]
  [ "$(tail -c 9 g)" = "from here" ]
}

@test "xor_singleheader's: numbers alone, packed and serialized from each other" {
  engines=$GOLDEN/engines/xorfilter
  for name in fuse8:binary-fuse8 fuse16:binary-fuse16 xor8:xor8 xor16:xor16; do
    seq 0 499 | nay build -q -b 20 --key=int --format "${name#*:}" -o f -f
    cmp f "$engines/${name%:*}_ser_seq_n500.bin"
    nay convert -q -f --format "${name#*:}" --to "${name#*:}-packed" f -o g
    cmp g "$engines/${name%:*}_pack_seq_n500.bin"
    nay convert -q -f --format "${name#*:}-packed" --to "${name#*:}" g -o f
    cmp f "$engines/${name%:*}_ser_seq_n500.bin"
    [ "$(seq 0 499 | nay check -c --key=int --format "${name#*:}" f)" -eq 500 ]
    [ "$(nay check -c --format "${name#*:}" f -e 'a text, which is no number')" -eq 1 ] # never nay
  done
  run -2 nay build -q -b 20 --format xor8 -o h -e 'a text'
  [[ $output == *"numbers of 64 bits, 8 bytes each"* ]]
  run -2 nay build -q -p 0.1% --format xor8 -o h -e '8 bytes!'
  [[ $output == *"-p: this layout has 1/256 and no less"* ]]
  run -2 nay convert -q --format xor8 "$engines/xor8_ser_seq_n500.bin" --to xor16 -o h
  [[ $output == *"rebuilt from the keys"* ]]
  [ ! -e h ]
}

@test "BIP158: the key of the block, without which every answer is an error" {
  gcs=$GOLDEN/engines/bitcoin/gcs_key8_n300_P19_M784931_4e21a0ff.bin
  row=$(grep gcs_key8_n300 "$GOLDEN/engines/vectors.txt")
  secret=${row#*secret=}
  echo "${secret%%	*}" > key
  for i in $(seq 0 299); do printf 'key%08d\n' "$i"; done > keys
  nay build -q -b 24 --format bip158 --secret key -o f keys
  cmp f "$gcs"
  [ "$(nay check -c --format bip158 --secret key f keys)" -eq 300 ]
  [ "$(nay check -c --format bip158 --secret key f -e nobody)" -eq 0 ]
  run -2 nay check -c --format bip158 f keys
  [[ $output == *"keyed: give its key with --secret"* ]]
  run -2 nay build -q -b 24 --format bip158 -o g keys
  [[ $output == *"needs its secret key"* ]]
  nay info --format bip158 f | grep 'keys .* 300 of 300'
  nay info --format bip158 f | grep 'caveat .* with the key of another block'
  nay info --json --format bip158 f | jq -e '.locked and .hash == "siphash24" and (.caveats | length) == 1'
}

@test "convert: layouts of the same bits and another hash stay apart" {
  seq 100 | nay build -q -p 3% -n 100 --key=int --format spark-v1 -o f
  run -2 nay convert --format spark-v1 --to spark-sql-v1 f -o g
  [[ $output == *"another hash"* && ! -e g ]]
  nay build -q -b 10 --format rocksdb-legacy -o f -f -e key
  run -2 nay convert --format rocksdb-legacy --to rocksdb-bloom f -o g
  [[ $output == *"another hash"* && ! -e g ]]
}

@test "types of other systems: the bytes that they hash, and nothing of nay's states them" {
  nay build -q -n 10 -p 0.01% --format guava --key=int32 -o f -e 5 -e -7
  [ "$(nay check -c --format guava --key=hex f -e 05000000 -e f9ffffff)" -eq 2 ]
  [ "$(nay check -c --format guava --key=int32 f -e 5 -e -7 -e 0x5)" -eq 3 ]
  nay build -q -n 10 -f -p 0.01% --format spark-sql-v2 --key=date32 -o f -e 2024-02-29 -e 1969-12-31
  [ "$(nay check -c --format spark-sql-v2 --key=hex f -e 464d0000 -e ffffffff)" -eq 2 ]
  nay build -q -n 10 -f -p 0.01% --format guava --key=utf16 -o f -e $'a\xc3\xa4\xf0\x9f\x98\x80' -e ''
  [ "$(nay check -c --format guava --key=hex f -e 6100e4003dd800de -e '')" -eq 2 ]
  printf '%s,x\n' one two $'\xc3\xa4\xc3\xa4' > rows
  [ "$(nay build -f -n 10 -p 0.01% --format guava --csv --key=utf16 -o f rows 2>&1 | grep -c 3.keys)" -eq 1 ]
  [ "$(nay check -c --format guava --key=hex f -e 6f006e006500 -e e400e400)" -eq 2 ]
  for bad in $'\xff' $'\xc0\x80' $'\xed\xa0\x80' $'\xf4\x90\x80\x80' $'\xe2\x82'; do
    run -2 nay check --format guava --key=utf16 f -e "$bad"
    [[ $output == *"not UTF-8"* ]]
  done
  for bad in 2147483648 -2147483649 9223372036854775807; do
    run -2 nay check --format guava --key=int32 f -e "$bad"
    [[ $output == *"not between -2^31 and 2^31 - 1"* ]]
  done
  run -2 nay build -q -o g --key=int32 -e 5
  [[ $output == *"bytes that other systems hash"* && ! -e g ]]
  nay build -q -o g --key=int -e 5
  run -2 nay check g --key=int32 -e 5
  [[ $output == *"bytes that other systems hash"* ]]
  echo 5 > five
  run -2 nay sst build -q --key=int32 -o t.ldb five
  [[ $output == *"bytes that other systems hash"* && ! -e t.ldb ]]
  for type in date bool; do
    run -2 nay build -q -n 1 -p 1% --format spark-sql-v1 --key=$type -o h -e 2024-01-01
    [[ $output == *"--key=${type}32"* || $output == *"not of type"* ]]
    run -2 nay check --format spark-sql-v2 --key=$type "$GOLDEN/engines/spark/v2_sqllong_seq_n1000_s0_expected1000_bits8192.bin" -e 1
    [[ $output == *"hashes 4 bytes of it: --key=${type}32"* ]]
  done
}

@test "convert --explain: what is kept and lost, the FPR before and after, and no file" {
  seq 1000 > keys
  nay build -q -b 10 -t bloom --meta 'a note' --key=int --seed 7 -o f.nay keys
  run -0 --separate-stderr nay convert --explain --to dcso f.nay
  for line in 'nay to dcso: only from the keys' '  lost  bits ' '  lost  hash ' '  kept  capacity ' '  lost  seed ' \
    '  kept  metadata ' '  lost  type ' '  checksum  lost'; do
    [[ $output == *"$line"* ]]
  done
  [[ $output == *"before, "*" after, by the plan"* ]]
  nay convert --explain --json --to leveldb f.nay |
    jq -e '.needs_keys and .kept == [] and (.lost | length) == 6 and .fpr_after > 0.008 and .fpr_after < 0.009'
  nay convert --explain --json --to leveldb --keys keys f.nay 2> /dev/null | jq -e '.needs_keys and .nbytes_after == 1251'
  nay convert --explain --json --to nay f.nay |
    jq -e '(.needs_keys | not) and .lost == [] and .fpr_before == .fpr_after and .nbytes_before == .nbytes_after'
  nay convert --explain --json --format xor8 --to xor8-packed "$GOLDEN/engines/xorfilter/xor8_ser_rnd_n100.bin" |
    jq -e '(.needs_keys | not) and .kept == ["bits", "hash", "capacity"] and .nbytes_after < .nbytes_before'
  for name in redisbloom-cf redis-dump-cf bip158; do # none can be built from keys alone
    for how in --explain '--explain --json' '-o g'; do
      # shellcheck disable=SC2086
      run -2 nay convert $how --to "$name" f.nay
      [[ $output == *"cannot convert f.nay to $name, not even from the keys: "* ]]
    done
  done
  seq 3 | nay build -q -n 3 -b 4000 -t bloom -o wide.nay # no such plan there
  nay convert --explain --json --to cassandra wide.nay | jq -e '.needs_keys and .fpr_after == null and .nbytes_after == null'
  run -0 nay convert --explain --to xor8 f.nay
  [[ $output == *"only numbers, 8 bytes each"* ]]
  nay convert -q --to sbbf --keys keys f.nay -o f.sbbf 2> /dev/null
  [ "$(nay convert --explain --json --to sbbf f.nay | jq .nbytes_after)" -eq "$(stat -c %s f.sbbf)" ]
  run -2 nay convert --explain --to nay f.nay -o g
  [[ $output == *"--explain writes no file"* && ! -e g ]]
  nay convert -q --to xor16 --keys keys f.nay -o g # a layout of one size takes its own
  [ "$(nay check -c --key=int --format xor16 g keys)" -eq 1000 ]
}

@test "ORC's Bloom filters are named, and not read" {
  printf 'ORC\x0a\x00\x00\x03ORC\x08' > f.orc
  run -3 nay info f.orc
  [[ $output == *"an ORC file, not a filter"* ]]
  printf 'ORCHIDS\nare no ORC file\n' > text
  run -3 nay info text
  [[ $output == *"not a known filter"* ]]
  printf '\x0a\x0c\x08\x04\x1a\x08\x01\x02\x03\x04\x05\x06\x07\x08' > stream
  run -3 nay info stream
  [[ $output == *"probably a stream of ORC's Bloom filters"* ]]
  printf '\x0a\x10\x08\x90\x4e\x11\x9a\x99\x99\x99\x99\x99\xa9\x3f\x18\x01\x18\x02' > old
  run -3 nay info old
  [[ $output == *"pre-release writer of ORC: readers of today deny their members"* ]]
  run -3 nay check old -e key
  [[ $output == *"pre-release writer of ORC"* ]]
  for n in 0 1 2 3 4 5 6; do # cut off
    head -c $n old > cut
    run -3 nay info cut
  done
}

# Filters and files of filters are no keys, whatever the command that reads keys.
not_keys() { # FILE WORDS
  local row
  for row in "uniq %" "diff keys %" "common keys %" "build -o out %" "check keys.nay %" "add keys.nay %" \
             "map build -o out %" "sst build -o out %"; do
    # shellcheck disable=SC2086
    run --separate-stderr nay ${row//%/$1}
    [ "$status" -eq 2 ] && [ -z "$output" ] && [[ $stderr == *"$2"* ]] || { echo "$row $1: $status $output $stderr"; return 1; }
    [ ! -e out ]
  done
}

@test "filters of other systems are refused in the place of keys, and named" {
  seq 1000 > keys
  nay build -q -o keys.nay keys
  engines=$GOLDEN/engines
  not_keys "$engines/xorfilter/fuse8_pack_rnd_n10.bin" "probably a filter (binary-fuse8-packed)"
  for form in fuse8 fuse16 xor8 xor16; do
    name=${form/fuse/binary-fuse}-packed
    for file in "$engines/xorfilter/${form}_pack_"*; do
      case $file in *_n0.bin) continue ;; esac # nothing but zeros
      nay info "$file" | grep -q "likely $name" || { echo "$file"; return 1; }
    done
  done
  for file in "$engines"/bitcoin/gcs_*_P19_*; do
    [ "$(wc -c < "$file")" -le 1 ] || nay info "$file" | grep -q 'likely bip158' || { echo "$file"; return 1; }
  done
  not_keys "$engines/bitcoin/gcs_bin_n10_P19_M784931_00010203.bin" "probably a filter (bip158)"
  not_keys "$engines/bitcoin/filterload_bin_n10_for10_fp0.01_t0_f1.bin" "probably a filter (bip37)"
  not_keys "$GOLDEN/puffin/one_small.puffin" "probably a Puffin file"
  not_keys "$engines/guava/bf_mitz64_str_n0_p0.001.bin" "probably a filter (guava)"
  printf '\x0a\x0c\x08\x04\x1a\x08\x01\x02\x03\x04\x05\x06\x07\x08' > stream
  not_keys stream "probably a stream of ORC's Bloom filters"
  printf 'ORC\x0a\x01\x02\x03ORC\x08' > f.orc
  not_keys f.orc "probably an ORC file"
}

@test "keys that look like such files are keys" {
  printf 'ORCHIDS\nare no ORC file\n' > text # a magic number at one end
  printf 'PFA1\nPFA2\n' > puffin
  head -c 254 /dev/zero | tr '\0' a > gcs # N = 97: of a length that 97 values can have
  for file in text puffin gcs; do run -0 nay uniq $file; done
}
