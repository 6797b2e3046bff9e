/*
 * filter_program.c - random programs against an exact model.
 *
 * A tape spells a family, its params and then operations on three filters. Beside each filter runs
 * a model: how often each of 64 keys was put in. 64, because then a batch of probes answers for all
 * of them in one word, and "no key is lost" is one line:  present & ~answers == 0.
 *
 * After every operation all three filters are checked so. At the end each filter of a family that
 * is a pure set must be, byte for byte, the filter that the model's keys make from scratch: merges,
 * folds, files and copies leave no trace.
 *
 * An operation that a family lacks must say NAY_ENOTSUP; one that fails must change nothing.
 */
#include "filter_program.h"

#include "family/family.h"
#include "support/hashes.h"
#include "support/temp.h"

#define NSLOTS 3u
#define NKEYS 64u
#define WINDOW 20u      /* ticks */
#define MOST_COPIES 15u /* counters stop here */

typedef enum plant { PLANT_NONE, PLANT_DROPPED_ADD, PLANT_LAZY_MERGE, PLANT_FORGETFUL_FILE } plant;

#define PLANTED_KEY 42u

typedef struct slot {
  nay_filter *filter;
  uint64_t present;       /* bit i: key i must be a maybe */
  unsigned copies[NKEYS]; /* how often key i was put in and not taken out */
  uint64_t clock;         /* the last moment it was told; where keys go with time */
  bool clock_set;
  uint64_t moment[NKEYS]; /* when key i was last put in */
} slot;

typedef struct program {
  tape *t;
  const nay_family *family;
  nay_params params; /* what all three are made from, but for the size */
  plant planted;
  uint64_t hashes[NKEYS]; /* of the keys: all three filters hash alike */
  slot slots[NSLOTS];
} program;

/* Says what is wrong and is false, so that checks can be chained. */
#define CHECK(p, condition) ((condition) ? true : tape_fail((p)->t, "not true: " #condition))

static bool program_can(const program *p, unsigned traits) {
  return (p->family->traits & traits) == traits;
}

/* Whether the bytes tell the set of keys and nothing else. */
static bool program_is_a_set(const program *p) {
  return program_can(p, NAY_CAN_ADD) && (p->family->traits & (NAY_CAN_REMOVE | NAY_CAN_COUNT |
                                                              NAY_CAN_GROW | NAY_CAN_EXPIRE)) == 0;
}

/* Whether filters have one array of a size that params choose, which folds as a whole. */
static bool program_is_sized(const program *p) {
  return p->family->algebra != NULL && p->family->algebra->fold != NULL;
}

static bool program_plants(const program *p, plant what) {
  return p->planted == what && program_is_a_set(p);
}

static void program_tell(const program *p, const char *what, unsigned a, unsigned b) {
  if (p->t->trace) fprintf(stderr, "# %s %s %u %u\n", p->family->name, what, a, b);
}

/* ---- keys: their bytes are one letter repeated, their lengths differ ---- */

static size_t program_key(unsigned i, uint8_t key[NKEYS]) {
  memset(key, 'a' + (int)(i % 26), NKEYS);
  return i; /* key 0 has no bytes at all */
}

static nay_hash program_hash(const program *p, unsigned i) { return (nay_hash){p->hashes[i], 0}; }

/* Asks an empty filter of these params what the hashes are. */
static nay_status program_hash_keys(program *p) {
  nay_filter *empty = NULL;
  nay_status status = nay_filter_build(&p->params, NULL, 0, NULL, NULL, &empty);
  for (unsigned i = 0; i < NKEYS && status == NAY_OK; i++) {
    nay_hash hash = {nay_hash_mix(i), 0};
    uint8_t key[NKEYS];
    if (p->params.hash != NAY_HASH_CALLER) {
      status = filter_hash(empty, key, program_key(i, key), &hash);
    }
    p->hashes[i] = hash.lo;
  }
  nay_filter_free(empty);
  return status;
}

