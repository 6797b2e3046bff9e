/* prom.c - see prom.h. */
#include "prom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static const struct {
  const char *name, *help;
} prom_metrics[PROM_METRICS] = {
    [PROM_UP] = {"up", "1 when the file is readable and intact"},
    [PROM_FILE_BYTES] = {"file_bytes", "size of the file"},
    [PROM_FILTER_BYTES] = {"filter_bytes", "bytes of the filters of the table"},
    [PROM_FILTERS] = {"filters", "filters of the table that have keys"},
    [PROM_FILTERS_DAMAGED] = {"filters_damaged", "filters of the table whose checksum is wrong"},
    [PROM_TABLE_ENTRIES] = {"table_entries", "entries of the table"},
    [PROM_TABLE_BLOCKS] = {"table_blocks", "data blocks of the table"},
    [PROM_KEYS_PLANNED] = {"keys_planned", "keys the filter was planned for"},
    [PROM_KEYS_ESTIMATED] = {"keys_estimated", "number of keys now, estimated from its bits"},
    [PROM_UTILISATION] = {"utilisation_ratio", "keys now, divided by the keys planned for"},
    [PROM_OVERFILLED] = {"overfilled",
                         "1 when the false-positive rate is more than 10% above the planned one"},
    [PROM_SATURATED] = {"saturated",
                        "1 when a filter or a block has no clear bit: there are more keys than "
                        "estimated"},
    [PROM_BITS_PER_KEY] = {"bits_per_key", "bits of the filter for each key"},
    [PROM_PROBES] = {"probes", "probes of the filter for each key (k)"},
    [PROM_FILL] = {"fill_ratio", "fraction of its bits that are set"},
    [PROM_FPR_NOW] = {"fpr_now", "false-positive rate now"},
    [PROM_FPR_PLANNED] = {"fpr_planned", "false-positive rate at the planned number of keys"},
    [PROM_GETS] = {"gets_total", "lookups in the table"},
    [PROM_OUT_OF_RANGE] = {"out_of_range_total", "lookups that its first and last key answered"},
    [PROM_CHECKS] = {"filter_checks_total", "lookups that probed a filter"},
    [PROM_USEFUL] = {"filter_useful_total", "of them, those that the filter answered with nay"},
    [PROM_FALSE_POSITIVES] = {"filter_false_positives_total",
                              "of them, maybes for keys that are not in the table"},
    [PROM_FAULTS] = {"filter_faults_total", "damaged filters that were left out"},
    [PROM_BLOCK_READS] = {"block_reads_total", "data blocks searched"},
    [PROM_CACHE_HITS] = {"cache_hits_total", "of them, found in the cache"},
};

void prom_check(const options *o, bool prom) {
  if (prom && o->json) die(EXIT_TROUBLE, "--prom and --json are mutually exclusive");
}

void prom_sample(prom_samples *s, prom_metric metric, double value) {
  s->has[metric] = true;
  s->value[metric] = value;
}

/* ---- where the values come from ---- */

void prom_filter(prom_samples *to, const promise *p) {
  const nay_stats *s = &p->stats;
  double bits_per_key = stats_bits_per_key(s);
  prom_sample(to, PROM_KEYS_ESTIMATED, s->nkeys_estimated);
  prom_sample(to, PROM_FILL, s->fill);
  prom_sample(to, PROM_FPR_NOW, s->fpr_now);
  prom_sample(to, PROM_OVERFILLED, p->overfilled);
  prom_sample(to, PROM_SATURATED, s->saturated);
  prom_sample(to, PROM_PROBES, s->k);
  if (bits_per_key > 0) prom_sample(to, PROM_BITS_PER_KEY, bits_per_key);
  if (p->nkeys == 0) return;
  double used = promise_utilisation(p);
  prom_sample(to, PROM_KEYS_PLANNED, (double)(p->nkeys_max != 0 ? p->nkeys_max : p->nkeys));
  if (!isnan(used)) prom_sample(to, PROM_UTILISATION, used);
  prom_sample(to, PROM_FPR_PLANNED, p->fpr_planned);
}

