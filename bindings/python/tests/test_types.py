"""The types of the package: mypy accepts and refuses, and the stubs say what the extension has."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def mypy(*arguments, module="mypy", cwd=None, **env):
    pytest.importorskip("mypy")
    plain = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PYTHONMALLOC")}
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True,
                          cwd=cwd, env={**plain, **env})
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def source(tmp_path):
    """The package as it is installed: mypy follows no symbolic links to sources."""
    shutil.copytree(pathlib.Path(os.environ["NAY_BUILD"]) / "bindings/python/libnay", tmp_path / "libnay")
    return tmp_path


def test_right_and_wrong_programs(source):
    status, said = mypy("--strict", "--cache-dir", str(source / "cache"), str(HERE / "types/right.py"), MYPYPATH=str(source))
    assert status == 0, said
    wrong = HERE / "types/wrong.py"
    status, said = mypy("--cache-dir", str(source / "cache"), str(wrong), MYPYPATH=str(source))
    refused = {int(n) for n in re.findall(r"wrong.py:(\d+): error", said)}
    lines = wrong.read_text().splitlines()
    wanted = {n for n, line in enumerate(lines, 1) if line and not line.startswith(('"""', "from ", "    "))}
    assert refused == wanted, said


@pytest.mark.skipif("NAY_SANITIZED" in os.environ, reason="loads the extension without the sanitizer")
def test_the_stubs_say_what_there_is(source):
    status, said = mypy("libnay", "--ignore-positional-only", "--allowlist", str(HERE / "types/allowed.txt"),
                        "--ignore-unused-allowlist", module="mypy.stubtest", cwd=source,
                        MYPYPATH=str(source), PYTHONPATH=str(source))
    assert status == 0, said
