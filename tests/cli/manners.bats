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
  [ "$(planned -n 1B)" = 1000000000 ]
  [ "$(planned -n 2.5B)" = 2500000000 ]
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

@test "an output that is an input is refused, by every name of the file, and stays as it was" {
  seq 100 > keys
  ln keys hard
  ln -s keys soft
  head -c 16 /dev/zero > secret
  nay build -q -n 100 -o f.nay keys
  nay sst build -q --sort -o t.ldb keys
  printf 'a\t1\n' > rows
  nay bench -t bloom -n 1000 --csv > table 2> /dev/null
  cp -r . ../before
  refused() {
    run -2 nay "$@"
    [[ $output == *" would replace an input, "*": choose another file" ]] || { echo "$*: $output"; return 1; }
    diff -r . ../before || { echo "$*"; return 1; }
  }
  for name in keys ./keys hard soft "$PWD/soft"; do
    for force in "" -f; do
      # shellcheck disable=SC2086
      {
        refused build $force -o "$name" keys
        refused build $force -o keys "$name"
        refused build $force -n 10 -o "$name" /dev/null keys
        refused add $force -o "$name" f.nay keys
        refused remove $force -o "$name" f.nay keys
        refused convert --to leveldb $force -o "$name" --keys keys f.nay
        refused sst build $force --sort -o "$name" keys
      }
    done
  done
  refused build -f -o secret --secret secret keys
  refused map build -f -o rows rows
  refused list build --universe keys -f -o keys /dev/null
  refused list build --universe rows -f -o keys keys
  refused plot bench table -f -o table
  refused plot fpr f.nay -f -o f.nay
  refused extract -f -o t.ldb t.ldb
  refused sst compact -f -o t.ldb t.ldb
  run -2 nay build -f -o keys < keys
  [[ $output == *"would replace an input, standard input"* ]]
  cmp keys ../before/keys
  # filters that a command changes are replaced
  nay add -q -f -o f.nay f.nay keys
  nay merge -q -f -o f.nay f.nay f.nay
  nay build -q -n 100 --fold 2 -b 20 -f -o even.nay keys
  nay fold -q -f --factor 2 -o even.nay even.nay
  nay convert -q --to nay -f -o f.nay f.nay
  nay build -q -f -n 10 -o /dev/null /dev/null
}

@test "a missing key file is the first that is said, also when it is the last of several" {
  seq 10 > keys
  for line in "build -o x" "build -t fuse -o x" "build -t scalable -o x" "build -n 10 -o x"; do
    # shellcheck disable=SC2086
    run -2 nay $line keys nofile
    [ "$output" = "nay build: cannot open nofile: No such file or directory; if it is a key, not a file: -e 'nofile'" ] ||
      { echo "$line: $output"; return 1; }
    [ ! -e x ]
  done
}

@test "check: the filter after the keys, and a key that is no file, are said with the command that is meant" {
  seq 10 > keys
  nay build -q -n 10 -p 1e-6 -o f.nay keys
  run -2 nay check keys f.nay
  [ "$output" = "nay check: keys is not a filter, but f.nay is: did you mean 'nay check f.nay keys'?" ]
  run -2 nay add keys f.nay
  [[ $output == *"did you mean 'nay add f.nay keys'?" ]]
  run -2 nay check f.nay 5
  [ "$output" = "nay check: cannot open 5: No such file or directory; if it is a key, not a file: -e '5'" ]
  run -2 nay uniq 5 # takes no -e
  [ "$output" = "nay uniq: cannot open 5: No such file or directory" ]
  run -3 nay check keys keys
  [[ $output == *"keys: not a known filter; "* ]]
}

@test "check --line-number: names of files as grep -n has them, when there are several" {
  printf 'a\nb\n' > one
  printf 'x\nb\n' > two
  nay build -q -n 9 -p 1e-9 -o f.nay -e a -e b
  [ "$(nay check --line-number f.nay one two)" = "$(grep -n '[ab]' one two)" ]
  [ "$(nay check --line-number f.nay one)" = "$(grep -n '[ab]' one)" ]
  [ "$(nay check --line-number f.nay one - < two)" = "$(grep -n '[ab]' one - < two)" ]
  [ "$(nay check --line-number -a f.nay one two | tail -n 2)" = $'two:1:nay\tx\ntwo:2:maybe\tb' ]
  [ "$(nay check --line-number --which f.nay f.nay --keys one --keys two | tail -n 1)" = $'two:2:b\tf.nay,f.nay' ]
  [ "$(nay check --line-number -v f.nay --keys one --keys two)" = two:1:x ]
  nay check --line-number --json f.nay one two | jq -se 'map([.file, .line]) == [["one", 1], ["one", 2], ["two", 2]]'
  [ "$(nay check --line-number f.nay -e b)" = 1:b ]
  printf 'k\nb\n' > head.csv
  [ "$(nay check --line-number --csv -k k f.nay head.csv head.csv)" = $'head.csv:1:k\nhead.csv:2:b\nhead.csv:2:b' ]
}

