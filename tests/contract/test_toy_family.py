#!/usr/bin/env python3
"""A new family is one file, one line and one number: adds `toy` to a copy of the library by these steps alone,
builds it, and runs the contract tests over it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
TESTS = ("test_arguments", "test_answers", "test_pieces", "test_files")

# Core verbs only: no batches, no bulk loading, no algebra of its own.
TOY = """/* toy.c - a Bloom filter of one probe: the least that a family can be. */
#include "base/bits.h"
#include "family/bitarray.h"
#include "family/family.h"
#include "math/fpr.h"
#include "math/plan.h"

static nay_status toy_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (p->k > 1) return nay__fail(diag, NAY_EINVAL, "k is not 1", 0);
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: toy does not fold", 0);
  double nbits = by == NAY_BY_FPR            ? (double)p->nkeys / p->fpr + 1
                 : by == NAY_BY_BITS_PER_KEY ? (double)p->nkeys * p->bits_per_key
                 : by == NAY_BY_NBYTES       ? (double)(p->nbytes / 8 * 64)
                                             : (double)p->nbits;
  if (nbits < 1) return nay__fail(diag, NAY_EINVAL, "nbytes or bits_per_key is below one bit", 0);
  if (nbits > (double)NAY_MAX_NBITS) return nay__fail(diag, NAY_EINVAL, "fpr is too low", 0);
  *shape = (nay_shape){(uint64_t)nbits, 1, 0};
  return NAY_OK;
}

static bool toy_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS) return false;
  if (shape->k != 1 || shape->extra != 0) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 64) * 8;
  return true;
}

static double toy_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_bloom(shape->nunits, 1, nkeys);
}

static void toy_to_params(const nay_filter *f, nay_params *p) { p->nbits = f->shape.nunits; }

static nay_status toy_check(const nay_shape *shape, const uint8_t *payload, size_t len, nay_diag *diag) {
  if (nay__bits_tail_clear(payload, len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past the end of the array", len - 1);
}

static void toy_census(const nay_filter *a, const nay_filter *b, uint64_t factor, nay_census *census) {
  (void)b, (void)factor;
  uint64_t nbits = a->shape.nunits, set = nay__bits_count(a->bits.bytes, a->nbytes);
  *census = (nay_census){nbits, set, nay__estimate_keys(nbits, 1, set), (double)set / (double)nbits};
}

static bool toy_test(const nay_filter *f, nay_hash h) {
  return nay__bit_get(f->bits.bytes, nay__reduce(h.lo, f->shape.nunits));
}

static nay_status toy_add(nay_filter *f, nay_hash h, bool *is_new) {
  *is_new = !nay__bit_set(f->bits.bytes, nay__reduce(h.lo, f->shape.nunits));
  return NAY_OK;
}

const nay_family nay__family_toy = {
    .kind = NAY_TOY,
    .name = "toy",
    .traits = NAY_CAN_ADD,
    .plan = toy_plan,
    .payload = toy_payload,
    .fpr = toy_fpr,
    .to_params = toy_to_params,
    .check = toy_check,
    .census = toy_census,
    .test = toy_test,
    .add = toy_add,
    .batch = &nay__batch_each,
};
"""

PROJECT = """cmake_minimum_required(VERSION 3.21)
project(toy C)
enable_testing()
add_subdirectory(tree)
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
foreach(name {tests})
  add_executable(${{name}} {source}/tests/contract/${{name}}.c only_toy.c)
  target_compile_definitions(${{name}} PRIVATE TEST_GOLDEN="{source}/tests/golden" TEST_SOURCE="{source}")
  target_include_directories(${{name}} PRIVATE {source}/tests ${{CMAKE_SOURCE_DIR}}/tree/src ${{XXHASH_INCLUDE}})
  target_link_libraries(${{name}} PRIVATE nay_static ${{CMOCKA_LIBRARY}} pthread)
endforeach()
"""

ONLY_TOY = """void cmocka_set_test_filter(const char *pattern);
__attribute__((constructor)) static void only_toy(void) { cmocka_set_test_filter("toy: *"); }
"""


def replace_once(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {old!r}"
    path.write_text(text.replace(old, new))


def call(*arguments, **more):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=1800, **more)
    return done.returncode, done.stdout + done.stderr


def make(top):
    tree = top / "tree"
    for part in ("include", "src", "cmake"):
        shutil.copytree(SOURCE / part, tree / part)
    shutil.copy(SOURCE / "CMakeLists.txt", tree)
    (tree / "src/family/toy.c").write_text(TOY)  # the file
    replace_once(tree / "src/family/families.h", "  X(ribbon)\n", "  X(ribbon) \\\n  X(toy)\n")  # the line
    replace_once(tree / "include/nay.h", "  NAY_AUTO = 0, ", "  NAY_TOY = 200,\n  NAY_AUTO = 0, ")  # the number
    (top / "CMakeLists.txt").write_text(PROJECT.format(source=SOURCE, tests=" ".join(TESTS)))
    (top / "only_toy.c").write_text(ONLY_TOY)
    for step in (["cmake", "-S", top, "-B", top / "out", "-DCMAKE_C_FLAGS=-O1"],
                 ["cmake", "--build", top / "out", "-j2", "--target", *TESTS]):
        code, text = call(*step)
        assert code == 0, text


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="nay-toy-") as directory:
        top = pathlib.Path(directory)
        make(top)
        for i, name in enumerate(TESTS, 1):
            code, text = call(top / "out" / name, cwd=top, env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"})
            ran = text.count("\nok ") + text.startswith("ok ")
            good = code == 0 and ran > 0
            failed += not good
            print(f"{'ok' if good else 'not ok'} {i} - toy: {ran} tests of {name}")
            if not good:
                print("\n".join("# " + line for line in text.splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
