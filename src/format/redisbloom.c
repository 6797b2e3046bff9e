/* redisbloom.c - see redisbloom.h. Every size was recomputed by parse: what follows may trust it.
 */
#include "format/redisbloom.h"

#include "base/bytes.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"
#include "redis/cfsub.h"
#include "redis/redis.h"
#include "redis/sbchain.h"

static uint8_t *rb_bytes(const nay_filter *f) { return f->bits.bytes; }

/* shape.nunits is the length of the payload. */
static bool rb_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  *nbytes = shape->nunits;
  *nbits = shape->nunits * 8;
  return shape->nunits <= NAY_MAX_NBITS / 8;
}

/* ---- chained Bloom ---- */

/* Goes through the links: a row of the header, and where its array starts. */
typedef struct rb_links {
  const uint8_t *row;
  uint8_t *array;
  uint32_t left;
  sblink link;
} rb_links;

static rb_links rb_links_of(const nay_filter *f) {
  uint8_t *bytes = rb_bytes(f);
  uint32_t n = nay__load32le(bytes + 8);
  return (rb_links){
      .row = bytes + NAY_SB_HEAD, .array = bytes + NAY_SB_HEAD + NAY_SB_ROW * (size_t)n, .left = n};
}

static bool rb_next_link(rb_links *at) {
  if (at->left == 0) return false;
  nay__sb_read_row(at->row, &at->link);
  at->link.bytes = at->array;
  at->array += at->link.nbytes;
  at->row += NAY_SB_ROW;
  at->left--;
  return true;
}

bool nay__rb_bloom_is_old(const uint8_t *payload) {
  return (nay__load32le(payload + 12) & NAY_SB_HASH64) == 0;
}

nay_status nay__rb_bloom_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload) {
  NAY_TRY(nay__sb_check_dump(bytes, len, diag));
  *shape = (nay_shape){.nunits = len, .k = nay__load32le(bytes + NAY_SB_HEAD + 40)};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  return NAY_OK;
}

static bool rb_bloom_test(const nay_filter *f, nay_hash hash) {
  rb_links at = rb_links_of(f);
  while (rb_next_link(&at)) {
    if (nay__sblink_test(&at.link, hash)) return true;
  }
  return false;
}

static void rb_bloom_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  uint32_t level = 0;
  for (rb_links at = rb_links_of(f); rb_next_link(&at); level++) {
    const sblink *link = &at.link;
    if (link->hashes == 0) { /* all of none are set */
      nay__explain_constant(run, level, true);
      continue;
    }
    nay__explain_group(run, level, link->hashes);
    for (uint32_t i = 0; i < link->hashes; i++)
      nay__explain_line_bit(run, link->bytes, link->nbytes * 8,
                            nay__sblink_position(link, hash, i));
  }
}

/* ---- new ones, and adding ---- */

#define RB_GROWTH 2u /* the default of BF.RESERVE */

/* The one link of a new chain, at half the FPR: further links need the other half. */
static nay_status rb_bloom_first(uint64_t nkeys, double fpr, sblink *link) {
  return nay__sblink_plan(nkeys, fpr * 0.5, NAY_SB_DEFAULT, link);
}

nay_status nay__rb_bloom_reserve(uint64_t nkeys, double fpr, nay_diag *diag, nay_shape *shape) {
  sblink link;
  if (rb_bloom_first(nkeys, fpr, &link) != NAY_OK) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  *shape = (nay_shape){.nunits = NAY_SB_HEAD + NAY_SB_ROW + link.nbytes, .k = link.hashes};
  return NAY_OK;
}

/* The rate is the one whose shape this is: params may have stated bits per key. */
static void rb_bloom_init(nay_filter *f, const nay_params *params) {
  uint8_t *p = rb_bytes(f);
  sblink link;
  double fpr = params->fpr;
  if (fpr == 0) fpr = 2 * nay__exp(-params->bits_per_key * NAY_LN2 * NAY_LN2);
  (void)rb_bloom_first(nay__max_u64(f->nkeys, 1), fpr, &link);
  nay__store32le(p + 8, 1);
  nay__store32le(p + 12, NAY_SB_DEFAULT);
  nay__store32le(p + 16, RB_GROWTH);
  nay__sb_write_row(&link, p + NAY_SB_HEAD);
}

static void rb_count_up(uint8_t *at) { nay__store64le(at, nay__load64le(at) + 1); }

