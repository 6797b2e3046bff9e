/* cmd_add.c - nay add: more keys for a filter, in place, all at once. */
#include <unistd.h>

#include "described.h"
#include "filterfile.h"
#include "key_files.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"
#include "window_time.h"

#define ADD_FPR 0.01 /* of --create without -p, -b and -M */

typedef struct add_options {
  options common;
  size_options size;
  filter_options filter;
  keys_options keys;
  output_options output;
  window_options window;
  bool create;
} add_options;

static const char *add_size_option(const add_options *o) {
  return o->size.kind != NAY_AUTO    ? "-t"
         : o->size.nkeys != 0        ? "-n"
         : o->size.max_keys != 0     ? "--max-keys"
         : o->size.fpr != 0          ? "-p"
         : o->size.bits_per_key != 0 ? "-b"
         : o->size.nbytes != 0       ? "-M"
         : o->window.length != NULL  ? "--window"
                                     : NULL;
}

static void add_check_options(const add_options *o) {
  const char *option = add_size_option(o);
  if (!o->create && option != NULL) {
    die(EXIT_TROUBLE, "%s is for a new filter: --create makes one when there is none", option);
  }
  if (!o->create) return;
  if (o->size.nkeys == 0) die(EXIT_TROUBLE, "--create needs -n, the number of keys to plan for");
  if (o->output.path != NULL) die(EXIT_TROUBLE, "--create makes the filter itself: it excludes -o");
}

/*
 * Options that would make another filter than the one that is there would do nothing. Returns the
 * FPR that the command line asks for, as it did when it made the filter; 0: that of the plan.
 */
static double add_check_plan(const add_options *o, const nay_filter *f, const char *path) {
  nay_params is = {.size = sizeof is};
  if (nay_filter_params(f, &is) != NAY_OK) return o->size.fpr; /* it tells no plan */
  const char *option =
      window_contradicts(&o->window, &is) ? "--window" : contradiction(&o->size, &is);
  if (option == NULL)
    return same_plan(&o->size, ADD_FPR, &is) ? size_params(&o->size, o->filter.format, ADD_FPR).fpr
                                             : 0;
  char fpr[NUMBER_TEXT];
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  die(EXIT_TROUBLE, "%s: %s exists, a %s filter for %s at an FPR of %s: omit the option", option,
      path, nay_kind_name(is.kind), COUNTED(is.nkeys, "key"), fpr_text(s.fpr_planned, fpr));
}

static nay_filter *add_create(const add_options *o, double *fpr) {
  nay_params p = size_params(&o->size, o->filter.format, ADD_FPR);
  if (filterfile_secret(o->filter.secret, p.key)) p.hash = NAY_HASH_SIPHASH;
  if (o->window.length != NULL) window_params(&o->window, &o->size, &p);
  if (!can_add(p.kind)) {
    die(EXIT_TROUBLE, "a %s filter is static: nay build makes it from all keys",
        nay_kind_name(p.kind));
  }
  *fpr = p.fpr;
  nay_filter *f = new_filter(o->filter.format, &p);
  describe_filter(&o->keys, f);
  return f;
}

static uint64_t add_keys(const add_options *o, nay_filter *f, const char *const *paths,
                         size_t npaths, const char *path) {
  if (window_begin(&o->window)) {
    return window_fill(&o->common, &o->window, &o->keys, paths, npaths, f, path);
  }
  if (window_is_timed(f)) {
    message("%s: its clock stands still without --now or --time-column: nothing is forgotten",
            path);
  }
  key_stream *s = stream_open(&o->common, &o->keys, paths, npaths, f);
  add_all(&o->common, f, s);
  uint64_t nkeys = stream_nkeys(s);
  stream_close(s);
  return nkeys;
}

static int add_run(options *common) {
  add_options *o = (add_options *)common;
  size_t npaths;
  const char *const *paths = keys_operands(&o->common, &o->keys, 1, &npaths);
  paths = key_files_list(&o->keys, paths, &npaths);
  add_check_options(o);
  const char *out = filterfile_target(&o->common, &o->output), *path = o->common.operands[0];
  bool creates = o->create && access(path, F_OK) != 0; /* locked: no one else makes it now */
  double asked = 0;
  nay_filter *f = creates ? add_create(o, &asked) : filterfile_open(&o->common, &o->filter, path);
  if (!creates) described_filter(&o->keys, path, f);
  if (o->create && !creates) asked = add_check_plan(o, f, path);
  unsigned traits;
  const char *kind = filterfile_kind(f, &traits);
  if ((traits & NAY_CAN_ADD) == 0) {
    die(EXIT_TROUBLE, "a %s filter is static: rebuild it from all keys", kind);
  }
  uint64_t nkeys = add_keys(o, f, paths, npaths, path);
  filterfile_save(f, out);
  int status =
      filterfile_report_new(&o->common, creates ? "created" : "added to", out, f, nkeys, asked);
  nay_filter_free(f);
  return status;
}

static const option_row add_rows[] = {
    {"create", 0, NULL, FLAG_AT(add_options, create),
     .help = "make the filter when the file does not exist: needs -n, takes -t, -p, -b, -M and "
             "--max-keys"},
    {"type", 't', "KIND", KIND_ADDS_AT(add_options, size.kind),
     .help = "family of a new filter (default auto)"},
    {0},
};
static const option_use add_uses[] = {
    TAKES(add_options, size, SIZE_FAMILY | SIZE_KEYS | SIZE_MAX_KEYS),
    TAKES(add_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(add_options, keys, KEYS_ARGS | KEYS_DIRS | KEYS_STYLE),
    TAKES(add_options, output, OUTPUT_FILE),
    TAKES(add_options, window, WINDOW_LENGTH | WINDOW_COLUMN),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_add = {
    .name = "add",
    .alias = "insert",
    .run = add_run,
    .size = sizeof(add_options),
    .summary = "add keys to a filter, in place",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .changes = 1,
    .own = add_rows,
    .uses = add_uses,
    .about =
        "Adds keys to a filter and replaces its file atomically at the end: a reader, or a crash, "
        "sees the old filter or the new one. Commands that change the same file wait for each "
        "other: see FILES in nay(1). -o writes the result to another file. If a key file cannot "
        "be read, nothing is written. When the filter then holds more keys than planned, a "
        "warning states the promised false-positive rate (FPR) and the current one; with --strict "
        "the exit status is then 4.\n"
        "\n"
        "A window by time is told what time it is: --now, or a --time-column as in nay build. "
        "Without "
        "them its clock stands still and nothing is forgotten.\n"
        "\n"
        "--create makes the filter when its file does not exist, as nay build -n does; the default "
        "is -p 1%. When it exists, options that would have planned another number of keys, size or "
        "FPR are an error, so that the same command line can be run again and again; a warning "
        "follows when the FPR is above the one that the line asks for.",
    .examples =
        "$ seq 10 | nay build -q -n 20 -p 1e-6 -o f.nay\n"
        "$ seq 11 12 | nay add -q f.nay\n"
        "$ seq 9 14 | nay check f.nay\n"
        "9\n10\n11\n12\n"
        "$ nay add -q --create -n 1000 -p 0.1% seen.nay -e apple -e pear\n"
        "$ nay add -q --create -n 1000 -p 0.1% seen.nay -e plum\n"
        "$ nay check -c seen.nay -e apple -e pear -e plum -e stone\n"
        "3\n",
};
