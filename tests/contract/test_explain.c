/*
 * test_explain.c - explanations agree with probes: over every shape (shapes.h) and every layout of
 * another system, the answer is that of may_contain, every step has found what is in the encoded
 * bytes, and the steps decide: change what one step of each group that matches has read and the
 * answer is nay; put there what a group expects and it is maybe.
 */
#include "family/explain.h"
#include "golden/golden.h"
#include "nay_format.h"
#include "shapes.h"
#include "support/explained.h"
#include "support/hashes.h"
#include "support/native.h"

static explained e; /* too large for a stack */

static uint64_t nprobes; /* in this program */

/* ---- changing what steps have read ---- */

static void flip(nay_filter *f, uint64_t bit) {
  f->bits.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void xor_bits(nay_filter *f, uint64_t bit, uint64_t value) {
  for (; value != 0; value >>= 1, bit++) {
    if ((value & 1) != 0) flip(f, bit);
  }
}

/* A bit that decides about a step that reads something. */
static uint64_t deciding_bit(const nay_explain_step *s) {
  if (s->kind != NAY_STEP_COLUMN) return s->bit + nprobes % s->nbits;
  unsigned i = (unsigned)(nprobes % 128);
  while ((s->mask[i / 64] >> i % 64 & 1) == 0) i = (i + 1) % 128;
  return explained_column_bit(s, i);
}

static bool group_matches(const nay_explain_step *first) {
  bool all = true;
  for (uint32_t i = 0; i < first->nsteps; i++) all = all && first[i].ok;
  return all;
}

/* Flips one bit of each group that matches: nay. Once more: as it was. */
static void flip_matches(nay_filter *f) {
  for (size_t i = 0; i < e.n; i += e.steps[i].nsteps) {
    const nay_explain_step *first = &e.steps[i], *s = first + nprobes % first->nsteps;
    if (!group_matches(first)) continue;
    if (s->kind == NAY_STEP_XOR) s = first; /* it reads nothing itself */
    flip(f, deciding_bit(s));
  }
}

/* Gives a group what it expects, or takes it back. */
static void satisfy(nay_filter *f, const nay_explain_step *first) {
  for (uint32_t i = 0; i < first->nsteps; i++) {
    const nay_explain_step *s = &first[i];
    bool seen = false; /* a bit that two probes share changes once */
    for (uint32_t j = 0; j < i; j++)
      seen = seen || (s->kind == NAY_STEP_BIT && first[j].bit == s->bit);
    if (s->ok || seen) continue;
    if (s->kind == NAY_STEP_COLUMN) flip(f, deciding_bit(s));
    if (s->kind == NAY_STEP_BIT) flip(f, s->bit);
    if (s->kind == NAY_STEP_FINGERPRINT) xor_bits(f, s->bit, s->found ^ s->expected);
    if (s->kind == NAY_STEP_XOR) xor_bits(f, first->bit, s->found ^ s->expected);
  }
}

/* The explanation in e decides the answer of f, which is changed and restored. */
static void assert_decides(nay_filter *f, nay_hash hash, const char *context) {
  if (e.why.reason == NAY_REASON_MATCH) {
    flip_matches(f);
    if (nay_filter_may_contain_hash(f, hash)) fail_msg("%s: maybe without its bits", context);
    flip_matches(f);
    return;
  }
  if (e.why.reason != NAY_REASON_NO_MATCH) return;
  size_t first = 0;
  for (uint64_t left = nprobes % e.why.ngroups; left != 0; left--) first += e.steps[first].nsteps;
  satisfy(f, &e.steps[first]);
  if (!nay_filter_may_contain_hash(f, hash)) fail_msg("%s: nay with its bits", context);
  satisfy(f, &e.steps[first]);
}

/* payload: what the encoded bytes have; f is writable. */
static void assert_explained(nay_filter *f, nay_hash hash, const uint8_t *payload,
                             const char *context) {
  nprobes++;
  const char *wrong = explained_hash(f, hash, payload, &e);
  if (wrong != NULL) {
    fail_msg("%s: %s (hash %016llx %016llx)", context, wrong, (unsigned long long)hash.lo,
             (unsigned long long)hash.hi);
  }
  assert_decides(f, hash, context);
}

/* ---- shapes ---- */

static nay_filter *shape_build(const shape_case *shape, const nay_params *p) {
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_builder_new(p, NULL, NULL, &b));
  for (uint64_t i = 0; i < shape->nkeys; i++) assert_ok(nay_builder_add_hash(b, contract_hash(i)));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* The payload in the bytes of a file, by the specification. */
static const uint8_t *payload_in(const bytes *b, size_t *len) {
  native_section sections[4];
  unsigned n = native_split(b->at, sections, 4);
  for (unsigned i = 0; i < n; i++) {
    *len = sections[i].len;
    if (sections[i].type == 1) return sections[i].at;
  }
  fail_msg("no payload");
  return NULL;
}

static bool same_step(const nay_explain_step *a, const nay_explain_step *b) {
  return a->kind == b->kind && a->ok == b->ok && a->group == b->group && a->level == b->level &&
         a->index == b->index && strcmp(a->unit, b->unit) == 0 && a->unit_index == b->unit_index &&
         a->unit_bit == b->unit_bit && a->unit_nbits == b->unit_nbits && a->bit == b->bit &&
         a->bit2 == b->bit2 && a->nbits == b->nbits && a->nbits2 == b->nbits2 &&
         a->mask[0] == b->mask[0] && a->mask[1] == b->mask[1] && a->found == b->found &&
         a->expected == b->expected && a->counter == b->counter;
}

/* Another form of the filter gives the explanation that is in e. */
static void assert_same_explanation(const nay_filter *g, nay_hash hash, const char *form) {
  static explained other;
  const char *wrong = explained_hash(g, hash, NULL, &other);
  if (wrong != NULL) fail_msg("%s: %s", form, wrong);
  assert_int_equal(other.n, e.n);
  for (size_t i = 0; i < e.n; i++) assert_true(same_step(&other.steps[i], &e.steps[i]));
  assert_int_equal(other.why.word, e.why.word);
  assert_int_equal(other.why.shard, e.why.shard);
  assert_int_equal(other.why.shard_seed, e.why.shard_seed);
  assert_int_equal(other.why.reason, e.why.reason);
}

/* A view at an odd address, a lazy map, a filter that takes concurrent adds. */
static void assert_forms(nay_filter *f, const bytes *b) {
  uint8_t *odd = malloc(b->len + 1);
  nay_view view = {.size = sizeof view};
  nay_filter *lazy, *concurrent;
  assert_non_null(odd);
  memcpy(odd + 1, b->at, b->len);
  assert_ok(nay_view_open(odd + 1, b->len, NULL, NULL, &view));
  const char *path = saved(f, "explain");
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &lazy));
  concurrent = concurrent_twin(f);
  for (uint64_t i = 0; i < 40; i++) {
    nay_hash hash = contract_hash(i % 2 == 0 ? i : i + ((uint64_t)1 << 32));
    assert_null(explained_hash(f, hash, NULL, &e));
    assert_same_explanation(nay_view_filter(&view), hash, "viewed");
    assert_same_explanation(lazy, hash, "lazily mapped");
    if (concurrent != NULL) assert_same_explanation(concurrent, hash, "concurrent");
  }
  nay_filter_free(concurrent);
  nay_filter_free(lazy);
  remove(path);
  free(odd);
}

