/* cmd_fold.c - nay fold: a smaller filter of the same keys, without the keys. */
#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"

typedef struct fold_options {
  options common;
  filter_options filter;
  output_options output;
  double max_fpr;
  uint64_t factor;
} fold_options;

static int fold_run(options *common) {
  fold_options *o = (fold_options *)common;
  const char *path = o->common.operands[0], *out = o->output.path != NULL ? o->output.path : path;
  char text[NUMBER_TEXT];
  if (o->factor != 0 && o->max_fpr != 0)
    die(EXIT_TROUBLE, "--factor and --max-fpr are mutually exclusive");
  if (o->output.path != NULL) outfile_may_write(out, o->output.force);
  outfile_lock(out);
  nay_filter *f = filterfile_open(&o->common, &o->filter, path);
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  uint64_t factor = o->factor;
  double limit = o->max_fpr != 0 ? o->max_fpr : s.fpr_planned;
  nay_status status = NAY_OK;
  if (factor == 0) {
    bool folds = limit != 0 || nay_filter_fold(f, 1, NULL) != NAY_ENOTSUP;
    if (!folds) die(EXIT_TROUBLE, "%s cannot be folded", path);
    if (limit == 0) die(EXIT_TROUBLE, "this filter has no planned FPR: give --max-fpr or --factor");
    status = nay_filter_fold_factor(f, limit, &factor);
  }
  if (status == NAY_OK) status = nay_filter_fold(f, factor, NULL);
  if (status == NAY_ENOTSUP) die(EXIT_TROUBLE, "this family does not support fold");
  if (status == NAY_EINVAL) {
    die(EXIT_TROUBLE, "the size is not divisible by %s", count_text((double)factor, text));
  }
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, nay_status_text(status));
  bool folds = factor > 1;
  if (folds) {
    filterfile_save(f, out);
    message("folded by %s", count_text((double)factor, text));
  } else {
    message("no factor keeps the FPR: nothing written");
  }
  int told = filterfile_report(&o->common, folds ? "wrote" : "unchanged", folds ? out : path, f,
                               ESTIMATED, limit);
  nay_filter_free(f);
  return told == EXIT_FOUND && !folds ? EXIT_NONE : told;
}

static const option_row fold_rows[] = {
    {"max-fpr", 0, "FPR", FPR_AT(fold_options, max_fpr),
     .help = "the highest FPR to accept (default: the plan)"},
    {"factor", 0, "N", COUNT_AT(fold_options, factor), .help = "shrink by exactly this factor"},
    {0},
};
static const option_use fold_uses[] = {
    TAKES(fold_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(fold_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON | REPORT_STRICT),
    {0},
};

const command command_fold = {
    .name = "fold",
    .run = fold_run,
    .size = sizeof(fold_options),
    .summary = "shrink a filter that was planned too large, without its keys",
    .operands = "FILTER",
    .min_operands = 1,
    .max_operands = 1,
    .changes = 1,
    .own = fold_rows,
    .uses = fold_uses,
    .about =
        "Shrinks a filter by an integer factor; the result is bit for bit the filter that the "
        "same keys would have given at that size. Without options it takes the largest factor "
        "that keeps the false-positive rate (FPR), with the keys added so far, at or below the "
        "planned one; --max-fpr sets another limit. Changes the file in place, or writes another "
        "with -o.\n"
        "\n"
        "Exit status: 0 when the filter became smaller; 1 when no factor keeps the FPR, and then "
        "nothing is written.",
    .examples =
        "$ seq 1000 | nay build -q -n 100000 -p 1% -o large.nay\n"
        "$ nay fold -q large.nay -o small.nay\n"
        "$ nay info --json large.nay | jq .nbytes\n"
        "124544\n"
        "$ nay info --json small.nay | jq '.nbytes < 2000 and .fpr_now < 0.01'\n"
        "true\n",
};
