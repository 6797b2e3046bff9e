/*
 * fuzz_clubcard.c - a clubcard or an index.bin: what is opened answers, the same twice, for each of
 * its first issuers and logs; and the bytes, taken as records of serials, are written as a clubcard
 * whose every answer is right, or refused.
 */
#include <stdlib.h>
#include <string.h>

#include "nay_clubcard.h"

static void ask(const nay_clubcard *card, const uint8_t *data, size_t size) {
  nay_clubcard_entry log = {.size = sizeof log}, issuer = {.size = sizeof issuer};
  for (uint32_t l = 0; l < 4 && nay_clubcard_at(card, NAY_CLUBCARD_LOG, l, &log) == NAY_OK; l++) {
    nay_sct sct = {.timestamp = log.low};
    memcpy(sct.log, log.id, sizeof sct.log);
    nay_certificate c = {.size = sizeof c,
                         .issuer = log.id,
                         .serial = data,
                         .serial_len = size < 20 ? size : 20,
                         .scts = &sct,
                         .nscts = 1};
    if (card->version == 0) {
      char name[NAY_CLUBCARD_NAME];
      for (uint32_t file = 0, last = 0; nay_clubcard_file(card, &c, &file, name) == NAY_OK;) {
        if (file <= last || file > card->nfiles || strchr(name, '/') != NULL) abort();
        last = file;
      }
      continue;
    }
    for (uint32_t i = 0; i < 70; i++) {
      nay_revocation a, b;
      if (nay_clubcard_at(card, NAY_CLUBCARD_ISSUER, i, &issuer) != NAY_OK) break;
      c.issuer = issuer.id;
      if (nay_clubcard_check(card, &c, &a) != NAY_OK) abort();
      if (nay_clubcard_check(card, &c, &b) != NAY_OK || a != b || a < NAY_NOT_REVOKED) abort();
    }
  }
}

static nay_status reopen(void *ctx, const void *bytes, size_t len) {
  nay_clubcard card = {.size = sizeof card};
  (void)ctx;
  if (nay_clubcard_open(bytes, len, NULL, &card) != NAY_OK) abort();
  return NAY_OK;
}

/* The first byte says how much of the rest is the records of the revoked. */
static void build(const uint8_t *data, size_t size) {
  static const uint8_t id[32] = {1};
  size_t nrevoked = (size - 1) * data[0] / 256;
  nay_clubcard_issuer issuer = {id, data + 1, size - 1, data + size - nrevoked, nrevoked};
  nay_clubcard_lists lists = {
      .size = sizeof lists, .version = 3 + data[0] % 2, .issuers = &issuer, .nissuers = 1};
  nay_status status = nay_clubcard_build(&lists, NULL, reopen, NULL, NULL);
  if (status != NAY_OK && status != NAY_EINVAL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nay_clubcard card = {.size = sizeof card};
  if (nay_clubcard_open(data, size, NULL, &card) == NAY_OK) ask(&card, data, size);
  if (size > 1 && size < 4096) build(data, size);
  return 0;
}
