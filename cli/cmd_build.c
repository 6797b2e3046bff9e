/* cmd_build.c - nay build: keys in, a filter out. */
#include "filterfile.h"
#include "maker.h"
#include "outfile.h"

/* A filter planned for no keys has no room for any. */
static void build_warn_empty(const nay_filter *f) {
  if ((nay_kind_traits(nay_filter_kind(f)) & NAY_CAN_ADD) == 0) return;
  words_error("warning: the input has no keys, and the filter no room for later ones: give -n");
}

static int build_run(options *o) {
  const char *out = o->out != NULL ? o->out : "-";
  outfile_may_write(out, o->force);
  nay_params p = options_params(o, 0.01);
  if (filterfile_secret(o, p.key)) p.hash = NAY_HASH_SIPHASH;
  if (o->store_key && o->secret == NULL) die(EXIT_TROUBLE, "--store-key needs --secret");
  if (o->store_key) p.flags |= NAY_STORE_KEY;
  uint64_t nkeys;
  nay_filter *f =
      make_filter(o, o->format, &p, (const char *const *)o->operands, (size_t)o->noperands, &nkeys);
  if (o->meta != NULL) {
    if (o->format != NULL) die(EXIT_TROUBLE, "--meta: only native files keep notes");
    if (nay_filter_set_meta(f, o->meta, __builtin_strlen(o->meta)) != NAY_OK) {
      die(EXIT_TROUBLE, "cannot keep --meta");
    }
  }
  filterfile_save(f, out);
  int status = filterfile_report(o, "built", out, f, nkeys, p.fpr);
  if (nkeys == 0 && o->nkeys == 0) build_warn_empty(f);
  nay_filter_free(f);
  return status;
}

const command command_build = {
    .name = "build",
    .bit = CMD_BUILD,
    .run = build_run,
    .summary = "make a filter from keys",
    .operands = "[KEYFILE...]",
    .max_operands = ANY_NUMBER,
    .about =
        "Reads keys (lines, unless an option says otherwise) from the files or from standard input "
        "and writes a filter of them to the file after -o, or to standard output. The file appears "
        "all at once at the end; nothing is left behind when building fails.\n"
        "\n"
        "One of -p, -b and -M says how large the filter gets; without them it is -p 1%. With -n "
        "the "
        "filter is made at once and keys are added as they come: memory does not grow. Without -n, "
        "files are read twice, the first time to count the keys, repeats included. A pipe cannot "
        "be "
        "read twice: 8 bytes per key are then kept until the end. So do the static families, which "
        "need all keys at once.\n"
        "\n"
        "With --format the bytes are those of another system, hashed as it hashes. With --secret "
        "the hash is keyed (SipHash), for keys that an enemy may choose.",
    .examples =
        "$ seq 1000 | nay build -q -n 1000 -p 1% -o thousand.nay\n"
        "$ seq 995 1005 | nay check thousand.nay\n"
        "995\n996\n997\n998\n999\n1000\n"
        "$ seq 1000 | nay build -q -n 1000 -b 10 --format leveldb -o thousand.ldbf\n"
        "$ wc -c < thousand.ldbf\n"
        "1251\n",
};
