#!/usr/bin/env bats
# Records without a key: --on-bad, --bad-to, --max-record. Nothing is lost, nothing is counted twice.
load common

log() { # with bad lines 2 and 5
  printf 'a x\nbad\nb x\na y\nworse\nc z\n' > log
}

@test "the defaults: a result is not made, an answer goes on with status 2, uniq passes the line on" {
  log
  run -2 nay build -q -n 9 -F' ' -k2 -o f.nay log
  [ "$output" = "nay build: log: line 2: the line has too few fields" ]
  [ ! -e f.nay ]
  nay build -q -n 9 -p 1e-9 -o f.nay -e x
  run -2 nay add -q f.nay -F' ' -k2 log
  run -2 --separate-stderr nay check -F' ' -k2 f.nay log
  [ "$output" = $'a x\nb x' ]
  [ "$stderr" = $'nay check: log: line 2: the line has too few fields\nnay check: log: line 5: the line has too few fields' ]
  run -2 --separate-stderr nay check -v -F' ' -k2 f.nay log
  [ "$output" = $'a y\nc z' ]
  run -0 --separate-stderr nay uniq -F' ' -k2 log
  [ "$output" = $'a x\nbad\na y\nworse\nc z' ]
  [ "$stderr" = "nay uniq: 2 bad records passed on without a key; the first: log: line 2: the line has too few fields" ]
  run -2 --separate-stderr nay common -n 9 -F' ' -k2 log log
  [ -z "$output" ]
  run -2 --separate-stderr nay common -n 9 -F' ' -k2 <(grep ' ' log) log
  [ "$output" = "$(grep ' ' log)" ]
  # with -q a hit decides, as in grep
  nay check -q -F' ' -k2 f.nay log
  run -2 nay check -q -F' ' -k2 f.nay <(tail -n 2 log)
}

@test "each word of --on-bad: what is printed, the status, the count in JSON" {
  log
  nay build -q -n 9 -p 1e-9 -o f.nay -e x -e bad
  for t in 1 2; do
    c="nay check -T $t -F' ' -k2 f.nay log"
    run -2 --separate-stderr bash -c "$c --on-bad=fail"
    [ "$output" = 'a x' ]
    run -0 --separate-stderr bash -c "$c --on-bad=skip"
    [ "$output" = $'a x\nb x' ]
    run -0 --separate-stderr bash -c "$c --on-bad=pass"
    [ "$output" = $'a x\nbad\nb x\nworse' ]
    run -0 --separate-stderr bash -c "$c --on-bad=pass --line-number"
    [ "$output" = $'1:a x\n2:bad\n3:b x\n5:worse' ]
    run -0 --separate-stderr bash -c "$c --on-bad=pass -a"
    [ "$output" = $'maybe\ta x\nbad\tbad\nmaybe\tb x\nnay\ta y\nbad\tworse\nnay\tc z' ]
    run -0 --separate-stderr bash -c "$c --on-bad=line"
    [ "$output" = $'a x\nbad\nb x' ]
    run -0 --separate-stderr bash -c "$c --on-bad=pass --max-count 1"
    [ "$output" = 'a x' ]
    run -0 --separate-stderr bash -c "$c --on-bad=pass --max-count 2"
    [ "$output" = $'a x\nbad\nb x' ]
    [[ $stderr == "nay check: 1 bad record passed on"* ]]
    [ "$(bash -c "$c -c --json --on-bad=skip" 2> /dev/null | jq -c '[.nkeys, .nselected, .nbad]')" = '[4,2,2]' ]
    [ "$(bash -c "$c -c --on-bad=pass" 2> /dev/null)" = 2 ]
  done
  nay build -q --on-bad=line -F' ' -k2 -n 9 -p 1e-9 -f -o f.nay log
  [ "$(nay check -c f.nay -e x -e y -e z -e bad -e worse)" = 5 ]
  run -2 nay build -q --on-bad=report -F' ' -k2 -n 9 -p 1e-9 -f -o g.nay log
  [ "$(nay check -c g.nay -e x -e y -e z -e bad -e worse)" = 3 ]
  run -2 nay uniq --on-bad=line --key=int log
  [[ $output == *"--on-bad=line makes keys of type text, and these are of type int" ]]
  run -2 nay uniq --on-bad=line --length-prefixed log
  run -2 nay uniq --on-bad=drop log
  [[ $output == *"is not one of fail, report, skip, pass, line"* ]]
}

