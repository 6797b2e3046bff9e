/* explain.c - see explain.h: the explanation of a key, and its sentence. */
#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* ---- asking ---- */

static nay_status explain_keep(void *ctx, const nay_explain_step *step) {
  explained_filter *f = ctx;
  if (f->nsteps == f->cap) {
    f->cap = f->cap == 0 ? 16 : f->cap * 2;
    f->steps = must_grow(f->steps, f->cap * sizeof *f->steps);
  }
  f->steps[f->nsteps++] = *step;
  return NAY_OK;
}

static explained_filter explain_filter(const nay_filter *filter, const void *key, size_t len) {
  explained_filter f = {
      .why = {.size = sizeof f.why}, .kind = nay_filter_kind(filter), .explained = true};
  nay_status status = nay_filter_explain(filter, key, len, explain_keep, &f, &f.why);
  if (status != NAY_OK) die(exit_of(status), "%s", nay_status_text(status));
  f.maybe = f.why.maybe;
  return f;
}

static void explain_push(explained_key *k, explained_filter f) {
  k->filters = must_grow(k->filters, (k->nfilters + 1) * sizeof *k->filters);
  k->filters[k->nfilters++] = f;
}

static nay_status explain_table_filter(void *ctx, const nay_sst_filters_step *step) {
  explained_filter f = {.maybe = step->maybe, .damaged = step->damaged};
  if (step->filter != NULL) f = explain_filter(step->filter, step->key, step->key_len);
  f.offset = step->offset;
  explain_push(ctx, f);
  return NAY_OK;
}

static uint8_t *explain_copy(const void *bytes, size_t len) {
  uint8_t *copy = must_alloc(len + 1);
  if (len > 0) memcpy(copy, bytes, len);
  return copy;
}

explained_key explain_key(const explain_subject *subject, const void *key, size_t len,
                          const void *text, size_t text_len) {
  explained_key k = {.text = explain_copy(text, text_len),
                     .text_len = text_len,
                     .key = explain_copy(key, len),
                     .key_len = len};
  if (subject->table == NULL) {
    explain_push(&k, explain_filter(subject->filter, key, len));
    k.maybe = k.filters[0].maybe;
    return k;
  }
  nay_status status =
      nay_sst_filters_explain(subject->table, key, len, explain_table_filter, &k, &k.maybe);
  if (status != NAY_OK) die(exit_of(status), "%s", nay_status_text(status));
  return k;
}

void explained_key_free(explained_key *k) {
  for (size_t i = 0; i < k->nfilters; i++) {
    free(k->filters[i].steps);
    free(k->filters[i].members);
  }
  free(k->filters);
  free(k->text);
  free(k->key);
  *k = (explained_key){.nfilters = 0};
}

/* ---- the sentence ---- */

/* The first step of the group that matches, else of the first group. */
static const nay_explain_step *why_group(const explained_filter *f) {
  const nay_explain_step *s = f->steps;
  while (f->why.maybe && s->group != f->why.group) s += s->nsteps;
  return s;
}

static const nay_explain_step *why_failed(const nay_explain_step *s) {
  while (s->ok) s++;
  return s;
}

static const char *why_level(const explained_filter *f) {
  return f->kind == NAY_WINDOW ? "generation" : "level";
}

static void why_bits(const explained_filter *f, const nay_explain_step *s, char text[EXPLAIN_WHY]) {
  char where[48] = "";
  if (f->why.ngroups > 1) snprintf(where, sizeof where, " in %s %u", why_level(f), s->level);
  if (f->why.maybe && s->nsteps == 1) {
    snprintf(text, EXPLAIN_WHY, "its bit is set%s", where);
  } else if (f->why.maybe) {
    snprintf(text, EXPLAIN_WHY, "all %u bits are set%s", s->nsteps, where);
  } else if (f->why.ngroups > 1) {
    snprintf(text, EXPLAIN_WHY, "in each of the %s one of its bits is 0",
             COUNTED(f->why.ngroups, why_level(f)));
  } else {
    snprintf(text, EXPLAIN_WHY, "bit %u of %u is 0", why_failed(s)->index + 1, s->nsteps);
  }
}

