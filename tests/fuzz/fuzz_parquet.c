/* fuzz_parquet.c - a Parquet file: its footer, its filters, and a text as a value of each column.
 */
#include <stdlib.h>
#include <string.h>

#include "nay_sst_parquet.h"
#include "support/memory_file.h"

static void probe(nay_sst_parquet *p, uint64_t group, uint64_t column) {
  static const char *const texts[] = {"",           "7",    "-1.5",
                                      "2024-02-29", "true", "00112233445566778899aabb"};
  nay_filter *f = NULL;
  nay_status read = nay_sst_parquet_filter_read(p, group, column, NULL, NULL, &f);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    bool maybe = false, probed = false;
    size_t len = strlen(texts[i]);
    nay_status status = nay_sst_parquet_may_contain(p, group, column, texts[i], len, NULL, &maybe);
    if (status == NAY_ECORRUPT && !maybe) abort();
    if (read == NAY_OK && status == NAY_OK) {
      if (nay_sst_parquet_filter_may_contain(p, column, f, texts[i], len, NULL, &probed) != NAY_OK)
        abort();
      if (probed != maybe) abort();
    }
  }
  nay_filter_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  memory_file m = {data, size};
  nay_sst_file file = {.size = sizeof file, .length = size, .read_at = memory_read, .ctx = &m};
  nay_sst_parquet *p;
  if (nay_sst_parquet_open_file(&file, NULL, NULL, &p) != NAY_OK) return 0;
  nay_sst_parquet_info info = {.size = sizeof info};
  if (nay_sst_parquet_stats(p, &info) != NAY_OK) abort();
  for (uint64_t c = 0; c < info.ncolumns && c < 16; c++) {
    nay_sst_parquet_column column = {.size = sizeof column};
    if (nay_sst_parquet_column_at(p, c, &column) != NAY_OK) abort();
    for (uint64_t g = 0; g < info.nrow_groups && g < 4; g++) probe(p, g, c);
  }
  nay_sst_parquet_free(p);
  return 0;
}
