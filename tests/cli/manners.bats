#!/usr/bin/env bats
# Numbers, errors, exit statuses, signals, secrets: how a well-behaved program behaves.
load common

planned() { nay plan --no-measure --json "$@" | jq -r '.nkeys_planned'; }

@test "counts: plain, exponent, decimal and binary suffixes" {
  [ "$(planned -n 1000)" = 1000 ]
  [ "$(planned -n 1e6)" = 1000000 ]
  [ "$(planned -n 2.5k)" = 2500 ]
  [ "$(planned -n 10K)" = 10000 ]
  [ "$(planned -n 10M)" = 10000000 ]
  [ "$(planned -n 1Gi)" = 1073741824 ]
  [ "$(planned -n 1.5Mi)" = 1572864 ]
  for bad in 0 -1 1.5 1,000 0x10 1e 1m 10MB inf nan '' ' 5' 5x 1e30 18446744073709551616; do
    run -2 nay plan --no-measure -n "$bad"
    [[ $output == *"--nkeys: '$bad' is not a count"* ]]
  done
}

@test "rates: fraction, percent, ratio, exponent; nothing outside 0 to 1" {
  want=$(nay plan --no-measure -n 1M -p 0.01 --json | jq '.candidates[0].nbytes_memory')
  for rate in 1% 1/100 1e-2 .01 10e-3; do
    [ "$(nay plan --no-measure -n 1M -p $rate --json | jq '.candidates[0].nbytes_memory')" = "$want" ]
  done
  for bad in 0 1 100% 1/0 1/1 -1% 1/x 0,01 1%% ''; do
    run -2 nay plan --no-measure -n 1M -p "$bad"
    [[ $output == *"--fpr: '$bad' is not a false-positive rate"* ]]
  done
}

@test "sizes: -M takes bytes, decimal and binary units" {
  a=$(nay plan --no-measure -n 1M -M 1MiB -t blocked --json | jq '.candidates[0].nbytes_memory')
  b=$(nay plan --no-measure -n 1M -M 1048576 -t blocked --json | jq '.candidates[0].nbytes_memory')
  [ "$a" = "$b" ] && [ "$a" -le 1048576 ] && [ "$a" -gt 1000000 ]
  run -2 nay plan -n 1M -M 1Q
  [[ $output == *"is not a size"* ]]
}

@test "the locale changes nothing" {
  want=$(nay plan --no-measure -n 1.5k -p 0.5%)
  [[ $want == *"0.4"*"%"* ]]
  for locale in C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
    [ "$(LC_ALL=$locale LC_NUMERIC=$locale nay plan --no-measure -n 1.5k -p 0.5%)" = "$want" ]
  done
}

@test "slips of the finger: commands, options, kinds, formats" {
  run -2 nay chekc
  [ "$output" = "nay: no command 'chekc'; did you mean check?" ]
  run -2 nay frobnicate
  [ "$output" = "nay: no command 'frobnicate'; 'nay help' lists them" ]
  run -2 nay build --fpt=1%
  [ "$output" = "nay build: no option --fpt; did you mean --fpr?" ]
  run -2 nay build -Z
  [ "$output" = "nay build: no option -Z; 'nay help build' lists them" ]
  run -2 nay build -t blocekd
  [[ $output == *"did you mean blocked?"* ]]
  run -2 nay build --format levldb
  [[ $output == *"did you mean leveldb?"* ]]
  run -2 nay build -n
  [ "$output" = "nay build: option -n needs a value" ]
  run -2 nay info
  run -2 nay
  run -2 nay diff a b c
  [[ $output == *"one operand too many: 'c'"* ]]
}

@test "write errors on stdout are noticed: /dev/full is status 2" {
  seq 1000 > keys
  nay build -q -o f.nay keys
  for command in "check f.nay keys" "uniq keys" "info f.nay" "info --json f.nay" "help" "help check" \
    "plan -n 10 --no-measure" "build -q keys" "man check" "complete bash" "plot size" "--version" \
    "verify f.nay" "common keys keys" "check -c f.nay keys"; do
    run -2 --separate-stderr bash -c "nay $command > /dev/full"
    [[ $stderr == *"No space left on device"* ]]
  done
}

