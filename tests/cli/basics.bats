#!/usr/bin/env bats
# plan, build, check, info, verify: what they print and how they end.
load common

@test "build then check: every key is a maybe, exit 0" {
  seq 1000 > keys
  run -0 --separate-stderr nay build -n 1000 -p 1% -o f.nay keys
  [ -z "$output" ]
  [[ $stderr == "nay build: built f.nay: 1,000 keys, blocked, "*", FPR 0."*"%" ]]
  nay check f.nay keys | cmp - keys
}

@test "check prints only maybes, -v only nays, and both together are everything" {
  seq 1000 | nay build -q -n 1000 -p 1% -o f.nay
  seq 500 20000 > probe
  nay check f.nay probe > yes
  nay check -v f.nay probe > no
  sort yes no | cmp - <(sort probe)
  [ "$(head -n 501 yes)" = "$(seq 500 1000)" ]
  [ "$(wc -l < yes)" -lt 900 ]
}

@test "check exits 1 when nothing is selected" {
  seq 10 | nay build -q -n 10 -p 1e-9 -o f.nay
  run -1 nay check f.nay <<< absent
  [ -z "$output" ]
  run -1 nay check -v f.nay <<< 5
  run -0 nay check f.nay <<< 5
  [ "$output" = 5 ]
}

@test "check -c counts, -q is silent, -a names each key" {
  seq 10 | nay build -q -n 10 -p 1e-9 -o f.nay
  run -0 nay check -c f.nay <<< $'5\nx\n6'
  [ "$output" = 2 ]
  run -1 nay check -c f.nay <<< x
  [ "$output" = 0 ]
  run -0 nay check -c -v f.nay <<< $'5\nx\n6'
  [ "$output" = 1 ]
  run -0 nay check -q f.nay <<< 5
  [ -z "$output" ]
  run -1 nay check -q f.nay <<< x
  run -0 nay check -a f.nay <<< $'5\nx'
  [ "$output" = $'maybe\t5\nnay\tx' ]
}

@test "check -q stops at the first hit, although the input goes on for ever" {
  seq 10 | nay build -q -n 10 -p 1e-9 -o f.nay
  timeout 60 nay check -q f.nay < <(yes 5)
}

@test "check -a --json: one object per key" {
  seq 10 | nay build -q -n 10 -p 1e-9 -o f.nay
  run -0 nay check -a --json f.nay <<< $'5\nx'
  [ "${lines[0]}" = '{"key":"5","maybe":true}' ]
  [ "${lines[1]}" = '{"key":"x","maybe":false}' ]
  printf '\xff\n' | nay check -v --json f.nay > out || true
  [ "$(jq -r .key.b64 out)" = "/w==" ]
}

@test "several filters: --any, --all, --which hash each key once and agree with each alone" {
  seq 1 10 | nay build -q -n 10 -p 1e-9 -o a.nay
  seq 6 15 | nay build -q -n 10 -p 1e-9 -o b.nay
  seq 9 20 | nay build -q -n 12 -b 40 --format nay --seed 7 -o c.nay # another hash
  [ "$(seq 25 | nay check --any a.nay b.nay c.nay)" = "$(seq 20)" ]
  [ "$(seq 25 | nay check --all a.nay b.nay c.nay)" = $'9\n10' ]
  [ "$(printf '5\n9\n30\n' | nay check --which a.nay b.nay c.nay)" = $'5\ta.nay\n9\ta.nay,b.nay,c.nay' ]
  [ "$(echo 9 | nay check --which --json a.nay c.nay)" = '{"key":"9","filters":["a.nay","c.nay"]}' ]
  seq 3 > some
  [ "$(nay check --any --keys some a.nay b.nay)" = "$(seq 3)" ]
  run -1 nay check --all a.nay b.nay <<< 1
  run -2 nay check --all --any a.nay b.nay <<< 1
}

