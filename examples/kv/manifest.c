/*
 * manifest.c - which files are the store. A small text, replaced as a whole and atomically, so that
 * a crash leaves the old one or the new one; files it does not name are not part of the store.
 *
 *   kv 1
 *   comparator leveldb.BytewiseComparator
 *   log 7                  what is above the sequence is in this log and those that follow
 *   sequence 1234
 *   next 9                 no file has this number or one above it, but for logs
 *   table 0 6 2097152      level, number, bytes
 *   crc32c 1b2c3d4e        of all above
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

#define MANIFEST_LINE 100
#define MANIFEST_CRC 16 /* bytes of the last line */
#define MANIFEST_COMPARATOR "leveldb.BytewiseComparator"

static nay_status manifest_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const kv_bytes *text = ctx;
  return sink(sink_ctx, text->data, text->len);
}

nay_status kv_manifest_save(const char *dir, const kv_manifest *m, kv_error *error) {
  kv_bytes text = {.room = (m->ntables + 8) * MANIFEST_LINE};
  text.data = kv_alloc(text.room);
#define PRINT(...) \
  text.len += (size_t)snprintf(text.data + text.len, text.room - text.len, __VA_ARGS__)
  PRINT("kv 1\ncomparator %s\nlog %" PRIu64 "\nsequence %" PRIu64 "\nnext %" PRIu64 "\n",
        MANIFEST_COMPARATOR, m->log, m->sequence, m->next);
  for (size_t i = 0; i < m->ntables; i++) {
    const kv_table *t = &m->tables[i];
    PRINT("table %u %" PRIu64 " %" PRIu64 "\n", t->level, t->number, t->bytes);
  }
  PRINT("crc32c %08" PRIx32 "\n", kv_crc32c(text.data, text.len));
#undef PRINT
  char path[KV_PATH];
  nay_diag diag = {.what = ""};
  snprintf(path, sizeof path, "%s/MANIFEST", dir);
  nay_status status = nay_file_replace(path, 0, manifest_produce, &text, &diag);
  free(text.data);
  if (status == NAY_OK) return NAY_OK;
  return kv_fail(error, status, "%s: %s: %s", path, diag.what, strerror(diag.os_error));
}

/* The line at *at, without its end, in a buffer of its own; false: none, or it is too long. */
static bool manifest_line(const char *text, size_t len, size_t *at, char line[MANIFEST_LINE]) {
  const char *end = *at < len ? memchr(text + *at, '\n', len - *at) : NULL;
  size_t n = end == NULL ? MANIFEST_LINE : (size_t)(end - text) - *at;
  if (n >= MANIFEST_LINE || memchr(text + *at, 0, n) != NULL) return false;
  memcpy(line, text + *at, n);
  line[n] = 0;
  *at += n + 1;
  return true;
}

/* One line below the first two; false: it is none, or names what cannot be. */
static bool manifest_entry(kv_manifest *m, const char *line) {
  char end;
  kv_table *t = &m->tables[m->ntables];
  if (sscanf(line, "log %" SCNu64 "%c", &m->log, &end) == 1) return m->log != 0;
  if (sscanf(line, "sequence %" SCNu64 "%c", &m->sequence, &end) == 1)
    return m->sequence <= NAY_SST_MAX_SEQUENCE;
  if (sscanf(line, "next %" SCNu64 "%c", &m->next, &end) == 1) return m->next > m->log;
  if (sscanf(line, "table %u %" SCNu64 " %" SCNu64 "%c", &t->level, &t->number, &t->bytes, &end) !=
      3)
    return false;
  for (size_t i = 0; i < m->ntables; i++)
    if (m->tables[i].number == t->number) return false;
  m->ntables++;
  return t->level < KV_LEVELS && t->number < m->next;
}

nay_status kv_manifest_parse(const char *text, size_t len, kv_manifest *m, kv_error *error) {
  char line[MANIFEST_LINE];
  size_t at = 0, before = 0, end = len - MANIFEST_CRC;
  *m = (kv_manifest){0};
  if (len < MANIFEST_CRC || !manifest_line(text, end, &at, line) || strcmp(line, "kv 1") != 0)
    return kv_fail(error, NAY_EFORMAT, "MANIFEST: not that of a kv store of version 1");
  snprintf(line, sizeof line, "crc32c %08" PRIx32 "\n", kv_crc32c(text, end));
  if (memcmp(line, text + end, MANIFEST_CRC) != 0)
    return kv_fail(error, NAY_ECORRUPT, "MANIFEST: the checksum at offset %zu is wrong", end);
  if (manifest_line(text, end, &at, line) && strcmp(line, "comparator " MANIFEST_COMPARATOR) != 0)
    return kv_fail(error, NAY_EMISMATCH, "MANIFEST: the store has %s, not " MANIFEST_COMPARATOR,
                   line);
  m->tables = kv_alloc((len / 12 + 1) * sizeof *m->tables); /* "table 0 1 1" has 12 bytes */
  while ((before = at) < end)
    if (!manifest_line(text, end, &at, line) || !manifest_entry(m, line)) break;
  if (before == end && m->next != 0) return NAY_OK;
  return kv_fail(error, NAY_ECORRUPT, "MANIFEST: a line that cannot be, at offset %zu", before);
}
