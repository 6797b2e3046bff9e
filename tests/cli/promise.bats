#!/usr/bin/env bats
# One rule for every command: a false-positive rate more than 10% above what was asked or promised is
# said on stderr with both figures, stands in --json, and with --strict is exit status 4.
load common

commands() { nay help | sed -n 's|^  \([a-z]*\)  *[a-z].*|\1|p' | grep -vx nay; }

has() { nay "$1" --help | grep -q -- "^ .*$2"; }

# bad and good: arguments with too little room and with enough. A command without a row fails.
row() {
  bad='' good=''
  case $1 in
    build) bad='-n 100 -f -o out keys' good='-n 1000 -f -o out keys' ;;
    add) bad='full.nay -f -o out more' good='roomy.nay -f -o out more' ;;
    remove) bad='over-c.nay -f -o out few' good='full-c.nay -f -o out few' ;;
    check) bad='over.nay keys' good='full.nay keys' ;;
    explain) bad='over.nay 7' good='full.nay 7' ;;
    info) bad='over.nay' good='full.nay roomy.nay' ;;
    verify) bad='over.nay' good='full.nay roomy.nay' ;;
    merge) bad='full.nay full2.nay -f -o out' good='full.nay same.nay -f -o out' ;;
    fold) bad='full.nay --factor 2 -f -o out' good='roomy.nay -f -o out' ;;
    convert) bad='--to nay over.nay -f -o out' good='--to nay full.nay -f -o out' ;;
    uniq) bad='-n 100 keys' good='-n 1000 keys' ;;
    diff | common) bad='-n 100 keys more' good='keys more' ;;
    # these make no filter, or one for exactly the keys that are there
    plan | bench | plot | complete | man | version | help | extract | sst | map | list | prune | puffin) ;;
    *) echo "no row for $1" >&2; return 1 ;;
  esac
}

filters() {
  seq 1000 > keys
  seq 501 1500 > more
  seq 10 > few
  nay build -q -n 1000 --fold 2 -o full.nay keys
  cp full.nay same.nay
  seq 1001 2000 | nay build -q -n 1000 --fold 2 -o full2.nay
  nay build -q -n 20k -o roomy.nay keys
  nay build -q -n 200 -o over.nay keys 2> /dev/null
  nay build -q -t counting -n 1000 -o full-c.nay keys
  nay build -q -t counting -n 200 -o over-c.nay keys 2> /dev/null
}

WARNING='warning: * has a false-positive rate of *[%0-9], above the promised *[%0-9]'

@test "every command has a row, and --strict exactly where the rule holds" {
  for command in $(commands); do
    row "$command"
    if [ -n "$bad" ]; then has "$command" --strict; else ! has "$command" --strict; fi
  done
}

@test "too little room: every command says so with both rates, also with -q" {
  filters
  for command in $(commands); do
    row "$command"
    [ -n "$bad" ] || continue
    for quiet in '' -q; do
      # shellcheck disable=SC2086
      run --separate-stderr nay "$command" $quiet $bad
      # shellcheck disable=SC2053
      [[ $stderr == *$WARNING* ]] || { echo "$command $quiet: '$stderr'"; return 1; }
      [ "$status" -le 1 ] || { echo "$command $quiet: status $status"; return 1; }
    done
  done
}

@test "too little room: --strict ends in status 4, and the result is there all the same" {
  filters
  for command in $(commands); do
    row "$command"
    [ -n "$bad" ] || continue
    rm -f out
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" --strict $bad
    [ "$status" -eq 4 ] || { echo "$command: status $status, $stderr"; return 1; }
    [[ $bad != *"-o out"* ]] || [ -s out ]
  done
}

@test "too little room: --json has overfilled, fpr_now and fpr_promised under the same names" {
  filters
  for command in $(commands); do
    row "$command"
    [ "$command" != check ] || continue # an object for each key
    { [ -n "$bad" ] && has "$command" --json; } || continue
    # with -c these write one object, without it one for each key
    [[ $command != diff && $command != common ]] || bad="-c $bad" good="-c $good"
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" --json $bad
    echo "$command: $output"
    jq -se '.[-1] | .overfilled and .fpr_now > 1.1 * .fpr_promised and .fpr_promised > 0' <<< "$output"
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" --json $good
    echo "$command: $output"
    jq -se '.[-1] | .overfilled == false' <<< "$output"
  done
}

