/* cmd_merge.c - nay merge and nay fold: whole filters, without their keys. */
#include <string.h>
#include <sys/stat.h>

#include <nay_key.h>

#include "filterfile.h"
#include "hashers.h"
#include "numbers.h"
#include "outfile.h"

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
static void merge_full(const options *o, const nay_filter *dst, const nay_filter *src,
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
static bool merge_is_repeated(const options *o, int i) {
  struct stat is, was;
  const char *path = o->operands[i];
  if (strcmp(path, "-") == 0 || stat(path, &is) != 0 || !S_ISREG(is.st_mode)) return false;
  for (int j = 0; j < i; j++) {
    bool same = strcmp(o->operands[j], "-") != 0 && stat(o->operands[j], &was) == 0 &&
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

static void merge_one(const options *o, nay_filter *dst, const char *path, double *promised) {
  nay_filter *src = filterfile_open(path, o);
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

static int merge_run(options *o) {
  const char *out = o->out != NULL ? o->out : "-";
  if (o->intersect && o->max_fpr != 0) die(EXIT_TROUBLE, "the FPR of an intersection is unknown");
  outfile_may_write(out, o->force);
  outfile_lock(out); /* before it is read: it may be one of the filters */
  nay_filter *f = filterfile_open(o->operands[0], o);
  double promised = merge_planned(f);
  uint64_t nbits = merge_nbits(f);
  for (int i = 1; i < o->noperands; i++) {
    if (merge_is_repeated(o, i)) {
      message("%s is given twice: merged once", o->operands[i]);
      continue;
    }
    merge_one(o, f, o->operands[i], &promised);
  }
  if (o->max_fpr != 0) promised = o->max_fpr;
  filterfile_save(f, out);
  if (merge_nbits(f) < nbits) {
    message("folded to %s, the greatest common size", COUNTED(merge_nbits(f), "bit"));
  }
  int status = filterfile_report(o, o->intersect ? "intersected into" : "merged into", out, f,
                                 ESTIMATED, promised);
  nay_filter_free(f);
  return status;
}

static const option_row merge_options[] = {
    {"intersect", 0, NULL, OPTION_FLAG, AT(intersect), "intersection instead of union", NULL, 0,
     NULL},
    {"max-fpr", 0, "FPR", OPTION_FPR, AT(max_fpr), "refuse a union with an FPR above this", NULL, 0,
     NULL},
    {0},
};

const command command_merge = {
    .name = "merge",
    .run = merge_run,
    .summary = "merge filters: their union, or with --intersect their intersection",
    .operands = "FILTER FILTER... -o FILE",
    .min_operands = 2,
    .max_operands = ANY_NUMBER,
    .changes = ANY_NUMBER,
    .to_stdout = true,
    .takes = TAKES_FILTER | TAKES_OUTPUT | TAKES_JSON | TAKES_STRICT,
    .own = merge_options,
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
