#!/usr/bin/env python3
"""Every command that writes a file, and every kind of place it may be told to write to.

A command stands in WRITERS once; each test below runs over all of them. What they promise is in FILES
of nay(1): the file is replaced as a whole, by nay_file_replace, or not at all.
"""
import os
import re
import resource
import shutil
import stat
import subprocess

from harness import NAY, SOURCE, Skip, lines, must, nay, read, run, start, test, write

# ---- the commands ----


def prepare():
    """The inputs of all writers, in in/: outside of the directory that is looked at."""
    os.mkdir("out")
    made = os.path.join(os.path.dirname(NAY), "in")
    if not os.path.exists(made):
        make_inputs()
        shutil.copytree("in", made)
    else:
        shutil.copytree(made, "in")


def make_inputs():
    os.mkdir("in")
    write("in/keys", lines(1, 100))
    write("in/rows", "".join(f"{i}\tv\n" for i in range(100, 200)))
    write("in/numbers", "".join(f"{i}\t{i}\n" for i in range(100, 200)))
    must("build", "-q", "-n", 1000, "-t", "counting", "-o", "in/a", "in/keys")
    must("build", "-q", "-n", 1000, "--fold", 2, "-o", "in/b", "in/keys")
    must("sst", "build", "-q", "-o", "in/t", "in/rows")
    must("sst", "build", "-q", "--filter", "full", "-o", "in/u", "in/rows")


class Writer:
    """words: of the command line, OUT is the file. stream: it also writes to devices and pipes."""

    def __init__(self, *words, force=("-f",), stream=True, refuses=True):
        self.words, self.force, self.stream, self.refuses = words, force, stream, refuses
        self.name = " ".join(word for word in words if not word.startswith("in/"))

    def line(self, out, force=True):
        return [out if word == "OUT" else word for word in self.words] + (list(self.force) if force else [])

    def __call__(self, out, force=True, **options):
        return nay(*self.line(out, force), **options)


WRITERS = [
    Writer("build", "-n", "1000", "-o", "OUT", "in/keys"),
    Writer("build", "-n", "1000", "-b", "10", "--format", "leveldb", "-o", "OUT", "in/keys"),
    Writer("add", "in/b", "in/keys", "-o", "OUT"),
    Writer("remove", "in/a", "in/keys", "-o", "OUT"),
    Writer("merge", "in/b", "in/b", "-o", "OUT"),
    Writer("fold", "in/b", "-o", "OUT", "--factor", "2"),
    Writer("convert", "--to", "nay", "in/b", "-o", "OUT"),
    Writer("convert", "--to", "leveldb", "--keys", "in/keys", "in/b", "-o", "OUT"),
    Writer("plot", "size", "--svg", "-o", "OUT"),
    Writer("extract", "in/u", "-o", "OUT"),
    Writer("puffin", "in/b", "-o", "OUT"),
    Writer("sst", "build", "-o", "OUT", "in/rows", stream=False),
    Writer("sst", "compact", "in/t", "-o", "OUT", stream=False),
    Writer("map", "build", "-o", "OUT", "in/numbers"),
    Writer("list", "build", "--universe", "in/keys", "-o", "OUT", "in/keys"),
    Writer("uniq", "-n", "4000", "--state", "OUT", "in/keys", force=(), stream=False, refuses=False),
    Writer("add", "--create", "-n", "4000", "OUT", "in/keys", force=(), stream=False, refuses=False),
]
# those that change the file they are given: OUT is a copy of in/b or in/a first
CHANGERS = [
    Writer("add", "OUT", "in/keys", force=(), stream=False, refuses=False),
    Writer("remove", "OUT", "in/keys", force=(), stream=False, refuses=False),
    Writer("fold", "OUT", "--factor", "2", force=(), stream=False, refuses=False),
    Writer("uniq", "--state", "OUT", "in/keys", force=(), stream=False, refuses=False),
]
NO_FILES = "plan check explain info verify diff common prune bench complete man version help".split()


def over(writers=WRITERS, where=lambda w: True):
    """Runs the decorated function for each writer, in directories of its own."""
    def decorate(function):
        def each():
            top = os.getcwd()
            for i, writer in enumerate(filter(where, writers)):
                os.mkdir(f"{top}/{i}")
                os.chdir(f"{top}/{i}")
                prepare()
                if writer in CHANGERS:
                    old_of(writer, "out/f")
                try:
                    function(writer)
                except AssertionError as fault:
                    raise AssertionError(f"nay {writer.name}: {fault}") from fault
        return each
    return decorate


def old_of(writer, path):
    """A file that the writer may replace, with bytes that it would not write."""
    if writer in CHANGERS or writer.words[0] == "uniq" or "--create" in writer.words:
        must("build", "-q", "-f", "-n", 4000, "-t", "counting" if "remove" in writer.words else "blocked", "--fold", 4,
             "-o", path, stdin=lines(1, 100 if "remove" in writer.words else 50) + "other\n")
    else:
        write(path, "old")


