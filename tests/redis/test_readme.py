#!/usr/bin/env python3
"""Runs the commands of plugins/redis/README.md and the Redis part of README.md and compares the replies.

A block marked redis holds commands after "> " and what redis-cli shows for them; a block marked console
is a transcript of a shell in which redis-cli speaks to the server. "..." stands for any text. Blocks
marked python are run, and their functions tried below.
"""
import os
import shlex
import subprocess
import sys
import tempfile

from server import BUILD, CLI, SOURCE, Server, equal, main, test

os.environ.setdefault("NAY_SOURCE", str(SOURCE))
os.environ.setdefault("NAY_BUILD", str(BUILD))
sys.path.insert(0, str(SOURCE / "tests/doc"))
from run_examples import check_steps, fenced_blocks, transcript  # noqa: E402

README = SOURCE / "plugins/redis/README.md"
BLOCKS = fenced_blocks(README.read_text())
MARK = "\x1e"


def blocks(word, of=BLOCKS):
    return [(line, lines) for line, kind, lines, _ in of if kind == word]


def shell(client, steps):
    """The outputs of shell commands; redis-cli speaks to the client's server as if to a terminal."""
    speak = " ".join(map(shlex.quote, [*CLI, "-s", client.socket.getpeername(), "--no-raw"]))
    script = f"exec 2>&1\nredis-cli() {{ command {speak} \"$@\"; }}\n"
    for command, _ in steps:
        script += f"{command}\nprintf '\\036'\n"
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, "PATH": os.pathsep.join([str(BUILD / "cli"), os.environ["PATH"]])}
        done = subprocess.run(["bash", "-c", script], cwd=directory, env=env, timeout=300, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return done.stdout.split(MARK)


def prompts(lines):
    return [("redis-cli " + command, expected)
            for command, expected in transcript(["$" + line[1:] if line.startswith("> ") else line for line in lines])]


@test("commands and replies, in the order of the page")
def commands(client):
    assert blocks("redis"), "no examples"
    for line, lines in blocks("redis"):
        steps = prompts(lines)
        fault = check_steps(steps, shell(client, steps))
        assert not fault, f"README.md:{line}: {fault}"


@test("the page of the project")
def front(client):
    for line, lines in blocks("redis", fenced_blocks((SOURCE / "README.md").read_text())):
        steps = prompts(lines)
        fault = check_steps(steps, shell(client, steps))
        assert not fault, f"/README.md:{line}: {fault}"


@test("what is done in a shell")
def shells(client):
    assert blocks("console"), "no examples"
    for line, lines in blocks("console"):
        steps = transcript(lines)
        fault = check_steps(steps, shell(client, steps))
        assert not fault, f"README.md:{line}: {fault}"


def code():
    names = {}
    for line, lines in blocks("python"):
        exec(compile("\n" * line + "\n".join(lines), str(README), "exec"), names)
    return names


@test("a filter moved from one server to another")
def moved(client):
    client("NAY.RESERVE", "k", 0.01, 20000000, "KIND", "blocked")  # 25 MB: two pieces
    client("NAY.MADD", "k", "a", "b")
    with Server() as other:
        there = other.client()
        code()["move"](client, there, "k")
        equal(there("DEBUG", "DIGEST-VALUE", "k"), client("DEBUG", "DIGEST-VALUE", "k"))
        code()["move"](client, there, "k")


@test("one filter over many keys")
def sharded(client):
    seen = code()["Sharded"](client, "seen", 16)
    seen.reserve(0.01, 10000, "KIND", "blocked")
    known = [f"item:{i}" for i in range(10000)]
    assert sum(seen.add(known)) > 9900
    equal(set(seen.test(known)), {1})
    rate = sum(seen.test([f"other:{i}" for i in range(20000)])) / 20000
    assert rate < 0.011, rate
    equal(sorted(client("KEYS", "*")), sorted(f"seen{{{i}}}".encode() for i in range(16)))
    assert not any(client("NAY.INFO", f"seen{{{i}}}", "overloaded") for i in range(16))


if __name__ == "__main__":
    main()
