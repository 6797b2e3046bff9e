/* batch.c - see batch.h. */
#include "batch.h"

#include <stdlib.h>

/* ---- memory ---- */

void batch_new(key_batch *b, const key_reader *r, bool line_numbers, bool hashes, bool wide) {
  b->keys = must_alloc(BATCH_KEYS * sizeof *b->keys);
  b->lens = must_alloc(BATCH_KEYS * sizeof *b->lens);
  b->plain = r->plain;
  b->bads = must_alloc(sizeof *b->bads);
  *b->bads = (bad_list){.n = 0};
  if (hashes) b->lo = must_alloc(BATCH_KEYS * sizeof *b->lo);
  if (wide) b->hi = must_alloc(BATCH_KEYS * sizeof *b->hi);
  b->memory = must_alloc(sizeof *b->memory);
  *b->memory = (struct batch_memory){.cap = BATCH_BYTES};
  b->memory->bytes = must_alloc(BATCH_BYTES + 1);
  if (b->plain) return;
  b->records = must_alloc(BATCH_KEYS * sizeof *b->records);
  b->record_lens = must_alloc(BATCH_KEYS * sizeof *b->record_lens);
  if (line_numbers) b->lines = must_alloc(BATCH_KEYS * sizeof *b->lines);
  if (r->values) b->values = must_alloc(BATCH_KEYS * sizeof *b->values);
  if (r->values) b->value_lens = must_alloc(BATCH_KEYS * sizeof *b->value_lens);
  if (r->range_filter != NULL) b->maybes = must_alloc(BATCH_KEYS * sizeof *b->maybes);
  if (r->how.type == NAY_KEY_TEXT && r->how.ntransformations == 0 && r->form == 0) return;
  b->texts = must_alloc(BATCH_KEYS * sizeof *b->texts);
  b->text_lens = must_alloc(BATCH_KEYS * sizeof *b->text_lens);
}

void batch_forget_bads(key_batch *b, size_t first) {
  for (size_t i = first; i < b->bads->n; i++) free(b->bads->at[i].why);
  if (b->bads->n > first) b->bads->n = first;
  if (first == 0) b->bads->npassed = 0;
  if (first == 0) b->bads->printed = NULL;
}

void batch_free(key_batch *b) {
  free(b->keys);
  free(b->lens);
  free(b->lo);
  free(b->hi);
  free(b->records);
  free(b->record_lens);
  free(b->lines);
  free(b->values);
  free(b->value_lens);
  free(b->maybes);
  free(b->texts);
  free(b->text_lens);
  free(b->fail);
  if (b->bads != NULL) {
    batch_forget_bads(b, 0);
    free(b->bads->at);
  }
  free(b->bads);
  if (b->memory != NULL) {
    free(b->memory->bytes);
    free(b->memory->scratch);
  }
  free(b->memory);
}

void batch_grow(struct batch_memory *m) {
  m->cap *= 2;
  m->bytes = must_grow(m->bytes, m->cap + 1);
}

void batch_scratch(struct batch_memory *m, const key_reader *r) {
  size_t need = key_reader_scratch(r, m->len, BATCH_KEYS) + 2 * key_reader_room(r);
  if (need <= m->scratch_cap) return;
  free(m->scratch);
  m->scratch = must_alloc(need);
  m->scratch_cap = need;
}

__attribute__((noinline)) static bool scratch_left(const key_batch *b, const key_reader *r,
                                                   const uint8_t *p, const uint8_t *at,
                                                   size_t room) {
  const struct batch_memory *m = b->memory;
  size_t left = (size_t)(m->scratch + m->scratch_cap - at);
  size_t rest = (size_t)(m->bytes + m->len - p);
  return left >= key_reader_scratch(r, rest, BATCH_KEYS - b->n) + room;
}

bool batch_scratch_left(const key_batch *b, const key_reader *r, const uint8_t *p,
                        const uint8_t *at) {
  size_t room = key_reader_room(r); /* without any batch_scratch has made enough */
  return room == 0 || scratch_left(b, r, p, at, room);
}

/* ---- records ---- */

