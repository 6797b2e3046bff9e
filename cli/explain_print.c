/*
 * explain_print.c - an explanation for people:
 *
 *   maybe   KEY
 *     hash 5b0c..., xxh3, seed 0
 *     block 17, bytes 1,088 to 1,151
 *       bit 8,714   1   set by apple, pear and 3 more
 *     all 7 bits are set
 *
 * The first line is that of nay check -a; the last says why. Bits of one array of bits lie
 * anywhere, and so do slots: their unit stands beside each. Else the unit is a line of its own.
 */
#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

#define PRINT_KEY 60 /* of a key among others in a line */

static const char *print_number(uint64_t n, char text[NUMBER_TEXT]) {
  return count_text((double)n, text);
}

/* PRINTED: a count as an argument of printf. */
#define PRINTED(n) print_number(n, (char[NUMBER_TEXT]){""})

/* ---- members ---- */

static void print_members(const char *how, const step_members *m) {
  char text[PRINT_KEY];
  if (m->n == 0) return;
  out_text("   %s ", how);
  for (uint64_t i = 0; i < m->n && i < STEP_MEMBERS; i++) {
    bool last = i + 1 == m->n;
    out_text("%s%s%s%s",
             i == 0 ? ""
             : last ? " and "
                    : ", ",
             paint(PAINT_KEY), escape_text(m->first[i]->text, m->first[i]->len, text, sizeof text),
             paint(PAINT_PLAIN));
  }
  if (m->n > STEP_MEMBERS) out_text(" and %s more", PRINTED(m->n - STEP_MEMBERS));
}

/* ---- steps ---- */

static const char *print_color(bool ok) { return paint(ok ? PAINT_GOOD : PAINT_BAD); }

static bool print_unit_beside(const nay_explain_step *s) {
  return s->kind == NAY_STEP_SLOT || strcmp(s->unit, "line") == 0 || strcmp(s->unit, "slot") == 0;
}

static void print_bit(const nay_explain_step *s, const step_members *m) {
  out_text("    bit %-14s %s%" PRIu64 "%s", PRINTED(s->bit), print_color(s->ok), s->found,
           paint(PAINT_PLAIN));
  if (print_unit_beside(s)) out_text("   %s %s", s->unit, PRINTED(s->unit_index));
  if (s->counter != 0) {
    out_text("   %s%s", COUNTED(s->counter, "key"), s->counter == 15 ? " or more" : "");
  }
  if (m == NULL) return;
  print_members("set by", m);
  if (s->ok && m->n == 0) out_text("   set by none of these keys");
}

static void print_fingerprint(const nay_explain_step *s, const step_members *m) {
  uint64_t slot = print_unit_beside(s) ? s->unit_index : (s->bit - s->unit_bit) / s->nbits;
  out_text("    slot %-4" PRIu64 " ", slot);
  if (s->found == 0) {
    out_text("empty");
    return;
  }
  out_text("%s0x%0*" PRIx64 "%s%s", s->ok ? paint(PAINT_GOOD) : "", (int)((s->nbits + 3) / 4),
           s->found, s->ok ? paint(PAINT_PLAIN) : "", s->ok ? "   its fingerprint" : "");
  if (m != NULL) print_members("of", m);
}

static void print_slot(const nay_explain_step *s, const step_members *m) {
  out_text("    %s %s, slot %-8s 0x%0*" PRIx64, s->unit, PRINTED(s->unit_index),
           PRINTED((s->bit - s->unit_bit) / s->nbits), (int)((s->nbits + 3) / 4), s->found);
  if (m != NULL) print_members("of", m);
}

static void print_xor(const nay_explain_step *s) {
  int digits = (int)((s->nbits + 3) / 4);
  out_text("    xor %s0x%0*" PRIx64 "%s, fingerprint 0x%0*" PRIx64, print_color(s->ok), digits,
           s->found, paint(PAINT_PLAIN), digits, s->expected);
}

static void print_column(const nay_explain_step *s) {
  out_text("    column %-3u parity %s%" PRIu64 "%s, fingerprint %" PRIu64, s->index,
           print_color(s->ok), s->found, paint(PAINT_PLAIN), s->expected);
}

static void print_value(const nay_explain_step *s, const step_members *m) {
  int digits = (int)((s->nbits + 3) / 4);
  out_text("    low bits %s0x%0*" PRIx64 "%s, those of its value 0x%0*" PRIx64, print_color(s->ok),
           digits, s->found, paint(PAINT_PLAIN), digits, s->expected);
  if (m != NULL) print_members("of", m);
}

static void print_step(const nay_explain_step *s, const step_members *m) {
  switch (s->kind) {
    case NAY_STEP_BIT: print_bit(s, m); break;
    case NAY_STEP_FINGERPRINT: print_fingerprint(s, m); break;
    case NAY_STEP_SLOT: print_slot(s, m); break;
    case NAY_STEP_XOR: print_xor(s); break;
    case NAY_STEP_COLUMN: print_column(s); break;
    case NAY_STEP_VALUE: print_value(s, m); break;
    case NAY_STEP_ANSWER:
    case NAY_STEP_CONSTANT: return;
  }
  out_text("\n");
}

/* ---- units ---- */

static bool print_same_unit(const nay_explain_step *a, const nay_explain_step *b) {
  return a->level == b->level &&
         (print_unit_beside(b) || (a->unit_bit == b->unit_bit && strcmp(a->unit, b->unit) == 0));
}

