/* read_stats.c - see read_stats.h. */
#include "read_stats.h"

#include <stdio.h>

#include "cli.h"
#include "numbers.h"
#include "progress.h"

static struct {
  double start;
  bool wanted, json;
  read_counts all;
} stats;

void read_stats_begin(void) { stats.start = now_seconds(); }

void read_stats_ask(bool as_json) {
  stats.wanted = true;
  stats.json = as_json;
}

void read_stats_add(const read_counts *more) {
  stats.all.nfiles += more->nfiles;
  stats.all.nskipped += more->nskipped;
  stats.all.nlines += more->nlines;
  stats.all.nkeys += more->nkeys;
  stats.all.nbytes += more->nbytes;
}

/* Standard output has the document of the command. */
static void stats_json(uint64_t nbad, double seconds, double rate) {
  const read_counts *a = &stats.all;
  fprintf(stderr,
          "{\"schema\":\"nay.stats/1\",\"nfiles\":%llu,\"nskipped\":%llu,\"nlines\":%llu,"
          "\"nkeys\":%llu,\"nbad\":%llu,\"nbytes\":%llu,\"seconds\":%.6f,\"lines_per_second\":%.0f,"
          "\"bytes_per_second\":%.0f}\n",
          (unsigned long long)a->nfiles, (unsigned long long)a->nskipped,
          (unsigned long long)a->nlines, (unsigned long long)a->nkeys, (unsigned long long)nbad,
          (unsigned long long)a->nbytes, seconds, (double)a->nlines * rate,
          (double)a->nbytes * rate);
}

void read_stats_end(uint64_t nbad) {
  if (!stats.wanted) return;
  const read_counts *a = &stats.all;
  double seconds = now_seconds() - stats.start, rate = seconds > 0 ? 1 / seconds : 0;
  if (stats.json) {
    stats_json(nbad, seconds, rate);
    return;
  }
  char bytes[NUMBER_TEXT], speed[NUMBER_TEXT], lines[NUMBER_TEXT];
  message_error("%s, %s, %llu bad, %s in %s%s; %.3f s, %s lines/s, %s/s",
                COUNTED(a->nlines, "line"), COUNTED(a->nkeys, "key"), (unsigned long long)nbad,
                size_text(a->nbytes, bytes), COUNTED(a->nfiles, "file"),
                a->nskipped != 0 ? ", binary ones skipped" : "", seconds,
                count_text((double)a->nlines * rate, lines),
                size_text((uint64_t)((double)a->nbytes * rate), speed));
}
