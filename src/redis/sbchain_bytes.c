/*
 * sbchain_bytes.c - a chain from untrusted bytes and fields, and back.
 *
 * The header of a dump, little-endian and packed, one row of 53 bytes for each link:
 *
 *    0        8      12      16      20
 *   +--------+-------+-------+-------+----------------------
 *   | size   | links |options|growth | rows ...
 *   +--------+-------+-------+-------+----------------------
 *   row:  0       8      16     24      32     40      44        52   53
 *        +-------+------+------+-------+------+-------+---------+----+
 *        | bytes | bits | size | error | bpe  |hashes | entries | n2 |
 *        +-------+------+------+-------+------+-------+---------+----+
 *
 * Nothing of it is trusted. Of a link's eight numbers three are free: entries, error and size. The
 * others follow from them, and are computed and compared: bits per entry from the rate, hashes from
 * those, the length of the array from both. That rules out the vulnerabilities of RedisBloom: bits
 * beyond the array (out-of-bounds reads and writes), zero bits (division by zero), shifts by 64, no
 * links, a billion hashes, a list allocated by an unchecked count.
 *
 * The comparisons leave room where versions differ: the last bits of a logarithm, and arrays that
 * old versions rounded up to bytes, to 64 bits or to a power of two.
 */
#include "base/bytes.h"
#include "redis/sbchain.h"

#define SB_OPTIONS_KNOWN 15u
#define SB_SLACK 1e-9 /* a logarithm of another libm, relative */

static uint64_t sb_from_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double sb_to_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- checks ---- */

static const char *sb_bad_rate(const nay_sblink *link) {
  if (!(link->error > 0 && link->error < 1)) return "a link's error rate is not between 0 and 1";
  double bpe = nay__sblink_rate_bpe(link->error);
  if (!(link->bpe >= bpe * (1 - SB_SLACK) && link->bpe <= bpe * (1 + SB_SLACK))) {
    return "a link's bits per entry are not those of its error rate";
  }
  if (link->hashes != nay__sblink_hashes(link->bpe)) {
    return "a link's number of hashes is not that of its error rate";
  }
  return NULL;
}

/* Only filters of before 2018, which had no options, may have bits that do not fill their bytes. */
static const char *sb_bad_bits(const nay_sblink *link, uint32_t options) {
  if (link->nbits == 0 || link->nbytes > UINT64_MAX / 16) return "a link has no bits, or too many";
  uint64_t whole = link->nbytes * 8, slack = options == 0 && link->n2 == 0 ? 63 : 0;
  bool is_so = whole >= link->nbits && whole - link->nbits <= slack;
  return is_so ? NULL : "a link's bits are not those of its bytes";
}

/* Sizes are powers of two if and only if the options lack NO_ROUND. */
static const char *sb_bad_power(const nay_sblink *link, uint32_t options) {
  if (link->n2 > 63) return "a link's size is a power of two beyond 2^63";
  if (link->n2 > 0 && (options & NAY_SB_NO_ROUND)) return "a link's size is rounded after all";
  if (link->n2 == 0 && (options & NAY_SB_ENTRIES_ARE_LOG2)) return "a link's size is not given";
  uint64_t nbits = nay__max_u64(1ull << link->n2, 64);
  return link->n2 == 0 || link->nbits == nbits ? NULL : "a link's size is another power of two";
}

/* The array has the size for its entries: at least their bits, at most what rounding up adds. */
static const char *sb_bad_size(const nay_sblink *link, uint32_t options) {
  const char *why = sb_bad_bits(link, options);
  if (why == NULL) why = sb_bad_power(link, options);
  if (why != NULL) return why;
  double need = (double)link->entries * link->bpe, have = (double)link->nbits;
  if (link->entries == 0 || need > have * (1 + SB_SLACK) + 1) {
    return "a link's array is too small for its entries";
  }
  if (link->size > link->nbits) return "a link has more items than bits"; /* each set a new one */
  bool fits = link->n2 > 0 || have <= need * (1 + SB_SLACK) + 65;
  return fits ? NULL : "a link's array is too large for its entries";
}

static sblink sb_of_row(const nay_sblink *row) {
  sblink link = {.hashes = row->hashes,
                 .n2 = row->n2,
                 .entries = row->entries,
                 .size = row->size,
                 .nbits = row->nbits,
                 .nbytes = row->nbytes,
                 .error = row->error,
                 .bpe = row->bpe};
  nay__sblink_set_modulus(&link);
  return link;
}

static nay_status sb_check_link(const nay_sblink *given, uint32_t options, nay_diag *diag,
                                sblink *link) {
  const char *why = sb_bad_rate(given);
  if (why == NULL) why = sb_bad_size(given, options);
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 0);
  *link = sb_of_row(given);
  return NAY_OK;
}

