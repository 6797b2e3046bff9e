#!/usr/bin/env bats
# range.bats - range filters: nay build -t range, nay check --ranges.
load common

@test "typed numbers: every range with a key is selected, ranges without one mostly not" {
  seq 1000 1000 200000 | nay build -q -t range --key=int --range-length 100 -o f.nay
  seq 1 200 | awk '{printf "%d\t%d\n", $1 * 1000 - 50, $1 * 1000 + 49}' >with
  seq 1 200 | awk '{printf "%d\t%d\n", $1 * 1000 + 100, $1 * 1000 + 199}' >without
  [ "$(nay check -c --ranges f.nay with)" -eq 200 ]
  [ "$(nay check -c --ranges f.nay without)" -lt 20 ]
  [ "$(nay check -c f.nay -e 1000 -e 0x3e8 -e 200000)" -eq 3 ]
}

@test "negative integers, floats, dates: in the order of their values" {
  printf '%s\n' -7 5 | nay build -q -t range --key=int --range-length 4 -o i.nay
  [ "$(printf -- '-9\t-6\n-6\t4\n4\t6\n' | nay check --ranges i.nay | wc -l)" -eq 2 ]
  printf '%s\n' -1.5 2.25 | nay build -q -t range --key=float --range-length 4 -o d.nay
  run nay check --ranges d.nay <<<$'-1.6\t-1.4'
  [ "$output" = $'-1.6\t-1.4' ]
  echo 2024-02-29 | nay build -q -t range --key=date --range-length 3 -o t.nay
  [ "$(printf '2024-02-27\t2024-03-01\n2025-01-01\t2025-01-03\n' | nay check -c --ranges t.nay)" -eq 1 ]
}

@test "text: the digits at the end are the number, behind one prefix" {
  for u in 1 2 3; do for n in 10 20 30; do echo "user:$u:order:$n"; done; done >keys
  nay build -q -t range --range-length 4 --range-delimiter : -o o.nay keys
  [ "$(nay check -c o.nay keys)" -eq 9 ]
  printf 'user:1:order:8\tuser:1:order:11\nuser:2:order:9\tuser:2:order:10\n' >with
  [ "$(nay check -c --ranges o.nay with)" -eq 2 ]
  run nay check -q --ranges o.nay <<<$'user:9:order:1\tuser:9:order:4'
  [ "$status" -eq 1 ]
  nay check -q --ranges o.nay <<<$'user:1:order:1\tuser:2:order:4' # two prefixes: in doubt, maybe
}

@test "what is refused, and says so" {
  seq 9 >keys
  run nay build -t range --range-length 5 --key=hex -o f.nay keys
  [[ "$output" == *"--range-keys"* ]]
  run nay build -t range --range-length 5 --key=int -o f.nay -e 9223372036854775808
  [ "$status" -eq 2 ]
  [[ "$output" == *"2^63 - 1"* ]]
  nay build -q -t range --range-length 5 --key=int -o f.nay keys
  run nay check --ranges f.nay <<<$'9\t3'
  [ "$status" -eq 2 ]
  [[ "$output" == *"the first end of the range is above the second"* ]]
  run nay check --ranges f.nay <<<$'x\t3'
  [ "$status" -eq 2 ]
  run nay check --ranges f.nay <<<$'3\tx'
  [ "$status" -eq 2 ]
  run nay check --key=int f.nay -e 5
  [ "$status" -eq 2 ]
  nay build -q -n 9 -o b.nay keys
  run nay check --ranges b.nay <<<$'1\t3'
  [[ "$output" == *"--ranges is for range filters"* ]]
  run nay build -t bloom --range-length 5 -o f2.nay keys
  [ "$status" -eq 2 ]
}

@test "info names an exact filter; filters of one plan merge, and a damaged one answers nothing" {
  seq 9 | nay build -q -t range --range-length 5 --key=int -o f.nay
  nay info f.nay | grep -q 'exact'
  seq 100 109 | nay build -q -t range -n 20 --range-length 5 --key=int -o a.nay
  seq 500 509 | nay build -q -t range -n 20 --range-length 5 --key=int -o b.nay
  nay merge -q -o ab.nay a.nay b.nay
  [ "$({ seq 100 109; seq 500 509; } | nay check -c ab.nay)" -eq 20 ]
  printf '\377' | dd of=ab.nay bs=1 seek=200 conv=notrunc status=none
  run nay check --ranges ab.nay <<<$'1\t3'
  [ "$status" -eq 3 ]
}

