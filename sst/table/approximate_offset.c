/* approximate_offset.c - where in the file a key is, by the index alone. */
#include "table/get.h"

/* Returns where the data ends. Like LevelDB, it takes the metaindex's offset. */
static uint64_t offset_data_end(const nay_sst *t) {
  return t->foreign != NULL ? t->foreign->blocks_end : t->meta.footer.metaindex.offset;
}

nay_status nay_sst__approximate_offset(const nay_sst *t, const void *key, size_t len,
                                       nay_diag *diag, uint64_t *offset) {
  if (t == NULL || offset == NULL || (key == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "table, key or offset is NULL", 0);
  }
  if (t->sorting.unknown != NAY_OK) return nay_sst__order_unknown(t, diag);
  nay_target target = {len != 0 ? key : "", len, NAY_KEY_TRAILER_OF(NAY_SST_MAX_SEQUENCE)};
  nay_get_position at;
  nay_index_pin pin = {.entry = NULL};
  nay_status status =
      t->range.empty ? NAY_ENOENT : nay_sst__get_locate(t, &target, &pin, diag, &at);
  nay_sst__table_index_unpin(t, &pin);
  if (status != NAY_OK && status != NAY_ENOENT) return status;
  *offset = status == NAY_OK ? at.handle.offset : offset_data_end(t);
  return NAY_OK;
}