@test "messages: five, then a count; none with -q" {
  yes bad | head -n 1000 > log
  run -2 --separate-stderr nay check -F' ' -k2 --on-bad=report <(nay build -n 1 -q -e x) log
  [ "$(grep -c 'too few fields$' <<< "$stderr")" -eq 6 ]
  [[ $stderr == *$'\n'"nay check: 1,000 bad records not read; the first: log: line 1: the line has too few fields" ]]
  run -0 nay uniq -q --on-bad=skip -F' ' -k2 <(echo a b; echo bad; echo c b)
  [ -z "$output" ]
}

@test "rows: columns that are missing, quotes that do not match, values of no type; lines inside rows are counted" {
  printf 'k,v\n1,a\n"2\n2",b\n3\n"4"x,c\n5,"open\n6,d\nseven,e\n0x8,f\n' > rows.csv
  nay uniq --csv -k v --on-bad=pass --bad-to bad rows.csv > out 2> err
  cmp out rows.csv
  [ "$(cat bad)" = $'5:3\n6:"4"x,c\n7:5,"open' ]
  nay uniq --csv -k k --key=int --on-bad=skip --bad-to bad2 rows.csv > out 2> /dev/null
  [ "$(cat out)" = $'k,v\n1,a\n3\n6,d\n0x8,f' ]
  [ "$(cat bad2)" = $'3:"2\n2",b\n6:"4"x,c\n7:5,"open\n9:seven,e' ]
  # all of them, whatever the batch they come in, and with CR
  python3 -c '
import random
rng = random.Random(5)
good = bad = 0
with open("many.csv", "w", newline="") as f, open("good.csv", "w", newline="") as g, open("bad.csv", "w", newline="") as b:
    for i in range(60000):
        kind = rng.randrange(8)
        row = ["%d" % i, "\"%d\"y,z\r\n" % i, "%d,a\n" % i, "\"%d\",b\r\n" % i, "\"x\n%d\",c\n" % i, "%d,\"\"\"q\"\n" % i, "%d,d\n" % i, "%d,e\n" % i][kind]
        row += "\n" if kind == 0 else ""
        f.write(row)
        (b if kind < 2 else g).write(row)
'
  for t in 1 2; do
    nay uniq -T $t -n 100k --csv -k2 --on-bad=skip many.csv -c > /dev/null
    rm -f kept
    nay check -T $t --csv -k2 --on-bad=skip --bad-to kept <(nay build -q -n 9 -p 1e-9 -e a -e b -e c -e d -e e -e '"q') many.csv > got 2> /dev/null
    cmp got good.csv
    sed 's/^[0-9]*://' kept | cmp - bad.csv
    nay uniq -T $t -n 100k --csv -k1 --on-bad=pass many.csv 2> /dev/null | wc -l | grep -qx "$(wc -l < many.csv)"
    awk -F: 'NR == FNR { n[$1] = 1; next } 0' kept many.csv
    paste -d'\n' <(cut -d: -f1 kept | head -n 500) | while read -r line; do sed -n "${line}p" many.csv; done | cmp - <(head -n 500 bad.csv)
  done
}

@test "zero bytes: a binary file is refused as ever; with --on-bad their lines are bad" {
  printf 'a\n\0\0b\nc\nd\0\n' > file
  run -2 nay uniq file
  [[ $output == *"is binary, not text: line 2 has a zero byte"* ]]
  nay uniq --on-bad=pass file 2> /dev/null | cmp - file
  [ "$(nay uniq --on-bad=skip --bad-to bad file 2> err)" = $'a\nc' ]
  [ "$(cat err)" = "nay uniq: 2 bad records skipped; the first: file: line 2: the line has a zero byte" ]
  printf '2:\0\0b\n4:d\0\n' | cmp - bad
  [ "$(nay uniq --on-bad=skip -F: -k1 file 2> /dev/null)" = $'a\nc' ]
  [ "$(printf 'a,b\nc\0,d\ne,f\n' | nay uniq --on-bad=skip --csv 2> /dev/null)" = $'a,b\ne,f' ]
  nay build -q --on-bad=line -n 9 -p 1e-9 -o f.nay file
  nay check -q -0 --no-decompress --length-prefixed f.nay <(printf '\3\0\0\0\0\0b') || nay check -q --length-prefixed f.nay <(printf '\3\0\0\0\0\0b')
}

