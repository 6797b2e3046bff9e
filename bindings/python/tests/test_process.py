"""Threads, processes, the end of the interpreter, memory."""
import gc
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import libnay
from libnay import Filter, Map


def run(code, **env):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=300)


def threads(*targets):
    failures = []

    def guarded(target):
        try:
            target()
        except BaseException as error:
            failures.append(error)

    all_of_them = [threading.Thread(target=guarded, args=(t,)) for t in targets]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert not failures, failures


def test_threads_of_adds_and_checks():
    f = Filter(400_000, 1e-6, kind="blocked", key="int")
    parts = [np.arange(i * 100_000, (i + 1) * 100_000) for i in range(4)]
    done = [False] * 4

    def add(i):
        f.update(parts[i])
        f.add_many(parts[i].tolist()[:20_000])
        done[i] = True

    def check():
        while not all(done):
            for i, part in enumerate(parts):
                before = done[i]
                assert f.check_many(part[::100]).all() or not before
                assert 0 in f or not before or i
            f.stats(), f.copy(), f.encode()

    threads(*[lambda i=i: add(i) for i in range(4)], check, check)
    one = Filter(400_000, 1e-6, kind="blocked", key="int")
    one.update(np.arange(400_000))
    assert f.encode() == one.encode()


def test_the_gil_is_released():
    f = Filter(1000, key="int")
    keys = np.arange(1_000_000)
    seen, stop, interval = [0], threading.Event(), sys.getswitchinterval()

    def count():
        while not stop.is_set():
            seen[0] += 1
            time.sleep(0.001)

    sys.setswitchinterval(1000)  # now only who releases the GIL lets others run
    try:
        thread = threading.Thread(target=count)
        thread.start()
        before = seen[0]
        for _ in range(10_000):
            f.check_many(keys)
            if seen[0] > before:
                break
        assert seen[0] > before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_two_filters_merge_crosswise():
    a, b = Filter(100_000, kind="blocked"), Filter(100_000, kind="blocked")

    def merge(x, y):
        for _ in range(200):
            x |= y
            x.overlap(y)

    threads(lambda: merge(a, b), lambda: merge(b, a), lambda: merge(a, a))


def test_two_filters_are_combined_by_many_threads():
    code = """
import faulthandler, sys, threading, numpy as np
from libnay import Filter
faulthandler.dump_traceback_later(250, exit=True)
sys.setswitchinterval(1e-6)
a = Filter(300_000, 0.01, kind="blocked", key="int")
b = a.empty()
ids = np.arange(20_000)
a.update(ids), b.update(ids + 20_000)

def repeat(call):
    for _ in range(500):
        call()

calls = [lambda: a.merge(b)] * 3 + [lambda: b.merge(a)] * 3 + [lambda: a.overlap(b)] * 3 + [lambda: b.overlap(a)] * 3
all_of_them = [threading.Thread(target=repeat, args=(call,)) for call in calls]
for t in all_of_them: t.start()
for t in all_of_them: t.join()
assert a.check_many(ids).all() and b.check_many(ids + 20_000).all()
print("all ended")
"""
    done = run(code)
    assert done.stdout == "all ended\n", done.stderr


def test_closing_while_others_work():
    f = Filter(1000, key="int")
    keys = np.arange(1_000_000)

    def work():
        with pytest.raises(ValueError, match="closed"):
            while True:
                f.check_many(keys)
                f.add(5)

    threads(work, work, lambda: (time.sleep(0.05), f.close()))


def child(f, queue):
    queue.put((f.check_many(["a", "z"]), "a" in f, f.add("new")))


def test_fork_and_spawn():
    f = Filter(1000)
    f.update(["a", "b"])
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(f, queue))
        process.start()
        assert queue.get(timeout=120) == ([True, False], True, True)
        process.join()
    assert "new" not in f


def test_fork_while_another_thread_works():
    code = """
import libnay, numpy, os, threading
change = {change}
f = libnay.Filter(100_000_000, 0.01, kind="blocked", key="int")
keys = numpy.arange(15_000_000)
started = threading.Event()
def work():
    started.set()
    while not stop: f.update(keys) if change else f.check_many(keys)
stop = False
thread = threading.Thread(target=work); thread.start(); started.wait()
results = []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        try:
            f.add(7); ok = 7 in f and f.check_many([7]) == [True] and f.stats().nkeys > 0
            f.close()
        except RuntimeError as error:
            ok = change and "forked" in str(error)
        os._exit(0 if ok else 1)
    results.append(os.waitpid(pid, 0)[1])
stop = True; thread.join()
assert not any(results), results
assert 5 in f or not change
print("done")
"""
    for change in (True, False):
        done = run(code.replace("{change}", str(change)))
        assert done.stdout == "done\n", done.stderr


