/* cmd_info.c - nay info: what a file is, how full it is, whether it can be trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "filterfile.h"
#include "numbers.h"
#include "parquetfile.h"
#include "prom.h"
#include "puffinfile.h"
#include "sstable_name.h"
#include "tablefile.h"
#include "window_time.h"

typedef struct info_options {
  options common;
  filter_options filter;
  bool prom;
} info_options;

/* How sure it is that the file has this layout. */
static const char *info_confidence(const info_options *o, const filter_file *file) {
  if ((nay_format_traits(file->format) & NAY_FORMAT_MAGIC) != 0) return "certain";
  return file->likely ? "likely" : o->filter.format != NULL ? "named" : "by its name";
}

static const char *info_checksum(const filter_file *file) {
  if (file->status != NAY_OK) return file->why;
  return (nay_format_traits(file->format) & NAY_FORMAT_CHECKSUM) != 0 ? "ok" : "none";
}

/* The i-th plan that the size and k can come from, where the file does not say which. */
static bool info_plan(const nay_filter *f, const nay_stats *s, size_t i, nay_plan *plan) {
  plan->size = sizeof *plan;
  return s->nkeys == 0 && nay_filter_plan(f, i, NULL, plan) == NAY_OK && plan->nkeys != 0;
}

static void info_json_plans(const nay_filter *f, const promise *p) {
  nay_plan plan;
  if (!info_plan(f, &p->stats, 0, &plan)) return;
  json_open("plans", '[');
  for (size_t i = 0; info_plan(f, &p->stats, i, &plan); i++) {
    json_open(NULL, '{');
    json_count("nkeys_planned", plan.nkeys);
    json_real("bits_per_key", plan.bits_per_key);
    json_real("fpr_planned", plan.fpr);
    json_real("utilisation", p->stats.nkeys_estimated / (double)plan.nkeys);
    json_close();
  }
  json_close();
}

static void info_json_window(const nay_filter *f) {
  uint64_t ticks, clock;
  char text[WINDOW_TEXT];
  if (window_about(f, &ticks, &clock, text) == NULL) return;
  json_count("window", ticks);
  json_count("clock", clock);
}

