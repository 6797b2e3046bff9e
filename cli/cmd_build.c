/* cmd_build.c - nay build: keys in, a filter out. */
#include "described.h"
#include "filterfile.h"
#include "key_files.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"
#include "range_form.h"
#include "window_time.h"

typedef struct build_options {
  options common;
  size_options size;
  filter_options filter;
  keys_options keys;
  output_options output;
  window_options window;
  bool store_key;
  const char *meta;
} build_options;

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

static nay_filter *build_filter(const build_options *o, nay_params *p, const char *const *paths,
                                size_t npaths, uint64_t *nkeys, const char *out) {
  if (!window_begin(&o->window)) {
    return make_filter(&o->common, &o->keys, o->filter.format, p, paths, npaths, nkeys);
  }
  if (o->window.length == NULL) {
    die(EXIT_TROUBLE, "--now and --time-column are for windows by time: give --window too");
  }
  window_params(&o->window, &o->size, p);
  stream_must_exist(&o->common, &o->keys, paths, npaths);
  nay_filter *f = new_filter(o->filter.format, p);
  *nkeys = window_fill(&o->common, &o->window, &o->keys, paths, npaths, f, out);
  return f;
}

static int build_run(options *common) {
  build_options *o = (build_options *)common;
  const char *out = o->output.path != NULL ? o->output.path : "-";
  outfile_may_write(out, o->output.force);
  nay_params p = size_params(&o->size, o->filter.format, 0.01);
  if (filterfile_secret(o->filter.secret, p.key)) p.hash = NAY_HASH_SIPHASH;
  if (o->filter.secret != NULL && o->size.seed != NULL) {
    die(EXIT_TROUBLE, "--seed is for the hash without a key: --secret excludes it");
  }
  if (o->store_key && o->filter.secret == NULL) die(EXIT_TROUBLE, "--store-key needs --secret");
  if (o->store_key) p.flags |= NAY_STORE_KEY;
  if (p.kind == NAY_RANGE) range_form(&o->size, &o->keys.type, &p);
  uint64_t nkeys;
  size_t npaths;
  const char *const *paths = keys_operands(&o->common, &o->keys, 0, &npaths);
  paths = key_files_list(&o->keys, paths, &npaths);
  nay_filter *f = build_filter(o, &p, paths, npaths, &nkeys, out);
  describe_filter(&o->keys, f);
  if (o->meta != NULL) {
    const nay_format *format = nay_filter_format(f);
    if ((nay_format_traits(format) & NAY_FORMAT_NOTE) == 0) {
      die(EXIT_TROUBLE, "--meta: files of %s have no place for a note", nay_format_name(format));
    }
    if (nay_filter_set_meta(f, o->meta, __builtin_strlen(o->meta)) != NAY_OK) {
      die(EXIT_TROUBLE, "cannot store --meta");
    }
  }
  filterfile_save(f, out);
  int status = filterfile_report_new(&o->common, "built", out, f, nkeys, p.fpr);
  status = build_warn_window(&o->common, f, nkeys, status);
  if (nkeys == 0 && o->size.nkeys == 0) build_warn_empty(f);
  nay_filter_free(f);
  return status;
}

static const option_row build_rows[] = {
    {"store-key", 0, NULL, FLAG_AT(build_options, store_key),
     .help = "store the secret key in the file, which then opens without --secret"},
    {"meta", 0, "TEXT", TEXT_AT(build_options, meta),
     .help = "store a note in the file; nay info shows it"},
    {0},
};
static const option_use build_uses[] = {
    TAKES(build_options, size,
          SIZE_FAMILY | SIZE_KEYS | SIZE_SHAPE | SIZE_MAX_KEYS | SIZE_SEED | SIZE_RANGE),
    TAKES(build_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(build_options, keys, KEYS_ARGS | KEYS_DIRS | KEYS_STYLE),
    TAKES(build_options, output, OUTPUT_FILE),
    TAKES(build_options, window, WINDOW_LENGTH | WINDOW_COLUMN),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_build = {
    .name = "build",
    .run = build_run,
    .size = sizeof(build_options),
    .summary = "build a filter from keys",
    .operands = "[KEYFILE...]",
    .max_operands = ANY_NUMBER,
    .to_stdout = true,
    .own = build_rows,
    .uses = build_uses,
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
        "--window makes a window by time instead, which forgets each key after that time. Its "
        "clock "
        "counts seconds since 1970, as that of a window by SECONDS in Redis. The keys come at "
        "--now, "
        "by default this moment, or each at the time in its --time-column: rows in the order of "
        "their times, as in a log; one that is late is taken at the time of the rows before it, so "
        "that none is forgotten too early, and one later than --now is a bad record.\n"
        "\n"
        "-t range makes a filter that is asked for ranges, with nay check --ranges: --range-length "
        "says how long they are at most. Integers, floats, dates and timestamps (--key) have "
        "their order; of text the digits at the end are the number, and what stands before them "
        "is the same at both ends of a range.\n"
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
        "$ seq 100 100 9000 | nay build -q -t range --key=int --range-length 50 -o hundreds.nay\n"
        "$ printf '101\\t140\\n180\\t220\\n' | nay check --ranges hundreds.nay\n"
        "180\t220\n"
        "$ seq 1000 | nay build -q -n 1000 -b 10 --format leveldb -o thousand.ldbf\n"
        "$ wc -c < thousand.ldbf\n"
        "1251\n",
};