static void shapes_are_explained(void **state) {
  const shape_case *shape = *state;
  nay_filter *f = shape_build(shape, &shape->params);
  bytes b = bytes_of(f);
  size_t len;
  const uint8_t *payload = payload_in(&b, &len);
  for (uint64_t i = 0; i < TEST_SCALE(300); i++)
    assert_explained(f, contract_hash(i * shape->nkeys / TEST_SCALE(300)), payload, shape->name);
  for (uint64_t i = 0; i < TEST_SCALE(400); i++) {
    assert_explained(f, contract_hash(i + ((uint64_t)1 << 32)), payload, shape->name);
    assert_int_equal(e.why.payload_nbytes, len);
  }
  assert_unchanged(f, &b);
  assert_forms(f, &b);
  bytes_free(&b);
  nay_filter_free(f);
}

/* ---- layouts of other systems ---- */

static nay_hash any_hash(uint64_t i) { return (nay_hash){nay_hash_mix(i), nay_hash_mix(~i)}; }

/* Hashes of keys that may be in, and any others; among them those that reach the last unit. */
static void assert_layout(nay_filter *f, golden_key make, uint64_t n, const char *context) {
  uint8_t key[GOLDEN_KEY_MAX];
  nay_hash hash;
  for (uint64_t i = 0; i < n; i++) {
    size_t len = make(i, key);
    nay_status status = filter_hash(f, key, len, &hash);
    if (status == NAY_ENOTSUP) { /* it takes keys */
      e.n = 0;
      e.why = (nay_explanation){.size = sizeof e.why};
      assert_ok(nay_filter_explain(f, key, len, explained_visit, &e, &e.why));
      assert_int_equal(e.why.maybe, nay_filter_may_contain(f, key, len));
      assert_null(explained_steps(&e, e.why.payload, e.why.payload_nbytes));
      continue;
    }
    assert_ok(status);
    assert_explained(f, hash, NULL, context);
  }
  for (uint64_t i = 0; i < TEST_SCALE(600); i++) assert_explained(f, any_hash(i), NULL, context);
  assert_explained(f, (nay_hash){0, 0}, NULL, context);
  assert_explained(f, (nay_hash){UINT64_MAX, UINT64_MAX}, NULL, context);
}

