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
  run nay build -t range -o f.nay keys
  [ "$status" -eq 2 ]
  [[ "$output" == *"range_length is 0"* ]]
  run nay build -t range --range-length 5 --key=hex -o f.nay keys
  [[ "$output" == *"--range-keys"* ]]
  run nay build -t range --range-length 5 --key=int -o f.nay -e 9223372036854775808
  [ "$status" -eq 2 ]
  [[ "$output" == *"2^63 - 1"* ]]
  nay build -q -t range --range-length 5 --key=int -o f.nay keys
  run nay check --ranges f.nay <<<$'9\t3'
  [ "$status" -eq 2 ]
  [[ "$output" == *"the first end of a range is above the second"* ]]
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