static nay_status rb_bloom_add(nay_filter *f, nay_hash hash, bool *is_new) {
  rb_links at = rb_links_of(f);
  bool had = false;
  while (rb_next_link(&at)) had |= nay__sblink_test(&at.link, hash);
  if (!had) { /* at.link is the last one */
    if (at.link.size >= at.link.entries) return NAY_EFULL;
    nay__sblink_mark(&at.link, hash);
    rb_count_up((uint8_t *)(uintptr_t)at.row - NAY_SB_ROW + 16);
    rb_count_up(rb_bytes(f));
  }
  *is_new = !had;
  return NAY_OK;
}

static nay_status rb_bloom_clear(nay_filter *f) {
  for (rb_links at = rb_links_of(f); rb_next_link(&at);) {
    memset(at.link.bytes, 0, (size_t)at.link.nbytes);
    nay__store64le((uint8_t *)(uintptr_t)at.row - NAY_SB_ROW + 16, 0);
  }
  nay__store64le(rb_bytes(f), 0);
  return NAY_OK;
}

static double rb_bloom_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_bloom((shape->nunits - NAY_SB_HEAD - NAY_SB_ROW) * 8, shape->k, nkeys);
}

/* ---- statistics ---- */

/* The FPR of the chain: one minus the probability that every link answers nay. */
static void rb_bloom_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b; /* no merge, no fold */
  (void)factor;
  nay_census c = {.nbits = 0};
  double nay = 1;
  rb_links at = rb_links_of(a);
  while (rb_next_link(&at)) {
    const sblink *link = &at.link;
    uint64_t set = nay__bits_count(link->bytes, (size_t)link->nbytes);
    if (set > link->modulus) set = link->modulus; /* bits past a small power of two are not read */
    c.nbits += link->nbytes * 8;
    c.nbits_set += set;
    if (link->hashes != 0) {
      nay_estimate keys = nay__estimate_keys(link->modulus, link->hashes, set);
      nay__estimate_add(&c.keys, &keys, 1);
    }
    nay *= 1 - nay__ipow((double)set / (double)link->modulus, link->hashes);
  }
  c.fpr = 1 - nay;
  *census = c;
}

/* The FPR of BF.RESERVE is the sum of the links' FPRs: the first link has half of it. */
static void rb_bloom_describe(const nay_filter *f, nay_stats *stats) {
  stats->nlevels = nay__load32le(rb_bytes(f) + 8);
  rb_links at = rb_links_of(f);
  stats->fpr_planned = 0;
  stats->nkeys = 0;
  while (rb_next_link(&at)) {
    stats->nkeys += at.link.entries;
    stats->fpr_planned += at.link.error;
  }
  if (stats->fpr_planned > 1) stats->fpr_planned = 1;
  if (stats->nkeys == 0) return;
  stats->utilisation = stats->nkeys_estimated / (double)stats->nkeys;
  stats->overloaded = stats->nkeys_estimated > 1.05 * (double)stats->nkeys + 2; /* as filter.c */
}

const nay_family nay__family_rb_bloom = {
    .kind = NAY_BLOOM,
    .name = "bloom (RedisBloom's chain)",
    .traits = NAY_CAN_ADD,
    .self_sized = true,
    .payload = rb_payload,
    .fpr = rb_bloom_fpr,
    .describe = rb_bloom_describe,
    .init = rb_bloom_init,
    .clear = rb_bloom_clear,
    .census = rb_bloom_census,
    .test = rb_bloom_test,
    .explain = rb_bloom_explain,
    .add = rb_bloom_add,
    .batch = &nay__batch_each,
};

/* ---- cuckoo ---- */

/* Goes through the sub-filters, which lie one after the other. */
typedef struct rb_subs {
  nay_cfchain_header header;
  nay_cfsub sub;
  uint64_t left;
} rb_subs;

static rb_subs rb_subs_of(const nay_filter *f) {
  rb_subs at;
  (void)nay__cfchain_read_header(rb_bytes(f), NAY_CFCHAIN_HEADER_LEN, NULL, &at.header);
  at.sub = (nay_cfsub){rb_bytes(f) + NAY_CFCHAIN_HEADER_LEN, at.header.nbuckets};
  at.left = at.header.nfilters;
  return at;
}

static size_t rb_sub_len(const rb_subs *at) {
  return (size_t)at->sub.nbuckets * at->header.bucket_size;
}

static void rb_next_sub(rb_subs *at) {
  at->sub.slots += rb_sub_len(at);
  at->sub.nbuckets *= at->header.expansion;
  at->left--;
}

