#!/usr/bin/env bats
# nay plan --lsm: what it prints, that its sums agree, that absurd numbers are refused by name.
load common

@test "the table: both allocations, the reasons, the reads" {
  run -0 nay plan --lsm -n 1G --ratio 10 -M 1GiB --reads 50k/s --absent 90%
  [[ ${lines[0]} == "leveled LSM tree, ratio 10: 1,000,000,000 keys, 3 levels, 3 runs; budget 1.0 GiB, 8.59 bits per key" ]]
  [[ $output == *"uniform"*"Monkey"* ]]
  [[ $output == *"levels 1 to 3, ribbon: written by compactions"* ]]
  [[ $output == *"0.00832 uniform, 0.00385 Monkey, 3 without filters"* ]]
  [[ ${lines[-1]} == "50,000 lookups/s, 90% absent: 401 wasted reads/s uniform, 174 Monkey" ]]
  run -0 nay plan --lsm -n 1G --flushes 4 -b 0.1
  [[ $output == *"level 0, blocked: written by flushes"* ]]
  [[ $output == *"level 3: no filter: the bytes save more reads on other levels"* ]]
  run -0 nay plan --lsm -n 1000000 -t bloom # 1% unless another size is given
  [[ $output == *"bloom: the requested family"* ]]
  [[ $output == *"0.0098 uniform"* ]]
}

@test "every line of the text ends in something" {
  for line in "-M 1GiB" "--sweep 8,9 --reads 1k" "--tiered -b 1 --reads 1/s"; do
    # shellcheck disable=SC2086
    run ! grep -n ' $' <(nay plan --lsm -n 1G $line)
  done
}

@test "json: levels sum up, Monkey reads no more than uniform, no plan exceeds the budget" {
  for tree in "" --tiered --lazy-leveled "--flushes 4"; do
    for kind in auto bloom blocked xor fuse ribbon cuckoo counting; do
      # shellcheck disable=SC2086
      nay plan --lsm -n 123456789 -t $kind $tree --table-keys 3M --sweep 0.5,5,12 --reads 7k --absent 0.9 --json > plans
      [ "$(wc -l < plans)" -eq 3 ]
      jq -es 'def close($a; $b): ($a - $b | fabs) <= 1e-8 * ($a | fabs);
        all(.[]; .nbytes_budget as $budget | .nruns as $runs |
          (.allocations | map(.allocation) == ["uniform", "Monkey"] and .[1].absent_reads <= .[0].absent_reads) and
          all(.allocations[];
            .nbytes_memory <= $budget and .nbytes_memory == ([.levels[].nbytes_memory] | add) and
            ([.levels[].nkeys_level] | add) == 123456789 and ([.levels[].nruns] | add) == $runs and
            close(.absent_reads; [.levels[] | .nruns * .fpr_planned] | add) and
            close(.rates[0].wasted_per_s; 7000 * (0.9 * .absent_reads + 0.1 * .present_waste)) and
            all(.levels[]; (.kind == null) == (.nbytes_memory == 0))))' plans > /dev/null || { echo "$kind $tree"; return 1; }
    done
  done
}

@test "a filter of the plan, built" {
  nay plan --lsm -n 30000 --memtable 500 -b 9 -t blocked --json | jq -c '.allocations[1].levels[]' > levels
  [ "$(wc -l < levels)" -ge 2 ]
  while read -r level; do
    keys=$(jq .nkeys_planned <<< "$level") bytes=$(jq .nbytes_filter <<< "$level")
    seq "$keys" | nay build -qf -t blocked -n "$keys" -M "$bytes" -o level.nay
    nay info --json level.nay | jq -e --argjson plan "$level" '.fpr_planned == $plan.fpr_planned and .nbits / 8 == $plan.nbytes_memory'
  done < levels
}

