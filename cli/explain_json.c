/* explain_json.c - an explanation as JSON: an object for each key; doc/json.md lists the members.
 */
#include "explain.h"

#include <inttypes.h>
#include <stdio.h>

static void json_hex(const char *name, uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "%016" PRIx64, value);
  json_text(name, text);
}

static void json_members(const step_members *m) {
  json_count("nmembers", m->n);
  json_open("members", '[');
  for (uint64_t i = 0; i < m->n && i < STEP_MEMBERS; i++) {
    json_bytes(NULL, m->first[i]->text, m->first[i]->len);
  }
  json_close();
}

static void json_step(const explained_filter *f, size_t i) {
  const nay_explain_step *s = &f->steps[i];
  json_open(NULL, '{');
  json_text("step", s->name);
  json_bool("match", s->ok);
  json_count("group", s->group);
  json_count("level", s->level);
  if (s->unit[0] != '\0') {
    json_text("unit", s->unit);
    json_count("unit_index", s->unit_index);
    json_count("unit_bit", s->unit_bit);
    json_count("unit_nbits", s->unit_nbits);
    json_count("bit", s->bit);
  }
  json_count("nbits", s->nbits);
  if (s->kind == NAY_STEP_COLUMN) {
    json_count("bit2", s->bit2);
    json_count("nbits2", s->nbits2);
    json_open("mask", '[');
    json_hex(NULL, s->mask[0]);
    json_hex(NULL, s->mask[1]);
    json_close();
  }
  json_count("found", s->found);
  json_count("expected", s->expected);
  if (s->counter != 0) json_count("counter", s->counter);
  bool met = s->kind != NAY_STEP_XOR && s->kind != NAY_STEP_CONSTANT &&
             (s->kind != NAY_STEP_COLUMN || s->index == 0);
  if (f->members != NULL && met) json_members(&f->members[i]);
  json_close();
}

static void json_explanation(const explained_filter *f) {
  char why[EXPLAIN_WHY];
  const nay_explanation *w = &f->why;
  json_text("why", explained_why(f, why));
  if (!f->explained) return;
  json_text("hash", nay_hash_name(w->hash_kind));
  if (w->hash_kind == NAY_HASH_XXH3) json_count("seed", w->seed);
  json_hex("hash_lo", w->hash.lo);
  json_hex("hash_hi", w->hash.hi);
  json_hex("premix", w->premix);
  json_hex("word", w->word);
  json_count("nshards", w->nshards);
  json_count("shard", w->shard);
  json_hex("shard_seed", w->shard_seed);
  json_count("payload_nbytes", w->payload_nbytes);
  json_count("ngroups", w->ngroups);
  if (w->maybe && w->ngroups > 0) json_count("group", w->group);
  json_open("steps", '[');
  for (size_t i = 0; i < f->nsteps; i++) json_step(f, i);
  json_close();
}

static void json_table(const explained_key *k) {
  json_text("why", explained_table_why(k));
  json_open("probed", '[');
  for (size_t i = 0; i < k->nfilters; i++) {
    json_open(NULL, '{');
    json_count("offset", k->filters[i].offset);
    json_bool("maybe", k->filters[i].maybe);
    json_explanation(&k->filters[i]);
    json_close();
  }
  json_close();
}

void explain_json(const explained_key *k, const explain_subject *subject, const members *m) {
  json_open(NULL, '{');
  json_bytes("key", k->text, k->text_len);
  json_bool("maybe", k->maybe);
  if (m != NULL) {
    json_count("nkeys", members_n(m));
    json_bool("is_member", k->nmembers > 0);
    json_bool("false_positive", k->maybe && k->nmembers == 0);
  }
  if (subject->table != NULL) {
    json_table(k);
  } else {
    json_explanation(&k->filters[0]);
    json_real("fpr_now", subject->promise->stats.fpr_now);
    promise_json(subject->promise);
  }
  json_end();
}
