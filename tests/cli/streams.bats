#!/usr/bin/env bats
# uniq, diff, common: streams of lines against the plain tools.
load common

@test "uniq keeps the first of each line, in order" {
  [ "$(printf 'b\na\nb\nc\na\n' | nay uniq)" = $'b\na\nc' ]
  [ "$(printf 'b\na\nb\nc\na\nb' | nay uniq -d)" = $'b\na\nb' ]
  [ "$(printf 'b\na\nb\nc\na\n' | nay uniq -c)" = 3 ]
  [ "$(printf 'b\na\nb\nc\na\n' | nay uniq -d -c)" = 2 ]
  [ "$(printf 'b\na\nb\n' | nay uniq --json | jq -c 'del(.fpr_now, .fpr_promised)')" = '{"schema":"nay.uniq/1","nkeys":3,"nunique":2,"nrepeats":1,"nbad":0,"overfilled":false}' ]
}

@test "uniq agrees with awk on half a million lines, exact or not" {
  awk 'BEGIN { srand(3); for (i = 0; i < 500000; i++) print int(rand() * 200000) }' > lines
  awk '!s[$0]++' lines > want
  nay uniq --exact lines | cmp - want
  nay uniq -n 200k -p 1e-9 lines | cmp - want
  nay uniq -p 1e-9 lines | cmp - want
  cat lines | nay uniq -p 1e-9 | cmp - want
  nay uniq -T 1 -n 200k -p 1e-9 lines | cmp - want
  awk 's[$0]++' lines | cmp - <(nay uniq -d -p 1e-9 lines)
}

@test "uniq -q: status 0 when a line repeats, 1 when none does" {
  nay uniq -q <<< $'a\nb\na'
  run -1 nay uniq -q <<< $'a\nb'
  timeout 60 nay uniq -q < <(yes)
}

@test "uniq --state remembers between runs, also when interrupted" {
  [ "$(seq 10 | nay uniq -n 100 --state s.nay -c)" = 10 ]
  [ "$(seq 5 15 | nay uniq --state s.nay -c)" = 5 ]
  [ "$(nay info --json s.nay | jq .nkeys_planned)" = 100 ]
  mkfifo in
  nay uniq --state s.nay < in > out &
  pid=$!
  exec 7> in
  echo fresh >&7
  eventually test -s out
  kill -TERM $pid # a script's background jobs ignore SIGINT
  ended=0
  wait $pid || ended=$?
  [ "$ended" -eq 143 ]
  exec 7>&-
  nay check -q s.nay <<< fresh
}

@test "uniq warns when there were more lines than planned" {
  run -0 --separate-stderr bash -c 'seq 2000 | nay uniq -n 1000 -p 1e-3 -c'
  [[ $stderr == *"warning: the filter of seen lines has a false-positive rate of "*"above the promised 0.100%: planned for 1,000 keys, holds about "* ]]
  run -0 --separate-stderr bash -c 'seq 1000 | nay uniq -n 1000 -c'
  [ -z "$stderr" ]
}

@test "uniq --csv compares a column and prints rows" {
  [ "$(printf 'id,x\n1,a\n2,b\n3,a\n' | nay uniq --csv -k x)" = $'id,x\n1,a\n2,b' ]
}

@test "uniq --window forgets, or says that this library has no such family" {
  if nay --version --json | jq -e '.kinds | contains(["window"])'; then
    { echo first; seq 5000; echo first; } | nay uniq --window 1000 | grep -c first | grep -qx 2
    [ "$(yes same | head -n 5000 | nay uniq --window 1000 -c)" -le 6 ]
  else
    run -2 nay uniq --window 1000 <<< x
    [[ $output == *"no family that forgets keys" ]]
  fi
  run -2 nay uniq --window abc <<< x
  run -2 nay uniq --exact --window 10 <<< x
}

@test "uniq needs the memory of its filter, whatever the length of the stream" {
  small=$(seq 200000 | command time -f %M nay uniq -T 1 -n 1M -p 1% 2>&1 > /dev/null)
  large=$(seq 2000000 | command time -f %M nay uniq -T 1 -n 1M -p 1% 2>&1 > /dev/null | tail -n 1)
  [ "$large" -lt $((small + 2000)) ]
}

