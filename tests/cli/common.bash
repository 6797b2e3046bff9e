# What every script here starts with: the program that was just built, in a directory of the test's own.
bats_require_minimum_version 1.5.0
NAY_BUILD=${NAY_BUILD:-$BATS_TEST_DIRNAME/../../build/dev}
PATH=$NAY_BUILD/cli:$PATH
unset NO_COLOR CLICOLOR_FORCE
export LC_ALL=C

setup() {
  [ -x "$NAY_BUILD/cli/nay" ] || { echo "no program in $NAY_BUILD/cli"; return 1; }
  cd "$BATS_TEST_TMPDIR" || exit 1
}

# eventually COMMAND...: waits until it succeeds; a minute, for machines that have other things to do.
eventually() {
  for _ in $(seq 1200); do
    "$@" && return 0
    sleep 0.05
  done
  echo "after a minute still not: $*"
  return 1
}

# flip FILE OFFSET: inverts one bit in the middle of a byte.
flip() {
  python3 - "$1" "$2" <<'PY'
import sys
path, offset = sys.argv[1], int(sys.argv[2])
with open(path, "r+b") as f:
    f.seek(offset)
    byte = f.read(1)[0]
    f.seek(offset)
    f.write(bytes([byte ^ 0x10]))
PY
}
