/*
 * lsm_tables.h - the tables of nori and mini-lsm in tests/golden, opened with all codecs.
 */
#ifndef NAY_TEST_LSM_TABLES_H
#define NAY_TEST_LSM_TABLES_H

#include <nay_codecs.h>
#include "golden/lsm_vectors.h"
#include "nay_sst_foreign.h"

/* What a row of vectors.txt says of a table. */
typedef struct lsm_table {
  const char *file, *form, *denied, *absent;
  const char *name; /* of its layout */
  golden_key make;
  uint64_t n, nentries, nblocks, absent_first;
  uint32_t crc; /* of the list of entries */
  bool nori;
  char path[512];
  golden_bytes bytes;
} lsm_table;

static inline const char *lsm_layout(const char *form) {
  static const char *const names[][2] = {{"w1d4", "mini-lsm-sst-day4"},
                                         {"w1d7", "mini-lsm-sst-week1"},
                                         {"w2", "mini-lsm-sst-week2"},
                                         {"w3", "mini-lsm-sst-week3"}};
  for (size_t i = 0; i < 4; i++) {
    if (strcmp(form, names[i][0]) == 0) return names[i][1];
  }
  return "nori-sst";
}

static inline lsm_table lsm_read_table(const char *root, const char *directory,
                                       const lsm_row *row) {
  lsm_table t = {.file = row->field[1],
                 .form = row->field[2],
                 .name = lsm_layout(row->field[2]),
                 .make = lsm_keys(row->field[3]),
                 .n = lsm_number(row, 4),
                 .nentries = lsm_number(row, 5),
                 .nblocks = lsm_number(row, 6),
                 .crc = (uint32_t)strtoul(row->field[7], NULL, 16),
                 .denied = row->field[8],
                 .absent_first = lsm_number(row, 9),
                 .absent = row->field[10]};
  assert_true(row->nfields > 11);
  t.nori = strcmp(t.name, "nori-sst") == 0;
  snprintf(t.path, sizeof t.path, "%s/%s/%s", root, directory, t.file);
  t.bytes = golden_read(t.path);
  return t;
}

static inline nay_sst_read_options lsm_options(uint32_t flags) {
  nay_sst_read_options o = {sizeof o, .flags = flags};
  o.codecs = nay_codecs(&o.ncodecs);
  return o;
}

/* How many numbers a list has. */
static inline uint64_t lsm_list_len(const char *list) {
  uint64_t n = *list != '-';
  for (; *list != 0; list++) n += *list == ',';
  return n;
}

#endif /* NAY_TEST_LSM_TABLES_H */
