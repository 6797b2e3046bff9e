#!/usr/bin/env python3
"""The completions in real shells: what bash, zsh and fish offer for a line that a user typed so far.

bash and zsh run on a terminal of their own. A key replaces the last word by everything that it can become; then a
function in front of the line writes down the words that the shell makes of it. fish tells what it offers by
`complete -C`. Prints TAP; a shell that is not installed is skipped.

`nay complete list` has its own tests (completions.bats); here is what the shells add: words that they take apart at =
and :, quoting, names of files, the cursor inside a line, no space behind an = that waits for a value.
"""
import json
import os
import pathlib
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("NAY_BUILD", "build/dev")).resolve()
READY, DONE = "@ready@", "@done@" # the prompt; what a line prints when it has run, and no line contains
SAY_DONE = "printf '@%s@' done"
FILES = ["keys.txt", "key words.txt", "a:b.nay", "key$x"]
KEYS = ["key words.txt", "key$x", "keys.txt"]

# line typed so far -> what its last word can become; None: nothing is offered, the line stays
CASES = [
    ("nay pl", ["plan", "plot"]),
    ("nay que", ["query"]),
    ("nay query -q keys.txt ke", KEYS),
    ("nay bench -t bloom,cu", ["bloom,cuckoo"]),
    ("nay build --key=ti", ["--key=timestamp"]),
    ("nay sst get ke", KEYS),
    ("nay sst get keys.txt ke", None),
    ("nay check -e k ke", KEYS),
    ("nay check -e k keys.txt ke", None),
    ("nay sst co", ["compact"]),
    ("nay sst --json co", ["compact"]),
    ("nay build -t blo", ["bloom", "blocked"]),
    ("nay build --type blo", ["bloom", "blocked"]),
    ("nay build --type=blo", ["--type=bloom", "--type=blocked"]),
    ("nay build --type=", "KINDS"),
    ("nay plan --need delete,me", ["delete,merge"]),
    ("nay plan --need=delete,gr", ["--need=delete,grow"]),
    ("nay build --color=a", ["--color=auto", "--color=always"]),
    ("nay build --seed r", ["random"]),
    ("nay sst scan --v", ["--versions"]),
    ("nay sst build --filter=p", ["--filter=partitioned"]),
    ("nay help co", ["convert", "common", "complete"]),
    ("nay check ke", KEYS),
    ("nay check --secret ke", KEYS),
    ("nay check --secret=ke", ["--secret=" + name for name in KEYS]),
    ("nay check -q a:b.nay ke", KEYS),
    ("nay diff a:b.nay ke", KEYS),
    ("nay diff a:b.nay keys.txt ke", None),
    ("nay check -- ke", KEYS),
    ("nay build -n ke", None),
    ("nay plan ke", None),
    ("nay plot size ke", None),
    ("nay plot bench ke", KEYS),
    ("nay nonsense ke", None),
    ("nay check --limit=ke", None),
]


class Terminal:
    """An interactive shell and the words of the lines that it was given."""

    def __init__(self, argv, directory, setup, all_key, home_key):
        self.out, self.all_key, self.home_key = directory / "words", all_key, home_key
        env = {"PATH": f"{BUILD / 'cli'}:{os.environ['PATH']}", "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C.UTF-8",
               "PS1": READY, "COLUMNS": "400", "ZDOTDIR": str(directory), "HISTFILE": "/dev/null",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory / "files")
            os.execvpe(argv[0], argv, env)
        self.seen = b""
        self.wait(READY)
        for line in setup:
            self.send(f"{line}; {SAY_DONE}\r")

    def wait(self, mark):
        while mark.encode() not in self.seen:
            self.seen += os.read(self.fd, 65536)
        self.seen = self.seen[self.seen.index(mark.encode()) + len(mark):]

    def send(self, text):
        """Types a line, and waits until it has run and the next prompt is there."""
        os.write(self.fd, text.encode())
        self.wait(DONE)
        self.wait(READY)

    def words(self, keys):
        """The words of the line that the keys make."""
        self.out.unlink(missing_ok=True)
        self.send(f"{keys}{self.home_key}show \r")
        return self.out.read_bytes().decode().split("\0")[:-1]

    def all_matches(self, line):
        return self.words(line + self.all_key)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


SHOW = f"show() {{ printf '%s\\0' \"$@\" > ../words; {SAY_DONE}; }}"


