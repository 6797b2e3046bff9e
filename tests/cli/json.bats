#!/usr/bin/env bats
# Every command with --json, in every mode: whole documents, the figures that are promised, nothing
# else on standard output. A command without a row in json_modes.py fails.
load common

@test "every command, every mode: valid JSON, one document or as many lines as documented" {
  python3 "$BATS_TEST_DIRNAME/json_modes.py"
}

@test "remove --json counts what was read, removed and absent" {
  seq 10 | nay build -q -t counting -n 100 -p 1e-6 -o f.nay
  run -1 --separate-stderr bash -c 'seq 8 12 | nay remove --json f.nay'
  [ "$(jq -c '[.nkeys, .nremoved, .nmissing]' <<< "$output")" = '[5,3,2]' ]
  seq 7 | nay check -c f.nay | grep -qx 7
}

@test "check --json prints what is selected, as the plain output; -a prints every key" {
  seq 10 | nay build -q -n 10 -p 1e-9 -o f.nay
  printf '5\nx\n' > keys
  [ "$(nay check --json f.nay keys)" = '{"key":"5","maybe":true}' ]
  [ "$(nay check --json -v f.nay keys)" = '{"key":"x","maybe":false}' ]
  [ "$(nay check --json -a f.nay keys)" = $'{"key":"5","maybe":true}\n{"key":"x","maybe":false}' ]
  [ "$(nay check --json -a -v f.nay keys)" = $'{"key":"5","maybe":true}\n{"key":"x","maybe":false}' ]
  [ "$(nay check --json -c f.nay keys | jq -c '[.nkeys, .nselected]')" = '[2,1]' ]
}

@test "the seed is shown, and is what merge compares" {
  for seed in 0 7 18446744073709551615; do
    seq 10 | nay build -q --seed $seed -n 10 -o s$seed.nay
    nay info s$seed.nay | grep -qE "hash +xxh3, seed $seed\$"
    [ "$(nay info --json s$seed.nay | jq -r .seed)" = $seed ]
  done
  run -2 nay merge s0.nay s7.nay -o m.nay
  [[ $output == *"differs in hash or seed"* ]]
}

@test "info --prom groups the samples of every metric, over all files, bad ones too" {
  seq 1000 | nay build -q -p 1% -n 1000 -o a.nay
  seq 1000 | nay build -q -t cuckoo -p 1% -n 1000 -o 'b "x\y".nay'
  cp a.nay c.nay
  flip c.nay 300
  seq -w 1000 | nay sst build -q -o t.ldb
  run -3 --separate-stderr nay info --prom a.nay 'b "x\y".nay' missing.nay c.nay t.ldb
  printf '%s\n' "$output" > metrics
  python3 - <<'PY'
import re
current, seen, kinds, samples = None, set(), {}, {}
for line in open("metrics"):
    line = line.rstrip("\n")
    help_line = re.fullmatch(r"# HELP (\w+) .+", line)
    type_line = re.fullmatch(r"# TYPE (\w+) gauge", line)
    if help_line:
        current = help_line[1]
        assert current not in seen, f"{current} twice"
        seen.add(current)
    elif type_line:
        assert type_line[1] == current and current not in kinds
        kinds[current] = "gauge"
    else:
        sample = re.fullmatch(r'(\w+)\{file="((?:[^"\\\n]|\\["\\n])*)",kind="(\w+)"\} (NaN|[-+.e0-9]+)', line)
        assert sample, line
        assert sample[1] == current and current in kinds, f"{line} stands below {current}"
        assert (sample[1], sample[2]) not in samples, line
        samples[sample[1], sample[2]] = float(sample[4])
names = ["a.nay", r"b \"x\\x5cy\".nay", "missing.nay", "c.nay", "t.ldb"]
assert [samples["nay_up", name] for name in names] == [1, 1, 0, 0, 1], samples
assert samples["nay_keys_planned", "a.nay"] == 1000
PY
}

@test "several files: the others are told about after a bad one; the status is that of the worst" {
  seq 10 | nay build -q -n 10 -o good.nay
  cp good.nay bad.nay
  flip bad.nay 100
  mkdir directory
  for command in "info" "info --json" "verify" "verify --json"; do
    run -2 --separate-stderr nay $command missing.nay directory good.nay
    [[ $output == *good.nay* ]]
    [[ $stderr == *"missing.nay"*"No such file or directory"* && $stderr == *"directory"* ]]
    run -3 --separate-stderr nay $command bad.nay missing.nay good.nay
    [[ $output == *good.nay* ]]
  done
}

@test "messages speak of options, not of the library's fields" {
  said() { # option command...
    local option=$1; shift
    run -2 "$@" < /dev/null
    [[ $output == *"$option"* ]]
    [[ ! $output =~ (nkeys|fpr[^a-z-]|bits_per_key|nbytes|nbits) ]]
  }
  said "-n is above" nay build -t blocked -n 1e18 -p 1% -o x
  said "-b is not between" nay build -n 10 -b 5000 -o x
  said "-M is below" nay build -t blocked -n 10 -M 1 -o x
  said "-p" nay build -t fuse -n 10 -p 1e-12 -o x
  said "-p" nay build -t scalable -n 10 -p 1e-12 -o x
  said "--probes is above" nay build -t bloom -n 10 -p 1% --probes 100 -o x
  said "--fold is above" nay build -t bloom -n 10 -p 1% --fold 1e19 -o x
  said "does not fold" nay build -t cuckoo -n 10 -p 1% --fold 3 -o x
}

@test "a full filter says what it was planned for; nine copies of a key name the limit" {
  run -2 bash -c "yes same | head -n 9 | nay build -q -t cuckoo -n 100 -o f.nay"
  [[ $output == *"'same' occurs more than 8 times, and a cuckoo filter holds at most 8 copies of a key"* ]]
  [ ! -e f.nay ]
  yes same | head -n 8 | nay build -q -t cuckoo -n 100 -o f.nay
  run -2 nay add f.nay <<< same
  [[ $output == *"at most 8 copies"* ]]
  seq 100 | nay build -q -t cuckoo -n 100 -o g.nay
  run -2 bash -c "seq 101 100000 | nay add g.nay"
  [[ $output == *"the filter is full: it was planned for 100 keys and holds about "*"; rebuild it with a larger -n"* ]]
  run -2 bash -c "seq 100000 | nay uniq -t cuckoo -n 100"
  [[ $output == *"the filter is full: it was planned for 100 keys"* ]]
}

@test "fold by 1 writes nothing" {
  seq 1000 | nay build -q -n 1000 -p 1% -o f.nay
  cp -p f.nay before
  before=$(stat -c '%i %Y' f.nay)
  run -1 nay fold f.nay
  [[ $output == *"nothing written"* && $output != *"wrote"* ]]
  run -1 nay fold --factor 1 f.nay
  [ "$(stat -c '%i %Y' f.nay)" = "$before" ]
  cmp f.nay before
  run -1 nay fold f.nay -o g.nay
  [ ! -e g.nay ]
  run -1 nay fold --json f.nay
  jq -e '.schema == "nay.fold/1" and .file == "f.nay"' <<< "${lines[-1]}"
}
