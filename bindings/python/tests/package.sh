#!/usr/bin/env bash
# The package as users install it, offline: a source distribution, a wheel of it, both in a new environment.
#   package.sh         the wheel       package.sh pip   pip install --no-build-isolation of the sources
set -uo pipefail
. "$(dirname "$0")/python.sh"
[ -n "$python" ] && "$python" -c 'import build, wheel, setuptools, venv' 2>/dev/null || {
  echo "ok 1 - the package # SKIP no Python with build, wheel, setuptools and venv"; echo 1..1; exit 0; }
unset PYTHONPATH LD_PRELOAD
tree=$(mktemp -d); trap 'rm -rf "$tree"' EXIT
n=0 failed=0
check() { # name command...
  local name=$1; shift; n=$((n + 1))
  if "$@" >"$tree/log" 2>&1; then echo "ok $n - $name"; else
    failed=1; echo "not ok $n - $name"; tail -n 20 "$tree/log" | sed 's/^/# /'; fi
}
mkdir "$tree/nay"
(cd "$NAY_SOURCE" && git ls-files -z CMakeLists.txt LICENSE include src sst tools bindings/python | xargs -0 cp --parents -t "$tree/nay")
cd "$tree/nay/bindings/python" || exit 1
export CFLAGS=-O0 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
"$python" -m venv --system-site-packages "$tree/env"
smoke='import libnay, sys; f = libnay.Filter.build(range(9), kind="fuse"); assert 7 in f and f.decode(f.encode()).key == "int"
assert libnay.__file__.startswith(sys.prefix), libnay.__file__'
if [ "${1:-}" = pip ]; then
  check "pip install of the sources" "$tree/env/bin/pip" install --no-build-isolation .
else
  check "python -m build makes both" "$python" -m build --no-isolation
  check "the source distribution has the library" sh -c 'tar tzf dist/libnay-*.tar.gz | grep -q c/amalgamation/nay.c'
  check "one wheel for every later CPython" sh -c 'ls dist/*-cp311-abi3-*.whl'
  check "it has the types" sh -c "'$python' -m zipfile -l dist/*.whl | grep -q py.typed"
  check "it installs" "$tree/env/bin/pip" install dist/*.whl
fi
cd "$tree" || exit 1
check "and works" "$tree/env/bin/python" -c "$smoke"
exports() { nm -D --defined-only "$tree"/env/lib/*/site-packages/libnay/_libnay*.so | awk '{ print $3 }'; }
check "it exports PyInit__libnay alone" [ "$(exports)" = PyInit__libnay ]
echo "1..$n"
exit $failed
