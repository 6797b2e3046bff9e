#!/usr/bin/env bats
# Windows by time: --window, --now, --time-column. No key is forgotten before its time; old ones go.
load common

@test "a log with times: a key is there for the window, and gone a seventh later, whatever the unit and the framing" {
  python3 - <<'PY'
import json, random
random.seed(29)
start, now = 1760000000, 1760000000
with open("log", "w") as fields, open("log.csv", "w") as rows, open("log.jsonl", "w") as lines, open("log.ms", "w") as ms:
    rows.write("at,user\n")
    for i in range(3000):
        now += random.choice((0, 0, 1, 30, 300))
        fields.write(f"x  k{i} {now} y\n")
        rows.write(f'"{now}","k{i}"\n')
        lines.write(json.dumps({"user": {"id": f"k{i}"}, "at": now * 1000 + 7}) + "\n")
        ms.write(f"k{i}|{now}{random.randrange(1000):03}\n")
        print(f"k{i} {now}", file=open("times", "a"))
PY
  nay build -q --window 1d -n 3000 -p 1e-9 -k 2 --time-column 3 -o w.nay log
  nay build -q --window 86400 -n 3000 -p 1e-9 --csv -k user --time-column at -o csv.nay log.csv
  nay build -q --window 24h -n 3000 -p 1e-9 --jsonl -k user.id --time-column at --time-unit ms -o json.nay log.jsonl
  nay build -q -T1 --window 1440m -n 3000 -p 1e-9 -F'|' --time-column 2 --time-unit ms -o ms.nay log.ms
  cmp w.nay csv.nay && cmp w.nay json.nay && cmp w.nay ms.nay
  # in two steps, and half of it through a filter that add makes
  head -n 1000 log | nay build -q --window 1d -n 3000 -p 1e-9 -k 2 --time-column 3 -o two.nay
  tail -n +1001 log | nay add -q -k 2 --time-column 3 two.nay
  cmp w.nay two.nay
  split -l 500 log part.
  for part in part.*; do nay add -q --create --window 1d -n 3000 -p 1e-9 -k 2 --time-column 3 many.nay $part; done
  cmp w.nay many.nay
  end=$(tail -n 1 times | cut -d' ' -f2)
  for now in $end $((end + 1000)) $((end + 40000)) $((end + 86400)) $((end + 90000)) $((end + 99000)) $((end + 200000)); do
    cut -d' ' -f1 times | nay check -a w.nay --now $now > answers || [ $now -gt $((end + 86400)) ]
    paste answers times | python3 -c "
import sys
kept = gone = 0
for line in sys.stdin:
    answer, _, timed = line.split('\t')
    age = $now - int(timed.split()[1])
    assert answer == 'maybe' or age > 86400, ('forgotten too early', line, age)
    assert answer == 'nay' or age <= 86400 * 8 / 7 + 1, ('kept too long', line, age)
"
  done
  cmp w.nay two.nay # check changes nothing
}

@test "times: seconds, fractions, timestamps with zones, dates; what is none is a bad record" {
  at() { # the time of the only key, by the last moment it is kept for
    printf '%s\tkey\n' "$1" | nay build -q -f --window 7s -n 10 -p 1e-9 --tsv -k 2 --time-column 1 --time-unit "${2:-s}" -o w.nay
    nay info --json w.nay > /dev/null
    nay check -q w.nay -e key --now 1767225607 && ! nay check -q w.nay -e key --now 1767225609
  }
  at 1767225600; at 1767225600.999; at 1767225600123 ms; at 1767225600123456 us; at 1767225600123456789 ns
  at 2026-01-01; at 2026-01-01T00:00:00Z; at '2026-01-01 01:30:00.123456789+01:30'; at 2025-12-31T23:00:00,5-01
  for wrong in '' x -1 1e9 0x10 1969-12-31 infinity '2026-13-01' '2026-01-01T25:00' '99999999999999999999' '1.2.3' ' 5' \
    "$(printf '9%.0s' {1..90})"; do
    run -2 nay build -n 10 --window 7s --tsv -k 2 --time-column 1 -o new.nay < <(printf '%s\tkey\n' "$wrong")
    [[ $output == *"standard input: line 1: '"*"' is no time" ]]
    [ ! -e new.nay ]
    run -0 --separate-stderr nay build -q -f -n 10 --window 7s --tsv -k 2 --time-column 1 --on-bad=skip --bad-to bad -o new.nay \
      < <(printf '5\tgood\n%s\tkey\n6\tlast\n' "$wrong")
    [ "$(cat bad)" = "2:$wrong"$'\tkey' ]
    rm bad new.nay
  done
  # a time in the future would make the filter forget everything: it is bad, too
  run -2 nay build -n 10 --window 7s --tsv -k 2 --time-column 1 --now 100 -o new.nay < <(printf '101\tkey\n')
  [ "$output" = "nay build: standard input: line 1: '101' is later than --now" ]
  run -2 nay build -n 10 --window 7s --tsv -k 2 --time-column 1 -o new.nay < <(printf '99999999999\tkey\n')
  [[ $output == *"is later than --now" ]]
}

@test "keys that come late are kept longer, never shorter, and said to be" {
  run -0 nay build --window 100s -n 10 -p 1e-9 --tsv -k 2 --time-column 1 -o w.nay < <(printf '1000\ta\n950\tb\n999\tc\n1001\td\n')
  [ "${lines[0]}" = 'nay build: 2 keys came after later ones, by up to 50 s: taken at the time of those, so kept longer' ]
  [ "$(nay check -c w.nay -e a -e b -e c -e d --now 1050)" = 4 ]
  [ "$(nay check -c w.nay -e a -e b -e c -e d --now 1100)" = 4 ]
  run -1 nay check -c w.nay -e a -e b -e c -e d --now 1200
}

