/* cmd_merge.c - nay merge and nay fold: whole filters, without their keys. */
#include <string.h>
#include <sys/stat.h>

#include <nay_key.h>

#include "filterfile.h"
#include "hashers.h"
#include "numbers.h"
#include "outfile.h"

typedef struct merge_options {
  options common;
  filter_options filter;
  output_options output;
  bool intersect;
  double max_fpr;
} merge_options;

static void merge_mismatch(const nay_filter *a, const nay_filter *b, const char *path) {
  nay_stats sa = {.size = sizeof sa}, sb = {.size = sizeof sb};
  nay_filter_stats(a, &sa);
  nay_filter_stats(b, &sb);
  if (!nay_key_description_same(nay_filter_key(a), nay_filter_key(b))) {
    die(EXIT_TROUBLE, "%s cannot be merged: its keys are of type %s, those before it of type %s",
        path, nay_filter_key(b), nay_filter_key(a));
  }
  const char *what = sa.kind != sb.kind          ? "family"
                     : !filters_hash_alike(a, b) ? "hash or seed"
                     : sa.k != sb.k              ? "number of probes"
                     : sa.nbits != sb.nbits      ? "size, with no common one to fold to"
                                                 : "layout";
  die(EXIT_TROUBLE, "%s cannot be merged: it differs in %s", path, what);
}

/* The plan of a scalable filter grows with each merge: what it was made for does not. */
static double merge_planned(const nay_filter *f) {
  nay_params p = {.size = sizeof p};
  nay_stats s = {.size = sizeof s};
  if (nay_filter_kind(f) == NAY_SCALABLE && nay_filter_params(f, &p) == NAY_OK) return p.fpr;
  return nay_filter_stats(f, &s) == NAY_OK ? s.fpr_planned : 0;
}

static uint64_t merge_nbits(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  return nay_filter_stats(f, &s) == NAY_OK ? s.nbits : 0;
}

/* Sizes with a small common divisor leave few bits for both: no limit of the FPR helps. */
static void merge_full(const merge_options *o, const nay_filter *dst, const nay_filter *src,
                       const char *path, double most) {
  uint64_t a = merge_nbits(dst), b = merge_nbits(src);
  char text[NUMBER_TEXT];
  fpr_text(most, text);
  if (nay_filter_kind(dst) != NAY_SCALABLE && a != b) {
    die(EXIT_NONE,
        "%s has %s and the filters before it %llu: folded to their greatest common size the FPR "
        "would be above %s: nothing written; plan all with the same -n, or with --fold",
        path, COUNTED(b, "bit"), (unsigned long long)a, text);
  }
  die(EXIT_NONE, "with %s the FPR would be above %s: nothing written%s", path, text,
      o->max_fpr != 0 ? "" : "; --max-fpr sets another limit");
}

/* Whether an operand is the file of an earlier one: a filter merged with itself is itself. */
static bool merge_is_repeated(const merge_options *o, int i) {
  struct stat is, was;
  const char *path = o->common.operands[i];
  if (strcmp(path, "-") == 0 || stat(path, &is) != 0 || !S_ISREG(is.st_mode)) return false;
  for (int j = 0; j < i; j++) {
    bool same = strcmp(o->common.operands[j], "-") != 0 && stat(o->common.operands[j], &was) == 0 &&
                is.st_dev == was.st_dev && is.st_ino == was.st_ino;
    if (same) return true;
  }
  return false;
}

/* The highest planned FPR of the filters is what the union promises. */
static void merge_promise(double *promised, const nay_filter *f) {
  double planned = merge_planned(f);
  if (planned > *promised) *promised = planned;
}