@test "--max-record: longer ones are bad; truncated ends of binary records too" {
  printf 'abc\nabcd\nab\n' > file
  [ "$(nay uniq --max-record 3 --on-bad=skip file 2> /dev/null)" = $'abc\nab' ]
  run -2 nay build -q --max-record 3 -n 9 -o f.nay file
  [[ $output == *"file: line 2: the record is longer than --max-record" ]]
  printf '\1\0\0\0a\5\0\0\0bc' > prefixed
  nay check --length-prefixed --on-bad=pass <(nay build -q -n 1 -e a) prefixed 2> err | cmp - prefixed
  grep -q '1 bad record passed on.*record 2: the input ends inside a key' err
}

@test "--bad-to never replaces anything: an input, the result, a state, what another wrote, by any name" {
  log
  nay build -q -n 9 -o f.nay -e x
  cp f.nay was.nay; cp log was.log
  ln -s log link; ln log hard; mkdir d; ln -s ../f.nay d/f
  for to in log ./log link hard d/../log f.nay d/f was.nay; do
    run -2 nay check -F' ' -k2 --on-bad=skip --bad-to "$to" f.nay log
    [[ $output == *"--bad-to: $to exists: give a new file" || $output == *"are one file"* ]]
    run -2 nay add -F' ' -k2 --on-bad=skip --bad-to "$to" f.nay log
    cmp f.nay was.nay; cmp log was.log
  done
  run -2 nay build -q -n 9 -F' ' -k2 --on-bad=skip -o new.nay --bad-to new.nay log
  [[ $output == *"--bad-to and --output are one file, new.nay: choose another" ]]
  [ ! -e new.nay ]
  run -2 nay uniq -F' ' -k2 --state s.nay --bad-to s.nay log
  ln -s new.nay dangling
  run -2 nay build -q -n 9 -F' ' -k2 --on-bad=skip -o new.nay --bad-to dangling log # known too late, and still not replaced
  [[ $output == *"--bad-to: dangling exists: give a new file" ]]
  nay verify -q new.nay
  run -2 nay build -q -n 9 -F' ' -k2 --on-bad=skip -f -o new.nay --bad-to dangling log
  nay verify -q new.nay
  for to in - /dev/stdout; do
    run -2 nay uniq -F' ' -k2 --bad-to $to log
    [[ $output == *"standard output has the result"* ]]
  done
  run -2 nay build -q -n 9 -F' ' -k2 -o x.nay --bad-to y log
  [[ $output == *"give --on-bad=report or skip, too"* ]]
  nay check -c -F' ' -k2 --on-bad=skip --bad-to >(cat > piped) f.nay log > /dev/null 2>&1
  eventually grep -q worse piped
  [ "$(cat piped)" = $'2:bad\n5:worse' ]
  nay check -q -F' ' -k2 --on-bad=skip --bad-to none f.nay <(echo a x)
  [ ! -e none ] # no bad record, no file
  run -2 nay uniq -F' ' -k2 --bad-to missing/bad log
  run -2 nay uniq -F' ' -k2 --bad-to d log
}

@test "--bad-to of several files and streams, with their names; --state keeps what was printed" {
  log
  printf 'one\nd w\n' > other
  nay uniq -F' ' -k2 --bad-to bad --state s.nay log other > out 2> /dev/null
  [ "$(cat bad)" = $'log:2:bad\nlog:5:worse\nother:1:one' ]
  [ "$(cat out)" = $'a x\nbad\na y\nworse\nc z\none\nd w' ]
  [ "$(nay uniq -F' ' -k2 --state s.nay log other 2> /dev/null)" = $'bad\nworse\none' ]
  nay diff -n 9 -F' ' -k2 --on-bad=skip --bad-to both other log > /dev/null 2>&1
  [ "$(cat both)" = $'1:one\n2:bad\n5:worse' ]
  nay build -q -n 9 -p 1e-9 -o f.nay -e x -e y -e z -e w
  [ "$(nay verify --json --on-bad=skip -F' ' -k2 --keys log f.nay 2> /dev/null | jq -c '[.nkeys, .nmissing, .nbad, .ok]')" = '[4,0,2,true]' ]
  [ "$(nay verify --json -F' ' -k2 --keys log f.nay 2> /dev/null | jq -c '[.nkeys, .nmissing, .nbad, .ok]')" = '[4,0,2,false]' ]
}

