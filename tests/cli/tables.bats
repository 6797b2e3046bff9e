#!/usr/bin/env bats
# info, check and extract on tables of LevelDB and RocksDB, from the golden files.
load common

golden() { cp "$BATS_TEST_DIRNAME/../golden/$1" .; }

@test "info names engine, layout, policy, bits per key and rate of a full filter" {
  golden rocksdb/sst_bloom_n100.sst
  run -0 nay info sst_bloom_n100.sst
  [ "${lines[0]}" = "sst_bloom_n100.sst: table of RocksDB, format 5, 2.7 KiB, checksums xxh3" ]
  [[ $output == *"full, RocksDB's Bloom filter since format 5"* ]]
  [[ $output == *"rocksdb.BuiltinBloomFilter, written as bloomfilter"* ]]
  [[ $output == *"10.64 bits per key"* ]]
  [[ $output == *"0.742% expected"* ]]
  [[ "${lines[-1]}" == *"checksum   ok" ]]
}

@test "info --json has the numbers of every golden table" {
  for f in "$BATS_TEST_DIRNAME"/../golden/rocksdb/*.sst; do
    nay info --json "$f" | jq -e '.schema == "nay.info/1" and .engine == "RocksDB" and
      (.checksum == "ok" or .checksum == "none")' > /dev/null || { echo "$f"; false; }
  done
  golden rocksdb/sst_part_prefix4_whole.sst
  run -0 bash -c "nay info --json sst_part_prefix4_whole.sst |
    jq -c '[.layout, .format, .nfilters, .nkeys_estimated, .prefix, .whole_keys, .prefixes]'"
  [ "$output" = '["partitioned","rocksdb-bloom",2,2287,"rocksdb.FixedPrefix.4",true,true]' ]
  golden rocksdb/sst_ribbon_big_zstd.sst
  run -0 bash -c "nay info --json sst_ribbon_big_zstd.sst | jq -c '[.kind, .policy_option, .nbytes]'"
  [ "$output" = '["ribbon","ribbonfilter",8805]' ]
}

@test "info of a table without a filter, and of LevelDB's" {
  golden rocksdb/sst_rangedel_only_n0.sst
  run -0 nay info sst_rangedel_only_n0.sst
  [[ "${lines[1]}" == *"filter     none" ]]
  golden leveldb-tables/table_str_n10000_b10_none.ldb
  run -0 nay info table_str_n10000_b10_none.ldb
  [[ $output == *"table of LevelDB"*"one for each 2 KiB, 24 filters and 23 empty"* ]]
  run -0 nay info --prom table_str_n10000_b10_none.ldb
  [[ $output == *'nay_up{file="table_str_n10000_b10_none.ldb",kind="table"} 1'* ]]
}

@test "check asks the filters of a table alone" {
  seq -f 'key%06g' 0 9999 > keys
  seq -f 'abs%06g' 0 9999 > absent
  for f in rocksdb/sst_bloom_big_snappy.sst rocksdb/sst_part_bloom.sst rocksdb/sst_part_ribbon.sst \
           rocksdb/sst_legacyfv2_big_snappy_crc.sst rocksdb/sst_ribbon_big_zstd.sst \
           leveldb-tables/table_str_n10000_b10_none.ldb leveldb-tables/table_str_n10000_b10_snappy.ldb; do
    golden $f
    [ "$(nay check -c "${f##*/}" keys)" = 10000 ]
    [ "$(nay check -c "${f##*/}" absent)" -lt 180 ]
  done
  run -1 nay check -q sst_part_bloom.sst <<< zebra
  run -0 nay check -a sst_part_bloom.sst <<< $'key000005\nzebra'
  [ "$output" = $'maybe\tkey000005\nnay\tzebra' ]
}

@test "check mixes tables and filters" {
  golden rocksdb/sst_bloom_n100.sst
  golden leveldb-tables/table_str_n100_b10_none.ldb
  seq -f 'key%06g' 50 149 | nay build -q -p 1e-6 -o f.nay
  run -0 nay check --which sst_bloom_n100.sst f.nay table_str_n100_b10_none.ldb <<< $'key000010\nkey000060\nkey000120'
  [ "${lines[1]}" = $'key000060\tsst_bloom_n100.sst,f.nay,table_str_n100_b10_none.ldb' ]
  run -0 nay check --all -c sst_bloom_n100.sst f.nay <<< $'key000010\nkey000060'
  [ "$output" = 1 ]
  run -0 nay check --any -c f.nay sst_bloom_n100.sst <<< $'key000010\nkey000060'
  [ "$output" = 2 ]
}

@test "extract lists, and writes what nay reads" {
  golden rocksdb/sst_part_bloom_one.sst
  run -0 nay extract sst_part_bloom_one.sst
  [ "$output" = $'0\t161\t69\trocksdb-bloom\tkey000009' ]
  run -0 nay extract --json sst_part_bloom_one.sst
  [ "$(jq -r .last_key <<< "$output")" = key000009 ]
  run -0 --separate-stderr nay extract sst_part_bloom_one.sst -o f.bin
  [ "$stderr" = "nay extract: wrote f.bin, 69 bytes, rocksdb-bloom" ]
  [ "$(seq -f 'key%06g' 0 9 | nay check -c --format rocksdb-bloom f.bin)" = 10 ]
  run -2 nay extract sst_part_bloom_one.sst -o f.bin
  nay extract -q sst_part_bloom_one.sst -o - | cmp - f.bin
}

@test "extract puts several filters into a directory" {
  golden rocksdb/sst_part_bloom.sst
  run -2 nay extract sst_part_bloom.sst -o one
  [[ $output == *"12 filters: -o must be a directory"* ]]
  run -0 --separate-stderr nay extract sst_part_bloom.sst -o parts/
  [ "$stderr" = "nay extract: wrote 12 filters to parts/" ]
  [ "$(ls parts | wc -l)" = 12 ]
  [ "$(seq -f 'key%06g' 0 729 | nay check -c --format rocksdb-bloom parts/0000.rocksdb-bloom)" = 730 ]
  golden leveldb-tables/db_str_n2000_b10_none.ldb
  nay extract -q db_str_n2000_b10_none.ldb -o blocks/
  nay info --format leveldb blocks/0000.leveldb
}

@test "filters built in RocksDB's layouts are those of its tables" {
  golden rocksdb/sst_ribbon_big_zstd.sst
  golden rocksdb/sst_bloom_big_snappy.sst
  nay extract -q sst_ribbon_big_zstd.sst -o ribbon.bin
  nay extract -q sst_bloom_big_snappy.sst -o bloom.bin
  seq -f 'key%06g' 0 9999 > keys
  nay build -q --format rocksdb-ribbon -b 10 -o r.bin keys
  nay build -q --format rocksdb-bloom -b 10 -o b.bin keys
  cmp r.bin ribbon.bin
  cmp b.bin bloom.bin
}

@test "a damaged filter is told, and loses no key" {
  golden rocksdb/sst_part_bloom.sst
  flip sst_part_bloom.sst 63660
  run -3 nay info sst_part_bloom.sst
  [[ $output == *"damaged: 1 of 12 filters"* ]]
  [ "$(seq -f 'key%06g' 0 9999 | nay check -c sst_part_bloom.sst)" = 10000 ]
  run -3 nay extract sst_part_bloom.sst
  [[ $output == *"damaged"* ]]
}

@test "damaged tables and other commands" {
  golden rocksdb/sst_bloom_n100.sst
  run -3 nay verify sst_bloom_n100.sst
  [[ $output == *"a table, not a filter: nay extract extracts its filters"* ]]
  flip sst_bloom_n100.sst 2650
  run -3 nay info sst_bloom_n100.sst
  run -3 nay check sst_bloom_n100.sst <<< x
  run -3 nay extract sst_bloom_n100.sst
  seq 10 | nay build -q -o f.nay
  run -3 nay extract f.nay
  [[ $output == *"is no Parquet or Puffin file and no table of LevelDB, RocksDB or nori"* ]]
  run -2 nay extract nowhere.sst
}

@test "a table with another comparator: its filters know every key" {
  golden leveldb-tables/table_str_n20_b10_none_reverse.ldb
  golden leveldb-tables/table_str_n300_b10_none_bs512_reverse.ldb
  for n in 20 300; do
    file=$(echo table_str_n${n}_*_reverse.ldb)
    seq -f 'key%06g' 0 $((n - 1)) > keys
    [ "$(nay check -c "$file" keys)" -eq "$n" ]
  done
}
