/* compare.c - see compare.h. */
#include "compare.h"
#include "batch.h"

#include "filterfile.h"
#include "maker.h"
#include "select.h"

#define DIFF_FPR 1e-6

const option_use compare_uses[] = {
    TAKES(compare_options, size, SIZE_FAMILY | SIZE_KEYS),
    TAKES(compare_options, select, SELECT_COUNT | SELECT_MAX_COUNT),
    TAKES(compare_options, keys, KEYS_LINE_NUMBER | KEYS_STYLE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

/* A filter that drops keys of A would print keys of A as missing from it. */
static nay_params compare_params(const compare_options *o) {
  if (o->size.kind == NAY_WINDOW) {
    die(EXIT_TROUBLE, "-t window: a window forgets keys, and A is a set: choose another family");
  }
  nay_params p = size_params(&o->size, NULL, DIFF_FPR);
  if (p.kind == NAY_CUCKOO) p.flags |= NAY_UNIQUE; /* it holds only eight copies of a key */
  return p;
}

static void compare_print(const selection *s, const key_batch *b, const uint64_t *bitmap,
                          size_t n) {
  if (s->asked->count) return;
  if (!s->o->json) selection_print(s, b, bitmap);
  for (size_t i = 0; s->o->json && i < n; i++) {
    if (!is_selected(bitmap, i)) continue;
    json_open(NULL, '{');
    selection_json_key(b, i);
    json_end();
  }
}

static void compare_count(const selection *s, const char *schema, const promise *p) {
  if (!s->o->json) {
    out_text("%llu\n", (unsigned long long)s->nselected);
    return;
  }
  json_begin(schema);
  json_count("nkeys", s->nkeys);
  json_count("nselected", s->nselected);
  json_count("nbad", bads_count());
  json_real("fpr_now", p->stats.fpr_now);
  promise_json(p);
  json_end();
}

static void compare_batch(selection *chosen, key_stream *s, const nay_filter *f, bool wants_common,
                          const key_batch *b) {
  uint64_t bitmap[BATCH_WORDS];
  if (!chosen->asked->count && !chosen->o->json) selection_print_header(chosen, b);
  batch_may_contain(f, b, bitmap);
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    bitmap[w] = (wants_common ? bitmap[w] : ~bitmap[w]) & word_mask(b->n, w);
  }
  size_t n = selection_take(chosen, s, b, bitmap);
  compare_print(chosen, b, bitmap, n);
  if (b->idle) out_flush();
}

/* As in grep a --max-count of 0 reads nothing, here of B. */
static int compare_keys(selection *chosen, const keys_options *keys, const nay_filter *f,
                        const char *path, bool wants_common) {
  if (chosen->asked->max_count == 0) return EXIT_FOUND;
  key_stream *s = stream_open_to_answer(chosen->o, keys, &path, 1, f, ON_BAD_REPORT);
  for (key_batch *b; (b = stream_next(s)) != NULL;) compare_batch(chosen, s, f, wants_common, b);
  int status = stream_status(s);
  stream_close(s);
  return status;
}

int compare_run(options *common, bool wants_common) {
  const compare_options *o = (const compare_options *)common;
  const char *const *paths = (const char *const *)o->common.operands;
  if (paths[0][0] == '-' && paths[0][1] == '\0' && paths[1][0] == '-' && paths[1][1] == '\0') {
    die(EXIT_TROUBLE, "only one of the two can be standard input");
  }
  nay_params p = compare_params(o);
  keys_options of_a = o->keys;
  of_a.line_number = false;
  uint64_t nkeys;
  nay_filter *f = make_filter(common, &of_a, NULL, &p, paths, 1, &nkeys);
  selection chosen = selection_begin(&o->common, &o->select, &o->keys);
  int reading = compare_keys(&chosen, &o->keys, f, paths[1], wants_common);
  promise told = promise_judge(f, o->size.fpr != 0 ? o->size.fpr : DIFF_FPR);
  if (selection_counts(&o->common, &o->select)) {
    compare_count(&chosen, wants_common ? "nay.common/1" : "nay.diff/1", &told);
  }
  out_flush();
  int status = promise_tell(
      common, "the filter of A", &told,
      wants_common ? "keys that are not in A were printed: give -n, -p or a larger size"
                   : "keys that are not in A are missing: give -n, -p or a larger size",
      chosen.nselected > 0 ? EXIT_FOUND : EXIT_NONE);
  nay_filter_free(f);
  return exit_worse(status, reading);
}
