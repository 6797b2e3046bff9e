/*
 * fuzz_kv.c - the files of examples/kv as hostile bytes: a log is replayed, or a manifest
 * parsed. The first byte chooses. Checksums are put right for every second input, so
 * that what is behind them is reached.
 */
#include "../../examples/kv/db.c" /* the store is one translation unit */

/* Seals each record where its lengths say that it is. */
static void seal_log(const memtable *m, uint8_t *bytes, size_t len) {
  for (size_t at = 0; at + sizeof(header) + 9 <= len;) {
    size_t room = len - at - sizeof(header) - 9, key = bytes[at + 8] % 16,
           value = bytes[at + 12] % 16;
    if (key + value > room) return;
    header h = {.len = htole32((uint32_t)key), .value_len = htole32((uint32_t)value)};
    h.body_check = htole32((uint32_t)checksum(m, bytes + at + sizeof h, key + value + 9));
    h.check = htole32((uint32_t)checksum(m, &h.body_check, sizeof h - 4));
    memcpy(bytes + at, &h, sizeof h);
    at += sizeof h + key + value + 9;
  }
}

static void replay(uint8_t *bytes, size_t len, bool seal) {
  static const kv db;
  kv_error error = {""};
  memtable *m = memtable_new(&db, 7, 1, 1);
  nay_merge_source s = {.size = sizeof s};
  if (seal) seal_log(m, bytes, len);
  nay_status status = log_replay(m, bytes, len, &error);
  if (status != NAY_OK && (status != NAY_ECORRUPT || error.text[0] == 0)) abort();
  if (status == NAY_OK && (m->length < len) != (error.text[0] != 0)) abort();
  uint64_t n = 0; /* what was recovered is in order */
  kv_slice last = {NULL, 0}, key;
  if (nay_memtable_source(m->list, &s) != NAY_OK) abort();
  for (status = s.first(s.state); status == NAY_OK; status = s.next(s.state), n++) {
    key.data = s.key(s.state, &key.len);
    key.len -= 8;
    if (n != 0 && compare(last, key) > 0) abort();
    last = key;
  }
  s.free(s.state);
  if (n != m->last - 1) abort();
  memtable_unref(m);
}

static void parse(uint8_t *text, size_t len, bool seal) {
  static kv db;
  kv_error error = {""};
  text[len] = 0;
  if (seal && len >= 23) {
    char line[24];
    snprintf(line, sizeof line, "check %016" PRIx64 "\n",
             checksum(&(memtable){.store = 0}, text, len - 23));
    memcpy(text + len - 23, line, 23);
  }
  nay_status status = manifest_parse(&db, (char *)text, len, &error);
  if (status != NAY_OK && error.text[0] == 0) abort();
  for (size_t i = 0; status == NAY_OK && i < db.view->n; i++)
    if (db.view->tables[i]->level >= KV_LEVELS || db.next <= db.view->tables[i]->number) abort();
  view_unref(db.view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  uint8_t *bytes = malloc(size); /* exact, with the 0 behind a text */
  if (bytes == NULL) return 0;
  memcpy(bytes, data + 1, size - 1);
  if (data[0] & 1)
    replay(bytes, size - 1, data[0] & 2);
  else
    parse(bytes, size - 1, data[0] & 2);
  free(bytes);
  return 0;
}