@test "enough room: no command says a word of it, and --strict changes nothing" {
  filters
  for command in $(commands); do
    row "$command"
    [ -n "$good" ] || continue
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" $good
    [[ $stderr != *warning* ]] || { echo "$command: $stderr"; return 1; }
    was=$status
    # shellcheck disable=SC2086
    run --separate-stderr nay "$command" --strict $good
    [ "$status" -eq "$was" ]
  done
}

@test "every family and every small number of keys: a filter within its plan is never reproached" {
  for kind in $(nay --version --json | jq -r '.kinds[]'); do
    for n in 1 2 3 5 10 30 100 300 1000 3000; do
      for p in 10% 1% 1e-4; do
        seq "$n" > keys
        nay build -q -f --strict -t "$kind" -n "$n" -p "$p" -o f.nay keys 2> err ||
          { grep -q 'cannot make' err || { echo "$kind $n $p: $(cat err)"; return 1; }; }
        ! grep warning err
      done
    done
  done
}

@test "every family that takes adds: four times the keys of the plan are said, or grown for" {
  for kind in $(nay --version --json | jq -r '.kinds[]'); do
    for n in 10 100 1000; do
      nay build -q -f -t "$kind" -n "$n" -p 1% -o f.nay <(seq "$n") 2> /dev/null || continue
      run nay add --strict f.nay <(seq 1000001 $((1000000 + 3 * n)))
      case $kind:$status in
        scalable:0 | window:0) ;; # grows, forgets
        cuckoo:2) [[ $output == *"filter is full"* ]] ;;
        fuse:2 | xor:2 | ribbon:2 | range:2) ;; # takes no adds
        *:4) [[ $output == *warning* ]] ;;
        *) echo "$kind $n: status $status, $output"; return 1 ;;
      esac
    done
  done
}

@test "a window by time whose keys all come at once says that its generation is overfull" {
  for n in 100 1000 10000; do
    seq "$n" > keys
    nay uniq --window 1h -n "$n" -c --json keys 2> err | jq -e '.overfilled and .fpr_now > 1.1 * .fpr_promised'
    grep -q 'warning: the filter of seen lines has a false-positive rate of ' err
    run -4 --separate-stderr nay uniq --strict --window 1h -n "$n" -c keys
    run -0 --separate-stderr nay uniq --strict --window "$n" -c keys # by count: never
    [ -z "$stderr" ]
    run -0 --separate-stderr nay uniq --strict --window 1h -n $((8 * n)) -c keys
    [ -z "$stderr" ]
  done
}

@test "an intersection that is full says so: its fill bounds its FPR from below" {
  for kind in bloom blocked; do
    nay build -q -f -t $kind -n 100 -o a.nay <(seq 100)
    nay build -q -f -t $kind -n 100 -o b.nay <(seq 51 150)
    nay merge -q -f --strict --intersect a.nay b.nay -o i.nay # with room: no word
    for command in 'info --strict' 'verify --strict' 'check -c --strict'; do
      # shellcheck disable=SC2086
      run --separate-stderr nay $command i.nay <<< 60
      [ "$status" -eq 0 ]
      [ -z "$stderr" ]
    done
    run -4 nay add -q --strict i.nay <(seq 100000)
    [[ $output == *"warning: i.nay has a false-positive rate of at least "*", above the promised "* ]]
    for command in info verify 'check -c'; do
      # shellcheck disable=SC2086
      run -4 --separate-stderr nay $command --strict i.nay <<< 60
      [[ $stderr == *"at least "* ]]
    done
    nay info --json i.nay 2> /dev/null | jq -e '.overfilled and .fpr_now == null'
    nay build -q -f -t $kind -n 10 -o a.nay <(seq 10000) 2> /dev/null
    nay build -q -f -t $kind -n 10 -o b.nay <(seq 10001 20000) 2> /dev/null
    run -4 nay merge -q -f --strict --intersect a.nay b.nay -o i.nay
    [[ $output == *"at least 100.0%"* ]]
  done
}

