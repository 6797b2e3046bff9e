#!/usr/bin/env bats
# Statistics of filters and tables: utilisation, overload, metrics, the counters of lookups.
load common

NORI="$BATS_TEST_DIRNAME/../golden/nori-engine"

@test "one of the plans of every filter that nori wrote is the one it was made with" {
  for file in "$NORI"/bloom_*_n*_b*.bloom; do
    nay info -q --json --format nori12 "$file" 2> /dev/null || true
  done > filters
  python3 - <<'PY'
import json, re
n = 0
for line in open("filters"):
    doc = json.loads(line)
    name = re.search(r"bloom_(\w+?)_\w+_n(\d+)_b(\d+)(?:_sized(\d+))?\.bloom", doc["file"])
    nkeys, bits = int(name[4] or name[2]), int(name[3])
    if nkeys == 0:
        assert "plans" not in doc, doc
        continue
    plans = [plan for plan in doc["plans"] if plan["bits_per_key"] == bits]
    assert len(plans) == 1 and len(doc["plans"]) <= 2, doc
    most, unrounded = plans[0]["nkeys_planned"], doc["nbits"] == nkeys * bits
    assert most == nkeys if unrounded else nkeys <= most < 2 * nkeys + 1, doc
    assert abs(plans[0]["utilisation"] - doc["nkeys_estimated"] / most) < 1e-9
    assert doc["overfilled"] == (doc["fpr_now"] > 0.5) and doc["nkeys_planned"] is None and doc["fpr_promised"] is None, doc
    n += 1
assert n > 30, n
PY
}

@test "what holds more keys than any plan of its size is overfilled, and not a key less" {
  for format in nori12 nori12-unrounded cassandra cassandra-old-swapped; do
    seq 1000 | nay build -q -b 10 -n 1000 --format $format -f -o within
    run -0 --separate-stderr nay info --strict --format $format within
    [[ $output == *"% used"* && $output != *overfilled* && $stderr == "" ]]
    seq 4000 | nay build -q -b 10 -n 1000 --format $format -f -o above 2> /dev/null
    run -4 --separate-stderr nay info --strict --format $format above
    [[ $output == *overfilled* && $stderr == *"above that of any plan of its size: planned for at most"*"holds"* ]]
    nay info --json --format $format above 2> /dev/null | jq -e '.overfilled and .utilisation > 1.1 and .nkeys_planned == null'
    nay info --prom --format $format above 2> /dev/null | grep -q '^nay_overfilled{.*} 1$'
    # a promise is what a filter states: its size is none, so verify measures and does not judge
    run -0 nay verify -q --random 1000 --format $format within
  done
  # the plan is in the header: nori's documented form, quotient filters
  for format in nori nori-quotient; do
    seq 1000 | nay build -q -n 1000 -b 10 --format $format -f -o stated
    nay info --json --format $format stated | jq -e '.utilisation > 0.6 and .utilisation < 1.05 and (.overfilled | not)'
    nay info --prom --format $format stated | grep -q '^nay_utilisation_ratio{.*} \(0\.[6-9]\|1\)'
  done
}

@test "filters that grow: one planned FPR, at the end of growth, and the share of that end" {
  seq 1000 > keys
  planned() { nay plan --no-measure --json -n 100 "$@" | jq '.candidates[0].fpr_planned'; }
  nay build -q -t cuckoo -n 100 --max-keys 100000 -o c.nay keys
  nay build -q -t scalable -n 100 -o s.nay keys
  [ "$(planned -t cuckoo --max-keys 100000)" = "$(nay info --json c.nay | jq .fpr_planned)" ]
  [ "$(planned -t scalable)" = "$(nay info --json s.nay | jq .fpr_planned)" ]
  nay info --json c.nay | jq -e '(.utilisation - .nkeys_estimated / .nkeys_max | fabs) < 1e-9 and .nkeys_planned == 100 and .fpr_now < .fpr_planned'
  nay info --json s.nay | jq -e '.utilisation == null and .nkeys_planned == 100'
  nay info c.nay | grep -Eq '^  keys       about 1,000 of at most [0-9,]+ keys \(1%\), planned to start with 100$'
  nay info s.nay | grep -Eq '^  keys       about [0-9,]+, planned to start with 100$'
  nay info c.nay s.nay | grep -c ' at the end of its growth$' | grep -qx 2
  nay info --prom c.nay | awk '$1 ~ /^nay_utilisation_ratio/ { found = $2 < 0.02 } END { exit !found }'
  run -1 bash -c 'nay info --prom s.nay | grep ^nay_utilisation_ratio'
}

