/*
 * files.c - names, memory, errors; memtables and their write-ahead logs.
 *
 * A LOG has what a memtable has, in the order of the puts. Numbers are little endian.
 *
 *   0   4   checksum of the 12 bytes that follow
 *   4   4   checksum of what follows the header
 *   8   4   length of the key
 *   12  4   length of the value
 *   16      key, 8 bytes of sequence and type (an internal key, as in tables), value
 *           one byte 0xa5
 *
 * Checksums are the low 32 bits of SipHash-1-3, with the id of the store and the number of the log
 * as its key, so that the log of another store is not taken for this one.
 *
 * Sequences follow each other without a gap. A record that the file ends within is torn: a write
 * that was not acknowledged. Zeros at the end of the file count as not written, since some file
 * systems leave them after a crash of the machine; no whole record ends in a zero. A torn record is
 * dropped, and that is said. Everything else that is not a record is damage, and the store is not
 * opened. As the header has a checksum of its own, a flipped bit in a length is damage as well, and
 * never makes the rest of the log look torn.
 */
#include "store.h"

/* No memory ends the process, which is as harmless as kill -9. */
static void *grow(void *old, size_t n) {
  void *p = realloc(old, n);
  if (p == NULL) abort();
  return p;
}

/* Zeroed. */
static void *alloc(size_t n) { return memset(grow(NULL, n), 0, n); }

/* Writes the text, returns status. */
static nay_status fail(kv_error *error, nay_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (error != NULL) vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

/* What the library says of a file; nothing of NAY_OK. */
static nay_status blame(kv_error *error, nay_status status, const file *at) {
  if (status == NAY_OK) return NAY_OK;
  int os = at->diag.os_error;
  return fail(error, status, "%s: %s at offset %" PRIu64 ": %s", at->path, at->diag.what,
              at->diag.offset, os != 0 ? strerror(os) : nay_status_text(status));
}

static int compare(kv_slice a, kv_slice b) {
  return nay_sst_compare(NULL, a.data, a.len, b.data, b.len);
}

/* Of file `number`; of MANIFEST or LOCK, if the number is 0. */
static file file_of(const kv *db, uint64_t number, const char *suffix) {
  file at = {.diag = {.what = ""}};
  const char *format = number != 0 ? "%s/%06" PRIu64 ".%s" : "%s/%.0" PRIu64 "%s";
  snprintf(at.path, sizeof at.path, format, db->dir, number, suffix);
  return at;
}

static uint64_t checksum(const memtable *m, const void *bytes, size_t len) {
  const uint64_t key[2] = {htole64(m->store), htole64(m->log)};
  return nay_hash_siphash((const uint8_t *)key, bytes, len, 1, 3);
}

/* ---- memtable ---- */

static memtable *memtable_new(const kv *db, uint64_t store, uint64_t log, uint64_t last) {
  memtable *m = alloc(sizeof *m);
  *m = (memtable){.refs = 1, .last = last, .store = store, .log = log, .fd = -1};
  m->at = file_of(db, log, "log");
  if (nay_memtable_new(NULL, NULL, NULL, &m->list) != NAY_OK) abort();
  return m;
}

static void memtable_unref(memtable *m) {
  if (m == NULL || atomic_fetch_sub(&m->refs, 1) > 1) return;
  nay_memtable_free(m->list);
  if (m->fd >= 0) close(m->fd);
  free(m);
}

static void memtable_add(memtable *m, const nay_sst_version *entry, kv_slice value) {
  if (nay_memtable_add(m->list, entry, value.data, value.len) != NAY_OK) abort();
  m->last = entry->sequence;
}

/* ---- log ---- */

typedef struct header {
  uint32_t check, body_check, len, value_len; /* little endian */
} header;

/* The name of a new one is on the disk before the manifest has it. */
static nay_status log_open(memtable *m, bool create, kv_error *error) {
  nay_status status = create ? nay_file_write(m->at.path, 0, NULL, 0, &m->at.diag) : NAY_OK;
  if (status != NAY_OK) return blame(error, status, &m->at);
  m->fd = open(m->at.path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (m->fd >= 0 && ftruncate(m->fd, (off_t)m->length) == 0) return NAY_OK;
  return fail(error, NAY_EIO, "%s: cannot open: %s", m->at.path, strerror(errno));
}

static nay_status log_append(memtable *m, const nay_sst_version *entry, kv_slice value, bool sync,
                             kv_error *error) {
  size_t n = entry->len + 8 + value.len + 1;
  uint8_t *record = grow(NULL, sizeof(header) + n), *body = record + sizeof(header);
  header h = {.len = htole32((uint32_t)entry->len), .value_len = htole32((uint32_t)value.len)};
  nay_sst_key_join(entry, body);
  if (value.len != 0) memcpy(body + entry->len + 8, value.data, value.len);
  body[n - 1] = 0xa5;
  h.body_check = htole32((uint32_t)checksum(m, body, n));
  h.check = htole32((uint32_t)checksum(m, &h.body_check, sizeof h - 4));
  memcpy(record, &h, sizeof h);
  nay_status status = nay_file_append(m->fd, record, sizeof h + n, sync, &m->length, &m->at.diag);
  free(record);
  return blame(error, status, &m->at);
}

/* Into the memtable. Its length becomes that of the whole records: if that is below len, a torn
 * record follows, and the text says so. */
static nay_status log_replay(memtable *m, const uint8_t *log, size_t len, kv_error *error) {
  size_t end = len, records = 0;
  while (end > 0 && log[end - 1] == 0) end--;
  for (m->length = 0; end - m->length >= sizeof(header); records++) {
    const uint8_t *at = log + m->length, *body = at + sizeof(header);
    nay_sst_version entry = {.size = sizeof entry};
    header h;
    memcpy(&h, at, sizeof h);
    size_t key = le32toh(h.len), value = le32toh(h.value_len);
    uint64_t n = (uint64_t)key + 8 + value + 1;
    bool sound = le32toh(h.check) == (uint32_t)checksum(m, at + 4, sizeof h - 4);
    if (sound && end - m->length - sizeof h < n) break; /* torn */
    sound = sound && le32toh(h.body_check) == (uint32_t)checksum(m, body, (size_t)n) &&
            nay_sst_key_split(body, key + 8, &entry) == NAY_OK && !entry.merge;
    if (!sound || entry.sequence != m->last + 1)
      return fail(error, NAY_ECORRUPT, "%s: damaged at offset %" PRIu64 ": %s", m->at.path,
                  m->length, sound ? "records are missing" : "checksum");
    memtable_add(m, &entry, (kv_slice){body + key + 8, value});
    m->length += sizeof h + n;
  }
  if (m->length == len) return NAY_OK;
  return fail(error, NAY_OK,
              "%s: recovered %zu records, torn at offset %" PRIu64 ": %zu bytes dropped",
              m->at.path, records, m->length, len - (size_t)m->length);
}
