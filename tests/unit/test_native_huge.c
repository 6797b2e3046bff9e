/*
 * test_native_huge.c - a section of more than 4 GiB: every sum on the way is 64 bits wide. The
 * filter is nearly empty, so its pages are never touched and its file is nearly all holes; still
 * this wants 5 GiB of address space and some seconds: the long tier.
 */
#define _GNU_SOURCE 1

#include <fcntl.h>

#include "support/directory.h"
#include "support/native.h"
#include "support/test.h"

#define HUGE_BYTES ((uint64_t)5 << 30)
#define NMEMBERS 300u

/* Writes what is not zero and leaves holes for the rest. */
static nay_status sparse_sink(void *ctx, const void *bytes, size_t len) {
  static const uint8_t zeros[4096] = {0};
  const uint8_t *p = bytes;
  int fd = *(int *)ctx;
  while (len > 0) {
    size_t n = len < sizeof zeros ? len : sizeof zeros;
    bool hole = memcmp(p, zeros, n) == 0;
    if (hole ? lseek(fd, (off_t)n, SEEK_CUR) < 0 : write(fd, p, n) != (ssize_t)n) return NAY_EIO;
    p += n;
    len -= n;
  }
  return NAY_OK;
}

static void section_of_five_gigabytes(void **state) {
  (void)state;
  nay_params params = {sizeof params, .kind = NAY_BLOOM, .nbits = HUGE_BYTES * 8 - 5, .k = 3};
  nay_filter *f = native_filter(&params, NMEMBERS);
  directory dir = directory_make();
  const char *path = directory_at(&dir, "huge.nay");
  int fd = open(path, O_WRONLY | O_CREAT, 0666);
  assert_true(fd >= 0);
  assert_ok(nay_filter_encode_stream(f, sparse_sink, &fd));
  uint64_t size = (uint64_t)lseek(fd, 0, SEEK_CUR);
  assert_int_equal(size, nay_filter_encoded_size(f));
  assert_int_equal(size, native_body_at(1, HUGE_BYTES) + HUGE_BYTES);
  assert_int_equal(ftruncate(fd, (off_t)size), 0); /* the last piece may be a hole */
  close(fd);
  nay_filter_free(f);

  nay_filter *map;
  uint8_t key[8];
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &map));
  assert_true(native_members_ok(map, NMEMBERS));
  for (uint64_t i = NMEMBERS; i < NMEMBERS + 300; i++) {
    assert_false(nay_filter_may_contain(map, key, native_member(i, key)));
  }
  assert_status(nay_filter_health(map), NAY_OK);
  nay_filter_free(map);

  /* damage just below 4.5 GiB: members are still maybes, and a probe of that chunk notices */
  uint64_t at = native_body_at(1, HUGE_BYTES) + ((uint64_t)9 << 29) - 4096;
  fd = open(path, O_RDWR);
  assert_int_equal(pwrite(fd, "\xff", 1, (off_t)at), 1);
  close(fd);
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &map));
  assert_true(native_members_ok(map, NMEMBERS));
  nay_hash hash = {UINT64_MAX / 10 * 9, 0}; /* its first probe is nine tenths of the way */
  assert_true(nay_filter_may_contain_hash(map, hash));
  assert_status(nay_filter_health(map), NAY_ECORRUPT);
  nay_filter_free(map);
  unlink(path);
  directory_remove(&dir);
}

int main(void) {
  const test_case tests[] = {TEST(section_of_five_gigabytes)};
  return run_all(tests);
}