nay_status nay__rb_cuckoo_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  if (len < NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  }
  nay_cfchain_header header;
  uint64_t nslots;
  NAY_TRY(nay__cfchain_read_header(bytes, NAY_CFCHAIN_HEADER_LEN, diag, &header));
  NAY_TRY(nay__cfchain_nslots(&header, diag, &nslots));
  if (nslots != len - NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "the slots are not as many as the header says", len);
  }
  const uint8_t *slots = bytes + NAY_CFCHAIN_HEADER_LEN;
  if (nay__cf_occupied(slots, (size_t)nslots) != header.nitems) {
    return nay__fail(diag, NAY_ECORRUPT, "the items are not as many as the slots in use", 0);
  }
  *shape = (nay_shape){.nunits = len, .k = 2};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  return NAY_OK;
}

static bool rb_cuckoo_test(const nay_filter *f, nay_hash hash) {
  nay_cfkey key = nay__cf_key(hash.lo);
  for (rb_subs at = rb_subs_of(f); at.left != 0; rb_next_sub(&at)) {
    if (nay__cf_find(&at.sub, at.header.bucket_size, &key, key.fp) != NULL) return true;
  }
  return false;
}

static void rb_cuckoo_explain_bucket(const rb_subs *at, uint32_t level, uint64_t h, uint8_t fp,
                                     nay_explain_run *run) {
  uint32_t size = at->header.bucket_size;
  const uint8_t *slots = nay__cf_bucket(&at->sub, size, h);
  nay_explain_unit unit = {"bucket", h & (at->sub.nbuckets - 1), nay__explain_at(run, slots),
                           (uint64_t)size * 8};
  for (uint32_t i = 0; i < size; i++) {
    nay__explain_group(run, level, 1);
    nay__explain_step(run, &unit,
                      (nay_explain_step){.kind = NAY_STEP_FINGERPRINT,
                                         .bit = unit.bit + (uint64_t)i * 8,
                                         .nbits = 8,
                                         .found = slots[i],
                                         .expected = fp});
  }
}

static void rb_cuckoo_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  nay_cfkey key = nay__cf_key(hash.lo);
  uint32_t level = 0;
  for (rb_subs at = rb_subs_of(f); at.left != 0; rb_next_sub(&at), level++) {
    rb_cuckoo_explain_bucket(&at, level, key.h1, key.fp, run);
    bool one = ((key.h1 ^ key.h2) & (at.sub.nbuckets - 1)) == 0; /* both are the same bucket */
    if (!one) rb_cuckoo_explain_bucket(&at, level, key.h2, key.fp, run);
  }
}

static nay_status rb_cuckoo_count(const nay_filter *f, nay_hash hash, uint64_t *count) {
  nay_cfkey key = nay__cf_key(hash.lo);
  *count = 0;
  for (rb_subs at = rb_subs_of(f); at.left != 0; rb_next_sub(&at)) {
    *count += nay__cf_count(&at.sub, at.header.bucket_size, &key);
  }
  return NAY_OK;
}

/* An absent key meets a fingerprint in each slot of two buckets that is in use, one of 255. */
static void rb_cuckoo_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                             nay_census *census) {
  (void)b;
  (void)factor;
  double met = 0;
  rb_subs at = rb_subs_of(a);
  for (; at.left != 0; rb_next_sub(&at)) {
    uint64_t used = nay__cf_occupied(at.sub.slots, rb_sub_len(&at));
    met += 2 * (double)used / (double)at.sub.nbuckets;
  }
  uint64_t nslots = (uint64_t)(a->nbytes - NAY_CFCHAIN_HEADER_LEN);
  *census = (nay_census){nslots * 8, at.header.nitems * 8, nay__exactly(at.header.nitems),
                         1 - nay__exp(met * nay__ln(254.0 / 255.0))};
}

static void rb_cuckoo_describe(const nay_filter *f, nay_stats *stats) {
  rb_subs at = rb_subs_of(f);
  stats->nlevels = (uint32_t)at.header.nfilters;
  stats->tag_bits = 8;
}

const nay_family nay__family_rb_cuckoo = {
    .kind = NAY_CUCKOO,
    .name = "cuckoo (RedisBloom's chain)",
    .traits = NAY_CAN_COUNT,
    .self_sized = true,
    .payload = rb_payload,
    .describe = rb_cuckoo_describe,
    .test = rb_cuckoo_test,
    .explain = rb_cuckoo_explain,
    .count = rb_cuckoo_count,
    .census = rb_cuckoo_census,
    .batch = &nay__batch_each,
};
