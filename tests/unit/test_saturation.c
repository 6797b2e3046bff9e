/*
 * test_saturation.c - a filter without a clear bit does not tell how many keys it holds: its
 * statistics say so (nay_stats.saturated), and what they state is a lower bound. Every family and
 * every layout of another system that takes adds.
 */
#include <math.h>

#include "family/family.h"
#include "nay_format.h"
#include "support/hashes.h"
#include "support/test.h"

typedef struct checked {
  unsigned nsaturated, nabove; /* statistics that say so, and those above the truth */
  bool last;                   /* the last of them said so */
} checked;

static void check_stats(const nay_filter *f, uint64_t n, checked *sum) {
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_filter_stats(f, &s));
  sum->last = s.saturated;
  sum->nsaturated += s.saturated;
  sum->nabove += s.saturated && s.nkeys_estimated > (double)n;
  if (s.nkeys != 0 && s.kind != NAY_SCALABLE)
    assert_true(fabs(s.utilisation * (double)s.nkeys - s.nkeys_estimated) <
                1e-6 * (double)n + 1e-9);
  if (s.fill >= 1 && s.nbits > 0 && s.kind != NAY_CUCKOO) assert_true(s.saturated);
}

/* Adds distinct keys up to `most`, and looks at the statistics now and then. */
static checked fill(nay_filter *f, uint64_t first, uint64_t most) {
  checked sum = {0, 0, false};
  uint64_t n = 0;
  for (uint64_t next = 1; n < most; next += next / 8 + 1) {
    for (; n < next; n++) {
      uint64_t key = first + n;
      nay_hash h;
      if (filter_hash(f, &key, sizeof key, &h) != NAY_OK) return sum;
      if (nay_filter_add_hash(f, h, NULL) != NAY_OK) return sum; /* full: it takes no more */
    }
    check_stats(f, n, &sum);
  }
  return sum;
}

static bool is_bounded(const nay_family *family) {
  return (family->traits & (NAY_CAN_GROW | NAY_CAN_EXPIRE)) == 0;
}

static void families_say_when_they_are_saturated(void **state) {
  (void)state;
  const nay_family *family;
  const uint64_t planned[] = {1, 3, 20, 100, 1000};
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if ((family->traits & NAY_CAN_ADD) == 0) continue;
    checked all = {0, 0, false};
    for (unsigned j = 0; j < 5 * 3; j++) {
      nay_params p = {sizeof p, .kind = family->kind, .nkeys = planned[j / 3]};
      p.fpr = j % 3 == 0 ? 0.3 : j % 3 == 1 ? 0.01 : 0.0001;
      if ((family->traits & NAY_CAN_EXPIRE) != 0) p.window = 1000; /* no tick: nothing expires */
      nay_filter *f;
      assert_ok(nay_filter_new(&p, NULL, NULL, &f));
      checked one = fill(f, (uint64_t)(j + 1) << 32, 200 * p.nkeys + 2000);
      all.nsaturated += one.nsaturated;
      all.nabove += one.nabove;
      if (is_bounded(family)) assert_true(one.last);
      nay_filter_free(f);
    }
    print_message("# %s: %u saturated, %u of them above the truth\n", family->name, all.nsaturated,
                  all.nabove);
    if ((family->traits & NAY_CAN_GROW) == 0) assert_true(all.nsaturated > 50);
    assert_true(all.nabove <= 1 + all.nsaturated / 500); /* 1 in 1,000 is expected */
  }
}

static void other_layouts_say_it(void **state) {
  (void)state;
  const nay_format *format;
  unsigned nformats = 0;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
    nay_filter *f;
    if (strcmp(nay_format_name(format), "nay") == 0) continue;
    if (nay_format_new(format, &p, NULL, NULL, &f) != NAY_OK) continue;
    checked one = fill(f, (uint64_t)i << 32, 40000);
    nay_stats s = {.size = sizeof s};
    assert_ok(nay_filter_stats(f, &s));
    print_message("# %s: fill %.4f, %s%.0f keys, %u above\n", nay_format_name(format), s.fill,
                  s.saturated ? "at least " : "", s.nkeys_estimated, one.nabove);
    assert_int_equal(one.nabove, 0);
    nformats += one.nsaturated > 0;
    nay_filter_free(f);
  }
  assert_true(nformats >= 8);
}

