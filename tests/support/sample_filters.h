/* sample_filters.h - the filters of a table of samples, read without the table. */
#ifndef NAY_TEST_SAMPLE_FILTERS_H
#define NAY_TEST_SAMPLE_FILTERS_H

#include "nay_sst_filters.h"
#include "support/snappy_codec.h"
#include "support/sst_sample.h"
#include "support/test.h"

/* sample_check_filters: the filters of the table alone are not told the order: they deny none of
 * its keys. */
static inline void sample_check_filters(const sample *s, const uint8_t *bytes, size_t len) {
  nay_sst_filters *t;
  nay_sst_filters_options how = {sizeof how, .codecs = snappy_codecs, .ncodecs = 1};
  assert_ok(nay_sst_filters_open(bytes, len, &how, NULL, NULL, &t));
  for (size_t i = 0; i < s->n; i++) {
    assert_true(nay_sst_filters_may_contain(t, s->entries[i].key, s->entries[i].len));
  }
  nay_sst_filters_free(t);
}

#endif /* NAY_TEST_SAMPLE_FILTERS_H */
