/*
 * fuzz_params.c - wishes of all kinds: a plan is refused with a reason, or keeps its promises; and
 * a filter made from it is the one that was planned.
 *
 *   0     kind        8    nkeys u64, shifted right by byte 4      24   bits_per_key, a double
 *   1     which size  16   fpr, a double                           32   nbytes or nbits u64
 *   2     k           40   fold u8, shifted left by byte 41
 *   3     flags, hash
 */
#include "base/bytes.h"
#include "support/exercise.h"

#define PARAMS_BYTES 42u

static double load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static nay_params make_params(const uint8_t *p) {
  nay_params params = {
      .size = sizeof params,
      .kind = (nay_kind)(p[0] % 12),
      .nkeys = nay__load64le(p + 8) >> (p[4] & 63),
      .k = p[2],
      .flags = p[3] & 7u,
      .hash = (nay_hash_kind)(p[3] >> 3 & 3),
      .fold = (uint64_t)p[40] << (p[41] & 63),
  };
  if ((p[1] & 1) != 0) params.fpr = load_double(p + 16);
  if ((p[1] & 2) != 0) params.bits_per_key = load_double(p + 24);
  if ((p[1] & 4) != 0) params.nbytes = nay__load64le(p + 32) >> (p[5] & 63);
  if ((p[1] & 8) != 0) params.nbits = nay__load64le(p + 32) >> (p[5] & 63);
  return params;
}

static void check_plan(const nay_params *params, const nay_plan *plan) {
  CHECK(nay_kind_name(plan->kind) != NULL && plan->kind != NAY_AUTO);
  CHECK(params->kind == NAY_AUTO || plan->kind == params->kind);
  CHECK(plan->fpr >= 0 && plan->fpr <= 1);
  CHECK(plan->nbytes_file > plan->nbytes);
  CHECK(plan->nbytes_build >= plan->nbytes);
  CHECK(plan->nkeys == params->nkeys);
  if (params->k != 0) CHECK(plan->k == params->k);
  if (params->nbytes != 0) CHECK(plan->nbytes <= nay__round_up(params->nbytes, 8));
  if (params->nbits != 0) { /* the bits that keys can set: counters and clocks come on top */
    bool bare = (nay_kind_traits(plan->kind) & (NAY_CAN_REMOVE | NAY_CAN_EXPIRE)) == 0;
    CHECK(bare ? plan->nbits == params->nbits : plan->nbits >= params->nbits);
  }
  /* 1 %: what the choice of k may give away (math/plan.c) */
  if (params->fpr != 0) CHECK(plan->fpr <= params->fpr * 1.0101);
}

static void check_filter(const nay_params *params, const nay_plan *plan) {
  flaky memory = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&memory);
  nay_filter *f = NULL;
  nay_status status = nay_filter_new(params, &a, NULL, &f);
  if ((nay_kind_traits(plan->kind) & NAY_CAN_ADD) == 0) {
    CHECK(status == NAY_ENOTSUP && f == NULL);
    return;
  }
  CHECK(status == NAY_OK);
  CHECK(memory.peak <= plan->nbytes_build);
  CHECK(nay_filter_encoded_size(f) == plan->nbytes_file);
  nay_stats stats = {.size = sizeof stats};
  CHECK(nay_filter_stats(f, &stats) == NAY_OK);
  CHECK(stats.k == plan->k && stats.nbits == plan->nbits && stats.nbits_set == 0);
  if (params->fold > 1 && (nay_kind_traits(plan->kind) & NAY_CAN_FOLD) != 0) {
    CHECK(nay_filter_fold(f, params->fold, NULL) == NAY_OK);
  }
  exercise_change(f, params->nkeys);
  exercise_probe(f, params->nkeys);
  exercise_round_trip(nay_format_find("nay"), f);
  nay_filter_free(f);
  CHECK(memory.objects == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < PARAMS_BYTES) return 0;
  nay_params params = make_params(data);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_params_plan(&params, &diag, &plan);
  CHECK(status == NAY_OK || (status == NAY_EINVAL && diag.what != NULL));
  if (status == NAY_OK) {
    check_plan(&params, &plan);
    if (plan.nbytes <= 1 << 20) check_filter(&params, &plan);
  }
  const nay_format *format;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    if (nay_format_plan(format, &params, NULL, &plan) == NAY_OK) {
      CHECK(plan.fpr >= 0 && plan.fpr <= 1);
    }
  }
  return 0;
}
