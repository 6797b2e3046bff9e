/* cmd_add.c - nay add and nay remove: change a filter in place, all at once. */
#include "filterfile.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"

static int add_run(options *o) {
  const char *out = filterfile_target(o);
  nay_filter *f = filterfile_open(o->operands[0], o);
  unsigned traits;
  const char *kind = filterfile_kind(f, &traits);
  if ((traits & NAY_CAN_ADD) == 0) {
    die(EXIT_TROUBLE, "a %s filter is static: rebuild it from all keys", kind);
  }
  key_stream *s = stream_open(o, (const char *const *)o->operands + 1, (size_t)o->noperands - 1, f);
  add_all(f, s);
  uint64_t nkeys = stream_nkeys(s);
  stream_close(s);
  filterfile_save(f, out);
  int status = filterfile_report(o, "added to", out, f, nkeys, 0);
  nay_filter_free(f);
  return status;
}

const command command_add = {
    .name = "add",
    .run = add_run,
    .summary = "add keys to a filter, in place",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .takes = TAKES_FILTER | TAKES_KEYS | TAKES_OUTPUT | TAKES_JSON | TAKES_STRICT,
    .about =
        "Adds keys to a filter and replaces its file atomically at the end: a reader, or a crash, "
        "sees the old filter or the new one. Commands that change the same file wait for each "
        "other: see FILES in nay(1). -o writes the result to another file. If a key file cannot "
        "be read, nothing is written. When the filter then holds more keys than planned, a "
        "warning states the promised false-positive rate (FPR) and the current one; with --strict "
        "the exit status is then 4.",
    .examples =
        "$ seq 10 | nay build -q -n 20 -p 1e-6 -o f.nay\n"
        "$ seq 11 12 | nay add -q f.nay\n"
        "$ seq 9 14 | nay check f.nay\n"
        "9\n10\n11\n12\n",
};
