/*
 * clubcard.c - reads clubcards, over bytes that stay where they are.
 *
 * A clubcard [1] is an exact list: bits for the certificates of a known universe, a block for each
 * issuer, that answer "revoked" or "not revoked". The key is SHA-256(issuer || serial): 256
 * coefficients of an equation over GF(2). The approximate filter X has a column for each factor 2
 * of false positives: X times the equation of every listed key is 0. The exact filter Y, one
 * column, tells the listed keys from the others that pass X. What could not be solved is an
 * exception.
 *
 *   V4, big-endian: u8 4 | u8 0 | logs | issuers | columns of X | Y       C2SP upki-revocation
 *   V3, little-endian: the same parts, all integers u64 (bincode)         what Mozilla publishes
 *
 * open walks over everything once and stores where the parts begin, and where every 64th of the
 * issuers does; check reads a log, an issuer and 40 bytes of each column. All counts are compared
 * with the bytes that are left before they are used. doc/formats/clubcard.md has the bytes.
 *
 * [1] Schanck: Clubcards for the WebPKI. IEEE S&P 2025.
 */
#include "format/clubcard.h"

#include "base/abi.h"
#include "base/bytes.h"

#define CLUBCARD_SAMPLES 64u

nay_clubkey nay__clubkey(const uint8_t issuer[NAY_CLUBCARD_ID], const void *serial, size_t len) {
  uint8_t digest[NAY_SHA256_BYTES];
  nay_clubkey key;
  nay__sha256(issuer, NAY_CLUBCARD_ID, serial, len, digest);
  for (unsigned i = 0; i < 4; i++) key.a[i] = nay__load64le(digest + 8 * (size_t)i);
  return key;
}

/* ---- fields ---- */

/* clubcard_cursor: a place in the bytes; `why` is set by the first field that cannot be read. */
typedef struct clubcard_cursor {
  const uint8_t *bytes;
  uint64_t at, len;
  unsigned version;
  const char *why;
} clubcard_cursor;

static const char clubcard_short[] = "the bytes end inside of a field";
static const char clubcard_large[] = "a number above 2^32 - 1";

static const uint8_t *clubcard_take(clubcard_cursor *c, uint64_t n) {
  if (c->why == NULL && c->len - c->at < n) c->why = clubcard_short;
  if (c->why != NULL) return NULL;
  c->at += n;
  return c->bytes + c->at - n;
}

static uint64_t clubcard_u64(clubcard_cursor *c) {
  const uint8_t *p = clubcard_take(c, 8);
  if (p == NULL) return 0;
  return c->version == 3 ? nay__load64le(p) : nay__load64be(p);
}

/* A number of so many bytes in V4, of 8 in V3. */
static uint32_t clubcard_number(clubcard_cursor *c, unsigned width) {
  const uint8_t *p;
  if (c->version == 3) {
    uint64_t x = clubcard_u64(c);
    if (x <= UINT32_MAX) return (uint32_t)x;
    c->at -= 8;
    c->why = clubcard_large;
    return 0;
  }
  if ((p = clubcard_take(c, width)) == NULL) return 0;
  return width == 1 ? p[0] : width == 2 ? nay__load16be(p) : nay__load32be(p);
}

/* A count of parts that have so many bytes each at least. */
static uint32_t clubcard_count(clubcard_cursor *c, unsigned width, uint64_t each) {
  uint64_t start = c->at;
  uint32_t n = clubcard_number(c, width);
  if (c->why != NULL || n <= (c->len - c->at) / each) return n;
  c->at = start;
  c->why = "a count is larger than the bytes behind it";
  return 0;
}

static bool clubcard_wrong(clubcard_cursor *c, uint64_t at, const char *why) {
  if (c->why == NULL) {
    c->at = at;
    c->why = why;
  }
  return false;
}

static clubcard_cursor clubcard_from(const nay_clubcard *card, uint64_t at) {
  return (clubcard_cursor){card->bytes, at, card->len, card->version, NULL};
}

/* ---- issuers ---- */

