/* cmd_merge.c - nay merge and nay fold: whole filters, without their keys. */
#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"

static void merge_mismatch(const nay_filter *a, const nay_filter *b, const char *path) {
  nay_stats sa, sb;
  nay_filter_stats(a, &sa);
  nay_filter_stats(b, &sb);
  const char *what = sa.kind != sb.kind            ? "family"
                     : !nay_filter_same_hash(a, b) ? "hash or seed"
                     : sa.k != sb.k                ? "number of probes"
                     : sa.nbits != sb.nbits        ? "size, with no common one to fold to"
                                                   : "layout";
  die(EXIT_TROUBLE, "%s cannot be joined: it differs in %s", path, what);
}

static double merge_planned(const nay_filter *f) {
  nay_stats s;
  return nay_filter_stats(f, &s) == NAY_OK ? s.fpr_planned : 0;
}

/* The highest rate that one of the filters was planned for: the union is held to it. */
static void merge_promise(double *promised, const nay_filter *f) {
  double planned = merge_planned(f);
  if (planned > *promised) *promised = planned;
}

static void merge_one(const options *o, nay_filter *dst, const char *path, double *promised) {
  nay_filter *src = filterfile_open(path, o);
  double most = o->max_fpr != 0 ? o->max_fpr : PROMISE_FPR_MOST;
  merge_promise(promised, src);
  nay_status status =
      o->intersect ? nay_filter_intersect(dst, src) : nay_filter_merge(dst, src, most);
  if (status == NAY_EMISMATCH) merge_mismatch(dst, src, path);
  if (status == NAY_ENOTSUP) die(EXIT_TROUBLE, "this family cannot be joined");
  if (status == NAY_EFULL) {
    char text[NUMBER_TEXT];
    die(EXIT_NONE, "with %s the rate would be above %s: nothing written%s", path,
        rate_text(most, text), o->max_fpr != 0 ? "" : "; --max-fpr sets another limit");
  }
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, nay_status_text(status));
  nay_filter_free(src);
}

static int merge_run(options *o) {
  const char *out = o->out != NULL ? o->out : "-";
  if (o->intersect && o->max_fpr != 0)
    die(EXIT_TROUBLE, "the rate of an intersection is not known");
  outfile_may_write(out, o->force);
  outfile_lock(out); /* before it is read: it may be one of the filters */
  nay_filter *f = filterfile_open(o->operands[0], o);
  double promised = merge_planned(f);
  for (int i = 1; i < o->noperands; i++) merge_one(o, f, o->operands[i], &promised);
  if (o->max_fpr != 0) promised = o->max_fpr;
  filterfile_save(f, out);
  int status = filterfile_report(o, o->intersect ? "intersected into" : "merged into", out, f,
                                 ESTIMATED, promised);
  nay_filter_free(f);
  return status;
}

static int fold_run(options *o) {
  const char *path = o->operands[0], *out = o->out != NULL ? o->out : path;
  char text[NUMBER_TEXT];
  if (o->factor != 0 && o->max_fpr != 0)
    die(EXIT_TROUBLE, "--factor and --max-fpr exclude each other");
  if (o->out != NULL) outfile_may_write(out, o->force);
  outfile_lock(out);
  nay_filter *f = filterfile_open(path, o);
  nay_stats s;
  nay_filter_stats(f, &s);
  uint64_t factor = o->factor;
  double limit = o->max_fpr != 0 ? o->max_fpr : s.fpr_planned;
  nay_status status = NAY_OK;
  if (factor == 0) {
    if (limit == 0)
      die(EXIT_TROUBLE, "this filter has no planned rate: give --max-fpr or --factor");
    status = nay_filter_fold_factor(f, limit, &factor);
  }
  if (status == NAY_OK) status = nay_filter_fold(f, factor);
  if (status == NAY_ENOTSUP) die(EXIT_TROUBLE, "this family cannot be folded");
  if (status == NAY_EINVAL) {
    die(EXIT_TROUBLE, "the size is not divisible by %s", count_text((double)factor, text));
  }
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, nay_status_text(status));
  bool folds = factor > 1;
  if (folds) {
    filterfile_save(f, out);
    words("folded by %s", count_text((double)factor, text));
  } else {
    words("no factor keeps the false-positive rate: nothing written");
  }
  int told =
      filterfile_report(o, folds ? "wrote" : "unchanged", folds ? out : path, f, ESTIMATED, limit);
  nay_filter_free(f);
  return told == EXIT_FOUND && !folds ? EXIT_NONE : told;
}

const command command_merge = {
    .name = "merge",
    .bit = CMD_MERGE,
    .run = merge_run,
    .summary = "join filters: the union, or with --intersect what they share",
    .operands = "FILTER FILTER... -o FILE",
    .min_operands = 2,
    .max_operands = ANY_NUMBER,
    .about =
        "The union is exactly the filter that all keys together would have made. Family, hash, "
        "seed "
        "and number of probes must be the same; sizes may differ when they have a common one to "
        "fold to, as plans for n and 2n keys have. With --max-fpr a union whose rate would be "
        "higher is refused with exit status 1, and nothing is written; without it, one above 50%. "
        "A union whose rate is more than 10% above the highest one planned is written with a "
        "warning.\n"
        "\n"
        "An intersection keeps all keys that are in every filter, but more false positives than a "
        "filter built from those keys: it is marked as derived, and its rate is not known.",
    .examples =
        "$ seq 1 600 | nay build -q -n 1000 -p 1% -o a.nay\n"
        "$ seq 401 1000 | nay build -q -n 1000 -p 1% -o b.nay\n"
        "$ nay merge -q a.nay b.nay -o both.nay\n"
        "$ seq 1000 | nay check -c both.nay\n"
        "1000\n"
        "$ nay merge a.nay b.nay --max-fpr 0.01% -o c.nay 2>&1 || echo status $?\n"
        "nay merge: with b.nay the rate would be above 0.0100%: nothing written\n"
        "status 1\n",
};

const command command_fold = {
    .name = "fold",
    .bit = CMD_FOLD,
    .run = fold_run,
    .summary = "shrink a filter that was planned too large, without its keys",
    .operands = "FILTER",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Shrinks by an integer factor; the result is exactly the filter that the same keys would "
        "have made at that size. Without options, by the largest factor that keeps the rate of the "
        "keys that are in now at or below the planned one; --max-fpr names another limit. Changes "
        "the file in place, or writes another with -o.\n"
        "\n"
        "Exit status: 0 when the filter became smaller; 1 when no factor keeps the rate, and then "
        "nothing is written.",
    .examples =
        "$ seq 1000 | nay build -q -n 100000 -p 1% -o large.nay\n"
        "$ nay fold -q large.nay -o small.nay\n"
        "$ nay info --json large.nay | jq .nbytes\n"
        "124544\n"
        "$ nay info --json small.nay | jq '.nbytes < 2000 and .fpr_now < 0.01'\n"
        "true\n",
};
