#!/usr/bin/env bats
# bench, plot, complete, man, help: made from the tables, and usable by other programs.
load common

commands() { nay help | sed -n 's/^  \([a-z]*\) .*/\1/p' | head -n 18; }

@test "bench: a table, CSV and JSON; the measured rate is the expected one" {
  run -0 nay bench -t blocked -n 20k
  [[ ${lines[1]} == "blocked "* ]]
  run -0 nay bench -n 20k --csv
  [ "${lines[0]}" = "kind,nkeys,bits_per_key,nbytes_memory,fpr_planned,fpr_measured,nabsent,build_ns,hit_ns,miss_ns,one_ns" ]
  nay bench -t bloom -n 20k --json | jq -e '.kind == "bloom" and .build_ns > 0 and .miss_ns > 0
    and .fpr_low <= .fpr_planned * 1.5 and .fpr_high >= .fpr_planned * 0.5'
}

@test "plot: characters in a pipe, SVG that parses on request" {
  run -0 nay plot size
  [[ ${lines[0]} == "Bits per key against FPR" ]]
  [[ $output == *"a lower bound  b bloom  c blocked"* ]]
  [[ $(LC_ALL=C.UTF-8 nay plot size) == *"⠶ blocked"* ]]
  nay plot fpr --svg | python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.stdin)'
  nay plot size -o size.svg
  python3 -c 'import xml.dom.minidom as m; m.parse("size.svg")'
  run -2 nay plot size -o size.svg
  seq 1000 | nay build -q -n 1000 -o f.nay
  run -0 nay plot fpr f.nay
  nay bench -n 1k --csv > table.csv
  run -0 nay plot bench table.csv
  [[ $output == *"blocked   build "* ]]
  nay plot bench --svg < table.csv | python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.stdin)'
  run -2 nay plot bench <<< nonsense
  run -2 nay plot szie
  [[ $output == *"did you mean size"* ]]
}

@test "help and manual exist for every command, with every option" {
  [ "$(commands | wc -l)" -eq 18 ]
  for command in $(commands); do
    nay help "$command" > h
    nay "$command" --help | cmp - h
    nay man "$command" > m
    grep -q '^.SH NAME' m && grep -q '^.SH OPTIONS' m
    for option in $(grep -oE -- '--[a-z-]+' h | grep -E -- '^--[a-z]' | sort -u); do
      sed 's/\\-/-/g' m | grep -q -- "$option"
    done
    [ "$(awk 'length > 110' h | wc -l)" -eq 0 ]
  done
  nay man | grep -q '^.SH EXIT STATUS'
  run -2 nay help nosuch
}

@test "the manual in doc/man is the one that the program writes (scripts/manual)" {
  source=${NAY_SOURCE:-$BATS_TEST_DIRNAME/../..}
  for command in $(commands); do
    nay man --markdown "$command" | diff "$source/doc/man/nay-$command.1.md" -
    nay man "$command" | diff "$source/doc/man/nay-$command.1" -
  done
  python3 "$source/tools/man3.py" | diff "$source/doc/man/libnay.3" -
  nay man --markdown | diff "$source/doc/man/nay.1.md" -
  nay man | diff "$source/doc/man/nay.1" -
}