@test "a column that is not in the header is named, with those that are, and the nearest" {
  printf 'id,email,"na""me"\n1,a,b\n' > rows.csv
  run -2 nay uniq --csv -k emial rows.csv
  [ "$output" = "nay uniq: rows.csv: line 1: the header has no column 'emial': it has id, email, na\"me; did you mean email?" ]
  run -2 nay uniq --csv -k somethingelse rows.csv
  [ "$output" = "nay uniq: rows.csv: line 1: the header has no column 'somethingelse': it has id, email, na\"me" ]
  run -2 nay map build -q -o m --csv -k id --value nmae <(printf 'id,name\n1,2\n')
  [[ $output == *"the header has no column 'nmae': it has id, name; did you mean name?" ]]
  run -2 nay uniq --csv -k name <(seq -s, 1000)
  [[ $output == *"the header has no column 'name': it has 1, 2, 3, "*", ..." ]]
  run -2 nay uniq --csv -k name <(printf 'a\x1b[31m,\xff\n1,2\n')
  [[ $output == *'it has a\x1b[31m, \xff' ]]
  printf 'id' | { run -2 nay uniq --tsv -k ID; [[ $output == *"it has id; did you mean id?" ]]; }
}

@test "info: a native file is headed in a few words; bits per key are those of the keys of a filter that has grown" {
  seq 100000 | nay build -q -t scalable -n 1000 -p 1% -o s.nay
  [ "$(nay info s.nay | head -n 1)" = "s.nay: scalable, the native file, every byte checksummed" ]
  for bits in "$(nay info --json s.nay | jq .bits_per_key)" \
    "$(nay info --prom s.nay | sed -n 's/^nay_[a-z_]*bits_per_key{.*} //p')" \
    "$(nay info s.nay | sed -nE 's/.* ([0-9.]+) bits per key.*/\1/p')"; do
    jq -ne "$bits > 15 and $bits < 40" || { echo "$bits"; return 1; }
  done
}

@test "--max-keys: a cuckoo filter grows, plan recommends it only then, and the file says how far" {
  seq 5000 > keys
  run -0 nay plan --need grow --no-measure
  [[ ${lines[-1]} == "take scalable: "*"; it grows without limit, and the FPR stays below 1.000%" ]]
  run -0 nay plan -n 1000 --need grow,delete --max-keys 5000 --no-measure
  [[ ${lines[-1]} == "take cuckoo: "*"; it grows to 5,000 keys, where the FPR is "* ]]
  run -1 nay plan -n 1000 --need grow,delete --no-measure
  nay plan -n 1000 --max-keys 5000 --json --no-measure |
    jq -e '.nkeys_max == 5000 and .take == "cuckoo" and (.candidates[] | select(.kind == "cuckoo") | .grow and .fpr_planned > .fpr_at_nkeys)'
  nay plan -n 1000 --json --no-measure | jq -e '.candidates[] | select(.kind == "cuckoo") | .grow == false'
  run -2 nay build -q -t cuckoo -n 1000 -o c.nay keys
  [[ $output == *"rebuild it with a larger -n, or with --max-keys, to which it may grow" ]]
  nay build -q -t cuckoo -n 1000 --max-keys 5000 -o c.nay keys
  nay verify -q --keys keys c.nay
  nay info --json c.nay | jq -e '.nkeys_max >= 5000 and .nkeys_planned == 1000'
  [ "$(nay info c.nay | sed -n 's/^  keys       about 5,000 of at most \([0-9,]*\) keys .*, planned to start with 1,000$/\1/p' | tr -d ,)" = "$(nay info --json c.nay | jq .nkeys_max)" ]
  nay build -q -t cuckoo --max-keys 50k -o d.nay keys # without -n: from the keys that there are
  nay info --json d.nay | jq -e '.nkeys_max >= 50000'
  # the same line again and again; another number is another filter
  for part in '1 1000' '1001 2000' '2001 4000'; do
    # shellcheck disable=SC2086
    seq $part | nay add -q --create -t cuckoo -n 1000 --max-keys 4000 -p 1% --strict a.nay
  done
  [ "$(nay check -c a.nay keys)" -ge 4000 ]
  nay add -q --create -t cuckoo -n 1000 -p 1% a.nay -e 1 # what the line leaves out contradicts nothing
  run -2 nay add --create -t cuckoo -n 1000 --max-keys 64k a.nay -e x
  [[ $output == *"--max-keys: a.nay exists, "*": omit the option" ]]
  run -2 nay add --max-keys 4000 a.nay -e x
  [[ $output == *"--max-keys is for a new filter: --create makes one"* ]]
  run -2 nay build -t bloom -n 10 --max-keys 20 -f -o b.nay keys
  [[ $output == *"--max-keys is for cuckoo" ]]
  run -2 nay build -t cuckoo -n 10 --max-keys 5 -f -o b.nay keys
  [[ $output == *"--max-keys is below -n, or without it" ]]
  run -2 nay plan --lsm -n 1M --max-keys 2M
  [[ $output == *"--max-keys is not for 'nay plan --lsm'" ]]
}

@test "help offers the families that a command takes" {
  for command in uniq add; do
    offered=$(nay help $command | tr -s ' \n' ' ' | grep -oE -- '--type=KIND [^-]*')
    for kind in $(nay --version --json | jq -r '.kinds[]'); do
      extra=""
      [ $kind != window ] || [ $command != uniq ] || extra="--window 10"
      status=0
      # shellcheck disable=SC2086
      if [ $command = uniq ]; then nay uniq -n 10 -p 1% -t $kind ${extra:+-t window --window 10} <<< x > /dev/null 2>&1 || status=$?
      else nay add -q --create -n 10 -t $kind $kind.nay -e x > /dev/null 2>&1 || status=$?; fi
      if [ $status -eq 0 ]; then [[ $offered == *"$kind"* ]]; else [[ $offered != *"$kind"* ]]; fi
    done
  done
}

@test "help names every value that an option takes" {
  nay help build | tr -s ' \n' ' ' > shown
  for name in $(nay version --json | jq -r '.formats[]'); do
    grep -qE "[ :]$name(,| --| -[a-zA-Z],)" shown || { echo "$name"; false; }
  done
}