static void layouts_are_explained(void **state) {
  const nay_format *format = *state;
  static const uint64_t sizes[] = {0, 1, 2, 40, 1000, 5000};
  static const double bits[] = {1, 4, 10, 14, 22};
  unsigned built = 0;
  for (size_t i = 0; i < 30; i++) {
    nay_params p = {sizeof p, .nkeys = sizes[i % 6], .bits_per_key = bits[i / 6]};
    nay_builder *b;
    nay_filter *f;
    nay_status status = nay_format_builder_new(format, &p, NULL, NULL, &b);
    if (status == NAY_EINVAL) { /* a keyed layout */
      p.hash = NAY_HASH_SIPHASH;
      status = nay_format_builder_new(format, &p, NULL, NULL, &b);
    }
    if (status != NAY_OK) continue;
    uint8_t key[GOLDEN_KEY_MAX];
    for (uint64_t k = 0; k < p.nkeys; k++) assert_ok(nay_builder_add(b, key, golden_str(k, key)));
    if (nay_builder_finish(b, NULL, &f) == NAY_OK) {
      assert_layout(f, golden_str, p.nkeys < 100 ? p.nkeys : 100, nay_format_name(format));
      nay_filter_free(f);
      built++;
    }
    nay_builder_free(b);
  }
  assert_true(built > 0 || strstr(nay_format_name(format), "-cf") != NULL);
}

/* Any bytes that a layout takes: reserved values, odd lengths, blocks without columns. */
static void odd_bytes_are_explained(void **state) {
  const nay_format *format = *state;
  uint8_t odd[300];
  for (uint64_t round = 0; round < TEST_SCALE(1500); round++) {
    size_t len = (size_t)(nay_hash_mix(round) % sizeof odd);
    for (size_t i = 0; i < len; i++) odd[i] = (uint8_t)nay_hash_mix(round << 16 | i);
    if (len > 5 && round % 4 != 0)
      odd[len - 5] = (uint8_t)(round % 4 == 1 ? 0xfe : round % 4 == 2 ? 0xff : 1);
    if (len > 5 && round % 8 == 1)
      odd[len - 3] = (uint8_t)(round % 64), odd[len - 2] = odd[len - 1] = 0;
    if (len > 5 && round % 8 == 2) odd[len - 4] = odd[len - 2] = odd[len - 1] = 0;
    nay_filter *f;
    if (nay_format_decode(format, odd, len, 0, NULL, NULL, &f) != NAY_OK) continue;
    for (uint64_t i = 0; i < 10; i++)
      assert_explained(f, any_hash(i), NULL, nay_format_name(format));
    nay_filter_free(f);
  }
}

/* What RedisBloom wrote: chains of several links and sub-filters. */
static void chains_are_explained(void **state) {
  (void)state;
  static const char *const names[] = {"bf_1pct_1000.scandump",
                                      "bf_default.dump",
                                      "bf_empty.scandump",
                                      "bf_exp4.dump",
                                      "bf_nonscaling.dump",
                                      "bf_tiny.scandump",
                                      "cf_b4.scandump",
                                      "cf_default.scandump",
                                      "cf_del.dump",
                                      "cf_exp0.dump",
                                      "bf_str_n10000_c1000_e0.02_g4.scandump"};
  uint32_t most = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[256], name[32];
    snprintf(path, sizeof path, TEST_GOLDEN "/redisbloom/%s", names[i]);
    bool dump = strstr(names[i], ".dump") != NULL;
    snprintf(name, sizeof name, "%s-%.2s", dump ? "redis-dump" : "redisbloom", names[i]);
    golden_bytes b = golden_read(path);
    nay_filter *f;
    assert_ok(nay_format_decode(nay_format_find(name), b.at, b.len, 0, NULL, NULL, &f));
    assert_layout(f, golden_str, 500, names[i]);
    for (size_t s = 0; s < e.n; s++) most = e.steps[s].level > most ? e.steps[s].level : most;
    nay_filter_free(f);
    free(b.at);
  }
  assert_true(most >= 2);
}

int main(void) {
  static shape_list list;
  static test_case cases[sizeof list.at / sizeof list.at[0] + 256];
  static char names[256][64];
  size_t n = 0, named = 0;
  shapes_small(&list);
  static const unsigned eight[] = {8};
  if (TEST_SCALE(10) == 10) shapes_of_fuse(&list, SHAPE_SHARDS, eight, 1);
  shapes_of_ribbon(&list, SHAPE_RIBBONS);
  for (size_t i = 0; i < list.n; i++)
    cases[n++] = (test_case)TEST_WITH(list.at[i].name, shapes_are_explained, &list.at[i]);
  for (size_t i = 1; nay_format_at(i) != NULL; i++) {
    const nay_format *format = nay_format_at(i);
    snprintf(names[named], sizeof names[0], "%s, built", nay_format_name(format));
    cases[n++] = (test_case)TEST_WITH(names[named++], layouts_are_explained, format);
    snprintf(names[named], sizeof names[0], "%s, odd bytes", nay_format_name(format));
    cases[n++] = (test_case)TEST_WITH(names[named++], odd_bytes_are_explained, format);
  }
  cases[n++] = (test_case)TEST(chains_are_explained);
  int failed = run_list(test_file(__FILE__), cases, n);
  printf("# %llu probes\n", (unsigned long long)nprobes);
  return failed;
}