@test "check --ranges: columns, JSON lines, JSON with both ends" {
  seq 100 100 9000 | nay build -q -t range --key=int --range-length 50 -o h.nay
  [ "$(printf 'x,180,220\ny,181,190\n' | nay check --csv -k 2,3 --ranges h.nay)" = x,180,220 ]
  [ "$(printf 'x,220,180\n' | nay check --csv -k 3,2 --ranges h.nay)" = x,220,180 ]
  [ "$(printf 'a,lo,hi\nx,180,220\n' | nay check --csv -k lo,hi --ranges -c h.nay)" -eq 1 ]
  [ "$(printf 'x:180:220\n' | nay check -F: -k 2,3 --json --ranges h.nay)" = '{"first":"180","last":"220","maybe":true}' ]
  [ "$(printf ' x  180 \t220\n' | nay check -k 2,3 -c --ranges h.nay)" -eq 1 ]
  printf '{"a":{"lo":180},"hi":"220"}\n{"a":{"lo":"1\\u0038\\u0031"},"hi":"19\\u0030"}\n' > lines
  [ "$(nay check --jsonl -k a.lo,hi -a --json --ranges --line-number h.nay lines)" = \
'{"first":"180","last":"220","line":1,"maybe":true}
{"first":"181","last":"190","line":2,"maybe":false}' ]
  run -2 nay check --csv -k 2 --ranges h.nay <<< x,180,220
  [[ $output == *"-k names two columns"* ]]
  run -2 nay check --csv -k 2,2 --ranges h.nay <<< x,180,220
  run -2 nay check --jsonl -k lo --ranges h.nay <<< '{"lo":1}'
  [[ $output == *"-k names two fields"* ]]
}

@test "check --ranges: a record that is no range is a bad record" {
  seq 100 100 9000 | nay build -q -t range --key=int --range-length 50 -o h.nay
  printf '180\t220\n180\tb\nb\t180\n220\t180\n5\n280\t320\n' > ranges
  run -2 nay check --ranges h.nay ranges
  [ "$(nay check --ranges h.nay ranges 2>/dev/null)" = "$(printf '180\t220\n280\t320')" ]
  [[ $output == *"line 2: 'b' is not of type ordered-int"*"line 3: 'b' is not"*"line 4: the first end of the range is above the second"*"line 5: the line has too few fields"* ]]
  [ "$(nay check -q --ranges --on-bad=skip h.nay ranges 2>&1)" = "" ]
  run -0 nay check -c --ranges --on-bad=skip --bad-to bad h.nay ranges
  [ "$(wc -l < bad)" -eq 4 ]
  [ "$(nay check --ranges --on-bad=pass h.nay ranges 2>/dev/null)" = "$(cat ranges)" ]
  run -2 nay check --ranges --on-bad=line h.nay ranges
  run -2 nay check --ranges --on-bad=fail h.nay ranges
  [[ $output == *"180"*"220"*"line 2: 'b'"* ]]
  run -2 nay check --ranges h.nay <<< $'180\t220\r'
  [[ $output == *"--crlf drops the carriage return"* ]]
  [ "$(printf '180\t220\r\n' | nay check -c --ranges --crlf h.nay)" -eq 1 ]
}

@test "info --json, explain and plot: what a range filter is, and why it answers" {
  seq 1000 1000 200000 | nay build -q -t range --key=int --range-length 100 -o exact.nay
  seq 1 1000003 20000000000 | nay build -q -t range --key=int --range-length 100 -o f.nay
  [ "$(nay info --json exact.nay | jq -c '[.range_length, .range_exact, .range_shift]')" = "[100,true,0]" ]
  [ "$(nay info --json f.nay | jq -c '[.range_length, .range_exact, .range_shift]')" = "[100,false,0]" ]
  nay build -q -t blocked -n 5 -e a -o b.nay
  [ "$(nay info --json b.nay | jq 'has("range_length")')" = false ]
  for f in exact f; do
    for key in 1000 1001 1000004 1000005 200000 200001 -5; do
      nay check -q $f.nay -e "$key" && want=maybe || want=nay
      [ "$(nay explain $f.nay -e "$key" | head -1 | cut -f1)" = $want ]
    done
  done
  [[ $(nay explain exact.nay -e 1001) == *"its value 1 is not stored: certainly absent" ]]
  [[ $(nay explain exact.nay -e 2000) == *"its value 1000 is stored" ]]
  [ "$(nay explain --json exact.nay -e 2000 | jq -r '.steps[0].step')" = value ]
  [[ $(nay explain exact.nay -e 2000 --keys <(seq 1000 1000 3000)) == *" of 2000"* ]]
  [ "$(nay plot range f.nay --csv | grep -c ^range,)" -gt 20 ]
  nay plot range f.nay --csv | grep -q '^range,1,0.0001,'
  nay plot range -n 1e6 --range-length 100 -p 0.1% --csv | grep -q '^range,97,0.00097,'
  [[ $(nay plot range -b 20) == *"a range"* ]]
  run -2 nay plot range exact.nay
  [[ $output == *"exact: no false positive"* ]]
  run -2 nay plot range b.nay
  [[ $output == *"not a range filter"* ]]
  run -2 nay plot range f.nay -p 1%
  run -2 nay plot range -b 3
  run -2 nay plot range -t bloom
  run -2 nay plot fpr --range-length 5
}