@test "build without -n: a file is counted, a pipe is kept and says so" {
  seq 1000 > keys
  run -0 --separate-stderr nay build -p 1% -o file.nay keys
  [[ $stderr != *"8 bytes per key"* ]]
  run -0 --separate-stderr nay build -p 1% -o redirected.nay < keys
  [[ $stderr != *"8 bytes per key"* ]]
  run -0 --separate-stderr bash -c 'cat keys | nay build -p 1% -o pipe.nay'
  [[ $stderr == *"8 bytes per key"* ]]
  cmp file.nay redirected.nay
  cmp file.nay pipe.nay
  [ "$(nay info --json pipe.nay | jq .nkeys_planned)" = 1000 ]
}

@test "build: the same set gives the same bytes: file, pipe, any order, duplicates, threads" {
  seq 3000 > keys
  sort keys > other
  cat other keys other > twice
  for t in bloom blocked counting scalable cuckoo xor fuse ribbon; do
    nay build -q -t $t -o $t.nay keys
    cat keys | nay build -q -t $t | cmp - $t.nay
    nay build -q -t $t other | cmp - $t.nay
    nay build -q -t $t --threads 1 other | cmp - $t.nay
    cat twice | nay build -q -t $t | cmp - $t.nay
    if [[ $t != blo* ]]; then nay build -q -t $t twice | cmp - $t.nay; fi # they count lines
    if [ $t != cuckoo ]; then nay build -q -t $t -n 3000 other | cmp - $t.nay; fi
  done
}

@test "build of a pipe by bits per key, without -n: every family that -n sizes so" {
  seq 3000 > keys
  for t in bloom blocked counting window cuckoo xor fuse ribbon; do
    nay build -q -t $t -b 24 -o $t.nay keys
    cat keys | nay build -q -t $t -b 24 | cmp - $t.nay
  done
}

@test "build and plan --nbits: a Bloom filter by its m, n and k" {
  seq 100 > keys
  nay build -q --nbits 1000 -n 100 --probes 7 -o f.nay keys
  [ "$(nay info --json f.nay | jq -c '[.kind, .nbits, .nkeys_planned, .k]')" = '["bloom",1000,100,7]' ]
  nay check -q f.nay < keys
  [ "$(nay plan --no-measure --nbits 1000 -n 100 --probes 7 --json | jq -c '[.take, .candidates[0].nbits]')" = '["bloom",1000]' ]
  nay build -q --nbits 1024 -t blocked -o b.nay keys # -n is counted
  [ "$(nay info --json b.nay | jq .nbits)" -eq 1024 ]
  run -2 nay build --nbits 1000 -t blocked -f -o b.nay keys
  [[ $output == *"--nbits is not a multiple of 512"* ]]
  for size in "-p 1%" "-b 10" "-M 1k"; do
    run -2 nay build --nbits 1000 $size -f -o b.nay keys
    [[ $output == *"--nbits are mutually exclusive"* ]]
  done
  run -2 nay build --nbits 1000 --format rocksdb-bloom -f -o b.nay keys
  run -2 nay plan --nbits 1000 -n 100 --format all
  [[ $output == *"--nbits is for families"* ]]
  run -2 nay plan --nbits 1000 -n 100 --lsm
  run -2 nay build --nbits 1000 -t scalable -f -o b.nay keys
  run -2 nay build --nbits 1000 -t fuse -f -o b.nay keys
  run -0 --separate-stderr nay build -q --nbits 100 --probes 10 -n 10 -f -o b.nay keys # too many keys
  [[ $stderr == *"planned for 10 keys"* ]]
}

@test "build -t window keeps the order of the keys: file, pipe and -n agree" {
  seq 3000 > keys
  nay build -q -t window -o w.nay keys
  cat keys | nay build -q -t window | cmp - w.nay
  nay build -q -t window -n 3000 keys | cmp - w.nay
  seq 3001 5000 | nay add -q w.nay # 2,000 later the last 1,000 keys are still in the window
  [ "$(tail -n 1000 keys | nay check -c w.nay)" = 1000 ]
  : | nay build -q -t window -o none.nay
  run -1 nay check none.nay <<< 1
}

