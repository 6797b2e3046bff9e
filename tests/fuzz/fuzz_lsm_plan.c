/*
 * fuzz_lsm_plan.c - trees and budgets of all kinds: a plan is refused with a reason, or its levels
 * sum up, it keeps its budget, Monkey is not worse than uniform, and each filter can be planned
 * again from what the plan says.
 *
 *   0   kind         8    nkeys u64, shifted right by byte 4      40   bits_per_key, a double
 *   1   which size   16   ratio u64, by byte 5                    48   fpr, a double
 *   2   merging      24   nkeys_memtable u64, by byte 6           56   nbytes u64, by byte 3
 *   3   of nbytes    32   nkeys_table u64, by byte 7              64   nruns_level0 u16
 */
#include "base/bytes.h"
#include "nay_sst_plan.h"
#include "support/exercise.h"

#define LSM_BYTES 66u

static double load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static nay_sst_plan_params make_params(const uint8_t *p) {
  nay_sst_plan_params params = {
      .size = sizeof params,
      .kind = (nay_kind)(p[0] % 12),
      .merging = (nay_sst_plan_merging)(p[2] % 4),
      .nkeys = nay__load64le(p + 8) >> (p[4] & 63),
      .ratio = nay__load64le(p + 16) >> (p[5] & 63),
      .nkeys_memtable = nay__load64le(p + 24) >> (p[6] & 63),
      .nkeys_table = nay__load64le(p + 32) >> (p[7] & 63),
      .nruns_level0 = nay__load16le(p + 64),
  };
  if ((p[1] & 1) != 0) params.fpr = load_double(p + 48);
  if ((p[1] & 2) != 0) params.bits_per_key = load_double(p + 40);
  if ((p[1] & 4) != 0) params.nbytes = nay__load64le(p + 56) >> (p[3] & 63);
  if ((p[1] & 8) != 0) params.bits_per_key = p[40] / 4.0; /* a plausible value */
  if ((p[1] & 16) != 0) params.fpr = (p[48] + 1) / 1000.0;
  return params;
}

static void check_level(const nay_sst_level *l) {
  CHECK(l->nkeys > 0 && l->nruns > 0 && l->nruns <= l->nkeys && l->nkeys_filter > 0);
  CHECK(l->fpr >= 0 && l->fpr <= 1 && l->why != NULL);
  CHECK((l->kind == NAY_AUTO) == (l->nbytes == 0));
  if (l->kind == NAY_AUTO) return;
  nay_params p = {sizeof p, .kind = l->kind, .nkeys = l->nkeys_filter, .nbytes = l->nbytes_filter};
  nay_plan plan = {.size = sizeof plan};
  CHECK(nay_params_plan(&p, NULL, &plan) == NAY_OK);
  CHECK(plan.fpr == l->fpr && plan.nbytes * l->nfilters == l->nbytes);
}

static double check_allocation(const nay_sst_plan *plan, nay_sst_plan_allocation a,
                               uint64_t nkeys) {
  nay_sst_plan_info sums = {.size = sizeof sums};
  nay_sst_level level = {.size = sizeof level};
  uint64_t keys = 0, runs = 0, bytes = 0;
  size_t i = 0;
  CHECK(nay_sst_plan_stats(plan, a, &sums) == NAY_OK);
  for (; nay_sst_plan_level(plan, a, i, &level) == NAY_OK; i++) {
    check_level(&level);
    keys += level.nkeys;
    runs += level.nruns;
    bytes += level.nbytes;
  }
  CHECK(i == sums.nlevels && keys == nkeys && sums.nkeys == nkeys);
  CHECK(runs == sums.nruns && bytes == sums.nbytes && bytes <= sums.nbytes_budget);
  CHECK(sums.absent_reads >= 0 && sums.absent_reads <= (double)runs * (1 + 1e-9));
  CHECK(sums.present_waste >= 0 && sums.present_waste <= sums.absent_reads * (1 + 1e-9));
  return sums.absent_reads;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < LSM_BYTES) return 0;
  nay_sst_plan_params params = make_params(data);
  flaky memory = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&memory);
  nay_diag diag = {.what = NULL};
  nay_sst_plan *plan = NULL;
  nay_status status = nay_sst_plan_new(&params, &a, &diag, &plan);
  CHECK(status == NAY_OK || (status == NAY_EINVAL && diag.what != NULL && plan == NULL));
  if (status == NAY_OK) {
    double uniform = check_allocation(plan, NAY_SST_PLAN_UNIFORM, params.nkeys);
    double monkey = check_allocation(plan, NAY_SST_PLAN_MONKEY, params.nkeys);
    CHECK(monkey <= uniform);
  }
  nay_sst_plan_free(plan);
  CHECK(memory.objects == 0);
  return 0;
}
