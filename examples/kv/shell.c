/*
 * shell.c - the command `kv`: a store from the shell.
 *
 *   kv [--sync] [--trace] DIR COMMAND ...      one command
 *   kv [--sync] [--trace] DIR < commands       one for each line
 *   kv DIR repair                              of a store that is not open
 *
 * On a line, VALUE is all that follows the key. A line with a NUL byte is an error and not run. A
 * store that is not there is made by put, bench and lines alone.
 *
 * Exit status: 0 done, 1 a key that is not there, 2 an error; of several lines the highest.
 */
#include <fcntl.h>
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

static int end(nay_status status) {
  return status == NAY_OK ? 0 : status == NAY_ENOENT ? 1 : say(error.text);
}

static void show(const void *bytes, size_t len, char after) {
  if (len != 0) fwrite(bytes, 1, len, stdout);
  putchar(after);
}

static void step(void *prefix, const char *what) { printf("%s%s\n", (const char *)prefix, what); }

static int put(kv *db, char **arg) { return end(kv_put(db, text(arg[1]), text(arg[2]), &error)); }

static int del(kv *db, char **arg) { return end(kv_delete(db, text(arg[1]), &error)); }

static int get(kv *db, char **arg) {
  kv_bytes value = {NULL, 0};
  nay_status status = kv_get(db, text(arg[1]), 0, &value, trace ? step : NULL, "  ", &error);
  if (status == NAY_OK) show(value.data, value.len, '\n');
  free(value.data);
  return end(status);
}

static int scan(kv *db, char **arg) {
  kv_iter it;
  kv_slice from = text(arg[1]), to = text(arg[1] != NULL ? arg[2] : NULL);
  nay_status status = kv_iter_new(db, 0, from, to, &error, &it);
  if (status != NAY_OK && status != NAY_EEND) return end(status);
  for (size_t len, value_len; status == NAY_OK; status = nay_sst_scan_next(it.merge)) {
    const void *key = nay_sst_scan_key(it.merge, &len),
               *value = nay_sst_scan_value(it.merge, &value_len);
    show(key, len, '\t');
    show(value, value_len, '\n');
  }
  int result = status == NAY_EEND ? 0 : say(nay_sst_scan_diag(it.merge)->what);
  kv_iter_free(&it);
  return result;
}

/* The last key at or below KEY, and the first at or above it. The value of the first is pinned, so
 * it is there after the iterator has moved. */
static int near(kv *db, char **arg) {
  kv_iter it;
  kv_slice key = text(arg[1]);
  nay_sst_value below = {.size = sizeof below};
  nay_status status = kv_iter_new(db, 0, text(NULL), text(NULL), &error, &it);
  if (status != NAY_OK && status != NAY_EEND) return end(status);
  status = nay_sst_scan_seek_for_prev(it.merge, key.data, key.len);
  if (status == NAY_OK) status = nay_sst_scan_pin(it.merge, &below);
  if (status == NAY_OK) {
    size_t len;
    const void *at = nay_sst_scan_key(it.merge, &len);
    show(at, len, '\t');
  }
  if (status == NAY_OK || status == NAY_EEND) {
    bool found = status == NAY_OK;
    size_t len, value_len;
    status = nay_sst_scan_seek(it.merge, key.data, key.len);
    if (found) show(below.bytes, below.len, '\n');
    if (status == NAY_OK) {
      const void *at = nay_sst_scan_key(it.merge, &len),
                 *value = nay_sst_scan_value(it.merge, &value_len);
      show(at, len, '\t');
      show(value, value_len, '\n');
    }
  }
  int result = status == NAY_OK || status == NAY_EEND ? 0 : say(nay_sst_scan_diag(it.merge)->what);
  nay_sst_value_free(&below);
  kv_iter_free(&it);
  return result;
}

static int stats(kv *db, char **arg) {
  kv_stats s;
  (void)arg;
  kv_describe(db, &s);
  printf("sequence %" PRIu64 ", memtable %" PRIu64 " bytes\n", s.sequence, s.memtable);
  for (unsigned i = 0; i < KV_LEVELS; i++)
    if (s.tables[i] != 0)
      printf("level %u: %zu tables, %" PRIu64 " bytes\n", i, s.tables[i], s.bytes[i]);
  printf("bytes flushed %" PRIu64 ", compacted %" PRIu64 "\n", s.flushed, s.compacted);
  printf("open tables %" PRIu64 ", which hold %" PRIu64 " bytes\n", s.open, s.held);
  printf("filters: %" PRIu64 " probes, %" PRIu64 " nay; blocks read: %" PRIu64 "\n",
         s.counters.filter_checks, s.counters.filter_useful, s.counters.block_reads);
  return 0;
}

