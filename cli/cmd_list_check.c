/* cmd_list_check.c - nay list check: which keys are listed. */
#include <stdlib.h>

#include "bads.h"
#include "lists.h"
#include "numbers.h"
#include "select.h"

typedef struct check {
  list_options *o;
  list_chain chain;
  selection selection;
  list_keys keys;
  uint64_t nunknown;
  uint64_t listed[BATCH_WORDS], known[BATCH_WORDS], selected[BATCH_WORDS];
} check;

static const char *check_answer(const check *c, size_t i) {
  return !is_selected(c->known, i) ? "unknown" : is_selected(c->listed, i) ? "yea" : "nay";
}

/* Nothing but the records as they came. */
static bool check_prints_records(const list_options *o) {
  return !o->select.count && !o->common.json && !o->annotate;
}

static void check_print_key(const check *c, const key_batch *b, size_t i) {
  const char *answer = check_answer(c, i);
  if (c->o->common.json) {
    json_open(NULL, '{');
    selection_json_key(b, i);
    json_text("answer", answer);
    json_end();
    return;
  }
  size_t len;
  const uint8_t *record = batch_record(b, i, &len);
  selection_pass(b, i, "bad\t");
  selection_prefix(b, i);
  out_text("%s%s%s\t", paint(answer[0] == 'y' ? PAINT_GOOD : PAINT_DIM), answer,
           paint(PAINT_PLAIN));
  out_record(record, len);
}

/* -a: every key of the first n; JSON without it: the selected ones. */
static void check_print(const check *c, const key_batch *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (c->o->annotate || is_selected(c->selected, i)) check_print_key(c, b, i);
  }
  if (!c->o->common.json) selection_pass(b, n, "bad\t");
}

static void check_batch(check *c, key_stream *s, const key_batch *b) {
  const list_options *o = c->o;
  bool records = check_prints_records(o);
  if (records) selection_print_header(&c->selection, b);
  list_keys_of(&c->keys, o, b);
  list_answer(&c->chain, c->keys.at, c->keys.lens, b->n, c->listed, c->known);
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    c->selected[w] = o->invert ? c->known[w] & ~c->listed[w] : c->listed[w];
  }
  size_t n = selection_take(&c->selection, s, b, c->selected);
  for (size_t i = 0; i < n; i++) c->nunknown += !is_selected(c->known, i);
  if (records) selection_print(&c->selection, b, c->selected);
  if (!records && !o->select.count) check_print(c, b, n);
  if (b->idle) out_flush();
}

static void check_count(const check *c) {
  if (!c->o->common.json) {
    out_text("%llu\n", (unsigned long long)c->selection.nselected);
    return;
  }
  json_begin("nay.list.check/1");
  json_count("nkeys", c->selection.nkeys);
  json_count("nselected", c->selection.nselected);
  json_count("nunknown", c->nunknown);
  json_count("nbad", bads_count());
  json_end();
}

static void check_options_agree(const list_options *o) {
  if (o->keys.args.n > 0 && o->keys.files.n > 0) {
    die(EXIT_TROUBLE, "--keys and -e are mutually exclusive");
  }
  if (o->annotate && o->select.count) die(EXIT_TROUBLE, "-a prints every key: it excludes -c");
}

static int check_keys(check *c) {
  list_options *o = c->o;
  if (o->select.max_count == 0) return EXIT_FOUND; /* as in grep: nothing is read */
  keys_options style = list_style(o);
  key_stream *s = stream_open_to_answer(&o->common, &style, (const char *const *)o->keys.files.at,
                                        o->keys.files.n, NULL, ON_BAD_REPORT);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    check_batch(c, s, b);
  }
  int status = stream_status(s);
  stream_close(s);
  return status;
}

int list_check(list_options *o) {
  check *c = must_alloc(sizeof *c);
  check_options_agree(o);
  size_t n = (size_t)o->common.noperands - 1;
  if (n == 0) die(EXIT_TROUBLE, "missing operand: a list");
  *c = (check){.o = o, .selection = selection_begin(&o->common, &o->select, &o->keys)};
  c->chain = list_open(o, (const char *const *)o->common.operands + 1, n);
  if (c->chain.last.check_bits == 0) message("no check bits: %s", LIST_WARNING);
  int reading = check_keys(c);
  if (selection_counts(&o->common, &o->select)) check_count(c);
  out_flush();
  if (c->nunknown != 0) {
    message("%s not of the universe: neither listed nor not",
            c->nunknown == 1 ? "1 key is" : COUNTED(c->nunknown, "key"));
  }
  int status = c->selection.nselected > 0 ? EXIT_FOUND : EXIT_NONE;
  list_close(&c->chain);
  selection_end(&c->selection);
  free(c->keys.bytes);
  free(c);
  return exit_worse(status, reading);
}
