/* scan_entry.c - accessors of the current entry of a merging iterator: key, value, version,
 * pin. */
#include "tree/scan.h"

const void *nay_sst_scan_key(const nay_sst_scan *m, size_t *len) {
  *len = m->valid ? m->key.len : 0;
  if (!m->valid) return NULL;
  return m->key.len != 0 ? m->key.at : (const void *)"";
}

/* Returns the current value when it is not the value of the top child. */
static nay_bytes entry_detached(const nay_sst_scan *m) {
  return nay_sst__scan_is_combined(m) ? nay_sst__operand_value(&m->operand) : m->saved_value.value;
}

const void *nay_sst_scan_value(const nay_sst_scan *m, size_t *len) {
  *len = 0;
  if (!m->valid) return NULL;
  nay_bytes value = m->detached ? entry_detached(m)
                                : nay_sst__scan_child_value(nay_sst__merge_top(&m->heap)->source);
  *len = value.len;
  return value.len != 0 ? value.at : (const void *)"";
}

nay_status nay_sst_scan_entry(const nay_sst_scan *m, nay_sst_entry *entry) {
  if (m == NULL || entry == NULL || !m->valid) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_ENTRY, entry, NULL));
  nay_sst_entry now = {.sequence = m->trailer >> 8, .type = nay_sst__trailer_type(m->trailer)};
  now.key = nay_sst_scan_key(m, &now.len);
  nay__abi_write(NAY_ABI_SST_ENTRY, &now, entry);
  return NAY_OK;
}

/* Pins a value that lies in no block: a value of a source, or a combined one. Bytes that are not
 * stable are copied. */
static nay_status entry_pin_bytes(const nay_sst_scan *m, nay_bytes bytes, bool stable,
                                  nay_sst_value *value) {
  nay_hold *hold = value->hold;
  if (stable) {
    nay_sst__hold_release(hold);
    value->bytes = bytes.at;
  } else {
    nay_status status = nay_sst__hold_copy(&hold, &m->allocator, bytes, &value->bytes);
    value->hold = hold;
    NAY_TRY(status);
  }
  value->len = bytes.len;
  return NAY_OK;
}

static nay_status entry_pin_detached(const nay_sst_scan *m, nay_sst_value *value) {
  nay_bytes bytes = entry_detached(m);
  if (nay_sst__scan_is_combined(m) || m->saved_value.table == NULL) {
    return entry_pin_bytes(m, bytes, !nay_sst__scan_is_combined(m) && m->saved_value.stable, value);
  }
  nay_hold *hold = value->hold;
  nay_status status =
      nay_sst__hold_pin(m->saved_value.table, m->saved_value.hold, m->saved_value.block, &hold);
  value->hold = hold;
  value->bytes = bytes.at;
  value->len = bytes.len;
  return status;
}

nay_status nay_sst_scan_pin(nay_sst_scan *m, nay_sst_value *value) {
  if (m == NULL || value == NULL || !m->valid) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, NULL));
  nay_status status;
  if (m->detached) {
    status = entry_pin_detached(m, value);
  } else {
    nay_scan_child *c = nay_sst__merge_top(&m->heap)->source;
    status = c->iter != NULL
                 ? nay_sst_iter_pin(c->iter, value)
                 : entry_pin_bytes(m, nay_sst__scan_child_value(c), c->source.stable, value);
  }
  value->sequence = m->trailer >> 8;
  value->deleted = (m->trailer & 0xff) == 0;
  return status;
}

const nay_diag *nay_sst_scan_diag(const nay_sst_scan *m) { return &m->diag; }

const nay_sst *nay_sst_scan_table(const nay_sst_scan *m) {
  if (!m->valid) return m->failed_table;
  if (!m->detached) return nay_sst__scan_top_table(m);
  return nay_sst__scan_is_combined(m) ? m->operand_table : m->saved_value.table;
}
