#!/usr/bin/env bats
# Puffin files: written, listed, extracted, probed. tests/golden/puffin has those of Iceberg.
load common

PUFFIN=$BATS_TEST_DIRNAME/../golden/puffin
PARQUET=$BATS_TEST_DIRNAME/../golden/parquet

setup_filters() {
  seq 1000 | nay build -q --key=int -o a.nay
  seq 1001 2000 | nay build -q --key=int -o b.nay
  nay extract -q "$PARQUET/duckdb_n1000_p0001_snappy.parquet" -o p/
}

@test "filters go into a file and come out byte for byte" {
  setup_filters
  for how in '' '--compress zstd' '--compress lz4 --compress-footer'; do
    # shellcheck disable=SC2086
    nay puffin -q -f $how --field 1 --field -2 --snapshot 77 --sequence 3 --property referenced-data-file=a.parquet -o a.puffin a.nay b.nay
    # shellcheck disable=SC2086
    nay puffin -q -f $how --format sbbf -o p.puffin p/0000.b.sbbf
    nay puffin -q -f -o all.puffin a.puffin p.puffin
    rm -rf d
    nay extract -q all.puffin -o d/
    cmp d/0000.nay-v1 a.nay
    cmp d/0001.nay-v1 b.nay
    cmp d/0002.sbbf-v1 p/0000.b.sbbf
    nay info --json all.puffin | jq -e '.blobs | length == 3 and .[0].fields == [1, -2] and .[1].properties == {"referenced-data-file": "a.parquet"} and .[2].type == "sbbf-v1" and .[2].fpr_now < 0.001'
    nay puffin -q -f --snapshot 9007199254740993 -o s.puffin a.nay
    nay info --json s.puffin | jq -e '.blobs[0].snapshot_id == "9007199254740993" and (.blobs[0] | has("sequence_number") | not)'
    [ "$(seq 1000 | nay check -c --blob 0 all.puffin)" -eq 1000 ]
    [ "$(seq 1001 2000 | nay check -c --blob 1 all.puffin)" -eq 1000 ]
    [ "$(seq 0 999 | nay check -c --key=int --blob 2 all.puffin)" -eq 1000 ]
    run -1 nay check --blob 1 all.puffin -e 5000000
  done
}

@test "Iceberg's files are listed and extracted" {
  run -0 nay extract "$PUFFIN/with_filters.puffin"
  [ "$output" = "0	4	936	x-spark-bloom
1	940	1232	x-datasketches-bloom
2	2172	946	x-spark-bloom" ]
  nay extract -q "$PUFFIN/with_filters.puffin" -o d/
  run -0 nay info --format spark-v1 d/0002.x-spark-bloom
  run -0 nay info "$PUFFIN/three_mixed_zstd.puffin"
  [[ $output == *"snapshot 9007199254740993, 29 B at 1004, zstd"* ]]
  run -1 --separate-stderr nay extract "$PUFFIN/empty.puffin"
  [[ $stderr == *"has no blob"* ]]
  nay puffin -q -o copy.puffin "$PUFFIN/one_small.puffin"
  [ "$(nay extract copy.puffin)" = "0	4	37	test-blob-v1" ]
}

@test "an index of two data files leaves one of them" {
  setup_filters
  for name in a b; do nay puffin -q --field 1 --property referenced-data-file=$name.parquet -o $name.puffin $name.nay; done
  nay puffin -q -o ids.puffin a.puffin b.puffin
  left=$(nay info --json ids.puffin | jq -r '.blobs | to_entries[] | "\(.key) \(.value.properties["referenced-data-file"])"' |
    while read -r blob file; do if nay check -q --blob "$blob" ids.puffin -e 1500; then echo "$file"; fi; done)
  [ "$left" = b.parquet ]
}

@test "what is no Puffin file, no filter, or damaged is told" {
  setup_filters
  nay puffin -q -o a.puffin a.nay b.nay
  run -2 nay check a.puffin -e 1
  [[ $output == *"a.puffin has 2 filters: --blob N names one"* ]]
  run -2 nay check --blob 2 a.puffin -e 1
  [[ $output == *"no number 2, they count from 0"* ]]
  run -2 nay check --blob 0 a.nay -e 1
  run -2 nay check --blob 0 "$PUFFIN/one_small.puffin" -e 1
  [[ $output == *"which is no filter"* ]]
  run -3 nay verify a.puffin
  [[ $output == *"a Puffin file, not a filter"* ]]
  head -c 500 a.puffin > cut.puffin
  run -3 nay check cut.puffin -e 1
  run -3 nay info cut.puffin
  [[ $output == *"the end of the Puffin file is missing"* ]]
  printf '\xff' | dd of=a.puffin bs=1 seek=200 conv=notrunc status=none
  run -3 nay check --blob 0 a.puffin -e 1
  run -3 nay info a.puffin
  [[ $output == *"1 filter cannot be read"* ]]
  run -0 nay check --blob 1 a.puffin -e 1500
  run -2 nay puffin a.nay
  run -2 nay puffin -o a.puffin a.nay
  [[ $output == *exists* ]]
  run -2 nay puffin -o new.puffin --field x a.nay
  run -2 nay puffin -o new.puffin --property x a.nay
  nay build -q -b 10 --format leveldb -o foreign /dev/null || true
  seq 10 | nay build -q -f -b 10 --format leveldb -o foreign
  run -2 nay puffin -o new.puffin --format leveldb foreign
  [[ $output == *"name one of your own, --type"* ]]
  [ ! -e new.puffin ]
  # a blob that no reader of its type could read
  run -2 nay puffin -o new.puffin --type sbbf-v1 a.nay
  [[ $output == *"a.nay is nay, and a blob of type sbbf-v1 is sbbf"* ]]
  run -2 nay puffin -o new.puffin --type nay-v1 --format leveldb foreign
  run -2 nay puffin -o new.puffin --type deletion-vector-v1 a.nay
  run -2 nay puffin -o new.puffin --type= a.nay
  run -2 nay puffin -o new.puffin --property x=1 --property x=2 a.nay
  [[ $output == *"the name stands twice"* ]]
  # what is said of filters, and there is none
  for option in --field=1 --snapshot=1 --sequence=1 --property=a=b --type=x --compress=zstd --format=sbbf; do
    run -2 nay puffin -o new.puffin "$option" "$PUFFIN/one_small.puffin"
    [[ $output == *"copied as they are"* ]]
  done
  [ ! -e new.puffin ]
  nay puffin -q -o new.puffin --format leveldb --type my-leveldb foreign
  nay extract -q new.puffin -o out
  cmp out foreign
}