@test "build of nothing is a filter that says nay to everything" {
  nay build -q -o empty.nay < /dev/null
  run -1 nay check empty.nay <<< $'a\nb'
  run -0 nay verify empty.nay
}

@test "build: the last line needs no newline, several files are one set" {
  printf 'a\nb' > one
  printf 'c' > two
  nay build -q -p 1e-9 -o f.nay one two
  [ "$(printf 'a\nb\nc\nd' | nay check f.nay)" = $'a\nb\nc' ]
  [ "$(nay info --json f.nay | jq .nkeys_planned)" = 3 ]
}

@test "-o refuses to overwrite, -f does it" {
  seq 10 | nay build -q -n 10 -o f.nay
  cp f.nay before
  run -2 nay build -n 10 -o f.nay <<< 1
  [ "$output" = "nay build: f.nay exists; -f overwrites it" ]
  cmp f.nay before
  nay build -q -f -n 10 -o f.nay <<< 1
  run ! cmp -s f.nay before
}

@test "- is standard output, and a filter can be read from standard input" {
  seq 10 | nay build -q -n 10 -o - > f.nay
  seq 10 | nay build -q -n 10 | cmp - f.nay
  nay info --json - < f.nay | jq -e '.kind == "bloom"'
  seq 12 > keys
  [ "$(nay check -c - keys < f.nay)" -ge 10 ]
}

@test "info --json has the promised members" {
  seq 1000 | nay build -q -n 1000 -p 1% --meta 'a "note"' -o f.nay
  nay info --json f.nay > i
  jq -e '.schema == "nay.info/1" and .format == "nay" and .kind == "blocked" and .hash == "xxh3"
         and .nkeys_planned == 1000 and (.nkeys_estimated | . > 950 and . < 1050)
         and .bits_per_key > 9 and .bits_per_key < 11 and .k > 4 and .fill > 0.3 and .fill < 0.6
         and .fpr_now < 0.012 and .fpr_planned <= 0.01 and .checksum == "ok"
         and .meta == "a \"note\""' i
  [ "$(jq .nbytes i)" -eq "$(wc -c < f.nay)" ]
}

@test "info for people: family, fill bar, rate, checksum" {
  seq 1000 | nay build -q -n 1000 -p 1% -o f.nay
  run -0 nay info f.nay
  [[ ${lines[0]} == "f.nay: blocked, "* ]]
  [[ $output == *"[####"*"....]"* ]]
  [[ $output == *"of 1,000 planned"* ]]
  [[ $output == *"checksum   ok"* ]]
  seq 1000 | nay build -q -t bloom -n 1000 -b 10 --probes 1 -o one.nay
  run -0 nay info one.nay
  [[ $output == *"bits per key, 1 probe"$'\n'* ]]
}

@test "info --prom is the text format of Prometheus" {
  seq 1000 | nay build -q -n 1000 -p 1% -o 'odd"name.nay'
  run -0 nay info --prom 'odd"name.nay'
  [[ $output == *'nay_up{file="odd\"name.nay",kind="blocked"} 1'* ]]
  [[ $output == *$'# TYPE nay_fill_ratio gauge'* ]]
  [ "$(grep -cvE '^(# (HELP|TYPE) nay_[a-z_]+ .+|nay_[a-z_]+\{file=".+",kind="[a-z]+"\} [0-9.e+-]+)$' <<< "$output")" -eq 0 ]
}

@test "another system's layout: built, named, checked" {
  seq 1000 > keys
  nay build -q -n 1000 -b 10 --format leveldb -o f.ldb keys
  [ "$(wc -c < f.ldb)" -eq 1251 ]
  [ "$(nay check -c --format leveldb f.ldb keys)" -eq 1000 ]
  nay info --format leveldb --json f.ldb | jq -e '.format == "leveldb" and .checksum == "none" and .k == 6'
  run -3 nay info f.ldb
  [[ $output == *"not a known filter"*"--format"*leveldb* ]]
  for format in mini-lsm nori nori12 lab; do
    nay build -q -n 1000 -b 10 --format $format -o f.$format keys
    nay build -q -b 10 --format $format < keys | cmp - f.$format
    cat keys | nay build -q -b 10 --format $format 2> /dev/null | cmp - f.$format
    [ "$(nay check -c --format $format f.$format keys)" -eq 1000 ]
  done
}

