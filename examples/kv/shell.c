/*
 * shell.c - the command `kv`: a store from the shell.
 *
 *   kv [--sync] [--salvage] [--trace] DIR COMMAND ...      one command
 *   kv [...] DIR < commands                                one for each line
 *
 *   put KEY VALUE | get KEY | delete KEY | scan [FROM [TO]] | stats | settle | bench [N]
 *
 * Exit status: 0 done, 1 a key that is not there, 2 an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv.h"

static kv_slice text(const char *s) { return (kv_slice){s, s != NULL ? strlen(s) : 0}; }

static void say(void *ctx, const char *message) {
  (void)ctx;
  fprintf(stderr, "kv: %s\n", message);
}

static void step(void *ctx, const char *what) {
  (void)ctx;
  printf("  %s\n", what);
}

static int end(nay_status status, const char *why) {
  if (status != NAY_OK && status != NAY_ENOENT) say(NULL, why);
  return status == NAY_OK ? 0 : status == NAY_ENOENT ? 1 : 2;
}

static int scan(kv *db, const char *from, const char *to) {
  kv_iter it;
  kv_error error;
  nay_status status = kv_iter_new(db, 0, text(from), text(to), &error, &it);
  if (status != NAY_OK && status != NAY_ENOENT) return end(status, error.text);
  for (; status == NAY_OK; status = nay_merge_next(it.merge)) {
    size_t len, value_len;
    const char *key = nay_merge_key(it.merge, &len), *value = nay_merge_value(it.merge, &value_len);
    printf("%.*s\t%.*s\n", (int)len, key, (int)value_len, value);
  }
  int result = end(status, nay_merge_diag(it.merge)->what);
  kv_iter_free(&it);
  return result == 1 ? 0 : result; /* at the end */
}

static int show_stats(kv *db) {
  kv_stats is;
  kv_describe(db, &is);
  printf("sequence %" PRIu64 ", memtable %" PRIu64 " bytes\n", is.sequence, is.memtable);
  for (unsigned i = 0; i < KV_LEVELS; i++)
    if (is.tables[i] != 0)
      printf("level %u: %zu tables, %" PRIu64 " bytes\n", i, is.tables[i], is.bytes[i]);
  printf("bytes put %" PRIu64 ", logged %" PRIu64 ", flushed %" PRIu64 ", compacted %" PRIu64 "\n",
         is.put, is.logged, is.flushed, is.compacted);
  printf("filters: %" PRIu64 " probes, %" PRIu64 " nay; blocks read: %" PRIu64 "\n",
         is.counters.filter_checks, is.counters.filter_useful, is.counters.block_reads);
  return 0;
}

/* n puts in random order, n gets of those keys, n of others, a scan: ns for each. */
static int bench(kv *db, uint64_t n) {
  static const char *const jobs[] = {"fill", "get, present", "get, absent", "scan"};
  char key[40], value[100] = "";
  kv_bytes found = {NULL, 0, 0};
  kv_error error = {""};
  kv_iter it;
  for (unsigned job = 0; job < 4; job++) {
    struct timespec start, now;
    nay_status status = NAY_OK;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (job == 3) status = kv_iter_new(db, 0, text(NULL), text(NULL), &error, &it);
    for (uint64_t i = 0; i < n && (status == NAY_OK || status == NAY_ENOENT); i++) {
      kv_slice k = {key, 16};
      snprintf(key, sizeof key, "%016" PRIx64, nay_hash_mix(job == 2 ? i + n : i));
      if (job == 0)
        status = kv_put(db, k, (kv_slice){value, sizeof value}, &error);
      else if (job < 3)
        status = kv_get(db, k, 0, &found, NULL, NULL, &error);
      else
        status = nay_merge_next(it.merge);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ns = (double)(now.tv_sec - start.tv_sec) * 1e9 + (double)(now.tv_nsec - start.tv_nsec);
    printf("%-14s%8.0f ns\n", jobs[job], ns / (double)n);
    if (job == 0 && status == NAY_OK) status = kv_settle(db, &error);
    if (end(status, error.text) == 2) return 2;
  }
  kv_iter_free(&it);
  free(found.data);
  return show_stats(db);
}

static int run(kv *db, bool trace, int n, char **words) {
  const char *name = words[0], *a = n > 1 ? words[1] : NULL, *b = n > 2 ? words[2] : NULL;
  kv_error error = {""};
  if (strcmp(name, "put") == 0 && n == 3)
    return end(kv_put(db, text(a), text(b), &error), error.text);
  if (strcmp(name, "delete") == 0 && n == 2) return end(kv_delete(db, text(a), &error), error.text);
  if (strcmp(name, "get") == 0 && n == 2) {
    kv_bytes value = {NULL, 0, 0};
    nay_status status = kv_get(db, text(a), 0, &value, trace ? step : NULL, NULL, &error);
    if (status == NAY_OK) printf("%.*s\n", (int)value.len, value.data);
    free(value.data);
    return end(status, error.text);
  }
  if (strcmp(name, "scan") == 0) return scan(db, a, b);
  if (strcmp(name, "stats") == 0) return show_stats(db);
  if (strcmp(name, "settle") == 0) return end(kv_settle(db, &error), error.text);
  if (strcmp(name, "bench") == 0) return bench(db, a != NULL ? strtoull(a, NULL, 10) : 1000000);
  say(NULL, "put KEY VALUE, get KEY, delete KEY, scan [FROM [TO]], stats, settle, bench [N]");
  return 2;
}

int main(int argc, char **argv) {
  kv_options options = {.create = true, .notice = say};
  kv_error error;
  kv *db;
  bool trace = false;
  int at = 1, result = 0;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    bool *option = strcmp(argv[at], "--sync") == 0      ? &options.sync
                   : strcmp(argv[at], "--salvage") == 0 ? &options.salvage
                   : strcmp(argv[at], "--trace") == 0   ? &trace
                                                        : NULL;
    if (option == NULL)
      at = argc;
    else
      *option = true;
  }
  if (at >= argc) {
    say(NULL, "usage: kv [--sync] [--salvage] [--trace] DIR [COMMAND ...]");
    return 2;
  }
  nay_status status = kv_open(argv[at++], &options, &error, &db);
  if (status != NAY_OK) return end(status, error.text);
  if (at < argc) result = run(db, trace, argc - at, argv + at);
  static char line[1 << 20];
  while (at >= argc && fgets(line, sizeof line, stdin) != NULL) {
    char *words[3];
    int n = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, n == 2 ? "" : " "))
      words[n++] = word;
    if (n != 0) result = run(db, trace, n, words);
    fflush(stdout);
  }
  kv_close(db);
  return result;
}