typedef struct clubcard_block {
  const uint8_t *id;
  uint32_t approx_m, approx_rank, approx_offset, exact_m, exact_offset, nexceptions;
  uint8_t inverted;
  uint64_t exceptions_at;
} clubcard_block;

/* Bytes of an issuer without exceptions. */
static uint64_t clubcard_block_min(unsigned version) { return version == 3 ? 89 : 52; }

static void clubcard_exceptions(clubcard_cursor *c, uint32_t n) {
  for (uint32_t i = 0; i < n && c->why == NULL; i++) {
    uint64_t at = c->at;
    uint32_t len = clubcard_number(c, 1);
    if (c->why == NULL && (len == 0 || len > NAY_CLUBCARD_MAX_SERIAL)) {
      clubcard_wrong(c, at, "an exception of 0 or more than 255 bytes");
    }
    clubcard_take(c, len);
  }
}

static bool clubcard_block_read(clubcard_cursor *c, clubcard_block *b) {
  bool v3 = c->version == 3;
  if (v3 && clubcard_number(c, 8) != NAY_CLUBCARD_ID) {
    return clubcard_wrong(c, c->at - 8, "the id of an issuer is not 32 bytes");
  }
  b->id = clubcard_take(c, NAY_CLUBCARD_ID);
  b->approx_m = clubcard_number(c, 4);
  if (v3) b->exact_m = clubcard_number(c, 4);
  b->approx_rank = clubcard_number(c, 1);
  b->approx_offset = clubcard_number(c, 4);
  if (!v3) b->exact_m = clubcard_number(c, 4);
  b->exact_offset = clubcard_number(c, 4);
  const uint8_t *inverted = clubcard_take(c, 1);
  b->inverted = inverted != NULL ? *inverted : 0;
  if (b->inverted > 1) return clubcard_wrong(c, c->at - 1, "inverted is neither 0 nor 1");
  b->nexceptions = clubcard_count(c, 2, v3 ? 9 : 2);
  b->exceptions_at = c->at;
  clubcard_exceptions(c, b->nexceptions);
  return c->why == NULL;
}

/* ---- open ---- */

static void clubcard_logs(nay_clubcard *card, clubcard_cursor *c) {
  card->nlogs = clubcard_count(c, 2, 48);
  card->logs_at = c->at;
  if (card->nlogs > NAY_CLUBCARD_MAX_LOGS) return;
  for (uint32_t i = 0; i < card->nlogs; i++) {
    uint64_t at = c->at;
    const uint8_t *id = clubcard_take(c, NAY_CLUBCARD_ID);
    uint64_t low = clubcard_u64(c), high = clubcard_u64(c);
    if (c->why != NULL) return;
    if (low > high)
      clubcard_wrong(c, at + NAY_CLUBCARD_ID, "the times of a log end before they begin");
    for (uint32_t j = 0; j < i; j++) {
      if (memcmp(card->bytes + card->logs_at + 48 * (uint64_t)j, id, NAY_CLUBCARD_ID) == 0) {
        clubcard_wrong(c, at, "a log comes twice");
      }
    }
  }
}

/* Returns the largest rank, and where it is. */
static uint32_t clubcard_issuers(nay_clubcard *card, clubcard_cursor *c, uint64_t *rank_at) {
  const uint8_t *before = NULL;
  uint32_t rank = 0;
  card->nissuers = clubcard_count(c, 4, clubcard_block_min(card->version));
  card->issuers_at = c->at;
  for (uint32_t i = 0, s = 0; i < card->nissuers; i++) {
    clubcard_block b = {0};
    uint64_t at = c->at;
    for (; s < CLUBCARD_SAMPLES && (uint64_t)s * card->nissuers / CLUBCARD_SAMPLES == i; s++) {
      card->sample[s] = at;
    }
    if (!clubcard_block_read(c, &b)) return 0;
    if (before != NULL && memcmp(before, b.id, NAY_CLUBCARD_ID) >= 0) {
      clubcard_wrong(c, at, "the issuers are not in ascending order");
      return 0;
    }
    before = b.id;
    card->nexceptions += b.nexceptions;
    if (b.approx_rank <= rank) continue;
    rank = b.approx_rank;
    *rank_at = at;
  }
  return rank;
}

