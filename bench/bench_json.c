/* bench_json.c - the results for programs; schema nay.bench/1, every repetition included. */
#include <math.h>

#include "bench.h"

static void json_string(FILE *out, const char *name, const char *value) {
  fprintf(out, "\"%s\": \"", name);
  for (; *value != '\0'; value++) {
    unsigned char c = (unsigned char)*value;
    if (c == '"' || c == '\\') fputc('\\', out);
    if (c >= 0x20) fputc(c, out);
  }
  fputc('"', out);
}

static void json_number(FILE *out, const char *name, double x) {
  if (isnan(x)) {
    fprintf(out, "\"%s\": null", name);
  } else {
    fprintf(out, "\"%s\": %.6g", name, x);
  }
}

static void json_machine(FILE *out, const bench_report *report) {
  const bench_machine *m = &report->machine;
  const char *commit = report->options->commit;
  fputs("  \"machine\": {", out);
  json_string(out, "cpu", m->cpu);
  fputs(", ", out);
  json_string(out, "caches", m->caches);
  fputs(", ", out);
  json_string(out, "kernel", m->kernel);
  fputs(", ", out);
  json_string(out, "huge_pages", m->huge_pages);
  fprintf(out, ", \"cpus\": %d, \"pinned\": %d, \"memory\": %llu},\n  ", m->ncpus, m->pinned,
          (unsigned long long)m->memory);
  json_string(out, "date", m->date);
  fputs(",\n  ", out);
  json_string(out, "commit", commit != NULL ? commit : "unknown");
  fputs(",\n  ", out);
  json_string(out, "compiler", m->compiler);
  fprintf(out, ",\n  \"seed\": \"%llu\",\n  \"quick\": %s,\n",
          (unsigned long long)report->options->seed, report->options->quick ? "true" : "false");
}

static void json_cells(FILE *out, const bench_row *row) {
  const char *comma = "";
  fputs("     \"ns\": {", out);
  for (unsigned op = 0; op < BENCH_NOPS; op++) {
    const bench_cell *cell = &row->cells[op];
    if (cell->n == 0) continue;
    fprintf(out, "%s\n       \"%s\": {", comma, bench_op_name(op));
    json_number(out, "min", bench_cell_min(cell));
    fputs(", ", out);
    json_number(out, "median", bench_cell_median(cell));
    fputs(", \"all\": [", out);
    for (unsigned i = 0; i < cell->n; i++) fprintf(out, "%s%.4g", i != 0 ? ", " : "", cell->ns[i]);
    fputs(bench_row_rehashes(row, op) ? "], \"rehashes\": true}" : "]}", out);
    comma = ",";
  }
  fputs("}", out);
}

static void json_peers(FILE *out, const bench_report *report, const bench_row *row) {
  if (!bench_row_is_ours(row)) return;
  const char *comma = "";
  fputs(",\n     \"best_peer\": {", out);
  for (int i = 0; i < BENCH_NASPECTS; i++) {
    bench_aspect aspect = (bench_aspect)i;
    const bench_row *peer = bench_best_peer(row, report->rows, report->nrows, aspect);
    if (peer == NULL) continue;
    char name[96];
    snprintf(name, sizeof name, "%s %s", peer->adapter->library, peer->adapter->name);
    fprintf(out, "%s\"%s\": {", comma, bench_aspect_names[i]);
    json_string(out, "filter", name);
    fputs(", ", out);
    json_number(out, "ratio", bench_row_aspect(peer, aspect) / bench_row_aspect(row, aspect));
    fputs("}", out);
    comma = ", ";
  }
  fputs("}", out);
}

static void json_limit(FILE *out, const bench_report *report, const bench_row *row) {
  double limit = bench_row_limit(row, report->rows, report->nrows);
  fputs(",\n     \"of_limit\": {", out);
  json_number(out, "limit", limit);
  fputs(", ", out);
  json_number(out, "add", bench_row_add(row) / limit);
  fputs(", ", out);
  json_number(out, "batch", bench_row_aspect(row, BENCH_MANY) / limit);
  fputs("}", out);
}

static void json_fpr(FILE *out, const bench_row *row) {
  double low, high;
  bench_row_fpr_interval(row, &low, &high);
  fputs("\"fpr\": {", out);
  json_number(out, "measured", bench_row_fpr(row));
  fputs(", ", out);
  json_number(out, "low", low);
  fputs(", ", out);
  json_number(out, "high", high);
  fprintf(out, ", \"probes\": %llu, \"maybe\": %llu}", (unsigned long long)row->nfpr,
          (unsigned long long)row->nfalse);
}

static void json_row(FILE *out, const bench_report *report, const bench_row *row) {
  const bench_adapter *a = row->adapter;
  fputs("    {", out);
  json_string(out, "library", a->library);
  fputs(", ", out);
  json_string(out, "version", a->version);
  fputs(", ", out);
  json_string(out, "filter", a->name);
  fputs(", ", out);
  json_string(out, "family", a->family);
  fprintf(out, ", \"nkeys\": %llu, \"keys\": \"%s\"", (unsigned long long)row->nkeys,
          row->form == BENCH_HASHES ? "hashes" : "strings");
  fputs(",\n     ", out);
  if (row->failure != NULL) {
    json_string(out, "failure", row->failure);
    fputs("}", out);
    return;
  }
  json_number(out, "bits_per_key", bench_row_bits_per_key(row));
  fputs(", ", out);
  json_fpr(out, row);
  fputs(",\n", out);
  json_cells(out, row);
  json_limit(out, report, row);
  json_peers(out, report, row);
  fputs("}", out);
}

static void json_lsm(FILE *out, const lsm_report *lsm) {
  fprintf(out, ",\n  \"lsm\": {\"tables\": %d, \"records\": %llu, \"reads\": %llu, ", LSM_TABLES,
          (unsigned long long)lsm->records, (unsigned long long)lsm->reads);
  json_number(out, "absent", lsm->absent);
  fputs(", \"results\": [", out);
  for (size_t i = 0; i < lsm->nresults; i++) {
    const lsm_result *r = &lsm->results[i];
    fprintf(out, "%s\n    {", i != 0 ? "," : "");
    json_string(out, "filter", r->filter != NULL ? r->filter : "none");
    fputs(", ", out);
    json_number(out, "us_per_read", r->us_per_read);
    fputs(", ", out);
    json_number(out, "us_median", r->us_median);
    fputs(", ", out);
    json_number(out, "blocks_per_read", r->blocks_per_read);
    fputs(", ", out);
    json_number(out, "bits_per_key", r->filter_bits_per_key);
    fputs("}", out);
  }
  fputs("]}", out);
}

bool bench_json_write(const char *path, const bench_report *report) {
  FILE *out = fopen(path, "w");
  if (out == NULL) return false;
  fputs("{\n  \"schema\": \"nay.bench/1\",\n", out);
  json_machine(out, report);
  fputs("  \"results\": [\n", out);
  for (size_t i = 0; i < report->nrows; i++) {
    json_row(out, report, &report->rows[i]);
    fputs(i + 1 < report->nrows ? ",\n" : "\n", out);
  }
  fputs("  ]", out);
  if (report->lsm != NULL) json_lsm(out, report->lsm);
  fputs("\n}\n", out);
  bool ok = ferror(out) == 0;
  return fclose(out) == 0 && ok;
}