@test "diff and common split the second file" {
  seq 1 1000 > a
  seq 500 1500 > b
  nay diff a b > only
  nay common a b > both
  cmp only <(seq 1001 1500)
  cmp both <(seq 500 1000)
  [ "$(nay diff -c a b)" = 500 ]
  run -1 nay diff a a
  run -1 nay common a <(seq 2000 2010)
  [ "$(nay diff - b < a | wc -l)" -eq 500 ]
  [ "$(nay diff a - < b | wc -l)" -eq 500 ]
  run -2 nay diff - -
  [[ $output == *"only one of the two can be standard input" ]]
}

@test "a window stands for no set: diff and common refuse it, build says what it may forget" {
  { seq 1000; for _ in 1 2 3 4 5 6 7 8 9 10; do seq 500; done; } > rep
  for command in diff common; do
    for n in '' '-n 10' '-n 1000'; do
      # shellcheck disable=SC2086
      run -2 nay $command -t window $n rep rep
      [[ $output == *"-t window: a window forgets keys, and A is a set: choose another family" ]]
    done
  done
  run -0 nay build -q -t window -n 1000 -o w.nay rep
  [[ $output == *"warning: a window holds the last 1,000 keys, and 6,000 keys were read: it may deny the older ones" ]]
  run -4 nay build -q --strict -f -t window -n 1000 -o w.nay rep
  for n in 1 7 8 100 1000; do # nothing is forgotten: nothing is said
    run -0 nay build -q --strict -f -t window -n "$n" -o w.nay <(seq "$n")
    [ -z "$output" ]
    nay verify -q --keys <(seq "$n") w.nay
  done
  run -0 nay build -q --strict -f -t window -o w.nay rep
  [ -z "$output" ]
  nay verify -q --keys rep w.nay
}

@test "uniq --state: an option that contradicts the state is refused, and the state stays" {
  # how it is made | what agrees | what contradicts
  while IFS='|' read -r made agrees contradicts; do
    rm -f s.nay
    # shellcheck disable=SC2086
    seq 100 | nay uniq -q --state s.nay $made || true
    cp s.nay was.nay
    IFS=, read -ra good <<< "$agrees"
    for options in "${good[@]}"; do
      # shellcheck disable=SC2086
      [ "$(seq 101 | nay uniq --state s.nay $options)" = 101 ] || { echo "$made, then $options"; return 1; }
      cp was.nay s.nay
    done
    IFS=, read -ra bad <<< "$contradicts"
    for options in "${bad[@]}"; do
      # shellcheck disable=SC2086
      run -2 nay uniq --state s.nay $options <<< x
      [[ $output == *": the state in s.nay is a "*" filter for "*": omit the option, or use a new file" ]]
      cmp s.nay was.nay
    done
  done <<'ROWS'
-n 1000|-n 1000,-t blocked,-t blocked -n 1000|-n 1001,-t bloom,-b 20,-M 1M,--window 10,--window 1h
-t bloom -n 1000|-t bloom,-t bloom -n 1000|-t blocked,-n 10,-M 1M
-t bloom -b 40 -n 1000|-b 40,-b 40 -n 1000|-b 20
-t bloom -M 10k -n 1000|-M 10k|-M 20k
--window 5000|--window 5000,-t window,-n 5000|--window 5001,--window 1h,-t bloom,-n 10
--window 1h -n 9000|--window 1h,--window 60m -n 9000,-t window|--window 2h,--window 9000,-n 10
-t scalable|-t scalable|-t blocked,-M 1M
ROWS
}

@test "uniq --state: what is no state is said to be none, without options that uniq lacks" {
  head -c 16 /dev/zero > secret
  seq 10 | nay build -q --secret secret -o keyed.nay
  seq 10 | nay build -q -t fuse -o static.nay
  : > empty
  seq 1000 > garbage
  for file in keyed.nay static.nay empty garbage; do
    cp "$file" was
    run nay uniq --state "$file" <<< x
    [ "$status" -ge 2 ]
    [[ $output == *"no state of nay uniq" && $output != *--secret* && $output != *--format* ]]
    cmp "$file" was
  done
}

