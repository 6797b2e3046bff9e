#!/usr/bin/env python3
"""Every command that a message suggests is run as it was printed.

A row is a command line that fails, or warns, and what its message suggests: the text to find in it, and the command
to run, which must then succeed. FILE and "nay ..." in a suggestion stand for the file and for the command line that
failed. The messages are collected from the sources of the command, so that a new suggestion without a row fails.
"""
import glob
import gzip
import os
import re
import shlex
import shutil
import sqlite3
import subprocess

from harness import BUILD, NAY, SOURCE, nay, read, run, test, write, must

CALL = re.compile(r"\b(?:die|message|message_error|source_fail|snprintf|fputs)\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
SUGGESTS = re.compile(r"\bnay (?:%s|[a-z]+)\b|\| nay|did you mean")
# These name a command, and suggest none.
STATES = ["is another name of", "no state of nay uniq", "usage: nay", "nay %s [options]", "not a table of", "not a row of",
          "is not for 'nay", "waiting for another nay", "run no other nay", "there are %s"]


def literals(text, at):
    """The string literals of a call whose parenthesis opens at `at`; neighbours are joined."""
    depth, groups, adjacent = 0, [], False
    while True:
        if text[at] == '"':
            found = LITERAL.match(text, at)
            groups[len(groups):] = [groups.pop() + found[1] if adjacent else found[1]]
            adjacent, at = True, found.end()
            continue
        adjacent = adjacent and text[at].isspace()
        if text[at] == "'":
            at = text.index("'", at + (3 if text[at + 1] == "\\" else 1)) + 1
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
        if depth == 0:
            return groups


def suggestions():
    """The format of each message of the command that suggests a command."""
    for path in sorted(glob.glob(os.path.join(SOURCE, "cli/*.c"))):
        text = re.sub(r"/\*.*?\*/", "", read(path).decode(), flags=re.S)
        for call in CALL.finditer(text):
            for message in literals(text, call.end() - 1):
                if SUGGESTS.search(message) and not any(words in message for words in STATES):
                    yield message


def pattern(message):
    """A regular expression for what a format prints."""
    return ".*".join(re.escape(part) for part in re.split(r"%[-.0-9]*l*[a-z]", message.replace("\\n", "")))


def files():
    for path in glob.glob("*"):
        os.remove(path)
    write("keys", "".join(f"{i}\n" for i in range(1, 101)))
    write("nine", "same\n" * 9)
    write("rows.csv", "id,email\n1,a\n")
    for name, code in ("marked", "utf-16"), ("le", "utf-16-le"), ("be", "utf-16-be"):
        write(name, "id\nname\n".encode(code))
    write("zeros", b"a\0b\0")
    write("zeros.gz", gzip.compress(b"a\0b\0"))
    db = sqlite3.connect("keys.db")
    db.executescript("CREATE TABLE 'table' (column TEXT); INSERT INTO 'table' VALUES ('a'), ('b');")
    db.close()
    write("plain", "a\nb\n")
    with open("packed.z", "wb") as to:  # compress(1) is rarely there: its header, for gzip -dc to refuse or unpack
        to.write(b"\x1f\x9d\x90" + bytes([0x61, 0x14, 0x8c, 0x50, 0x00]))
    shutil.copy(os.path.join(SOURCE, "tests/golden/parquet/duckdb_n100_p001.parquet"), "a.parquet")
    shutil.copy(os.path.join(SOURCE, "tests/golden/puffin/one_small.puffin"), "a.puffin")
    must("build", "-q", "-n", "100", "-o", "f.nay", "keys")
    must("build", "-q", "-t", "fuse", "-o", "static.nay", "keys")
    must("sst", "build", "-q", "-o", "t.ldb", "keys", "--sort")


# failing command line | what its message says | the command that it suggests, run by the shell | exit statuses
ROWS = [
    ("nay remove f.nay keys", "'nay plan --need delete' names one that does", "nay plan --need delete"),
    ("nay check --ranges f.nay keys", "is for range filters (nay build -t range --range-length", "nay build -f -t range --range-length 10 -o f.nay keys"),
    ("nay frobnicate", "'nay help' lists them", "nay help"),
    ("nay buidl", "did you mean build?", "nay help build"),
    ("nay plan --nonsense", "'nay help plan' lists them", "nay help plan"),
    ("nay plan --ned delete", "did you mean --need?", "nay plan --need delete"),
    ("nay plan -t blomo", "did you mean bloom?", "nay plan -t bloom"),
    ("nay sst bulid", "did you mean build?", "nay sst build -q -f --sort -o t2.ldb keys"),
    ("nay check keys f.nay", "did you mean 'nay check f.nay keys'?", "nay check f.nay keys"),
    ("nay add keys f.nay", "did you mean 'nay add f.nay keys'?", "nay add f.nay keys"),
    ("nay check f.nay 5", "if it is a key, not a file: -e '5'", "nay check f.nay -e '5'"),
    ("nay build -f -o one.nay five", "if it is a key, not a file: -e 'five'", "nay build -f -o one.nay -e 'five'"),
    ("nay build --csv -k emial -f -o c.nay rows.csv", "did you mean email?", "nay build --csv -k email -f -o c.nay rows.csv"),
    ("nay info t.ldb --format leveldb", "nay extract extracts its filters", "nay extract --list t.ldb"),
    ("nay verify t.ldb", "nay extract extracts its filters", "nay extract --list t.ldb"),
    ("nay verify a.parquet", "nay extract extracts them", "nay extract --list a.parquet"),
    ("nay verify a.puffin", "nay extract extracts them", "nay extract --list a.puffin"),
    ("nay add --create -n 10 -t fuse new.nay keys", "nay build makes it from all keys", "nay build -n 10 -t fuse -o new.nay keys"),
    ("nay add static.nay keys", "rebuild it from all keys", "nay build -t fuse -f -o static.nay keys"),
    ("nay build -t cuckoo -n 99 -f -o n.nay nine", "remove the duplicates first (nay uniq)",
     "nay uniq nine | nay build -t cuckoo -n 99 -f -o n.nay"),
    ("nay build -t cuckoo -n 99 -f -o n.nay nine", "choose another family with -t", "nay build -t bloom -n 99 -f -o n.nay nine"),
    ("nay build -t cuckoo -n 10 -p 1% -f -o n.nay keys", "or with --max-keys",
     "nay build -t cuckoo -n 10 --max-keys 100 -p 1% -f -o n.nay keys"),
    ("nay build -t cuckoo -n 10 -p 1% -f -o n.nay keys", "a larger -n", "nay build -t cuckoo -n 100 -p 1% -f -o n.nay keys"),
    ("nay uniq marked", "iconv -f UTF-16 -t UTF-8 FILE | nay ...", None),
    ("nay uniq le", "iconv -f UTF-16LE -t UTF-8 FILE | nay ...", None),
    ("nay uniq be", "iconv -f UTF-16BE -t UTF-8 FILE | nay ...", None),
    ("nay uniq packed.z", "gzip -dc FILE | nay ...", None),
    ("nay uniq keys.db", "sqlite3 FILE 'SELECT column FROM table' | nay ...",
     """python3 -c "import sqlite3; [print(*r) for r in sqlite3.connect('keys.db').execute('SELECT column FROM \\"table\\"')]" | nay uniq"""),
    ("nay uniq zeros", "-0 if zero bytes end the keys", "nay uniq -0 zeros"),
    ("nay uniq zeros", "or --no-decompress to read its bytes as keys", "nay uniq --no-decompress zeros"),
    ("nay uniq zeros.gz", "gzip -dc FILE | nay ... --no-decompress", "gzip -dc zeros.gz | nay uniq --no-decompress"),
    ("nay convert --to leveldb -o l.ldbf f.nay", "--keys FILE", "nay convert --to leveldb -o l.ldbf f.nay --keys keys"),
    ("nay build -o f.nay keys", "-f overwrites it", "nay build -f -o f.nay keys"),
    ("nay build -f -o keys keys", "choose another file", "nay build -f -o other.nay keys"),
    ("nay plan --ratio 4", "give --lsm too", "nay plan --ratio 4 --lsm -n 1M"),
    ("nay uniq -t window keys", "with --window", "nay uniq -t window --window 100 keys"),
    ("nay merge --json f.nay f.nay", "use -o FILE", "nay merge --json f.nay f.nay -f -o m.nay"),
]

# Warnings of too little room: each option that they name is then taken.
ADVICE = [
    ("uniq -n 10 keys", ["-n 200", "-n 10 -M 1k", "-n 10 -p 99%", "--exact"]),
    ("uniq --window 50 -M 400 keys", ["--window 50 -p 1%", "--window 50 -M 64k"]),
    ("uniq --window 1h -n 10 keys", ["--window 1h -n 700", "--window 1h -n 10 -p 99%", "--window 1h -n 10 -M 64k"]),
    ("uniq --state s.nay -n 10 keys", ["--state new1.nay -n 200", "--state new2.nay -n 10 -M 1k"]),
    ("uniq --state w.nay --window 50 -M 400 keys", ["--state new3.nay --window 50 -M 64k"]),
]


def shell(line):
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PATH": os.path.dirname(NAY) + ":" + os.environ["PATH"]}, check=False)


@test("a suggested command, run as printed, succeeds")
def _():
    for line, says, suggested in ROWS:
        files()
        failed = shell(line)
        said = failed.stderr.decode()
        assert failed.returncode != 0 and says in said, (line, says, said)
        if suggested is None:
            words = shlex.split(line)
            suggested = says.replace("FILE", words[-1]).replace("nay ...", " ".join(words[:-1]))
        done = shell(suggested)
        assert done.returncode == 0, (line, said, suggested, done)


@test("options that a warning of too little room names are taken, and keep the promise")
def _():
    for line, remedies in ADVICE:
        files()
        warned = shell("nay " + line + " --strict")
        said = warned.stderr.decode()
        assert warned.returncode == 4, (line, warned)
        named = set(re.findall(r"(?<!\S)--?[a-zA-Z]+", said.split("duplicates: ")[1]))
        tried = set(re.findall(r"(?<!\S)--?[a-zA-Z]+", " ".join(remedies)))
        assert named <= tried, (line, said, named - tried)
        for remedy in remedies:
            done = shell(f"nay uniq {remedy} --strict keys")
            assert done.returncode == 0, (line, said, remedy, done)


@test("every message that suggests a command has a row")
def _():
    said = []
    for line, _, _ in ROWS:
        files()
        said.append(shell(line).stderr.decode())
    said.append(subprocess.run([NAY], capture_output=True, check=False).stderr.decode())
    missing = [m for m in suggestions() if not any(re.search(pattern(m), text, re.S) for text in said)]
    assert len(list(suggestions())) >= 15, "the collector finds no messages"
    assert not missing, missing


run()
