/*
 * cfchain_bytes.c - the dump of a cuckoo chain: its header, and the slots in chunks. Every field of
 * a header is checked (nay__cfchain_nslots) before it is used.
 */
#include "base/bytes.h"
#include "redis/cfchain.h"

void nay__cfchain_write_header(const nay_cfchain_header *h, uint8_t bytes[NAY_CFCHAIN_HEADER_LEN]) {
  nay__store64le(bytes, h->nitems);
  nay__store64le(bytes + 8, h->nbuckets);
  nay__store64le(bytes + 16, h->ndeletes);
  nay__store64le(bytes + 24, h->nfilters);
  nay__store16le(bytes + 32, (uint16_t)h->bucket_size);
  nay__store16le(bytes + 34, (uint16_t)h->max_iterations);
  nay__store16le(bytes + 36, (uint16_t)h->expansion);
}

nay_status nay__cfchain_read_header(const void *bytes, size_t len, nay_diag *diag,
                                    nay_cfchain_header *header) {
  const uint8_t *p = bytes;
  if (p == NULL || len != NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "a header has 38 bytes", len);
  }
  nay_cfchain_header h = {.nitems = nay__load64le(p),
                          .nbuckets = nay__load64le(p + 8),
                          .ndeletes = nay__load64le(p + 16),
                          .nfilters = nay__load64le(p + 24),
                          .bucket_size = nay__load16le(p + 32),
                          .max_iterations = nay__load16le(p + 34),
                          .expansion = nay__load16le(p + 36)};
  uint64_t nslots;
  NAY_TRY(nay__cfchain_nslots(&h, diag, &nslots));
  *header = h;
  return NAY_OK;
}

/* The sub-filter that an offset into all slots falls into; *offset becomes one into its own. */
static uint32_t cf_sub_at(const nay_cfchain *chain, uint64_t *offset) {
  uint32_t i = 0;
  while (i < chain->nfilters && *offset >= nay__cf_sub_len(chain, i))
    *offset -= nay__cf_sub_len(chain, i++);
  return i;
}

const uint8_t *nay__cfchain_chunk(const nay_cfchain *chain, uint64_t offset, size_t *len) {
  uint32_t i = cf_sub_at(chain, &offset);
  if (i == chain->nfilters) return NULL;
  size_t rest = nay__cf_sub_len(chain, i) - (size_t)offset;
  *len = rest < NAY_CFCHAIN_CHUNK_LEN ? rest : NAY_CFCHAIN_CHUNK_LEN;
  return chain->subs[i].slots + offset;
}

nay_status nay__cfchain_load(nay_cfchain *chain, uint64_t offset, const void *bytes, size_t len) {
  if (bytes == NULL || len == 0) return NAY_EINVAL;
  uint32_t i = cf_sub_at(chain, &offset);
  if (i == chain->nfilters || len > nay__cf_sub_len(chain, i) - (size_t)offset) return NAY_EINVAL;
  uint8_t *at = chain->subs[i].slots + offset;
  chain->nitems -= nay__cf_occupied(at, len);
  memcpy(at, bytes, len);
  chain->nitems += nay__cf_occupied(at, len);
  return NAY_OK;
}