static void info_json(const info_options *o, const char *path, const filter_file *file,
                      const promise *p) {
  json_begin("nay.info/1");
  json_text("file", path);
  if (file->format != NULL) json_text("format_confidence", info_confidence(o, file));
  if (file->filter != NULL) {
    json_filter(file->filter, file->format, file->nbytes, p);
    if (p->nkeys_max != 0) json_count("nkeys_max", p->nkeys_max);
    info_json_window(file->filter);
    info_json_plans(file->filter, p);
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

static void info_prom(prom_samples *to, const filter_file *file, const promise *p) {
  bool ok = file->filter != NULL;
  to->kind = ok ? filterfile_kind_name(file->format, p->stats.kind) : "unknown";
  prom_sample(to, PROM_UP, ok);
  prom_sample(to, PROM_FILE_BYTES, (double)file->nbytes);
  if (ok) prom_filter(to, p);
}

/* ---- text ---- */

static void info_line(const char *name, const char *text) {
  out_text("  %s%-10s%s %s\n", paint(PAINT_DIM), name, paint(PAINT_PLAIN), text);
}

/* Which ranges a range filter answers, and how. */
static void info_ranges(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  char text[200];
  if (nay_filter_stats(f, &s) != NAY_OK || s.range_length == 0) return;
  snprintf(text, sizeof text, "%s",
           s.range_exact != 0 ? "exact: no false positive, for ranges of any length"
                              : COUNTED(s.range_length, "number"));
  info_line("ranges", text);
}

static void info_window(const nay_filter *f) {
  uint64_t ticks, clock;
  char text[WINDOW_TEXT];
  if (window_about(f, &ticks, &clock, text) != NULL) info_line("window", text);
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

/* "of 100 planned (7%)": of a filter that grows, how far it has grown. */
static const char *info_share(const promise *p, char *text, size_t cap) {
  const nay_stats *s = &p->stats;
  char planned[NUMBER_TEXT];
  const char *more = s->saturated ? " or more" : "";
  double share = 100 * promise_utilisation(p);
  if (s->kind == NAY_SCALABLE) {
    snprintf(text, cap, ", planned to start with %s", count_text((double)s->nkeys, planned));
  } else if (p->nkeys_max != 0) {
    snprintf(text, cap, " of at most %s (%.0f%%%s), planned to start with %s",
             COUNTED(p->nkeys_max, "key"), share, more, count_text((double)s->nkeys, planned));
  } else {
    snprintf(text, cap, " of %s planned (%.0f%%%s)", count_text((double)s->nkeys, planned), share,
             more);
  }
  return text;
}

static void info_keys(const promise *p) {
  const nay_stats *s = &p->stats;
  char text[240], share[160] = "", now[NUMBER_TEXT];
  count_text(s->nkeys_estimated, now);
  if (s->derived) {
    snprintf(text, sizeof text, "unknown: an intersection");
  } else {
    bool above = s->nkeys == 0 || s->utilisation > 1;
    if (s->nkeys != 0) info_share(p, share, sizeof share);
    snprintf(text, sizeof text, "%s %s%s%s%s", promise_about(s), now, share,
             s->saturated ? ", saturated" : "", p->overfilled && above ? ", overfilled" : "");
  }
  info_line("keys", text);
}

static void info_rates(const promise *p, bool native) {
  const nay_stats *s = &p->stats;
  bool grows = p->nkeys_max != 0 || s->kind == NAY_SCALABLE;
  char text[160], now[NUMBER_TEXT], planned[NUMBER_TEXT];
  fpr_text(s->fpr_now, now);
  if (s->derived) {
    snprintf(text, sizeof text, "unknown: an intersection");
  } else if (s->nkeys == 0) {
    /* double hashing and short hashes: the fill alone does not determine the FPR */
    snprintf(text, sizeof text, "%s%s now", native ? "" : "at least ", now);
  } else {
    snprintf(text, sizeof text, "%s now, %s at the %s", now, fpr_text(s->fpr_planned, planned),
             grows ? "end of its growth" : "planned number of keys");
  }
  info_line("FPR", text);
}

static void info_size(const filter_file *file, const nay_stats *s) {
  char text[160], size[NUMBER_TEXT];
  double bits = stats_bits_per_key(s);
  size_text(file->nbytes, size);
  if (bits == bits) { /* not NAN */
    snprintf(text, sizeof text, "%s, %.2f bits per key, %s", size, bits, COUNTED(s->k, "probe"));
  } else {
    snprintf(text, sizeof text, "%s, %s", size, COUNTED(s->k, "probe"));
  }
  info_line("size", text);
}

static void info_plans(const nay_filter *f, const nay_stats *s) {
  nay_plan plan;
  for (size_t i = 0; info_plan(f, s, i, &plan); i++) {
    char text[200], rate[NUMBER_TEXT];
    snprintf(text, sizeof text, "%sat most %s, %.0f bits per key, FPR %s: %s%.0f%% used",
             i == 0 ? "" : "or ", COUNTED(plan.nkeys, "key"), plan.bits_per_key,
             fpr_text(plan.fpr, rate), s->saturated ? "at least " : "",
             100 * s->nkeys_estimated / (double)plan.nkeys);
    info_line(i == 0 ? "planned" : "", text);
  }
}

/* How the layout is known, where no magic number tells it. */
static void info_layout(const char *path, const filter_file *file) {
  char text[200];
  const char *name = nay_format_name(file->format);
  if ((nay_format_traits(file->format) & NAY_FORMAT_MAGIC) != 0) return;
  if (file->likely) {
    snprintf(text, sizeof text, "likely %s, by its numbers and length; --format=%s for answers",
             name, name);
  } else {
    bool by_name = sstable_name_format(path) == file->format;
    snprintf(text, sizeof text, "%s, only as %s: it has no magic number", name,
             by_name ? "the version in its name says" : "--format names it");
  }
  info_line("layout", text);
}

static void info_text(const char *path, const filter_file *file, const promise *p) {
  char text[400];
  if (file->filter == NULL) return;
  const nay_stats s = p->stats;
  const char *kind = nay_kind_name(s.kind);
  out_text("%s%s%s: %s, %s\n", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
           kind != NULL ? kind : "filter", nay_format_about(file->format));
  info_layout(path, file);
  info_size(file, &s);
  info_keys(p);
  info_plans(file->filter, &s);
  info_bar(&s);
  info_rates(p, strcmp(nay_format_name(file->format), "nay") == 0);
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
  const char *key = filter_states(file->filter);
  info_ranges(file->filter);
  info_window(file->filter);
  if (key != NULL && !nay_key_description_same(key, "text")) info_line("key type", key);
  size_t len;
  const uint8_t *meta = nay_filter_meta(file->filter, &len);
  if (len > 0) info_line("meta", escape_text(meta, len, text, sizeof text));
  bool checked = (nay_format_traits(file->format) & NAY_FORMAT_CHECKSUM) != 0;
  snprintf(text, sizeof text, "%s%s%s", paint(checked ? PAINT_GOOD : PAINT_DIM),
           checked ? "ok" : "none: corruption of this layout goes undetected", paint(PAINT_PLAIN));
  info_line("checksum", text);
  if (nay_filter_caveat(file->filter) != NULL) {
    info_line("caveat", nay_filter_caveat(file->filter));
  }
}

/* A table of LevelDB or RocksDB; returns the exit status. */
static int info_table(const info_options *o, prom_samples *to, const table_file *file) {
  const char *path = to->file;
  table_summary s = tablefile_summary(file);
  if (o->common.json) {
    tablefile_json(path, file, &s);
  } else if (o->prom) {
    prom_table(to, file, &s);
  } else {
    tablefile_info(path, file, &s);
  }
  out_flush();
  if (s.noverfilled != 0) {
    message_error("warning: %s: %llu of %s overfilled", path, (unsigned long long)s.noverfilled,
                  COUNTED(s.info.nfilters, "filter"));
  }
  int status = s.noverfilled != 0 && o->common.strict ? EXIT_OVERFILLED : EXIT_FOUND;
  if (file->status == NAY_OK && s.info.ndamaged == 0) return status;
  message_error("%s: %s", path, s.info.ndamaged > 0 ? "a filter is corrupt" : file->why);
  return s.info.ndamaged > 0 ? EXIT_DAMAGED : exit_of(file->status);
}

static int info_filter(const info_options *o, prom_samples *to) {
  const char *path = to->file;
  filter_options filter = o->filter;
  filter.guesses = true;
  filter_file file = filterfile_try(path, &filter);
  promise p = promise_judge(file.filter, 0);
  if (o->common.json) {
    info_json(o, path, &file, &p);
  } else if (o->prom) {
    info_prom(to, &file, &p);
  } else {
    info_text(path, &file, &p);
  }
  nay_filter_free(file.filter);
  out_flush();
  if (file.status == NAY_OK) return promise_tell(&o->common, path, &p, NULL, EXIT_FOUND);
  message_error("%s: %s", path, file.why);
  return exit_of(file.status);
}

static int info_file(const info_options *o, prom_samples *to) {
  table_file table = {.is_table = false};
  bool unnamed = o->filter.format == NULL && o->filter.table_format == NULL;
  if (unnamed && !o->prom && parquetfile_is(to->file)) {
    return parquetfile_info(to->file, o->common.json);
  }
  if (unnamed && !o->prom && puffinfile_is(to->file)) {
    return puffinfile_info(to->file, o->common.json);
  }
  if (o->filter.format == NULL) table = tablefile_try(to->file, o->filter.table_format);
  if (!table.is_table) return info_filter(o, to);
  int status = info_table(o, to, &table);
  tablefile_close(&table);
  return status;
}

/* Goes on after a file that cannot be read, as grep does. */
static int info_run(options *common) {
  info_options *o = (info_options *)common;
  prom_check(&o->common, o->prom);
  int worst = EXIT_FOUND;
  size_t n = (size_t)o->common.noperands;
  prom_samples *files = must_alloc(n * sizeof *files);
  for (size_t i = 0; i < n; i++) {
    files[i] = (prom_samples){.file = o->common.operands[i]};
    worst = exit_worse(worst, info_file(o, &files[i]));
  }
  if (o->prom) prom_print(files, n);
  free(files);
  out_flush();
  return worst;
}

static const option_row info_rows[] = {
    {"prom", 0, NULL, FLAG_AT(info_options, prom), .help = "write metrics for Prometheus"},
    {0},
};
static const option_use info_uses[] = {
    TAKES(info_options, filter, FILTER_FILE_FORMAT | FILTER_SECRET),
    REPORTS(REPORT_JSON | REPORT_STRICT),
    {0},
};

const command command_info = {
    .name = "info",
    .alias = "show",
    .run = info_run,
    .size = sizeof(info_options),
    .summary = "describe a filter file: family, size, fill, FPR and integrity",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = info_rows,
    .uses = info_uses,
    .about =
        "Recognises a file by its magic number, and Cassandra's Filter.db by the version in its "
        "name; describes what is likely one of another system, and says so; name any "
        "other layout with --format. Shows "
        "the family, the size, the number of keys (estimated from the bits), the false-positive "
        "rate (FPR) now and at the planned number of keys, and whether the checksums match.\n"
        "\n"
        "For a table of LevelDB, RocksDB or nori (.ldb, .sst), or one of mini-lsm with "
        "--format=mini-lsm-sst, it describes the filters inside: layout, "
        "policy, bits per key, entries, expected FPR, prefixes.\n"
        "\n"
        "For a Parquet file it describes the columns and their split-block filters.\n"
        "\n"
        "How many of its planned keys a filter holds is its utilisation; a filter that holds so "
        "many "
        "that its FPR is more than 10% above the planned one is overfilled: a warning says so. A "
        "filter, or a block of one, without a clear bit is saturated: it may hold any number of "
        "keys, and the number shown is a lower bound. "
        "Some "
        "layouts of other systems state k and the number of bits alone; the plans that these can "
        "come from are listed, each with the most keys, and what holds more than all of them is "
        "overfilled.\n"
        "\n"
        "--json writes one object for each file, whose members doc/json.md lists; its checksum is "
        "\"ok\", \"none\" or an error. --prom "
        "writes metrics for the textfile collector of Prometheus; doc/grafana-dashboard.json "
        "shows them. A file that is named twice has its metrics once; bytes of its name that are "
        "not "
        "UTF-8, control characters and backslashes are \\xHH in its label.",
    .examples =
        "$ seq 1000 | nay build -q -n 1000 -p 1% -o thousand.nay\n"
        "$ nay info thousand.nay\n"
        "thousand.nay: blocked, the native file, every byte checksummed\n"
        "  size       1.4 KiB, 10.24 bits per key, 6 probes\n"
        "  keys       about 1,009 of 1,000 planned (101%)\n"
        "  fill       [##############..................] 44.5% of 10,240 bits\n"
        "  FPR        0.875% now, 0.870% at the planned number of keys\n"
        "  hash       xxh3, seed 0\n"
        "  checksum   ok\n"
        "$ nay info --json thousand.nay | jq -c '[.kind, .nkeys_planned, .k, .checksum]'\n"
        "[\"blocked\",1000,6,\"ok\"]\n",
};
