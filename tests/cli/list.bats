#!/usr/bin/env bats
# nay list: exact lists of a universe and what of it is listed, deltas, partitions.
load common

all() { seq "$1" | awk '{ printf "key%06d\n", $1 }'; }
some() { all "$1" | awk -v each="$2" 'NR % each == 0'; } # one in `each`

@test "list build and check: the listed keys of the universe and no others, in their order" {
  all 20000 > all
  some 20000 17 > listed
  nay list build -q --universe all -o l.nay listed
  nay list check -q l.nay < all | cmp - listed
  nay list check -q --keys all l.nay | cmp - listed
  nay list check -q -v l.nay < all | cmp - <(awk 'NR % 17 != 0' all)
  [ "$(nay list check -c l.nay < all 2> /dev/null)" -eq 1176 ]
  [ "$(nay list check -c -v l.nay < all 2> /dev/null)" -eq $((20000 - 1176)) ]
  nay list check -a l.nay < all 2> /dev/null | cmp - <(awk '{ print (NR % 17 ? "nay" : "yea") "\t" $0 }' all)
  [ "$(nay list check --max-count 2 --line-number l.nay --keys all 2> /dev/null)" = "$(head -n 2 listed | awk '{ print NR * 17 ":" $0 }')" ]
  [ "$(nay list check l.nay -e key000017 -e key000018 2> /dev/null)" = key000017 ]
  run -1 nay list check -q l.nay -e key000018
}

@test "list: the first lines of info and of the manual, and stderr, say what other keys get" {
  all 1000 > all
  some 1000 10 | nay list build -q --universe all -o l.nay
  outside="a key outside the universe gets an arbitrary answer"
  [ "$(nay list info l.nay | head -n 1)" = "l.nay: an exact list; $outside" ]
  run -0 --separate-stderr nay list check l.nay -e key000010
  [ "$stderr" = "nay list: no check bits: $outside" ]
  nay help list | grep -q 'A KEY OUTSIDE THE UNIVERSE GETS AN ARBITRARY ANSWER'
  run -0 --separate-stderr nay list build --universe all -f -o l.nay <(some 1000 10)
  [[ $stderr == "nay list: built l.nay: 100 listed keys of 1,000 keys of the universe, "*"; the payload has "*" bits, at least 469 are needed"$'\n'"nay list: no check bits: $outside" ]]
}

@test "list build: every share, none and all listed, one key, no key" {
  for n in 0 1 2 100 3000; do
    all $n > all
    for each in 1 2 3 50 5000; do
      some $n $each > listed
      awk -v each=$each 'NR % each != 0' all > others
      for which in listed others; do
        nay list build -q -f --universe all -o l.nay $which
        nay list check -q l.nay < all > got || true
        cmp got $which || { echo "$n $each $which"; return 1; }
        nay list verify -q --universe all --keys $which l.nay
      done
    done
  done
}

@test "list build: duplicates and orders leave no trace, nor do threads, pipes and little memory" {
  all 5000 > all
  some 5000 9 > listed
  nay list build -q --universe all -o want.nay listed
  cat all all | shuf --random-source=all > mixed
  nay list build -q --universe mixed -T3 -o got.nay <(tac listed; head listed)
  cmp want.nay got.nay
  nay list build -q --universe all < listed | cmp - want.nay
  nay list build -q --universe - -o - listed < mixed | cmp - want.nay
  head -n 3000 all > a
  tail -n +2500 all | gzip > b.gz
  TMPDIR=$PWD nay list build -q -f --low-memory --universe a --universe b.gz -o got.nay listed
  cmp want.nay got.nay
  [ "$(find . -name 'nay*' | wc -l)" -eq 0 ]
  run -2 nay list build --universe - -o x.nay
  [ "$output" = "nay list: standard input is read once: name files of keys" ]
}

