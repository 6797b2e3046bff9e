#!/usr/bin/env bats
# Many files: --recursive, --files-from, -H, -l, counts of each file, --stats. A file is read once or said not to be.
load common

tree() { # with hidden, binary, linked and special files
  mkdir -p d/sub/deep d/.hidden
  seq 1 5 > d/a
  seq 4 9 > d/sub/b
  seq 20 30 | gzip > d/sub/deep/c.gz
  : > d/empty
  seq 100 200 > d/.hidden/x
  seq 300 400 > d/.y
  printf 'no\0text\n' > d/bin
  head -c 70000 /dev/zero | gzip > d/zeros.gz
  printf '\377\330\377\340\0\20JFIF' > d/sub/photo.jpg
  ln -s ../d d/loop
  ln -s a d/link
  mkfifo d/fifo
}

filter() { # of the keys that are arguments
  printf '%s\n' "$@" | nay build -q -f -n 1000 -p 1e-9 -o f.nay
}

@test "--recursive reads every visible text below a directory once, in the order of the names" {
  tree
  filter 1
  run -0 --separate-stderr nay check -v -H f.nay --recursive d
  [ "$output" = "$(for i in 2 3 4 5; do echo "d/a:$i"; done; for i in 4 5 6 7 8 9; do echo "d/sub/b:$i"; done
    for i in $(seq 20 30); do echo "d/sub/deep/c.gz:$i"; done)" ]
  [ "$stderr" = 'nay check: 3 binary files skipped; the first: d/bin' ]
  run -0 --separate-stderr nay check -q -v f.nay --recursive d
  [ -z "$output$stderr" ]
  # named as an operand each of them is read, or refused as ever
  [ "$(nay check -v f.nay --recursive d/.hidden d/link d/.y -c)" = 206 ]
  run -2 --separate-stderr nay check f.nay --recursive d/bin
  [[ $stderr == 'nay check: d/bin is binary'* ]]
  # without an operand the working directory, with a slash no second one
  cd d
  [ "$(nay check -l -v ../f.nay --recursive 2> /dev/null)" = $'a\nsub/b\nsub/deep/c.gz' ]
  [ "$(nay check -l -v ../f.nay --recursive ./sub/ 2> /dev/null)" = $'./sub/b\n./sub/deep/c.gz' ]
  # without --recursive it is an error that ends no other file
  run -2 --separate-stderr nay check -c ../f.nay sub a
  [ "$output" = 1 ]
  [ "$stderr" = 'nay check: sub is a directory' ]
}

@test "build, add, remove, uniq and verify take directories; the size is counted from what is read" {
  tree
  for t in 1 2; do
    run -0 --separate-stderr nay build -T $t -f -p 1e-9 --recursive -o f.nay d
    [[ $stderr == *'built f.nay: 22 keys,'* ]]
  done
  rm d/sub/deep/c.gz d/zeros.gz # packed files are not counted first: these are
  run -0 --separate-stderr nay build -f -p 1e-9 --recursive -t blocked -o g.nay d
  [[ $stderr == *'built g.nay: 11 keys,'* ]]
  [ "$(nay info --json g.nay | jq .nkeys_planned)" = 11 ] || [ "$(nay info --json g.nay | jq .nkeys)" = 11 ]
  nay verify -q f.nay --recursive --keys d
  run -1 nay verify -q g.nay --recursive --keys d/.hidden
  run -2 nay verify f.nay --recursive
  [ "$(nay uniq --recursive -c d 2> /dev/null)" = 9 ]
  nay build -q -t counting -n 100 -p 1e-9 -o c.nay d/a
  nay add -q c.nay --recursive d/sub
  [ "$(nay check -c c.nay -e 1 -e 4 -e 9 -e 10)" = 3 ]
  nay remove -q c.nay --recursive d/sub
  [ "$(nay check -c c.nay -e 1 -e 4 -e 9 -e 10)" = 2 ]
  # a result that is below the directory is no key file of the next run
  nay build -q --recursive -o d/out.nay d
  run -0 --separate-stderr nay build -f --recursive -o d/out.nay d
  [[ $stderr == *'built d/out.nay: 11 keys,'* ]]
}

