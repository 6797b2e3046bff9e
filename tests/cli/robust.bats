#!/usr/bin/env bats
# What must hold when things go wrong: killed at random moments, a full disk, nonsense as arguments.
load common

# old_or_new FILE OLD NEW: a whole file, never a mixture.
old_or_new() { cmp -s "$1" "$2" || cmp -s "$1" "$3"; }

@test "kill -9 at 100 random moments of build -o: the old file or the new one" {
  seq 1 20000 | nay build -q -n 2M -p 1% -o old.nay
  seq 20001 40000 > keys
  nay build -q -n 2M -p 1% -o new.nay keys
  cp old.nay f.nay
  new=0
  for i in $(seq 100); do
    nay build -q -f -n 2M -p 1% -o f.nay keys &
    pid=$!
    sleep "0.0$((RANDOM % 30 + 10))"
    kill -9 $pid 2> /dev/null || true
    wait $pid 2> /dev/null || true
    old_or_new f.nay old.nay new.nay
    if cmp -s f.nay new.nay; then new=$((new + 1)); cp old.nay f.nay; fi
  done
  echo "# $new of 100 finished before they were killed" >&3
}

@test "kill -9 at 100 random moments of add in place: the old filter or the new one" {
  seq 1 20000 | nay build -q -n 2M -p 1% -o old.nay
  seq 20001 40000 > keys
  nay add -q old.nay keys -o new.nay
  cp old.nay f.nay
  for i in $(seq 100); do
    nay add -q f.nay keys &
    pid=$!
    sleep "0.0$((RANDOM % 30 + 10))"
    kill -9 $pid 2> /dev/null || true
    wait $pid 2> /dev/null || true
    old_or_new f.nay old.nay new.nay
    cp old.nay f.nay
  done
}

@test "a full disk: status 2, the old file stays, no temporary file" {
  [ "$(id -u)" -eq 0 ] || skip "needs root for a small tmpfs"
  mkdir small
  mount -t tmpfs -o size=256k tmpfs small 2> /dev/null || skip "cannot mount a tmpfs here"
  failed=0
  {
    seq 10 | nay build -q -n 10 -o small/f.nay &&
      cp small/f.nay before &&
      run -2 nay build -f -n 1M -o small/f.nay <<< x &&
      [ "$output" = "nay build: cannot write small/f.nay: No space left on device" ] &&
      cmp small/f.nay before &&
      [ "$(find small -type f | wc -l)" -eq 1 ] &&
      run -2 bash -c 'seq 100000 | nay uniq -n 100k > small/lines' &&
      [[ $output == *"cannot write to standard output: No space left on device" ]]
  } || failed=1
  umount small
  [ "$failed" -eq 0 ]
}

@test "2000 command lines of nonsense: an exit status of 0 to 3, never a crash or a hang" {
  seq 100 | nay build -q -n 100 -o f.nay
  seq -w 100 | nay sst build -q -o t.ldb
  python3 - <<'PY'
import random, subprocess
random.seed(11)
commands = ("plan build check info verify add remove merge fold convert uniq diff common plot complete "
            "man help version query insert show sst --version nonsense -h --").split()
words = ["-n", "-p", "-b", "-M", "-t", "-o", "-f", "-v", "-c", "-q", "-a", "-0", "-k", "-d", "-T", "-h", "-",
         "--", "--csv", "--tsv", "--key=hex", "--key=u64le", "--length-prefixed", "--json", "--prom",
         "--format", "leveldb", "nay", "lab", "--to", "--keys", "--absent", "--random", "--need", "delete",
         "static", "--any", "--all", "--which", "--exact", "--window", "--state", "--intersect", "--factor",
         "--max-fpr", "f.nay", "f.nay", "keys", "missing", ".", "10", "1e3", "1%", "0.5", "1/256", "-1", "1e999",
         "blocked", "bloom", "auto", "", "\xff", "--nkeys=", "--fpr=2", "x" * 300, "--no-measure", "--svg",
         "size", "rate", "bash", "--crlf", "--header", "--delimiter", ";", "--skip-empty", "--seed", "random",
         "--meta", "note", "-e", "-F", "::", "2,1", "3-", "--create", "--max-count", "--line-number", "--invert-match", "--older",
         "--key=int", "--key=numeric", "--key=date", "2024-02-29", "1e131071", "get", "t.ldb", "--secret", "--color=always", "--progress=never", "--fold", "--probes", "64"]
open("keys", "w").write("1\n2\n3\n")
golden = open("f.nay", "rb").read()
for i in range(2000):
    line = [random.choice(commands)] + [random.choice(words) for _ in range(random.randrange(9))]
    line += ["--no-measure"] if line[0] == "plan" else []
    try:
        done = subprocess.run(["nay"] + line, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"hangs: nay {line}")
    if not 0 <= done.returncode <= 3:
        raise SystemExit(f"status {done.returncode}: nay {line}\n{done.stderr[-500:]!r}")
    if done.returncode == 2 and not done.stderr:
        raise SystemExit(f"status 2 without a word: nay {line}")
    if open("f.nay", "rb").read() != golden:
        open("f.nay", "wb").write(golden)
PY
}

@test "1000 mutated filters: refused or read, never a crash, and never a false nay" {
  seq 200 > keys
  python3 - <<'PY'
import random, subprocess
random.seed(12)
def nay(*line):
    return subprocess.run(["nay", *line], capture_output=True, timeout=120)
formats = [(), ("--format", "leveldb"), ("--format", "mini-lsm"), ("--format", "nori"), ("--format", "lab")]
for i in range(1000):
    form = formats[i % len(formats)]
    if i < len(formats):
        assert nay("build", "-q", "-n", "200", "-b", "12", *form, "-o", f"f{i}", "keys").returncode == 0
    data = bytearray(open(f"f{i % len(formats)}", "rb").read())
    for _ in range(random.randrange(1, 4)):
        what = random.randrange(3)
        at = random.randrange(len(data))
        if what == 0: data[at] ^= 1 << random.randrange(8)
        elif what == 1: del data[at:at + random.randrange(1, 50)]
        else: data[at:at] = bytes(random.randrange(256) for _ in range(random.randrange(1, 20)))
        if not data: break
    open("m", "wb").write(data)
    for command in (("check", "-c", *form, "m", "keys"), ("info", *form, "m"), ("verify", *form, "m")):
        done = nay(*command)
        assert 0 <= done.returncode <= 3, (command, done)
        if not form:
            assert done.returncode == 3, (command, done)
PY
}
