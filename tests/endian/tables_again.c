/*
 * tables_again.c - LevelDB's golden tables that are not compressed, read and written again, must be
 * the same files on this CPU. Stands alone, so that it can be compiled for any.
 *
 *   tables_again tests/golden/leveldb-tables copy.ldb
 */
#include <nay_sst_iter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct again_table {
  const char *name;
  uint32_t block_bytes, bits;
} again_table;

static const again_table again_tables[] = {
    {"table_str_n0_b10_none", 0, 10},
    {"table_str_n100_b10_none", 0, 10},
    {"table_str_n1000_b10_none_bs512", 512, 10},
    {"table_u64le_n1000_b12_none_bs20000", 20000, 12},
    {"table_varlen_n300_b10_none", 0, 10},
    {"db_str_n2000_b10_none", 0, 10},
    {"db_str_n50_b10_none_dups", 0, 10},
};

static unsigned char *again_read(const char *path, long *len) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  unsigned char *bytes = malloc(1 << 18);
  *len = bytes == NULL ? -1 : (long)fread(bytes, 1, 1 << 18, file);
  fclose(file);
  return bytes;
}

static nay_status again_copy(const nay_sst *t, const char *path, const nay_policy *policy,
                             uint32_t block_bytes) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst_iter *it;
  nay_sst_writer *w;
  nay_sst_stats(t, &info);
  nay_sst_write_options how = {.size = sizeof how,
                               .keys = info.keys,
                               .block_bytes = block_bytes,
                               .filter = NAY_SST_BLOCK_FILTER,
                               .policy = policy};
  nay_status status = nay_sst_writer_new(path, &how, NULL, NULL, &w);
  if (status != NAY_OK || (status = nay_sst_iter_new(t, NULL, &it)) != NAY_OK) return status;
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK && status == NAY_OK;) {
    size_t len, value_len;
    const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
    nay_sst_value v = {.size = sizeof v};
    size_t user = info.keys == NAY_SST_KEYS_INTERNAL ? len - 8 : len;
    if (nay_sst_get(t, key, user, NAY_SST_NEWEST, NULL, &v) != NAY_OK) return NAY_ENOENT;
    nay_sst_value_free(&v);
    status = nay_sst_writer_add(w, key, len, value, value_len, NULL);
    s = nay_sst_iter_next(it);
  }
  if (status == NAY_OK) status = nay_sst_writer_finish(w, NULL);
  nay_sst_iter_free(it);
  nay_sst_writer_free(w);
  return status;
}

static int again_check(const char *directory, const char *copy, const again_table *g) {
  char path[1024];
  nay_policy policy = {.size = sizeof policy};
  const nay_policy *policies[] = {&policy};
  nay_sst *t;
  long len = 0, copy_len = 0;
  snprintf(path, sizeof path, "%s/%s.ldb", directory, g->name);
  nay_sst_read_options how = {sizeof how, .policies = policies, .npolicies = 1};
  if (nay_policy_find(NAY_POLICY_LEVELDB, g->bits, &policy) != NAY_OK) return 0;
  if (nay_sst_open(path, &how, NULL, NULL, &t) != NAY_OK) return 0;
  nay_status status = again_copy(t, copy, &policy, g->block_bytes);
  nay_sst_free(t);
  if (status != NAY_OK) return 0;
  unsigned char *a = again_read(path, &len), *b = again_read(copy, &copy_len);
  int same = a != NULL && b != NULL && len == copy_len && memcmp(a, b, (size_t)len) == 0;
  free(a);
  free(b);
  return same;
}

int main(int argc, char **argv) {
  int failed = 0;
  if (argc != 3) return 2;
  for (size_t i = 0; i < sizeof again_tables / sizeof *again_tables; i++) {
    int ok = again_check(argv[1], argv[2], &again_tables[i]);
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", i + 1, again_tables[i].name);
    failed |= !ok;
  }
  return failed;
}