@test "the clock: the system's, --now, never back; a file that is not by time" {
  nay build -q --window 1h -n 10 -p 1e-9 -o w.nay -e a
  nay check -q w.nay -e a --now now
  nay check -q w.nay -e a
  run -1 nay check -q w.nay -e a --now 2100-01-01
  nay build -q -f --window 1h --now 2026-01-01 -n 10 -p 1e-9 -o w.nay -e a
  [[ $(nay info w.nay) == *$'\n  window     3,600 ticks; clock at 1767225600, in seconds 2026-01-01T00:00:00Z\n'* ]]
  [ "$(nay info --json w.nay | jq -c '[.window,.clock]')" = '[3600,1767225600]' ]
  run -2 nay check w.nay -e a --now 2025-12-31T23:59:59Z
  [ "$output" = 'nay check: w.nay: its clock is at 2026-01-01T00:00:00Z, and cannot go back to 2025-12-31T23:59:59Z' ]
  before=$(cksum < w.nay)
  run -2 nay add w.nay -e b --now 2025-12-31
  [ "$(cksum < w.nay)" = "$before" ]
  run -2 nay add w.nay --now 2025-12-31 --tsv -k 2 --time-column 1 < <(printf '2025-12-30\tb\n')
  [ "$(cksum < w.nay)" = "$before" ]
  nay add -q w.nay -e b --now 2026-01-01T00:30:00Z
  [ "$(nay check w.nay -e a -e b --now 2026-01-01T01:15:00Z)" = b ]
  run -0 nay add w.nay -e c
  [ "${lines[0]}" = 'nay add: w.nay: its clock stands still without --now or --time-column: nothing is forgotten' ]
  # adds with a column move the clock to --now at the end
  nay add -q w.nay --now 2026-01-02 --tsv -k 2 --time-column 1 < <(printf '2026-01-01T12:00:00Z\td\n')
  run -1 nay check -c w.nay -e a -e b -e c -e d
  [ "$output" = 0 ]
  for other in '-t blocked -n 10' '-t window -n 10'; do
    nay build -q -f $other -o x.nay -e a
    [ "$(nay info --json x.nay | jq -c '[.window,.clock]')" = '[null,null]' ]
    run -2 nay check x.nay --now now -e a
    [ "$output" = 'nay check: x.nay is no window by time, and has no clock: --window makes one' ]
    run -2 nay add x.nay --now now -e a
  done
}

@test "options that contradict each other" {
  refused() { # text, command line
    run -2 nay "${@:2}"
    [[ $output == *"$1"* ]]
    [ ! -e new.nay ]
  }
  refused 'give --window too' build -n 10 --now now -o new.nay -e a
  refused 'needs -n' build --window 1h -o new.nay -e a
  refused 'forgets nothing: omit -t' build --window 1h -n 10 -t bloom -o new.nay -e a
  refused 'is not a time such as' build --window x -n 10 -o new.nay -e a
  refused 'is no time' build --window 1h --now x -n 10 -o new.nay -e a
  refused 'needs --time-column' build --window 1h --time-unit ms -n 10 -o new.nay -e a
  refused 'is for fields' build --window 1h --time-column 2 -n 10 -o new.nay
  refused 'and -e gives the keys' build --window 1h --tsv --time-column 2 -n 10 -o new.nay -e a
  refused 'the same column' build --window 1h --csv --time-column 1 -n 10 -o new.nay
  refused 'without a time cannot be added' build --window 1h --csv --time-column 2 --on-bad=line -n 10 -o new.nay
  refused '--create makes one' add --window 1h new.nay -e a
  printf 'at,k\n1,a\n' > rows
  refused 'has no column' build --window 1h --csv -k k --time-column no -n 10 -o new.nay rows
  nay add -q --create --window 1h --now 100 -n 10 w.nay -e a
  nay add -q --create --window 60m --now 101 -n 10 w.nay -e b
  refused '--window: w.nay exists' add --create --window 2h --now 102 -n 10 w.nay -e b
  seq 100 199 | nay sst build -q -o t.ldb
  refused '--now is for windows by time, not for tables' check t.ldb --now now -e 100
}

@test "maps from JSON lines: a field is the value; also the ends of ranges" {
  printf '{"k":"a","v":1e3}\n{"v":"0x1f","k":"b"}\n{"k":7,"v":0}\n' > rows
  nay map build -q --jsonl -k k --value v -o m.map rows
  [ "$(nay map get m.map a b 7)" = $'a\t1000\nb\t31\n7\t0' ]
  nay map verify -q m.map --jsonl -k k --value v --keys rows
  nay map build -q -f --jsonl -k k,v -o two.map rows
  cmp m.map two.map
  run -2 nay map build --jsonl -k k -o x.map rows
  [ "$output" = 'nay map: --jsonl: a second field is the value: -k key,value' ]
  printf '{"k":"a","v":"x"}\n{"k":"b"}\n{"k":"c","v":-1}\n{"k":"d","v":1.5}\n{"k":"e","v":5}\n' > bad
  run -2 nay map build --jsonl -k k --value v -o x.map bad
  [[ $output == *"bad: line 1: 'x' is not a number"* ]]
  run -0 --separate-stderr nay map build -q --jsonl -k k --value v --on-bad=skip -o x.map bad
  [ "$(nay map get -c x.map e)" = 1 ]
  seq 100 100 900 | nay build -q -t range --key=int --range-length 50 -p 1e-6 -o r.nay
  printf '{"from":101,"to":140}\n{"to":2.2e2,"from":"180"}\n' > ranges
  [ "$(nay check --ranges --jsonl -k from,to r.nay ranges)" = '{"to":2.2e2,"from":"180"}' ]
}