/* All 64 answers at once. */
static uint64_t program_answers(const program *p, const nay_filter *f) {
  uint64_t answers = 0;
  nay_filter_may_contain_hash_many(f, p->hashes, NULL, NKEYS, &answers);
  return answers;
}

/* ---- bytes ---- */

typedef struct encoded {
  uint8_t *bytes;
  size_t len;
} encoded;

static encoded program_encode(const nay_filter *f) {
  encoded e = {NULL, nay_filter_encoded_size(f)};
  size_t written = 0;
  e.bytes = malloc(e.len + 1);
  if (e.bytes == NULL || nay_filter_encode(f, e.bytes, e.len, &written) != NAY_OK) e.len = 0;
  return e;
}

static bool program_same_bytes(const nay_filter *a, const nay_filter *b) {
  encoded x = program_encode(a), y = program_encode(b);
  bool same = x.len != 0 && x.len == y.len && memcmp(x.bytes, y.bytes, x.len) == 0;
  free(x.bytes);
  free(y.bytes);
  return same;
}

/* ---- making ---- */

static const unsigned program_sizes[] = {1, 2, 3, 4, 6, 8, 12, 24};

/* Sizes that fold into each other, so that merges work; one in eight has another k. */
static nay_params program_draw_params(program *p) {
  nay_params params = p->params;
  unsigned draw = tape_byte(p->t), size = program_sizes[draw & 7];
  if (!program_is_sized(p)) return params;
  params.fpr = 0;
  params.nbits = 90 * (uint64_t)size; /* not whole words: families that take any size get one */
  nay_plan plan = {.size = sizeof plan};
  if ((draw & 8) == 0 || nay_params_plan(&params, NULL, &plan) != NAY_OK) {
    params.nbits = 512 * (uint64_t)size;
  }
  if (draw >> 5 == 7) params.k++;
  return params;
}

/* A filter of the keys in the mask, for every family: by hashes, through nay_filter_build. */
static nay_status program_build(const program *p, const nay_params *params, uint64_t keys,
                                nay_filter **out) {
  uint64_t hashes[NKEYS];
  size_t n = 0;
  for (unsigned i = 0; i < NKEYS; i++) {
    if (keys >> i & 1) hashes[n++] = p->hashes[i];
  }
  return nay_filter_build(params, hashes, n, NULL, NULL, out);
}

static bool program_fill_slot(program *p, slot *s, uint64_t keys) {
  nay_params params = program_draw_params(p);
  nay_filter *made = NULL;
  if (!CHECK(p, program_build(p, &params, keys, &made) == NAY_OK)) return false;
  nay_filter_free(s->filter);
  *s = (slot){.filter = made, .present = keys};
  for (unsigned i = 0; i < NKEYS; i++) s->copies[i] = keys >> i & 1;
  return true;
}

static uint64_t program_draw_keys(program *p) {
  unsigned first = tape_below(p->t, NKEYS), n = tape_below(p->t, NKEYS + 1);
  uint64_t keys = 0;
  for (unsigned i = 0; i < n; i++) keys |= (uint64_t)1 << (first + i) % NKEYS;
  return keys;
}

static bool program_start(program *p) {
  size_t nfamilies = 0;
  while (nay__family_at(nfamilies) != NULL) nfamilies++;
  p->family = nay__family_at(tape_byte(p->t) % nfamilies);
  unsigned draw = tape_byte(p->t);
  p->params =
      (nay_params){sizeof(nay_params), .kind = p->family->kind, .nkeys = NKEYS, .fpr = 0.02};
  p->params.hash = (nay_hash_kind)(draw % 3);
  p->params.seed = draw >> 4 & 1;
  p->params.key[5] = (uint8_t)(draw >> 5 & 1);
  p->params.flags = draw >> 6 & 3; /* NAY_CONCURRENT, NAY_STORE_KEY */
  if (program_can(p, NAY_CAN_ADD) && !p->family->concurrent) p->params.flags &= ~NAY_CONCURRENT;
  if (program_can(p, NAY_CAN_EXPIRE)) p->params.window = WINDOW; /* told no time, it forgets none */
  if (program_is_sized(p)) p->params.k = 1 + tape_below(p->t, 8);
  if (!CHECK(p, program_hash_keys(p) == NAY_OK)) return false;
  for (unsigned i = 0; i < NSLOTS; i++) {
    bool is_static = !program_can(p, NAY_CAN_ADD);
    if (!program_fill_slot(p, &p->slots[i], is_static ? program_draw_keys(p) : 0)) return false;
  }
  return true;
}