static void merge_one(const merge_options *o, nay_filter *dst, const char *path, double *promised) {
  nay_filter *src = filterfile_open(&o->common, &o->filter, path);
  double most = o->max_fpr != 0 ? o->max_fpr : PROMISE_FPR_MOST;
  merge_promise(promised, src);
  nay_status status =
      o->intersect ? nay_filter_intersect(dst, src, NULL) : nay_filter_merge(dst, src, most, NULL);
  if (status == NAY_EMISMATCH) merge_mismatch(dst, src, path);
  if (status == NAY_ENOTSUP) {
    die(EXIT_TROUBLE, "a %s filter does not support %s", nay_kind_name(nay_filter_kind(dst)),
        o->intersect ? "intersect" : "merge");
  }
  if (status == NAY_EFULL) merge_full(o, dst, src, path, most);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, nay_status_text(status));
  nay_filter_free(src);
}

static int merge_run(options *common) {
  merge_options *o = (merge_options *)common;
  const char *out = o->output.path != NULL ? o->output.path : "-";
  if (o->intersect && o->max_fpr != 0) die(EXIT_TROUBLE, "the FPR of an intersection is unknown");
  outfile_may_write(out, o->output.force);
  outfile_lock(out); /* before it is read: it may be one of the filters */
  nay_filter *f = filterfile_open(&o->common, &o->filter, o->common.operands[0]);
  double promised = merge_planned(f);
  uint64_t nbits = merge_nbits(f);
  for (int i = 1; i < o->common.noperands; i++) {
    if (merge_is_repeated(o, i)) {
      message("%s is given twice: merged once", o->common.operands[i]);
      continue;
    }
    merge_one(o, f, o->common.operands[i], &promised);
  }
  if (o->max_fpr != 0) promised = o->max_fpr;
  filterfile_save(f, out);
  if (merge_nbits(f) < nbits) {
    message("folded to %s, the greatest common size", COUNTED(merge_nbits(f), "bit"));
  }
  int status = filterfile_report(&o->common, o->intersect ? "intersected into" : "merged into", out,
                                 f, ESTIMATED, promised);
  nay_filter_free(f);
  return status;
}

static const option_row merge_rows[] = {
    {"intersect", 0, NULL, FLAG_AT(merge_options, intersect),
     .help = "intersection instead of union"},
    {"max-fpr", 0, "FPR", FPR_AT(merge_options, max_fpr),
     .help = "refuse a union with an FPR above this"},
    {0},
};
static const option_use merge_uses[] = {
    TAKES(merge_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(merge_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON | REPORT_STRICT),
    {0},
};

const command command_merge = {
    .name = "merge",
    .run = merge_run,
    .size = sizeof(merge_options),
    .summary = "merge filters: their union, or with --intersect their intersection",
    .operands = "FILTER FILTER... -o FILE",
    .min_operands = 2,
    .max_operands = ANY_NUMBER,
    .changes = ANY_NUMBER,
    .to_stdout = true,
    .own = merge_rows,
    .uses = merge_uses,
    .about =
        "The union is bit for bit the filter that all keys together would have given. Family, "
        "hash, seed, number of probes and type of the keys must be equal; sizes may differ if both "
        "fold to a common "
        "size, as those planned for n and 2n keys do. With --max-fpr a union with a higher "
        "false-positive rate (FPR) is refused with exit status 1, and nothing is written; without "
        "it the limit is 50%. A union whose FPR is more than 10% above the highest planned one is "
        "written with a warning.\n"
        "\n"
        "An intersection contains every key that is in all filters, but has more false positives "
        "than a filter built from those keys: it is marked as derived, and its FPR is unknown. The "
        "warning follows when the fill alone "
        "gives a higher FPR than planned.",
    .examples =
        "$ seq 1 600 | nay build -q -n 1000 -p 1% -o a.nay\n"
        "$ seq 401 1000 | nay build -q -n 1000 -p 1% -o b.nay\n"
        "$ nay merge -q a.nay b.nay -o both.nay\n"
        "$ seq 1000 | nay check -c both.nay\n"
        "1000\n"
        "$ nay merge a.nay b.nay --max-fpr 0.01% -o c.nay 2>&1 || echo status $?\n"
        "nay merge: with b.nay the FPR would be above 0.0100%: nothing written\n"
        "status 1\n",
};
