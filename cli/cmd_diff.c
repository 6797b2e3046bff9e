/* cmd_diff.c - nay diff and nay common: two key files, one filter between them. */
#include "filterfile.h"
#include "maker.h"

#define DIFF_FPR 1e-6

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

/* Builds a filter of the first file and selects keys of the second by it. */
static int compare_run(options *o, bool wants_common) {
  const char *const *paths = (const char *const *)o->operands;
  if (paths[0][0] == '-' && paths[0][1] == '\0' && paths[1][0] == '-' && paths[1][1] == '\0') {
    die(EXIT_TROUBLE, "only one of the two can be standard input");
  }
  nay_params p = options_params(o, DIFF_FPR);
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
  int status =
      promise_tell(o, "the filter of A", &told,
                   wants_common ? "keys that are not in A were printed: give -n, -p or more room"
                                : "keys that are not in A are missing: give -n, -p or more room",
                   selected > 0 ? EXIT_FOUND : EXIT_NONE);
  status = exit_worse(status, stream_status(s));
  stream_close(s);
  nay_filter_free(f);
  return status;
}

static int diff_run(options *o) { return compare_run(o, false); }
static int common_run(options *o) { return compare_run(o, true); }

const command command_diff = {
    .name = "diff",
    .bit = CMD_DIFF,
    .run = diff_run,
    .summary = "print the keys of B that are not in A",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .about =
        "Makes a filter of A and prints the keys of B that it denies, in their order; nothing is "
        "sorted, and only the filter is kept in memory. Every printed key is certainly not in A; "
        "with the chance -p (default one in a million) a key that is not in A is missing. Exit "
        "status: 0 when a key was printed, 1 when none was; with --strict, 4 when the filter had "
        "too "
        "little room for that chance, which a warning says in any case.",
    .examples =
        "$ seq 1 8 > a\n"
        "$ seq 5 10 > b\n"
        "$ nay diff a b\n"
        "9\n10\n",
};

const command command_common = {
    .name = "common",
    .bit = CMD_COMMON,
    .run = common_run,
    .summary = "print the keys of B that are in A too",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .about =
        "Makes a filter of A and prints the keys of B that it may hold, in their order. Every "
        "common "
        "key is printed; with the chance -p (default one in a million) a key that is not in A is "
        "printed too. Exit status: 0 when a key was printed, 1 when none was; with --strict, 4 "
        "when "
        "the filter had too little room for that chance, which a warning says in any case.",
    .examples =
        "$ seq 1 8 > a\n"
        "$ seq 5 10 > b\n"
        "$ nay common a b\n"
        "5\n6\n7\n8\n",
};
