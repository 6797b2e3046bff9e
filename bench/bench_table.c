/* bench_table.c - the results as text: one block for each size and form of keys. */
#include <math.h>
#include <string.h>

#include "bench.h"

static const char table_rule[] =
    "--------------------------------------------------------------------------------------------"
    "------------------------------------------------------------";

void bench_table_head(FILE *out, const bench_report *report) {
  const bench_machine *m = &report->machine;
  fprintf(out, "nay-bench %s, commit %s, %s\n", m->date,
          report->options->commit != NULL ? report->options->commit : "unknown", m->compiler);
  fprintf(out, "%s, %d cpus, %s; %.0f GiB; %s; huge pages %s; ", m->cpu, m->ncpus, m->caches,
          (double)m->memory / (1 << 30), m->kernel, m->huge_pages);
  if (m->pinned >= 0) fprintf(out, "pinned to cpu %d\n", m->pinned);
  if (m->pinned < 0) fputs("not pinned\n", out);
  fprintf(out,
          "ns of CPU time per key, the minimum of %u or more interleaved repetitions "
          "(fewer of long ones)\n",
          report->options->reps);
}

/* 1000000 -> "1,000,000". */
static const char *table_count(uint64_t n, char out[32]) {
  char digits[32];
  int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), used = 0;
  for (int i = 0; i < len; i++) {
    if (i != 0 && (len - i) % 3 == 0) out[used++] = ',';
    out[used++] = digits[i];
  }
  out[used] = '\0';
  return out;
}

/* Seven columns: three significant digits, then the mark. */
static void table_number(FILE *out, double x, bool marked) {
  char mark = marked ? '*' : ' ';
  if (isnan(x)) {
    fputs("      -", out);
  } else {
    fprintf(out, "%6.*f%c", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, mark);
  }
}

/* "1.80x", in seven columns; "1.80*" when it is against a figure with that mark. */
static void table_ratio(FILE *out, double x, bool marked) {
  if (isnan(x)) {
    fputs("      -", out);
  } else {
    fprintf(out, "%6.*f%c", x < 9.995 ? 2 : 1, x, marked ? '*' : 'x');
  }
}

/* The widest distance from minimum to median among the filter's own figures. */
static double table_spread(const bench_row *row) {
  double worst = 0;
  for (unsigned op = 0; op <= OP_PROBE_ALONE; op++) {
    double least = bench_cell_min(&row->cells[op]);
    worst = fmax(worst, bench_cell_median(&row->cells[op]) / least - 1);
  }
  return worst;
}

static void table_fpr(FILE *out, const bench_row *row) {
  double low, high, p = 100 * bench_row_fpr(row);
  bench_row_fpr_interval(row, &low, &high);
  fprintf(out, " %8.*f +-%-7.*f", p < 0.1 ? 5 : 4, p, p < 0.1 ? 5 : 4, 50 * (high - low));
}

/* Whether the figure that bench_row_aspect chose has the mark. */
static bool table_aspect_rehashes(const bench_row *row, bench_aspect aspect) {
  if (aspect == BENCH_MAKE) return bench_row_rehashes(row, OP_ADD);
  double one = bench_row_aspect(row, BENCH_ONE);
  bool single = bench_row_aspect(row, aspect) >= one;
  return bench_row_rehashes(row, single ? OP_PROBE : OP_PROBE_BATCH);
}

static void table_peers(FILE *out, const bench_row *row, const bench_row *rows, size_t nrows) {
  for (int i = 0; i < BENCH_NASPECTS; i++) {
    bench_aspect aspect = (bench_aspect)i;
    const bench_row *peer =
        bench_row_is_ours(row) ? bench_best_peer(row, rows, nrows, aspect) : NULL;
    if (peer == NULL) {
      table_ratio(out, (double)NAN, false);
    } else {
      table_ratio(out, bench_row_aspect(peer, aspect) / bench_row_aspect(row, aspect),
                  table_aspect_rehashes(peer, aspect));
    }
  }
}

static void table_row(FILE *out, const bench_row *row, const bench_row *rows, size_t nrows) {
  const bench_adapter *a = row->adapter;
  char name[64];
  snprintf(name, sizeof name, "%s %s", a->library, a->name);
  fprintf(out, "%-28.28s", name);
  if (row->failure != NULL) {
    fprintf(out, "  %s\n", row->failure);
    return;
  }
  fprintf(out, "%6.2f", bench_row_bits_per_key(row));
  table_fpr(out, row);
  for (unsigned op = 0; op <= OP_PROBE_ALONE; op++) {
    table_number(out, bench_cell_min(&row->cells[op]), bench_row_rehashes(row, op));
  }
  double limit = bench_row_limit(row, rows, nrows);
  table_number(out, limit, false);
  table_ratio(out, bench_row_add(row) / limit, false);
  table_ratio(out, bench_row_aspect(row, BENCH_MANY) / limit, false);
  table_peers(out, row, rows, nrows);
  fprintf(out, "%5.0f%%\n", 100 * table_spread(row));
}

