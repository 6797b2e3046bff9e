/*
 * elimination.c - eliminates the equations of a part (banding.c), eight slots at a time, in
 * portable C.
 *
 * An overloaded band has some 100 equations that have begun and have no row yet: the pending ones.
 * Placed one by one, a key takes 40 row additions, and each waits for the one before. The order of
 * insertion does not help: which slots get a row follows from the set of keys alone, so the sum of
 * (slot of the row - first slot of the key) is the same in every order, and an addition goes on by
 * two slots on average. What helps is to add several rows at once (the method of the four
 * Russians). The sweep goes over the slots from left to right, by panels of eight:
 *
 *   1. choose rows for the panel's slots among the pending equations, by their first bytes alone
 *   2. tabulate, for each value of the low and of the high nibble of a first byte, the sum of rows
 *      that clears it
 *   3. add two table entries to every other pending equation, and go on by one byte
 *
 * So a pending equation takes two additions for eight slots instead of four, they do not wait for
 * each other, and no branch depends on the data. This halves the time of a build without vectors.
 *
 * Priority. Keys are bumped by class, so a key of class 2 must not contribute to a row of class 1
 * or 0, nor one of this bucket to a row of the bucket before. Pending equations are kept in the
 * order in which they begin, that is class 2, 1, 0; the row of a slot is the *last* equation that
 * has it; rows of the bucket before have been chosen already. Hence rows that take precedence are
 * all that is ever added to an equation, and clearing the rows of a class takes it out again.
 *
 * Draining. After a bucket's last panel up to 16 more follow without new keys. An equation that is
 * pending then has vanished: it depends on others, and its class gives the code of the bucket. The
 * rows found in these panels are there when the next bucket begins.
 *
 * More than 128 pending equations have only 128 slots left: one depends on others, and the lowest
 * class is dropped at once. The same holds for more than 136 keys that begin in one panel.
 */
#include "base/trace.h"
#include "family/burr.h"

#define ELIM_PANEL NAY_BAND_PANEL
#define ELIM_PANELS (NAY_RIBBON_BUCKET / ELIM_PANEL) /* of a bucket */
#define ELIM_DRAIN (NAY_RIBBON_WIDTH / ELIM_PANEL)
#define ELIM_PENDING NAY_RIBBON_WIDTH
#define ELIM_ENTER (NAY_RIBBON_WIDTH + ELIM_PANEL)
#define ELIM_LOW_BITS 0x0101010101010101u
#define ELIM_OLD 3u /* in place of a class: a row of the bucket before */

/*
 * elim_equation: 136 coefficients from the first slot of the panel on, bit i of byte j for slot
 * 8 j + i on every CPU; the last 8 are 0 after its first panel, and so are the bytes up to the
 * value, which is the second word of `high`.
 */
typedef struct elim_equation {
  nay_words low, high;
} elim_equation;

typedef struct elim_sweep {
  nay_band_part *part;
  uint64_t starts;
  unsigned n, n2, n1; /* pending; of them of class 2, then of class 1 */
  unsigned code;
  uint8_t class_of[ELIM_PANELS + ELIM_DRAIN][ELIM_PANEL]; /* of the rows */
  elim_equation pending[ELIM_PENDING + ELIM_ENTER];
} elim_sweep;
_Static_assert(sizeof(elim_sweep) <= NAY_BAND_SWEEP_BYTES, "no room for a sweep");

/* elim_panel: the rows of eight slots, all from the panel's first slot on. */
typedef struct elim_panel {
  elim_equation rows[ELIM_PANEL];
  elim_equation low_table[16], high_table[16];
  uint8_t first_bytes[ELIM_PANEL]; /* of the rows */
  uint16_t from[ELIM_PANEL];       /* which pending equations they were */
  unsigned have, old;              /* bit i: slot i has a row; it is of the bucket before */
  unsigned first; /* pending equations below have not become rows, nor just begun */
  uint8_t taken[ELIM_PENDING + ELIM_ENTER];
} elim_panel;

NAY_INLINE unsigned elim_first_byte(const elim_equation *e) {
  return *(const uint8_t *)(const void *)e;
}

/* The coefficients without the first byte. */
NAY_INLINE nay_words elim_shifted(const elim_equation *e) {
  nay_words x;
  memcpy(&x, (const uint8_t *)(const void *)e + 1, sizeof x);
  return x;
}

NAY_INLINE elim_equation elim_sum(const elim_equation *a, const elim_equation *b) {
  return (elim_equation){a->low ^ b->low, a->high ^ b->high};
}