static void print_level(const explained_filter *f, const nay_explain_step *s) {
  if (f->kind == NAY_WINDOW) {
    out_text("generation %u%s", s->level, s->level == 0 ? ", the newest" : "");
  } else {
    out_text("%s %u", s->kind == NAY_STEP_COLUMN ? "layer" : "level", s->level);
  }
}

/* The line above the steps of a unit; has_levels: levels are named. */
static void print_unit(const explained_filter *f, const nay_explain_step *s, bool has_levels) {
  bool beside = print_unit_beside(s);
  if (s->unit[0] == '\0' || (beside && !has_levels)) return;
  out_text("  ");
  if (has_levels) print_level(f, s);
  if (has_levels && !beside) out_text(", ");
  if (!beside) {
    out_text("%s %s, bytes %s to %s", s->unit, PRINTED(s->unit_index), PRINTED(s->unit_bit / 8),
             PRINTED((s->unit_bit + s->unit_nbits - 1) / 8));
  }
  if (s->kind == NAY_STEP_COLUMN) {
    out_text(", 128 slots from slot %" PRIu64, s->bit - s->unit_bit);
  }
  out_text("\n");
}

static void print_steps(const explained_filter *f) {
  bool has_levels = f->kind == NAY_WINDOW || f->kind == NAY_SCALABLE;
  for (size_t i = 0; i < f->nsteps; i++) has_levels = has_levels || f->steps[i].level != 0;
  for (size_t i = 0; i < f->nsteps; i++) {
    const nay_explain_step *s = &f->steps[i];
    const step_members *m = f->members != NULL ? &f->members[i] : NULL;
    bool reads = s->kind != NAY_STEP_XOR;
    if (reads && (i == 0 || !print_same_unit(s - 1, s) || s[-1].kind == NAY_STEP_XOR)) {
      if (s->kind != NAY_STEP_COLUMN || s->index == 0) print_unit(f, s, has_levels);
    }
    if (s->kind == NAY_STEP_COLUMN && s->index == 0 && m != NULL && m->n != 0) {
      print_members(" shared with", m);
      out_text("\n");
    }
    print_step(s, m);
  }
}

/* ---- a filter, a key ---- */

static void print_hash(const nay_explanation *w, nay_kind kind) {
  if (w->reason == NAY_REASON_LOCKED || w->reason == NAY_REASON_NO_HASH) return;
  if (kind == NAY_RANGE) {
    if (w->reason == NAY_REASON_NO_KEYS || w->reason == NAY_REASON_NO_ANSWER) return;
    out_text("  value %s", PRINTED(w->word));
  } else {
    out_text("  hash %016" PRIx64, w->hash.lo);
  }
  if (w->hash.hi != 0) out_text(" %016" PRIx64, w->hash.hi);
  out_text(", %s", nay_hash_name(w->hash_kind));
  if (w->hash_kind == NAY_HASH_XXH3) out_text(", seed %" PRIu64, w->seed);
  if (w->premix != 0) out_text(", premixed to %016" PRIx64, w->word);
  if (w->nshards > 1) out_text(", shard %s of %s", PRINTED(w->shard), PRINTED(w->nshards));
  out_text("\n");
}

static void print_filter(const explained_filter *f, bool in_table) {
  char why[EXPLAIN_WHY];
  if (in_table) {
    out_text("  filter at %s: %s\n", PRINTED(f->offset), f->maybe ? "maybe" : "nay");
  }
  if (f->explained) {
    print_hash(&f->why, f->kind);
    print_steps(f);
  }
  out_text("  %s%s%s%s\n", paint(PAINT_BOLD), explained_why(f, why), paint(PAINT_PLAIN),
           f->maybe || in_table ? "" : ": certainly absent");
}

static void print_membership(const explained_key *k, const explain_subject *subject,
                             const members *m) {
  char fpr[NUMBER_TEXT];
  bool only = members_n(m) == 1;
  const char *keys = only ? "one key given" : COUNTED(members_n(m), "key");
  const char *none = only ? "not" : "none of";
  if (k->nmembers > 0) {
    out_text("  it is %sthe %s%s\n", only ? "" : "one of ", keys,
             k->maybe ? ""
             : only   ? ", but the filter was not made of it"
                      : ", but the filter was not made of all of them");
  } else if (k->maybe && subject->promise != NULL) {
    out_text("  %sa false positive%s (FPR %s): it is %s the %s\n", paint(PAINT_BAD),
             paint(PAINT_PLAIN), fpr_text(subject->promise->stats.fpr_now, fpr), none, keys);
  } else {
    out_text("  %sit is %s the %s\n", k->maybe ? "a false positive: " : "", none, keys);
  }
}

void explain_print(const explained_key *k, const explain_subject *subject, const members *m) {
  bool in_table = subject->table != NULL;
  out_text("%s%s%s\t", paint(k->maybe ? PAINT_GOOD : PAINT_DIM), k->maybe ? "maybe" : "nay",
           paint(PAINT_PLAIN));
  out_record(k->text, k->text_len);
  out_text("\n");
  for (size_t i = 0; i < k->nfilters; i++) print_filter(&k->filters[i], in_table);
  if (in_table && k->nfilters != 1) out_text("  %s\n", explained_table_why(k));
  if (m != NULL) print_membership(k, subject, m);
}
