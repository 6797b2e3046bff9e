/*
 * first.c - a first filter: add two keys, probe three.
 *
 *   $ first
 *   foo: maybe
 *   bar: maybe
 *   baz: nay
 */
#include <nay.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  nay_params params = {.size = sizeof params,
                       .nkeys = 1000,
                       .fpr = 0.01}; /* planned for 1,000 keys, 1% false positives */
  nay_filter *filter;
  nay_status status = nay_filter_new(&params, NULL, NULL, &filter);
  if (status != NAY_OK) {
    fprintf(stderr, "first: %s\n", nay_status_text(status));
    return 1;
  }
  nay_filter_add(filter, "foo", 3, NULL);
  nay_filter_add(filter, "bar", 3, NULL);

  const char *asked[] = {"foo", "bar", "baz"};
  for (int i = 0; i < 3; i++) {
    bool maybe = nay_filter_may_contain(filter, asked[i], strlen(asked[i]));
    printf("%s: %s\n", asked[i], maybe ? "maybe" : "nay");
  }
  nay_filter_free(filter);
  return 0;
}
