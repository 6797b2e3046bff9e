/*
 * fuzz_foreign_sst.c - tables of nori and mini-lsm. The first byte picks the layout; the rest is
 * the file, tried as it is and with checksums that fit.
 */
#include "support/foreign_exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t len = size - 1, nlayouts = 0;
  while (nay_sst_layout_at(nlayouts) != NULL) nlayouts++;
  const char *name = nay_sst_layout_at(data[0] % nlayouts);
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exact length: ASan finds a read past it */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  (void)exercise_foreign(p, len, name);
  seal_foreign(p, len, name);
  (void)exercise_foreign(p, len, name);
  free(p);
  return 0;
}