/* An equation that begins `by` slots after the first of the panel, and back. */
NAY_INLINE elim_equation elim_shift_up(uint64_t lo, uint64_t hi, uint64_t value, unsigned by) {
  uint64_t top = (hi >> 1) >> (63 - by);
  hi = hi << by | (lo >> 1) >> (63 - by);
  return (elim_equation){{nay__little64(lo << by), nay__little64(hi)}, {nay__little64(top), value}};
}

NAY_INLINE nay_band_row elim_shift_down(const elim_equation *e, unsigned by) {
  uint64_t lo = nay__little64(e->low[0]), hi = nay__little64(e->low[1]);
  uint64_t top = nay__little64(e->high[0]);
  return (nay_band_row){lo >> by | (hi << 1) << (63 - by), hi >> by | (top << 1) << (63 - by),
                        e->high[1]};
}

/* ---- 1: which equations become rows ---- */

static void elim_old_rows(elim_panel *p, const nay_band_row *rows) {
  for (unsigned i = 0; i < ELIM_PANEL; i++) {
    if (rows[i].lo == 0) continue;
    p->rows[i] = elim_shift_up(rows[i].lo, rows[i].hi, rows[i].fingerprint, i);
    p->first_bytes[i] = (uint8_t)elim_first_byte(&p->rows[i]);
    p->have |= 1u << i;
  }
  p->old = p->have;
}

/* Eight equations from number `from` on, by their first bytes: slot by slot, the last that has the
 * slot becomes its row, if there is none, and the row is added to the others that have it. */
NAY_INLINE void elim_choose8(elim_panel *p, uint64_t bytes, unsigned from) {
  uint64_t open = ~(uint64_t)0; /* bytes of equations that have not become rows */
  unsigned have = p->have;
  for (unsigned i = 0; i < ELIM_PANEL; i++) {
    uint64_t has = bytes >> i & ELIM_LOW_BITS & open;
    if ((have >> i & 1) == 0) {
      if (has == 0) continue;
      unsigned at = nay__log2_64(has); /* 8 times the last one */
      have |= 1u << i;
      p->first_bytes[i] = (uint8_t)(bytes >> at);
      p->from[i] = (uint16_t)(from + at / 8);
      has ^= (uint64_t)1 << at;
      open ^= (uint64_t)0xff << at;
    }
    bytes ^= has * p->first_bytes[i];
  }
  p->have = have;
}

static void elim_choose(elim_panel *p, const elim_equation *pending, unsigned n) {
  for (; n >= 8 && p->have != 0xff; n -= 8) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; i++) {
      bytes |= (uint64_t)elim_first_byte(&pending[n - 8 + i]) << 8 * i;
    }
    elim_choose8(p, bytes, n - 8);
  }
  if (n == 0 || n >= 8) return;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < n; i++) bytes |= (uint64_t)elim_first_byte(&pending[i]) << 8 * i;
  elim_choose8(p, bytes, 0);
}

/* ---- 2: rows and tables ---- */

/* Adds the rows of earlier slots that an equation needs to become the row of slot i. */
NAY_INLINE void elim_row(elim_panel *p, unsigned i, elim_equation e) {
  uint64_t first = elim_first_byte(&e);
  for (unsigned j = 0; j < i; j++) {
    uint64_t bit = 0 - (first >> j & 1);
    nay_words mask = {bit, bit};
    e.low ^= p->rows[j].low & mask;
    e.high ^= p->rows[j].high & mask;
    first ^= p->first_bytes[j] & bit;
  }
  p->rows[i] = e;
}

static void elim_rows(elim_panel *p, const elim_equation *pending) {
  for (unsigned i = 0; i < ELIM_PANEL; i++) {
    if ((p->old >> i & 1) != 0) continue;
    if (NAY_LIKELY((p->have >> i & 1) != 0)) {
      elim_row(p, i, pending[p->from[i]]);
    } else {
      p->rows[i] = (elim_equation){{0, 0}, {0, 0}};
      p->first_bytes[i] = 0;
    }
  }
}

/* table[v]: the sum of four rows that clears v in their slots, where row i has nibbles[i]. */
NAY_INLINE void elim_table(const elim_equation *rows, const uint8_t *nibbles,
                           elim_equation table[16]) {
  table[0] = (elim_equation){{0, 0}, {0, 0}};
  for (unsigned i = 4; i-- > 0;) {
    unsigned nibble = nibbles[i] | 1u << i; /* of an empty row, too: no equation has its slot */
    for (unsigned v = 1u << i; v < 16; v += 2u << i) {
      table[v] = elim_sum(&table[v ^ nibble], &rows[i]);
    }
  }
}