@test "list build: listed keys outside the universe are refused, dropped, or join" {
  all 100 > all
  printf 'key000005\nnobody\nkey000007\nsomebody\n' > listed
  run -2 nay list build --universe all -o l.nay listed
  [ "$output" = "nay list: listed: line 2: a listed key that is not of the universe: --outside=drop leaves such keys out, --outside=join adds them to the universe" ]
  [ ! -e l.nay ]
  nay list build -q --outside=drop --check 32 --universe all -o l.nay listed
  [ "$(nay list info --json l.nay | jq -c '[.ndistinct, .nlisted]')" = '[100,2]' ]
  [ "$(nay list check -q -a l.nay < listed)" = $'yea\tkey000005\nunknown\tnobody\nyea\tkey000007\nunknown\tsomebody' ]
  grep key listed | nay list build -q --check 32 --universe all -o - | cmp - l.nay
  nay list build -q -f --outside=join --universe all -o l.nay listed
  [ "$(nay list info --json l.nay | jq -c '[.ndistinct, .nlisted]')" = '[102,4]' ]
  nay list check -q l.nay < listed | cmp - listed
  # a partition all of whose keys are dropped is none
  printf 'a,1\na,2\nb,1\n' > parts
  nay list build -q --partition-delimiter , --universe parts -o want.nay <(echo a,1)
  nay list build -q --partition-delimiter , --outside=drop --universe parts -o - <(printf 'a,1\nc,1\nd,1\n') | cmp - want.nay
}

@test "list check: check bits make keys outside the universe unknown, but for 1 in 2^BITS" {
  all 3000 > all
  some 3000 4 | nay list build -q --check 10 --universe all -o l.nay
  seq 20000 > others
  known=$(nay list check -a l.nay < others 2> /dev/null | grep -vc '^unknown' || true)
  [ "$known" -le 50 ] # 19.5 are expected; the bytes are always the same
  run -1 --separate-stderr nay list check l.nay -e nobody
  [ "$output" = '' ]
  [ "$stderr" = "nay list: 1 key is not of the universe: neither listed nor not" ]
  run -1 nay list check -q -v l.nay -e nobody # not certainly unlisted
  [ "$(nay list check --json l.nay -e nobody -e key000004 2> /dev/null)" = '{"key":"key000004","answer":"yea"}' ]
  [ "$(nay list check --json -c l.nay -e nobody -e key000004 2> /dev/null | jq -c '[.nkeys, .nselected, .nunknown]')" = '[2,1,1]' ]
  run -2 nay list build -f --check 33 --universe all -o l.nay all
  [ "$output" = "nay list: --check: at most 32 bits" ]
}

@test "list build --partition: a column of CSV, TSV, JSON lines and fields; the same list from lines" {
  seq 6000 | awk '{ part = "p" $1 % 7; printf "%s,serial%d,x\n", part, $1 }' > all.csv
  awk -F, '{ n = substr($1, 2); if (NR % (3 + n * n * 5) == 0) print }' all.csv > listed.csv
  tr , '\t' < all.csv > all.tsv
  tr , '\t' < listed.csv > listed.tsv
  nay list build -q --csv --partition 1 -k 2 --universe all.csv -o want.nay listed.csv
  [ "$(nay list info want.nay | grep parts)" = "  parts    7 partitions: what a key has before its first tab" ]
  nay list check -q --csv --partition 1 -k 2 want.nay < all.csv | cmp - listed.csv
  [ "$(nay list check --json -c --csv --partition 1 -k 2 want.nay --keys all.csv 2> /dev/null | jq .nselected)" -eq "$(wc -l < listed.csv)" ]
  same() { nay list build -q "${@:1:$#-2}" --universe "${@: -2:1}" -o - "${@: -1}" | cmp - want.nay; }
  same --tsv --partition 1 -k 2 all.tsv listed.tsv
  same --partition 1 -k 2 all.tsv listed.tsv
  same -F, --partition 1 -k 2 all.csv listed.csv
  sed '1i issuer,serial,other' all.csv > named.csv
  sed '1i issuer,serial,other' listed.csv > named-listed.csv
  same --csv --partition issuer -k serial named.csv named-listed.csv
  jq -cR 'split(",") | {i: .[0], s: .[1]}' all.csv > all.json
  jq -cR 'split(",") | {i: .[0], s: .[1]}' listed.csv > listed.json
  same --jsonl --partition i -k s all.json listed.json
  cut -f1,2 all.tsv > lines
  cut -f1,2 listed.tsv > listed-lines
  same --partition-delimiter '\t' lines listed-lines
  nay list check -q want.nay < lines | cmp - listed-lines
  nay list verify -q --csv --partition 1 -k 2 --universe all.csv --keys listed.csv want.nay
  # without partitions it is larger
  nay list build -q --universe lines -o plain.nay listed-lines
  [ "$(nay list info --json want.nay | jq .nbits_bound)" -lt "$(nay list info --json plain.nay | jq .nbits_bound)" ]
  # a partition without keys
  run -1 --separate-stderr nay list check --csv --partition 1 -k 2 want.nay --keys <(echo 'p9,serial5')
  [[ $stderr == *"1 key is not of the universe: neither listed nor not" ]]
}

