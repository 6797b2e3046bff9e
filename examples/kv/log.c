/*
 * log.c - memtables and their write-ahead logs.
 *
 * A LOG has what a memtable has, in the order of the puts. Numbers are little endian.
 *
 *   0   8   "kv log 1"
 *   8   8   checksum of those 8 bytes
 *   16      records
 *
 * A RECORD:
 *
 *   0   4   checksum of the 28 bytes that follow
 *   4   4   checksum of what follows the header
 *   8   4   length of the key
 *   12  4   length of the value
 *   16  8   offset of this record in the log
 *   24  8   offset up to which the log was on the disk when this record was made
 *   32      key, 8 bytes of sequence and type (an internal key, as in tables), value
 *
 * Checksums are SipHash-1-3, of records its low 32 bits, with the id of the store and the number of
 * the log as its key: the log of another store is not taken for this one. Because a record states
 * its own offset, a copy of a record inside of a value is not taken for a record. Sequences follow
 * each other without a gap.
 *
 * A CRASH OF THE MACHINE may leave any subset of the pages that were written since the last sync,
 * and any length of the file. Replay ends at the first offset where there is no whole record. Is
 * that a torn tail, or damage? All that is left of the log is searched for headers, at every
 * offset. If one of them states that the log was on the disk beyond the place where replay ended,
 * that place is damaged: no crash does this, and the store is not opened. So it is if the manifest
 * states it. Else what follows was never known to be on the disk: it is dropped, and that is said.
 * The head is on the disk before the log has a name.
 *
 * A torn tail stays in the file until the first put, or the flush. Then it is cut off, and the log
 * is synced before a byte is appended: else a second crash could show new records followed by old
 * ones that had been cut off.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store.h"

/* ---- memtable ---- */

kv_memtable *kv__memtable_new(const kv *db, uint64_t store, uint64_t log, uint64_t last) {
  kv_memtable *m = kv__alloc(sizeof *m);
  *m = (kv_memtable){.refs = 1, .last = last, .store = store, .log = log, .fd = -1};
  m->at = kv__file_numbered(db, log, "log");
  if (nay_sst_memtable_new(NULL, NULL, NULL, &m->list) != NAY_OK) abort();
  return m;
}

void kv__memtable_unref(kv_memtable *m) {
  if (m == NULL || atomic_fetch_sub(&m->refs, 1) > 1) return;
  nay_sst_memtable_free(m->list);
  if (m->fd >= 0) close(m->fd);
  free(m);
}

void kv__memtable_add(kv_memtable *m, const nay_sst_entry *entry, kv_slice value) {
  if (nay_sst_memtable_add(m->list, entry, value.data, value.len, NULL) != NAY_OK) abort();
  m->last = entry->sequence;
}

/* ---- writing ---- */

typedef struct log_head {
  char magic[8];
  uint64_t check;
} log_head;
typedef struct log_header { /* little endian */
  uint32_t check, body_check, len, value_len;
  uint64_t offset, synced;
} log_header;
_Static_assert(sizeof(log_head) == KV_LOG_HEAD && sizeof(log_header) == 32, "no padding");

static uint32_t log_checksum(const kv_memtable *m, const void *bytes, size_t len) {
  return htole32((uint32_t)kv__checksum(m->store, m->log, bytes, len));
}

static log_head log_head_of(const kv_memtable *m) {
  log_head head = {.magic = {'k', 'v', ' ', 'l', 'o', 'g', ' ', '1'}};
  head.check = htole64(kv__checksum(m->store, m->log, head.magic, sizeof head.magic));
  return head;
}

