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

typedef struct shell {
  kv *db;
  bool trace;
  kv_bytes value;
  kv_error error;
} shell;

static void shell_say(void *ctx, const char *text) {
  (void)ctx;
  fprintf(stderr, "kv: %s\n", text);
}

static void shell_step(void *ctx, const char *step) {
  (void)ctx;
  printf("  %s\n", step);
}

static int shell_end(shell *s, nay_status status) {
  if (status == NAY_OK || status == NAY_ENOENT) return status == NAY_OK ? 0 : 1;
  shell_say(NULL, s->error.text);
  return 2;
}

static int shell_scan(shell *s, const char *from, const char *to) {
  kv_iter it;
  nay_status status =
      kv_iter_new(s->db, NULL, from, strlen(from), to, to != NULL ? strlen(to) : 0, &s->error, &it);
  if (status != NAY_OK && status != NAY_ENOENT) return shell_end(s, status);
  for (; status == NAY_OK; status = nay_merge_next(it.merge)) {
    size_t len, value_len;
    const char *key = nay_merge_key(it.merge, &len), *value = nay_merge_value(it.merge, &value_len);
    printf("%.*s\t%.*s\n", (int)len, key, (int)value_len, value);
  }
  if (status != NAY_ENOENT) shell_say(NULL, nay_merge_diag(it.merge)->what);
  kv_iter_free(&it);
  return status == NAY_ENOENT ? 0 : 2;
}

static int shell_stats(shell *s) {
  kv_stats is;
  kv_describe(s->db, &is);
  printf("sequence %" PRIu64 ", memtable %" PRIu64 " bytes\n", is.sequence, is.memtable);
  for (unsigned i = 0; i < KV_LEVELS; i++)
    if (is.tables[i] != 0)
      printf("level %u: %zu tables, %" PRIu64 " bytes\n", i, is.tables[i], is.bytes[i]);
  printf("put %" PRIu64 " bytes; written: log %" PRIu64 ", flush %" PRIu64 ", compaction %" PRIu64
         "\n",
         is.put, is.logged, is.flushed, is.compacted);
  printf("filters: %" PRIu64 " probes, %" PRIu64 " nay, %" PRIu64
         " false positives; blocks read: %" PRIu64 "\n",
         is.counters.filter_checks, is.counters.filter_useful, is.counters.filter_false_positives,
         is.counters.block_reads);
  return 0;
}

static double shell_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* n puts in random order, n gets of those keys, n of others, a scan: ns for each. */
static int shell_bench(shell *s, uint64_t n) {
  static const char *const names[] = {"fill", "get, present", "get, absent", "scan"};
  char value[100], key[40];
  memset(value, 'v', sizeof value);
  for (unsigned job = 0; job < 4; job++) {
    nay_status status = NAY_OK;
    double start = shell_now();
    kv_iter it;
    if (job == 3) status = kv_iter_new(s->db, NULL, NULL, 0, NULL, 0, &s->error, &it);
    for (uint64_t i = 0; i < n && status != NAY_EIO; i++) {
      snprintf(key, sizeof key, "%016" PRIx64, nay_hash_mix(job == 2 ? i + n : i));
      if (job == 0)
        status = kv_put(s->db, key, 16, value, sizeof value, &s->error);
      else if (job < 3)
        status = kv_get(s->db, key, 16, NULL, &s->value, NULL, NULL, &s->error);
      else if (status == NAY_OK)
        status = nay_merge_next(it.merge);
    }
    if (job == 3) kv_iter_free(&it);
    printf("%-14s%8.0f ns\n", names[job], (shell_now() - start) / (double)n);
    if (job == 0) status = kv_settle(s->db, &s->error);
    if (status != NAY_OK && status != NAY_ENOENT) return shell_end(s, status);
  }
  return shell_stats(s);
}

static int shell_run(shell *s, int n, char **words) {
  const char *a = n > 1 ? words[1] : "", *b = n > 2 ? words[2] : NULL;
  if (strcmp(words[0], "put") == 0 && n == 3)
    return shell_end(s, kv_put(s->db, a, strlen(a), b, strlen(b), &s->error));
  if (strcmp(words[0], "delete") == 0 && n == 2)
    return shell_end(s, kv_delete(s->db, a, strlen(a), &s->error));
  if (strcmp(words[0], "get") == 0 && n == 2) {
    nay_status status =
        kv_get(s->db, a, strlen(a), NULL, &s->value, s->trace ? shell_step : NULL, NULL, &s->error);
    if (status == NAY_OK) printf("%.*s\n", (int)s->value.len, s->value.data);
    return shell_end(s, status);
  }
  if (strcmp(words[0], "scan") == 0) return shell_scan(s, a, b);
  if (strcmp(words[0], "stats") == 0) return shell_stats(s);
  if (strcmp(words[0], "settle") == 0) return shell_end(s, kv_settle(s->db, &s->error));
  if (strcmp(words[0], "bench") == 0)
    return shell_bench(s, n > 1 ? strtoull(a, NULL, 10) : 1000000);
  fprintf(stderr,
          "kv: put KEY VALUE, get KEY, delete KEY, scan [FROM [TO]], stats, settle, "
          "bench [N]\n");
  return 2;
}

int main(int argc, char **argv) {
  kv_options options = {.create = true, .notice = shell_say};
  shell s = {0};
  int at = 1, result = 0;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    if (strcmp(argv[at], "--sync") == 0)
      options.sync = true;
    else if (strcmp(argv[at], "--salvage") == 0)
      options.salvage = true;
    else if (strcmp(argv[at], "--trace") == 0)
      s.trace = true;
    else
      at = argc;
  }
  if (at >= argc) {
    fprintf(stderr, "usage: kv [--sync] [--salvage] [--trace] DIR [COMMAND ...]\n");
    return 2;
  }
  nay_status status = kv_open(argv[at++], &options, &s.error, &s.db);
  if (status != NAY_OK) return shell_end(&s, status);
  if (at < argc) {
    result = shell_run(&s, argc - at, argv + at);
  } else {
    char line[65536], *words[3];
    while (fgets(line, sizeof line, stdin) != NULL) {
      int n = 0;
      line[strcspn(line, "\n")] = 0;
      for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, n == 2 ? "" : " "))
        words[n++] = word;
      if (n != 0) result = shell_run(&s, n, words);
      fflush(stdout);
    }
  }
  kv_close(s.db);
  free(s.value.data);
  return result;
}