@test "list build: partitions by a prefix; options that contradict each other" {
  all 2000 > all
  some 2000 5 > listed
  nay list build -q --partition-prefix 6 --universe all -o l.nay listed
  nay list check -q l.nay < all | cmp - listed
  [ "$(nay list info l.nay | grep parts)" = "  parts    3 partitions: the first 6 bytes of a key" ]
  printf 0123456789abcdef > secret
  refused() { # MESSAGE ARGUMENT...
    run -2 nay list "${@:2}"
    [ "$output" = "nay list: $1" ] || { echo "${*:2}: $output"; return 1; }
  }
  refused "--partition, --partition-prefix and --partition-delimiter are mutually exclusive" build --universe all --partition-prefix 1 --partition-delimiter , -o x listed
  refused "--partition-delimiter: one character" build --universe all --partition-delimiter ab -o x listed
  refused "--partition-prefix: at most 65,535 bytes" build --universe all --partition-prefix 65536 -o x listed
  refused "--partition names a column: give --csv, --tsv, --jsonl, -F or -k, too" build --universe all --partition 1 -o x listed
  refused "--partition is for keys of type text" build --universe all --csv --key=int --partition 1 -k2 -o x listed
  refused "-k and --partition are the same column: give another one for the partition" build --universe all --csv --partition 1 -o x listed
  refused "all: line 1: the row has too few columns" build --universe all --csv --partition 2 -o x listed
  refused "l.nay was built without --partition" check --csv --partition 1 -k 2 l.nay
  refused "--partition names a column of files: it excludes -e" check -q --csv --partition 1 -k 2 -e a <(nay list build -q --csv --partition 1 -k 2 --universe /dev/null /dev/null)
  refused "give the universe, all keys that may be asked for: --universe FILE" build -o x listed
  refused "--seed is for the hash without a key: --secret excludes it" build --universe all --secret secret --seed 1 -o x listed
  run -2 nay list build --universe <(printf 'a,1\n"b\tc",2\n') --csv --partition 1 -k 2 -o x /dev/null
  [[ $output == *": line 2: the partition has a tab inside, which is what separates it from the key" ]]
  nay list build -q --on-bad=skip --universe <(printf 'a,1\n"b\tc",2\n') --csv --partition 1 -k 2 -o x /dev/null
  [ "$(nay list info --json x | jq .ndistinct)" -eq 1 ]
  printf 'a,1\n"b\tc",2\n' > tab.csv
  run -0 --separate-stderr nay list check --json -c --csv --partition 1 -k 2 --on-bad=skip --bad-to bad x --keys tab.csv -v
  [ "$(jq -c '[.nkeys, .nselected, .nunknown, .nbad]' <<< "$output")" = '[1,1,0,1]' ]
  [ "$(cat bad)" = $'2:"b\tc",2' ]
  [ ! -e y ]
}

@test "list delta: a list and its deltas answer as a new list; only what changed is in them" {
  all 20000 > all
  some 20000 10 > listed
  nay list build -q --universe all -o base.nay listed
  # the universe grows by 500, 50 more are listed, 20 no more
  all 20500 > all1
  { tail -n +21 listed; sed -n '7~400p' all1; } | sort -u > listed1
  nay list delta -q --universe all1 -o d1.nay base.nay listed1
  nay list check -q base.nay d1.nay < all1 | sort | cmp - listed1
  [ "$(nay list info --json d1.nay | jq .nlisted)" -le 300 ]
  [ "$(stat -c %s d1.nay)" -lt "$(($(stat -c %s base.nay) / 2))" ]
  nay list verify -q --universe all1 --keys listed1 base.nay d1.nay
  # a delta of the two
  all 20600 > all2
  { cat listed1; sed -n '9~1000p' all2; } | sort -u > listed2
  nay list delta -q --universe all2 -o d2.nay base.nay d1.nay listed2
  nay list check -q base.nay d1.nay d2.nay < all2 | sort | cmp - listed2
  # to a list
  nay list build -q --universe all2 -o new.nay listed2
  nay list delta -q --universe all2 -o d3.nay base.nay d1.nay new.nay
  cmp d2.nay d3.nay
  # nothing changed
  nay list delta -q --universe all -o none.nay base.nay listed
  [ "$(nay list info --json none.nay | jq .nlisted)" -eq 0 ]
  nay list check -q base.nay none.nay < all | cmp - listed
}