@test "explain: bad records of --keys are reported, and the answer stands" {
  log
  nay build -q -n 9 -p 1e-9 -o f.nay -e x -e y
  run -2 --separate-stderr nay explain f.nay -F' ' -k2 --keys log -e x
  [[ $output == $'maybe\tx\n'*'it is one of the 4 keys' ]]
  [ "$stderr" = $'nay explain: log: line 2: the line has too few fields\nnay explain: log: line 5: the line has too few fields' ]
  run -0 --separate-stderr nay explain f.nay -F' ' -k2 --on-bad=skip --keys log -e x
  [[ $output == *'it is one of the 4 keys' ]]
  run -2 --separate-stderr nay explain f.nay -F' ' -k2 --on-bad=fail --keys log -e x
  [ -z "$output" ]
  run -2 --separate-stderr nay explain f.nay -F' ' -k2 --keys log --keys missing -e x # what cannot be read may have the key
  [ -z "$output" ]
  printf 'a b\n\0\n' > binary
  run -2 --separate-stderr nay explain f.nay -F' ' -k2 --keys binary -e x
  [[ -z $output && $stderr == *"binary is binary, not text"* ]]
}

@test "maps and tables: rows without a value, or with one that is no number" {
  printf 'a\t1\nb\nc\tx\nd\t4\n' > rows
  run -2 nay map build -q -o m.nay rows
  nay map build -q --check 16 --on-bad=skip --bad-to bad -o m.nay rows
  [ "$(cat bad)" = $'2:b\n3:c\tx' ]
  [ "$(nay map get -q m.nay a d)" = $'a\t1\nd\t4' ]
  [ "$(nay map build --json --check 16 --on-bad=skip -f -o m.nay rows 2> /dev/null | jq -c '[.nkeys, .nbad]')" = '[2,2]' ]
  run -2 nay map build -q --on-bad=line -f -o m.nay rows
  printf '1\ta\nx\tb\n3\tc\n' > rows
  nay sst build -q --key=int --on-bad=skip -o t.ldb rows
  [ "$(nay sst get -q --on-bad=skip t.ldb --keys <(printf '1\nx\n3\n'))" = $'1\ta\n3\tc' ]
  run -2 --separate-stderr nay sst get -q t.ldb --keys <(printf '1\nx\n3\n')
  [ "$output" = $'1\ta\n3\tc' ]
}

@test "a slow pipe: a bad line is passed on at once, and no thread waits for another" {
  mkfifo pipe
  nay uniq -F' ' -k2 < pipe > out 2> /dev/null &
  exec 9> pipe
  printf 'bad\n' >&9
  eventually grep -q bad out
  printf 'a x\nworse\n' >&9
  eventually grep -q worse out
  exec 9>&-
  wait $!
  [ "$(cat out)" = $'bad\na x\nworse' ]
}

