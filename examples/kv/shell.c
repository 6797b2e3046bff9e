/*
 * shell.c - the command `kv`: a store from the shell.
 *
 *   kv [--sync] [--salvage] [--trace] DIR COMMAND ...      one command
 *   kv [...] DIR < commands                                one for each line
 *
 *   put KEY VALUE | get KEY | delete KEY | scan [FROM [TO]] | stats | settle | bench [N]
 *
 * On a line, VALUE is all that follows the key. A line with a NUL byte is an error and not run.
 *
 * Exit status: 0 done, 1 a key that is not there, 2 an error; of several lines the highest.
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

static void show(const char *bytes, size_t len, char after) {
  if (len != 0) fwrite(bytes, 1, len, stdout);
  putchar(after);
}

static int scan(kv *db, const char *from, const char *to) {
  kv_iter it;
  kv_error error;
  nay_status status = kv_iter_new(db, 0, text(from), text(to), &error, &it);
  if (status != NAY_OK && status != NAY_ENOENT) return end(status, error.text);
  for (; status == NAY_OK; status = nay_merge_next(it.merge)) {
    size_t len, value_len;
    const char *key = nay_merge_key(it.merge, &len), *value = nay_merge_value(it.merge, &value_len);
    show(key, len, '\t');
    show(value, value_len, '\n');
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

/* A number from 1 on; 0: it is none. */
static uint64_t count_of(const char *s) {
  size_t len = strlen(s);
  return len <= 12 && strspn(s, "0123456789") == len ? strtoull(s, NULL, 10) : 0;
}

static int run(kv *db, bool trace, int n, char **words) {
  const char *name = words[0], *a = n > 1 ? words[1] : NULL, *b = n > 2 ? words[2] : NULL;
  uint64_t count = a != NULL ? count_of(a) : 1000000;
  kv_error error = {""};
  if (strcmp(name, "put") == 0 && n == 3)
    return end(kv_put(db, text(a), text(b), &error), error.text);
  if (strcmp(name, "delete") == 0 && n == 2) return end(kv_delete(db, text(a), &error), error.text);
  if (strcmp(name, "get") == 0 && n == 2) {
    kv_bytes value = {NULL, 0, 0};
    nay_status status = kv_get(db, text(a), 0, &value, trace ? step : NULL, NULL, &error);
    if (status == NAY_OK) show(value.data, value.len, '\n');
    free(value.data);
    return end(status, error.text);
  }
  if (strcmp(name, "scan") == 0 && n <= 3) return scan(db, a, b);
  if (strcmp(name, "stats") == 0 && n == 1) return show_stats(db);
  if (strcmp(name, "settle") == 0 && n == 1) return end(kv_settle(db, &error), error.text);
  if (strcmp(name, "bench") == 0 && n <= 2 && count != 0) return bench(db, count);
  say(NULL, "put KEY VALUE, get KEY, delete KEY, scan [FROM [TO]], stats, settle, bench [N]");
  return 2;
}

static int run_line(kv *db, bool trace, char *line, size_t len) {
  char *words[3];
  int n = 0;
  if (len != 0 && line[len - 1] == '\n') line[--len] = 0;
  if (strlen(line) != len) {
    say(NULL, "a line with a NUL byte is not run");
    return 2;
  }
  for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, n == 2 ? "" : " "))
    words[n++] = word;
  return n != 0 ? run(db, trace, n, words) : 0;
}

static int run_lines(kv *db, bool trace) {
  char *line = NULL;
  size_t room = 0;
  int highest = 0;
  for (ssize_t len; (len = getline(&line, &room, stdin)) >= 0;) {
    int result = run_line(db, trace, line, (size_t)len);
    if (result > highest) highest = result;
    fflush(stdout);
  }
  free(line);
  if (feof(stdin)) return highest;
  say(NULL, "standard input cannot be read to its end");
  return 2;
}

int main(int argc, char **argv) {
  kv_options options = {.create = true, .notice = say};
  kv_error error;
  kv *db;
  bool trace = false;
  int at = 1;
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
  int result = at < argc ? run(db, trace, argc - at, argv + at) : run_lines(db, trace);
  kv_close(db);
  if (fflush(stdout) == 0 && !ferror(stdout)) return result;
  say(NULL, "standard output cannot be written");
  return 2;
}