@test "list delta: check bits, keys that come and go: lists and deltas answer every key of the last universe" {
  chain=()
  for step in 0 1 2 3 4; do
    all $((400 + 150 * step)) | awk -v s=$step '(NR + s) % 5' > all
    awk -v s=$step '(NR + s) % 3 == 0' all > listed
    verb=build
    [ $step -eq 0 ] || verb=delta
    nay list $verb -q --check $((step % 3)) --universe all -o $step.nay "${chain[@]}" listed
    chain+=($step.nay)
    nay list check -q --keys all "${chain[@]}" | cmp - listed
    nay list verify -q --universe all --keys listed "${chain[@]}"
  done
}

@test "list check: deltas in another order, of another list, or without their base are errors" {
  all 1000 > all
  some 1000 10 > listed
  some 1000 7 > listed1
  nay list build -q --universe all -o base.nay listed
  nay list build -q --universe all -o other.nay listed1
  nay list delta -q --universe all -o d1.nay base.nay listed1
  nay list delta -q --universe all -o d2.nay base.nay d1.nay listed
  refused() { # MESSAGE LIST...
    run -2 nay list check -e 1 "${@:2}"
    [[ $output == *"nay list: $1" ]] || { echo "${*:2}: $output"; return 1; }
    run -2 nay list verify "${@:2}"
    [[ $output == *"nay list: $1" ]] || { echo "verify ${*:2}: $output"; return 1; }
  }
  refused "d1.nay is a delta: give the list that it changes before it" d1.nay
  refused "d2.nay is a delta of another list than base.nay" base.nay d2.nay
  refused "d1.nay is a delta of another list than d2.nay" base.nay d1.nay d2.nay d1.nay
  refused "d1.nay is a delta of another list than other.nay" other.nay d1.nay
  refused "other.nay is a list, not a delta of base.nay" base.nay other.nay
  nay list check -q base.nay d1.nay < all | cmp - listed1
  nay list check -q base.nay d1.nay d2.nay < all | cmp - listed
  [[ $(nay list info d1.nay) == "d1.nay: an exact list, a delta; "* ]]
  [ "$(nay list info --json d1.nay | jq -r .base)" = "$(nay list info --json base.nay | jq -r .id)" ]
  run -2 nay list delta --universe all -o d.nay base.nay
  [ "$output" = "nay list: give the list, and what is listed now: a list or a file of keys" ]
  run -2 nay list delta --universe all -o d.nay base.nay <(echo nobody)
  [ "$output" = "nay list: the universe lacks 1 listed key: --outside=drop leaves such keys out; to add them give their file to --universe, too" ]
  [ ! -e d.nay ]
  nay list delta -q --outside=drop --universe all -o d.nay base.nay <(echo nobody)
  run -1 nay list check -q base.nay d.nay --keys all
  run -2 nay list delta --outside=join --universe all -o d4.nay base.nay listed
}

@test "list delta: partitions are those of the base" {
  seq 3000 | awk '{ printf "p%d\tserial%d\n", $1 % 5, $1 }' > all
  awk 'NR % 10 == 0' all > listed
  awk 'NR % 11 == 0' all > listed1
  for how in '--tsv --partition 1 -k 2'; do
    nay list build -q $how --universe all -o base.nay listed
    nay list delta -q $how --universe all -o d.nay base.nay listed1
    nay list check -q $how base.nay d.nay --keys all | cmp - listed1
    nay list delta -q --universe all -o - base.nay listed1 | cmp - d.nay # whole lines are the same keys
    [ "$(nay list info --json d.nay | jq .npartitions)" -eq 5 ]
  done
}