@test "--files-from: lines, names that end in zero bytes, empty lists, names in directories" {
  tree
  filter 1
  printf 'd/a\n\nd/sub/b' > list
  [ "$(nay check -v -c f.nay --files-from list)" = 10 ]
  [ "$(nay check -v -c f.nay --files-from - < list)" = 10 ]
  mkdir odd
  seq 3 > "odd/$(printf 'new\nline')"
  [ "$(find odd -type f -print0 | nay check -v -c f.nay --files-from -)" = 2 ]
  [ "$(printf 'd/sub\nd/a\n' | nay check -v -c f.nay --recursive --files-from - 2> /dev/null)" = 21 ]
  [ "$(nay check -v -c f.nay d/a --files-from <(echo d/sub/b))" = 10 ]
  # an empty list is no standard input, and no working directory
  [ "$(seq 9 | nay check -v -c f.nay --files-from /dev/null || true)" = 0 ]
  [ "$(nay uniq -c --recursive --files-from /dev/null)" = 0 ]
  run -0 nay build -q -n 9 -p 1e-9 -f -o e.nay --files-from /dev/null
  [ "$(nay info --json e.nay | jq .nkeys_estimated)" = 0 ]
  [ "$(echo - > list; seq 9 | nay check -v -c f.nay --files-from list)" = 8 ]
  run -2 nay check f.nay --files-from - < list
  [ "$output" = 'nay check: --files-from=-: standard input has names, and cannot have keys too' ]
  run -2 nay check f.nay - --files-from - < list
  # several lists, all read
  [ "$(nay check -v -c f.nay --files-from <(echo d/a) --files-from <(echo d/sub/b))" = 10 ]
  run -2 nay check f.nay --files-from - --files-from - < list
  run -2 nay check f.nay --files-from missing
  run -2 nay check f.nay --files-from list -e 1
  [ "$output" = 'nay check: --files-from is for key files, and -e gives the keys' ]
  run -2 nay check f.nay --recursive -e 1
  run -2 --separate-stderr nay check -c f.nay --files-from <(printf 'd/a\nmissing\n')
  [ "$output" = 1 ]
  run -2 nay build -n 9 -o new.nay --files-from <(printf 'd/a\nmissing\n')
  [ ! -e new.nay ]
}

@test "-H, -l and counts of each file: as grep" {
  tree
  filter 4 7 25
  grep='grep -x -e 4 -e 7'
  cd d
  for files in 'a sub/b' 'a' 'sub/b a' 'empty a' 'a a'; do
    for option in -H -Hv -Hc -Hvc -l -lv; do
      run -0 --separate-stderr nay check $option ../f.nay $files
      [ "$output" = "$($grep $option $files)" ]
    done
    for m in 0 1 2; do
      run --separate-stderr nay check -H -m $m ../f.nay $files
      [ "$output" = "$($grep -H -m $m $files || true)" ]
      run --separate-stderr nay check -l -m $m ../f.nay $files
      [ "$output" = "$($grep -l -m $m $files || true)" ]
    done
    [ "$(nay check -H --line-number ../f.nay $files)" = "$($grep -Hn $files)" ]
  done
  [ "$(nay check -H ../f.nay < a)" = '(standard input):4' ]
  [ "$(nay check -l ../f.nay < a)" = '(standard input)' ]
  [ "$(nay check -aH ../f.nay a | head -n 1)" = $'a:nay\t1' ]
  [ "$(nay check --json -H ../f.nay a sub/b | jq -c '[.file,.key]')" = $'["a","4"]\n["sub/b","4"]\n["sub/b","7"]' ]
  [ "$(nay check --json -l ../f.nay a sub/b | jq -c .)" = $'{"file":"a"}\n{"file":"sub/b"}' ]
  [ "$(nay check --json -Hc ../f.nay a empty sub/b | jq -c .files)" = \
    '[{"file":"a","nkeys":5,"nselected":1},{"file":"empty","nkeys":0,"nselected":0},{"file":"sub/b","nkeys":6,"nselected":2}]' ]
  # a file that cannot be read has no line
  run -2 --separate-stderr nay check -Hc ../f.nay a missing sub/b
  [ "$output" = $'a:1\nsub/b:2' ]
  # with -0 names end in zero bytes too
  [ "$(printf '4\0' > z; nay check -0 -l ../f.nay z | od -An -c | tr -d ' \n')" = 'z\0' ]
  for option in -c -a; do
    run -2 nay check -l $option ../f.nay a
    [ "$output" = 'nay check: -l prints names of files alone: it excludes -a, -c and --which' ]
  done
  run -2 nay check -H ../f.nay -e 4
  run -2 nay check -l ../f.nay -e 4
  run -0 nay check -q -l ../f.nay a
  [ -z "$output" ]
  run -1 nay check -l ../f.nay empty
}

