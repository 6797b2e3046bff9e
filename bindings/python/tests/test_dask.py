"""libnay.dask on a cluster of processes: the bytes of one process, also when a worker is killed."""
import os
import pickle
import signal
import time

import numpy as np
import pandas as pd
import pytest

import libnay
from libnay import Filter

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
if "NAY_SANITIZED" in os.environ:
    pytest.skip("workers are not sanitized", allow_module_level=True)
import libnay.dask  # noqa: E402
from libnay.sharded import Sharded  # noqa: E402

KEYS = int(os.environ.get("NAY_DASK_KEYS", 1_000_000))
PARTITIONS = 16


@pytest.fixture(scope="module")
def client():
    dask.config.set({"distributed.scheduler.allowed-failures": 20, "distributed.comm.timeouts.connect": "60s"})
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, memory_limit=0,
                                  dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def part(i, gate=None):
    """Partition i. With a gate, a directory, all but six of them wait until the file `open` is there."""
    if gate:
        with open(os.path.join(gate, "begun"), "ab") as begun:
            begun.write(b".")
            begun.flush()
            number = begun.tell()
        while number > 6 and not os.path.exists(os.path.join(gate, "open")):
            time.sleep(0.02)
    each = KEYS // PARTITIONS
    return pd.DataFrame({"id": np.arange(i * each, (i + 1) * each) * 7, "n": i})


def frame(gate=None):
    meta = part(0).head(0)
    return dd.from_delayed([dask.delayed(part)(i, gate) for i in range(PARTITIONS)], meta=meta, verify_meta=False)


def one_process(**params):
    f = Filter(KEYS, key="int", **params)
    for i in range(PARTITIONS):
        f.update(part(i)["id"])
    return f


