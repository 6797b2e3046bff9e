"""DuckDB from npm, driven from Python through duckdb_shell.mjs."""
import json
import os
import pathlib
import shutil
import subprocess

from tap import BUILD, SOURCE, equal

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = BUILD / "tests/sql/node"
EXTENSION = BUILD / "duckdb/nay.duckdb_extension"


class Error(Exception):
    pass


def install():
    """The packages of package-lock.json, below the build directory, once; returns why not, or ''."""
    wanted = (HERE / "node/package-lock.json").read_bytes()
    lock, mark = PACKAGES / "package-lock.json", PACKAGES / "installed"
    if mark.exists() and lock.exists() and lock.read_bytes() == wanted:
        return ""
    if not shutil.which("npm"):
        return "no npm here (make deps TIER=test)"
    shutil.rmtree(PACKAGES / "node_modules", ignore_errors=True)
    PACKAGES.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "node" / name, PACKAGES / name)
    # not `npm ci`: it wants the bindings of every platform in the lock, and registries need not have them all
    done = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=PACKAGES,
                          capture_output=True, text=True, timeout=900)
    if done.returncode:
        return "npm cannot install DuckDB: " + " ".join(done.stderr.split())[:200]
    mark.touch()
    return ""


def available():
    if not EXTENSION.exists():
        return "the extension was not built"
    return install()


def blob(bytes_):
    return f"unhex('{bytes_.hex()}')"


class Duck:
    def __init__(self, extension=EXTENSION, cwd=None):
        self.process = subprocess.Popen(["node", HERE / "duckdb_shell.mjs", PACKAGES, extension], text=True, cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, sql):
        self.process.stdin.write(json.dumps({"sql": sql}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "DuckDB is gone"}')
        if "error" in answer:
            raise Error(answer["error"])
        return answer["rows"]

    def one(self, sql):
        rows = self(sql)
        equal(len(rows), 1)
        return rows[0][0] if len(rows[0]) == 1 else rows[0]

    def bytes(self, sql):
        got = self.one(f"SELECT hex(({sql}))")
        return None if got is None else bytes.fromhex(got)

    def fails(self, sql):
        try:
            rows = self(sql)
        except Error as error:
            return str(error)
        raise AssertionError(f"{sql[:300]}: no error, but {str(rows)[:200]}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