@test "a merge above 50% is refused without --max-fpr, and writes nothing" {
  nay build -q -t blocked -n 100 -p 1% --seed 7 -o a.nay <(seq 100)
  nay build -q -t blocked -n 100 -p 1% --seed 7 -o b.nay <(seq 2000 4000) 2> /dev/null
  run -1 nay merge a.nay b.nay -o c.nay
  [[ $output == *"the FPR would be above 50.0%: nothing written; --max-fpr sets another limit" ]]
  [ ! -e c.nay ]
}

@test "a build from no keys says that there is no room for later ones" {
  run -0 nay build -q -o f.nay /dev/null
  [ "$output" = "nay build: warning: the input has no keys, so the filter is sized for none: give -n" ]
  for n in 2 3 5 20 100; do # from two keys on: one is what the smallest filter is for
    cp f.nay g.nay
    run -0 nay add -q g.nay <(seq "$n")
    [[ $output == *"warning: g.nay has a false-positive rate of "* ]]
  done
  mv g.nay f.nay
  nay info --json f.nay 2> /dev/null | jq -e .overfilled
  run -4 nay add -q --strict f.nay <(seq 200)
  run -0 nay build -q -n 100 -o g.nay /dev/null
  [ -z "$output" ]
  run -0 nay build -q -t fuse -o h.nay /dev/null
  [ -z "$output" ]
}

@test "a size that cannot be of use is said at once" {
  run -0 nay build -q -M 1k -o f.nay <(seq 100000)
  [[ $output == *"above the useful limit of 50.0%"* ]]
}

@test "promised is what a plan says: nori's header tells one, LevelDB's none" {
  seq 1000 > keys
  nay build -q -n 1000 -b 10 --format nori -o f.nori keys
  nay info --json --format nori f.nori | jq -e '.nkeys_planned == 1000 and .fpr_promised > 0.005'
  run -0 nay verify --random 10000 --format nori f.nori
  [[ $output == *"keeps the promised 0."* ]]
  run -4 nay add --strict --format nori f.nori <(seq 1001 3000)
  nay build -q -n 1000 -b 10 --format leveldb -o f.ldb keys
  run -0 nay verify --random 10000 --format leveldb f.ldb
  [[ $output == *"nothing is promised: the file stores no plan" ]]
  nay verify --json --random 10000 --format leveldb f.ldb | jq -e '.fpr_promised == null and .ok'
  run -1 nay verify --random 10000 --expect-fpr 0.01% --format leveldb f.ldb
}

@test "of several files a damaged one decides the status, not an overfilled one" {
  filters
  printf x > bad.nay
  run -3 nay info --strict over.nay bad.nay full.nay
  run -3 nay verify --strict bad.nay over.nay
  run -4 nay verify --strict full.nay over.nay
}

@test "few keys scatter: a filter that is filled as planned keeps its promise" {
  for type in bloom ribbon blocked; do
    for prefix in a b c d e f g h; do
      seq -f "$prefix%g" 40 > few
      nay build -q -f -t $type -p 10% -o few.nay few
      nay verify -q --random 100000 few.nay
    done
  done
  seq -f 'a%g' 5 > few
  nay build -q -f -t ribbon -p 10% -o few.nay few
  run -1 nay verify --random 100000 --expect-fpr 0.2% few.nay
  run -0 nay verify --random 100000 few.nay
  [[ $output == *"near the promised 0.260%, the mean over all sets of so few keys" ]]
}

@test "info tells the seed of every family, and the fill of a small ribbon" {
  seq 5 > few
  for type in bloom blocked counting scalable window cuckoo xor fuse ribbon; do
    nay build -q -f -t $type --seed 5 -n 5 -o few.nay few
    nay info --json few.nay | jq -e '.seed == 5'
    nay info few.nay | grep -q 'xxh3, seed 5'
  done
  nay info --json few.nay | jq -e '.fill < 0.9'
}

