/* sst_consumer.c - a program of a user of libnaysst: writes a table and reads it. */
#include <stdio.h>

#include <nay_sst.h>

int main(void) {
  nay_sst_write_options write = {.size = sizeof write, .filter = NAY_SST_FULL_FILTER};
  nay_sst_writer *writer;
  if (nay_sst_writer_new("people.sst", &write, NULL, NULL, &writer) != NAY_OK) return 1;
  nay_status status = nay_sst_writer_add(writer, "ada", 3, "1815", 4, NULL);
  if (status == NAY_OK) status = nay_sst_writer_finish(writer, NULL);
  nay_sst_writer_free(writer);
  nay_sst *table;
  if (status != NAY_OK || nay_sst_open("people.sst", NULL, NULL, NULL, &table) != NAY_OK) return 2;
  nay_sst_value value = {.size = sizeof value};
  if (nay_sst_get(table, "ada", 3, NAY_SST_NEWEST, NULL, &value) == NAY_OK) {
    printf("ada: %.*s\n", (int)value.len, (const char *)value.bytes);
  }
  nay_sst_value_free(&value);
  nay_sst_free(table);
  return 0;
}