/* The limit with prefetches into L1 alone, for the first filter. */
static void table_usual_limit(FILE *out, const bench_row *rows, size_t nrows) {
  for (size_t i = 0; i < nrows; i++) {
    double usual = bench_cell_min(&rows[i].cells[OP_LIMIT_USUAL]);
    if (rows[i].failure != NULL || isnan(usual)) continue;
    fprintf(out,
            "Random lines of an array of the size of %s %s, prefetched 32 ahead into L1: %.2f ns\n",
            rows[i].adapter->library, rows[i].adapter->name, usual);
    return;
  }
}

void bench_table_block(FILE *out, const bench_row *rows, size_t nrows) {
  if (nrows == 0) return;
  char count[32];
  fprintf(out, "\n%s keys as %s\n", table_count(rows[0].nkeys, count),
          rows[0].form == BENCH_HASHES ? "64-bit hashes" : "16-byte strings, hashing included");
  fprintf(out, "%-28s%6s %-18s%21s%21s%21s%7s%21s%21s\n", "", "bits/", "  false positives",
          "build, ns/key     ", "probe, ns/key     ", "batch probe, ns/key ", "one",
          "memory limit    ", "best peer / nay   ");
  fprintf(out, "%-28s%6s %-18s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%7s%6s\n", "filter",
          "key", " % and 95%", "build", "add", "batch", "0%", "50%", "100%", "0%", "50%", "100%",
          "alone", "ns", "add", "probe", "build", "probe", "batch", "+-");
  fprintf(out, "%.*s\n", 53 + 17 * 7 - 14, table_rule);
  for (size_t i = 0; i < nrows; i++) table_row(out, &rows[i], rows, nrows);
  table_usual_limit(out, rows, nrows);
  fflush(out);
}

void bench_table_foot(FILE *out, const bench_row *rows, size_t nrows) {
  fputs(
      "\n0%, 50%, 100%: the share of probes that are present. alone: the latency of an isolated "
      "probe.\n"
      "memory limit: random lines of an array of the filter's size, best of three prefetch\n"
      "strategies, and the best add and probe as multiples of it. best peer: the fastest filter "
      "of\n"
      "another library, same family, at most twice our false-positive rate; above 1x nay is\n"
      "faster. +-: the widest gap from minimum to median in the row. *: hashes the 8 bytes again,\n"
      "because it has no call for a hash.\n",
      out);
  const char *said[BENCH_MAX_ADAPTERS];
  size_t nsaid = 0;
  for (size_t i = 0; i < nrows; i++) {
    const bench_adapter *a = rows[i].adapter;
    bool seen = a->note == NULL;
    for (size_t j = 0; j < nsaid && !seen; j++) seen = strcmp(said[j], a->note) == 0;
    if (seen || nsaid == BENCH_MAX_ADAPTERS) continue;
    fprintf(out, "%s %s: %s\n", a->library, a->version, a->note);
    said[nsaid++] = a->note;
  }
}

void bench_table_lsm(FILE *out, const lsm_report *lsm) {
  char records[32], reads[32];
  fprintf(out, "\n%d tables on disk of %s records each; %s reads, %.0f%% of absent keys\n",
          LSM_TABLES, table_count(lsm->records, records), table_count(lsm->reads, reads),
          100 * lsm->absent);
  fprintf(out, "%-25s%10s%12s%14s%10s%12s\n", "filters", "bits/key", "us/read", "median", "faster",
          "blocks read");
  fprintf(out, "%.*s\n", 83, table_rule);
  for (size_t i = 0; i < lsm->nresults; i++) {
    const lsm_result *r = &lsm->results[i];
    fprintf(out, "%-25s%10.2f%12.2f%14.2f%9.1fx%12.3f\n", r->filter != NULL ? r->filter : "none",
            r->filter_bits_per_key, r->us_per_read, r->us_median,
            lsm->results[0].us_per_read / r->us_per_read, r->blocks_per_read);
  }
  fputs(
      "Blocks of 4 KiB come from the page cache: with a cold disk each costs more, and filters "
      "save\n"
      "more. The index of each table is in memory, as in an LSM tree, so a table costs one "
      "block.\n",
      out);
}
