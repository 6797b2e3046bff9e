/*
 * manifest.c - which files are the store. A small text, replaced as a whole and atomically, so that
 * a crash leaves the old one or the new one; files it does not name are not part of the store.
 *
 *   kv 1
 *   comparator leveldb.BytewiseComparator
 *   log 7                  what is above the sequence is in this log and those that follow
 *   sequence 1234
 *   next 9                 every table has a lower number
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

static const char *manifest_order(const nay_sst_comparator *comparator) {
  return comparator != NULL ? comparator->name : "leveldb.BytewiseComparator";
}

static nay_status manifest_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const kv_bytes *text = ctx;
  return sink(sink_ctx, text->data, text->len);
}

nay_status kv_manifest_save(const kv *db, const kv_manifest *m, kv_error *error) {
  kv_name path = kv_path(db, 0, "MANIFEST");
  nay_diag diag = {.what = ""};
  kv_bytes text = {.room = (m->n + 8) * MANIFEST_LINE};
  text.data = kv_alloc(text.room);
#define PRINT(...) \
  text.len += (size_t)snprintf(text.data + text.len, text.room - text.len, __VA_ARGS__)
  PRINT("kv 1\ncomparator %s\nlog %" PRIu64 "\nsequence %" PRIu64 "\nnext %" PRIu64 "\n",
        manifest_order(db->options.comparator), m->log, m->sequence, m->next);
  for (size_t i = 0; i < m->n; i++)
    PRINT("table %u %" PRIu64 " %" PRIu64 "\n", m->tables[i]->level, m->tables[i]->number,
          m->tables[i]->bytes);
  PRINT("crc32c %08" PRIx32 "\n", kv_crc32c(text.data, text.len));
#undef PRINT
  nay_status status = nay_file_replace(path.text, 0, manifest_produce, &text, &diag);
  free(text.data);
  if (status == NAY_OK) return NAY_OK;
  return kv_fail(error, status, "%s: %s: %s", path.text, diag.what, strerror(diag.os_error));
}

/* What a table's line says can be, so far. */
static bool manifest_sound(const kv_manifest *m, const kv_table *t) {
  bool twice = false;
  for (size_t i = 0; i < m->n; i++) twice |= m->tables[i]->number == t->number;
  return t->level < KV_LEVELS && t->number < m->next && t->bytes != 0 && !twice;
}

nay_status kv_manifest_parse(kv_slice bytes, const nay_sst_comparator *comparator, kv_manifest *m,
                             kv_error *error) {
  const char *text = bytes.data;
  char crc[MANIFEST_CRC + 1], name[NAY_SST_COMPARATOR_NAME] = "";
  const char *order = manifest_order(comparator);
  size_t end = bytes.len - MANIFEST_CRC, at;
  int n = 0;
  *m = (kv_manifest){.n = 0};
  if (bytes.len < MANIFEST_CRC || strncmp(text, "kv 1\n", 5) != 0)
    return kv_fail(error, NAY_EFORMAT, "MANIFEST: not that of a kv store of version 1");
  snprintf(crc, sizeof crc, "crc32c %08" PRIx32 "\n", kv_crc32c(text, end));
  if (strcmp(crc, text + end) != 0)
    return kv_fail(error, NAY_ECORRUPT, "MANIFEST: the checksum at offset %zu is wrong", end);
  if (sscanf(text, "kv 1 comparator %55s", name) == 1 && strcmp(name, order) != 0)
    return kv_fail(error, NAY_EMISMATCH, "MANIFEST: made with comparator %s, not %s", name, order);
  m->tables = kv_alloc((bytes.len / 12 + 1) * sizeof *m->tables); /* "table 0 1 1" has 12 bytes */
  sscanf(text, "kv 1 comparator %55s log %" SCNu64 " sequence %" SCNu64 " next %" SCNu64 "\n%n",
         name, &m->log, &m->sequence, &m->next, &n);
  bool sound = m->log != 0 && m->sequence <= NAY_SST_MAX_SEQUENCE && m->next > m->log;
  for (at = (size_t)n; sound && at < end; at += (size_t)n) {
    kv_table *t = m->tables[m->n] = kv_alloc(sizeof *t);
    sound = sscanf(text + at, "table %u %" SCNu64 " %" SCNu64 "\n%n", &t->level, &t->number,
                   &t->bytes, &n) == 3 &&
            manifest_sound(m, t);
    m->n++;
  }
  if (sound && at == end) return NAY_OK;
  return kv_fail(error, NAY_ECORRUPT, "MANIFEST: a line that cannot be, at offset %zu", at);
}
