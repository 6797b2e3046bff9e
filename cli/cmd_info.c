/* cmd_info.c - nay info: what a file is, how full it is, whether it can be trusted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "numbers.h"
#include "tablefile.h"

static const char *info_checksum(const filter_file *file) {
  if (file->status != NAY_OK) return file->why;
  return nay_format_has_checksum(file->format) ? "ok" : "none";
}

static void info_json_plans(const nay_filter *f) {
  uint64_t nkeys;
  double bits_per_key, fpr;
  if (!nay_format_plan_of(f, 0, &nkeys, &bits_per_key, &fpr)) return;
  json_open("plans", '[');
  for (size_t i = 0; nay_format_plan_of(f, i, &nkeys, &bits_per_key, &fpr); i++) {
    json_open(NULL, '{');
    json_count("nkeys_planned", nkeys);
    json_real("bits_per_key", bits_per_key);
    json_real("fpr_planned", fpr);
    json_close();
  }
  json_close();
}

static void info_json(const char *path, const filter_file *file, const promise *p) {
  json_begin("nay.info/1");
  json_text("file", path);
  if (file->filter != NULL) {
    json_filter(file->filter, file->format, file->nbytes, p);
    info_json_plans(file->filter);
    json_filter_caveats(file->filter);
    size_t len;
    const uint8_t *meta = nay_filter_meta(file->filter, &len);
    if (len > 0) json_bytes("meta", meta, len);
  } else {
    if (file->format != NULL) json_text("format", nay_format_name(file->format));
    if (file->format == NULL) json_null("format");
    json_count("nbytes", file->nbytes);
  }
  json_text("checksum", info_checksum(file));
  json_end();
}

/* ---- Prometheus ---- */

static void info_label(const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\\' || *text == '"') out_bytes("\\", 1);
    if (*text == '\n') {
      out_text("\\n");
    } else {
      out_bytes(text, 1);
    }
  }
}

/*
 * One group of samples for each metric, over all files, each after its HELP and TYPE: the format
 * requires it. So the values are kept until all files are read.
 */
typedef enum info_metric {
  METRIC_UP,
  METRIC_FILE_BYTES,
  METRIC_KEYS_PLANNED,
  METRIC_KEYS_ESTIMATED,
  METRIC_FILL,
  METRIC_FPR_NOW,
  METRIC_FPR_PLANNED,
  METRICS
} info_metric;

static const char *const info_metrics[METRICS][2] = {
    {"up", "1 when the file is readable and intact"},
    {"file_bytes", "size of the file"},
    {"keys_planned", "keys the filter was planned for"},
    {"keys_estimated", "number of keys now, estimated from its bits"},
    {"fill_ratio", "fraction of its bits that are set"},
    {"fpr_now", "false-positive rate now"},
    {"fpr_planned", "false-positive rate at the planned number of keys"},
};

typedef struct info_samples {
  const char *file, *kind;
  bool has[METRICS];
  double value[METRICS];
} info_samples;

static void info_sample(info_samples *s, info_metric metric, double value) {
  s->has[metric] = true;
  s->value[metric] = value;
}

static void info_prom_print(const info_samples *files, size_t n) {
  for (unsigned m = 0; m < METRICS; m++) {
    const char *name = info_metrics[m][0];
    out_text("# HELP nay_%s %s\n# TYPE nay_%s gauge\n", name, info_metrics[m][1], name);
    for (size_t i = 0; i < n; i++) {
      if (!files[i].has[m]) continue;
      out_text("nay_%s{file=\"", name);
      info_label(files[i].file);
      out_text("\",kind=\"%s\"} ", files[i].kind);
      out_text(isfinite(files[i].value[m]) ? "%.10g\n" : "NaN\n", files[i].value[m]);
    }
  }
}

static void info_prom(info_samples *to, const filter_file *file) {
  nay_stats s = {.size = sizeof s};
  bool ok = file->filter != NULL && nay_filter_stats(file->filter, &s) == NAY_OK;
  to->kind = ok ? filterfile_kind_name(file->format, s.kind) : "unknown";
  info_sample(to, METRIC_UP, ok);
  info_sample(to, METRIC_FILE_BYTES, (double)file->nbytes);
  if (!ok) return;
  if (s.nkeys != 0) info_sample(to, METRIC_KEYS_PLANNED, (double)s.nkeys);
  info_sample(to, METRIC_KEYS_ESTIMATED, s.nkeys_estimated);
  info_sample(to, METRIC_FILL, s.fill);
  info_sample(to, METRIC_FPR_NOW, s.fpr_now);
  if (s.nkeys != 0) info_sample(to, METRIC_FPR_PLANNED, s.fpr_planned);
}

/* ---- text ---- */

static void info_line(const char *name, const char *text) {
  out_text("  %s%-10s%s %s\n", paint(PAINT_DIM), name, paint(PAINT_PLAIN), text);
}

