#!/usr/bin/env bats
# What can follow a command line: nay complete list, which the completions of all shells ask (test_completions.py).
load common

commands() { nay help | sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' | grep -vx nay; }
offers() { nay complete list -- "$@" | cut -f 1; }
has() { offers "${@:2}" | grep -qxF -- "$1"; } # candidate word...
aliases() { nay help | sed -nE 's/^Other names: //p' | grep -oE '[a-z]+ for' | cut -d' ' -f 1; }
long_options() { nay help "$1" | sed '/^Examples/,$d' | sed -nE 's/^(  -., |      )--([a-z-]+).*/--\2/p' | sort; }

@test "every command, and what the program itself takes" {
  [ "$(offers '' | grep -v '^-' | sort | paste -sd' ')" = "$( (commands; aliases) | sort | paste -sd' ')" ]
  [ "$(offers -- | paste -sd' ')" = "--help --version" ]
  [ -n "$(aliases)" ]
  for alias in $(aliases); do [ "$(offers "$alias" --)" = "$(nay help "$alias" | head -n 1 | cut -d' ' -f 2 | xargs -I{} nay complete list -- {} -- | cut -f 1)" ]; done
  for command in help man; do
    [ "$(offers $command '' | sort)" = "$( (commands; aliases) | sort)" ]
    [ -z "$(offers $command check '')" ]
  done
  [ -z "$(offers nonsense '')" ]
}

@test "every command: all its options, with = when they take a value, as help has them" {
  for command in $(commands); do
    [ "$(offers "$command" -- | tr -d = | sort)" = "$(long_options "$command")" ] || { echo "$command"; return 1; }
    for option in $(offers "$command" --); do
      if [ "${option%=}" = "$option" ]; then continue; fi
      nay help "$command" | grep -q -- "$option[A-Z]" || { echo "$command $option"; return 1; }
    done
  done
}

@test "every option that takes one of several words offers each, and the program takes it" {
  checked=0
  for command in $(commands); do
    for option in $(offers "$command" -- | grep '=$'); do
      for value in $(nay complete list -- "$command" "$option" | cut -f 1 | grep -v '^:'); do
        nay "$command" "$value" --help > /dev/null
        checked=$((checked + 1))
      done
    done
  done
  [ "$checked" -gt 200 ]
}

@test "options of other verbs are not offered, and are refused; the others are offered" {
  for command in sst map plot; do
    for verb in $(offers $command ''); do
      for option in $(offers $command -- | grep -v '^--help$'); do
        case $option in
          --fpr= | --bits=) value=${option}0.5 ;;
          --type= | --format= | --filter= | --compress= | --key= | --on-bad= | --range-keys= | --time-unit= | --color= | --progress=) value=$(offers $command "$option" | head -n 1) ;;
          *=) value=${option}1 ;;
          *) value=$option ;;
        esac
        # only whether it belongs there is of interest; the rest of the line is wrong on purpose
        refused=$(nay $command "$verb" "$value" missing/a < /dev/null 2>&1 | grep -c "is not for 'nay $command $verb'") || true
        offered=$(offers $command "$verb" "${option%=}" | grep -cx -- "$option") || true
        [ $((refused + offered)) -eq 1 ] || { echo "$command $verb $option: refused $refused, offered $offered"; return 1; }
      done
    done
  done
}

@test "an option is offered once, unless it may be repeated" {
  run ! has --json info --json --
  has --json info --js
  run ! has --nkeys= build -n 5 --
  run ! has --nkeys= build --nk=5 --
  has --keys= check --keys a --keys=b --
  has --element= check -e a --element b --
  has --need= plan --need merge --
}

