/*
 * fuzz_puffin.c - a Puffin file: its footer, and the contents of every blob. What is visited is
 * written again, and the copy is visited with the same blobs.
 */
#include "nay_sst_puffin.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory_file.h"

#define MAX_BLOBS 64u

typedef struct visited {
  nay_sst_memory *copy;
  uint64_t nblobs, nread;
  uint64_t digest; /* of types, fields, properties and contents */
} visited;

static void digest_bytes(visited *v, const void *bytes, size_t len) {
  const uint8_t *p = bytes;
  for (size_t i = 0; i < len; i++) v->digest = (v->digest ^ p[i]) * UINT64_C(0x100000001b3);
  v->digest = (v->digest ^ len) * UINT64_C(0x100000001b3);
}

static void digest_properties(visited *v, const nay_sst_puffin_property *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    digest_bytes(v, p[i].name, strlen(p[i].name));
    digest_bytes(v, p[i].value, strlen(p[i].value));
  }
}

/* A file of this blob alone. */
static void write_again(visited *v, const nay_sst_puffin_blob *blob) {
  nay_sst_target target = {.size = sizeof target};
  nay_sst_puffin_blob copy = *blob;
  copy.codec = NULL;
  if (nay_sst_memory_target(v->copy, &target) != NAY_OK) abort();
  if (nay_sst_puffin_write(&target, &copy, 1, NULL, NULL, NULL) != NAY_OK) abort();
}

static nay_status visit(void *ctx, const nay_sst_puffin_info *info, const nay_sst_puffin_blob *blob,
                        bool *wanted) {
  visited *v = ctx;
  if (blob == NULL) {
    v->nblobs = info->nblobs;
    digest_properties(v, info->properties, info->nproperties);
    return NAY_OK;
  }
  if (blob->index >= info->nblobs || blob->offset + blob->nbytes > info->nbytes) abort();
  if (blob->bytes == NULL && blob->status == NAY_OK) {
    digest_bytes(v, blob->type, strlen(blob->type));
    digest_bytes(v, blob->fields, blob->nfields * sizeof *blob->fields);
    digest_properties(v, blob->properties, blob->nproperties);
    *wanted = blob->index < MAX_BLOBS;
  } else if (blob->bytes != NULL) {
    digest_bytes(v, blob->bytes, blob->len);
    v->nread++;
    if (v->copy != NULL) write_again(v, blob);
  }
  return NAY_OK;
}

static nay_status visit_bytes(const uint8_t *data, size_t size, visited *v) {
  memory_file m = {data, size};
  nay_sst_file file = {.size = sizeof file, .length = size, .read_at = memory_read, .ctx = &m};
  return nay_sst_puffin_visit(&file, NULL, visit, v, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  visited v = {.nblobs = 0}, again = {.nblobs = 0};
  size_t len;
  if (nay_sst_memory_new(NULL, &v.copy) != NAY_OK) abort();
  if (visit_bytes(data, size, &v) == NAY_OK && v.nread != 0) {
    const void *bytes = nay_sst_memory_bytes(v.copy, &len);
    if (bytes == NULL || visit_bytes(bytes, len, &again) != NAY_OK || again.nread != 1) abort();
    if (v.nblobs == 1 && v.nread == 1 && again.nblobs != 1) abort();
  }
  nay_sst_memory_free(v.copy);
  return 0;
}
