/*
 * explain_members.c - see explain.h. Each key of --keys is explained in turn, and its steps are
 * looked up among those of the keys in question: steps that read the same bits of the same filter
 * meet. A key stands behind a bit only if all steps of its group are ok: otherwise it is not in
 * that level or generation. Memory does not grow with the file: a step keeps a count and its first
 * three keys.
 */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

/* step_ref: a step of a key in question, by what it reads. */
typedef struct step_ref {
  const void *payload;
  uint64_t bit;
  const nay_explain_step *step;
  step_members *members;
} step_ref;

struct members {
  explained_key *keys;
  size_t nkeys;
  step_ref *refs; /* in order of payload and bit: bits, fingerprints, slots, values */
  size_t nrefs;
  step_ref *bands; /* the first columns of ribbons, which meet where they overlap */
  size_t nbands;
  member *kept; /* the texts that steps point to */
  uint64_t n;
  /* the key that is added */
  const void *payload;
  const void *text;
  size_t text_len;
  const member *copy; /* of the text, once a step keeps it */
  step_members **pending;
  size_t npending, cap;
  bool group_ok;
};

/* ---- the steps in question ---- */

static int ref_order(const void *a, const void *b) {
  const step_ref *x = a, *y = b;
  uintptr_t px = (uintptr_t)x->payload, py = (uintptr_t)y->payload;
  if (px != py) return px < py ? -1 : 1;
  return (x->bit > y->bit) - (x->bit < y->bit);
}

static void members_index(members *m, explained_filter *f) {
  f->members = must_alloc((f->nsteps + 1) * sizeof *f->members);
  memset(f->members, 0, (f->nsteps + 1) * sizeof *f->members);
  m->refs = must_grow(m->refs, (m->nrefs + f->nsteps + 1) * sizeof *m->refs);
  m->bands = must_grow(m->bands, (m->nbands + f->nsteps + 1) * sizeof *m->bands);
  for (size_t i = 0; i < f->nsteps; i++) {
    const nay_explain_step *s = &f->steps[i];
    step_ref ref = {f->why.payload, s->bit, s, &f->members[i]};
    if (s->kind == NAY_STEP_COLUMN && s->index == 0) m->bands[m->nbands++] = ref;
    if (s->kind == NAY_STEP_BIT || s->kind == NAY_STEP_FINGERPRINT || s->kind == NAY_STEP_SLOT ||
        s->kind == NAY_STEP_VALUE) {
      m->refs[m->nrefs++] = ref;
    }
  }
}

members *members_new(explained_key *keys, size_t n) {
  members *m = must_alloc(sizeof *m);
  *m = (members){.keys = keys, .nkeys = n};
  for (size_t i = 0; i < n; i++) {
    for (size_t f = 0; f < keys[i].nfilters; f++) members_index(m, &keys[i].filters[f]);
  }
  if (m->nrefs > 0) qsort(m->refs, m->nrefs, sizeof *m->refs, ref_order);
  return m;
}

void members_free(members *m) {
  if (m == NULL) return;
  for (member *next; m->kept != NULL; m->kept = next) {
    next = m->kept->next;
    free(m->kept);
  }
  free(m->refs);
  free(m->bands);
  free(m->pending);
  free(m);
}

uint64_t members_n(const members *m) { return m->n; }

/* ---- a key of --keys ---- */

static const member *members_copy(members *m) {
  if (m->copy != NULL) return m->copy;
  member *copy = must_alloc(sizeof *copy + m->text_len);
  copy->next = m->kept;
  copy->len = m->text_len;
  if (m->text_len > 0) memcpy(copy->text, m->text, m->text_len);
  m->kept = copy;
  return m->copy = copy;
}

static void members_count(members *m, step_members *to) {
  if (to->n < STEP_MEMBERS) to->first[to->n] = members_copy(m);
  to->n++;
}

/* Two probes of one key may share a bit: it counts once. */
static void members_pend(members *m, step_members *to) {
  for (size_t i = 0; i < m->npending; i++) {
    if (m->pending[i] == to) return;
  }
  if (m->npending == m->cap) {
    m->cap = m->cap == 0 ? 16 : m->cap * 2;
    m->pending = must_grow(m->pending, m->cap * sizeof(step_members *));
  }
  m->pending[m->npending++] = to;
}