@test "rocksdb: the plan as a filter_policy, none for levels without a filter" {
  run -0 nay plan --lsm -n 1G --flushes 4 -b 10 -t blocked --rocksdb
  [[ $output =~ ^nay:9\.[0-9]+:2147483647:[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+$ ]]
  bits=$(nay plan --lsm -n 1G --flushes 4 -b 10 -t blocked --json | jq -r '[.allocations[1].levels[].bits_per_key * 1000 | floor / 1000] | join(",")')
  [ "${output##*:}" = "$bits" ]
  run -0 --separate-stderr nay plan --lsm -n 1G -b 0.1 --rocksdb
  [[ $output == nay:1:0:*,0 ]]
  run -0 nay plan --lsm -n 1G -p 1% -t ribbon --rocksdb # flushes as the first level
  [[ $output =~ ^nay:9\.[0-9]+:-1:([0-9.]+),([0-9.]+),([0-9.]+),([0-9.]+)$ ]]
  [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
  [ "$(nay plan --lsm -n 1G --sweep 8,10 --rocksdb | wc -l)" -eq 2 ]
  run -0 --separate-stderr nay plan --lsm -n 1G --flushes 4 -b 0.1 --rocksdb # what the string cannot say is said
  [[ $stderr == *"level 2: a filter of "*" bits per key cannot be asked of RocksDB"* ]]
  run -0 --separate-stderr nay plan --lsm -n 1G -b 64 -t ribbon --rocksdb
  [[ $stderr == *"at most 100 bits per key"* ]]
}

@test "absurd numbers: an error that names the option or the number, and nothing on standard output" {
  refused() { # text options...
    local text=$1
    shift
    run --separate-stderr -2 nay plan --lsm "$@"
    [ -z "$output" ] && [[ $stderr == "nay plan: "*"$text"* ]] || { echo "$*: $output $stderr"; return 1; }
  }
  refused "give the number of keys" -M 1G
  refused "'0' is not a count" -n 0 -M 1G
  refused "-n is above 2^56" -n 1152921504606846976 -M 1G
  refused "--ratio is below 2" -n 1M -M 1G --ratio 1
  refused "'0' is not a count" -n 1M -M 1G --ratio 0
  refused "--ratio is above 1,000,000" -n 1M -M 1G --ratio 1e9
  refused "'2.5' is not a count" -n 1M -M 1G --ratio 2.5
  refused "'nan' is not" -n 1M -M nan
  refused "'nan' is not" -n 1M -b nan
  refused "'0' is not a size" -n 1M -M 0
  refused "'-1' is not" -n 1M -M -1
  refused "-b is not between 0 and 64" -n 1M -b 65
  refused "-p" -n 1M -p 1e-300 -t fuse
  refused "'1' is not" -n 1M -p 1
  refused "mutually exclusive" -n 1M -b 10 -M 1G
  refused "mutually exclusive" -n 1M -b 10 --sweep 8
  refused "mutually exclusive" -n 1M -b 10 --tiered --lazy-leveled
  refused "--flushes is for leveled trees" -n 1M -b 10 --tiered --flushes 4
  refused "--flushes is above 10,000" -n 1M -b 10 --flushes 10001
  refused "at most 10,000" -n 1M -b 10 --flushes 1e15
  refused "--memtable is above 2^56" -n 1M -b 10 --memtable 1e18
  refused "--table-keys is above 2^56" -n 1M -b 10 --table-keys 1e18
  refused "set --table-keys" -n 72057594037927936 -b 10
  refused "scalable and window" -n 1M -b 10 -t window
  refused "scalable and window" -n 1M -b 10 -t scalable
  refused "is not a rate" -n 1M -b 10 --reads nan
  refused "is not a rate" -n 1M -b 10 --reads 0
  refused "is not a rate" -n 1M -b 10 --reads 5/m
  refused "is not a rate" -n 1M -b 10 --reads 5,
  refused "is not a rate" -n 1M -b 10 --reads 1,2,3,4,5,6,7,8,9
  refused "is not a share" -n 1M -b 10 --reads 5 --absent 101%
  refused "is not a share" -n 1M -b 10 --reads 5 --absent nan
  refused "--absent needs --reads" -n 1M -b 10 --absent 50%
  refused "is not a list of" -n 1M --sweep 8,,9
  refused "is not a list of" -n 1M --sweep 0
  refused "at most 64" -n 1M --sweep 8,65
  refused "is not for 'nay plan --lsm'" -n 1M -b 10 --need merge
  refused "is not for 'nay plan --lsm'" -n 1M -b 10 --probes 3
  refused "is not for 'nay plan --lsm'" -n 1M -b 10 --format leveldb
  refused "--rocksdb is for leveled trees" -n 1M -b 10 --rocksdb --tiered
  refused "no fuse" -n 1M -b 10 --rocksdb -t fuse
  refused "--reads needs --json" -n 1M -b 10 --rocksdb --reads 50k
  refused "is not for 'nay plan --lsm'" -n 1M -b 10 --fold 2
}

@test "an option of --lsm without it is refused" {
  for option in "--ratio 10" --tiered --lazy-leveled "--memtable 5" "--flushes 4" "--table-keys 5" "--reads 5" "--absent 5%" "--sweep 8" --rocksdb; do
    # shellcheck disable=SC2086
    run --separate-stderr -2 nay plan -n 1000 --no-measure $option
    [[ $stderr == *"give --lsm too"* ]] || { echo "$option: $stderr"; return 1; }
  done
}

@test "one key is a key" {
  [[ $(nay plan --lsm -n 1) == *": 1 key, 1 level, 1 run"* ]]
  [[ $(nay plan --lsm -n 2) == *": 2 keys, 1 level, 1 run"* ]]
}

@test "the extremes that are allowed" {
  for line in "-n 1" "-n 72057594037927936 --memtable 1 --ratio 2 -t blocked" "-n 2 --ratio 1e6 --memtable 1 --tiered" "-n 1M -M 18446744073709551615" \
    "-n 1G -M 1" "-n 5 --memtable 72057594037927936" "-n 1M --table-keys 1" "-n 1G --ratio 1e6 --tiered --memtable 1" "-n 1M -b 64" "-n 1M -b 0.0001"; do
    # shellcheck disable=SC2086
    run -0 nay plan --lsm $line --json
    jq -e '.allocations | .[1].absent_reads <= .[0].absent_reads and .[1].absent_reads >= 0' <<< "$output" > /dev/null || { echo "$line"; return 1; }
    # shellcheck disable=SC2086
    run -0 nay plan --lsm $line
  done
}

@test "more flushes than the keys fill: planned for fewer, and said" {
  run --separate-stderr -0 nay plan --lsm -n 5M -b 10 --flushes 20
  [[ $output == *"5,000,000 keys, 1 level, 5 runs"* ]]
  [[ $stderr == *"--flushes: 5 hold all keys, of 1,000,000 each"* ]]
  run --separate-stderr -0 nay plan --lsm -n 5M -b 10 --flushes 5
  [ -z "$stderr" ]
}

@test "times of a plan: a read for each block, a probe for each filter, by the levels that JSON lists" {
  plan() { # options: what one lookup takes, computed from the levels alone
    nay plan --lsm --json --read-latency 100us --probe-time 67ns --reads 1 "$@"
  }
  for tree in '-n 100k -t bloom -p 0.9%' '-n 1G -M 1GiB' '-n 1G -b 0.1 --flushes 4' '-n 50M -b 10 --tiered --ratio 4' '-n 50M -b 9 --lazy-leveled'; do
    for absent in 0 0.5 90% 1; do
      plan $tree --absent $absent | python3 -c '
import json, sys
for a in json.load(sys.stdin)["allocations"]:
    rate = a["rates"][0]
    def seconds(filters):
        before = found = n = 0
        for l in a["levels"]:
            on = filters and l["nfilters"] > 0
            probe = 67e-9 * on
            run = probe + (l["fpr_planned"] if on else 1) * 1e-4
            found += l["nkeys_level"] * (before + (l["nruns"] - 1) / 2 * run + probe + 1e-4)
            before += l["nruns"] * run
            n += l["nkeys_level"]
        return rate["absent_share"] * before + (1 - rate["absent_share"]) * found / n
    for name, want in ("lookups_s", seconds(True)), ("lookups_s_without", seconds(False)):
        assert abs(rate[name] - want) < 1e-6 * want, (a["allocation"], name, rate[name], want)
    assert abs(rate["speedup"] * seconds(True) / seconds(False) - 1) < 1e-6
'
    done
  done
  [[ $(nay plan --lsm -n 100k -t bloom -p 0.9% --reads 1M/s --absent 90% --read-latency 100us --probe-time 67ns) == *'(9.2x faster)'* ]]
  for wrong in 100 us 0us 1h -1us 1e9s nanus; do
    run -2 nay plan --lsm -n 1M --reads 1 "--read-latency=$wrong"
    [ "$output" = "nay plan: --read-latency: '$wrong' is not a time such as 100us or 5ms" ]
    run -2 nay plan --lsm -n 1M --reads 1 --read-latency 1us "--probe-time=$wrong"
  done
  run -2 nay plan --lsm -n 1M --read-latency 1us
  run -2 nay plan --lsm -n 1M --reads 1 --probe-time 1us
  run -2 nay plan --lsm -n 1M --reads 1 --read-latency 1us --sweep 8
  run -2 nay plan -n 1M --read-latency 1us
  [ "$output" = 'nay plan: --read-latency is for LSM trees: give --lsm too' ]
}

@test "sst scan counts what prefix filters saved, in one table and in several" {
  for p in a b c; do
    seq -f "$p$p:%g" 3 | nay sst build -q --prefix-delimiter : -o $p.ldb
    seq -f "$p$p:%g" 3
  done | nay sst build -q --prefix-delimiter : -o all.ldb
  counts() {
    nay sst scan -q -c --json "$@" | jq -c '[.nselected, [.tables[] | [.nprefix_checks, .nprefix_useful, .nblock_reads]]]'
  }
  [ "$(counts all.ldb --prefix bb:)" = '[3,[[1,0,1]]]' ]
  [ "$(counts all.ldb --prefix b:)" = '[0,[[1,1,0]]]' ]
  [ "$(counts all.ldb)" = '[9,[[0,0,1]]]' ]
  [ "$(counts all.ldb b.ldb --prefix ab:)" = '[0,[[1,1,0],[0,0,0]]]' ]
  run -1 --separate-stderr nay sst scan all.ldb --prefix b:
  [ "$stderr" = 'nay sst: prefix filters probed: 1, tables excluded by them: 1, blocks read: 0' ]
  run -0 --separate-stderr nay sst scan -c all.ldb
  [ "$output$stderr" = 9 ]
}
