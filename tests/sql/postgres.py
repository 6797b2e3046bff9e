"""Private servers of PostgreSQL for tests and benchmarks: nothing outside of a temporary directory is written.

A server finds its extensions beside its own program, so the tree of the installed server is made again of links, with
a copy of the programs, and the extension is installed there. Servers listen on a socket in that directory alone, and
are stopped at the end of the test. As root they run as the user postgres, or nobody.
"""
import atexit
import ctypes
import ctypes.util
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from tap import BUILD, SOURCE, Skip

CONFIG = os.environ.get("NAY_PG_CONFIG", "pg_config")
TUPLES, COMMAND, EMPTY = 2, 1, 0


class Error(Exception):
    def __init__(self, state, message, hint):
        super().__init__(f"{state}: {message}" + (f" ({hint})" if hint else ""))
        self.state, self.message, self.hint = state, message, hint


def config(what):
    return subprocess.run([CONFIG, what], capture_output=True, text=True, check=True).stdout.strip()


def available():
    if not shutil.which(CONFIG):
        return "no pg_config here"
    for path in (f"{config('--bindir')}/initdb", f"{config('--includedir-server')}/postgres.h"):
        if not os.path.exists(path):
            return f"no {os.path.basename(path)} here (postgresql-15, postgresql-server-dev-15)"
    return "" if ctypes.util.find_library("pq") else "no libpq here"


class Client:
    """One connection. Calls give rows of texts, None for NULL; parameters are texts, or bytes for binary."""
    libpq = None

    def __init__(self, words):
        if Client.libpq is None:
            lib = Client.libpq = ctypes.CDLL(ctypes.util.find_library("pq"))
            for name in ("PQconnectdb", "PQexec", "PQexecParams", "PQgetResult"):
                getattr(lib, name).restype = ctypes.c_void_p
            for name in ("PQgetvalue", "PQerrorMessage", "PQresultErrorField"):
                getattr(lib, name).restype = ctypes.c_char_p
            lib.PQgetvalue.restype = ctypes.c_void_p
        self.lib = Client.libpq
        self.notices = []
        self.handle = ctypes.c_void_p(self.lib.PQconnectdb(words.encode()))
        if self.lib.PQstatus(self.handle) != 0:
            raise Error("08000", self.lib.PQerrorMessage(self.handle).decode(), None)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
        self.processor = kind(lambda _, text: self.notices.append(text.decode("utf-8", "replace")))
        self.lib.PQsetNoticeProcessor(self.handle, self.processor, None)

    def close(self):
        if self.handle:
            self.lib.PQfinish(self.handle)
            self.handle = None

    def field(self, result, code):
        text = self.lib.PQresultErrorField(result, ord(code))
        return text.decode("utf-8", "replace") if text else None

    def __call__(self, sql, *parameters, binary=False):
        n = len(parameters)
        values = [p if isinstance(p, bytes) or p is None else str(p).encode() for p in parameters]
        result = ctypes.c_void_p(self.lib.PQexecParams(
            self.handle, sql.encode(), n, None, (ctypes.c_char_p * n)(*values),
            (ctypes.c_int * n)(*(len(v) if v is not None else 0 for v in values)),
            (ctypes.c_int * n)(*(int(isinstance(p, bytes)) for p in parameters)), int(binary))
            if n or binary else self.lib.PQexec(self.handle, sql.encode()))
        return self.rows(result, binary)

    def rows(self, result, binary):
        lib = self.lib
        status = lib.PQresultStatus(result)
        try:
            if status not in (TUPLES, COMMAND, EMPTY):
                raise Error(self.field(result, "C") or "08006",
                            self.field(result, "M") or lib.PQerrorMessage(self.handle).decode(), self.field(result, "H"))
            rows = []
            for i in range(lib.PQntuples(result)):
                row = []
                for j in range(lib.PQnfields(result)):
                    value = None
                    if not lib.PQgetisnull(result, i, j):
                        value = ctypes.string_at(lib.PQgetvalue(result, i, j), lib.PQgetlength(result, i, j))
                    row.append(value if binary or value is None else value.decode())
                rows.append(tuple(row))
            return rows
        finally:
            lib.PQclear(result)

    def one(self, sql, *parameters, binary=False):
        rows = self(sql, *parameters, binary=binary)
        assert len(rows) == 1, rows
        return rows[0][0] if len(rows[0]) == 1 else rows[0]

    def fails(self, sql, *parameters):
        try:
            rows = self(sql, *parameters)
        except Error as error:
            return error
        raise AssertionError(f"{sql}: no error, but {str(rows)[:200]}")