static void clubcard_column(nay_clubcard *card, clubcard_cursor *c) {
  uint32_t nwords = clubcard_count(c, 4, 8);
  clubcard_take(c, 8 * (uint64_t)nwords);
  card->nbits += 64 * (uint64_t)nwords;
}

static void clubcard_columns(nay_clubcard *card, clubcard_cursor *c) {
  uint64_t at = c->at;
  card->ncolumns = clubcard_count(c, 1, card->version == 3 ? 8 : 4);
  if (c->why == NULL && card->ncolumns > NAY_CLUBCARD_MAX_COLUMNS) {
    clubcard_wrong(c, at, "more than 255 columns");
  }
  card->columns_at = c->at;
  for (uint32_t i = 0; i < card->ncolumns && c->why == NULL; i++) clubcard_column(card, c);
  card->exact_at = c->at;
  if (c->why == NULL) clubcard_column(card, c);
}

static nay_status clubcard_failed(const clubcard_cursor *c, nay_diag *diag) {
  return nay__fail(diag, NAY_ECORRUPT, c->why, c->at);
}

static nay_status clubcard_parse(nay_clubcard *card, nay_diag *diag) {
  clubcard_cursor c = clubcard_from(card, 2);
  uint64_t rank_at = 0;
  clubcard_logs(card, &c);
  if (c.why != NULL) return clubcard_failed(&c, diag);
  if (card->nlogs > NAY_CLUBCARD_MAX_LOGS) {
    return nay__fail(diag, NAY_ENOTSUP, "more than 4,096 logs", 2);
  }
  uint32_t rank = clubcard_issuers(card, &c, &rank_at);
  if (c.why == NULL) clubcard_columns(card, &c);
  if (c.why == NULL && rank > card->ncolumns) {
    clubcard_wrong(&c, rank_at, "the rank of an issuer is above the number of columns");
  }
  if (c.why == NULL && c.at != c.len) clubcard_wrong(&c, c.at, "bytes follow the end");
  return c.why == NULL ? NAY_OK : clubcard_failed(&c, diag);
}

static nay_status clubcard_recognise(nay_clubcard *card, nay_diag *diag) {
  const uint8_t *p = card->bytes;
  if (card->len >= 8 && memcmp(p, "upkiidx", 7) == 0) {
    if (p[7] == '0' || p[7] == '1') return nay__clubcard_index_parse(card, diag);
    return nay__fail(diag, NAY_EVERSION, "an index.bin of a later version", 7);
  }
  if (card->len < 2) return nay__fail(diag, NAY_EFORMAT, "neither a clubcard nor an index.bin", 0);
  bool ours = p[0] == 3 || p[0] == 4;
  if (p[1] != 0) {
    return nay__fail(
        diag, ours ? NAY_EVERSION : NAY_EFORMAT,
        ours ? "the reserved byte of a clubcard is not 0" : "neither a clubcard nor an index.bin",
        ours);
  }
  if (p[0] < 3) return nay__fail(diag, NAY_EVERSION, "CRLite before clubcards, a Bloom cascade", 0);
  if (!ours) return nay__fail(diag, NAY_EVERSION, "a clubcard of a later version", 0);
  card->version = p[0];
  return clubcard_parse(card, diag);
}

nay_status nay_clubcard_open(const void *bytes, size_t len, nay_diag *diag, nay_clubcard *card) {
  NAY_TRY(nay__abi_check(NAY_ABI_CLUBCARD, card, diag));
  if (bytes == NULL) return nay__fail(diag, NAY_EINVAL, "bytes is NULL", 0);
  nay_clubcard opened = {.size = sizeof opened, .bytes = bytes, .len = len};
  NAY_TRY(clubcard_recognise(&opened, diag));
  nay__abi_write(NAY_ABI_CLUBCARD, &opened, card);
  return NAY_OK;
}

/* ---- check ---- */