def bash(directory):
    setup = ["bind 'set bell-style none'", "bind 'set enable-bracketed-paste off'", SHOW, 'eval "$(nay complete bash)"']
    return Terminal(["bash", "--norc", "--noprofile", "-i"], directory, setup, "\x1b*", "\x01")


def zsh(directory):
    (directory / "functions").mkdir()
    with open(directory / "functions/_nay", "w") as out:
        subprocess.run(["nay", "complete", "zsh"], stdout=out, check=True)
    setup = ["unsetopt beep promptcr promptsp zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste",
             "fpath=(../functions $fpath); autoload -Uz compinit; compinit -u -D", "bindkey -e",
             "zle -C all-matches complete-word _generic; bindkey '^X' all-matches",
             "zstyle ':completion:all-matches:*' completer _all_matches _complete",
             "zstyle ':completion:all-matches:*' insert true", SHOW]
    return Terminal(["zsh", "-f", "-i"], directory, setup, "\x18", "\x01")


def fish_offers(directory, line):
    script = f"nay complete fish | source; complete -C {shlex.quote(line)}"
    env = {**os.environ, "HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=directory / "files", env=env, check=True,
                          stdout=subprocess.PIPE, text=True)
    return sorted(line.split("\t")[0] for line in done.stdout.splitlines())


def expected(offers):
    if offers == "KINDS":
        told = subprocess.run(["nay", "--version", "--json"], stdout=subprocess.PIPE, check=True).stdout
        offers = ["--type=" + kind for kind in ["auto", *json.loads(told)["kinds"]]]
    return offers


# ---- TAP ----

count, failures = 0, 0


def report(what, fault, skip=""):
    global count, failures
    count += 1
    failures += fault is not None
    print(f"{'ok' if fault is None else 'not ok'} {count} - {what}{' # skip ' + skip if skip else ''}")
    if fault is not None:
        print("# " + fault.replace("\n", "\n# "))
    sys.stdout.flush()


def compare(want, got):
    return None if want == got else f"want {want}\n got {got}"


def terminal_cases(name, terminal, keeps_start):
    """Every case. bash replaces only what stands behind an =, so all but the first lack what is before it."""
    for line, offers in CASES:
        typed, last = shlex.split(line)[:-1], shlex.split(line)[-1]
        wanted = expected(offers)
        got = terminal.all_matches(line)
        if wanted is None:
            fault = compare(typed + [last], got)
        else:
            start = last[:last.find("=") + 1]
            if keeps_start and start:
                got = got[:len(typed) + 1] + [start + word for word in got[len(typed) + 1:]]
            fault = compare((typed, sorted(wanted)), (got[:len(typed)], sorted(got[len(typed):])))
        report(f"{name}: {line}", fault)


def keys_cases(name, terminal):
    """What TAB makes of a line with one candidate, and of a line with the cursor inside."""
    for keys, words in [("nay sst comp\tx", "nay sst compact x"),
                        ("nay build --see\tr\tx", "nay build --seed=random x"),
                        ("nay build --skip-em\tx", "nay build --skip-empty x"),
                        ("nay check keys.t\tx", "nay check keys.txt x"),
                        ("nay check key\\ w\tx", "nay check 'key words.txt' x"),
                        ("nay sst comp tail" + "\x02" * 5 + "\t", "nay sst compact tail"),
                        ("nay check --secret=key\\ w\tx", "nay check '--secret=key words.txt' x")]:
        report(f"{name}: TAB in {keys!r}", compare(shlex.split(words), terminal.words(keys)))


def main():
    signal.alarm(1200)  # a shell that hangs
    os.environ["PATH"] = f"{BUILD / 'cli'}:{os.environ['PATH']}"
    for name, start, keeps_start in (("bash", bash, True), ("zsh", zsh, False)):
        if shutil.which(name) is None:
            report(f"{name}: completions", None, f"no {name}")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            make_files(directory)
            terminal = start(directory)
            try:
                terminal_cases(name, terminal, keeps_start)
                keys_cases(name, terminal)
            finally:
                terminal.end()
    if shutil.which("fish") is None:
        report("fish: completions", None, "no fish")
    else:
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            make_files(directory)
            for line, offers in CASES:
                wanted = expected(offers) or []
                report(f"fish: {line}", compare(sorted(wanted), fish_offers(directory, line)))
    print(f"1..{count}")
    return failures > 0


def make_files(directory):
    (directory / "files").mkdir()
    for name in FILES:
        (directory / "files" / name).touch()


if __name__ == "__main__":
    sys.exit(main())
