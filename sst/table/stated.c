/* stated.c - implements nay_sst.h: the properties that a table states, and approximate
 * offsets. */
#include "nay_sst.h"

#include "table/get.h"

static const void *stats_key(const nay_table_stats *s, nay_bytes key) {
  if (s->nentries == 0) return NULL;
  return key.len != 0 ? key.at : (const void *)"";
}

nay_status nay_sst_stated(const nay_sst *t, nay_sst_properties *properties) {
  if (t == NULL || properties == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_PROPERTIES, properties, NULL));
  const nay_table_stats *s = &t->stats;
  if (!s->has_entries) return NAY_ENOENT;
  nay_sst_properties p = {.nentries = s->nentries,
                          .ndeletions = s->ndeletions,
                          .nmerges = s->nmerges,
                          .key_bytes = s->key_bytes,
                          .value_bytes = s->value_bytes,
                          .smallest_sequence = s->smallest_sequence,
                          .largest_sequence = s->largest_sequence,
                          .smallest = stats_key(s, s->smallest),
                          .smallest_len = s->smallest.len,
                          .largest = stats_key(s, s->largest),
                          .largest_len = s->largest.len};
  nay__abi_write(NAY_ABI_SST_PROPERTIES, &p, properties);
  return NAY_OK;
}

/* Returns where the data ends. Like LevelDB, it takes the metaindex's offset. */
static uint64_t stats_data_end(const nay_sst *t) {
  return t->foreign != NULL ? t->foreign->blocks_end : t->footer.metaindex.offset;
}

nay_status nay_sst_approximate_offset(const nay_sst *t, const void *key, size_t len, nay_diag *diag,
                                      uint64_t *offset) {
  if (t == NULL || offset == NULL || (key == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "table, key or offset is NULL", 0);
  }
  if (t->order_unknown != NAY_OK) return nay_sst__order_unknown(t, diag);
  nay_target target = {len != 0 ? key : "", len, NAY_KEY_TRAILER_OF(NAY_SST_MAX_SEQUENCE)};
  nay_get_position at;
  nay_index_pin pin = {.entry = NULL};
  nay_status status = t->empty ? NAY_ENOENT : nay_sst__get_locate(t, &target, &pin, diag, &at);
  nay_sst__table_index_unpin(t, &pin);
  if (status != NAY_OK && status != NAY_ENOENT) return status;
  *offset = status == NAY_OK ? at.handle.offset : stats_data_end(t);
  return NAY_OK;
}