static int settle(kv *db, char **arg) {
  (void)arg;
  return end(kv_settle(db, &error));
}

/* n puts in random order, n gets of those keys, n of others: CPU time of all threads for each. */
static int bench(kv *db, char **arg) {
  static const char *const jobs[] = {"fill", "get, present", "get, absent"};
  const char *count = arg[1] != NULL ? arg[1] : "1000000";
  uint64_t n = strlen(count) <= 12 ? strtoull(count, NULL, 10) : 0;
  if (n == 0 || count[strspn(count, "0123456789")] != 0) return say("bench [N]: N is a number");
  kv_bytes found = {NULL, 0};
  nay_status status = NAY_OK;
  for (unsigned job = 0; job < 3; job++) {
    clock_t start = clock();
    for (uint64_t i = 0; i < n && end(status) < 2; i++) {
      char key[40], value[100] = "";
      snprintf(key, sizeof key, "%016" PRIx64, nay_hash_mix(job == 2 ? i + n : i));
      status = job == 0 ? kv_put(db, text(key), (kv_slice){value, sizeof value}, &error)
                        : kv_get(db, text(key), 0, &found, NULL, NULL, &error);
    }
    if (job == 0 && status == NAY_OK) status = kv_settle(db, &error);
    double ns = (double)(clock() - start) * 1e9 / CLOCKS_PER_SEC / (double)n;
    printf("%-14s%8.0f ns\n", jobs[job], ns);
  }
  free(found.data);
  return status == NAY_ENOENT ? stats(db, arg) : 2;
}

typedef struct command {
  const char *name;
  int least, most; /* words */
  int (*run)(kv *db, char **arg);
} command;

/* Of n words, with a NULL behind them. */
static const command *find(int n, char **words) {
  static const command all[] = {{"put", 3, 3, put},       {"get", 2, 2, get},
                                {"delete", 2, 2, del},    {"scan", 1, 3, scan},
                                {"near", 2, 2, near},     {"stats", 1, 1, stats},
                                {"settle", 1, 1, settle}, {"bench", 1, 2, bench}};
  for (const command *c = all; c < all + sizeof all / sizeof all[0]; c++)
    if (n >= c->least && n <= c->most && strcmp(words[0], c->name) == 0) return c;
  say("put KEY VALUE, get KEY, delete KEY, scan [FROM [TO]], near KEY, stats, settle, bench [N], "
      "repair");
  return NULL;
}

static int run_line(kv *db, char *line, size_t len) {
  char *words[4] = {NULL};
  int n = 0;
  if (len != 0 && line[len - 1] == '\n') line[--len] = 0;
  if (strlen(line) != len) return say("a line with a NUL byte is not run");
  for (; len != 0 && n < 3 && line != NULL; n++) words[n] = strsep(&line, n < 2 ? " " : "");
  const command *c = n != 0 ? find(n, words) : NULL;
  return c != NULL ? c->run(db, words) : n != 0 ? 2 : 0;
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

/* Damaged logs; a torn one is no damage. */
static int repair(const char *dir) {
  nay_status status = kv_repair(dir, &error);
  if (status == NAY_OK && error.text[0] == 0) return say("there is nothing to repair"), 0;
  say(error.text);
  return status == NAY_OK ? 0 : 2;
}

int main(int argc, char **argv) {
  kv *db;
  kv_options options = {.sync = argc > 1 && strcmp(argv[1], "--sync") == 0};
  int at = options.sync ? 2 : 1;
  trace = argc > at && strcmp(argv[at], "--trace") == 0;
  if (trace) at++;
  if (argc <= at || argv[at][0] == '-') return say("usage: kv [--sync] [--trace] DIR [COMMAND]");
  char **words = argv + at + 1;
  bool repairs = words[0] != NULL && words[1] == NULL && strcmp(words[0], "repair") == 0;
  const command *c = words[0] != NULL && !repairs ? find(argc - at - 1, words) : NULL;
  if (c == NULL && words[0] != NULL && !repairs) return 2;
  options.must_exist = c != NULL && c->run != put && c->run != bench;
  for (int fd = 0; fd >= 0 && fd <= 2;) fd = open("/dev/null", O_RDWR); /* those that are closed */
  if (repairs) return repair(argv[at]);
  nay_status status = kv_open(argv[at], &options, &error, &db);
  if (error.text[0] != 0) say(error.text); /* a torn record, or why not */
  if (status != NAY_OK) return 2;
  int result = c != NULL ? c->run(db, words) : run_lines(db);
  kv_close(db);
  if (fflush(stdout) == 0 && !ferror(stdout)) return result;
  return say("standard output cannot be written");
}