@pytest.mark.parametrize("kind", ["bloom", "blocked", "counting"])
def test_the_bytes_of_one_process(client, kind):
    assert len({client.run(os.getpid)[w] for w in client.run(os.getpid)} - {os.getpid()}) >= 2
    f = libnay.dask.build(frame()["id"], fpr=0.01, kind=kind, nkeys=KEYS // PARTITIONS * PARTITIONS, split_every=3)
    assert f.key == "int" and f.encode() == one_process(fpr=0.01, kind=kind).encode()


def test_static_kinds(client):
    f = libnay.dask.build(frame()["id"], fpr=0.01, kind="fuse")
    assert f.encode() == Filter.build(np.concatenate([part(i)["id"] for i in range(PARTITIONS)]), 0.01, kind="fuse").encode()
    for kind in ("cuckoo", "scalable", "window"):
        with pytest.raises(TypeError, match="no kind for a cluster"):
            libnay.dask.build(frame()["id"], kind=kind, nkeys=KEYS)


def test_secrets(client, tmp_path):
    secret = bytes(range(16))
    for kind in ("blocked", "ribbon"):
        f = libnay.dask.build(frame()["id"], fpr=1e-4, kind=kind, secret=secret)
        assert not f.locked and f.check_many(part(3)["id"]).all() and not f.check_many(np.arange(1, 7)).all()
    sharded = libnay.dask.build_sharded(frame()["id"], tmp_path, fpr=1e-4, shards=3, secret=secret)
    assert sharded.check_many(part(3)["id"]).all() and not sharded.check_many(np.arange(1, 7)).all()
    assert 7 in pickle.loads(pickle.dumps(sharded))


def test_a_worker_is_killed_in_the_middle(client, tmp_path):
    client.wait_for_workers(3, timeout=120)
    pids = client.run(os.getpid)
    column = frame(os.fspath(tmp_path))["id"]
    nkeys = KEYS // PARTITIONS * PARTITIONS
    future = client.compute(libnay.dask.build(column, fpr=0.01, nkeys=nkeys, compute=False, split_every=4))
    while not os.path.exists(tmp_path / "begun") or os.path.getsize(tmp_path / "begun") < 9:
        time.sleep(0.02)  # six partitions are done or about to be, and three workers wait
    while not any(client.has_what().values()):
        time.sleep(0.02)
    holds = client.has_what()
    victim = max(pids, key=lambda worker: len(holds.get(worker, ())))
    assert holds[victim], "the worker that dies has finished something"
    os.kill(pids[victim], signal.SIGKILL)
    (tmp_path / "open").touch()
    f = future.result(timeout=1200)
    assert f.encode() == one_process(fpr=0.01, kind="blocked").encode()
    client.wait_for_workers(3, timeout=120)
    assert pids[victim] not in client.run(os.getpid).values()


def test_semi_join(client):
    users = frame()
    known = libnay.dask.build(users["id"], fpr=1e-9)
    clicks = dd.from_pandas(pd.DataFrame({"user": pd.array([*range(1000), None], dtype="Int64")}), npartitions=5)
    found = libnay.dask.semi_join(clicks, known, on="user").compute()
    assert found["user"].tolist() == list(range(0, 1000, 7))
    rest = libnay.dask.semi_join(clicks, known, on="user", anti=True).compute()
    assert len(found) + len(rest) == 1001 and rest["user"].isna().sum() == 1
    lazily = libnay.dask.build(users["id"], fpr=1e-9, nkeys=KEYS, compute=False)
    assert len(libnay.dask.semi_join(clicks, lazily, on="user").compute()) == len(found)


def test_shards(client, tmp_path):
    sharded = libnay.dask.build_sharded(frame()["id"], tmp_path / "known", fpr=1e-6, shards=5)
    assert sorted(os.listdir(tmp_path / "known")) == [f"shard-{i:05d}.nay" for i in range(5)]
    for i in range(PARTITIONS):
        assert sharded.check_many(part(i)["id"]).all()
    absent = np.arange(100_000) * 7 + 1
    assert sharded.check_many(absent).sum() <= 3
    again = pickle.loads(pickle.dumps(sharded))
    assert 7 in again and 8 not in again
    assert again.check_many(pd.array([7, None, 8], dtype="Int64"), null=True).tolist() == [True, True, False]
    with pytest.raises(ValueError, match="null"):
        again.check_many(pd.array([7, None], dtype="Int64"))
    clicks = dd.from_pandas(pd.DataFrame({"user": range(1000)}), npartitions=4)
    assert len(libnay.dask.semi_join(clicks, sharded, on="user").compute()) == 143
    sizes = [os.path.getsize(tmp_path / "known" / name) for name in os.listdir(tmp_path / "known")]
    assert max(sizes) < 1.1 * min(sizes)
    other = libnay.dask.build_sharded(frame()["id"] + 1, tmp_path / "other", fpr=1e-6, shards=5)
    assert 8 in other
    for i in (4, 0):  # a build over this one that was ended after some shards: absent keys cannot be told
        os.link(tmp_path / f"other/shard-{i:05d}.nay", tmp_path / "new")
        os.replace(tmp_path / f"known/shard-{i:05d}.nay", tmp_path / "old")
        os.replace(tmp_path / "new", tmp_path / f"known/shard-{i:05d}.nay")
        with pytest.raises(ValueError, match="another build"):
            Sharded(tmp_path / "known").check_many(np.arange(1000))
        os.replace(tmp_path / "old", tmp_path / f"known/shard-{i:05d}.nay")
    Filter.build([1]).save(tmp_path / "other/shard-00000.nay")
    with pytest.raises(ValueError, match="no shard"):
        Sharded(tmp_path / "other")
    os.rename(tmp_path / "known/shard-00001.nay", tmp_path / "known/shard-00002.nay")
    with pytest.raises(FileNotFoundError):
        Sharded(tmp_path / "known")
    os.link(tmp_path / "known/shard-00002.nay", tmp_path / "known/shard-00001.nay")
    with pytest.raises(ValueError, match="not shard 2"):
        Sharded(tmp_path / "known").check_many(np.arange(1000))


def test_nulls_and_strings(client):
    words = pd.DataFrame({"w": ["a", None, "b"] * 100})
    f = libnay.dask.build(dd.from_pandas(words, npartitions=7)["w"], fpr=1e-6)
    assert f.key == "text" and len(f) == 2 and "a" in f and "c" not in f
    empty = libnay.dask.build(dd.from_pandas(words.head(0), npartitions=1)["w"])
    assert len(empty) == 0


def test_the_example_of_the_module(client):
    import doctest

    assert doctest.testmod(libnay.dask).failed == 0