static void elim_tables(elim_panel *p) {
  uint8_t low[4], high[4];
  elim_equation rows[4];
  for (unsigned i = 0; i < 4; i++) {
    low[i] = p->first_bytes[i] & 15;
    high[i] = p->first_bytes[4 + i] >> 4;
  }
  elim_table(p->rows + 4, high, p->high_table);
  /* rows without high nibble, so that the two lookups of a step do not wait for each other */
  for (unsigned i = 0; i < 4; i++) {
    rows[i] = elim_sum(&p->rows[i], &p->high_table[p->first_bytes[i] >> 4]);
  }
  elim_table(rows, low, p->low_table);
  for (unsigned v = 1; v < 16; v++) {
    p->low_table[v].low = elim_shifted(&p->low_table[v]);
    p->high_table[v].low = elim_shifted(&p->high_table[v]);
  }
}

/* ---- 3: the other equations ---- */

NAY_INLINE const elim_equation *elim_entry(const elim_equation *table, unsigned offset) {
  return (const elim_equation *)(const void *)((const uint8_t *)(const void *)table + offset);
}

NAY_INLINE void elim_step(const elim_panel *p, const elim_equation *e, elim_equation *to) {
  unsigned first = elim_first_byte(e);
  const elim_equation *a = elim_entry(p->low_table, (first & 15) * (unsigned)sizeof *a);
  const elim_equation *b = elim_entry(p->high_table, (first & 0xf0) * (unsigned)sizeof *b / 16);
  nay_words low = elim_shifted(e) ^ a->low ^ b->low;
  to->high[1] = e->high[1] ^ a->high[1] ^ b->high[1];
  to->low = low;
}

/* Returns how many equations are left. */
static unsigned elim_steps(const elim_panel *p, elim_equation *pending, unsigned n) {
  for (unsigned i = 0; i < p->first; i++) elim_step(p, &pending[i], &pending[i]);
  elim_equation *to = pending + p->first;
  for (unsigned i = p->first; i < n; i++) {
    elim_step(p, &pending[i], to);
    to->high[0] = 0;
    to += p->taken[i] ^ 1u;
  }
  return (unsigned)(to - pending);
}

/* ---- a panel ---- */

static unsigned elim_limit(unsigned code) {
  return (unsigned)(NAY_RIBBON_LIMITS >> (16 * code)) & 0xffff;
}

/* Which class the keys of panel q of a bucket are of. */
static unsigned elim_class(unsigned q) {
  return q < elim_limit(1) / ELIM_PANEL ? 2 : q < elim_limit(2) / ELIM_PANEL ? 1 : 0;
}

/* Drops class 2 and those down to `class`. */
static void elim_drop(elim_sweep *s, unsigned class) {
  unsigned drop = class == 2 ? s->n2 : class == 1 ? s->n2 + s->n1 : s->n;
  if (s->code < 3 - class) s->code = 3 - class;
  memmove(s->pending, s->pending + drop, (s->n - drop) * sizeof *s->pending);
  s->n -= drop;
  s->n2 = 0;
  if (class < 2) s->n1 = 0;
}

/* Returns how many of the keys have entered. */
static unsigned elim_enter(elim_sweep *s, unsigned q, size_t key, size_t nkeys) {
  const nay_band_part *p = s->part;
  unsigned class = elim_class(q);
  if (nkeys > ELIM_ENTER) elim_drop(s, class);
  if (class + s->code >= 3) return 0;
  for (size_t i = key; i < key + nkeys; i++) {
    nay_burr_row r = nay__burr_row_of(p->keys[i], p->seed, s->starts);
    uint64_t value = p->values != NULL ? p->values[i] : r.fingerprint;
    NAY_TRACE(BAND_KEY, class, i, p->keys[i], r.start, r.lo, r.hi);
    s->pending[s->n++] = elim_shift_up(r.lo, r.hi, value, r.start % ELIM_PANEL);
  }
  if (class == 2) s->n2 += (unsigned)nkeys;
  if (class == 1) s->n1 += (unsigned)nkeys;
  return (unsigned)nkeys;
}

/* Stores the new rows, and the class of each. */
static void elim_store(elim_sweep *s, unsigned q, elim_panel *p, nay_band_row *rows) {
  unsigned gone2 = 0, gone1 = 0;
  for (unsigned i = 0; i < ELIM_PANEL; i++) {
    s->class_of[q][i] = ELIM_OLD;
    if ((p->old >> i & 1) != 0) continue;
    rows[i] = elim_shift_down(&p->rows[i], i);
    if ((p->have >> i & 1) == 0) continue;
    unsigned from = p->from[i], is2 = from < s->n2, is1 = !is2 && from < s->n2 + s->n1;
    s->class_of[q][i] = (uint8_t)(2 * is2 + is1);
    NAY_TRACE(BAND_ROW, 2 * is2 + is1, 0, (uint64_t)(rows + i - s->part->rows), rows[i].lo,
              rows[i].hi, 0);
    gone2 += is2;
    gone1 += is1;
    p->taken[from] = 1;
    if (from < p->first) p->first = from;
  }
  s->n2 -= gone2;
  s->n1 -= gone1;
}

