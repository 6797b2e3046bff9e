/* compare.c - see compare.h. */
#include "compare.h"

#include "filterfile.h"
#include "maker.h"

#define DIFF_FPR 1e-6

/* A filter that drops keys of A would print keys of A as missing from it. */
static nay_params compare_params(const options *o) {
  if (o->kind == NAY_WINDOW) {
    die(EXIT_TROUBLE, "-t window: a window forgets keys, and A is a set: choose another family");
  }
  nay_params p = options_params(o, DIFF_FPR);
  if (p.kind == NAY_CUCKOO) p.flags |= NAY_UNIQUE; /* it holds only eight copies of a key */
  return p;
}

static void compare_print(const options *o, const key_batch *b, size_t w, uint64_t word) {
  if (o->count || word == 0) return;
  if (!o->json) batch_print(b, w, word);
  for (; o->json && word != 0; word &= word - 1) {
    size_t i = 64 * w + (size_t)__builtin_ctzll(word);
    json_open(NULL, '{');
    json_bytes("key", b->keys[i], b->lens[i]);
    json_end();
  }
}

static void compare_count(const options *o, const char *schema, uint64_t nkeys, uint64_t selected,
                          const promise *p) {
  if (!o->json) {
    out_text("%llu\n", (unsigned long long)selected);
    return;
  }
  json_begin(schema);
  json_count("nkeys", nkeys);
  json_count("nselected", selected);
  json_real("fpr_now", p->stats.fpr_now);
  promise_json(p);
  json_end();
}

int compare_run(options *o, bool wants_common) {
  const char *const *paths = (const char *const *)o->operands;
  if (paths[0][0] == '-' && paths[0][1] == '\0' && paths[1][0] == '-' && paths[1][1] == '\0') {
    die(EXIT_TROUBLE, "only one of the two can be standard input");
  }
  nay_params p = compare_params(o);
  uint64_t nkeys, selected = 0;
  nay_filter *f = make_filter(o, NULL, &p, paths, 1, &nkeys);
  key_stream *s = stream_open(o, paths + 1, 1, f);
  stream_skip_bad_files(s);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    uint64_t bitmap[BATCH_WORDS];
    if (!o->count && !o->json && b->header != NULL) out_record(b->header, b->header_len);
    nay_filter_may_contain_hash_many(f, b->lo, b->hi, b->n, bitmap);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      uint64_t word = (wants_common ? bitmap[w] : ~bitmap[w]) & word_mask(b->n, w);
      selected += (uint64_t)__builtin_popcountll(word);
      compare_print(o, b, w, word);
    }
    if (b->idle) out_flush();
  }
  promise told = promise_judge(f, o->fpr != 0 ? o->fpr : DIFF_FPR);
  if (o->count) {
    compare_count(o, wants_common ? "nay.common/1" : "nay.diff/1", stream_nkeys(s), selected,
                  &told);
  }
  out_flush();
  int status = promise_tell(
      o, "the filter of A", &told,
      wants_common ? "keys that are not in A were printed: give -n, -p or a larger size"
                   : "keys that are not in A are missing: give -n, -p or a larger size",
      selected > 0 ? EXIT_FOUND : EXIT_NONE);
  status = exit_worse(status, stream_status(s));
  stream_close(s);
  nay_filter_free(f);
  return status;
}
