/*
 * test.h - what a test file includes: cmocka behind a few words of our own, so that test bodies do
 * not depend on the framework.
 *
 *   static void empty_filter_says_nay(void **state) { ... assert_status(x, NAY_OK); ... }
 *   int main(void) {
 *     const test_case tests[] = {TEST(empty_filter_says_nay)};
 *     return run_all(tests);
 *   }
 */
#ifndef NAY_TEST_H
#define NAY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nay_advanced.h"

typedef struct CMUnitTest test_case;

#define TEST(function) \
  { #function, function, NULL, NULL, NULL }
/* The same function once for each state: TEST_WITH("name blocked", function, &blocked). */
#define TEST_WITH(name, function, state) \
  { name, function, NULL, NULL, (void *)(uintptr_t)(state) }

/* test_file: the name of a source file without its directories. */
static inline const char *test_file(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

#define run_all(tests) cmocka_run_group_tests_name(test_file(__FILE__), tests, NULL, NULL)
/* For lists made at run time. */
#define run_list(name, tests, n) _cmocka_run_group_tests(name, tests, n, NULL, NULL)

#define assert_status(expr, expected)                                                        \
  do {                                                                                       \
    nay_status got_ = (expr), want_ = (expected);                                            \
    if (got_ != want_)                                                                       \
      fail_msg("%s: %s, expected %s", #expr, nay_status_name(got_), nay_status_name(want_)); \
  } while (0)

#define assert_ok(expr) assert_status(expr, NAY_OK)

/* cmocka compares memory inside its library, where AddressSanitizer does not look: memcmp here. */
#undef assert_memory_equal
#define assert_memory_equal(a, b, size)                             \
  do {                                                              \
    const void *a_ = (a), *b_ = (b);                                \
    size_t size_ = (size);                                          \
    if (size_ != 0 && memcmp(a_, b_, size_) != 0)                   \
      fail_msg("%s and %s differ within %zu bytes", #a, #b, size_); \
  } while (0)

/* Relative: |a - b| <= tolerance * |b|. */
#define assert_close(a, b, tolerance)                                                           \
  do {                                                                                          \
    double a_ = (a), b_ = (b), d_ = a_ > b_ ? a_ - b_ : b_ - a_;                                \
    if (!(d_ <= (tolerance) * (b_ < 0 ? -b_ : b_)))                                             \
      fail_msg("%s = %.9g is not within %g of %s = %.9g", #a, a_, (double)(tolerance), #b, b_); \
  } while (0)

/* TEST_SCALE: a number of cases; sanitizers are slow, so a tenth of it is run under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SCALE(n) ((n) / 10)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SCALE(n) ((n) / 10)
#endif
#endif
#ifndef TEST_SCALE
#define TEST_SCALE(n) (n)
#endif

/* TEST_EVERY: the step of a loop over cases: 1, and n under sanitizers. */
#define TEST_EVERY(n) (TEST_SCALE(10) == 10 ? 1 : (n))

#endif /* NAY_TEST_H */
