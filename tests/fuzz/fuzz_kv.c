/*
 * fuzz_kv.c - the files of examples/kv as hostile bytes: a log is replayed and salvaged, or a
 * manifest parsed. The first byte chooses. Checksums are put right for every second input, so
 * that what is behind them is reached.
 */
#include <endian.h>
#include <stdio.h>

#include "store.h"

enum { STORE = 7, LOG = 1, RECORD = 32 }; /* bytes of a record's header */

static void seal_number(uint8_t *at, uint64_t number, size_t len) {
  for (size_t i = 0; i < len; i++) at[i] = (uint8_t)(number >> 8 * i);
}

/* Gives the log its head, and seals each record where its lengths say that it is. A byte of each
 * record tells whether its offset is right, and whether its body is. */
static void seal_log(uint8_t *bytes, size_t len) {
  if (len < KV_LOG_HEAD) return;
  memcpy(bytes, "kv log 1", 8);
  seal_number(bytes + 8, kv__checksum(STORE, LOG, bytes, 8), 8);
  for (size_t at = KV_LOG_HEAD; at + RECORD + 8 <= len;) {
    size_t room = len - at - RECORD - 8, key = bytes[at + 8] % 16, value = bytes[at + 12] % 16;
    uint8_t bad = bytes[at];
    if (key + value > room) return;
    seal_number(bytes + at + 8, key, 4);
    seal_number(bytes + at + 12, value, 4);
    if (bad % 7 != 1) seal_number(bytes + at + 16, at, 8);
    if (bad % 5 != 1) seal_number(bytes + at + 24, bytes[at + 24], 8);
    seal_number(bytes + at + 4, kv__checksum(STORE, LOG, bytes + at + RECORD, key + 8 + value), 4);
    if (bad % 3 == 1) bytes[at + 4] ^= 1;
    seal_number(bytes + at, kv__checksum(STORE, LOG, bytes + at + 4, RECORD - 4), 4);
    at += RECORD + key + 8 + value;
  }
}

/* The entries of a memtable are in order; returns how many. */
static uint64_t entries(const kv_memtable *m) {
  nay_sst_source s = {.size = sizeof s};
  uint64_t n = 0;
  kv_slice last = {NULL, 0}, key;
  if (nay_sst_memtable_source(m->list, &s) != NAY_OK) abort();
  for (nay_status status = s.first(s.ctx); status == NAY_OK; status = s.next(s.ctx), n++) {
    key.data = s.key(s.ctx, &key.len);
    key.len -= 8;
    if (n != 0 && kv__compare(last, key) > 0) abort();
    last = key;
  }
  s.free(s.ctx);
  return n;
}

static void replay(uint8_t *bytes, size_t len, bool seal) {
  static const kv db;
  kv_error error = {""};
  kv_memtable *m = kv__memtable_new(&db, STORE, LOG, 1),
              *all = kv__memtable_new(&db, STORE, LOG, 1);
  if (seal) seal_log(bytes, len);
  nay_status status = kv__log_replay(m, bytes, len, &error);
  if (status != NAY_OK && (status != NAY_ECORRUPT || error.text[0] == 0)) abort();
  if (status == NAY_OK && (m->length > len || m->synced > m->length)) abort();
  if (status == NAY_OK && (m->length < len) != (error.text[0] != 0)) abort();
  if (entries(m) != m->last - 1) abort();
  kv_salvage found = kv__log_salvage(all, bytes, len); /* what is replayed is salvaged as well */
  if (entries(all) != found.records || found.records < m->last - 1) abort();
  if (found.lost > len || (found.lost != 0 && found.offset >= len)) abort();
  if (status == NAY_OK && m->length == len && found.lost != 0) abort();
  kv__memtable_unref(m);
  kv__memtable_unref(all);
}

static void parse(uint8_t *text, size_t len, bool seal) {
  static kv db;
  kv_error error = {""};
  kv_table **tables = NULL;
  size_t n = 0;
  text[len] = 0;
  if (seal && len >= 23) {
    char line[24];
    snprintf(line, sizeof line, "check %016" PRIx64 "\n", kv__checksum(0, 0, text, len - 23));
    memcpy(text + len - 23, line, 23);
  }
  nay_status status = kv__manifest_parse(&db, (char *)text, len, &error, &tables, &n);
  if (status != NAY_OK && error.text[0] == 0) abort();
  for (size_t i = 0; i < n; i++) {
    bool sane = tables[i]->level < KV_LEVELS && db.next > tables[i]->number;
    if (status == NAY_OK && !sane) abort();
    kv__table_unref(tables[i]);
  }
  free(tables);
  kv__view_unref(db.view);
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