void prom_table(prom_samples *to, const table_file *file, const table_summary *s) {
  to->kind = "table";
  prom_sample(to, PROM_UP, file->status == NAY_OK);
  prom_sample(to, PROM_FILE_BYTES, (double)file->nbytes);
  if (file->status != NAY_OK) return;
  if (s->info.ndamaged != 0) prom_sample(to, PROM_UP, 0);
  prom_sample(to, PROM_FILTER_BYTES, (double)s->info.nbytes);
  prom_sample(to, PROM_FILTERS, (double)s->info.nfilters);
  prom_sample(to, PROM_FILTERS_DAMAGED, (double)s->info.ndamaged);
  if (s->info.nkeys != 0) prom_sample(to, PROM_TABLE_ENTRIES, (double)s->info.nkeys);
  if (s->nkeys >= 0) prom_sample(to, PROM_KEYS_ESTIMATED, s->nkeys);
  if (s->nkeys > 0 && s->info.nbytes != 0) {
    prom_sample(to, PROM_BITS_PER_KEY, tablefile_bits_per_key(s));
  }
  if (s->format == NULL) return;
  prom_sample(to, PROM_FPR_NOW, s->fpr);
  prom_sample(to, PROM_PROBES, s->stats.k);
  prom_sample(to, PROM_SATURATED, s->saturated);
  if (s->nkeys_planned == 0) return;
  prom_sample(to, PROM_KEYS_PLANNED, s->nkeys_planned);
  prom_sample(to, PROM_UTILISATION, s->nkeys_filtered / s->nkeys_planned);
  prom_sample(to, PROM_OVERFILLED, s->noverfilled > 0);
}

void prom_counts(prom_samples *to, const nay_sst_counters *c) {
  prom_sample(to, PROM_GETS, (double)c->gets);
  prom_sample(to, PROM_OUT_OF_RANGE, (double)c->out_of_range);
  prom_sample(to, PROM_CHECKS, (double)c->filter_checks);
  prom_sample(to, PROM_USEFUL, (double)c->filter_useful);
  prom_sample(to, PROM_FALSE_POSITIVES, (double)c->filter_false_positives);
  prom_sample(to, PROM_FAULTS, (double)c->filter_faults);
  prom_sample(to, PROM_BLOCK_READS, (double)c->block_reads);
  prom_sample(to, PROM_CACHE_HITS, (double)c->cache_hits);
}

/* ---- printing ---- */

/*
 * A label is UTF-8, a file name any bytes. Bytes that are none, control characters and backslashes
 * become \xHH, so no two names have the same label. The format doubles the backslash.
 */
static void prom_label(const char *text) {
  const uint8_t *p = (const uint8_t *)text;
  for (size_t left = strlen(text), n; left > 0; p += n, left -= n) {
    n = *p == '\\' ? 0 : utf8_printable(p, left);
    if (*p == '"') out_bytes("\\", 1);
    if (n != 0) out_bytes(p, n);
    if (n == 0) out_text("\\\\x%02x", *p);
    if (n == 0) n = 1;
  }
}

/* By name; of equal names the first comes first. */
static int prom_compare(const void *a, const void *b) {
  const prom_samples *const *x = a, *const *y = b;
  int order = strcmp((*x)->file, (*y)->file);
  return order != 0 ? order : (*x > *y) - (*x < *y);
}

static void prom_drop_duplicates(prom_samples *files, size_t n) {
  prom_samples **sorted = must_alloc(n * sizeof *sorted);
  for (size_t i = 0; i < n; i++) sorted[i] = &files[i];
  qsort(sorted, n, sizeof *sorted, prom_compare);
  for (size_t i = 1; i < n; i++) {
    if (strcmp(sorted[i - 1]->file, sorted[i]->file) != 0) continue;
    message("%s is named more than once: its metrics are those of the first time", sorted[i]->file);
    memset(sorted[i]->has, 0, sizeof sorted[i]->has);
  }
  free(sorted);
}

static bool prom_any(const prom_samples *files, size_t n, unsigned metric) {
  for (size_t i = 0; i < n; i++) {
    if (files[i].has[metric]) return true;
  }
  return false;
}

void prom_print(prom_samples *files, size_t n) {
  prom_drop_duplicates(files, n);
  for (unsigned m = 0; m < PROM_METRICS; m++) {
    const char *name = prom_metrics[m].name;
    if (!prom_any(files, n, m)) continue;
    out_text("# HELP nay_%s %s\n# TYPE nay_%s %s\n", name, prom_metrics[m].help, name,
             m >= PROM_GETS ? "counter" : "gauge");
    for (size_t i = 0; i < n; i++) {
      if (!files[i].has[m]) continue;
      out_text("nay_%s{file=\"", name);
      prom_label(files[i].file);
      out_text("\",kind=\"%s\"} ", files[i].kind);
      out_text(isfinite(files[i].value[m]) ? "%.10g\n" : "NaN\n", files[i].value[m]);
    }
  }
}