/* ---- operations ---- */

static slot *program_slot(program *p) { return &p->slots[tape_below(p->t, NSLOTS)]; }

static void program_put(slot *s, unsigned key) {
  s->present |= (uint64_t)1 << key;
  s->copies[key]++;
  s->moment[key] = s->clock;
}

/* Where the bug sits: between the program and the library. */
static nay_status program_add_key(const program *p, nay_filter *f, unsigned key, bool *is_new) {
  if (program_plants(p, PLANT_DROPPED_ADD) && key == PLANTED_KEY) return NAY_OK;
  uint8_t bytes[NKEYS];
  size_t len = program_key(key, bytes);
  if (p->params.hash == NAY_HASH_CALLER) {
    return nay_filter_add_hash(f, program_hash(p, key), is_new);
  }
  return nay_filter_add(f, bytes, len, is_new);
}

/* Full is a fair answer where a key needs a place of its own. */
static bool program_may_be_full(const program *p, nay_status status) {
  return status == NAY_EFULL && !program_is_a_set(p);
}

static bool op_add(program *p) {
  slot *s = program_slot(p);
  unsigned key = tape_below(p->t, NKEYS);
  program_tell(p, "add", (unsigned)(s - p->slots), key);
  bool before = nay_filter_may_contain_hash(s->filter, program_hash(p, key));
  bool is_new = !before;
  nay_status status = program_add_key(p, s->filter, key, &is_new);
  if (!program_can(p, NAY_CAN_ADD)) return CHECK(p, status == NAY_ENOTSUP);
  if (program_may_be_full(p, status)) return true;
  program_put(s, key);
  return CHECK(p, status == NAY_OK) && CHECK(p, is_new == !before);
}

static bool op_add_many(program *p) {
  slot *s = program_slot(p);
  unsigned first = tape_below(p->t, NKEYS), n = tape_below(p->t, 2 * NKEYS), stride = 1 + n % 5;
  program_tell(p, "add_many", (unsigned)(s - p->slots), n);
  uint64_t lo[2 * NKEYS], bitmap[2] = {0, 0}, before = program_answers(p, s->filter), fresh = 0;
  for (unsigned i = 0; i < n; i++) {
    lo[i] = p->hashes[(first + i * stride) % NKEYS];
  }
  size_t taken;
  nay_status status = nay_filter_add_hash_many(s->filter, lo, NULL, n, bitmap, &taken);
  if (!program_can(p, NAY_CAN_ADD)) return CHECK(p, status == NAY_ENOTSUP && taken == 0);
  bool full = program_may_be_full(p, status);
  if (!CHECK(p, full ? taken < n : taken == n)) return false;
  for (unsigned i = 0; i < taken; i++) {
    unsigned key = (first + i * stride) % NKEYS;
    if (bitmap[i / 64] >> i % 64 & 1) {
      if (!CHECK(p, (fresh >> key & 1) == 0)) return false; /* new at most once */
      fresh |= (uint64_t)1 << key;
    }
    program_put(s, key);
  }
  return CHECK(p, status == NAY_OK || full) && CHECK(p, (fresh & before) == 0);
}