def test_the_end_of_the_interpreter():
    for code in (
        "import libnay; f = libnay.Filter(10); import sys; sys.modules['keep'] = f; f.me = 1 if False else None",
        "import libnay, atexit; f = libnay.Filter(10); atexit.register(lambda: print(f.add('a'), 'a' in f))",
        """
import libnay, numpy, threading, time
f = libnay.Filter(10**7, key='int')
def work():
    while True: f.update(numpy.arange(10**6)); f.check_many(range(1000))
for i in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
        """
import libnay
class Late:
    f = libnay.Filter(10)
    def __del__(self): self.f.add('x'); self.f.close()
late = Late()
""",
        "import libnay, sys; del sys.modules['libnay'], sys.modules['libnay._libnay']; import libnay; libnay.Filter(9).add('a')",
    ):
        done = run(code)
        known = "has no attribute 'me'" in done.stderr
        assert (done.returncode == 0 or known) and "Fatal" not in done.stderr and "Sanitizer" not in done.stderr, done.stderr


def test_subinterpreters_are_refused():
    interpreters = pytest.importorskip("_xxsubinterpreters")
    done = run(
        "import _xxsubinterpreters as x; i = x.create()\n"
        "try: x.run_string(i, 'import libnay')\n"
        "except x.RunFailedError as e: print(e)\n"
    )
    assert "subinterpreter" in done.stdout, done.stdout + done.stderr
    assert interpreters


def test_interrupts():
    code = """
import libnay, numpy, os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job of a shell may ignore it
f = libnay.Filter(1000, key='int')
keys = numpy.arange(10**8)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True: f.check_many(keys)
except KeyboardInterrupt:
    print('interrupted', f.add(5) in (True, False))
"""
    assert run(code).stdout == "interrupted True\n"


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def exercise(i):
    f = Filter(100, 0.01, kind=["bloom", "blocked", "counting"][i % 3])
    f.update(["a", "b", str(i)])
    f.check_many(["a", b"b"])
    f.add("c")
    pickle.loads(pickle.dumps(f)) if i % 10 == 0 else None
    for wrong in (1, None):
        try:
            f.add(wrong)
        except TypeError:
            pass
    if i % 20 == 0:
        g = Filter.build(np.arange(20), kind="fuse")
        g.check_many(np.arange(5))
        g.explain(3), g.stats(), f | f.empty()
        m = Map.build({"a": i}, check_bits=8)
        m["a"], m.get_many(["a", "b"]), m.get_many(np.array(["a"]))
        for wrong in (lambda: Filter.decode(b"nay"), lambda: Filter(bogus=1), lambda: Filter.build([1, "q"]),
                      lambda: f.check_many(np.array([1.5])), lambda: f | g, lambda: Filter.open("/nowhere/x"),
                      lambda: Filter(10, key="soundex")):
            try:
                wrong()
            except (TypeError, ValueError, OSError):
                pass
    if i % 50 == 0:
        with f:
            pass


def test_no_leaks():
    sanitized = "NAY_SANITIZED" in os.environ
    rounds = int(os.environ.get("NAY_PYTHON_OBJECTS", 2_000 if sanitized else 20_000))
    for i in range(rounds // 10):
        exercise(i)
    gc.collect()
    before, blocks = resident(), sys.getallocatedblocks()
    for i in range(rounds):
        exercise(i)
    gc.collect()
    assert sys.getallocatedblocks() < blocks + 2000
    assert sanitized or resident() < before + 4_000_000


@pytest.mark.skipif("NAY_SANITIZED" not in os.environ, reason="for the build with AddressSanitizer")
@pytest.mark.parametrize("leak", [False, True])
def test_leaksanitizer_blames_the_module_for_nothing(leak):
    """The interpreter leaks of its own; what the module allocated is told by its name. With `leak` there is something."""
    rounds = int(os.environ.get("NAY_PYTHON_OBJECTS", 1000))
    code = f"""
import ctypes, gc, libnay, test_process
for i in range({rounds}): test_process.exercise(i)
if {leak}:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(libnay.Filter(1000)))
gc.collect()
"""
    done = run(code, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=1:exitcode=0")
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        pytest.skip("LeakSanitizer cannot stop the threads here")
    blamed = [part for part in done.stderr.split("\n\n") if re.search(r" in (nay_|py_)|_libnay", part)]
    assert bool(blamed) == leak, "\n\n".join(blamed)[:5000] or done.stderr[:2000]


def test_no_reference_is_kept():
    key = "key-%d" % os.getpid()
    number = 10**18 + 7
    f, g = Filter(1000), Filter(1000, key="int")
    rows, numbers = [key] * 100, [number] * 100
    array = np.arange(100)
    counts = [sys.getrefcount(x) for x in (key, number, rows, array, f, Filter)]
    for _ in range(50):
        f.add(key), key in f, f.add_many(rows), f.check_many(rows), f.update(rows, tuple(rows)), f.explain(key), f.hash(key)
        g.add(number), number in g, g.add_many(numbers), g.check_many(array), g.update(array), g.check_hashes(array)
        Filter.build(rows), Filter.build(array), f.copy(), f.empty(), f | f.empty(), f.overlap(f), repr(f), len(f), f.encode()
        for wrong in (lambda: f.add(number), lambda: f.check_many(array), lambda: g.check_many([key]), lambda: f.remove(key)):
            try:
                wrong()
            except (TypeError, ValueError, KeyError):
                pass
    gc.collect()
    assert [sys.getrefcount(x) for x in (key, number, rows, array, f, Filter)] == counts
