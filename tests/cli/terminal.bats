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
  : > plain.txt
}

# resize COLUMNS: another width, known to programs that start now.
resize() {
  $screen resize-window -x "$1" -y 40
  $screen send-keys 'clear; stty size' Enter
  shows "^40 $1\$"
}

teardown() { [ -z "${screen:-}" ] || $screen kill-server 2> /dev/null || true; }

# types TEXT: types a command and waits until it has ended; the screen may still show the end of the one before.
types() {
  ntyped=$((${ntyped:-0} + 1))
  $screen send-keys "$1; echo en''d-$ntyped" Enter
  shows "^end-$ntyped\$"
}
# shows PATTERN: waits until the screen shows it.
shows() {
  for _ in $(seq 1200); do # a minute, on a machine that has other things to do
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
  mkfifo more
  $screen send-keys 'nay uniq -n 100k -c < more; echo en""d' Enter
  exec 7> more
  until grep -qE '[0-9] keys, .* keys/s' plain.txt; do
    seq 100000 >&7
    $screen capture-pane -p > plain.txt
  done
  exec 7>&-
  shows '^end$'
  grep -qE 'keys/s' plain.txt && false
  grep -qx 100000 plain.txt
}

@test "progress knows the size of a file and how long it will take" {
  seq 4000000 > keys
  types 'clear; nay build -T 1 -q --progress=always -n 4M -p 1e-9 -t bloom -o f.nay keys 2> err'
  [ ! -s err ] || tr '\r' '\n' < err | grep -qE '\[[#-]{20}\] +[0-9]+%  .* keys, .* left'
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
  grep -qF 'refusing to write binary data to the terminal; use -o FILE, or -f' plain.txt
  grep -qx 'status 2' plain.txt
}

@test "reading from the terminal says so, and Ctrl-D ends it" {
  seq 10 | nay build -q -n 10 -p 1e-6 -o f.nay
  $screen send-keys 'clear; nay check f.nay; echo en""d' Enter
  shows 'reading keys from the terminal, one per line; end with Ctrl-D'
  $screen send-keys '7' Enter
  shows '^7$'
  $screen send-keys C-d
  shows '^end$'
}

@test "no progress between typed lines, unless it is asked for" {
  $screen send-keys 'clear; nay uniq -n 100; echo en""d' Enter
  shows 'end with Ctrl-D'
  for word in one one one; do # half a second after the start the next key would show it
    sleep 0.6
    $screen send-keys "$word" Enter
  done
  $screen send-keys 'last' Enter
  [ "$(shows 'last' && grep -cE '[0-9] keys?' plain.txt)" = 0 ]
  $screen send-keys C-d
  shows '^end$'
  [ "$(grep -cE '[0-9] keys?' plain.txt)" = 0 ]
  $screen send-keys 'clear; nay uniq --progress=always -n 100; echo en""d' Enter
  shows 'end with Ctrl-D'
  until grep -qE '[0-9] keys?' plain.txt; do
    $screen send-keys one Enter
    $screen capture-pane -p > plain.txt
  done
  $screen send-keys C-d
  shows '^end$'
}

@test "Ctrl-C ends it with status 130" {
  types 'clear; trap : INT'
  $screen send-keys 'nay uniq; echo status $?' Enter
  shows 'end with Ctrl-D'
  $screen send-keys C-c
  shows '^status 130$'
}

# The program has shown its line when its input goes on: `more` is a pipe that the test writes to.
@test "the line of progress is erased before output, and cut to the width" {
  for width in 20 40 80; do
    resize $width
    rm -f more; mkfifo more
    $screen send-keys 'clear; nay uniq --progress=always -T 1 -n 1k - < more; echo en""d' Enter
    exec 7> more
    echo hello >&7
    shows '^hello$'
    # a line that was said before adds one key each time, until half a second has passed and it shows
    until grep -qE '^ *[0-9]+ keys?' plain.txt; do
      echo hello >&7
      $screen capture-pane -p > plain.txt
    done
    [ "$(grep -cE '[0-9] key' plain.txt)" = 1 ]
    [ "$(grep -E '[0-9] key' plain.txt | tr -d '\n' | wc -m)" -lt $width ]
    grep -qE '(^|[^0-9])1 keys' plain.txt && false
    echo world >&7
    shows '^world$'
    exec 7>&-
    shows '^end$'
    [ "$(grep -v '^>' plain.txt | grep -v '^$' | tail -n 3)" = $'hello\nworld\nend' ]
  done
}

@test "progress of a file whose size is known fits the width as well" {
  seq 2000000 > keys
  cat > widths.py <<'PY'
import fcntl, os, pty, re, signal, struct, subprocess, sys, termios
for width in 10, 20, 40, 80, 200:
    lines = []
    while not any("%" in line for line in lines):  # asked for too late: once more
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        job = subprocess.Popen(["nay", "uniq", "-c", "--progress=always", "-T", "1", "-n", "2M", "keys"],
                               stdout=subprocess.DEVNULL, stderr=side)
        os.close(side)
        text = b""
        while True:
            if job.poll() is None and b"%" not in text:
                job.send_signal(signal.SIGUSR1)
                os.sched_yield()
            elif job.poll() is None:
                job.wait()
            os.set_blocking(main, False)
            try:
                more = os.read(main, 65536)
            except BlockingIOError:
                continue
            except OSError:
                break
            text += more
        os.close(main)
        assert job.wait() in (0, -signal.SIGUSR1), job.returncode  # before it listens the signal kills
        lines = [line.replace("\x1b[K", "") for line in text.decode().replace("\n", "\r").split("\r")]
    assert all(len(line) < width for line in lines), (width, lines)
    shown = [line for line in lines if "%" in line][0]
    assert ("[" in shown) == (width > 60), (width, shown)
PY
  python3 widths.py
}