static bool op_probe(program *p) {
  slot *s = program_slot(p);
  unsigned key = tape_below(p->t, NKEYS);
  uint8_t bytes[NKEYS];
  size_t len = program_key(key, bytes);
  bool by_hash = nay_filter_may_contain_hash(s->filter, program_hash(p, key));
  bool by_key = nay_filter_may_contain(s->filter, bytes, len);
  uint64_t count = 0;
  if (p->params.hash == NAY_HASH_CALLER) return CHECK(p, by_key); /* cannot hash: maybe */
  if (!CHECK(p, by_hash == by_key)) return false;
  if (!program_can(p, NAY_CAN_COUNT)) return true;
  return CHECK(p, nay_filter_count(s->filter, bytes, len, &count) == NAY_OK) &&
         CHECK(p, count >= (s->copies[key] < MOST_COPIES ? s->copies[key] : MOST_COPIES));
}

static bool op_remove(program *p) {
  slot *s = program_slot(p);
  unsigned key = tape_below(p->t, NKEYS);
  program_tell(p, "remove", (unsigned)(s - p->slots), key);
  nay_hash hash = program_hash(p, key);
  if (!program_can(p, NAY_CAN_REMOVE)) {
    return CHECK(p, nay_filter_remove_hash(s->filter, hash) == NAY_ENOTSUP);
  }
  if (s->copies[key] == 0) { /* only what was put in may be taken out */
    if (nay_filter_may_contain_hash(s->filter, hash)) return true;
    return CHECK(p, nay_filter_remove_hash(s->filter, hash) == NAY_ENOENT);
  }
  if (--s->copies[key] == 0) s->present &= ~((uint64_t)1 << key);
  return CHECK(p, nay_filter_remove_hash(s->filter, hash) == NAY_OK);
}

/* Keys stay for a window after the moment of their add, at least; the first call sets the clock. */
static bool op_advance(program *p) {
  slot *s = program_slot(p);
  uint64_t now = s->clock + tape_below(p->t, WINDOW);
  program_tell(p, "advance", (unsigned)(s - p->slots), (unsigned)now);
  nay_status status = nay_filter_advance(s->filter, now);
  if (!program_can(p, NAY_CAN_EXPIRE)) return CHECK(p, status == NAY_ENOTSUP);
  for (unsigned i = 0; i < NKEYS; i++) {
    if (!s->clock_set) s->moment[i] = now;
    if (now - s->moment[i] > WINDOW) s->present &= ~((uint64_t)1 << i);
  }
  s->clock = now;
  s->clock_set = true;
  if (!CHECK(p, status == NAY_OK)) return false;
  return now == 0 || CHECK(p, nay_filter_advance(s->filter, now - 1) == NAY_EINVAL);
}

static bool program_alike_but_size(const nay_filter *a, const nay_filter *b) {
  return filter_same_hash(a, b) && a->shape.k == b->shape.k && a->shape.extra == b->shape.extra;
}

static bool op_merge(program *p) {
  slot *dst = program_slot(p), *src = program_slot(p);
  program_tell(p, "merge", (unsigned)(dst - p->slots), (unsigned)(src - p->slots));
  if (dst == src) return true;
  bool fits = program_alike_but_size(dst->filter, src->filter);
  if (!program_can(p, NAY_CAN_FOLD)) fits &= dst->filter->shape.nunits == src->filter->shape.nunits;
  nay_status status = program_plants(p, PLANT_LAZY_MERGE)
                          ? NAY_OK
                          : nay_filter_merge(dst->filter, src->filter, 1.0, NULL);
  if (!program_can(p, NAY_CAN_MERGE)) return CHECK(p, status == NAY_ENOTSUP);
  if (status == NAY_EMISMATCH) return CHECK(p, !fits || program_can(p, NAY_CAN_GROW));
  if (program_may_be_full(p, status)) return true;
  for (unsigned i = 0; i < NKEYS; i++) dst->copies[i] += src->copies[i];
  dst->present |= src->present;
  return CHECK(p, status == NAY_OK);
}

static bool op_intersect(program *p) {
  slot *dst = program_slot(p), *src = program_slot(p);
  program_tell(p, "intersect", (unsigned)(dst - p->slots), (unsigned)(src - p->slots));
  bool fits = program_alike_but_size(dst->filter, src->filter) &&
              dst->filter->shape.nunits == src->filter->shape.nunits;
  nay_status status = nay_filter_intersect(dst->filter, src->filter, NULL);
  if (!program_can(p, NAY_CAN_INTERSECT)) return CHECK(p, status == NAY_ENOTSUP);
  if (!fits) return CHECK(p, status == NAY_EMISMATCH);
  dst->present &= src->present;
  return CHECK(p, status == NAY_OK);
}

