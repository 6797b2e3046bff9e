/*
 * bads.c - see bads.h.
 *
 * What --bad-to keeps waits in a temporary file, and becomes FILE when the command has done its
 * work, by outfile.h. FILE must not exist before: so it is none of the inputs, and replaces no
 * result, by whatever name.
 */
#include "bads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "numbers.h"
#include "outfile.h"

static struct {
  uint64_t n;
  on_bad mode;
  bool muted;
  bool raises;      /* records that a result lacks are trouble */
  const char *path; /* --bad-to */
  FILE *kept;
  char first[512]; /* what is wrong with the first one */
} bads;

static void bads_check_path(const char *path) {
  struct stat st;
  if (outfile_is_stdout(path)) {
    die(EXIT_TROUBLE, "--bad-to: standard output has the result: give a file");
  }
  if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
    die(EXIT_TROUBLE, "--bad-to: %s exists: give a new file", path);
  }
}

void bads_begin(const keys_options *keys, on_bad mode, bool answers) {
  if (bads.muted) return;
  bads.mode = mode;
  bads.raises |= mode == ON_BAD_REPORT && !answers;
  if (keys->bad_to == NULL || bads.path != NULL) return;
  if (mode == ON_BAD_FAIL) {
    die(EXIT_TROUBLE,
        "--bad-to keeps what is not read, and here a bad record ends %s: "
        "give --on-bad=report or skip, too",
        answers ? "its file" : "the command");
  }
  bads_check_path(keys->bad_to);
  bads.path = keys->bad_to;
}

static void bads_keep(const bad_record *bad, const char *file) {
  if (bads.kept == NULL) bads.kept = tmpfile();
  bool ok = bads.kept != NULL;
  if (ok && file != NULL) ok = fprintf(bads.kept, "%s:", file) > 0;
  ok = ok && fprintf(bads.kept, "%llu:", (unsigned long long)bad->line) > 0;
  ok = ok && fwrite(bad->bytes, 1, bad->len, bads.kept) == bad->len;
  if (!ok) die(EXIT_TROUBLE, "--bad-to: cannot write a temporary file: %s", strerror(errno));
}

void bads_mute(void) { bads.muted = true; }

void bads_take(const bad_record *bad, const char *file) {
  if (bads.muted) return;
  if (bads.n++ == 0 && bad->why != NULL) snprintf(bads.first, sizeof bads.first, "%s", bad->why);
  if (bads.path != NULL) bads_keep(bad, file);
}

uint64_t bads_count(void) { return bads.n; }

static nay_status bads_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  (void)ctx;
  char bytes[65536];
  size_t n;
  if (fseek(bads.kept, 0, SEEK_SET) != 0) return NAY_EIO;
  while ((n = fread(bytes, 1, sizeof bytes, bads.kept)) > 0) {
    nay_status status = sink(sink_ctx, bytes, n);
    if (status != NAY_OK) return status;
  }
  return ferror(bads.kept) != 0 ? NAY_EIO : NAY_OK;
}

static void bads_save(void) {
  if (bads.kept == NULL) return;
  if (fflush(bads.kept) != 0) {
    die(EXIT_TROUBLE, "--bad-to: cannot write a temporary file: %s", strerror(errno));
  }
  outfile_unlock();           /* that of the result */
  bads_check_path(bads.path); /* it may have come since; outfile.h looks again */
  outfile_may_write(bads.path, false);
  outfile_write(bads.path, 0, bads_produce, NULL);
  fclose(bads.kept);
}

int bads_end(int status) {
  static const char *const done[] = {
      [ON_BAD_FAIL] = "",
      [ON_BAD_REPORT] = "not read",
      [ON_BAD_SKIP] = "skipped",
      [ON_BAD_PASS] = "passed on without a key",
      [ON_BAD_LINE] = "taken whole",
      [ON_BAD_DEFAULT] = "",
  };
  if (bads.n == 0 || bads.mode == ON_BAD_FAIL) return status;
  bads_save();
  if (bads.raises) status = exit_worse(status, EXIT_TROUBLE);
  if (bads.mode == ON_BAD_REPORT && bads.n <= BADS_TOLD) return status;
  message("%s %s; the first: %s", COUNTED(bads.n, "bad record"), done[bads.mode], bads.first);
  return status;
}