static const char *sb_bad_head(uint64_t options, uint64_t growth) {
  if ((options & ~(uint64_t)SB_OPTIONS_KNOWN) != 0) return "unknown options";
  bool scales = (options & NAY_SB_NO_SCALING) == 0;
  bool is_factor = growth <= UINT32_MAX && (growth > 0 || !scales);
  return is_factor ? NULL : "the chain cannot grow by this factor";
}

/* ---- assembling ---- */

nay_status nay__sbchain_begin(uint64_t size, uint64_t options, uint64_t growth,
                              const nay_zallocator *allocator, nay_diag *diag,
                              nay_sbchain **chain) {
  const char *why = sb_bad_head(options, growth);
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 0);
  NAY_TRY(nay__sbchain_alloc(allocator, chain));
  (*chain)->options = (uint32_t)options;
  (*chain)->growth = (uint32_t)growth;
  (*chain)->size = size;
  return NAY_OK;
}

nay_status nay__sbchain_take(nay_sbchain *chain, const nay_sblink *link, void *bytes,
                             nay_diag *diag) {
  sblink made;
  NAY_TRY(sb_check_link(link, chain->options, diag, &made));
  made.bytes = bytes;
  return nay__sbchain_push(chain, &made);
}

nay_status nay__sbchain_finish(nay_sbchain *chain, nay_diag *diag) {
  if (chain->nlinks == 0) return nay__fail(diag, NAY_ECORRUPT, "a chain without links", 0);
  uint64_t rest = chain->size;
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    if (chain->links[i].size > rest) break;
    rest -= chain->links[i].size;
    if (rest == 0 && i + 1 == chain->nlinks) return NAY_OK;
  }
  return nay__fail(diag, NAY_ECORRUPT, "the links' items do not add up to the chain's", 0);
}

/* ---- headers ---- */

size_t nay__sbchain_header_size(const nay_sbchain *chain) {
  return NAY_SB_HEAD + NAY_SB_ROW * (size_t)chain->nlinks;
}

void nay__sb_write_row(const sblink *link, uint8_t *row) {
  nay__store64le(row, link->nbytes);
  nay__store64le(row + 8, link->nbits);
  nay__store64le(row + 16, link->size);
  nay__store64le(row + 24, sb_from_double(link->error));
  nay__store64le(row + 32, sb_from_double(link->bpe));
  nay__store32le(row + 40, link->hashes);
  nay__store64le(row + 44, link->entries);
  row[52] = (uint8_t)link->n2;
}

static nay_sblink sb_decode_row(const uint8_t *row) {
  return (nay_sblink){.nbytes = nay__load64le(row),
                      .nbits = nay__load64le(row + 8),
                      .size = nay__load64le(row + 16),
                      .error = sb_to_double(nay__load64le(row + 24)),
                      .bpe = sb_to_double(nay__load64le(row + 32)),
                      .hashes = nay__load32le(row + 40),
                      .entries = nay__load64le(row + 44),
                      .n2 = row[52]};
}

nay_status nay__sbchain_encode_header(const nay_sbchain *chain, void *dst, size_t cap,
                                      size_t *written) {
  size_t len = nay__sbchain_header_size(chain);
  if (cap < len) return NAY_EBUFFER;
  uint8_t *p = dst;
  nay__store64le(p, chain->size);
  nay__store32le(p + 8, chain->nlinks);
  nay__store32le(p + 12, chain->options);
  nay__store32le(p + 16, chain->growth);
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    nay__sb_write_row(&chain->links[i], p + NAY_SB_HEAD + NAY_SB_ROW * (size_t)i);
  }
  *written = len;
  return NAY_OK;
}

/* All rows are checked before the first array is allocated. */
static nay_status sb_check_rows(const uint8_t *p, size_t nlinks, nay_diag *diag) {
  for (size_t i = 0; i < nlinks; i++) {
    size_t at = NAY_SB_HEAD + NAY_SB_ROW * i;
    nay_sblink row = sb_decode_row(p + at);
    sblink link;
    nay_status status = sb_check_link(&row, nay__load32le(p + 12), diag, &link);
    if (status != NAY_OK && diag != NULL) diag->offset = at;
    NAY_TRY(status);
  }
  return NAY_OK;
}

static nay_status sb_push_rows(nay_sbchain *chain, const uint8_t *p, size_t nlinks,
                               nay_diag *diag) {
  for (size_t i = 0; i < nlinks; i++) {
    nay_sblink row = sb_decode_row(p + NAY_SB_HEAD + NAY_SB_ROW * i);
    sblink link;
    NAY_TRY(sb_check_link(&row, chain->options, diag, &link));
    NAY_TRY(nay__sbchain_push_zero(chain, &link));
  }
  return nay__sbchain_finish(chain, diag);
}