static void info_bar(const nay_stats *s) {
  char bar[200] = "", text[256];
  bool blocks = out_is_terminal() && out_is_utf8();
  for (int i = 0; i < 32; i++) {
    bool full = i < (int)(s->fill * 32 + 0.5);
    strcat(bar, blocks ? (full ? "\xe2\x96\x88" : "\xe2\x96\x91") : full ? "#" : ".");
  }
  snprintf(text, sizeof text, "[%s] %.1f%% of %s", bar, s->fill * 100, COUNTED(s->nbits, "bit"));
  info_line("fill", text);
}

static void info_keys(const nay_stats *s, bool overfilled) {
  char text[160], planned[NUMBER_TEXT], now[NUMBER_TEXT];
  count_text(s->nkeys_estimated, now);
  if (s->derived) {
    snprintf(text, sizeof text, "unknown: an intersection");
  } else if (s->nkeys == 0) {
    snprintf(text, sizeof text, "about %s", now);
  } else {
    snprintf(text, sizeof text, "about %s of %s planned (%.0f%%)%s", now,
             count_text((double)s->nkeys, planned), s->utilisation * 100,
             overfilled && s->utilisation > 1 ? ", overfilled" : "");
  }
  info_line("keys", text);
}

static void info_rates(const nay_stats *s, bool native) {
  char text[160], now[NUMBER_TEXT], planned[NUMBER_TEXT];
  fpr_text(s->fpr_now, now);
  if (s->derived) {
    snprintf(text, sizeof text, "unknown: an intersection");
  } else if (s->nkeys == 0) {
    /* double hashing and short hashes: the fill alone does not determine the FPR */
    snprintf(text, sizeof text, "%s%s now", native ? "" : "at least ", now);
  } else {
    snprintf(text, sizeof text, "%s now, %s at the planned number of keys", now,
             fpr_text(s->fpr_planned, planned));
  }
  info_line("FPR", text);
}

static void info_size(const filter_file *file, const nay_stats *s) {
  char text[160], size[NUMBER_TEXT];
  double keys = s->nkeys != 0 ? (double)s->nkeys : s->nkeys_estimated;
  size_text(file->nbytes, size);
  if (keys >= 0.5) {
    snprintf(text, sizeof text, "%s, %.2f bits per key, %s", size, (double)s->nbits / keys,
             COUNTED(s->k, "probe"));
  } else {
    snprintf(text, sizeof text, "%s, %s", size, COUNTED(s->k, "probe"));
  }
  info_line("size", text);
}

/* The plans that the size and k can come from, where the file does not say which. */
static void info_plans(const nay_filter *f) {
  uint64_t nkeys;
  double bits_per_key, fpr;
  for (size_t i = 0; nay_format_plan_of(f, i, &nkeys, &bits_per_key, &fpr); i++) {
    char text[160], rate[NUMBER_TEXT];
    snprintf(text, sizeof text, "%sat most %s, %.0f bits per key, FPR %s", i == 0 ? "" : "or ",
             COUNTED(nkeys, "key"), bits_per_key, fpr_text(fpr, rate));
    info_line(i == 0 ? "planned" : "", text);
  }
}

static void info_text(const char *path, const filter_file *file, const promise *p) {
  char text[400];
  if (file->filter == NULL) return;
  const nay_stats s = p->stats;
  const char *kind = nay_kind_name(s.kind);
  out_text("%s%s%s: %s, %s\n", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
           kind != NULL ? kind : "filter", nay_format_about(file->format));
  info_size(file, &s);
  info_keys(&s, p->overfilled);
  info_plans(file->filter);
  info_bar(&s);
  info_rates(&s, strcmp(nay_format_name(file->format), "nay") == 0);
  uint64_t seed;
  char seeded[40] = "";
  if (filterfile_seed(file->filter, &seed)) {
    snprintf(seeded, sizeof seeded, ", seed %llu", (unsigned long long)seed);
  }
  snprintf(text, sizeof text, "%s%s%s", nay_hash_name(s.hash), seeded,
           s.locked       ? ", keyed: needs --secret"
           : s.stores_key ? ", keyed: the file contains the key"
                          : "");
  info_line("hash", text);
  size_t len;
  const uint8_t *meta = nay_filter_meta(file->filter, &len);
  if (len > 0) info_line("meta", escape_text(meta, len, text, sizeof text));
  bool checked = nay_format_has_checksum(file->format);
  snprintf(text, sizeof text, "%s%s%s", paint(checked ? PAINT_GOOD : PAINT_DIM),
           checked ? "ok" : "none: corruption of this layout goes undetected", paint(PAINT_PLAIN));
  info_line("checksum", text);
  if (nay_format_caveat(file->filter) != NULL) {
    info_line("caveat", nay_format_caveat(file->filter));
  }
}

