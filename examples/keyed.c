/*
 * keyed.c - keys chosen by an attacker: a keyed hash, whose secret the file does not contain.
 *
 *   $ keyed
 *   without the key: mallory is maybe
 *   with a wrong key: NAY_EKEY
 *   with the key: mallory is nay
 */
#include <nay.h>
#include <stdio.h>

static const char *ask(const nay_filter *filter) {
  return nay_filter_may_contain(filter, "mallory", 7) ? "maybe" : "nay";
}

int main(void) {
  nay_params params = {sizeof params, .nkeys = 1000, .fpr = 0.001, .hash = NAY_HASH_SIPHASH};
  for (int i = 0; i < 16; i++) params.key[i] = (uint8_t)(i * 17); /* yours: from getrandom(2) */
  nay_filter *filter;
  if (nay_filter_new(&params, NULL, NULL, &filter) != NAY_OK) return 1;
  nay_filter_add(filter, "alice", 5, NULL);
  if (nay_filter_save(filter, "keyed.nay", NULL) != NAY_OK) return 1;
  nay_filter_free(filter);

  if (nay_filter_open("keyed.nay", NULL, NULL, &filter) != NAY_OK) return 1;
  printf("without the key: mallory is %s\n", ask(filter));
  const uint8_t wrong[16] = {0};
  printf("with a wrong key: %s\n", nay_status_name(nay_filter_unlock(filter, wrong)));
  if (nay_filter_unlock(filter, params.key) != NAY_OK) return 1;
  printf("with the key: mallory is %s\n", ask(filter));
  nay_filter_free(filter);
  return 0;
}