static bool op_fold(program *p) {
  slot *s = program_slot(p);
  uint64_t factor = 1 + tape_below(p->t, 12);
  program_tell(p, "fold", (unsigned)(s - p->slots), (unsigned)factor);
  const nay_filter *f = s->filter;
  const nay_family_algebra *verbs = p->family->algebra;
  uint32_t k;
  uint64_t nunits =
      verbs != NULL && verbs->foldable != NULL ? verbs->foldable(f, &k) : f->shape.nunits;
  bool fits = nunits % factor == 0;
  nay_status status = nay_filter_fold(s->filter, factor, NULL);
  if (!program_can(p, NAY_CAN_FOLD)) return CHECK(p, status == NAY_ENOTSUP);
  return CHECK(p, status == (fits ? NAY_OK : NAY_EINVAL));
}

static bool op_copy(program *p) {
  slot *dst = program_slot(p), *src = program_slot(p);
  program_tell(p, "copy", (unsigned)(dst - p->slots), (unsigned)(src - p->slots));
  nay_filter *copy;
  if (!CHECK(p, nay_filter_copy(src->filter, NULL, NULL, &copy) == NAY_OK)) return false;
  bool same = program_same_bytes(copy, src->filter);
  nay_filter_free(dst->filter);
  *dst = *src;
  dst->filter = copy;
  return CHECK(p, same);
}

static bool op_clear(program *p) {
  slot *s = program_slot(p);
  program_tell(p, "clear", (unsigned)(s - p->slots), 0);
  nay_status status = nay_filter_clear(s->filter);
  if (!program_can(p, NAY_CAN_ADD)) return CHECK(p, status == NAY_ENOTSUP);
  s->present = 0;
  memset(s->copies, 0, sizeof s->copies);
  return CHECK(p, status == NAY_OK) && CHECK(p, program_answers(p, s->filter) == 0);
}

static bool op_build(program *p) {
  slot *s = program_slot(p);
  program_tell(p, "build", (unsigned)(s - p->slots), 0);
  return program_fill_slot(p, s, program_draw_keys(p));
}

/* Takes `back`, which came from bytes, in the place of s->filter, if it is the same filter. */
static bool program_swap(program *p, slot *s, nay_filter *back) {
  bool locked = p->params.hash == NAY_HASH_SIPHASH && (p->params.flags & NAY_STORE_KEY) == 0;
  nay_status status = locked ? nay_filter_unlock(back, p->params.key) : NAY_OK;
  bool same = program_same_bytes(back, s->filter) &&
              program_answers(p, back) == program_answers(p, s->filter);
  if (program_plants(p, PLANT_FORGETFUL_FILE) && back->nbytes > 8) back->bits.bytes[8] &= 0xf7;
  nay_filter_free(s->filter);
  s->filter = back;
  return CHECK(p, status == NAY_OK) && CHECK(p, same);
}

static bool op_decode(program *p) {
  slot *s = program_slot(p);
  program_tell(p, "decode", (unsigned)(s - p->slots), 0);
  encoded e = program_encode(s->filter);
  nay_filter *back = NULL;
  nay_status status = nay_filter_decode(e.bytes, e.len, NULL, NULL, &back);
  free(e.bytes);
  return CHECK(p, status == NAY_OK) && program_swap(p, s, back);
}