@test "list verify: wrong keys, other universes, counts" {
  all 1000 > all
  some 1000 10 > listed
  nay list build -q --check 20 --universe all -o l.nay listed
  [ "$(nay list verify l.nay)" = "l.nay: intact, every checksum matches" ]
  [ "$(nay list verify --universe all l.nay | tail -n 1)" = "l.nay: 1,000 keys, 0 wrong" ]
  run -1 --separate-stderr nay list verify --universe all --keys <(head -n 99 listed; echo key000001) l.nay
  [ "$stderr" = $'nay list: all: line 1: \'key000001\' is answered as not listed\nnay list: all: line 1000: \'key001000\' is answered as listed' ]
  [ "${lines[-1]}" = "l.nay: 1,000 keys, 2 wrong" ]
  run -1 --separate-stderr nay list verify --universe <(cat all; echo nobody) l.nay
  [[ $stderr == *"line 1001: 'nobody' is unknown"* ]]
  run -1 --separate-stderr nay list verify --universe <(tail -n +2 all) --keys listed l.nay
  [ "$stderr" = "nay list: 999 keys distinct in these files, and the list was built of 1,000 keys" ]
  [ "${lines[-1]}" = "l.nay: 999 keys, 0 wrong; another universe" ]
  run -1 --separate-stderr nay list verify --universe all --keys <(cat listed; echo nobody) l.nay
  [ "$stderr" = "nay list: 1 listed key not of the universe" ]
  [ "$(nay list verify --json --universe all --keys listed l.nay | jq -c '[.nkeys, .nlisted, .nwrong, .ok]')" = '[1000,100,0,true]' ]
  run -2 nay list verify --keys listed l.nay
  [ "$output" = "nay list: --keys are the listed keys of a universe: give --universe FILE, too" ]
  run -2 nay list verify --universe missing l.nay
}

@test "list: typed keys, zero bytes, compressed files, a secret key, a note" {
  printf '1\n002\n3\n' > all
  echo 02 | nay list build -q --key int --universe all -o l.nay
  [ "$(nay list check -q l.nay -e 2 -e 1 -e 0x2)" = $'2\n0x2' ]
  nay list info l.nay | grep -qx '  key type int'
  printf 'a\0b c\0' > all0
  printf 'b c\0' | nay list build -q -0 -f --universe all0 -o l.nay
  [ "$(nay list check -q -0 l.nay < all0 | tr '\0' '\n')" = 'b c' ]
  all 300 > all
  some 300 3 > listed
  printf 0123456789abcdef > secret
  nay list build -q -f --secret secret --meta 'of today' --universe all -o l.nay listed
  run -2 nay list check l.nay -e key000003
  [ "$output" = "nay list: l.nay is keyed: give its key with --secret" ]
  nay list check -q --secret secret l.nay < all | cmp - listed
  echo fedcba9876543210 > wrong
  run -2 nay list check --secret wrong l.nay -e key000003
  [ "$output" = "nay list: l.nay: --secret is not the key of this list" ]
  [ "$(nay list info --json l.nay | jq -c '[.locked, .meta]')" = '[true,"of today"]' ]
  run -2 nay list delta --universe all -o d.nay l.nay listed
  run -2 nay list delta --store-key --universe all -o d.nay l.nay listed
  nay list build -q -f --secret secret --store-key --universe all -o s.nay listed
  nay list check -q s.nay < all | cmp - listed
  [ "$(stat -c %a s.nay)" = 600 ]
  run -2 nay list delta --universe all -o d.nay s.nay listed
  [ "$output" = "nay list: s.nay is keyed: give --secret, for the delta too" ]
  nay list delta -q --secret secret --universe all -o d.nay s.nay <(some 300 4)
  nay list check -q --secret secret s.nay d.nay < all | cmp - <(some 300 4)
  nay list build -q --seed 1 --universe all -o a.nay listed
  nay list build -q --seed 2 --universe all -o b.nay listed
  ! cmp -s a.nay b.nay
}

