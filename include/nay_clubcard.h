/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_clubcard.h - is this certificate revoked? Reads and writes clubcards, the files of CRLite
 * (Firefox) and upki (C2SP upki-revocation). A certificate that the builder of the file did not
 * know gets an ARBITRARY answer.
 *
 *   nay_clubcard card = {.size = sizeof card};
 *   nay_revocation answer;
 *   nay_sct sct = {.timestamp = 1700000000000};             // and its log: the SHA-256 of a key
 *   nay_certificate c = {sizeof c, .issuer = spki_sha256, .serial = serial, .serial_len = 16,
 *                        .scts = &sct, .nscts = 1};
 *   if (nay_clubcard_open(bytes, len, NULL, &card) != NAY_OK) return 1;
 *   if (nay_clubcard_check(&card, &c, &answer) != NAY_OK) return 1;
 *   if (answer == NAY_REVOKED) puts("revoked");
 *
 * A clubcard is exact for the certificates of its universe: those of its issuers whose signed
 * certificate timestamps (SCTs) it covers. It has no checksum and no signature: damage that leaves
 * its structure intact changes answers, so take it from a place that you trust, and compare its
 * digest. Nothing here verifies a certificate or its SCTs: check those before.
 *
 * doc/formats/clubcard.md has the bytes of version 4 (C2SP), of version 3 (what Mozilla publishes),
 * and of index.bin, which says what file of a directory covers what.
 */
#ifndef NAY_CLUBCARD_H
#define NAY_CLUBCARD_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_revocation: the answer of one file. Of several files that cover a certificate the greatest
 * answer holds. */
typedef enum nay_revocation {
  NAY_NOT_COVERED = 0,  /* no SCT is in the times that the file covers */
  NAY_NOT_ENROLLED = 1, /* covered, but the file knows nothing about this issuer */
  NAY_NOT_REVOKED = 2,
  NAY_REVOKED = 3
} nay_revocation;

/* nay_sct: log id (the SHA-256 of the log's public key) and timestamp, ms since 1970, of an SCT. */
typedef struct nay_sct {
  uint8_t log[32];
  uint64_t timestamp;
} nay_sct;

/* nay_certificate: what a clubcard is asked. */
typedef struct nay_certificate {
  size_t size;           /* sizeof the struct: see ABI in nay.h */
  const uint8_t *issuer; /* 32 bytes: SHA-256 of the issuer's SubjectPublicKeyInfo, DER */
  const void *serial;    /* contents of the INTEGER in DER, a leading zero byte included */
  size_t serial_len;
  const nay_sct *scts;
  size_t nscts;
} nay_certificate;

/*
 * nay_clubcard: a clubcard or an index.bin over bytes that stay where they are. Nothing is
 * allocated, nothing needs to be freed, and threads may share it. Set size to sizeof.
 */
typedef struct nay_clubcard {
  size_t size;
  uint32_t version;  /* 4 or 3; of an index.bin 0 */
  uint32_t nlogs;    /* logs that are covered */
  uint32_t nissuers; /* of an index.bin 0 */
  uint32_t ncolumns; /* of the approximate filter */
  uint32_t nfiles;   /* of an index.bin: files that it names */
  uint32_t nexceptions;
  uint64_t nbits; /* of both filters */
  /* The rest is the library's. */
  const uint8_t *bytes;
  uint64_t len, logs_at, issuers_at, columns_at, exact_at, entry_bytes;
  uint64_t sample[64]; /* places of issuers, evenly spaced */
} nay_clubcard;

/*
 * nay_clubcard_open: checks all of the structure. NAY_EFORMAT: neither a clubcard nor an index.bin.
 * NAY_EVERSION: a version that is not read, or a reserved byte in use. NAY_ECORRUPT: a length, a
 * field or an order is wrong, or bytes follow the end. NAY_ENOTSUP: above 4,096 logs.
 */
NAY_API nay_status nay_clubcard_open(const void *bytes, size_t len, nay_diag *diag,
                                     nay_clubcard *card);

/* nay_clubcard_check: the answer of one clubcard. NAY_EINVAL: an index.bin, or a NULL pointer. */
NAY_API nay_status nay_clubcard_check(const nay_clubcard *card, const nay_certificate *certificate,
                                      nay_revocation *answer);

/*
 * nay_clubcard_file: the next file of an index.bin that covers the certificate, from *file on,
 * which is 0 at first; then *file is one more than its number. Ask each of them. NAY_EEND: there
 * are no more. The name has no directory in it. NAY_EINVAL: no index.bin, or a NULL pointer.
 */
#define NAY_CLUBCARD_NAME 33
NAY_API nay_status nay_clubcard_file(const nay_clubcard *index, const nay_certificate *certificate,
                                     uint32_t *file, char name[NAY_CLUBCARD_NAME]);

/* nay_clubcard_part: the kinds of entries; what a kind does not have is 0 in the entry. */
typedef enum nay_clubcard_part {
  NAY_CLUBCARD_LOG = 0,    /* id, low, high; of an index.bin also nfiles */
  NAY_CLUBCARD_ISSUER = 1, /* id and all from approx_m to nexceptions */
  NAY_CLUBCARD_FILE = 2    /* name */
} nay_clubcard_part;

typedef struct nay_clubcard_entry {
  size_t size;
  uint8_t id[32];
  char name[NAY_CLUBCARD_NAME];
  uint64_t low, high; /* ms since 1970, both covered */
  uint32_t approx_m, approx_rank, approx_offset, exact_m, exact_offset, inverted, nexceptions;
  uint32_t nfiles; /* entries of the log: files that cover some of its times */
} nay_clubcard_entry;

/* nay_clubcard_at: the i-th entry of a kind, as it is stored. NAY_EEND: there are no more. */
NAY_API nay_status nay_clubcard_at(const nay_clubcard *card, nay_clubcard_part part, uint32_t i,
                                   nay_clubcard_entry *entry);

/* nay_clubcard_issuer: the certificates of an issuer. Serials are records: a byte with the length,
 * 1 to 255, then the bytes. */
typedef struct nay_clubcard_issuer {
  const uint8_t *id;    /* 32 bytes */
  const uint8_t *known; /* the universe: each certificate once, the revoked ones included */
  size_t known_len;
  const uint8_t *revoked;
  size_t revoked_len;
} nay_clubcard_issuer;

/* nay_clubcard_log: times of a log that the known certificates cover: all of its SCTs from low to
 * high. */
typedef struct nay_clubcard_log {
  uint8_t id[32];
  uint64_t low, high;
} nay_clubcard_log;

typedef struct nay_clubcard_lists {
  size_t size;
  uint32_t version; /* 4 or 3 */
  const nay_clubcard_log *logs;
  size_t nlogs;
  const nay_clubcard_issuer *issuers; /* in any order */
  size_t nissuers;
} nay_clubcard_lists;

/*
 * nay_clubcard_build: writes a clubcard to the sink, after every known certificate got its right
 * answer from the bytes. They depend on the sets alone, not on their order. NAY_EINVAL: an issuer
 * or a log that comes twice, a log whose low is above its high, an issuer without known
 * certificates (of which other readers say that all are revoked), a record that is cut off, or a
 * revoked serial that is not known: diag->offset is the index of the issuer or log. NAY_EFULL: a
 * number does not fit the format. NAY_ENOMEM. A status of the sink is returned.
 */
NAY_API nay_status nay_clubcard_build(const nay_clubcard_lists *lists,
                                      const nay_allocator *allocator, nay_sink sink, void *ctx,
                                      nay_diag *diag);

#ifdef __cplusplus
}
#endif

#endif /* NAY_CLUBCARD_H */