@test "damage anywhere in a native file is refused with status 3" {
  seq 1000 | nay build -q -n 1000 -p 1% -o f.nay
  size=$(wc -c < f.nay)
  for offset in 0 9 17 40 63 64 100 700 $((size - 1)); do
    cp f.nay bad.nay
    flip bad.nay "$offset"
    run -3 nay check bad.nay <<< 1
    [ "$(wc -l <<< "$output")" -eq 1 ]
    run -3 nay verify bad.nay
    run -3 nay info bad.nay
  done
  head -c 1000 f.nay > short.nay
  run -3 nay check short.nay <<< 1
  run -3 nay info --json bad.nay
  [ "$(jq -r .checksum <<< "${lines[0]}")" != ok ]
  run -3 nay verify --json bad.nay
  [ "$(jq -r .ok <<< "${lines[0]}")" = false ]
}

@test "trouble is status 2: no file, a directory, no operand, bad numbers" {
  run -2 nay check missing.nay <<< 1
  [[ $output == "nay check: missing.nay: cannot be opened: No such file or directory" ]]
  run -2 nay info .
  run -2 nay check
  [[ $output == "nay check: missing operand; usage: nay check [options] FILTER [KEYFILE...]" ]]
  run -2 nay build -n many -o x
  [[ $output == *"--nkeys: 'many' is not a count such as 1000, 1e6 or 10M" ]]
  run -2 nay build -n 10 -p 2 -o x
  run -2 nay build -n 10 -p 1% -b 10 -o x
  [[ $output == *"are mutually exclusive"* ]]
  run -2 nay build -n 10 nosuchkeys -o x
  [ ! -e x ]
}

@test "verify: no false nay, and the rate against the promise" {
  seq 1000 > keys
  seq 100001 200000 > absent
  nay build -q -p 1% -o f.nay keys
  run -0 nay verify --keys keys --absent absent f.nay
  [ "${lines[0]}" = "f.nay: intact, every checksum matches" ]
  [ "${lines[1]}" = "f.nay: 1,000 keys, 0 missing" ]
  [[ ${lines[2]} == "f.nay: "*"keeps the promised"* ]]
  run -0 nay verify --random 100000 --json f.nay
  jq -e '.ok and .nabsent == 100000 and .fpr_low <= .fpr_measured and .fpr_measured <= .fpr_high' <<< "$output"
  run -1 nay verify --random 100000 --expect-fpr 1e-4 f.nay
  [[ $output == *"breaks the promised"* ]]
  run -1 --separate-stderr nay verify --keys absent f.nay
  [[ $stderr == *"false nay: 100001"* ]]
}

@test "verify, info and check read a filter from a pipe" {
  seq 100 > keys
  nay build -q -p 1% -o f.nay keys
  [ "$(cat f.nay | nay verify -)" = "-: intact, every checksum matches" ]
  [ "$(nay verify --random 10 --json <(cat f.nay) | jq .ok)" = true ]
  [ "$(cat f.nay | nay check -c - keys)" -eq 100 ]
}

@test "build from a named pipe" {
  mkfifo pipe
  seq 1000 > pipe &
  nay build -q -p 1% -o f.nay pipe
  [ "$(seq 1000 | nay check -c f.nay)" -eq 1000 ]
}

@test "verify says so when the layout has no checksum" {
  seq 10 | nay build -q -n 10 -b 10 --format lab -o f.lab
  run -0 nay verify --format lab f.lab
  [ "$output" = "f.lab: readable; this layout has no checksum" ]
}

