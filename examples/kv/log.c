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
#include <string.h>
#include <unistd.h>

#include "parts.h"

static uint32_t crc_table[256];

static void crc_fill(void) {
  for (uint32_t i = 0; i < 256; i++) {
    crc_table[i] = i;
    for (int bit = 0; bit < 8; bit++)
      crc_table[i] = crc_table[i] >> 1 ^ (crc_table[i] & 1 ? 0x82f63b78u : 0);
  }
}

uint32_t kv_crc32c(const void *bytes, size_t len) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  uint32_t crc = 0xffffffffu;
  pthread_once(&once, crc_fill);
  for (const uint8_t *at = bytes; len > 0; at++, len--)
    crc = crc >> 8 ^ crc_table[(crc ^ *at) & 255];
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

nay_status kv_log_open(const kv *db, uint64_t number, uint64_t length, bool create, kv_log *log,
                       kv_error *error) {
  kv_name path = kv_path(db, number, "log");
  int fd = open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0666);
  int dir = open(db->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the name must survive as well */
  bool done =
      fd >= 0 && dir >= 0 && ftruncate(fd, (off_t)length) == 0 && fsync(fd) == 0 && fsync(dir) == 0;
  int cause = errno;
  if (dir >= 0) close(dir);
  *log = (kv_log){fd, number, length};
  if (done) return NAY_OK;
  if (fd >= 0) close(fd);
  log->fd = -1;
  return kv_fail(error, NAY_EIO, "%s: cannot open it for writing: %s", path.text, strerror(cause));
}

/* On failure the record is cut off again, so that it does not appear after the next open. */
nay_status kv_log_append(kv_log *log, const void *record, size_t n, bool sync, kv_error *error) {
  size_t done = 0;
  int cause = 0;
  while (done < n && cause == 0) {
    ssize_t wrote = write(log->fd, (const char *)record + done, n - done);
    if (wrote > 0)
      done += (size_t)wrote;
    else if (wrote == 0 || errno != EINTR)
      cause = wrote == 0 ? ENOSPC : errno;
  }
  if (cause == 0 && sync && fdatasync(log->fd) != 0) cause = errno;
  if (cause == 0) log->length += n;
  if (cause == 0) return NAY_OK;
  const char *cut = ftruncate(log->fd, (off_t)log->length) == 0 ? "" : ", cannot cut it back";
  return kv_fail(error, NAY_EIO, "%06" PRIu64 ".log: cannot write: %s%s", log->number,
                 strerror(cause), cut);
}

/* ---- reading ---- */

enum { RECORD_WHOLE, RECORD_TORN, RECORD_DAMAGED };

static int record_at(const uint8_t *at, size_t len, size_t *n) {
  if (len < KV_RECORD) return RECORD_TORN;
  if (kv_load(at, 4) != kv_crc32c(at + 4, KV_RECORD - 4)) return RECORD_DAMAGED;
  *n = KV_RECORD + kv_load(at + 8, 4) + 8 + kv_load(at + 12, 4);
  if (*n > len) return RECORD_TORN;
  bool whole = kv_load(at + 4, 4) == kv_crc32c(at + KV_RECORD, *n - KV_RECORD);
  return whole ? RECORD_WHOLE : RECORD_DAMAGED;
}

/* What a whole record says goes to the memtable. NULL, or why that cannot be. */
static const char *record_apply(const uint8_t *record, kv_replay *r) {
  kv_slice key = {record + KV_RECORD, kv_load(record + 8, 4)};
  kv_slice value = {record + KV_RECORD + key.len + 8, kv_load(record + 12, 4)};
  uint64_t tag = kv_load(record + KV_RECORD + key.len, 8), type = tag & 255;
  if (r->next_log != 0) return "a record behind the last one";
  if (type == KV_NEXT_LOG && value.len == 8) r->next_log = kv_load(value.data, 8);
  if (type == KV_NEXT_LOG && r->next_log != 0) return NULL;
  if (type > KV_VALUE) return "a record of no known type";
  if (r->options->salvage ? tag >> 8 <= r->sequence : tag >> 8 != r->sequence + 1)
    return "records are missing";
  kv_memtable_add(r->mem, tag, key, value);
  r->sequence = tag >> 8;
  r->records++;
  return NULL;
}

nay_status kv_log_replay(const char *name, kv_slice log, kv_replay *r, kv_error *error) {
  const uint8_t *bytes = log.data;
  const kv_options *o = r->options;
  kv_error text;
  size_t at = 0, n = 0, end = log.len; /* of what is not zero */
  while (end > 0 && bytes[end - 1] == 0) end--;
  for (r->next_log = 0, r->records = 0; at < log.len; at += n) {
    int kind = at >= end ? RECORD_TORN : record_at(bytes + at, log.len - at, &n);
    const char *fault = kind == RECORD_WHOLE ? record_apply(bytes + at, r) : "checksum";
    if (kind == RECORD_TORN) break;
    if (fault == NULL) continue;
    kv_fail(error, NAY_ECORRUPT, "%s: damaged at offset %zu: %s", name, at, fault);
    if (!o->salvage) return NAY_ECORRUPT;
    size_t next = kind == RECORD_WHOLE ? n : 1, skip;
    while (at + next < log.len && record_at(bytes + at + next, log.len - at - next, &skip)) next++;
    n = next;
    kv_fail(&text, NAY_OK, "%s: dropped %zu bytes at offset %zu: %s", name, n, at, fault);
    o->notice(o->ctx, text.text);
    r->dropped = true;
  }
  r->valid = at;
  if (at == log.len) return NAY_OK;
  kv_fail(&text, NAY_OK,
          "%s: recovered %zu records, %zu bytes of a torn record dropped at offset %zu", name,
          r->records, log.len - at, at);
  o->notice(o->ctx, text.text);
  return NAY_OK;
}