static size_t members_find(const members *m, uint64_t bit) {
  step_ref wanted = {.payload = m->payload, .bit = bit};
  size_t low = 0, high = m->nrefs;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ref_order(&m->refs[middle], &wanted) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool runs_overlap(uint64_t a, uint32_t alen, uint64_t b, uint32_t blen) {
  return alen != 0 && blen != 0 && a < b + blen && b < a + alen;
}

static bool bands_overlap(const nay_explain_step *a, const nay_explain_step *b) {
  return runs_overlap(a->bit, a->nbits, b->bit, b->nbits) ||
         runs_overlap(a->bit, a->nbits, b->bit2, b->nbits2) ||
         runs_overlap(a->bit2, a->nbits2, b->bit, b->nbits) ||
         runs_overlap(a->bit2, a->nbits2, b->bit2, b->nbits2);
}

static void members_meet(members *m, const nay_explain_step *s) {
  if (s->kind == NAY_STEP_COLUMN) {
    for (size_t i = 0; s->index == 0 && i < m->nbands; i++) {
      const step_ref *band = &m->bands[i];
      bool same = band->payload == m->payload;
      if (same && bands_overlap(band->step, s)) members_pend(m, band->members);
    }
    return;
  }
  if (s->nbits == 0 || s->kind == NAY_STEP_XOR) return;
  for (size_t i = members_find(m, s->bit); i < m->nrefs; i++) {
    if (m->refs[i].payload != m->payload || m->refs[i].bit != s->bit) break;
    members_pend(m, m->refs[i].members);
  }
}

static nay_status members_step(void *ctx, const nay_explain_step *s) {
  members *m = ctx;
  if (s->index == 0) {
    m->npending = 0;
    m->group_ok = true;
  }
  m->group_ok = m->group_ok && s->ok;
  if (m->group_ok) members_meet(m, s);
  if (s->index + 1 < s->nsteps || !m->group_ok) return NAY_OK;
  for (size_t i = 0; i < m->npending; i++) members_count(m, m->pending[i]);
  return NAY_OK;
}

static void members_explain(members *m, const nay_filter *filter, const void *key, size_t len,
                            nay_explain_visitor visit, nay_explanation *why) {
  nay_status status = nay_filter_explain(filter, key, len, visit, m, why);
  if (status != NAY_OK) die(exit_of(status), "%s", nay_status_text(status));
}

static bool members_ask_about(const members *m, const void *payload) {
  for (size_t i = 0; i < m->nkeys; i++) {
    for (size_t f = 0; f < m->keys[i].nfilters; f++) {
      if (m->keys[i].filters[f].why.payload == payload) return true;
    }
  }
  return false;
}

/* Filters that no key in question is probed in are left alone. */
static nay_status members_table_filter(void *ctx, const nay_sst_filters_step *step) {
  members *m = ctx;
  nay_explanation why = {.size = sizeof why};
  if (step->filter == NULL) return NAY_OK;
  members_explain(m, step->filter, step->key, step->key_len, NULL, &why);
  m->payload = why.payload;
  if (!why.maybe || !members_ask_about(m, why.payload)) return NAY_OK;
  members_explain(m, step->filter, step->key, step->key_len, members_step, &why);
  return NAY_OK;
}

void members_add(members *m, const explain_subject *subject, const void *key, size_t len,
                 const void *text, size_t text_len) {
  bool maybe;
  nay_explanation why = {.size = sizeof why};
  m->n++;
  m->text = text;
  m->text_len = text_len;
  m->copy = NULL;
  for (size_t i = 0; i < m->nkeys; i++) {
    explained_key *k = &m->keys[i];
    k->nmembers += k->key_len == len && (len == 0 || memcmp(k->key, key, len) == 0);
  }
  if (subject->table == NULL) {
    m->payload = m->keys[0].filters[0].why.payload; /* the only one there is */
    members_explain(m, subject->filter, key, len, members_step, &why);
    return;
  }
  nay_status status =
      nay_sst_filters_explain(subject->table, key, len, members_table_filter, m, &maybe);
  if (status != NAY_OK) die(exit_of(status), "%s", nay_status_text(status));
}