@test "tables: utilisation of their filters, by engine and layout" {
  run -0 --separate-stderr nay info "$NORI/sst_390efce_underest.sst"
  [[ $output == *"% of at most 28 planned, 1 of 1 filter overfilled"* && $stderr == *"warning"*"overfilled"* ]]
  run -4 nay info --strict --json "$NORI/sst_390efce_qf_overfull.sst"
  jq -e '.noverfilled == 2 and .utilisation > 1.3' <<< "${lines[0]}"
  seq -f '%05g	v' 20000 > rows
  for filter in full partitioned; do
    nay sst build -q -f --filter $filter rows -o t.ldb
    for command in "info" "sst info"; do
      nay $command --json t.ldb | jq -e '.utilisation > 0.98 and .utilisation < 1.02 and .noverfilled == 0 and .bits_per_key > 9'
    done
  done
  nay sst build -q -f --filter leveldb rows -o t.ldb
  nay sst info --json t.ldb | jq -e '.utilisation == null and .k == 6 and .kind == "bloom" and .fpr_now < 0.02'
  nay sst build -q -f --filter none rows -o t.ldb
  nay sst info --json t.ldb | jq -e '.kind == null and .nkeys_estimated == null and .bits_per_key == null'
}

@test "info --prom and sst info --prom give the same gauges of a table" {
  seq -f '%05g	v' 20000 | nay sst build -q -o t.ldb
  nay info --prom t.ldb > a
  nay sst info --prom t.ldb > b
  run -1 diff a b # what nay info does not know
  [ "$(grep -c '^<' <<< "$output")" -eq 0 ]
  [ "$(grep '^> nay_' <<< "$output")" = '> nay_table_blocks{file="t.ldb",kind="table"} '"$(nay sst info --json t.ldb | jq .nblocks)" ]
  nay sst info --prom --verify t.ldb | grep -qx 'nay_table_entries{file="t.ldb",kind="table"} 20000'
  for metric in up filter_bytes filters bits_per_key probes fpr_now keys_planned utilisation_ratio overfilled; do
    grep -q "^nay_$metric{file=\"t.ldb\",kind=\"table\"} " a
  done
  for command in "info" "sst info" "sst get"; do
    run -2 nay $command --prom --json t.ldb
    [[ $output == *"mutually exclusive"* ]]
  done
}

# samples: names and labels of the samples on standard input, which is UTF-8; each occurs once.
samples() {
  iconv -f UTF-8 -t UTF-8 > text
  sed -n 's/^\(nay_.*}\) .*/\1/p' text > labels
  [ -s labels ] && [ -z "$(sort labels | uniq -d)" ]
}

@test "--prom: a file that is named twice has one set of samples, its first; it is said" {
  seq -f '%05g	v' 1000 | nay sst build -q -o a.ldb
  seq -f '%05g	v' 2000 | nay sst build -q -o b.ldb
  seq 10 | nay build -q -n 10 -o f.nay
  for line in "info --prom a.ldb f.nay a.ldb b.ldb f.nay a.ldb" "sst info --prom b.ldb a.ldb b.ldb" "sst get --prom a.ldb --older b.ldb --older a.ldb 00001 x"; do
    # shellcheck disable=SC2086
    nay $line > metrics 2> said
    samples < metrics
    grep -q '\.\(ldb\|nay\) is named more than once: its metrics are those of the first time$' said
    # shellcheck disable=SC2086
    nay $line -q 2> /dev/null | cmp - metrics
  done
  nay info --prom a.ldb f.nay b.ldb > once
  nay info -q --prom a.ldb f.nay a.ldb b.ldb f.nay a.ldb | cmp - once
  nay sst get -q --prom a.ldb --older a.ldb 00001 x00001 > metrics
  grep -qx 'nay_gets_total{file="a.ldb",kind="table"} 2' metrics
}