@test "long records that are none, between short ones: every row once, in its order, with its line, by files and pipes" {
  python3 - <<'PY'
import random
random.seed(36)
rows, want = [], []
def good(n):
    for _ in range(n):
        i = len(rows)
        rows.append(f"{i},k{i}")
        want.append((i + 1, f"{i},k{i}"))
good(30000)
rows.append('x,"open')         # nothing closes it before the next quote, far away
good(60000)
rows.append('y,"' + "z" * 700000 + '"junk')
good(40000)
rows.append('w,"open to the end')
good(90000)
# a quote that is open takes what follows as its text until the next quote, which a bad row is not
open("rows", "w").write("\n".join(rows) + "\n")
open("want", "w").write("".join(f"{line}:{row}\n" for line, row in want))
PY
  nay build -q -n 9 -p 1e-9 -o f.nay -e none
  for t in 1 2; do
    nay check -T $t -v --line-number --csv -k 2 --on-bad=skip f.nay rows 2> err > got
    cmp want got
    grep -q '3 bad records skipped' err
    cat rows | nay check -T $t -v --line-number --csv -k 2 --on-bad=skip f.nay 2> err > got
    cmp want got
    (head -c 400000 rows; sleep 0.2; tail -c +400001 rows) | nay check -T $t -v --line-number --csv -k 2 --on-bad=skip f.nay 2> err > got
    cmp want got
    # a second file begins at its own line 1; -m ends the first one while much of it waits
    nay check -T $t -v -m 30001 --csv -k 2 --on-bad=skip f.nay rows rows 2> err > got
    [ "$(wc -l < got)" = 60002 ]
    [ "$(nay uniq -T $t -c -n 1M --csv -k 2 --on-bad=skip --stats --json rows 2>&1 > /dev/null | grep stats | jq -c '[.nlines,.nkeys,.nbad,.nbytes]')" = \
      "[220003,220000,3,$(wc -c < rows)]" ]
  done
  run -2 --separate-stderr nay check -v -c --csv -k 2 f.nay rows
  [ "$output" = 220000 ]
  many=$(seq -f 'argument-%06g' 16000 | sed 's/^/-e /') # more than the batches hold
  [ "$(nay check -v -c f.nay $many)" = 16000 ]
}

@test "--on-bad=line: the key of a whole record is made as every key is: trimmed, in lower case, without the CR of a row" {
  printf 'A  B\n  Bad \n' > log
  nay build -q -n 9 -p 1e-9 -F'  ' -k2 --trim --ignore-case --on-bad=line -o f.nay log
  [ "$(nay check -c f.nay -e b -e ' BAD' -e 'bad  ')" = 3 ]
  [ "$(nay check -F'  ' -k3 --on-bad=line f.nay <(printf '\tbaD\n'))" = $'\tbaD' ]
  printf '{"id":1}\r\nworse\r\n' | nay build -q -f -n 9 -p 1e-9 --jsonl -k id --on-bad=line -o f.nay
  [ "$(nay check -c f.nay -e 1 -e worse)" = 2 ]
  printf 'a,b\r\nworse\r\n' | nay build -q -f -n 9 -p 1e-9 --csv -k2 --on-bad=line -o f.nay
  [ "$(nay check -c f.nay -e b -e worse)" = 2 ]
  printf 'a\0worse\r\0' | nay build -q -f -0 -n 9 -p 1e-9 -F: -k1 --on-bad=line -o f.nay
  [ "$(nay check -c f.nay -e a -e $'worse\r')" = 2 ]
}

@test "rows of several lines that are refused: for their length, for a zero byte; lines after them keep their numbers" {
  printf 'k,v\n"1\n1\n1",long\n2,b\n"3\n\0",c\n4,d\n' > rows.csv
  nay uniq --csv -k v --on-bad=skip --max-record 8 --bad-to bad rows.csv > out 2> err
  printf 'k,v\n2,b\n4,d\n' | cmp - out
  printf '2:"1\n1\n1",long\n6:"3\n\0",c\n' | cmp - bad
  grep -q 'rows.csv: line 2: the record is longer' err
  nay build -q -n 9 -p 1e-9 -o f.nay -e d
  [ "$(nay check --line-number --csv -k v --on-bad=skip --max-record 8 f.nay rows.csv 2> /dev/null)" = $'1:k,v\n8:4,d' ]
}

