/* clubcard.h - what the reader and the writer of clubcards share: keys, and the sizes of fields. */
#ifndef NAY_CLUBCARD_PRIVATE_H
#define NAY_CLUBCARD_PRIVATE_H

#include "base/alloc.h"
#include "base/bits.h"
#include "hash/sha256.h"
#include "nay_clubcard.h"

#define NAY_CLUBCARD_ID 32u        /* bytes of an issuer, of a log */
#define NAY_CLUBCARD_WINDOW 256u   /* bits of an equation */
#define NAY_CLUBCARD_MAX_LOGS 4096 /* each is compared with all others */
#define NAY_CLUBCARD_MAX_SERIAL 255u
#define NAY_CLUBCARD_MAX_COLUMNS 255u

/* nay_clubkey: the coefficients of a certificate's equation; a[3] also gives its start. */
typedef struct nay_clubkey {
  uint64_t a[4];
} nay_clubkey;

nay_clubkey nay__clubkey(const uint8_t issuer[NAY_CLUBCARD_ID], const void *serial, size_t len);

/* nay__clubkey_start: the first row of the equation in a block of m rows. */
static inline uint64_t nay__clubkey_start(const nay_clubkey *key, uint64_t m) {
  return key->a[3] % (m == 0 ? 1 : m);
}

/* nay__clubkey_sum: the parity of the coefficients and 256 bits from bit `shift` of five words. */
static inline unsigned nay__clubkey_sum(const nay_clubkey *key, const uint64_t words[5],
                                        unsigned shift) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < 4; i++) {
    uint64_t high = shift == 0 ? 0 : words[i + 1] << (64 - shift);
    sum ^= (words[i] >> shift | high) & (key->a[i] | (i == 0));
  }
  return nay__parity64(sum);
}

/* nay__clubcard_arguments: of a check; *c is the certificate. NAY_EINVAL: see nay_clubcard.h. */
nay_status nay__clubcard_arguments(const nay_clubcard *card, const nay_certificate *certificate,
                                   bool index, nay_certificate *c);

/* nay__clubcard_answer: of a clubcard, whatever the certificate's SCTs are. */
nay_revocation nay__clubcard_answer(const nay_clubcard *card, const nay_certificate *certificate);

/* nay__clubcard_index_parse: of an index.bin, whose bytes and len are set. */
nay_status nay__clubcard_index_parse(nay_clubcard *index, nay_diag *diag);
void nay__clubcard_index_log(const nay_clubcard *index, uint32_t i, nay_clubcard_entry *entry);
void nay__clubcard_index_name(const nay_clubcard *index, uint32_t file,
                              char name[NAY_CLUBCARD_NAME]);

#define NAY_ABI_CLUBCARD NAY_ABI(nay_clubcard, sample)
#define NAY_ABI_CERTIFICATE NAY_ABI(nay_certificate, nscts)
#define NAY_ABI_CLUBCARD_ENTRY NAY_ABI(nay_clubcard_entry, nfiles)
#define NAY_ABI_CLUBCARD_LISTS NAY_ABI(nay_clubcard_lists, nissuers)

#endif /* NAY_CLUBCARD_PRIVATE_H */