# The same line again: the plan of the file agrees with it, and its promise is the same.
@test "add --create promises what its line says, on every run" {
  for family in bloom blocked scalable cuckoo counting window; do
    for size in '-p 30%' '-p 5%' '-p 1%' '-p 0.1%' '-b 12' ''; do
      for n in 10 1000; do
        rm -f new.nay
        # shellcheck disable=SC2086
        line="add --json --create -n $n -t $family $size new.nay"
        nay $line -e one | jq .fpr_promised > first
        nay $line -e two | jq .fpr_promised > second || { echo "refused: $line"; return 1; }
        diff first second || { echo "another promise: $line"; return 1; }
      done
    done
  done
  rm new.nay
  seq 8 | nay add -q --create -n 10 -t blocked -p 5% --strict new.nay
  seq 9 14 | nay add -q --create -n 10 -t blocked -p 5% --strict new.nay
  # the number is that of the plan, as in every other command; the line's -p is what must hold
  nay add --json --create -n 10 -t blocked -p 2% new.nay -e 1 |
    jq -e ".fpr_promised == $(nay info --json new.nay | jq .fpr_promised) and (.overfilled | not)"
  nay build -q -f -n 10 -p 5% -t scalable -o new.nay -e one
  nay add --json --create -n 10 new.nay -e two | jq -e '.fpr_promised > 0.049'
}

@test "build, add, info and verify state one promise for a file: that of its plan, at most -p" {
  for family in $(nay --version --json | jq -r '.kinds[] | select(. != "range")'); do # asked for keys it errs less
    for n in 100 1000 20000; do
      seq "$n" > keys
      built=$(nay build --json -f -t "$family" -n "$n" -p 1% -o f.nay keys | jq .fpr_promised)
      jq -ne "$built > 0 and $built <= 0.01"
      [ "$(nay info -q --json f.nay | jq .fpr_promised)" = "$built" ]
      [ "$(nay verify --json f.nay | jq .fpr_promised)" = "$built" ]
      [ "$(nay check -c --json f.nay keys | jq .overfilled)" = false ]
    done
  done
  nay verify --random 100000 f.nay | grep -q 'keeps the promised 0\.[0-9]*%, that of its plan$'
  nay verify --random 100000 --expect-fpr 2% f.nay | grep -q 'keeps the promised 2\.00% of --expect-fpr$'
  # a layout that states no plan is held to -p
  seq 1000 > keys
  nay build -q -f -n 1000 -p 1% --format leveldb -o f.ldb keys
  run -4 nay build -q --strict -f -n 100 -p 1% --format leveldb -o f.ldb keys
}

# Small filters of different rates have as many bytes: the rate of the plan counts. Plans of cuckoo filters are the same
# for all rates that the shortest tags keep.
@test "add --create refuses a -p that would have planned another rate" {
  planned() { nay plan --json --no-measure -n $n -t $family -p "$1" | jq -c '.candidates[0] | [.nbytes, .fpr_planned, .fpr_at_nkeys]'; }
  for family in scalable cuckoo; do
    pairs="30%:5% 5%:1% 1%:5%"
    [ $family = scalable ] || pairs="0.5%:0.05% 0.01%:0.5%"
    for n in 10 1000 100000; do
      for pair in $pairs 30%:0.1% 0.1%:30%; do
        rm -f new.nay
        nay add -q --create -n $n -t $family -p "${pair%:*}" new.nay -e one
        if [ "$(planned "${pair%:*}")" = "$(planned "${pair#*:}")" ]; then # few keys: one filter serves both
          nay add -q --create -n $n -t $family -p "${pair#*:}" new.nay -e two
          continue
        fi
        run nay add --create -n $n -t $family -p "${pair#*:}" new.nay -e two
        [ "$status" -eq 2 ] || { echo "accepted: $family -n $n $pair"; return 1; }
        [[ "$output" == *"-p: new.nay exists, a $family filter for"* ]]
      done
    done
  done
}
