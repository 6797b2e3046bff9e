/* The lab in C: foo and bar in its layout, false positives, a union. Prints what the program of
 * each other language prints. */
#include <nay_format.h>
#include <stdio.h>

static nay_filter *lab(uint64_t nkeys) {
  nay_params p = {.size = sizeof p, .nkeys = nkeys, .bits_per_key = 10};
  nay_filter *f = NULL;
  if (nay_format_new(nay_format_find("lab"), &p, NULL, NULL, &f) != NAY_OK) return NULL;
  return f;
}

static void add(nay_filter *f, int first, int n) {
  for (int i = first; i < first + n; i++) {
    char key[16];
    int len = snprintf(key, sizeof key, "key%d", i);
    if (nay_filter_add(f, key, (size_t)len, NULL) != NAY_OK) puts("cannot add");
  }
}

static int maybes(const nay_filter *f, const char *prefix, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    char key[16];
    int len = snprintf(key, sizeof key, "%s%d", prefix, i);
    sum += nay_filter_may_contain(f, key, (size_t)len);
  }
  return sum;
}

int main(void) {
  uint8_t bytes[64];
  size_t len;
  nay_filter *two = lab(2), *a = lab(600), *b = lab(600);
  if (two == NULL || a == NULL || b == NULL) return 1;
  nay_filter_add(two, "foo", 3, NULL);
  nay_filter_add(two, "bar", 3, NULL);
  if (nay_format_encode(nay_format_find("lab"), two, bytes, sizeof bytes, &len) != NAY_OK) return 1;
  for (size_t i = 0; i < len; i++) printf("%02x", bytes[i]);
  add(a, 0, 400);
  add(b, 200, 400);
  nay_status status = nay_filter_merge(a, b, 1, NULL);
  printf("\n%s: %d of 600 members, %d of 4000 others\n", status == NAY_OK ? "union" : "no union",
         maybes(a, "key", 600), maybes(a, "absent", 4000));
  puts(nay_filter_remove(a, "key1", 4) == NAY_ENOTSUP ? "remove: not supported" : "removed");
  nay_filter_free(two);
  nay_filter_free(a);
  nay_filter_free(b);
  return 0;
}