static bool clubcard_covers(const nay_clubcard *card, const nay_sct *sct) {
  for (uint32_t i = 0; i < card->nlogs; i++) {
    clubcard_cursor c = clubcard_from(card, card->logs_at + 48 * (uint64_t)i + NAY_CLUBCARD_ID);
    if (memcmp(c.bytes + c.at - NAY_CLUBCARD_ID, sct->log, NAY_CLUBCARD_ID) != 0) continue;
    uint64_t low = clubcard_u64(&c), high = clubcard_u64(&c);
    return low <= sct->timestamp && sct->timestamp <= high;
  }
  return false;
}

static const uint8_t *clubcard_id_at(const nay_clubcard *card, uint64_t at) {
  return card->bytes + at + (card->version == 3 ? 8 : 0);
}

/* The number of the issuer of a sample; of the 64th, one past the last, that of all issuers. */
static uint32_t clubcard_sampled(const nay_clubcard *card, unsigned sample) {
  return (uint32_t)((uint64_t)sample * card->nissuers / CLUBCARD_SAMPLES);
}

/* Binary search over the samples, then a walk over at most a 64th of the issuers. */
static bool clubcard_find(const nay_clubcard *card, const uint8_t *issuer, clubcard_block *b) {
  unsigned low = 0, high = CLUBCARD_SAMPLES;
  if (card->nissuers == 0) return false;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    bool above = memcmp(clubcard_id_at(card, card->sample[middle]), issuer, NAY_CLUBCARD_ID) > 0;
    if (above) high = middle;
    if (!above) low = middle;
  }
  clubcard_cursor c = clubcard_from(card, card->sample[low]);
  for (uint32_t i = clubcard_sampled(card, low); i < clubcard_sampled(card, low + 1); i++) {
    if (!clubcard_block_read(&c, b)) return false;
    int order = memcmp(b->id, issuer, NAY_CLUBCARD_ID);
    if (order >= 0) return order == 0;
  }
  return false;
}

/* The sum over one column, whose count is at `at`. Bits past its last word are 0. */
static unsigned clubcard_sum(const nay_clubcard *card, uint64_t at, const nay_clubkey *key,
                             uint64_t bit) {
  clubcard_cursor c = clubcard_from(card, at);
  uint64_t words[5] = {0}, nwords = clubcard_number(&c, 4), first = bit / 64;
  uint64_t n = first < nwords ? nay__min_u64(nwords - first, 5) : 0;
  c.at += 8 * first;
  for (uint64_t i = 0; i < n; i++) words[i] = clubcard_u64(&c);
  return nay__clubkey_sum(key, words, (unsigned)(bit % 64));
}

static uint64_t clubcard_next_column(const nay_clubcard *card, uint64_t at) {
  clubcard_cursor c = clubcard_from(card, at);
  uint64_t nwords = clubcard_number(&c, 4);
  return c.at + 8 * nwords;
}

static bool clubcard_is_exception(const nay_clubcard *card, const clubcard_block *b,
                                  const void *serial, size_t len) {
  clubcard_cursor c = clubcard_from(card, b->exceptions_at);
  for (uint32_t i = 0; i < b->nexceptions; i++) {
    uint32_t n = clubcard_number(&c, 1);
    const uint8_t *p = clubcard_take(&c, n);
    if (p != NULL && n == len && memcmp(p, serial, len) == 0) return true;
  }
  return false;
}

/* Whether the block has the key in its set: that of the listed, or, inverted, of the others. */
static bool clubcard_in_set(const nay_clubcard *card, const clubcard_block *b,
                            const nay_certificate *certificate) {
  if (b->approx_m == 0) return false;
  nay_clubkey key = nay__clubkey(b->id, certificate->serial, certificate->serial_len);
  uint64_t column = card->columns_at;
  uint64_t bit = b->approx_offset + nay__clubkey_start(&key, b->approx_m);
  for (uint32_t i = 0; i < b->approx_rank; i++, column = clubcard_next_column(card, column)) {
    if (clubcard_sum(card, column, &key, bit) != 0) return false;
  }
  bit = b->exact_offset + nay__clubkey_start(&key, b->exact_m);
  if (clubcard_sum(card, card->exact_at, &key, bit) != 0) return false;
  return !clubcard_is_exception(card, b, certificate->serial, certificate->serial_len);
}

