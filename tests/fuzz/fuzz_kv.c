/*
 * fuzz_kv.c - the files of examples/kv as hostile bytes: a log is replayed, or a manifest
 * parsed. The first byte chooses. Checksums are put right for every second input, so
 * that what is behind them is reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* Seals each record where its lengths say that it is. */
static void seal_log(uint8_t *bytes, size_t len) {
  for (size_t at = 0; at + KV_RECORD + 8 <= len;) {
    size_t room = len - at - KV_RECORD - 8, key = bytes[at + 8] % 16, value = bytes[at + 12] % 16;
    if (key + value > room) return;
    kv_record_seal(bytes + at, key, value);
    at += KV_RECORD + key + 8 + value;
  }
}

static void replay(uint8_t *bytes, size_t len) {
  kv_error error = {""};
  kv_memtable *m = kv_memtable_new(1);
  nay_status status = kv_log_replay("log", (kv_bytes){(char *)bytes, len}, m, &error);
  if (status != NAY_OK && (status != NAY_ECORRUPT || error.text[0] == 0)) abort();
  uint64_t n = 0; /* what was recovered is in order */
  const kv_node *last = NULL, *node = m->head;
  for (; (node = kv_node_next(node)) != NULL; last = node, n++)
    if (last != NULL && kv_compare(last->key, node->key) > 0) abort();
  if (n != m->last - 1) abort();
  kv_memtable_unref(m);
}

static void parse(uint8_t *text, size_t len, bool seal) {
  kv_error error = {""};
  kv_view *v;
  text[len] = 0;
  if (seal && len >= 23) {
    char line[24];
    snprintf(line, sizeof line, "check %016" PRIx64 "\n", kv_checksum(text, len - 23));
    memcpy(text + len - 23, line, 23);
  }
  nay_status status = kv_manifest_parse((kv_bytes){(char *)text, len}, &v, &error);
  if (status != NAY_OK && error.text[0] == 0) abort();
  for (size_t i = 0; status == NAY_OK && i < v->n; i++)
    if (v->tables[i]->level >= KV_LEVELS || v->tables[i]->bytes == 0) abort();
  while (v->n > 0) free(v->tables[--v->n]);
  free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  uint8_t *bytes = malloc(size); /* exact, with the 0 behind a text */
  if (bytes == NULL) return 0;
  memcpy(bytes, data + 1, size - 1);
  if (data[0] & 1) {
    if (data[0] & 2) seal_log(bytes, size - 1);
    replay(bytes, size - 1);
  } else {
    parse(bytes, size - 1, data[0] & 2);
  }
  free(bytes);
  return 0;
}