@test "uniq --state: a filter that becomes full is saved with the lines that were printed" {
  run -2 --separate-stderr bash -c 'seq 3000 | nay uniq -t cuckoo -n 1000 --state=s.nay > first'
  [[ $stderr == "nay uniq: the filter is full: it was planned for 1,000 keys and holds about "*"; use a new --state file with a larger -n" ]]
  n=$(wc -l < first)
  [ "$n" -ge 1000 ]
  cmp first <(seq "$n")
  [ "$(nay info --json s.nay | jq .nkeys_estimated)" = "$n" ]
  seq "$n" | nay uniq --state=s.nay | cmp - /dev/null
  run -2 --separate-stderr bash -c "seq 3000 | nay uniq -t cuckoo -n 1000" # it takes no --max-keys
  [[ $stderr == *"; rebuild it with a larger -n" ]]
}

@test "uniq --state: without -p the plan of the file is the promise" {
  seq 1000 | nay uniq -c -n 1000 -p 1% --state=s.nay
  run -0 --separate-stderr bash -c 'seq 100 | nay uniq -c --strict --state=s.nay'
  [ "$output$stderr" = 0 ]
  [ "$(seq 100 | nay uniq --json --state=s.nay | jq .fpr_promised)" = "$(nay info --json s.nay | jq .fpr_promised)" ]
  run -4 bash -c 'seq 100 | nay uniq -c --strict -p 1e-6 --state=s.nay'
  run -4 bash -c 'seq 100000 | nay uniq -c --strict --state=s.nay'
}

@test "uniq --state: the clock of a window by time moves, also without --window" {
  nay uniq -q --state s.nay --window 1h -n 1000 <<< x || true
  before=$(od -An -tu8 -j"$(nay_clock_at s.nay)" -N8 s.nay)
  eventually advanced s.nay "$before"
}

# The clock of a window: the bytes of its payload from 16, which is the last of the file.
nay_clock_at() { echo $(($(stat -c %s "$1") - $(nay info --json "$1" | jq '.nbits / 8') + 16)); }

advanced() {
  nay uniq -q --state "$1" <<< x
  [ "$(od -An -tu8 -j"$(nay_clock_at "$1")" -N8 "$1")" -gt "$2" ]
}

@test "uniq: a window is asked for by --window alone" {
  run -2 nay uniq -t window -n 10 <<< x
  [[ $output == *"say after how many, or when, with --window" ]]
  for kind in bloom blocked counting cuckoo scalable; do
    run -2 nay uniq -t $kind --window 10 <<< x
    [[ $output == *"--window: a $kind filter forgets nothing: omit -t" ]]
  done
  run -2 nay uniq -n 11 --window 10 <<< x
  [ "$(nay uniq -t window --window 10 <<< x)" = x ]
}

@test "uniq -t cuckoo: a line may repeat, also over runs" {
  yes same | head -n 1000 > lines
  [ "$(nay uniq -t cuckoo -n 100 lines)" = same ]
  [ "$(nay uniq -t cuckoo --state s.nay -n 100 lines)" = same ]
  [ -z "$(nay uniq --state s.nay lines)" ]
}

@test "uniq: a window within its plan keeps its promise, whatever its lines" {
  for window in 10 100 1000 10000; do
    for seed in $(seq 12); do
      first=$((seed * 1000003))
      run -0 --separate-stderr bash -c "seq $first $((first + 4 * window)) | nay uniq -c --strict --window $window"
      [ -z "$stderr" ] || { echo "$window, $seed: $stderr"; return 1; }
    done
  done
  # one that is too small still says so
  run -4 --separate-stderr bash -c 'seq 40000 | nay uniq -c --strict --window 10000 -M 10k'
  [[ $stderr == *"new lines were taken for duplicates: give a larger -p or -M" ]]
}

@test "uniq --state without -n: starts small, and grows over runs without a warning" {
  printf 'a\nb\n' | nay uniq --state s.nay
  [ "$(stat -c %s s.nay)" -lt 65536 ]
  for from in 0 1 2 3; do
    seq $((from * 30000 + 1)) $((from * 30000 + 30000)) > lines
    run -0 --separate-stderr nay uniq -c --strict --state s.nay lines
    [ "$output" = 30000 ]
    [ -z "$stderr" ]
  done
  [ "$(seq 120000 | nay uniq -c --state s.nay)" = 0 ]
  # a first run over a file: later ones may add
  rm s.nay
  [ "$(seq 1000 > lines; nay uniq -c --state s.nay lines)" = 1000 ]
  run -0 --separate-stderr bash -c 'seq 50000 | nay uniq -c --strict --state s.nay'
  [ "$output" = 49000 ]
  [ -z "$stderr" ]
}