@test "--stats: every line, key, bad record and byte once, in every command that reads keys" {
  printf '1\n2\nx\n\n4' > k
  stats() { # options: what --stats counts of k
    "$@" --stats --json 2>&1 > /dev/null | grep nay.stats | jq -c '[.nfiles,.nlines,.nkeys,.nbad,.nbytes]'
  }
  nay build -q -n 9 -t counting --key=int -p 1e-9 -o f.nay -e 1
  for t in 1 2; do
    for command in 'build -n 9 -f -o g.nay' 'check f.nay' 'uniq' 'add f.nay' 'remove f.nay'; do
      [ "$(stats nay $command -T $t --key=int --on-bad=skip k)" = '[1,5,3,2,8]' ]
    done
    [ "$(stats nay verify f.nay -T $t --on-bad=skip --keys k --absent k)" = '[2,10,6,4,16]' ]
    [ "$(stats nay diff -T $t --key=int --on-bad=skip k k)" = '[2,10,6,4,16]' ]
  done
  gzip -k k
  [ "$(stats nay uniq --skip-empty k.gz k)" = '[2,10,8,0,16]' ]
  [ "$(stats nay uniq --csv -k 1 k)" = '[1,5,5,0,8]' ]
  printf '{"a":[1,2]}\n{"a":[]}\n' > j
  [ "$(stats nay uniq --jsonl -k 'a[]' j)" = '[1,2,2,1,21]' ]
  [ "$(stats nay build -n 9 -f -o g.nay -e a -e bc)" = '[0,2,2,0,5]' ]
  run -0 nay uniq -c --stats k
  [[ ${lines[0]} =~ ^'nay uniq: 5 lines, 5 keys, 0 bad, 8 B in 1 file; '[0-9.]+' s, '[0-9,]+' lines/s, ' ]] ||
    [[ ${lines[1]} =~ ^'nay uniq: 5 lines, 5 keys, 0 bad, 8 B in 1 file; '[0-9.]+' s, '[0-9,]+' lines/s, ' ]]
}

@test "a directory that changes: the list is made first; what is gone then is said, what comes later is not read" {
  mkdir d
  for f in a b c; do echo $f > d/$f; done
  filter none
  mkfifo first
  for gone in b; do
    nay check -v f.nay first --recursive d > out 2> err &
    pid=$!
    exec 7> first # opened by both: the list is made
    rm d/$gone
    echo new > d/bb
    echo more >> d/c
    exec 7>&-
    wait $pid && status=0 || status=$?
    [ $status = 2 ]
    [ "$(cat out)" = $'a\nc\nmore' ]
    [ "$(cat err)" = 'nay check: cannot open d/b: No such file or directory' ]
  done
  # a result is not made
  echo b > d/b
  nay build -q -n 9 -o new.nay first --recursive d 2> err &
  pid=$!
  exec 7> first
  rm d/b
  exec 7>&-
  wait $pid && status=0 || status=$?
  [ $status = 2 ]
  [ ! -e new.nay ]
  grep -q 'cannot open d/b' err
}

@test "a directory that cannot be listed is said; names as long as the system allows" {
  filter none
  name=$(printf 'x%.0s' $(seq 250))
  mkdir d && (cd d && for _ in $(seq 20); do mkdir "$name" && cd "$name"; done; echo deep > file)
  echo top > d/top
  run -2 --separate-stderr nay check -v f.nay --recursive d
  [ "$output" = top ]
  [[ $stderr == 'nay check: cannot open d/xxx'* ]] # the message is cut before its reason
  run -2 --separate-stderr nay build -n 9 -o new.nay --recursive d
  [ ! -e new.nay ]
}

@test "a pipe that ends in the middle of a line has that line; one that nobody writes to is waited for" {
  filter none
  mkfifo pipe
  (printf 'a\nb\nla' > pipe) &
  [ "$(nay check -v f.nay pipe)" = $'a\nb\nla' ]
  wait
  (printf '{"id":1}\n{"id":2' > pipe) &
  run -2 --separate-stderr nay check -v -c --jsonl -k id f.nay pipe
  [ "$output" = 1 ]
  wait
  (printf 'x,"y\n' > pipe) &
  run -2 --separate-stderr nay check -v -c --csv -k 2 f.nay pipe
  [ "$output" = 0 ]
  wait
  (: > pipe) & # opened, and closed at once
  run -1 nay check -v -c f.nay pipe
  [ "$output" = 0 ]
  wait
}