lengths() { # each argument after its length
  local word
  for word; do printf '\\%03o\\000\\000\\000%s' ${#word} "$word"; done | xargs -0 printf
}

@test "a bad record with a length ends where it says: what follows it has its keys" {
  lengths 1 x 22 yyy 3 > rows
  nay build -q -n 9 -p 1e-9 --key=int --length-prefixed --on-bad=skip -o f.nay rows
  [ "$(nay check -c f.nay -e 1 -e 22 -e 3)" = 3 ]
  run -2 --separate-stderr nay check -c --length-prefixed f.nay rows
  [ "$output" = 3 ]
  [ "$(grep -c 'is not of type int' <<< "$stderr")" = 2 ]
  nay check -c --length-prefixed --on-bad=skip --bad-to bad f.nay rows 2> /dev/null
  cmp bad <(printf '2:' && lengths x && printf '4:' && lengths yyy)
  # --max-record counts the length, too
  [ "$(nay check -c --length-prefixed --on-bad=skip --max-record 5 f.nay rows 2> /dev/null)" = 2 ]
  # a length beyond the end: the rest is one bad record
  printf 'z\0\0\0rest' | cat rows - > cut
  [ "$(nay check -c --length-prefixed --on-bad=skip f.nay cut 2> /dev/null)" = 3 ]
}

@test "records of a file that was left, by -l and --max-count, take no message from those of the next" {
  printf 'a x\n1\n2\n3\n4\n5\n6\n' > first
  echo bad > second
  nay build -q -n 9 -p 1e-9 -o f.nay -e x
  for o in -l '--max-count 1'; do
    for t in 1 2; do
      run -2 --separate-stderr nay check $o -T $t -k2 f.nay first second
      [ "$stderr" = "nay check: second: line 1: the line has too few fields" ]
    done
  done
}

@test "a zero byte in a last line without an end is as bad as in any other" {
  nay build -q -n 9 -p 1e-9 -o f.nay -e x
  for o in '' -k1 --csv '-F ,'; do
    for text in 'x\na\0b' 'x\nb\0' 'x\n\0'; do
      run -0 --separate-stderr bash -c "printf '$text' | nay check $o -a --on-bad=pass f.nay | tr '\0' 0"
      [ "$output" = $'maybe\tx\nbad\t'"$(printf "${text#x\\n}" | tr '\0' 0)" ]
      [[ $stderr == *"standard input: line 2: the line has a zero byte" ]]
    done
  done
  # also when the line comes in pieces
  { printf 'x\na\0'; sleep 0.2; printf 'b'; sleep 0.2; printf 'c\nx\n'; } | nay check -c --on-bad=skip f.nay 2> err > out
  [ "$(cat out)" = 2 ]
  grep -q 'line 2: the line has a zero byte' err
}

@test "--skip-empty: elements of arrays one by one, and keys that --trim leaves nothing of" {
  printf '%s\n' '["","a"]' '["b",""]' '[""]' '["","",""]' '[" ","c"]' > rows
  nay build -q -n 9 -p 1e-9 --jsonl -k '[]' --skip-empty -o f.nay rows
  [ "$(nay check -c f.nay -e a -e b -e ' ' -e c)" = 4 ]
  run -1 nay check -q f.nay -e ''
  nay build -q -f -n 9 -p 1e-9 --jsonl -k '[]' --skip-empty --trim -o f.nay rows
  [ "$(nay check -c f.nay -e a -e b -e c)" = 3 ]
  run -1 nay check -q f.nay -e ' '
  [ "$(printf ' 1\n \n\n\t\n2 \n' | nay uniq -c --key=int --trim --skip-empty)" = 2 ]
}

@test "numbers of JSON whose text is longer than their line; numerics with exponents, many in a line" {
  printf '1e23\n1E-22\n"a"\n' > rows
  for o in --trim -i '--trim -i'; do
    nay build -q -f -n 9 -p 1e-9 --jsonl -k . $o -o f.nay rows
    [ "$(nay check -c f.nay -e 100000000000000000000000 -e 1e-22 -e a)" -ge 2 ]
    [ "$(nay check -c --jsonl -k . f.nay rows)" = 3 ]
  done
  line() { # $1 numbers of 131,072 digits
    yes 1e131071 | head -n "$1" | paste -sd, | sed 's/.*/[&]/'
  }
  line 20 > rows
  [ "$(nay uniq --jsonl -k '[]' --key=numeric -c rows)" = 1 ]
  { line 200; echo '[7]'; line 8000; } > rows
  run -0 --separate-stderr nay uniq --jsonl -k '[]' --key=numeric -c rows
  [ "$output" = 1 ]
  [[ $stderr == *"2 bad records "*"the keys of the line have more than 4 MiB" ]]
}
