"""What the tests of the Redis module share: a client that sees bytes, servers that never outlive us, TAP.

The module under test is the one of this build, the server the one in the path. Both can be named, so
that the same tests run on another server or on another module of the same commands:

    NAY_REDIS_SERVER, NAY_REDIS_CLI    programs, or words of a command line: redis-server, redis-cli
    NAY_REDIS_MODULE                   the shared object to load
    NAY_REDIS_PRELOAD                  the runtime of the sanitizer that the module was built with, if any
"""
import atexit
import ctypes
import io
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("NAY_BUILD", SOURCE / "build/dev"))
SERVER = shlex.split(os.environ.get("NAY_REDIS_SERVER", "redis-server"))
CLI = shlex.split(os.environ.get("NAY_REDIS_CLI", "redis-cli"))
MODULE = os.environ.get("NAY_REDIS_MODULE", str(BUILD / "nay_redis.so"))
PRELOAD = os.environ.get("NAY_REDIS_PRELOAD", "")
GOLDEN = SOURCE / "tests/golden/redis"
LONG = "--long" in sys.argv
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG: a server dies with its test, even when that is killed


class Error(Exception):
    """A reply that begins with '-'."""


def encode(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Client:
    """RESP2, or RESP3 when asked. raw() gives the bytes of a reply, a call its value."""

    def __init__(self, address, protocol=2, timeout=300):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb", 1 << 16)
        if protocol == 3:
            self("HELLO", 3)

    def close(self):
        self.file.close()
        self.socket.close()

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        return line

    def read(self):
        """One reply: (its bytes, its value). A map is a flat list, as in RESP2."""
        line = self.line()
        kind, text = line[:1], line[1:-2]
        if kind in b"$=":
            if int(text) < 0:
                return line, None
            body = self.file.read(int(text) + 2)
            return line + body, body[:-2]
        if kind in b"*%~>":
            count = int(text) * (2 if kind == b"%" else 1)
            items = [self.read() for _ in range(count)]
            value = [item[1] for item in items] if int(text) >= 0 else None
            return line + b"".join(item[0] for item in items), value
        if kind == b"-":
            return line, Error(text.decode())
        values = {b"+": lambda: text, b":": lambda: int(text), b"#": lambda: int(text == b"t"),
                  b"_": lambda: None, b",": lambda: float(text)}
        return line, values[kind]()

    def raw(self, *words):
        self.socket.sendall(encode(*words))
        return self.read()[0]

    def __call__(self, *words):
        value = self.ask(*words)
        if isinstance(value, Error):
            raise value
        return value

    def ask(self, *words):
        """Like a call, but an error is a value."""
        self.socket.sendall(encode(*words))
        return self.read()[1]

    def many(self, commands):
        """The values of many commands sent at once."""
        commands = list(commands)
        self.socket.sendall(b"".join(encode(*words) for words in commands))
        return [self.read()[1] for _ in commands]

    def info(self, section):
        lines = self("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


def parse(data):
    """The value of a reply that is at hand as bytes."""
    client = Client.__new__(Client)
    client.file = io.BytesIO(data)
    return client.read()[1]


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def free_port():
    """A node of a cluster also takes its port plus 10000: both below those of outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(10000, 20000)
        if is_free(port) and is_free(port + 10000):
            return port


class Clock:
    """The time of day of a server, by clock.c. It stands still until a test sets it; without `start` it runs, so many
    seconds before the real one, as the timers of replication need it."""

    library = str(BUILD / "tests/redis/clock.so")

    def __init__(self, start=None):
        self.runs = start is None
        self.file = tempfile.NamedTemporaryFile(prefix="nay-clock-", buffering=0)
        self.set(start or 0)

    def set(self, seconds):
        self.seconds = seconds
        self.file.seek(0)
        self.file.write(struct.pack("=qq", seconds * 1000000, self.runs))


class Server:
    """A server in a directory of its own. `port=True` also listens on the loopback address."""

    living = set()

    def __init__(self, *options, port=False, module=MODULE, arguments=(), directory=None, clock=None):
        self.directory = directory or tempfile.mkdtemp(prefix="nay-redis-")
        self.path = os.path.join(self.directory, "socket")
        self.port = free_port() if port else 0
        self.words = [*SERVER, "--port", str(self.port), "--unixsocket", self.path, "--dir", self.directory,
                      "--save", "", "--enable-debug-command", "yes", "--logfile", "log",
                      "--bind", "127.0.0.1", *map(str, options)]
        if module:
            self.words += ["--loadmodule", module, *map(str, arguments)]
        libraries = [library for library in (PRELOAD, clock and clock.library) if library]
        self.environment = dict(os.environ, **({"NAY_CLOCK": clock.file.name} if clock else {}))
        if libraries:
            self.environment["LD_PRELOAD"] = ":".join(libraries)
        if PRELOAD:  # Redis does not free everything before it exits
            self.environment["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        Server.living.add(self)
        self.start()

    def start(self, wait=True):
        libc = ctypes.CDLL(None)
        self.process = subprocess.Popen(self.words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        preexec_fn=lambda: libc.prctl(DIE_WITH_PARENT, signal.SIGKILL))
        if wait:
            self.wait_until(self.answers, 60, "no answer after the start")

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("the server ended at its start:\n" + self.log())
        try:
            client = self.client()
        except OSError:
            return False
        ready = client.ask("PING") == b"PONG"  # not while it loads its files
        client.close()
        return ready

    @staticmethod
    def wait_until(condition, seconds, what):
        end = time.monotonic() + 5 * seconds  # of a machine that has nothing else to do
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.01)

    def client(self, protocol=2):
        return Client(self.path, protocol)

    def log(self, lines=40):
        try:
            text = pathlib.Path(self.directory, "log").read_text(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        except OSError:
            return ""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def alive(self):
        return self.process.poll() is None

    def close(self):
        self.kill()
        Server.living.discard(self)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    @classmethod
    def close_all(cls):
        for server in list(cls.living):
            server.close()


atexit.register(Server.close_all)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

# ---- TAP ----

TESTS = []


def test(name, needs=()):
    """Marks a test. It is given a client of an empty server; `needs` names commands it cannot do without."""

    def mark(function):
        TESTS.append((name, needs, function))
        return function

    return mark


class Skip(Exception):
    """The test cannot run here, and says why."""


def shown(value):
    text = repr(value)
    return text if len(text) < 400 else text[:400] + "..."


def equal(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got {shown(got)}, wanted {shown(wanted)}")


def refuses(client, text, *words):
    """The command gives this error, or one that begins with it."""
    reply = client.ask(*words)
    if not isinstance(reply, Error) or not str(reply).startswith(text):
        raise AssertionError(f"{words}: got {reply!r}, wanted an error {text!r}")


def has_command(client, name):
    return client("COMMAND", "INFO", name)[0] is not None


def run_one(server, needs, function):
    client = server.client()
    for name in needs:
        if not has_command(client, name):
            raise Skip(f"the module has no {name}")
    client("FLUSHALL", "SYNC")
    function(client)
    client.close()
    if not server.alive():
        raise RuntimeError("the server died")


def tell(text):
    for line in text.splitlines():
        print(f"# {line}", flush=True)


def main(*options):
    """Runs the marked tests and prints TAP. A server that dies fails its test and is started again."""
    failed, server = 0, Server(*options)
    for number, (name, needs, function) in enumerate(TESTS, 1):
        try:
            run_one(server, needs, function)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            tell(traceback.format_exc())
            if not server.alive():
                tell(server.log())
                server.restart()
    print(f"1..{len(TESTS)}")
    server.close()
    sys.exit(1 if failed else 0)