@test "--prom: every file name gives a label that is UTF-8, and another one" {
  seq -f '%05g	v' 1000 | nay sst build -q -o t.ldb
  names=($'bad\xff' 'bad\xff' 'bad\\xff' $'new\nline' 'new\nline' $'del\x7f' $'cut\xc3' $'long\xc0\x80' $'half\xed\xa0\x80' $'tab\t' 'quo"te' 'é€𝄞' $'c1\xc2\x85')
  for name in "${names[@]}"; do cp t.ldb "$name"; done
  nay info --prom "${names[@]}" | samples
  [ "$(grep -c '^nay_up{' labels)" -eq ${#names[@]} ]
  nay sst info --prom "${names[@]}" | samples
  older=()
  for name in "${names[@]:1}"; do older+=(--older "$name"); done
  nay sst get -q --prom "${names[0]}" "${older[@]}" x | samples || true
  [ "$(grep -c '^nay_gets_total{' labels)" -eq ${#names[@]} ]
  for label in 'bad\\xff' 'bad\\x5cxff' 'bad\\x5c\\x5cxff' 'new\\x0aline' 'new\\x5cnline' 'del\\x7f' 'cut\\xc3' 'long\\xc0\\x80' 'half\\xed\\xa0\\x80' \
    'tab\\x09' 'quo\"te' 'é€𝄞' 'c1\\xc2\\x85'; do
    grep -qxF "nay_gets_total{file=\"$label\",kind=\"table\"}" labels || { echo "$label"; return 1; }
  done
}

@test "sst get --prom: options about keys, which are not printed, are refused" {
  seq -f '%05g	v' 10 | nay sst build -q -o t.ldb
  for option in --line-number --no-values -c; do
    run --separate-stderr -2 nay sst get --prom $option t.ldb 00001
    [ -z "$output" ] && [[ $stderr == *"$option is not for 'nay sst get --prom'"* ]] || { echo "$option: $stderr"; return 1; }
  done
}

@test "a damaged filter in a table is not up" {
  seq -f '%05g	v' 20000 | nay sst build -q --filter leveldb -o t.ldb
  offset=$(nay extract --json t.ldb | head -1 | jq .offset)
  flip t.ldb $((offset + 10))
  run -3 --separate-stderr nay info --prom t.ldb
  [[ $output == *'nay_up{file="t.ldb",kind="table"} 0'* ]]
}

@test "the counters of sst get add up, in JSON and for Prometheus" {
  seq -f '%05g	v' 0 2 20000 | nay sst build -q -o even.ldb
  seq -f '%05g	v' 0 3 20000 | nay sst build -q -o third.ldb
  seq -f '%05g' 0 29999 > keys
  nay sst get -q --json -c even.ldb --older third.ldb --keys keys > doc
  jq -e '.nkeys == 30000 and .nselected == 10001 + 3333 and (.tables | length) == 2' doc
  jq -e '[.tables[] | .ngets == .nout_of_range + .nfilter_checks] | all' doc
  # maybes are present keys and false positives; keys of a batch share the blocks that are searched for them
  jq -e '[.tables[] | .nfilter_checks - .nfilter_useful - .nfilter_false_positives] == [10001, 3333]' doc
  jq -e '[.tables[] | .nblock_reads > 0 and .nblock_reads <= .nfilter_checks - .nfilter_useful] | all' doc
  jq -e '[.tables[] | .fpr_low <= 0.01 and .fpr_high >= 0.005 and .nfilter_faults == 0 and
         (.fpr_measured * (.nfilter_false_positives + .nfilter_useful) - .nfilter_false_positives | fabs) < 1e-4] | all' doc
  nay sst get -q --prom even.ldb --older third.ldb --keys keys > metrics
  [ "$(grep -c '^# TYPE nay_[a-z_]*_total counter$' metrics)" -eq 8 ]
  for i in 0 1; do
    file=$(jq -r ".tables[$i].table" doc)
    for name in gets out_of_range filter_checks filter_useful filter_false_positives block_reads; do
      grep -qx "nay_${name}_total{file=\"$file\",kind=\"table\"} $(jq ".tables[$i].n$name" doc)" metrics
    done
  done
}

# ---- filters without a clear bit ----

@test "info: a saturated filter has at least so many keys, in text, JSON and metrics" {
  seq 100 | nay build -q -t bloom -n 100 --bits 1 --probes 10 -o full.nay
  run --separate-stderr nay info full.nay
  grep -q '^  keys       at least 27 of 100 planned (27% or more), saturated$' <<<"$output"
  [ "$(nay info --json full.nay | jq -c '[.saturated, (.nkeys_estimated < 100)]')" = '[true,true]' ]
  nay info --prom full.nay | grep -qx 'nay_saturated{file="full.nay",kind="bloom"} 1'
}

@test "info: overfilled a thousand times, and what the warning says" {
  run nay build -q -n 1000 -p 1% -o over.nay < <(seq 100000)
  [[ $output == *"planned for 1,000 keys, holds at least "* ]]
  run nay info over.nay
  [[ $output == *"keys       at least "*" of 1,000 planned ("*"% or more), saturated, overfilled"* ]]
}

@test "info: of a saturated filter without a plan nobody knows the bits per key" {
  seq 10000 | nay build -q --format leveldb -n 100 -b 10 -o over.leveldb
  run nay info --format leveldb over.leveldb
  [[ $output == *"size       126 B, 6 probes"* ]]
  [[ $output == *"keys       at least "*", saturated, overfilled"* ]]
  [ "$(nay info --json --format leveldb over.leveldb | jq -c '[.saturated, .bits_per_key]')" = '[true,null]' ]
  ! nay info --prom --format leveldb over.leveldb | grep -q bits_per_key
}

@test "info: a filter within its plan is not saturated" {
  seq 1000 | nay build -q -n 1000 -p 1% -o fine.nay
  nay info fine.nay | grep -q 'keys       about 1,009 of 1,000 planned (101%)$'
  [ "$(nay info --json fine.nay | jq .saturated)" = false ]
  nay info --prom fine.nay | grep -qx 'nay_saturated{file="fine.nay",kind="blocked"} 0'
}
