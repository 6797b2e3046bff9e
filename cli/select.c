/* select.c - see select.h. */
#include "select.h"

#include <stdlib.h>
#include <string.h>

bool selection_counts(const options *o, const select_options *asked) {
  return asked->count && (asked->max_count != 0 || o->json);
}

selection selection_begin(const options *o, const select_options *asked, const keys_options *keys) {
  return (selection){.o = o,
                     .asked = asked,
                     .line_number = keys->line_number,
                     .ends_in_zero = keys->null,
                     .left = asked->max_count};
}

void selection_files(const selection *s, const key_stream *stream) {
  if (s->o->json) json_open("files", '[');
  for (size_t i = 0; i < stream_nfiles(stream); i++) {
    const char *path = stream_file(stream, i);
    file_count none = {0, 0};
    const file_count *count = i < s->nfiles ? &s->files[i] : &none;
    if (path == NULL) continue;
    if (!s->o->json) {
      stream_print_name(path, ":");
      out_text("%llu\n", (unsigned long long)count->nselected);
      continue;
    }
    json_open(NULL, '{');
    json_text("file", path);
    json_count("nkeys", count->nkeys);
    json_count("nselected", count->nselected);
    json_close();
  }
  if (s->o->json) json_close();
}

void selection_end(selection *s) { free(s->files); }

bool selection_done(const selection *s) { return s->o->quiet && s->nselected > 0; }

static void selection_name(const selection *s, const key_batch *b) {
  const char *path = b->path != NULL ? b->path : "-";
  if (s->o->json) {
    json_open(NULL, '{');
    json_text("file", path);
    json_end();
    return;
  }
  stream_print_name(path, s->ends_in_zero ? "" : "\n");
  if (s->ends_in_zero) out_bytes("", 1);
}

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
  s->left = s->asked->only_names && s->asked->max_count != 0 ? 1 : s->asked->max_count;
}

/* -H -c, and -l. */
static void selection_count(selection *s, const key_batch *b, uint64_t nkeys, uint64_t nselected) {
  if (s->asked->only_names && nselected > 0 && !s->o->quiet) selection_name(s, b);
  if (!b->named || b->file == 0) return;
  size_t at = (size_t)b->file;
  if (at > s->nfiles) {
    s->files = must_grow(s->files, 2 * at * sizeof *s->files);
    memset(s->files + s->nfiles, 0, (2 * at - s->nfiles) * sizeof *s->files);
    s->nfiles = 2 * at;
  }
  s->files[at - 1].nkeys += nkeys;
  s->files[at - 1].nselected += nselected;
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
  selection_count(s, b, examined, selected);
  return examined;
}

/* ---- printing ---- */

/* As grep -n: the name of the file too when there are several. */
static void selection_place(const key_batch *b, uint64_t line) {
  if (b->name != NULL) stream_print_name(b->name, ":");
  if (b->lines == NULL) return;
  out_text("%s%llu%s:", paint(PAINT_GOOD), (unsigned long long)line, paint(PAINT_PLAIN));
}

void selection_prefix(const key_batch *b, size_t i) {
  if (b->lines != NULL || b->named) selection_place(b, b->lines != NULL ? b->lines[i] : 0);
}

void selection_pass(const key_batch *b, size_t i, const char *mark) {
  for (const bad_record *bad; (bad = batch_passing(b, i)) != NULL;) {
    if (b->lines != NULL || b->named) selection_place(b, bad->line);
    out_text("%s", mark);
    out_record(bad->bytes, bad->len);
  }
}

void selection_print(const selection *s, const key_batch *b, const uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    uint64_t word = bitmap[w];
    if (!s->line_number && !b->named) {
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
  if (s->line_number || b->named) selection_place(b, 1); /* a header is the first line */
  out_record(b->header, b->header_len);
}

static void selection_json_place(const key_batch *b, size_t i) {
  if ((b->lines != NULL || b->named) && b->name != NULL) json_text("file", b->name);
  if (b->lines != NULL) json_count("line", b->lines[i]);
}

void selection_json_key(const key_batch *b, size_t i) {
  size_t len;
  const uint8_t *text = batch_text(b, i, &len);
  json_bytes("key", text, len);
  selection_json_place(b, i);
}

void selection_json_range(const key_batch *b, size_t i) {
  size_t len;
  const uint8_t *text = batch_text(b, i, &len);
  json_bytes("first", text, len);
  json_bytes("last", b->values[i], b->value_lens[i]);
  selection_json_place(b, i);
}