static void info_prom_table(info_samples *to, const table_file *file) {
  to->kind = "table";
  info_sample(to, METRIC_UP, file->status == NAY_OK);
  info_sample(to, METRIC_FILE_BYTES, (double)file->nbytes);
  if (file->status != NAY_OK) return;
  table_summary s = tablefile_summary(file);
  info_sample(to, METRIC_KEYS_ESTIMATED, s.nkeys);
  info_sample(to, METRIC_FPR_NOW, s.fpr);
}

/* A table of LevelDB or RocksDB; returns the exit status. */
static int info_table(const options *o, info_samples *to, const table_file *file) {
  const char *path = to->file;
  nay_table_filters_info info = {.size = sizeof info};
  if (o->json) {
    tablefile_json(path, file);
  } else if (o->prom) {
    info_prom_table(to, file);
  } else {
    tablefile_info(path, file);
  }
  if (file->status == NAY_OK) nay_table_filters_describe(file->table, &info);
  if (file->status == NAY_OK && info.ndamaged == 0) return EXIT_FOUND;
  out_flush();
  message_error("%s: %s", path, info.ndamaged > 0 ? "a filter is corrupt" : file->why);
  return info.ndamaged > 0 ? EXIT_DAMAGED : exit_of(file->status);
}

static int info_filter(const options *o, info_samples *to) {
  const char *path = to->file;
  filter_file file = filterfile_try(path, o);
  promise p = promise_judge(file.filter, 0);
  if (o->json) {
    info_json(path, &file, &p);
  } else if (o->prom) {
    info_prom(to, &file);
  } else {
    info_text(path, &file, &p);
  }
  nay_filter_free(file.filter);
  out_flush();
  if (file.status == NAY_OK) return promise_tell(o, path, &p, NULL, EXIT_FOUND);
  message_error("%s: %s", path, file.why);
  return exit_of(file.status);
}

static int info_file(const options *o, info_samples *to) {
  table_file table = {.is_table = false};
  if (o->format == NULL) table = tablefile_try(to->file, o->table_format);
  if (!table.is_table) return info_filter(o, to);
  int status = info_table(o, to, &table);
  tablefile_close(&table);
  return status;
}

/* Goes on after a file that cannot be read, as grep does. */
static int info_run(options *o) {
  int worst = EXIT_FOUND;
  size_t n = (size_t)o->noperands;
  info_samples *files = must_alloc(n * sizeof *files);
  for (size_t i = 0; i < n; i++) {
    files[i] = (info_samples){.file = o->operands[i]};
    worst = exit_worse(worst, info_file(o, &files[i]));
  }
  if (o->prom) info_prom_print(files, n);
  free(files);
  out_flush();
  return worst;
}

static const option_row info_options[] = {
    {"prom", 0, NULL, OPTION_FLAG, AT(prom), "write metrics for Prometheus", NULL, 0, NULL},
    {0},
};

const command command_info = {
    .name = "info",
    .alias = "show",
    .run = info_run,
    .summary = "describe a filter file: family, size, fill, FPR and integrity",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .takes = TAKES_FILTER | TAKES_JSON | TAKES_STRICT | TAKES_TABLES,
    .own = info_options,
    .about =
        "Recognises a file by its magic number, and Cassandra's Filter.db by the version in its "
        "name; name any other layout with --format. Shows "
        "the family, the size, the number of keys (estimated from the bits), the false-positive "
        "rate (FPR) now and at the planned number of keys, and whether the checksums match.\n"
        "\n"
        "For a table of LevelDB, RocksDB or nori (.ldb, .sst), or one of mini-lsm with "
        "--format=mini-lsm-sst, it describes the filters inside: layout, "
        "policy, bits per key, entries, expected FPR, prefixes.\n"
        "\n"
        "--json writes one object for each file, whose members doc/json.md lists; its checksum is "
        "\"ok\", \"none\" or an error. --prom "
        "writes metrics for the textfile collector of Prometheus; doc/grafana-dashboard.json "
        "shows them.",
    .examples =
        "$ seq 1000 | nay build -q -n 1000 -p 1% -o thousand.nay\n"
        "$ nay info thousand.nay\n"
        "thousand.nay: blocked, the native file: every family, every byte checksummed\n"
        "  size       1.4 KiB, 10.24 bits per key, 6 probes\n"
        "  keys       about 1,009 of 1,000 planned (101%)\n"
        "  fill       [##############..................] 44.5% of 10,240 bits\n"
        "  FPR        0.875% now, 0.870% at the planned number of keys\n"
        "  hash       xxh3, seed 0\n"
        "  checksum   ok\n"
        "$ nay info --json thousand.nay | jq -c '[.kind, .nkeys_planned, .k, .checksum]'\n"
        "[\"blocked\",1000,6,\"ok\"]\n",
};