static void why_fingerprint(const explained_filter *f, const nay_explain_step *s,
                            char text[EXPLAIN_WHY]) {
  if (f->why.maybe && strcmp(s->unit, "slot") == 0) {
    snprintf(text, EXPLAIN_WHY, "slot %" PRIu64 " has its fingerprint 0x%" PRIx64, s->unit_index,
             s->expected);
  } else if (f->why.maybe) {
    snprintf(text, EXPLAIN_WHY, "slot %" PRIu64 " of %s %" PRIu64 " has its fingerprint 0x%" PRIx64,
             (s->bit - s->unit_bit) / s->nbits, s->unit, s->unit_index, s->expected);
  } else {
    snprintf(text, EXPLAIN_WHY, "none of %s has its fingerprint 0x%" PRIx64,
             COUNTED(f->why.ngroups, "slot"), s->expected);
  }
}

static void why_xor(const explained_filter *f, const nay_explain_step *s, char text[EXPLAIN_WHY]) {
  const nay_explain_step *sum = s + s->nsteps - 1;
  if (f->why.maybe) {
    snprintf(text, EXPLAIN_WHY, "the xor of its %u slots is its fingerprint 0x%" PRIx64,
             s->nsteps - 1, sum->expected);
  } else {
    snprintf(text, EXPLAIN_WHY,
             "the xor of its %u slots is 0x%" PRIx64 ", not its fingerprint 0x%" PRIx64,
             s->nsteps - 1, sum->found, sum->expected);
  }
}

static void why_columns(const explained_filter *f, const nay_explain_step *s,
                        char text[EXPLAIN_WHY]) {
  if (f->why.maybe) {
    snprintf(text, EXPLAIN_WHY, "the parities of %s are its fingerprint",
             COUNTED(s->nsteps, "column"));
  } else {
    snprintf(text, EXPLAIN_WHY, "the parity of column %u is not that of its fingerprint",
             why_failed(s)->index);
  }
}

/* A range filter: keys of one value cannot be told apart. */
static void why_value(const explained_filter *f, char text[EXPLAIN_WHY]) {
  snprintf(text, EXPLAIN_WHY, "its value %" PRIu64 " is %s", f->why.word,
           f->why.maybe ? "stored" : "not stored");
}

const char *explained_why(const explained_filter *f, char text[EXPLAIN_WHY]) {
  if (!f->explained) {
    return f->damaged ? "the filter is damaged" : "the filter is of a policy without explanations";
  }
  if (f->why.reason != NAY_REASON_MATCH && f->why.reason != NAY_REASON_NO_MATCH) {
    return f->why.reason_text;
  }
  const nay_explain_step *s = why_group(f);
  if (f->kind == NAY_RANGE) {
    why_value(f, text);
    return text;
  }
  switch (s->kind) {
    case NAY_STEP_BIT: why_bits(f, s, text); break;
    case NAY_STEP_FINGERPRINT: why_fingerprint(f, s, text); break;
    case NAY_STEP_SLOT: why_xor(f, s, text); break;
    case NAY_STEP_COLUMN: why_columns(f, s, text); break;
    case NAY_STEP_ANSWER: return f->why.maybe ? "it is listed" : "it is not listed";
    case NAY_STEP_VALUE: /* of range filters */
    case NAY_STEP_XOR:
    case NAY_STEP_CONSTANT: return f->why.reason_text;
  }
  return text;
}

const char *explained_table_why(const explained_key *k) {
  if (k->nfilters > 0) return k->maybe ? "one of its filters says maybe" : "its filters say nay";
  return k->maybe ? "the table has no filter for this key" : "no block of the table can hold it";
}