/* The last `entered` of the pending equations begin in this panel. */
static void elim_panel_at(elim_sweep *s, unsigned q, bool drained, unsigned entered,
                          nay_band_row *rows) {
  elim_panel p;
  p.have = p.old = 0;
  p.first = s->n - entered;
  if (drained) elim_old_rows(&p, rows);
  elim_choose(&p, s->pending, s->n);
  elim_rows(&p, s->pending);
  elim_tables(&p);
  memset(p.taken, 0, s->n);
  elim_store(s, q, &p, rows);
  s->n = elim_steps(&p, s->pending, s->n);
}

/* ---- a bucket ---- */

static void elim_clear_bumped(const elim_sweep *s, nay_band_row *rows, unsigned npanels) {
  for (unsigned q = 0; q < npanels; q++, rows += ELIM_PANEL) {
    for (unsigned i = 0; i < ELIM_PANEL; i++) {
      unsigned class = s->class_of[q][i];
      if (class != ELIM_OLD && class + s->code >= 3) {
        NAY_TRACE(BAND_CLEARED, class, 0, (uint64_t)(rows + i - s->part->rows), 0, 0, 0);
        rows[i] = (nay_band_row){0, 0, 0};
      }
    }
  }
}

/* Keys [from, ...) that begin in the first slots of a bucket, as its code says. */
static void elim_bump(nay_band_part *p, unsigned code, const uint32_t *ends, unsigned npanels,
                      size_t from) {
  unsigned panels = elim_limit(code) / ELIM_PANEL;
  if (code == 0) return;
  size_t n = ends[(panels < npanels ? panels : npanels) - 1] - from;
  memcpy(p->bumped + p->nbumped, p->keys + from, n * sizeof *p->keys);
  if (p->values != NULL) {
    memcpy(p->bumped_values + p->nbumped, p->values + from, n * sizeof *p->values);
  }
  for (size_t i = 0; i < n; i++) NAY_TRACE(BAND_BUMPED, 0, i, p->keys[from + i], 0, 0, 0);
  p->nbumped += n;
}

/*
 * A bucket of npanels panels, of which the first `drained` have rows of the bucket before; `after`
 * panels follow in the part. Returns how many of those it has drained.
 */
static unsigned elim_bucket(elim_sweep *s, size_t bucket, unsigned npanels, unsigned drained,
                            unsigned after) {
  nay_band_part *p = s->part;
  const uint32_t *ends = p->ends + bucket * ELIM_PANELS;
  nay_band_row *rows = p->rows + bucket * NAY_RIBBON_BUCKET;
  size_t from = bucket == 0 ? 0 : ends[-1], key = from;
  unsigned last = npanels + (after < ELIM_DRAIN ? after : ELIM_DRAIN), q = 0;
  s->n = s->n1 = s->n2 = s->code = 0;
  for (; q < last && (q < npanels || s->n != 0); q++) {
    size_t nkeys = q < npanels ? ends[q] - key : 0;
    for (unsigned class = 2; s->n > ELIM_PENDING; class --) elim_drop(s, class);
    unsigned entered = nkeys == 0 ? 0 : elim_enter(s, q, key, nkeys);
    key += nkeys;
    elim_panel_at(s, q, q < drained, entered, rows + (size_t)q * ELIM_PANEL);
  }
  if (s->n != 0) elim_drop(s, s->n > s->n2 + s->n1 ? 0 : s->n > s->n2 ? 1 : 2);
  if (s->code != 0) elim_clear_bumped(s, rows, q);
  p->codes[bucket] = (uint8_t)s->code;
  elim_bump(p, s->code, ends, npanels, from);
  return q - npanels;
}

void nay__band_eliminate(nay_band_part *p) {
  elim_sweep *s = (elim_sweep *)(void *)p->sweep;
  size_t left = (size_t)p->nblocks * (NAY_RIBBON_WIDTH / ELIM_PANEL);
  unsigned drained = 0;
  s->part = p;
  s->starts = nay__burr_starts(p->nblocks);
  for (size_t bucket = 0; bucket < p->nbuckets; bucket++) {
    unsigned npanels = (unsigned)nay__min_u64(left, ELIM_PANELS);
    left -= npanels;
    drained = elim_bucket(s, bucket, npanels, drained, (unsigned)nay__min_u64(left, ELIM_DRAIN));
  }
}
