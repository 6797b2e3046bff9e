# Sets python to one that has what the tests need, or to nothing. NAY_PYTHON names another one.
python=
for candidate in ${NAY_PYTHON:-} /usr/bin/python3 python3; do
  if "$candidate" -c 'import sys, numpy, pandas, pytest, hypothesis; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate; break
  fi
done
