/*
 * test_twins.c - nay_filter_params of every filter makes an identical empty twin, at the boundary
 * values of every field and at their neighbours, in random combinations. What is refused or large
 * is left out; what nay_filter_new has made, its own params must make again.
 */
#include "contract.h"
#include "math/plan.h"

#define TWIN_DRAWS 2000u
#define TWIN_MAX_NBYTES 65536u
#define OF(table) table[twin_pick(&at, sizeof table / sizeof table[0])]

static const uint64_t twin_nkeys[] = {0,
                                      1,
                                      2,
                                      3,
                                      999,
                                      1000,
                                      1001,
                                      ((uint64_t)1 << 48) - 1,
                                      (uint64_t)1 << 48,
                                      ((uint64_t)1 << 48) + 1,
                                      ((uint64_t)1 << 55) + 1,
                                      ((uint64_t)1 << 56) - 1,
                                      (uint64_t)1 << 56};
/* The ends of scalable's range, the singles next to them, and the doubles next to those. */
static const double twin_fprs[] = {1e-300,         1e-15,
                                   1e-6 - 0x1p-72, 1e-6,
                                   1e-6 + 0x1p-72, 0x1.0c6f78p-20,
                                   0x1.0c6f7ap-20, 0x1.0c6f7ap-20 + 0x1p-72,
                                   0x1.0c6f7cp-20, 0.001,
                                   0.01,           0.5 - 0x1p-25,
                                   0.5 - 0x1p-54,  0.5,
                                   0.5 + 0x1p-53,  0.5 + 0x1p-24,
                                   0.99,           1 - 0x1p-53};
static const double twin_bits_per_key[] = {1e-18, 0.25, 0.5, 1, 6, 8, 32, 33, 64, 4095, 4096};
static const uint64_t twin_nbytes[] = {7,   8,   63,  64,   65,   127,   128,  191,
                                       192, 319, 320, 4096, 4159, 65535, 65536};
static const uint64_t twin_nbits[] = {1,   2,    63,   64,        65,        48,        96,
                                      256, 512,  1024, 512 * 3,   8 * 6 * 9, 8 * 32,    8 * 11,
                                      513, 8192, 1025, 512 * 511, 512 * 512, 512 * 513, 524288};
static const uint32_t twin_k[] = {0, 0, 0, 1, 2, 3, 63, 64};
static const uint32_t twin_tag_bits[] = {0, 6, 7, 12, 31, 32};
static const uint32_t twin_generations[] = {0, 1, 2, 7, 14, 15};
static const uint64_t twin_window[] = {0, 1, 2, 14, 15, 16, 86400, UINT64_MAX - 1, UINT64_MAX};
static const uint64_t twin_max_nkeys[] = {
    1, 2, 3, 1000, 1001, 65000, (uint64_t)1 << 27, ((uint64_t)1 << 56) - 1, (uint64_t)1 << 56};
static const uint64_t twin_seed[] = {0, 1, UINT64_MAX};
static const uint64_t twin_fold[] = {0, 0, 0, 1, 2, 64};
static const uint32_t twin_flags[] = {0, NAY_STORE_KEY, NAY_SMALL_PAGES, NAY_CONCURRENT};

/* A number below n; the state moves on. */
static size_t twin_pick(uint64_t *at, size_t n) { return (size_t)(nay_hash_mix((*at)++) % n); }

static void twin_draw_size(nay_params *p, uint64_t draw) {
  uint64_t at = draw << 32;
  p->nkeys = OF(twin_nkeys);
  switch (twin_pick(&at, 4)) {
    case 0: p->fpr = OF(twin_fprs); break;
    case 1: p->bits_per_key = OF(twin_bits_per_key); break;
    case 2: p->nbytes = OF(twin_nbytes); break;
    default: p->nbits = OF(twin_nbits);
  }
}

