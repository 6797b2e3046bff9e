#!/usr/bin/env bats
# On a real terminal (tmux): colour, progress, escaped keys, refused binary.
load common

setup() {
  cd "$BATS_TEST_TMPDIR" || exit 1
  command -v tmux > /dev/null || skip "no tmux"
  screen="tmux -S $BATS_TEST_TMPDIR/socket"
  export LC_ALL=C.UTF-8
  $screen -f /dev/null new-session -d -x 100 -y 40 "env PATH=$PATH TERM=screen-256color bash --norc --noprofile" ||
    skip "no pseudo-terminals here"
  $screen send-keys 'PS1="> "; clear' Enter
}

teardown() { [ -z "${screen:-}" ] || $screen kill-server 2> /dev/null || true; }

# types TEXT: types a command and waits until it has ended.
types() {
  $screen send-keys "$1; echo en''d" Enter
  shows '^end$'
}
# shows PATTERN: waits until the screen shows it.
shows() {
  for _ in $(seq 200); do
    $screen capture-pane -p -e > screen.txt
    sed 's/\x1b\[[0-9;]*m//g' screen.txt > plain.txt
    grep -qE "$1" plain.txt && return 0
    sleep 0.05
  done
  cat plain.txt
  return 1
}

@test "colour and block characters on a terminal; NO_COLOR is obeyed" {
  seq 1000 | nay build -q -n 1000 -o f.nay
  types 'nay info f.nay'
  grep -q $'\e\[' screen.txt
  grep -q '█░' plain.txt
  types 'clear; NO_COLOR=1 nay info f.nay'
  grep -qE $'\e\\[(1|2|32)m' screen.txt && false
  types 'clear; nay plot size'
  grep -q '⠶ blocked' plain.txt
}

@test "progress after half a second, and it is gone at the end" {
  $screen send-keys '{ seq 100000; sleep 1; seq 100000; sleep 2; } | nay uniq -n 100k -c; echo en""d' Enter
  shows '[0-9] keys, .* M keys/s'
  shows '^end$'
  grep -qE 'keys/s' plain.txt && false
  grep -qx 100000 plain.txt
}

@test "progress knows the size of a file and how long it will take" {
  seq 4000000 > keys
  types 'clear; nay build -T 1 -q --progress=always -n 4M -p 1e-9 -t bloom -o f.nay keys 2> err'
  [ ! -s err ] || tr '\r' '\n' < err | grep -qE '\[[#-]{20}\] +[0-9]+ %  .* keys, .* left'
}

@test "keys cannot steer the terminal" {
  printf 'a\033[31mred\nplain\n\302\233x\nb\377\n' > keys
  nay build -q -n 10 -o f.nay keys
  types 'clear; nay check f.nay keys'
  grep -qF 'a\x1b[31mred' plain.txt
  grep -qF '\xc2\x9bx' plain.txt
  grep -qF 'b\xff' plain.txt
}

@test "a filter is not written to the terminal" {
  types 'clear; seq 10 | nay build -n 10; echo status $?'
  grep -qF 'will not write a filter to the terminal; use -o FILE, or -f' plain.txt
  grep -qx 'status 2' plain.txt
}

@test "reading from the terminal says so, and Ctrl-D ends it" {
  seq 10 | nay build -q -n 10 -p 1e-6 -o f.nay
  $screen send-keys 'clear; nay check f.nay; echo en""d' Enter
  shows 'reading keys from the terminal, one on each line; Ctrl-D ends them'
  $screen send-keys '7' Enter
  shows '^7$'
  $screen send-keys C-d
  shows '^end$'
}

@test "Ctrl-C ends it with status 130" {
  types 'clear; trap : INT'
  $screen send-keys 'nay uniq; echo status $?' Enter
  shows 'Ctrl-D ends them'
  $screen send-keys C-c
  shows '^status 130$'
}
