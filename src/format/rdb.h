/*
 * rdb.h - the value of one key as Redis' DUMP writes it: numbers, doubles and strings of a module's
 * type, and what stands around them.
 *
 *   | 07 | type id, a length | { opcode, value } ... | 00 | RDB version u16 | CRC-64 u64 |
 *
 *   opcode 2: an unsigned number, written as a length      4: a double, 8 bytes little-endian
 *          5: a string
 *   length 00nnnnnn | 01nnnnnn n | 80 and 4 bytes | 81 and 8 bytes, big-endian
 *   string a length and its bytes; or c0, c1, c2 and 1, 2, 4 bytes of an integer that stands for
 * its decimal digits; or c3, two lengths (packed, unpacked) and LZF
 *
 * A type id is nine characters of 6 bits and, in the lowest 10 bits, the version of the encoding.
 */
#ifndef NAY_RDB_H
#define NAY_RDB_H

#include "base/base.h"

#define NAY_RDB_FOOTER 10u

/* ---- reading: the first error is kept, and everything after it reads as 0 ---- */

typedef struct nay_rdb_reader {
  const uint8_t *bytes;
  size_t at, end; /* end: where the footer starts */
  const char *wrong;
} nay_rdb_reader;

/* A string: where its bytes are, or how they are packed. */
typedef struct nay_rdb_string {
  const uint8_t *packed; /* NULL: digits[] */
  size_t npacked;        /* 0: not packed, the bytes are at `packed` */
  size_t len;
  char digits[12];
} nay_rdb_string;

/* nay__rdb_starts: whether the bytes begin like a value of the type, whose id has version 0. */
bool nay__rdb_starts(const uint8_t *bytes, size_t len, uint64_t type_id);

/*
 * nay__rdb_open: checks head and footer. NAY_EFORMAT: no value of this type. NAY_EVERSION: another
 * version of the encoding. NAY_ECORRUPT: too short, or the checksum is wrong.
 */
nay_status nay__rdb_open(const uint8_t *bytes, size_t len, uint64_t type_id, unsigned encver,
                         nay_diag *diag, nay_rdb_reader *reader, uint32_t *rdb_version);

uint64_t nay__rdb_read_number(nay_rdb_reader *reader);
uint64_t nay__rdb_read_double(nay_rdb_reader *reader); /* its bits */
nay_rdb_string nay__rdb_read_string(nay_rdb_reader *reader);

/* nay__rdb_write_out: the bytes of a string that was read. False: the packed ones are damaged. dst
 * NULL only checks. */
bool nay__rdb_write_out(const nay_rdb_string *string, uint8_t *dst);

/* nay__rdb_close: NAY_OK when all was well and nothing is left. */
nay_status nay__rdb_close(const nay_rdb_reader *reader, nay_diag *diag);

/* ---- writing: as Redis does with its defaults, strings of more than 20 bytes packed ---- */

typedef struct nay_rdb_writer {
  uint8_t *dst; /* NULL: only count */
  size_t len;
  uint32_t *table; /* scratch of NAY_LZF_TABLE_LEN bytes */
} nay_rdb_writer;

void nay__rdb_begin(nay_rdb_writer *writer, uint64_t type_id, unsigned encver);
void nay__rdb_write_number(nay_rdb_writer *writer, uint64_t value);
void nay__rdb_write_double(nay_rdb_writer *writer, uint64_t bits);
void nay__rdb_write_string(nay_rdb_writer *writer, const uint8_t *bytes, size_t len);
void nay__rdb_end(nay_rdb_writer *writer, uint32_t rdb_version);

#endif /* NAY_RDB_H */
