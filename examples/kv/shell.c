/*
 * shell.c - the command `kv`: a store from the shell.
 *
 *   kv [--sync] [--trace] DIR COMMAND ...      one command
 *   kv [--sync] [--trace] DIR < commands       one for each line
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

static bool trace;
static kv_error error;

static kv_slice text(const char *s) { return (kv_slice){s, s != NULL ? strlen(s) : 0}; }

static int say(const char *message) {
  fprintf(stderr, "kv: %s\n", message);
  return 2;
}

static int usage(void) {
  return say("put KEY VALUE, get KEY, delete KEY, scan [FROM [TO]], stats, settle, bench [N]");
}

static int end(nay_status status) {
  return status == NAY_OK ? 0 : status == NAY_ENOENT ? 1 : say(error.text);
}

static void show(const char *bytes, size_t len, char after) {
  if (len != 0) fwrite(bytes, 1, len, stdout);
  putchar(after);
}

static void step(void *ctx, const char *what) { (void)ctx, printf("  %s\n", what); }

static int put(kv *db, char **words) {
  return end(kv_put(db, text(words[1]), text(words[2]), &error));
}

static int del(kv *db, char **words) { return end(kv_delete(db, text(words[1]), &error)); }

static int settle(kv *db, char **words) { return (void)words, end(kv_settle(db, &error)); }

static int get(kv *db, char **words) {
  kv_bytes value = {NULL, 0};
  nay_status status = kv_get(db, text(words[1]), 0, &value, trace ? step : NULL, NULL, &error);
  if (status == NAY_OK) show(value.data, value.len, '\n');
  free(value.data);
  return end(status);
}

static int scan(kv *db, char **words) {
  kv_iter it;
  nay_status status = kv_iter_new(db, 0, text(words[1]), text(words[2]), &error, &it);
  if (status != NAY_OK && status != NAY_ENOENT) return end(status);
  for (; status == NAY_OK; status = nay_merge_next(it.merge)) {
    size_t len, value_len;
    const char *key = nay_merge_key(it.merge, &len), *value = nay_merge_value(it.merge, &value_len);
    show(key, len, '\t');
    show(value, value_len, '\n');
  }
  int result = status == NAY_ENOENT ? 0 : say(nay_merge_diag(it.merge)->what);
  kv_iter_free(&it);
  return result;
}

static int stats(kv *db, char **words) {
  kv_stats is;
  (void)words;
  kv_describe(db, &is);
  printf("sequence %" PRIu64 ", memtable %" PRIu64 " bytes\n", is.sequence, is.memtable);
  for (unsigned i = 0; i < KV_LEVELS; i++)
    if (is.tables[i] != 0)
      printf("level %u: %zu tables, %" PRIu64 " bytes\n", i, is.tables[i], is.bytes[i]);
  printf("bytes flushed %" PRIu64 ", compacted %" PRIu64 "\n", is.flushed, is.compacted);
  printf("filters: %" PRIu64 " probes, %" PRIu64 " nay; blocks read: %" PRIu64 "\n",
         is.counters.filter_checks, is.counters.filter_useful, is.counters.block_reads);
  return 0;
}

/* n puts in random order, n gets of those keys, n of others: ns for each. */
static int bench(kv *db, char **words) {
  static const char *const jobs[] = {"fill", "get, present", "get, absent"};
  const char *count = words[1] != NULL ? words[1] : "1000000";
  bool digits = strlen(count) <= 12 && count[strspn(count, "0123456789")] == 0;
  uint64_t n = digits ? strtoull(count, NULL, 10) : 0;
  if (n == 0) return usage();
  char key[40], value[100] = "";
  kv_bytes found = {NULL, 0};
  for (unsigned job = 0; job < 3; job++) {
    struct timespec start, now;
    nay_status status = NAY_OK;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t i = 0; i < n && (status == NAY_OK || status == NAY_ENOENT); i++) {
      snprintf(key, sizeof key, "%016" PRIx64, nay_hash_mix(job == 2 ? i + n : i));
      status = job == 0 ? kv_put(db, text(key), (kv_slice){value, sizeof value}, &error)
                        : kv_get(db, text(key), 0, &found, NULL, NULL, &error);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ns = (double)(now.tv_sec - start.tv_sec) * 1e9 + (double)(now.tv_nsec - start.tv_nsec);
    printf("%-14s%8.0f ns\n", jobs[job], ns / (double)n);
    if (job == 0 && status == NAY_OK) status = kv_settle(db, &error);
    if (end(status) == 2) return 2;
  }
  free(found.data);
  return stats(db, words);
}

static const struct {
  const char *name;
  int least, most; /* words */
  int (*run)(kv *db, char **words);
} commands[] = {{"put", 3, 3, put},    {"get", 2, 2, get},     {"delete", 2, 2, del},
                {"scan", 1, 3, scan},  {"stats", 1, 1, stats}, {"settle", 1, 1, settle},
                {"bench", 1, 2, bench}};

static int run(kv *db, int n, char **words) {
  char *w[] = {words[0], n > 1 ? words[1] : NULL, n > 2 ? words[2] : NULL};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(words[0], commands[i].name) == 0 && n >= commands[i].least && n <= commands[i].most)
      return commands[i].run(db, w);
  return usage();
}

static int run_line(kv *db, char *line, size_t len) {
  char *words[3];
  int n = 0;
  if (len != 0 && line[len - 1] == '\n') line[--len] = 0;
  if (strlen(line) != len) return say("a line with a NUL byte is not run");
  for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, n == 2 ? "" : " "))
    words[n++] = word;
  return n != 0 ? run(db, n, words) : 0;
}

static int run_lines(kv *db) {
  char *line = NULL;
  size_t room = 0;
  int highest = 0;
  for (ssize_t len; (len = getline(&line, &room, stdin)) >= 0; fflush(stdout)) {
    int result = run_line(db, line, (size_t)len);
    if (result > highest) highest = result;
  }
  free(line);
  return feof(stdin) ? highest : say("standard input cannot be read to its end");
}

int main(int argc, char **argv) {
  kv_options options = {.sync = false};
  kv *db;
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    bool *option = strcmp(argv[at], "--sync") == 0 ? &options.sync : &trace;
    if (option == &trace && strcmp(argv[at], "--trace") != 0) argc = 0;
    *option = true;
  }
  if (at >= argc) return say("usage: kv [--sync] [--trace] DIR [COMMAND ...]");
  nay_status status = kv_open(argv[at++], &options, &error, &db);
  if (error.text[0] != 0) say(error.text); /* a torn record, or why not */
  if (status != NAY_OK) return 2;
  int result = at < argc ? run(db, argc - at, argv + at) : run_lines(db);
  kv_close(db);
  if (fflush(stdout) == 0 && !ferror(stdout)) return result;
  return say("standard output cannot be written");
}