@test "a closed pipe ends it quietly" {
  seq 1000000 > keys
  run -0 --separate-stderr bash -c 'nay uniq keys | head -n 1; echo "${PIPESTATUS[0]}"'
  [ "$output" = $'1\n141' ]
  [ -z "$stderr" ]
}

@test "a closed pipe is quiet also where SIGPIPE is ignored" {
  seq 1000000 > keys
  run -0 --separate-stderr bash -c 'trap "" PIPE; { nay uniq keys; echo $? > status; } | head -n 1; cat status'
  [ "$output" = $'1\n141' ]
  [ -z "$stderr" ]
}

@test "words go to stderr, data to stdout; -q leaves errors only" {
  seq 10 > keys
  run -0 --separate-stderr nay build -n 10 -o f.nay keys
  [ -z "$output" ] && [ -n "$stderr" ]
  run -0 --separate-stderr nay build -q -f -n 10 -o f.nay keys
  [ -z "$output$stderr" ]
  run -2 --separate-stderr nay build -q -n 10 -o f.nay keys
  [ -z "$output" ] && [ -n "$stderr" ]
}

@test "no colour in a pipe, unless asked for; NO_COLOR wins over CLICOLOR_FORCE" {
  [[ $(nay help) != *$'\e['* ]]
  [[ $(nay help --color=always) == *$'\e['* ]]
  [[ $(CLICOLOR_FORCE=1 nay help) == *$'\e['* ]]
  [[ $(NO_COLOR=1 CLICOLOR_FORCE=1 nay help) != *$'\e['* ]]
  [[ $(CLICOLOR_FORCE=1 nay help --color=never) != *$'\e['* ]]
}

@test "no progress in a pipe, unless asked for; SIGUSR1 gets one line" {
  seq 3000000 > keys
  run -0 --separate-stderr nay build -q -n 3M -o f.nay keys
  [ -z "$stderr" ]
  mkfifo in
  shows_progress() { seq 1000 >&7; grep -q 'keys/s' err; }
  nay uniq -n 1k --progress=always -c < in 2> err > out &
  exec 7> in
  eventually shows_progress
  exec 7>&-
  wait $!
  [ "$(cat out)" = 1000 ]
  nay uniq -n 1k < in 2> err > out &
  exec 7> in
  echo 1 >&7
  eventually test -s out # it listens to signals by now
  answers_signal() { kill -USR1 $!; echo 1 >&7; grep -qE '^nay: [0-9 ]+ keys?, .* keys?/s$' err; }
  eventually answers_signal
  exec 7>&-
  wait $!
  [ "$(cat out)" = 1 ]
}