static nay_status log_open(kv_memtable *m, kv_error *error) {
  if (m->fd >= 0) return NAY_OK;
  m->fd = open(m->at.path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (m->fd >= 0) return NAY_OK;
  return kv__fail(error, NAY_EIO, "%s: cannot open: %s", m->at.path, strerror(errno));
}

nay_status kv__log_create(kv_memtable *m, kv_error *error) {
  log_head head = log_head_of(m);
  nay_status status = kv__file_replace(&m->at, &head, sizeof head);
  if (status != NAY_OK) return kv__blame(error, status, &m->at);
  m->length = m->synced = sizeof head;
  m->settled = true;
  return log_open(m, error);
}

/* Before the first append to a log that was there: no byte behind its records comes back. */
static nay_status log_settle(kv_memtable *m, kv_error *error) {
  if (m->settled) return NAY_OK;
  nay_status status = log_open(m, error);
  if (status != NAY_OK) return status;
  if (ftruncate(m->fd, (off_t)m->length) != 0 || fsync(m->fd) != 0)
    return kv__fail(error, NAY_EIO, "%s: cannot cut and sync: %s", m->at.path, strerror(errno));
  m->settled = true;
  m->synced = m->length;
  return NAY_OK;
}

nay_status kv__log_sync(kv_memtable *m, kv_error *error) {
  nay_status status = log_settle(m, error);
  if (status != NAY_OK) return status;
  status = kv__file_append(&m->at, m->fd, NULL, 0, true, &m->length);
  if (status == NAY_OK) m->synced = m->length;
  return kv__blame(error, status, &m->at);
}

nay_status kv__log_append(kv_memtable *m, const nay_sst_entry *entry, kv_slice value, bool sync,
                          kv_error *error) {
  nay_status status = log_settle(m, error);
  if (status != NAY_OK) return status;
  size_t n = entry->len + 8 + value.len;
  uint8_t *record = kv__grow(NULL, sizeof(log_header) + n), *body = record + sizeof(log_header);
  log_header h = {.len = htole32((uint32_t)entry->len), .value_len = htole32((uint32_t)value.len)};
  h.offset = htole64(m->length);
  h.synced = htole64(m->synced);
  nay_sst_key_join(entry, body, entry->len + 8, NULL);
  if (value.len != 0) memcpy(body + entry->len + 8, value.data, value.len);
  h.body_check = log_checksum(m, body, n);
  h.check = log_checksum(m, &h.body_check, sizeof h - sizeof h.check);
  memcpy(record, &h, sizeof h);
  status = kv__file_append(&m->at, m->fd, record, sizeof h + n, sync, &m->length);
  free(record);
  if (status == NAY_OK && sync) m->synced = m->length;
  return kv__blame(error, status, &m->at);
}

/* ---- reading ---- */

typedef struct log_record {
  nay_sst_entry entry;
  kv_slice value;
  uint64_t len, synced; /* of a header that is whole: bytes of the record; what it states */
} log_record;

/* NAY_ENOENT: there is no header at this offset, and r->len is 0. NAY_ECORRUPT: there is one that
 * no store writes. */
static nay_status log_header_at(const kv_memtable *m, const uint8_t *log, size_t len, size_t at,
                                log_header *h, log_record *r) {
  *r = (log_record){.entry = {.size = sizeof r->entry}};
  if (len - at < sizeof *h) return NAY_ENOENT;
  memcpy(h, log + at, sizeof *h);
  if (le64toh(h->offset) != at)
    return NAY_ENOENT; /* the cheap test, at most offsets the only one */
  if (h->check != log_checksum(m, &h->body_check, sizeof *h - sizeof h->check)) return NAY_ENOENT;
  r->len = sizeof *h + (uint64_t)le32toh(h->len) + 8 + le32toh(h->value_len);
  r->synced = le64toh(h->synced);
  bool sane = r->synced <= at && le32toh(h->len) <= KV_MAX_BYTES;
  return sane && le32toh(h->value_len) <= KV_MAX_BYTES ? NAY_OK : NAY_ECORRUPT;
}

/* NAY_ENOENT: there is no whole record at this offset. NAY_ECORRUPT: one that no store writes. */
static nay_status log_record_at(const kv_memtable *m, const uint8_t *log, size_t len, size_t at,
                                log_record *r) {
  log_header h;
  nay_status status = log_header_at(m, log, len, at, &h, r);
  if (status != NAY_OK) return status;
  if (len - at < r->len) return NAY_ENOENT;
  const uint8_t *body = log + at + sizeof h;
  size_t key = (size_t)le32toh(h.len) + 8;
  if (h.body_check != log_checksum(m, body, (size_t)r->len - sizeof h)) return NAY_ENOENT;
  r->value = (kv_slice){body + key, le32toh(h.value_len)};
  status = nay_sst_key_split(body, key, &r->entry);
  return status == NAY_OK && r->entry.type != NAY_SST_MERGE ? NAY_OK : NAY_ECORRUPT;
}

/* The head is followed by whole records up to m->length. Is what follows them a torn tail? */
static nay_status log_tail(kv_memtable *m, const uint8_t *log, size_t len, size_t records,
                           kv_error *error) {
  log_header h;
  log_record r;
  for (size_t at = (size_t)m->length; at < len; at++) {
    log_header_at(m, log, len, at, &h, &r); /* whatever it returns: what is stated counts */
    if (r.synced > m->synced) m->synced = r.synced;
  }
  if (m->synced > m->length)
    return kv__fail(error, NAY_ECORRUPT,
                    "%s: damaged at offset %" PRIu64
                    ": the log was on the disk up to offset "
                    "%" PRIu64 "; `repair` keeps the records that are whole",
                    m->at.path, m->length, m->synced);
  if (m->length == len) return NAY_OK;
  return kv__fail(error, NAY_OK,
                  "%s: recovered %zu records, torn at offset %" PRIu64 ": %zu bytes dropped",
                  m->at.path, records, m->length, len - (size_t)m->length);
}

static bool log_has_head(const kv_memtable *m, const uint8_t *log, size_t len) {
  const log_head head = log_head_of(m);
  return len >= sizeof head && memcmp(log, &head, sizeof head) == 0;
}

nay_status kv__log_replay(kv_memtable *m, const uint8_t *log, size_t len, kv_error *error) {
  if (!log_has_head(m, log, len))
    return kv__fail(error, NAY_ECORRUPT, "%s: damaged at offset 0: not the head of this log",
                    m->at.path);
  log_record r;
  size_t records = 0;
  nay_status status = NAY_OK;
  for (m->length = sizeof(log_head);; records++) {
    status = log_record_at(m, log, len, (size_t)m->length, &r);
    if (status != NAY_OK || r.entry.sequence != m->last + 1) break;
    kv__memtable_add(m, &r.entry, r.value);
    m->length += r.len;
    if (r.synced > m->synced) m->synced = r.synced;
  }
  if (status == NAY_ENOENT) return log_tail(m, log, len, records, error);
  return kv__fail(error, NAY_ECORRUPT, "%s: damaged at offset %" PRIu64 ": %s", m->at.path,
                  m->length, status == NAY_OK ? "records are missing" : "no store writes this");
}

kv_salvage kv__log_salvage(kv_memtable *m, const uint8_t *log, size_t len) {
  kv_salvage s = {.records = 0};
  bool head = log_has_head(m, log, len);
  size_t at = head ? sizeof(log_head) : 0;
  while (at < len) {
    log_record r;
    nay_status status = log_record_at(m, log, len, at, &r);
    bool good = status == NAY_OK && r.entry.sequence > m->last;
    /* a header that is whole says where the next one is */
    uint64_t n = r.len == 0 ? 1 : r.len < len - at ? r.len : len - at;
    if (good) {
      kv__memtable_add(m, &r.entry, r.value);
      s.records++;
    } else {
      if (s.lost == 0) s.offset = at;
      s.lost += n;
    }
    at += (size_t)n;
  }
  return s;
}
