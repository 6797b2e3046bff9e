/* select.c - see select.h. */
#include "select.h"

#include <string.h>

bool selection_counts(const options *o, const select_options *asked) {
  return asked->count && (asked->max_count != 0 || o->json);
}

selection selection_begin(const options *o, const select_options *asked, const keys_options *keys) {
  return (selection){
      .o = o, .asked = asked, .line_number = keys->line_number, .left = asked->max_count};
}

bool selection_done(const selection *s) { return s->o->quiet && s->nselected > 0; }

/* Keeps the first `left` bits that are set. Returns the index after the last one. */
static size_t selection_cut(uint64_t *bitmap, size_t n, uint64_t left) {
  size_t examined = 0;
  for (size_t w = 0; w < (n + 63) / 64; w++) {
    uint64_t word = bitmap[w], kept = 0;
    for (; word != 0 && left > 0; word &= word - 1, left--) {
      kept |= word & -word;
      examined = 64 * w + (size_t)__builtin_ctzll(word) + 1;
    }
    bitmap[w] = kept;
  }
  return examined;
}

static void selection_file(selection *s, const key_batch *b) {
  if (b->file == s->file) return;
  s->file = b->file;
  s->left = s->asked->max_count;
}

bool selection_goes_on(selection *s, const key_batch *b) {
  selection_file(s, b);
  return s->left > 0;
}

void selection_add(selection *s, key_stream *stream, const key_batch *b, size_t i, bool selected) {
  selection_file(s, b);
  s->nkeys++;
  s->nselected += selected;
  if (!selected || s->left == UINT64_MAX) return;
  if (--s->left == 0) stream_skip_file(stream, i + 1);
}

size_t selection_take(selection *s, key_stream *stream, const key_batch *b, uint64_t *bitmap) {
  uint64_t selected = 0;
  size_t examined = b->n;
  selection_file(s, b);
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    selected += (uint64_t)__builtin_popcountll(bitmap[w]);
  }
  if (selected >= s->left) {
    selected = s->left;
    examined = selection_cut(bitmap, b->n, s->left);
    stream_skip_file(stream, examined);
  }
  if (s->left != UINT64_MAX) s->left -= selected;
  s->nselected += selected;
  s->nkeys += examined;
  return examined;
}

/* ---- printing ---- */

/* As grep -n: the name of the file too when there are several. */
static void selection_place(const key_batch *b, uint64_t line) {
  if (b->name != NULL) {
    const char *name = strcmp(b->name, "-") == 0 ? "(standard input)" : b->name;
    out_text("%s", paint(PAINT_KEY));
    out_record((const uint8_t *)name, strlen(name));
    out_text("%s:", paint(PAINT_PLAIN));
  }
  out_text("%s%llu%s:", paint(PAINT_GOOD), (unsigned long long)line, paint(PAINT_PLAIN));
}

void selection_prefix(const key_batch *b, size_t i) {
  if (b->lines != NULL) selection_place(b, b->lines[i]);
}

void selection_pass(const key_batch *b, size_t i, const char *mark) {
  for (const bad_record *bad; (bad = batch_passing(b, i)) != NULL;) {
    if (b->lines != NULL) selection_place(b, bad->line);
    out_text("%s", mark);
    out_record(bad->bytes, bad->len);
  }
}

void selection_print(const selection *s, const key_batch *b, const uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    uint64_t word = bitmap[w];
    if (!s->line_number) {
      if (word != 0) batch_print(b, w, word);
      continue;
    }
    for (; word != 0; word &= word - 1) {
      size_t len, i = 64 * w + (size_t)__builtin_ctzll(word);
      const uint8_t *record = batch_record(b, i, &len);
      selection_pass(b, i, "");
      if (!batch_print_once(b, record)) continue;
      selection_prefix(b, i);
      out_record(record, len);
    }
  }
  selection_pass(b, b->n, "");
}

void selection_print_header(const selection *s, const key_batch *b) {
  if (b->header == NULL) return;
  if (s->line_number) selection_place(b, 1); /* a header is the first line */
  out_record(b->header, b->header_len);
}

void selection_json_key(const key_batch *b, size_t i) {
  size_t len;
  const uint8_t *text = batch_text(b, i, &len);
  json_bytes("key", text, len);
  if (b->lines != NULL && b->name != NULL) json_text("file", b->name);
  if (b->lines != NULL) json_count("line", b->lines[i]);
}