/* A chain of RedisBloom takes no key beyond its capacity, but its bytes may come from anyone. */
static void a_chain_of_redisbloom_says_it(void **state) {
  (void)state;
  const nay_format *format = nay_format_find("redisbloom-bf");
  nay_params p = {sizeof p, .nkeys = 100, .bits_per_key = 10};
  nay_filter *f;
  nay_stats s = {.size = sizeof s};
  assert_ok(nay_format_new(format, &p, NULL, NULL, &f));
  assert_ok(nay_filter_stats(f, &s));
  assert_false(s.saturated);
  size_t len = nay_format_encoded_size(format, f), link = (size_t)(s.nbits / 8);
  uint8_t *bytes = malloc(len);
  assert_non_null(bytes);
  assert_ok(nay_format_encode(format, f, bytes, len, &len));
  nay_filter_free(f);
  memset(bytes + len - link, 0xff, link);
  assert_ok(nay_format_decode(format, bytes, len, 0, NULL, NULL, &f));
  assert_ok(nay_filter_stats(f, &s));
  assert_true(s.saturated && s.fpr_now == 1 && s.overloaded);
  assert_true(s.nkeys_estimated > 200 && fabs(s.utilisation - s.nkeys_estimated / 100) < 1e-9);
  nay_filter_free(f);
  free(bytes);
}

/* Within its plan no filter is saturated, unless it is so small that a few keys fill it. */
static void filters_within_their_plan_are_not(void **state) {
  (void)state;
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if ((family->traits & NAY_CAN_ADD) == 0) continue;
    for (uint64_t n = 10; n <= 100000; n *= 10) {
      nay_params p = {sizeof p, .kind = family->kind, .nkeys = n, .fpr = 0.3};
      nay_filter *f;
      assert_ok(nay_filter_new(&p, NULL, NULL, &f));
      checked one = fill(f, n, n);
      assert_int_equal(one.nsaturated, 0);
      nay_filter_free(f);
    }
  }
}

/* Full arrays tell of fewer keys than planned where the planned FPR is near 1: a filter without a
 * clear bit is overloaded all the same. */
static void full_filters_are_overloaded_at_any_rate(void **state) {
  (void)state;
  const double fprs[] = {0.3, 0.9, 0.97, 0.99, 0.995, 0.999};
  const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING};
  for (unsigned i = 0; i < 3 * 6; i++) {
    nay_params p = {sizeof p, .kind = kinds[i / 6], .nkeys = 200000, .fpr = fprs[i % 6]};
    nay_filter *f;
    nay_stats s = {.size = sizeof s};
    p.hash = NAY_HASH_CALLER;
    assert_ok(nay_filter_new(&p, NULL, NULL, &f));
    for (uint64_t n = 0; n < p.nkeys; n++)
      assert_ok(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(n), 0}, NULL));
    assert_ok(nay_filter_stats(f, &s));
    assert_false(s.overloaded);
    for (uint64_t n = p.nkeys; n < 40 * p.nkeys; n++)
      assert_ok(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(n), 0}, NULL));
    assert_ok(nay_filter_stats(f, &s));
    if (!s.overloaded)
      fail_msg("kind %d at %g: FPR now %g, planned %g", (int)kinds[i / 6], fprs[i % 6], s.fpr_now,
               s.fpr_planned);
    nay_filter_free(f);
  }
}

/* A union that is saturated does not tell how much two filters have in common. */
static void overlaps_of_saturated_filters_are_unknown(void **state) {
  (void)state;
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nkeys = 100, .nbits = 512, .k = 4};
  nay_filter *a, *b;
  nay_overlap o = {.size = sizeof o};
  assert_ok(nay_filter_new(&p, NULL, NULL, &a));
  assert_ok(nay_filter_new(&p, NULL, NULL, &b));
  fill(a, 0, 50);
  fill(b, 25, 50);
  assert_ok(nay_filter_overlap(a, b, NULL, &o));
  assert_true(o.nkeys_intersection > 10 && o.jaccard > 0.1);
  fill(b, 1000, 5000);
  assert_ok(nay_filter_overlap(a, b, NULL, &o));
  assert_true(isnan(o.nkeys_intersection) && isnan(o.jaccard) && o.nkeys_union > 0);
  nay_filter_free(a);
  nay_filter_free(b);
}

int main(void) {
  const test_case tests[] = {
      TEST(families_say_when_they_are_saturated),
      TEST(other_layouts_say_it),
      TEST(a_chain_of_redisbloom_says_it),
      TEST(filters_within_their_plan_are_not),
      TEST(full_filters_are_overloaded_at_any_rate),
      TEST(overlaps_of_saturated_filters_are_unknown),
  };
  return run_all(tests);
}