@test "list: damage is status 3; lists, filters and maps are told apart" {
  all 1000 > all
  some 1000 10 > listed
  nay list build -q --universe all -o l.nay listed
  cp l.nay bad.nay
  printf X | dd of=bad.nay bs=1 seek=300 conv=notrunc status=none
  for verb in 'check bad.nay -e a' 'info bad.nay' 'verify bad.nay' 'verify l.nay bad.nay' 'check l.nay bad.nay -e a' \
    'delta --universe all -o d.nay bad.nay listed'; do
    run -3 nay list $verb
    [[ $output == *checksum* ]] || { echo "$verb: $output"; return 1; }
  done
  [ ! -e d.nay ]
  seq 10 | nay build -q -o f.nay
  printf 'a\t1\n' | nay map build -q -o m.nay
  run -3 nay list info f.nay
  [ "$output" = "nay list: f.nay: a filter, not an exact list" ]
  run -3 nay list info m.nay
  [ "$output" = "nay list: m.nay: a static map, not an exact list" ]
  run -3 nay map info l.nay
  [ "$output" = "nay map: l.nay: an exact list, not a static map" ]
  for line in 'check l.nay -e a' 'info l.nay' 'verify l.nay' 'add l.nay -e a'; do
    run -3 nay $line
    [[ $output == *"an exact list, not a filter"* ]] || { echo "$line: $output"; return 1; }
  done
  # now is a damaged list: it is not read as keys
  run -3 nay list delta --universe all -o d.nay l.nay bad.nay
  run -2 nay list check missing.nay -e a
  for file in bad missing f; do
    status=3; [ $file != missing ] || status=2
    run -$status --separate-stderr nay list verify --json $file.nay
    [ "$(jq -c '[.schema, .file, .ok, (.checksum | length > 9)]' <<< "$output")" = "[\"nay.list.verify/1\",\"$file.nay\",false,true]" ]
  done
  run -3 --separate-stderr nay list info l.nay missing.nay bad.nay l.nay
  [ "$(grep -c '^l.nay: an exact list' <<< "$output")" -eq 2 ]
  run -2 nay list info
  run -2 nay list check
}

@test "list: every byte of a file is noticed when it changes" {
  printf '%s\n' a b c d e f > all
  printf '%s\n' a d | nay list build -q --check 3 --universe all -o l.nay
  for ((i = 0; i < $(stat -c %s l.nay); i++)); do
    cp l.nay bad.nay
    printf "\\x$(printf %02x $((0x$(xxd -s $i -l 1 -p l.nay) ^ 1)))" | dd of=bad.nay bs=1 seek=$i conv=notrunc status=none
    status=0
    nay list check -q bad.nay --keys all > out 2> err || status=$?
    [ $status -eq 3 ] || { echo "byte $i: status $status"; cat err; return 1; }
    [ ! -s out ]
  done
}

@test "list: files that cannot be read, records that have no key" {
  all 100 > all
  some 100 10 > listed
  nay list build -q --universe all -o l.nay listed
  run -2 nay list build -f --universe missing -o l.nay listed
  run -2 nay list build -f --universe all -o l.nay missing
  nay list check -q l.nay < all | cmp - listed # as it was
  run -2 --separate-stderr nay list check -q l.nay --keys missing --keys all
  printf 'x,key000010\ny\nx,key000020\n' > rows
  run -2 --separate-stderr nay list check --csv -k 2 l.nay --keys rows
  [ "$output" = $'x,key000010\nx,key000020' ]
  [[ $stderr == *"rows: line 2: the row has too few columns" ]]
  run -0 --separate-stderr nay list check -q -a --csv -k 2 --on-bad=pass l.nay --keys rows
  [ "$output" = $'yea\tx,key000010\nbad\ty\nyea\tx,key000020' ]
}

# ---- --two-passes ----

@test "list build --two-passes: the list of one pass, of several files, compressed, in partitions, at low memory" {
  all 20000 > all
  some 20000 10 > listed
  nay list build -q --universe all -o want.nay listed
  same() { # PASSES ARGUMENT...
    [ "$(nay list build -q -f --json --two-passes -o got.nay "${@:2}" 2> /dev/null | jq -c '[.npasses, .nkeys, .ndistinct, .nlisted]')" = "[$1,22000,20000,2000]" ]
    cmp got.nay want.nay
  }
  same 2 --universe all listed
  same 2 --low-memory --universe all listed
  same 2 --universe all < listed
  same 2 --universe all <(sort -r listed)
  head -n 7000 all > a
  tail -n +7001 all | gzip > b.gz
  same 2 --universe a --universe b.gz listed
  [ "$(nay list build -q -f --json --universe all -o got.nay listed | jq .npasses)" -eq 1 ]
  nay list verify -q --universe all --keys listed got.nay
  # most keys of one partition are listed, and few of another
  seq 6000 | awk '{ printf "p%d,serial%d\n", $1 % 2, $1 }' > all.csv
  awk 'NR % 40 == 0 || (NR % 2 == 1 && NR % 9 != 0)' all.csv > listed.csv
  nay list build -q -f --csv --partition 1 -k 2 --universe all.csv -o want.nay listed.csv
  [ "$(nay list build -q -f --json --two-passes --csv --partition 1 -k 2 --universe all.csv -o got.nay listed.csv | jq .npasses)" -eq 3 ]
  cmp got.nay want.nay
}

