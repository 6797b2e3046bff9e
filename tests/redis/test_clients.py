#!/usr/bin/env python3
"""Clients that people use: redis-cli, redis-py and node-redis with its bloom package."""
import importlib.util
import os
import shutil
import subprocess
import sys

DEBIAN = "/usr/bin/python3"  # where the package python3-redis lands, whatever python3 comes first
if not importlib.util.find_spec("redis") and sys.executable != DEBIAN:
    os.execv(DEBIAN, [DEBIAN, *sys.argv])

import redis  # noqa: E402
from server import BUILD, CLI, SOURCE, Skip, equal, main, test  # noqa: E402


def path_of(client):
    return client("CONFIG", "GET", "unixsocket")[1].decode()


def cli(client, *words, options=(), text=None):
    run = subprocess.run([*CLI, "-s", path_of(client), *options, *words], input=text, capture_output=True,
                         text=True, timeout=1500)
    return run.stdout


@test("redis-cli: words in, words out, in both protocols")
def redis_cli(client):
    equal(cli(client, "BF.RESERVE", "b", "0.01", "100"), "OK\n")
    equal(cli(client, "BF.MADD", "b", "x", "y"), "1\n1\n")
    equal(cli(client, "BF.EXISTS", "b", "x"), "1\n")
    equal(cli(client, "BF.MEXISTS", "b", "x", "z", options=["--no-raw", "-3"]), "1) (true)\n2) (false)\n")
    equal(cli(client, "BF.INFO", "b", "ITEMS"), "2\n")
    lines = cli(client, "CF.ADD", "b", "x").splitlines()
    equal(lines[0], "WRONGTYPE Operation against a key holding the wrong kind of value")


@test("redis-cli --pipe: a stream of adds, and none refused")
def redis_cli_pipe(client):
    lines = "".join(f"BF.ADD p item:{i}\r\nCF.ADD q item:{i}\r\n" for i in range(2000))
    assert "errors: 0, replies: 4000" in cli(client, options=["--pipe"], text=lines)
    equal(client("CF.INFO", "q")[7], 2000)
    assert all(client("BF.MEXISTS", "p", *(f"item:{i}" for i in range(2000))))


def python_client(client, **options):
    return redis.Redis(unix_socket_path=path_of(client), **options)


@test("redis-py: r.bf()")
def redis_py_bloom(client):
    bloom = python_client(client).bf()
    assert bloom.create("b", 0.01, 1000, expansion=2)
    equal(bloom.add("b", "x"), 1)
    equal(bloom.madd("b", "x", "y"), [0, 1])
    equal(bloom.exists("b", "x"), 1)
    equal(bloom.mexists("b", "x", "z"), [1, 0])
    equal(bloom.insert("i", ["p", "q"], capacity=10, error=0.001, expansion=4), [1, 1])
    info = bloom.info("b")
    equal((info.capacity, info.filterNum, info.insertedNum, info.expansionRate), (1000, 1, 2, 2))
    assert bloom.create("n", 0.01, 1000, noScale=True)


@test("redis-py: r.cf()")
def redis_py_cuckoo(client):
    cuckoo = python_client(client).cf()
    assert cuckoo.create("c", 1000, expansion=1, bucket_size=4, max_iterations=10)
    equal([cuckoo.add("c", "x"), cuckoo.addnx("c", "x"), cuckoo.addnx("c", "y")], [1, 0, 1])
    equal(cuckoo.insert("i", ["p", "q"], capacity=1000), [1, 1])
    equal(cuckoo.insertnx("i", ["p", "r"]), [0, 1])
    equal([cuckoo.exists("c", "x"), cuckoo.count("c", "x")], [1, 1])
    equal([cuckoo.delete("c", "x"), cuckoo.count("c", "x")], [1, 0])
    info = cuckoo.info("c")
    equal((info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize, info.maxIteration),
          (256, 1, 1, 1, 4, 10))


@test("redis-py: SCANDUMP and LOADCHUNK move both kinds, inside a pipeline too")
def redis_py_chunks(client):
    here = python_client(client)
    pipe = here.pipeline()
    for i in range(500):
        pipe.execute_command("BF.ADD", "b", i)
        pipe.execute_command("CF.ADD", "c", i)
    pipe.execute()
    for kind, key in (("BF", "b"), ("CF", "c")):
        iterator = 0
        while True:
            iterator, data = here.execute_command(kind + ".SCANDUMP", key, iterator)
            if iterator == 0:
                break
            here.execute_command(kind + ".LOADCHUNK", key + "2", iterator, data)
        equal(here.dump(key + "2"), here.dump(key), kind)


def node_directory():
    """The packages of node/package-lock.json, installed below the build directory once."""
    here, directory = SOURCE / "tests/redis/node", BUILD / "tests/redis/node"
    lock = directory / "package-lock.json"
    if not (directory / "installed").exists() or lock.read_bytes() != (here / lock.name).read_bytes():
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(here, directory)
        installed = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                                   cwd=directory, capture_output=True, text=True, timeout=1500)
        if installed.returncode != 0:
            raise Skip("npm cannot install the client: " + " ".join(installed.stderr.split())[:200])
        (directory / "installed").touch()
    shutil.copy(here / "client.js", directory)
    return directory


def run_node(client, protocol):
    run = subprocess.run(["node", "client.js", path_of(client), str(protocol)], cwd=node_directory(),
                         capture_output=True, text=True, timeout=600)
    lines = run.stdout.splitlines()
    equal([line for line in lines if not line.startswith("ok ")], [], "node-redis")
    equal((len(lines), run.returncode, run.stderr), (6, 0, ""), "node-redis")


@test("node-redis with @redis/bloom in RESP2")
def node_redis_2(client):
    run_node(client, 2)


@test("node-redis with @redis/bloom in RESP3")
def node_redis_3(client):
    run_node(client, 3)


main()
