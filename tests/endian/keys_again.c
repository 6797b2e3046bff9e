/*
 * keys_again.c - the golden vectors of typed keys hold on this CPU, from text and from values.
 *
 *   keys_again tests/golden/keys/keys.txt
 */
#include "support/key_vectors.h"

/* Values that have a vector give the same bytes. */
static bool again_values(void) {
  static const uint8_t minus_two[8] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  static const uint8_t tenth[8] = {0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f};
  static const uint8_t zero[8] = {0};
  uint8_t key[4][8];
  nay_key_int(-2, key[0]);
  nay_key_int((int64_t)(UINT64_MAX - 1), key[1]);
  nay_key_float(0.1, key[2]);
  nay_key_float(-0.0, key[3]);
  return memcmp(key[0], minus_two, 8) == 0 && memcmp(key[1], minus_two, 8) == 0 &&
         memcmp(key[2], tenth, 8) == 0 && memcmp(key[3], zero, 8) == 0;
}

int main(int argc, char **argv) {
  int count = argc == 2 ? key_vectors_check(argv[1]) : -1;
  bool values = again_values();
  printf("%sok 1 - %d vectors\n", count > 0 ? "" : "not ", count);
  printf("%sok 2 - values\n1..2\n", values ? "" : "not ");
  return count > 0 && values ? 0 : 1;
}