@test "list delta --two-passes: the delta of one pass" {
  all 20000 > all
  some 20000 10 > listed
  some 20000 11 > listed1
  nay list build -q --universe all -o base.nay listed
  nay list delta -q --universe all -o want.nay base.nay listed1
  nay list delta -q --two-passes --universe all -o got.nay base.nay listed1
  cmp got.nay want.nay
  nay list check -q base.nay got.nay < all | cmp - listed1
}

@test "list build --two-passes: a universe that changes between the passes is noticed, nothing is written" {
  some 1000 10 > listed
  # a universe is read before the listed keys: it changes once those are asked for
  change() { # COMMAND: it writes another `all`
    all 1000 > all
    rm -f pipe
    mkfifo pipe
    nay list build --two-passes --universe all -o l.nay pipe > out 2>&1 &
    local nay=$! status=0
    { bash -c "$1"; cat listed; } > pipe
    wait $nay || status=$?
    return $status
  }
  for how in 'echo more >> all' 'sed -i 5d all' 'sed -i 5s/k/K/ all' 'sed -i 10s/k/K/ all' 'sed -i "5s/.*/key000006/" all' ': > all'; do
    run -2 change "$how"
    [ "$(cat out)" = "nay list: all changed while it was read: start again" ] || { echo "$how"; cat out; return 1; }
    [ ! -e l.nay ]
  done
  run -2 change 'rm all'
  [[ $(cat out) == "nay list: "*"all"* ]]
  [ ! -e l.nay ]
  run -0 change 'sort -r all > other; cat other > all' # another order is no change
  all 1000 > all
  nay list build -q --universe all -o - listed | cmp - l.nay
}

@test "list build --two-passes: what cannot be read twice, or needs all keys" {
  all 1000 > all
  some 1000 10 > listed
  advice="so it cannot be read twice: give a file, or omit --two-passes (--low-memory keeps the keys in a temporary file)"
  refused() { # MESSAGE ARGUMENT...
    run -2 nay list "${@:2}"
    [ "$output" = "nay list: $1" ] || { echo "${*:2}: $output"; return 1; }
    [ ! -e x ]
  }
  mkfifo pipe
  refused "--two-passes: pipe is no regular file, $advice" build --two-passes --universe pipe -o x listed
  refused "--two-passes: standard input is no regular file, $advice" build --two-passes --universe - -o x listed < all
  refused "--check stores bits of every key: it excludes --two-passes" build --two-passes --check 3 --universe all -o x listed
  refused "--outside=drop needs all keys at once: it excludes --two-passes" build --two-passes --outside=drop --universe all -o x listed
  refused "--outside=join needs all keys at once: it excludes --two-passes" build --two-passes --outside=join --universe all -o x listed
  run -2 nay list build --two-passes --universe missing -o x listed
  [[ $output == "nay list: "*missing*"No such file"* ]]
  echo nobody > more
  refused "more: line 1: a listed key that is not of the universe: --outside=drop leaves such keys out, --outside=join adds them to the universe" build --two-passes --universe all -o x listed more
  sed -n 10p all >> all # a listed key, again
  refused "key 1001 of the universe is there more than once: --two-passes needs each key once (sort -u), or omit it" build --two-passes --universe all -o x listed
}

@test "list build --two-passes: bad records are told and counted once" {
  printf 'x,a\ny\nx,b\n' > all
  printf 'x,a\nz\n' > listed
  for mode in report skip; do
    status=0
    nay list build -q -f --csv -k 2 --on-bad=$mode --json --universe all -o want.nay listed > want.json 2> want.err || status=$?
    run -$status nay list build -q -f --csv -k 2 --on-bad=$mode --json --two-passes --universe all -o got.nay listed 2> got.err
    nay list build -q -f --csv -k 2 --on-bad=$mode --bad-to bad.$mode --json --two-passes --universe all -o got.nay listed > got.json 2> got.err || true
    cmp got.nay want.nay
    [ "$(jq .nbad got.json)" -eq 2 ]
    [ "$(jq .nbad want.json)" -eq 2 ]
    [ "$(wc -l < bad.$mode)" -eq 2 ]
    [ "$(grep -c 'line 2' got.err)" -eq "$(grep -c 'line 2' want.err)" ]
  done
}