void batch_add(key_batch *b, const uint8_t *record, const key_record *r) {
  b->keys[b->n] = r->key;
  b->lens[b->n] = r->key_len;
  if (b->lines != NULL) b->lines[b->n] = r->line;
  if (b->values != NULL) {
    b->values[b->n] = r->value;
    b->value_lens[b->n] = r->value_len;
  }
  if (b->maybes != NULL) b->maybes[b->n] = r->maybe;
  if (b->texts != NULL) {
    b->texts[b->n] = r->text;
    b->text_lens[b->n] = r->text_len;
  }
  if (!b->plain) {
    b->records[b->n] = record;
    b->record_lens[b->n] = r->len;
  }
  b->n++;
}

bad_record *batch_add_bad(key_batch *b, const uint8_t *bytes, size_t len, uint64_t line) {
  bad_list *l = b->bads;
  if (l->n == l->cap) {
    l->cap = l->cap != 0 ? 2 * l->cap : 16;
    l->at = must_grow(l->at, l->cap * sizeof *l->at);
  }
  l->at[l->n] = (bad_record){.before = b->n, .bytes = bytes, .len = len, .line = line};
  return &l->at[l->n++];
}

void batch_end_records(key_batch *b, uint8_t terminator) {
  for (size_t i = 0; i < b->n; i++) {
    size_t len;
    const uint8_t *record = batch_record(b, i, &len);
    b->memory->bytes[(size_t)(record - b->memory->bytes) + len - 1] = terminator;
  }
}

bool batch_print_once(const key_batch *b, const uint8_t *record) {
  if (b->bads->printed == record) return false;
  b->bads->printed = record;
  return true;
}

const bad_record *batch_passing(const key_batch *b, size_t i) {
  bad_list *l = b->bads;
  bool passes = l->passes && l->npassed < l->n && l->at[l->npassed].before <= i;
  return passes ? &l->at[l->npassed++] : NULL;
}

void batch_print_rest(const key_batch *b) {
  for (const bad_record *bad; (bad = batch_passing(b, b->n)) != NULL;) {
    out_record(bad->bytes, bad->len);
  }
}

/* Record by record, with the bad ones between them. */
static void batch_print_each(const key_batch *b, size_t w, uint64_t word) {
  for (; word != 0; word &= word - 1) {
    size_t len, i = 64 * w + (size_t)__builtin_ctzll(word);
    for (const bad_record *bad; (bad = batch_passing(b, i)) != NULL;) {
      out_record(bad->bytes, bad->len);
    }
    const uint8_t *record = batch_record(b, i, &len);
    if (batch_print_once(b, record)) out_record(record, len);
  }
}

/* Neighbouring records are copied together: most of the time a whole batch is one piece. */
void batch_print(const key_batch *b, size_t w, uint64_t word) {
  const uint8_t *from = NULL, *printed = b->bads->printed;
  size_t run = 0;
  if (b->bads->passes && b->bads->n > 0) {
    batch_print_each(b, w, word);
    return;
  }
  while (word != 0) {
    size_t len, i = 64 * w + (size_t)__builtin_ctzll(word);
    const uint8_t *record = batch_record(b, i, &len);
    word &= word - 1;
    if (from == NULL || from + run != record || out_is_terminal()) {
      if (record == printed) continue; /* as batch_print_once */
      if (run > 0) out_record(from, run);
      from = record;
      run = 0;
    }
    printed = record;
    run += len;
  }
  b->bads->printed = printed;
  if (run > 0) out_record(from, run);
}

nay_status batch_may_contain(const nay_filter *f, const key_batch *b, uint64_t *bitmap) {
  if (b->lo == NULL) {
    return nay_filter_may_contain_many(f, (const void *const *)b->keys, b->lens, b->n, bitmap);
  }
  return nay_filter_may_contain_hash_many(f, b->lo, b->hi, b->n, bitmap);
}

nay_status batch_add_all(nay_filter *f, const key_batch *b, uint64_t *bitmap, size_t *taken) {
  if (b->lo == NULL) {
    return nay_filter_add_many(f, (const void *const *)b->keys, b->lens, b->n, bitmap, taken);
  }
  return nay_filter_add_hash_many(f, b->lo, b->hi, b->n, bitmap, taken);
}
