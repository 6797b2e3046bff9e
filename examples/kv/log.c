/*
 * log.c - the write-ahead log: what a memtable has, in the order of the puts.
 *
 *   0   4   CRC-32C of the 12 bytes that follow
 *   4   4   CRC-32C of key, tag and value
 *   8   4   length of the key
 *   12  4   length of the value
 *   16      key, tag (8 bytes: sequence << 8 | type), value
 *
 * Numbers are little endian. Sequences follow each other without a gap, over all logs. A full log
 * ends in a record of type 2 whose value is the number of the log that follows; so a log that is
 * cut or missing is noticed.
 *
 * A record that the file ends within is torn: a write that was not acknowledged. So is a tail of
 * zeros, which some file systems leave after a crash of the machine. Both are dropped, and said.
 * Everything else that is not a record is damage: the store is not opened, or, with salvage, opened
 * without it. As the header has a checksum of its own, a flipped bit in a length is damage as well,
 * and never makes the rest of the log look torn.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

/* ---- checksums ---- */

static uint32_t crc_table[8][256];

static void crc_fill(void) {
  for (uint32_t i = 0; i < 256; i++) {
    crc_table[0][i] = i;
    for (int bit = 0; bit < 8; bit++)
      crc_table[0][i] = crc_table[0][i] >> 1 ^ (crc_table[0][i] & 1 ? 0x82f63b78u : 0);
  }
  for (unsigned i = 256; i < 8 * 256; i++) {
    uint32_t shorter = crc_table[i / 256 - 1][i % 256];
    crc_table[i / 256][i % 256] = shorter >> 8 ^ crc_table[0][shorter & 255];
  }
}

/* Slicing by 8: one lookup for each of 8 bytes, none of which waits for another. */
uint32_t kv_crc32c(const void *bytes, size_t len) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const uint8_t *at = bytes;
  uint32_t crc = 0xffffffffu;
  pthread_once(&once, crc_fill);
  for (; len >= 8; at += 8, len -= 8) {
    uint64_t word = kv_load(at, 8) ^ crc;
    crc = 0;
    for (unsigned i = 0; i < 8; i++) crc ^= crc_table[7 - i][word >> 8 * i & 255];
  }
  for (; len > 0; at++, len--) crc = crc >> 8 ^ crc_table[0][(crc ^ *at) & 255];
  return ~crc;
}

size_t kv_record_seal(uint8_t *record, size_t len, size_t value_len) {
  kv_store(record + 4, kv_crc32c(record + KV_RECORD, len + 8 + value_len), 4);
  kv_store(record + 8, len, 4);
  kv_store(record + 12, value_len, 4);
  kv_store(record, kv_crc32c(record + 4, KV_RECORD - 4), 4);
  return KV_RECORD + len + 8 + value_len;
}

/* ---- writing ---- */

nay_status kv_log_open(const char *dir, uint64_t number, uint64_t length, bool create, kv_log *log,
                       kv_error *error) {
  char path[KV_PATH];
  snprintf(path, sizeof path, "%s/%06" PRIu64 ".log", dir, number);
  *log =
      (kv_log){open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0666),
               number, length};
  int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the log's name must survive as well */
  bool done = log->fd >= 0 && at >= 0 && ftruncate(log->fd, (off_t)length) == 0 &&
              fsync(log->fd) == 0 && fsync(at) == 0;
  int cause = errno;
  if (at >= 0) close(at);
  if (done) return NAY_OK;
  if (log->fd >= 0) close(log->fd);
  return kv_fail(error, NAY_EIO, "%s: cannot open it for writing: %s", path, strerror(cause));
}

