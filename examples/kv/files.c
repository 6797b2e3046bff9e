/*
 * files.c - the write-ahead log and the manifest.
 *
 * A LOG has what a memtable has, in the order of the puts. Numbers are little endian.
 *
 *   0   4   checksum of the 12 bytes that follow
 *   4   4   checksum of key, tag and value
 *   8   4   length of the key
 *   12  4   length of the value
 *   16      key, tag (8 bytes: sequence << 8 | type), value
 *
 * Sequences follow each other without a gap. A record that the file ends within is
 * torn: a write that was not acknowledged. So is a tail of zeros, which some file systems leave
 * after a crash of the machine. Both are dropped, and said. Everything else that is not a record is
 * damage, and the store is not opened. As the header has a checksum of its own, a flipped bit in a
 * length is damage as well, and never makes the rest of the log look torn.
 *
 * The MANIFEST says which files are the store. It is a small text, replaced as a whole and
 * atomically, so that a crash leaves the old one or the new one.
 *
 *   kv 1
 *   comparator leveldb.BytewiseComparator
 *   log 7                  of the memtable
 *   sequence 1234          what is above it is in the log
 *   table 0 6 2097152      level, number, bytes
 *   check 0123456789abcdef of all above
 *
 * Checksums are SipHash-1-3 with a key of zeros, in the log its low 32 bits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "parts.h"

#define COMPARATOR "leveldb.BytewiseComparator"
#define CHECK 23 /* bytes of the manifest's last line */

void *kv_grow(void *old, size_t n) {
  void *p = realloc(old, n);
  if (p == NULL) abort();
  return p;
}

void *kv_alloc(size_t n) { return memset(kv_grow(NULL, n), 0, n); }