def holds(directory, *names):
    found = sorted(os.listdir(directory))
    assert found == sorted(names), f"{directory} holds {found}"


def good(done, status=(0,)):
    assert done.returncode in status, done


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


# ---- tests ----


@test("every command is in one of the tables")
def _():
    listed = re.findall(r"^  ([a-z]+)  +[a-z]", must("help").stdout.decode(), re.M)
    known = {w.words[0] for w in WRITERS + CHANGERS} | set(NO_FILES)
    assert set(listed) - {"nay"} == known, (sorted(set(listed) ^ known))


@test("one implementation: nothing in cli/ creates, renames or removes a file, but for outfile_remove")
def _():
    for name in sorted(os.listdir(f"{SOURCE}/cli")):
        if name.endswith(".c"):
            found = re.findall(r"\b(?:O_CREAT|O_TMPFILE|creat\(|rename\w*\(|mkstemp\w*\(|fopen\(|unlink\w*\()",
                               read(f"{SOURCE}/cli/{name}").decode())
            assert found == (["unlink("] if name == "outfile.c" else []), (name, found)


@test("a new file is there, and nothing beside it")
@over()
def _(w):
    good(w("out/f", force=False))
    holds("out", "f")
    assert os.path.getsize("out/f") > 10


@test("without -f an existing file is refused and stays")
@over(where=lambda w: w.refuses)
def _(w):
    write("out/f", "old")
    done = w("out/f", force=False)
    good(done, [2])
    assert done.stderr.endswith(b"out/f exists; -f overwrites it\n"), done.stderr
    assert read("out/f") == b"old"
    holds("out", "f")


@test("mode and owner are kept")
@over(WRITERS + CHANGERS)
def _(w):
    old_of(w, "out/f")
    before = read("out/f")
    os.chmod("out/f", 0o640)
    if os.geteuid() == 0:
        os.chown("out/f", 1234, 4321)
    good(w("out/f"))
    st = os.stat("out/f")
    assert read("out/f") != before
    assert stat.S_IMODE(st.st_mode) == 0o640, oct(st.st_mode)
    assert os.geteuid() != 0 or (st.st_uid, st.st_gid) == (1234, 4321), st
    holds("out", "f")


@test("a link stays a link: to a file, through a chain, to a file that does not exist yet")
@over()
def _(w):
    os.mkdir("to")
    for name, prior in (("old", True), ("new", False)):
        if prior:
            old_of(w, "to/" + name)
        os.symlink("../to/hop-" + name, "out/" + name)
        os.symlink(name, "to/hop-" + name)
        before = read("to/old")
        good(w("out/" + name))
        assert os.readlink("out/" + name) == "../to/hop-" + name
        assert os.path.islink("to/hop-" + name) and not os.path.islink("to/" + name)
        assert os.path.getsize("to/" + name) > 10 and (not prior or read("to/old") != before)
    holds("to", "hop-new", "hop-old", "new", "old")
    holds("out", "new", "old")


@test("links where temporary files might be: nothing is written through them")
@over(WRITERS + CHANGERS)
def _(w):
    old_of(w, "out/f")
    write("victim", "theirs")
    names = "".join(f"ln -s ../victim out/.f.nay-$${end}; " for end in ("", "-0", "-1", "-2"))
    words = " ".join(map(str, w.line("out/f")))
    done = subprocess.run(["sh", "-c", f"{names} exec {NAY} {words}"], capture_output=True, stdin=subprocess.DEVNULL)
    good(done)
    assert read("victim") == b"theirs"
    assert len(os.listdir("out")) == 5, os.listdir("out")


@test("a link where the lock file goes is refused, not followed")
@over(WRITERS + CHANGERS)
def _(w):
    old_of(w, "out/f")
    before = read("out/f")
    write("victim", "theirs")
    os.symlink("../victim", "out/.f.nay-lock")
    done = w("out/f")
    good(done, [2])
    assert b"cannot write out/f: " in done.stderr, done.stderr
    assert (read("victim"), read("out/f")) == (b"theirs", before)


@test("names of 1 and of 240, 245, 246, 249 and 255 bytes")
@over()
def _(w):
    for n in [1, 240, 245, 246, 249, 255]:
        good(w("out/" + "x" * n))
        os.stat("out/" + "x" * n)
    assert len(os.listdir("out")) == 6


@test("a name of 256 bytes, a missing directory, a directory, an empty name: status 2, nothing changes")
@over(where=lambda w: w.words[0] != "extract")  # -o DIRECTORY is for all filters of a table
def _(w):
    os.mkdir("out/dir")
    for path, why in (("out/" + "x" * 256, b"File name too long"), ("none/f", b"No such file or directory"),
                      ("out/dir", b"Is a directory"), ("", b"No such file or directory")):
        done = w(path)
        good(done, [2])
        assert done.stderr, path
        if w.words[0] not in ("sst", "uniq"):
            assert why.lower() in done.stderr.lower(), (path, done.stderr)
    holds("out", "dir")
    holds("out/dir")


