/* foreign_tables.h - opens the tables of nori and mini-lsm in tests/golden, with all codecs. */
#ifndef NAY_TEST_FOREIGN_TABLES_H
#define NAY_TEST_FOREIGN_TABLES_H

#include <nay_codecs.h>
#include "golden/foreign_vectors.h"
#include "nay_sst.h"

/* A row of vectors.txt that describes a table. */
typedef struct foreign_table {
  const char *file, *form, *denied, *absent;
  const char *name; /* name of the layout */
  golden_key make;
  uint64_t n, nentries, nblocks, absent_first;
  uint32_t crc; /* CRC-32 of the list of entries */
  bool nori;
  char path[512];
  golden_bytes bytes;
} foreign_table;

static inline const char *foreign_layout(const char *form) {
  static const char *const names[][2] = {{"w1d4", "mini-lsm-sst-day4"},
                                         {"w1d7", "mini-lsm-sst-week1"},
                                         {"w2", "mini-lsm-sst-week2"},
                                         {"w3", "mini-lsm-sst-week3"}};
  for (size_t i = 0; i < 4; i++) {
    if (strcmp(form, names[i][0]) == 0) return names[i][1];
  }
  return "nori-sst";
}

static inline foreign_table foreign_read_table(const char *root, const char *directory,
                                               const foreign_row *row) {
  foreign_table t = {.file = row->field[1],
                     .form = row->field[2],
                     .name = foreign_layout(row->field[2]),
                     .make = foreign_keys(row->field[3]),
                     .n = foreign_number(row, 4),
                     .nentries = foreign_number(row, 5),
                     .nblocks = foreign_number(row, 6),
                     .crc = (uint32_t)strtoul(row->field[7], NULL, 16),
                     .denied = row->field[8],
                     .absent_first = foreign_number(row, 9),
                     .absent = row->field[10]};
  assert_true(row->nfields > 11);
  t.nori = strcmp(t.name, "nori-sst") == 0;
  snprintf(t.path, sizeof t.path, "%s/%s/%s", root, directory, t.file);
  t.bytes = golden_read(t.path);
  return t;
}

static inline nay_sst_read_options foreign_options(uint32_t flags) {
  nay_sst_read_options o = {sizeof o, .flags = flags};
  o.codecs = nay_codecs(&o.ncodecs);
  return o;
}

/* Returns the number of elements of a list. */
static inline uint64_t foreign_list_len(const char *list) {
  uint64_t n = *list != '-';
  for (; *list != 0; list++) n += *list == ',';
  return n;
}

#endif /* NAY_TEST_FOREIGN_TABLES_H */