@test "--version tells the features as JSON" {
  [[ $(nay --version) =~ ^nay\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
  nay --version --json | jq -e '(.kinds | contains(["bloom", "blocked"])) and (.formats | contains(["nay", "leveldb"]))'
}

@test "a link stays a link, modes stay, devices are written and not replaced" {
  seq 10 | nay build -q -n 10 -o real.nay
  chmod 640 real.nay
  ln -s real.nay link.nay
  seq 11 20 | nay add -q link.nay
  [ -L link.nay ]
  [ "$(stat -c %a real.nay)" = 640 ]
  [ "$(seq 20 | nay check -c real.nay)" -eq 20 ]
  seq 10 | nay build -q -n 10 -o /dev/null
  [ -c /dev/null ]
  seq 10 | nay build -q -n 10 -o /dev/stdout | nay info - > /dev/null
}

@test "a directory that cannot be written, a path that is too long" {
  seq 10 > keys
  run -2 nay build -n 10 -o nosuch/f.nay keys
  [[ $output == "nay build: cannot write nosuch/f.nay: No such file or directory" ]]
  run -2 nay build -n 10 -o "$(printf 'x%.0s' $(seq 5000))" keys
}

@test "secrets: a keyed filter needs its key, and only its key" {
  echo 000102030405060708090a0b0c0d0e0f > secret
  head -c 16 /dev/zero > other
  seq 100 > keys
  nay build -q --secret secret -o f.nay keys
  run -2 nay check f.nay keys
  [[ $output == *"is keyed: give its key with --secret" ]]
  run -2 nay check --secret other f.nay keys
  [[ $output == *"--secret is not the key of this filter" ]]
  [ "$(nay check -c --secret secret f.nay keys)" -eq 100 ]
  nay info --json f.nay | jq -e '.hash == "siphash13" and .locked'
  run -0 nay verify f.nay
  nay build -q -f --secret secret --store-key -o f.nay keys
  [ "$(nay check -c f.nay keys)" -eq 100 ]
  run -2 nay build --secret keys -o g.nay keys
  [[ $output == *"a secret is 16 bytes or 32 hex digits" ]]
  run -2 nay build --store-key -o g.nay keys
}

@test "--seed: a number, or random" {
  seq 100 > keys
  nay build -q --seed 7 -o a.nay keys
  nay build -q --seed 7 keys | cmp - a.nay
  nay build -q --seed 8 -o b.nay keys
  run ! cmp -s a.nay b.nay
  nay build -q --seed random -o c.nay keys
  nay build -q --seed random -o d.nay keys
  run ! cmp -s c.nay d.nay
}

@test "SIGINT while writing leaves the old file and no temporary one" {
  seq 10 | nay build -q -n 10 -o f.nay
  cp f.nay before
  for pause in 0.02 0.05 0.1 0.15 0.2 0.3; do
    # 320 MB to write: most of these pauses end in the middle of it
    seq 100 | timeout -s INT $pause nay build -q -f -n 40M -b 64 -o f.nay || true
    [ -z "$(find . -name '.f.nay*')" ]
  done
  nay verify -q f.nay
}

@test "SIGUSR1 ends no command, also one that shows no progress" {
  seq 100 | nay build -q -n 100 -o f.nay
  mkfifo in
  ignores() { [ $((0x$(sed -n 's/^SigIgn:[[:space:]]*//p' "/proc/$1/status") >> 9 & 1)) -eq 1 ]; }
  for line in 'merge - f.nay -f -o g.nay' 'info -' 'verify -' 'fold - -f -o g.nay --factor 1'; do
    # shellcheck disable=SC2086
    nay $line < in > out 2>&1 &
    exec 7> in
    eventually ignores $!
    kill -USR1 $!
    cat f.nay >&7
    exec 7>&-
    ended=0
    wait $! || ended=$?
    [ "$ended" -le 1 ] || { echo "$line: $ended"; return 1; }
  done
}

@test "--seed and --secret exclude each other; memory that is not there is named by its size" {
  head -c 16 /dev/zero > secret
  for seed in 5 0 random; do
    run -2 nay build -q -n 10 --secret secret --seed $seed -o f.nay <<< x
    [[ $output == *"--seed is for the hash without a key: --secret excludes it" ]]
  done
  [ ! -e f.nay ]
  run -2 bash -c 'ulimit -v 1000000; nay build -q -n 10G -p 1% -o f.nay <<< x'
  [[ $output == *"cannot build this filter: no memory for its "*" GiB" ]]
}

@test "verify with files of no keys says that it checked none" {
  seq 10 | nay build -q -n 10 -o f.nay
  run -0 --separate-stderr nay verify -q --absent /dev/null f.nay
  [[ $stderr == *"warning: --absent gives no keys: the FPR is not measured" ]]
  run -0 --separate-stderr nay verify -q --keys /dev/null f.nay
  [[ $stderr == *"warning: --keys gives no keys" ]]
  run -0 --separate-stderr nay verify -q --keys <(seq 10) --absent <(seq 100 120) f.nay
  [ -z "$stderr" ]
}