/* On failure the record is cut off again, so that it does not appear after the next open. */
nay_status kv_log_append(kv_log *log, const uint8_t *record, size_t n, bool sync, kv_error *error) {
  size_t done = 0;
  int cause = 0;
  const char *what = "write";
  while (done < n && cause == 0) {
    ssize_t wrote = write(log->fd, record + done, n - done);
    if (wrote > 0) done += (size_t)wrote;
    if (wrote == 0) cause = ENOSPC;
    if (wrote < 0 && errno != EINTR) cause = errno;
  }
  if (cause == 0 && sync && fdatasync(log->fd) != 0) cause = errno, what = "sync";
  if (cause == 0) {
    log->length += n;
    return NAY_OK;
  }
  const char *cut = ftruncate(log->fd, (off_t)log->length) == 0 ? "" : ", cannot cut it back";
  return kv_fail(error, NAY_EIO, "%06" PRIu64 ".log: cannot %s: %s%s", log->number, what,
                 strerror(cause), cut);
}

/* ---- reading ---- */

enum { RECORD_WHOLE, RECORD_TORN, RECORD_DAMAGED };

static int record_at(const uint8_t *bytes, size_t len, size_t *n) {
  if (len < KV_RECORD) return RECORD_TORN;
  if (kv_load(bytes, 4) != kv_crc32c(bytes + 4, KV_RECORD - 4)) return RECORD_DAMAGED;
  uint64_t key_len = kv_load(bytes + 8, 4), value_len = kv_load(bytes + 12, 4);
  uint64_t body = key_len + 8 + value_len;
  if (body > len - KV_RECORD) return RECORD_TORN;
  if (kv_load(bytes + 4, 4) != kv_crc32c(bytes + KV_RECORD, (size_t)body)) return RECORD_DAMAGED;
  *n = KV_RECORD + (size_t)body;
  return RECORD_WHOLE;
}

/* What a whole record says goes to the memtable. NULL, or why that cannot be. */
static const char *record_apply(const uint8_t *record, kv_replay *r) {
  size_t len = kv_load(record + 8, 4), value_len = kv_load(record + 12, 4);
  const uint8_t *key = record + KV_RECORD, *value = key + len + 8;
  uint64_t tag = kv_load(key + len, 8), sequence = tag >> 8;
  if (r->next_log != 0) return "a record behind the last one";
  if ((tag & 255) == KV_NEXT_LOG) {
    if (len != 0 || value_len != 8 || kv_load(value, 8) == 0) return "a record of no known type";
    r->next_log = kv_load(value, 8);
    return NULL;
  }
  if ((tag & 255) > KV_VALUE) return "a record of no known type";
  if (r->options->salvage ? sequence <= r->sequence : sequence != r->sequence + 1)
    return "records are missing";
  kv_memtable_insert(r->mem, kv_memtable_prepare(r->mem, tag, key, len, value, value_len));
  r->sequence = sequence;
  r->records++;
  return NULL;
}

nay_status kv_log_replay(const char *name, const uint8_t *bytes, size_t len, kv_replay *r,
                         kv_error *error) {
  char text[200];
  size_t at = 0, n = 0, end = len; /* of what is not zero */
  while (end > 0 && bytes[end - 1] == 0) end--;
  for (r->next_log = 0, r->records = 0; at < len; at += n) {
    int kind = at >= end ? RECORD_TORN : record_at(bytes + at, len - at, &n);
    const char *fault = "checksum";
    if (kind == RECORD_WHOLE) fault = record_apply(bytes + at, r);
    if (kind == RECORD_TORN) break;
    if (fault == NULL) continue;
    if (!r->options->salvage)
      return kv_fail(error, NAY_ECORRUPT, "%s: damaged at offset %zu: %s", name, at, fault);
    if (kind != RECORD_WHOLE)
      for (n = 1; at + n < len && record_at(bytes + at + n, len - at - n, &(size_t){0}); n++) {
      }
    snprintf(text, sizeof text, "%s: dropped %zu bytes at offset %zu: %s", name, n, at, fault);
    r->options->notice(r->options->ctx, text);
    r->dropped = true;
  }
  r->valid = at;
  if (at == len) return NAY_OK;
  snprintf(text, sizeof text,
           "%s: recovered %zu records, %zu bytes of a torn record dropped at offset %zu", name,
           r->records, len - at, at);
  r->options->notice(r->options->ctx, text);
  return NAY_OK;
}
