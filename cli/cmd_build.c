/* cmd_build.c - nay build: keys in, a filter out. */
#include "described.h"
#include "filterfile.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"

/* A filter planned for zero keys is overfilled by the first add. */
static void build_warn_empty(const nay_filter *f) {
  if ((nay_kind_traits(nay_filter_kind(f)) & NAY_CAN_ADD) == 0) return;
  message_error("warning: the input has no keys, so the filter is sized for none: give -n");
}

/* A window that counts keys drops its oldest generation once all are full. */
static int build_warn_window(const options *o, const nay_filter *f, uint64_t nkeys, int status) {
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  if (s.kind != NAY_WINDOW || s.nkeys == 0) return status;
  uint64_t g = s.nlevels - 1, most = (s.nkeys + g - 1) / g * s.nlevels;
  if (nkeys <= most) return status;
  message_error("warning: a window holds the last %s, and %s were read: it may deny the older ones",
                COUNTED(s.nkeys, "key"), COUNTED(nkeys, "key"));
  return o->strict ? EXIT_OVERFILLED : status;
}

static int build_run(options *o) {
  const char *out = o->out != NULL ? o->out : "-";
  outfile_may_write(out, o->force);
  nay_params p = options_params(o, 0.01);
  if (filterfile_secret(o, p.key)) p.hash = NAY_HASH_SIPHASH;
  if (o->secret != NULL && o->seed != NULL) {
    die(EXIT_TROUBLE, "--seed is for the hash without a key: --secret excludes it");
  }
  if (o->store_key && o->secret == NULL) die(EXIT_TROUBLE, "--store-key needs --secret");
  if (o->store_key) p.flags |= NAY_STORE_KEY;
  uint64_t nkeys;
  size_t npaths;
  const char *const *paths = options_key_files(o, 0, &npaths);
  nay_filter *f = make_filter(o, o->format, &p, paths, npaths, &nkeys);
  describe_filter(o, f);
  if (o->meta != NULL) {
    if (o->format != NULL) die(EXIT_TROUBLE, "--meta: only native files store notes");
    if (nay_filter_set_meta(f, o->meta, __builtin_strlen(o->meta)) != NAY_OK) {
      die(EXIT_TROUBLE, "cannot store --meta");
    }
  }
  filterfile_save(f, out);
  int status = filterfile_report_new(o, "built", out, f, nkeys, p.fpr);
  status = build_warn_window(o, f, nkeys, status);
  if (nkeys == 0 && o->nkeys == 0) build_warn_empty(f);
  nay_filter_free(f);
  return status;
}

static const option_row build_options[] = {
    {"seed", 0, "N|random", OPTION_TEXT, AT(seed), "seed of the hash (default 0)", NULL, 0, NULL},
    ROW_MAX_KEYS,
    {"store-key", 0, NULL, OPTION_FLAG, AT(store_key),
     "store the secret key in the file, which then opens without --secret", NULL, 0, NULL},
    {"meta", 0, "TEXT", OPTION_TEXT, AT(meta), "store a note in the file; nay info shows it", NULL,
     0, NULL},
    {0},
};

const command command_build = {
    .name = "build",
    .run = build_run,
    .summary = "build a filter from keys",
    .operands = "[KEYFILE...]",
    .max_operands = ANY_NUMBER,
    .to_stdout = true,
    .takes = TAKES_FAMILY | TAKES_SIZE | TAKES_SHAPE | TAKES_FILTER | TAKES_KEY_ARGS | TAKES_KEYS |
             TAKES_OUTPUT | TAKES_JSON | TAKES_STRICT,
    .own = build_options,
    .about =
        "Reads keys (lines by default) from the files or from standard input and writes a filter "
        "of them to the file named by -o, or to standard output. The file appears atomically at "
        "the end; a failed build leaves nothing behind. If a key file cannot be read, nothing is "
        "written: the filter would lack keys. -e gives a key on the command line instead.\n"
        "\n"
        "One of -p, -b and -M sets the size; the default is -p 1%. With -n the filter is "
        "allocated first and keys are added as they arrive, in constant memory. Without -n, the "
        "keys are read twice, the first time to count them, duplicates included, when each is a "
        "plain line of a regular file: not compressed, of type text, and without --csv, --tsv, -F, "
        "--crlf, --length-prefixed and --skip-empty. Otherwise, also when one of several files is "
        "a pipe or compressed, they are read once, and a hash of 8 bytes per key is kept until the "
        "end; a message says so. Static families always keep the hashes, "
        "because they need all keys at once; counting, scalable and cuckoo keep them without -n, "
        "so that the filter depends on the set of keys alone. With -n the order of the keys "
        "shows in scalable and cuckoo filters, and counting and cuckoo count duplicates. With "
        "--max-keys a cuckoo filter grows beyond -n, by doubling. A window "
        "(-t window) "
        "takes the keys in their order and holds the last -n; a warning says when more were read, "
        "and with --strict the exit status is then 4.\n"
        "\n"
        "--key says which type the keys have. The file states it, and other commands read their "
        "keys so without being told; see doc/keys.md.\n"
        "\n"
        "--format writes the layout of another system, with that system's hash. --secret selects "
        "a keyed hash (SipHash), for keys that an attacker may choose.",
    .examples =
        "$ seq 1000 | nay build -q -n 1000 -p 1% -o thousand.nay\n"
        "$ seq 995 1005 | nay check thousand.nay\n"
        "995\n996\n997\n998\n999\n1000\n"
        "$ nay build -q --key=date -o holidays.nay -e 2025-12-25 -e 2026-01-01\n"
        "$ nay check holidays.nay -e 2026-01-01\n"
        "2026-01-01\n"
        "$ seq 1000 | nay build -q -n 1000 -b 10 --format leveldb -o thousand.ldbf\n"
        "$ wc -c < thousand.ldbf\n"
        "1251\n",
};
