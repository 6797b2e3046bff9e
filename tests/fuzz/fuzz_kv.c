/*
 * fuzz_kv.c - the files of examples/kv as hostile bytes: a log is replayed, plainly and salvaging,
 * or a manifest parsed. The first byte chooses. Checksums are put right for every second input, so
 * that what is behind them is reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

static void ignore(void *ctx, const char *text) {
  (void)ctx;
  (void)text;
}

/* Seals each record where its lengths say that it is. */
static void seal_log(uint8_t *bytes, size_t len) {
  for (size_t at = 0; at + KV_RECORD + 8 <= len;) {
    size_t room = len - at - KV_RECORD - 8, key = bytes[at + 8] % 16, value = bytes[at + 12] % 16;
    if (key + value > room) return;
    kv_record_seal(bytes + at, key, value);
    at += KV_RECORD + key + 8 + value;
  }
}

static void replay(const uint8_t *bytes, size_t len, bool salvage) {
  kv_error error = {""};
  const kv_options options = {.salvage = salvage, .notice = ignore};
  kv_replay r = {.mem = kv_memtable_new(NULL), .options = &options};
  nay_status status = kv_log_replay("log", (kv_slice){bytes, len}, &r, &error);
  if (status != NAY_OK && (salvage || status != NAY_ECORRUPT || error.text[0] == 0)) abort();
  if (status == NAY_OK && r.valid > len) abort();
  uint64_t n = 0; /* what was recovered is in order */
  const kv_node *last = NULL, *node = kv_memtable_first(r.mem);
  for (; node != NULL; last = node, node = kv_node_next(node), n++)
    if (last != NULL && kv_compare(NULL, last->key, node->key) > 0) abort();
  if (status == NAY_OK && n != r.records) abort();
  kv_memtable_unref(r.mem);
}

static void parse(uint8_t *text, size_t len, bool seal) {
  kv_error error = {""};
  kv_manifest m;
  text[len] = 0;
  if (seal && len >= 16) {
    char line[17];
    snprintf(line, sizeof line, "crc32c %08x\n", kv_crc32c(text, len - 16));
    memcpy(text + len - 16, line, 16);
  }
  nay_status status = kv_manifest_parse((kv_slice){text, len}, NULL, &m, &error);
  if (status != NAY_OK && error.text[0] == 0) abort();
  for (size_t i = 0; status == NAY_OK && i < m.n; i++)
    if (m.tables[i]->level >= KV_LEVELS || m.tables[i]->number >= m.next) abort();
  while (m.n > 0) free(m.tables[--m.n]);
  free(m.tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  uint8_t *bytes = malloc(size); /* exact, with the 0 behind a text */
  if (bytes == NULL) return 0;
  memcpy(bytes, data + 1, size - 1);
  if (data[0] & 1) {
    if (data[0] & 2) seal_log(bytes, size - 1);
    replay(bytes, size - 1, false);
    replay(bytes, size - 1, true);
  } else {
    parse(bytes, size - 1, data[0] & 2);
  }
  free(bytes);
  return 0;
}