@test "plan: candidates, the choice, the reason" {
  run -0 nay plan -n 1M -p 1% --no-measure
  [[ $output == *"kind "*"bits/key"*"FPR"* ]]
  [[ $output == *"* blocked "* ]]
  [[ ${lines[-1]} == "take blocked: "* ]]
  run -0 nay plan -n 1e6 -p 1/100 --json
  jq -e '.schema == "nay.plan/1" and .nkeys_planned == 1000000 and .take == "blocked" and (.why | length > 0)
         and (.candidates | map(.kind) | contains(["bloom", "blocked"]))
         and (.candidates[0] | .nbytes > 1000000 and .fpr_planned <= 0.01 and .miss_ns > 0)' <<< "$output"
  run -0 --separate-stderr nay plan -p 1% --no-measure --json
  [ "$stderr" = "nay plan: without -n: a plan for 1,000,000 keys" ]
  jq -e '.nkeys_planned == 1000000' <<< "$output"
}

@test "plan: what is planned is what is built" {
  kinds=$(nay --version --json | jq -r '.kinds[]')
  [ "$(wc -w <<< "$kinds")" -ge 2 ]
  for kind in $kinds; do
    bytes=$(nay plan -t "$kind" -n 1000 -p 1% --no-measure --json | jq '.candidates[0].nbytes')
    seq 1000 | nay build -q -t "$kind" -n 1000 -p 1% -o "$kind.nay"
    case $kind in bloom | blocked) [ "$(wc -c < "$kind.nay")" -eq "$bytes" ] ;; esac
    [ "$(seq 1000 | nay check -c "$kind.nay")" -eq 1000 ]
  done
}

@test "plan --need: only families that can; status 1 when there is none" {
  run -0 nay plan -n 1000 -p 1% --no-measure --need merge
  [[ ${lines[-1]} == "take "* ]]
  run -2 nay plan -n 1000 -p 1% --need mrege
  [[ $output == *"did you mean merge?"* ]]
  run nay plan -n 1000 -p 1% --no-measure --json --need delete,merge,grow,expire
  [ "$status" -eq 1 ]
  jq -e '.take == null' <<< "${lines[0]}"
}

@test "plan --need static: no keys follow, so what says that they do is refused" {
  run -2 nay plan -n 1000 --need static --max-keys 1e5 --no-measure
  [ "$output" = "nay plan: --need static says that no keys follow, --max-keys that they do: omit one of them" ]
  run -2 nay plan -n 1000 --need grow,static --no-measure
  [ "$output" = "nay plan: --need static says that no keys follow, --need grow that they do: omit one of them" ]
  run -0 nay plan -n 1000 --need static --no-measure
}

@test "plan -t: a static family is for a static set, unless it must support more" {
  for kind in xor fuse ribbon; do
    run -0 --separate-stderr nay plan -n 1000 -p 1% --no-measure -t $kind
    [ "${lines[-1]}" = "take $kind: the requested family, for a static set" ]
    [ -z "$stderr" ]
    run -0 nay plan -n 1000 -p 1% --no-measure -t $kind --need static
    run -1 --separate-stderr nay plan -n 1000 -p 1% --no-measure -t $kind --need merge
    [ "$stderr" = "nay plan: the requested family does not support everything that is needed" ]
  done
}

@test "plan: the FPR of one key in a huge filter" {
  for m in 1000000000000 100000000000000000 1152921504606846976; do
    for kind in bloom blocked; do
      nay plan --nbits $((m / 512 * 512)) -n 1 --probes 1 --no-measure -t $kind --json |
        jq -e "(.candidates[0].fpr_planned * $m - 1 | fabs) < 1e-6"
    done
  done
}

@test "messages speak of commands, not of calls" {
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1
  run -2 --separate-stderr nay sst build -n 1e15 -o z.ldb <<< a # 1.1 PiB: above any address space
  [[ $stderr == *"nay sst: z.ldb: no memory for the filter: nay plan tells its size" ]]
  [ ! -e z.ldb ]
}
