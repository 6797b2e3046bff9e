"""Compiles the extension with the whole library inside: its amalgamation, nay.c and nay.h.

In the sources of nay the amalgamation is made anew; a source distribution has it. It needs a C
compiler and the header of libxxhash, and no network.
"""
import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup

HERE = pathlib.Path(__file__).resolve().parent
SINGLE = HERE / "c" / "amalgamation"
TOOL = HERE.parent.parent / "tools" / "amalgamate.py"

if TOOL.exists():
    subprocess.run([sys.executable, str(TOOL), str(SINGLE)], check=True, stdout=subprocess.DEVNULL)
numbers = re.findall(r"#define NAY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (SINGLE / "nay.h").read_text())

extension = Extension(
    "libnay._libnay",
    sources=[*sorted(f"c/{path.name}" for path in (HERE / "c").glob("*.c")), "c/amalgamation/nay.c"],
    include_dirs=["c/amalgamation"],
    define_macros=[("NAY_PYTHON_AMALGAMATION", "1"), ("Py_LIMITED_API", "0x030b0000"), ("_GNU_SOURCE", "1")],
    extra_compile_args=["-std=c11", "-fvisibility=hidden"],
    libraries=["pthread"],
    py_limited_api=True,
)
setup(
    version=".".join(numbers[:3]),
    ext_modules=[extension],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