@test("a directory that cannot be written: status 2, the old file stays")
@over(WRITERS + CHANGERS)
def _(w):
    need_root()
    old_of(w, "out/f")
    before = read("out/f")
    os.chmod("out/f", 0o666)  # it is the directory that matters
    os.chmod("out", 0o555)
    for path in ("in", "in/a", "in/b", "in/keys", "in/rows", "in/numbers", "in/t", "in/u"):
        os.chmod(path, 0o755)
    done = w("out/f", preexec_fn=as_nobody)
    good(done, [2])
    assert w.words[0] == "sst" or b"Permission denied" in done.stderr, done.stderr
    assert read("out/f") == before
    holds("out", "f")


@test("a limit on the size of files: status 2, the old file stays, nothing beside it")
@over(WRITERS + CHANGERS)
def _(w):
    old_of(w, "out/f")
    before = read("out/f")
    done = w("out/f", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20)))
    good(done, [2])
    assert w.words[0] == "sst" or b"cannot write out/f: File too large" in done.stderr, done.stderr
    assert read("out/f") == before
    holds("out", "f")


@test("pipes, devices and /dev/stdout are written, not replaced")
@over(where=lambda w: w.stream)
def _(w):
    good(w("out/f"))
    expected = read("out/f")
    os.remove("out/f")
    os.mkfifo("out/fifo")
    with subprocess.Popen(["cat", "out/fifo"], stdout=subprocess.PIPE) as reader:
        good(w("out/fifo", force=False))
        assert reader.stdout.read() == expected
    assert stat.S_ISFIFO(os.stat("out/fifo").st_mode)
    holds("out", "fifo")
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        done = w(name, force=False)
        good(done)
        assert done.stdout == expected, name
        with open("file", "wb") as out:  # a file as standard output: not replaced under the shell's hands
            out.write(b"before ")
            out.flush()
            at = os.fstat(out.fileno()).st_ino
            done = subprocess.run([NAY, *w.line(name, False)], stdout=out, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
            assert done.returncode == 0
        assert read("file") == b"before " + expected and os.stat("file").st_ino == at, name
    done = w("/dev/full")
    good(done, [2])
    assert b"No space left on device" in done.stderr, done.stderr
    good(w("/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def created(words, umask=0):
    """What the program creates: (flags, mode) of each open that does, lock files aside."""
    if not shutil.which("strace"):
        raise Skip("needs strace")
    done = subprocess.run(["strace", "-f", "-o", "trace", "-e", "trace=open,openat,creat,linkat,rename,renameat",
                           NAY, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=lambda: os.umask(umask))
    if b"PTRACE" in done.stderr or not os.path.exists("trace"):
        raise Skip("strace cannot trace here")
    assert done.returncode == 0, done
    found = re.findall(r'open(?:at)?\([^"]*"([^"]*)", ([A-Z_|]*(?:O_CREAT|O_TMPFILE)[A-Z_|]*), (0\d+)',
                       read("trace").decode())
    return [(flags, int(mode, 8)) for path, flags, mode in found if not path.endswith(".nay-lock")]


@test("a secret key is never readable by others: a new file, and an old one of mode 0600")
@over(WRITERS[:1])
def _(w):
    write("in/secret", "0123456789abcdef")
    os.chmod("in/secret", 0o600)
    keyed = ["build", "-n", "1000", "--secret", "in/secret", "--store-key", "-o", "out/f", "in/keys"]
    for words in (keyed, keyed + ["-f"], ["add", "out/f", "in/keys"], ["convert", "--to", "nay", "out/f", "-o", "out/g"],
                  ["merge", "out/f", "out/f", "-o", "out/h"]):
        opens = created(words)
        assert opens, words
        for flags, mode in opens:
            assert mode == 0o600, (words, oct(mode))
            assert "O_EXCL" in flags or "O_TMPFILE" in flags, (words, flags)
    for name in "fgh":
        assert stat.S_IMODE(os.stat("out/" + name).st_mode) == 0o600, name


@test("a signal while a file is replaced: the old file stays, or the new one is whole")
@over(CHANGERS[:1])
def _(w):
    for signal in (2, 15, 1):
        old_of(w, "out/f")
        before = read("out/f")
        p = start("add", "out/f")
        p.stdin.write(b"more\n")
        p.stdin.flush()
        while not os.path.exists("out/.f.nay-lock"):
            assert p.poll() is None
        p.send_signal(signal)
        p.communicate()
        assert p.returncode == -signal, p.returncode
        assert read("out/f") == before
        holds("out", "f")


run()
