/*
 * lookup.c - what filters save an LSM tree: keys from standard input are looked up in tables,
 * newest first, one at a time; once from index and blocks alone, once with the filters of the
 * tables.
 *
 *   $ for i in 0 1 2 3; do seq $i 4 4000 | LC_ALL=C sort | nay sst build -q -b 10 -o $i.ldb; done
 *   $ seq -f '%g!' 1000 1999 | lookup 3.ldb 2.ldb 1.ldb 0.ldb
 *   1000 keys in 4 tables of ... bytes, 0 found
 *   without filters: 3997 blocks read
 *   with filters: 23 blocks read
 */
#include <nay_sst_lookup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 64

/* Looks all keys up, and prints what that took. */
static int look_up(char **paths, size_t n, char *keys, bool filters) {
  const nay_sst *tables[MAX_TABLES];
  nay_sst *open[MAX_TABLES];
  nay_sst_read_options how = {sizeof how, .flags = filters ? 0 : NAY_SST_NO_FILTERS};
  nay_sst_counters counters = {.size = sizeof counters};
  nay_sst_value value = {.size = sizeof value};
  nay_diag diag = {.what = ""};
  nay_sst_lookup *lookup;
  size_t nkeys = 0, found = 0;
  for (size_t i = 0; i < n; i++) {
    if (nay_sst_open(paths[i], &how, NULL, &diag, &open[i]) != NAY_OK) {
      fprintf(stderr, "%s: %s\n", paths[i], diag.what);
      return 1;
    }
    tables[i] = open[i];
  }
  nay_sst_lookup_level level = {sizeof level, tables, n, false};
  if (nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &lookup) != NAY_OK) return 1;
  for (char *key = keys; *key != 0; key += strlen(key) + 1, nkeys++) {
    nay_status status =
        nay_sst_lookup_get(lookup, key, strlen(key), NAY_SST_NEWEST, &diag, &value, NULL);
    if (status == NAY_OK)
      found++;
    else if (status != NAY_ENOENT)
      return 1;
  }
  if (nay_sst_lookup_stats(lookup, &counters) != NAY_OK) return 1;
  unsigned long long nbytes = 0;
  for (size_t i = 0; i < n; i++) {
    nay_sst_info info = {.size = sizeof info};
    nay_sst_stats(nay_sst_lookup_table(lookup, i), &info);
    nbytes += info.nbytes;
  }
  if (!filters)
    printf("%zu keys in %zu tables of %llu bytes, %zu found\n", nkeys, n, nbytes, found);
  printf("%s filters: %llu blocks read\n", filters ? "with" : "without",
         (unsigned long long)counters.block_reads);
  nay_sst_value_free(&value);
  nay_sst_lookup_free(lookup);
  for (size_t i = 0; i < n; i++) nay_sst_free(open[i]);
  return 0;
}

int main(int argc, char **argv) {
  static char keys[1 << 20]; /* each ends in a 0; an empty one is the end */
  size_t len = 0, n = (size_t)argc - 1;
  if (n == 0 || n > MAX_TABLES) return 2;
  while (len + 1 < sizeof keys && fgets(keys + len, (int)(sizeof keys - len - 1), stdin) != NULL) {
    size_t line = strcspn(keys + len, "\n");
    keys[len + line] = 0;
    if (line != 0) len += line + 1;
  }
  keys[len] = 0;
  if (look_up(argv + 1, n, keys, false) != 0) return 1;
  return look_up(argv + 1, n, keys, true);
}
