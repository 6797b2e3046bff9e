/*
 * cuckoo_explain.c - what decides the answer of a cuckoo filter: each slot of the two buckets, a
 * group of its own, against the key's tag in that bucket.
 */
#include "family/cuckoo.h"
#include "family/explain.h"

static void cuckoo_explain_bucket(const nay_cuckoo_table *t, uint64_t bucket, uint64_t tag,
                                  nay_explain_run *run) {
  uint64_t first = nay__cuckoo_bucket_bit(t, bucket), slots = nay__explain_at(run, t->slots);
  nay_explain_unit unit = {"bucket", bucket, slots + first, (uint64_t)t->f * NAY_CUCKOO_SLOTS};
  for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
    uint64_t bit = first + (uint64_t)slot * t->f;
    nay__explain_group(run, 0, 1);
    nay__explain_step(run, &unit,
                      (nay_explain_step){.kind = NAY_STEP_FINGERPRINT,
                                         .bit = slots + bit,
                                         .nbits = t->f,
                                         .found = nay__cuckoo_get(t, bit),
                                         .expected = tag});
  }
}

void nay__cuckoo_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  nay_cuckoo_key key = nay__cuckoo_locate(&t, hash.lo);
  cuckoo_explain_bucket(&t, key.home, key.home_tag, run);
  cuckoo_explain_bucket(&t, key.other, key.other_tag, run);
}