nay_status nay__clubcard_arguments(const nay_clubcard *card, const nay_certificate *certificate,
                                   bool index, nay_certificate *c) {
  NAY_TRY(nay__abi_check(NAY_ABI_CLUBCARD, card, NULL));
  NAY_TRY(nay__abi_read(NAY_ABI_CERTIFICATE, certificate, NULL, c));
  bool whole = c->issuer != NULL && (c->serial != NULL || c->serial_len == 0) &&
               (c->scts != NULL || c->nscts == 0);
  return whole && card->bytes != NULL && (card->version == 0) == index ? NAY_OK : NAY_EINVAL;
}

nay_revocation nay__clubcard_answer(const nay_clubcard *card, const nay_certificate *certificate) {
  clubcard_block b = {0};
  if (!clubcard_find(card, certificate->issuer, &b)) return NAY_NOT_ENROLLED;
  bool revoked = clubcard_in_set(card, &b, certificate) != (b.inverted != 0);
  return revoked ? NAY_REVOKED : NAY_NOT_REVOKED;
}

nay_status nay_clubcard_check(const nay_clubcard *card, const nay_certificate *certificate,
                              nay_revocation *answer) {
  nay_certificate c;
  bool covered = false;
  NAY_TRY(nay__clubcard_arguments(card, certificate, false, &c));
  for (size_t i = 0; i < c.nscts && !covered; i++) covered = clubcard_covers(card, &c.scts[i]);
  *answer = covered ? nay__clubcard_answer(card, &c) : NAY_NOT_COVERED;
  return NAY_OK;
}

/* ---- entries ---- */

static void clubcard_log_entry(const nay_clubcard *card, uint32_t i, nay_clubcard_entry *entry) {
  clubcard_cursor c = clubcard_from(card, card->logs_at + 48 * (uint64_t)i);
  memcpy(entry->id, clubcard_take(&c, NAY_CLUBCARD_ID), NAY_CLUBCARD_ID);
  entry->low = clubcard_u64(&c);
  entry->high = clubcard_u64(&c);
}

static void clubcard_issuer_entry(const nay_clubcard *card, uint32_t i, nay_clubcard_entry *entry) {
  unsigned sample = CLUBCARD_SAMPLES - 1;
  while (clubcard_sampled(card, sample) > i) sample--;
  clubcard_cursor c = clubcard_from(card, card->sample[sample]);
  clubcard_block b = {0};
  for (uint32_t j = clubcard_sampled(card, sample); j <= i; j++) clubcard_block_read(&c, &b);
  memcpy(entry->id, b.id, NAY_CLUBCARD_ID);
  entry->approx_m = b.approx_m;
  entry->approx_rank = b.approx_rank;
  entry->approx_offset = b.approx_offset;
  entry->exact_m = b.exact_m;
  entry->exact_offset = b.exact_offset;
  entry->inverted = b.inverted;
  entry->nexceptions = b.nexceptions;
}

nay_status nay_clubcard_at(const nay_clubcard *card, nay_clubcard_part part, uint32_t i,
                           nay_clubcard_entry *entry) {
  nay_clubcard_entry e = {.size = sizeof e};
  NAY_TRY(nay__abi_check(NAY_ABI_CLUBCARD, card, NULL));
  NAY_TRY(nay__abi_check(NAY_ABI_CLUBCARD_ENTRY, entry, NULL));
  if ((unsigned)part > NAY_CLUBCARD_FILE) return NAY_EINVAL;
  uint32_t n = part == NAY_CLUBCARD_LOG    ? card->nlogs
               : part == NAY_CLUBCARD_FILE ? card->nfiles
                                           : card->nissuers;
  if (i >= n) return NAY_EEND;
  if (part == NAY_CLUBCARD_FILE) {
    nay__clubcard_index_name(card, i, e.name);
  } else if (part == NAY_CLUBCARD_ISSUER) {
    clubcard_issuer_entry(card, i, &e);
  } else if (card->version == 0) {
    nay__clubcard_index_log(card, i, &e);
  } else {
    clubcard_log_entry(card, i, &e);
  }
  nay__abi_write(NAY_ABI_CLUBCARD_ENTRY, &e, entry);
  return NAY_OK;
}
