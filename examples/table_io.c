/*
 * table_io.c - a table that is written and read through calls of one's own, as a store with direct
 * I/O or an object store needs it: here an array of pages, and a counter of the reads. Then the
 * same table in memory and behind descriptors, for which the library has the calls.
 *
 *   $ table_io
 *   pages: wrote 2000 entries in 3 pages
 *   pages: melon is 0042, and its neighbours lemon and nectarine; 2 reads
 *   memory and descriptor: the same bytes
 */
#define _POSIX_C_SOURCE 200809L /* fileno */
#include <nay_sst_iter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 8192

typedef struct pages {
  unsigned char *page[64];
  size_t n, len; /* pages, bytes */
  size_t reads;
} pages;

/* ---- the calls: each has its context first, and says in diag what went wrong ---- */

static nay_status pages_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  pages *p = ctx;
  for (const unsigned char *from = bytes; len != 0;) {
    size_t at = p->len % PAGE, n = len < PAGE - at ? len : PAGE - at;
    if (at == 0 && p->n == sizeof p->page / sizeof *p->page) {
      diag->what = "the store is full";
      return NAY_EIO;
    }
    if (at == 0 && (p->page[p->n++] = malloc(PAGE)) == NULL) return NAY_ENOMEM;
    memcpy(p->page[p->n - 1] + at, from, n);
    from += n, len -= n, p->len += n;
  }
  return NAY_OK;
}

static nay_status pages_read(void *ctx, uint64_t at, void *dst, size_t len, nay_diag *diag) {
  pages *p = ctx;
  (void)diag;
  p->reads++;
  for (unsigned char *to = dst; len != 0;) { /* the library asks for nothing past the end */
    size_t in = (size_t)(at % PAGE), n = len < PAGE - in ? len : PAGE - in;
    memcpy(to, p->page[at / PAGE] + in, n);
    to += n, at += n, len -= n;
  }
  return NAY_OK;
}

static void pages_abort(void *ctx) {
  pages *p = ctx;
  while (p->n != 0) free(p->page[--p->n]);
  p->len = 0;
}

/* ---- the table ---- */

static const char *const fruit[] = {"apple", "banana", "cherry",    "date",   "fig",
                                    "lemon", "melon",  "nectarine", "orange", "plum"};

static nay_status write_all(nay_sst_writer *w) {
  nay_diag diag = {.what = ""};
  nay_status status = NAY_OK;
  char key[32], value[8];
  for (int i = 0; i < 2000 && status == NAY_OK; i++) {
    int len = i % 200 == 0 ? snprintf(key, sizeof key, "%s", fruit[i / 200])
                           : snprintf(key, sizeof key, "%s %03d", fruit[i / 200], i % 200);
    snprintf(value, sizeof value, "%04d", i == 1200 ? 42 : i);
    status = nay_sst_writer_add(w, key, (size_t)len, value, 4, &diag);
  }
  if (status == NAY_OK) status = nay_sst_writer_finish(w, &diag);
  if (status != NAY_OK) fprintf(stderr, "%s\n", diag.what);
  nay_sst_writer_free(w);
  return status;
}

static nay_status write_to(const nay_sst_target *target) {
  nay_sst_writer *w;
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .no_sync = true};
  nay_status status = nay_sst_writer_new_target(target, &how, NULL, NULL, &w);
  return status == NAY_OK ? write_all(w) : status;
}

/* A key, and the fruit on both sides of it: the value is pinned, so it outlives the moves. */
static int look(const nay_sst *t) {
  nay_sst_iter *it;
  nay_sst_value melon = {.size = sizeof melon};
  nay_sst_entry e = {.size = sizeof e}, before = {.size = sizeof before};
  char last[32];
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) return 1;
  if (nay_sst_iter_seek(it, "melon", 5) != NAY_OK || nay_sst_iter_pin(it, &melon) != NAY_OK)
    return 1;
  if (nay_sst_iter_prev(it) != NAY_OK || nay_sst_iter_entry(it, &before) != NAY_OK) return 1;
  snprintf(last, sizeof last, "%.5s", (const char *)before.key); /* "lemon 199" */
  if (nay_sst_iter_seek_for_prev(it, "nectarine", 9) != NAY_OK) return 1;
  if (nay_sst_iter_entry(it, &e) != NAY_OK) return 1;
  printf("pages: melon is %.4s, and its neighbours %s and %.*s; ", (const char *)melon.bytes, last,
         (int)e.len, (const char *)e.key);
  nay_sst_value_free(&melon);
  nay_sst_iter_free(it);
  return 0;
}

static int own_pages(pages *p) {
  nay_sst_target target = {sizeof target, .write = pages_write, .abort = pages_abort, .ctx = p};
  nay_diag diag = {.what = ""};
  nay_sst *t;
  if (write_to(&target) != NAY_OK) return 1;
  printf("pages: wrote 2000 entries in %zu pages\n", p->n);
  nay_sst_file file = {sizeof file, .length = p->len, .read_at = pages_read, .ctx = p};
  if (nay_sst_open_file(&file, NULL, NULL, &diag, &t) != NAY_OK) return 1;
  p->reads = 0;
  int failed = look(t);
  printf("%zu reads\n", p->reads);
  nay_sst_free(t);
  return failed;
}

/* ---- what the library has ---- */

static int in_memory_and_behind_descriptors(void) {
  nay_sst_memory *memory;
  nay_sst_target target = {.size = sizeof target};
  nay_sst_file file = {.size = sizeof file};
  nay_sst *t, *same;
  size_t len;
  if (nay_sst_memory_new(NULL, &memory) != NAY_OK) return 1;
  if (nay_sst_memory_target(memory, &target) != NAY_OK || write_to(&target) != NAY_OK) return 1;
  const void *bytes = nay_sst_memory_bytes(memory, &len);
  if (nay_sst_view(bytes, len, NULL, NULL, NULL, &t) != NAY_OK) return 1;
  FILE *f = tmpfile();
  if (f == NULL || nay_sst_target_descriptor(fileno(f), &target) != NAY_OK) return 1;
  if (write_to(&target) != NAY_OK) return 1;
  if (nay_sst_file_descriptor(fileno(f), NULL, &file) != NAY_OK) return 1;
  if (nay_sst_open_file(&file, NULL, NULL, NULL, &same) != NAY_OK) return 1;
  nay_sst_info a = {.size = sizeof a}, b = {.size = sizeof b};
  nay_sst_stats(t, &a);
  nay_sst_stats(same, &b);
  if (a.nbytes != len || b.nbytes != len || a.nblocks != b.nblocks) return 1;
  puts("memory and descriptor: the same bytes");
  nay_sst_free(same);
  nay_sst_free(t);
  fclose(f);
  nay_sst_memory_free(memory);
  return 0;
}

int main(void) {
  pages p = {.n = 0};
  int failed = own_pages(&p);
  pages_abort(&p);
  return failed != 0 ? failed : in_memory_and_behind_descriptors();
}