@test "values: as the next word, after =, behind the letter, in lists" {
  [ "$(offers build -t blo | paste -sd' ')" = "bloom blocked" ]
  [ "$(offers build -tblo | paste -sd' ')" = "-tbloom -tblocked" ]
  [ "$(offers build -qtblo | paste -sd' ')" = "-qtbloom -qtblocked" ]
  [ "$(offers build -qt blo | paste -sd' ')" = "bloom blocked" ]
  [ "$(offers build --ty=blo | paste -sd' ')" = "--ty=bloom --ty=blocked" ]
  [ "$(offers plan --need delete,merge, | paste -sd' ')" = "delete,merge,grow delete,merge,expire delete,merge,count delete,merge,static" ]
  [ "$(offers plan --need=delete,s)" = "--need=delete,static" ]
  [ "$(offers bench -t bloom,cu)" = bloom,cuckoo ]
  run ! has bloom,auto bench -t bloom,
  run ! has bloom,bloom bench -t bloom,
  has timestamp build --key ti
  [ "$(offers build --seed '')" = random ]
  [ "$(offers check --secret '')" = :files ]
  [ "$(offers check --secret=x)" = :files--secret= ]
  for line in "build -n" "build -p" "plan -M" "sst scan --from"; do
    # shellcheck disable=SC2086
    [ -z "$(offers $line '')" ]
  done
}

@test "operands: verbs, then files as the synopsis has them, and no more than it has" {
  [ "$(offers sst '' | paste -sd' ')" = "build get scan info compact" ]
  [ "$(offers plot '' | paste -sd' ')" = "fpr k bits size range bench" ]
  for line in "check" "check -q f" "check f g" "check -- -f" "diff" "diff a" "sst build" "sst get" "sst info a" "sst scan t" "map get" "map build a" "sst compact a b" "query f" "add -e k" "merge a b c" \
    "plot fpr" "list build" "list check l" "list delta a b" "list build --universe" "convert --to leveldb" "uniq -t bloom" "check -"; do
    # shellcheck disable=SC2086
    [ "$(offers $line '')" = :files ] || { echo "$line"; return 1; }
  done
  for line in "plan" "bench" "diff a b" "plot size" "plot fpr f" "sst get t" "map get m" "map verify m" "check f -e k" "check -ek f" "version" "convert --to leveldb f" "fold f" "help check" \
    "complete bash" "complete list"; do
    # shellcheck disable=SC2086
    [ -z "$(offers $line '')" ] || { echo "$line"; return 1; }
  done
  [ "$(offers check -- --js)" = :files ] # after -- it is a file
}

@test "each synopsis can be read: its operands are those that are checked" {
  for command in $(commands); do
    words=$(nay man --markdown "$command" | sed -n 's/^`nay [a-z]* \[options\] *//p' | tr -s ' []|.' '\n' | grep -E '^[A-Z]+$' || true)
    for word in $words; do
      case $word in
        A | B | FILE | FILTER | KEYFILE | TABLE | MAP | LIST | LISTED | DELTA | NOW | COMMAND | KEY | WORD) ;;
        COUNT | FPR | BITS | SIZE | NAME | COLUMN | VALUE) ;; # of options
        *) echo "$command: $word"; return 1 ;;
      esac
    done
  done
}

@test "500 lines of nonsense: candidates start with the last word and are there once" {
  python3 - <<'PY'
import random, subprocess
random.seed(7)
words = ("plan build check sst get scan plot fpr size complete list bash help -t -n --type --type= --type=blo --need=delete, "
         "--need --key= --color a b - -- --- -qt -qtblo --json -x --n --=x -= = : ~ f.nay --keys --filter=").split()
words += ["", " ", "\t", "x" * 700, "--" + "x" * 700, "--type=" + "x" * 700, "--need=" + "delete," * 100, "\xff", "%s%n", "a b"]
for _ in range(500):
    line = [random.choice(words) for _ in range(random.randrange(1, 7))]
    done = subprocess.run(["nay", "complete", "list", "--", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and not done.stderr, (line, done)
    offered = [row.split(b"\t")[0] for row in done.stdout.splitlines()]
    assert len(offered) == len(set(offered)), (line, offered)
    for word in offered:
        assert word.startswith((b":files", line[-1].encode())), (line, word)
PY
}

@test "the scripts of the shells are theirs; other operands are refused" {
  bash -n <(nay complete bash)
  if command -v zsh > /dev/null; then zsh -n <(nay complete zsh); fi
  if command -v fish > /dev/null; then fish -n <(nay complete fish); fi
  run -2 nay complete tcsh
  run -2 nay complete bash zsh
  run -0 nay complete list
  [ -z "$output" ]
}