/* Fields that the family does not take stay 0; so that not all are refused. */
static nay_params twin_draw(const nay_family *family, uint64_t draw) {
  nay_params p = {sizeof p, .kind = family->kind};
  uint64_t at = draw << 32 | 1000;
  twin_draw_size(&p, draw);
  if (family->kind == NAY_SCALABLE) {
    p = (nay_params){
        .size = sizeof(nay_params), .kind = family->kind, .nkeys = p.nkeys, .fpr = OF(twin_fprs)};
  } else if (family->kind != NAY_CUCKOO) {
    p.k = OF(twin_k);
    if (family->kind != NAY_WINDOW) p.fold = OF(twin_fold);
  }
  p.flags = family->concurrent ? OF(twin_flags) : twin_flags[twin_pick(&at, 3)];
  if (twin_pick(&at, 3) == 0) {
    p.hash = NAY_HASH_SIPHASH;
    memset(p.key, (int)twin_pick(&at, 256), sizeof p.key);
  } else {
    p.seed = OF(twin_seed);
  }
  if ((family->knobs & NAY_KNOB_TAG_BITS) != 0) p.tag_bits = OF(twin_tag_bits);
  if ((family->knobs & NAY_KNOB_UNIQUE) != 0 && twin_pick(&at, 2) == 0) p.flags |= NAY_UNIQUE;
  if ((family->knobs & NAY_KNOB_MAX_NKEYS) != 0 && p.nkeys != 0 && twin_pick(&at, 2) == 0) {
    p.max_nkeys = OF(twin_max_nkeys);
    if (p.max_nkeys < p.nkeys) p.max_nkeys = p.nkeys;
  }
  if ((family->knobs & NAY_KNOB_GENERATIONS) != 0) {
    p.generations = OF(twin_generations);
    p.window = OF(twin_window);
  }
  return p;
}

static void assert_empty_twin(const nay_params *p, const nay_family *family, uint64_t draw) {
  nay_filter *f = contract_new(p), *twin = NULL;
  nay_params recalled = {.size = sizeof recalled};
  nay_diag diag = {0};
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_filter_params(f, &recalled));
  if (nay_params_plan(&recalled, &diag, &plan) != NAY_OK ||
      nay_filter_new(&recalled, NULL, NULL, &twin) != NAY_OK) {
    fail_msg("%s, draw %llu: nkeys %llu, fpr %.17g: its params are refused: %s", family->name,
             (unsigned long long)draw, (unsigned long long)p->nkeys, p->fpr, diag.what);
  }
  if (!filters_equal(f, twin)) {
    fail_msg("%s, draw %llu: nkeys %llu, fpr %.17g, nbits %llu: the twin differs", family->name,
             (unsigned long long)draw, (unsigned long long)p->nkeys, p->fpr,
             (unsigned long long)p->nbits);
  }
  nay_params again = {.size = sizeof again}; /* and params of the twin are the same */
  assert_ok(nay_filter_params(twin, &again));
  assert_memory_equal(&again, &recalled, sizeof again);
  nay_filter_free(f);
  nay_filter_free(twin);
}

static void params_at_the_boundaries_make_a_twin(void **state) {
  const nay_family *family = *state;
  uint64_t made = 0;
  for (uint64_t draw = 0; draw < TWIN_DRAWS; draw++) {
    nay_params p = twin_draw(family, draw);
    nay_plan plan = {.size = sizeof plan};
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK || plan.nbytes > TWIN_MAX_NBYTES) continue;
    assert_empty_twin(&p, family, draw);
    if ((family->knobs & NAY_KNOB_MAX_NBYTES) != 0) { /* the least limit: no room to grow */
      for (p.max_nbytes = UINT64_MAX; p.max_nbytes != 0; p.max_nbytes /= 2) {
        if (nay_params_plan(&p, NULL, &plan) != NAY_OK) break;
        if (p.max_nbytes < TWIN_MAX_NBYTES) assert_empty_twin(&p, family, draw);
      }
    }
    made++;
  }
  print_message("# %s: %llu filters and their twins\n", family->name, (unsigned long long)made);
  assert_true(made > TWIN_DRAWS / 50);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(params_at_the_boundaries_make_a_twin, NAY_CAN_ADD),
  };
  return contract_run_all(tests);
}