static bool op_save(program *p) {
  slot *s = program_slot(p);
  program_tell(p, "save", (unsigned)(s - p->slots), 0);
  char path[TEMP_MAX];
  nay_filter *back = NULL, *mapped = NULL;
  nay_status saved = nay_filter_save(s->filter, temp_path(path, "program"), NULL);
  nay_status opened = nay_filter_open(path, NULL, NULL, &back);
  nay_status at_hand = nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &mapped);
  remove(path);
  bool same = at_hand == NAY_OK && program_same_bytes(mapped, s->filter);
  nay_filter_free(mapped);
  if (!CHECK(p, saved == NAY_OK) || !CHECK(p, opened == NAY_OK)) return false;
  return program_swap(p, s, back) && CHECK(p, same);
}

typedef bool (*operation)(program *);

/* Zero, what an empty tape reads, is a plain add. Files are slow: they come once. */
static const operation operations[] = {
    op_add,    op_add_many,  op_probe, op_merge,  op_fold,     op_copy,    op_clear,
    op_decode, op_merge,     op_fold,  op_remove, op_build,    op_advance, op_decode,
    op_add,    op_intersect, op_add,   op_save,   op_add_many,
};

/* ---- checks ---- */

static bool program_numbers_are_sane(program *p, const slot *s, const nay_stats *stats) {
  bool ok = CHECK(p, stats->nbits_set <= stats->nbits) && CHECK(p, stats->fill <= 1);
  if (stats->derived) return ok;
  uint64_t distinct = 0;
  for (unsigned i = 0; i < NKEYS; i++) distinct += s->copies[i] != 0;
  ok = ok && CHECK(p, stats->nkeys_estimated >= 0) && CHECK(p, stats->nkeys_estimated < 1e6) &&
       CHECK(p, stats->fpr_now >= 0) && CHECK(p, stats->fpr_now <= 1);
  if (!ok || !program_is_a_set(p)) return ok;
  return CHECK(p, stats->nbits_set <= stats->k * distinct) &&
         CHECK(p, (stats->nbits_set == 0) == (distinct == 0));
}

static bool program_no_key_is_lost(program *p) {
  for (unsigned i = 0; i < NSLOTS; i++) {
    const slot *s = &p->slots[i];
    uint64_t present = s->present, answers = program_answers(p, s->filter);
    if (!CHECK(p, (present & ~answers) == 0)) return false;
  }
  return true;
}

/* The bytes tell the set: build it again from the model and compare. */
static bool program_leaves_no_trace(program *p, const slot *s, const nay_stats *stats) {
  if (!program_is_a_set(p) || stats->derived) return true;
  nay_params params = p->params;
  params.fpr = 0;
  params.nbits = stats->nbits;
  params.k = stats->k;
  nay_filter *fresh;
  nay_status status = program_build(p, &params, s->present, &fresh);
  if (!CHECK(p, status == NAY_OK)) return false;
  bool same = program_same_bytes(fresh, s->filter);
  nay_filter_free(fresh);
  return CHECK(p, same);
}

static bool program_ends_well(program *p, const slot *s) {
  nay_stats stats = {.size = sizeof stats};
  return CHECK(p, nay_filter_stats(s->filter, &stats) == NAY_OK) &&
         program_numbers_are_sane(p, s, &stats) && program_leaves_no_trace(p, s, &stats);
}

static bool program_run(tape *t, plant planted) {
  program p = {.t = t, .planted = planted};
  bool ok = program_start(&p);
  while (ok && tape_more(t)) {
    unsigned op = tape_byte(t) % (sizeof operations / sizeof operations[0]);
    ok = operations[op](&p) && program_no_key_is_lost(&p);
  }
  for (unsigned i = 0; i < NSLOTS && ok; i++) ok = program_ends_well(&p, &p.slots[i]);
  for (unsigned i = 0; i < NSLOTS; i++) nay_filter_free(p.slots[i].filter);
  return ok;
}

bool property_filter_program(tape *t) { return program_run(t, PLANT_NONE); }
bool property_with_a_dropped_add(tape *t) { return program_run(t, PLANT_DROPPED_ADD); }
bool property_with_a_lazy_merge(tape *t) { return program_run(t, PLANT_LAZY_MERGE); }
bool property_with_a_forgetful_file(tape *t) { return program_run(t, PLANT_FORGETFUL_FILE); }