nay_status nay__sbchain_decode_header(const void *bytes, size_t len,
                                      const nay_zallocator *allocator, nay_diag *diag,
                                      nay_sbchain **chain) {
  const uint8_t *p = bytes;
  if (len < NAY_SB_HEAD) return nay__fail(diag, NAY_ECORRUPT, "the header is cut short", len);
  size_t nlinks = nay__load32le(p + 8);
  if ((len - NAY_SB_HEAD) % NAY_SB_ROW != 0 || (len - NAY_SB_HEAD) / NAY_SB_ROW != nlinks) {
    return nay__fail(diag, NAY_ECORRUPT, "the header's length is not that of its links", 8);
  }
  NAY_TRY(sb_check_rows(p, nlinks, diag));
  nay_sbchain *made;
  NAY_TRY(nay__sbchain_begin(nay__load64le(p), nay__load32le(p + 12), nay__load32le(p + 16),
                             allocator, diag, &made));
  nay_status status = sb_push_rows(made, p, nlinks, diag);
  if (status != NAY_OK) {
    nay__sbchain_free(made);
    return status;
  }
  *chain = made;
  return NAY_OK;
}

/* ---- dumps in place ---- */

void nay__sb_read_row(const uint8_t *row, sblink *link) {
  nay_sblink given = sb_decode_row(row);
  *link = sb_of_row(&given);
}

/* Options, growth, and sizes that add up: as nay__sbchain_begin and _finish, without a chain. */
static nay_status sb_check_head(const uint8_t *p, nay_diag *diag) {
  uint32_t nlinks = nay__load32le(p + 8);
  const char *why = sb_bad_head(nay__load32le(p + 12), nay__load32le(p + 16));
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 12);
  uint64_t rest = nay__load64le(p);
  for (uint32_t i = 0; i < nlinks; i++) {
    uint64_t size = nay__load64le(p + NAY_SB_HEAD + NAY_SB_ROW * (size_t)i + 16);
    if (size > rest) return nay__fail(diag, NAY_ECORRUPT, "a link has more items than all", 0);
    rest -= size;
  }
  if (rest != 0 || nlinks == 0) {
    return nay__fail(diag, NAY_ECORRUPT, "the links' items do not add up to the chain's", 0);
  }
  return NAY_OK;
}

nay_status nay__sb_check_dump(const uint8_t *bytes, size_t len, nay_diag *diag) {
  if (len < NAY_SB_HEAD) return nay__fail(diag, NAY_ECORRUPT, "the header is cut short", len);
  uint32_t nlinks = nay__load32le(bytes + 8);
  size_t rest = len - NAY_SB_HEAD;
  if (nlinks > rest / NAY_SB_ROW) {
    return nay__fail(diag, NAY_ECORRUPT, "more links than there are bytes for", 8);
  }
  NAY_TRY(sb_check_rows(bytes, nlinks, diag));
  NAY_TRY(sb_check_head(bytes, diag));
  rest -= NAY_SB_ROW * (size_t)nlinks;
  for (uint32_t i = 0; i < nlinks; i++) {
    size_t at = NAY_SB_HEAD + NAY_SB_ROW * (size_t)i;
    uint64_t nbytes = nay__load64le(bytes + at);
    if (nbytes > rest) return nay__fail(diag, NAY_ECORRUPT, "a link's array is cut short", at);
    rest -= (size_t)nbytes;
  }
  if (rest != 0) return nay__fail(diag, NAY_ECORRUPT, "bytes follow the last link", len - rest);
  return NAY_OK;
}

/* ---- chunks ---- */

/* The link that holds byte *offset of all arrays; *offset becomes the place inside it. */
static const sblink *sb_find(const nay_sbchain *chain, uint64_t *offset) {
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    if (*offset < chain->links[i].nbytes) return &chain->links[i];
    *offset -= chain->links[i].nbytes;
  }
  return NULL;
}

bool nay__sbchain_chunk(const nay_sbchain *chain, uint64_t offset, size_t max,
                        const uint8_t **bytes, size_t *len) {
  const sblink *link = sb_find(chain, &offset);
  if (link == NULL) return false;
  *bytes = link->bytes + offset;
  *len = (size_t)nay__min_u64(max, link->nbytes - offset);
  return true;
}

nay_status nay__sbchain_load_chunk(nay_sbchain *chain, uint64_t offset, const void *bytes,
                                   size_t len) {
  const sblink *link = sb_find(chain, &offset);
  if (link == NULL) return NAY_EINVAL;
  if (len > link->nbytes - offset) return NAY_EBUFFER;
  if (len > 0) memcpy(link->bytes + offset, bytes, len);
  return NAY_OK;
}