nay_status kv_fail(kv_error *error, nay_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (error != NULL) vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

nay_status kv_blame(kv_error *error, nay_status status, const char *path, const nay_diag *diag) {
  const char *cause = diag->os_error != 0 ? strerror(diag->os_error) : nay_status_text(status);
  return kv_fail(error, status, "%s: %s at offset %" PRIu64 ": %s", path, diag->what, diag->offset,
                 cause);
}

uint64_t kv_load(const uint8_t *at, unsigned n) {
  uint64_t value = 0;
  while (n-- > 0) value = value << 8 | at[n];
  return value;
}

void kv_store(uint8_t *at, uint64_t value, unsigned n) {
  for (unsigned i = 0; i < n; i++) at[i] = (uint8_t)(value >> 8 * i);
}

uint64_t kv_checksum(const void *bytes, size_t len) {
  static const uint8_t key[16];
  return nay_hash_siphash(key, bytes, len, 1, 3);
}

int kv_compare(kv_slice a, kv_slice b) {
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

kv_name kv_path(const kv *db, uint64_t number, const char *suffix) {
  kv_name path;
  const char *format = number != 0 ? "%s/%06" PRIu64 ".%s" : "%s/%.0" PRIu64 "%s";
  snprintf(path.text, sizeof path.text, format, db->dir, number, suffix);
  return path;
}

static nay_status file_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const kv_bytes *text = ctx;
  return text->len == 0 ? NAY_OK : sink(sink_ctx, text->data, text->len);
}

/* ---- log ---- */

size_t kv_record_seal(uint8_t *record, size_t len, size_t value_len) {
  kv_store(record + 4, kv_checksum(record + KV_RECORD, len + 8 + value_len), 4);
  kv_store(record + 8, len, 4);
  kv_store(record + 12, value_len, 4);
  kv_store(record, kv_checksum(record + 4, KV_RECORD - 4), 4);
  return KV_RECORD + len + 8 + value_len;
}

/* The name is on the disk before the manifest has it. Returns the descriptor, or -1. */
int kv_log_new(const kv *db, uint64_t number, kv_error *error) {
  nay_diag diag = {.what = "cannot open it"};
  kv_bytes nothing = {NULL, 0};
  kv_name path = kv_path(db, number, "log");
  nay_status status = nay_file_replace(path.text, 0, file_produce, &nothing, &diag);
  int fd = status == NAY_OK ? open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  if (status == NAY_OK) diag.os_error = errno;
  if (fd < 0) kv_blame(error, NAY_EIO, path.text, &diag);
  return fd;
}

/* On failure the record is cut off again, so that it does not appear after the next open. */
nay_status kv_log_append(kv *db, const void *record, size_t n, kv_error *error) {
  size_t done = 0;
  while (done < n) {
    ssize_t wrote = write(db->fd, (const char *)record + done, n - done);
    if (wrote <= 0 && errno != EINTR) break;
    if (wrote > 0) done += (size_t)wrote;
  }
  if (done == n && (!db->options.sync || fdatasync(db->fd) == 0)) {
    db->length += n;
    return NAY_OK;
  }
  const char *why = strerror(errno);
  const char *cut = ftruncate(db->fd, (off_t)db->length) == 0 ? "" : ", cannot cut it back";
  return kv_fail(error, NAY_EIO, "%06" PRIu64 ".log: cannot write: %s%s", db->view->log, why, cut);
}

/* The length of a record that begins with these bytes; 0: it is torn. NULL, or what is wrong. */
static const char *record_check(const uint8_t *at, size_t len, uint64_t last, size_t *n) {
  *n = 0;
  if (len < KV_RECORD) return NULL;
  if (kv_load(at, 4) != (uint32_t)kv_checksum(at + 4, KV_RECORD - 4)) return "checksum";
  size_t key = kv_load(at + 8, 4), whole = KV_RECORD + key + 8 + kv_load(at + 12, 4);
  if (whole > len) return NULL;
  *n = whole;
  if (kv_load(at + 4, 4) != (uint32_t)kv_checksum(at + KV_RECORD, whole - KV_RECORD))
    return "checksum";
  uint64_t tag = kv_load(at + KV_RECORD + key, 8);
  if ((tag & 255) > KV_VALUE) return "a record of no known type";
  return tag >> 8 == last + 1 ? NULL : "records are missing";
}

nay_status kv_log_replay(const char *name, kv_bytes log, kv_memtable *m, kv_error *error) {
  const uint8_t *at = (const uint8_t *)log.data;
  size_t left = log.len, n, end = log.len, records = 0; /* end: of what is not zero */
  while (end > 0 && log.data[end - 1] == 0) end--;
  for (; log.len - left < end; at += n, left -= n, records++) {
    const char *wrong = record_check(at, left, m->last, &n);
    if (wrong != NULL)
      return kv_fail(error, NAY_ECORRUPT, "%s: damaged at offset %zu: %s", name, log.len - left,
                     wrong);
    if (n == 0) break;
    kv_slice key = {at + KV_RECORD, kv_load(at + 8, 4)};
    kv_slice value = {at + KV_RECORD + key.len + 8, kv_load(at + 12, 4)};
    kv_memtable_add(m, kv_load(at + KV_RECORD + key.len, 8), key, value);
  }
  if (left == 0) return NAY_OK;
  return kv_fail(error, NAY_OK,
                 "%s: recovered %zu records, %zu bytes of a torn record dropped at offset %zu",
                 name, records, left, log.len - left);
}

/* ---- manifest ---- */

nay_status kv_manifest_save(const kv *db, const kv_view *v, kv_error *error) {
  kv_name path = kv_path(db, 0, "MANIFEST");
  nay_diag diag = {.what = ""};
  size_t room = (v->n + 8) * 100; /* a line is shorter */
  kv_bytes text = {kv_alloc(room), 0};
#define PRINT(...) text.len += (size_t)snprintf(text.data + text.len, room - text.len, __VA_ARGS__)
  PRINT("kv 1\ncomparator " COMPARATOR "\n");
  PRINT("log %" PRIu64 "\nsequence %" PRIu64 "\n", v->log, v->sequence);
  for (size_t i = 0; i < v->n; i++)
    PRINT("table %u %" PRIu64 " %" PRIu64 "\n", v->tables[i]->level, v->tables[i]->number,
          v->tables[i]->bytes);
  PRINT("check %016" PRIx64 "\n", kv_checksum(text.data, text.len));
  nay_status status = nay_file_replace(path.text, 0, file_produce, &text, &diag);
  free(text.data);
  return status == NAY_OK ? NAY_OK : kv_blame(error, status, path.text, &diag);
}

nay_status kv_manifest_parse(kv_bytes text, kv_view **view, kv_error *error) {
  char check[CHECK + 1], name[NAY_SST_COMPARATOR_NAME] = "";
  size_t end = text.len - CHECK, at;
  int n = 0;
  kv_view *v = *view = kv_view_next(NULL, text.len / 12 + 1); /* "table 0 1 1" has 12 bytes */
  if (text.len < CHECK || strncmp(text.data, "kv 1\n", 5) != 0)
    return kv_fail(error, NAY_EFORMAT, "MANIFEST: not that of a kv store of version 1");
  snprintf(check, sizeof check, "check %016" PRIx64 "\n", kv_checksum(text.data, end));
  if (strcmp(check, text.data + end) != 0)
    return kv_fail(error, NAY_ECORRUPT, "MANIFEST: the checksum at offset %zu is wrong", end);
  sscanf(text.data, "kv 1 comparator %55s log %" SCNu64 " sequence %" SCNu64 "\n%n", name, &v->log,
         &v->sequence, &n);
  if (strcmp(name, COMPARATOR) != 0)
    return kv_fail(error, NAY_EMISMATCH, "MANIFEST: made with comparator %s, not " COMPARATOR,
                   name);
  bool sound = n > 0 && v->sequence <= NAY_SST_MAX_SEQUENCE;
  for (at = (size_t)n; sound && at < end; at += (size_t)n) {
    kv_table *t = v->tables[v->n] = kv_alloc(sizeof *t);
    sound = sscanf(text.data + at, "table %u %" SCNu64 " %" SCNu64 "\n%n", &t->level, &t->number,
                   &t->bytes, &n) == 3;
    sound &= t->level < KV_LEVELS && t->bytes != 0;
    for (size_t i = 0; i < v->n; i++) sound &= v->tables[i]->number != t->number;
    v->n++;
  }
  if (sound && at == end) return NAY_OK;
  return kv_fail(error, NAY_ECORRUPT, "MANIFEST: a line that cannot be, at offset %zu", at);
}