def user():
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise Skip("no user to run a server as")


def compile_extension(where):
    """PGXS, out of the tree. NAY_BUILD is the directory of libnay.a."""
    where.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["make", "-s", "-C", where, "-f", SOURCE / "plugins/postgres/Makefile", f"PG_CONFIG={CONFIG}",
                           f"NAY_BUILD={BUILD}", "NAY_CFLAGS=-Wextra -Wno-unused-parameter -Werror"],
                          capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


class Place:
    """The programs and the extension, in a directory of its own."""

    def __init__(self, make_install=None):
        """make_install(DESTDIR) installs the extension; without it, this build's is installed by its own Makefile."""
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="nay-pg-"))
        self.user = user()
        self.clusters = []
        atexit.register(self.close)
        signal.signal(signal.SIGTERM, lambda *_: exit(1))
        bin_, lib, share = (pathlib.Path(config(what)) for what in ("--bindir", "--pkglibdir", "--sharedir"))
        self.bin = self.root / bin_.relative_to("/")
        shutil.copytree(bin_, self.bin)
        for folder in (lib, share):
            self.link(folder)
        (make_install or self.install)(self.root)
        self.own(self.root)

    def install(self, destination):
        compile_extension(BUILD / "postgres")
        subprocess.run(["make", "-s", "-C", BUILD / "postgres", "-f", SOURCE / "plugins/postgres/Makefile", "install",
                        f"PG_CONFIG={CONFIG}", f"NAY_BUILD={BUILD}", f"DESTDIR={destination}"], check=True,
                       capture_output=True, timeout=900)

    def link(self, folder):
        target = self.root / folder.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        for entry in folder.iterdir():
            place = target / entry.name
            if entry.name == "extension":
                place.mkdir()
                for file in entry.iterdir():
                    if not file.name.startswith("nay"):
                        (place / file.name).symlink_to(file)
            elif not place.exists() and entry.name != "nay.so":
                place.symlink_to(entry)

    def own(self, path):
        if self.user:
            shutil.chown(path, self.user.pw_uid, self.user.pw_gid)

    def run(self, *words, **options):
        words = [str(word) for word in words]
        if self.user:
            words = ["runuser", "-u", self.user.pw_name, "--", *words]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=self.root, **options)

    def cluster(self, name, *settings, encoding="UTF8"):
        cluster = Cluster(self, name, settings, encoding)
        self.clusters.append(cluster)
        return cluster

    def close(self):
        for cluster in self.clusters:
            cluster.stop("immediate")
        shutil.rmtree(self.root, ignore_errors=True)


class Cluster:
    def __init__(self, place, name, settings, encoding):
        self.place, self.data, self.sockets = place, place.root / f"{name}.data", place.root / name
        self.sockets.mkdir()
        place.own(self.sockets)
        done = place.run(place.bin / "initdb", "-D", self.data, "-A", "trust", "-U", "nay", "-E", encoding, "--locale=C",
                         "--no-sync", "--no-instructions")
        assert done.returncode == 0, done.stdout + done.stderr
        with open(self.data / "postgresql.conf", "a") as conf:
            for setting in ("listen_addresses = ''", f"unix_socket_directories = '{self.sockets}'", "fsync = off",
                            "shared_buffers = 64MB", "max_connections = 30", "autovacuum = off", *settings):
                conf.write(setting + "\n")
        self.start()

    def start(self):
        done = self.place.run(self.place.bin / "pg_ctl", "-D", self.data, "-w", "-t", "240", "-l", f"{self.data}.log", "start")
        assert done.returncode == 0, done.stdout + done.stderr + self.log()

    def stop(self, mode="fast"):
        self.place.run(self.place.bin / "pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def log(self):
        path = pathlib.Path(f"{self.data}.log")
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def words(self, database="postgres"):
        return f"host={self.sockets} user=nay dbname={database}"

    def connect(self, database="postgres"):
        return Client(self.words(database))
