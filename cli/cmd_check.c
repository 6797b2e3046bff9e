/*
 * cmd_check.c - nay check: grep for filters.
 *
 * Each batch of keys becomes a bitmap of answers; what is then counted or printed are bits. Several
 * filters share the hashes when their hash function and seed agree, else each hashes the keys.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "described.h"
#include "filterfile.h"
#include "hashers.h"
#include "key_files.h"
#include "numbers.h"
#include "parquetfile.h"
#include "puffinfile.h"
#include "select.h"
#include "tablefile.h"
#include "window_time.h"

#define CHECK_FILTERS 64

typedef struct check_options {
  options common;
  filter_options filter;
  keys_options keys;
  select_options select;
  window_options window;
  bool invert, annotate;
  bool any, all, which; /* the operands are filters */
  const char *in;       /* a column: they are Parquet files */
  uint64_t row_group;   /* UINT64_MAX: all */
  uint64_t blob;        /* of a Puffin file; PUFFINFILE_ONLY: the only filter */
  bool ranges;          /* records are the two ends of ranges */
} check_options;

/* A column of a Parquet file: a filter for each row group, NULL where there is none. */
typedef struct check_parquet {
  nay_sst_parquet *file;
  uint64_t column, ngroups;
  nay_filter **filters;
} check_parquet;

typedef struct check {
  const check_options *o;
  const char *const *names;
  nay_filter **filters; /* NULL: it is the table */
  table_file *tables;
  size_t nfilters;
  bool *shares_hash;       /* with the first */
  check_parquet *parquets; /* --in: instead of filters and tables; else NULL */
  selection selection;
  char first_column[64]; /* --ranges: of -k */
  key_check key_check;   /* --in */
} check;

/* ---- probing ---- */

static void check_table(const nay_sst_filters *t, const key_batch *b, uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) bitmap[w] = 0;
  for (size_t i = 0; i < b->n; i++) {
    bitmap[i / 64] |= (uint64_t)nay_sst_filters_may_contain(t, b->keys[i], b->lens[i]) << i % 64;
  }
}

/* A key may be in the file when it may be in one of the row groups; keys are texts of its type. */
static bool check_parquet_key(const check *c, const check_parquet *p, const key_batch *b,
                              size_t i) {
  const char *text = (const char *)b->keys[i];
  for (uint64_t g = 0; g < p->ngroups; g++) {
    nay_diag diag = {.what = NULL};
    char why[DIAG_TEXT], shown[80];
    bool maybe = true;
    uint8_t key[16];
    size_t len;
    nay_status status = p->filters[g] != NULL
                            ? nay_sst_parquet_filter_may_contain(p->file, p->column, p->filters[g],
                                                                 text, b->lens[i], &diag, &maybe)
                            : nay_sst_parquet_key(p->file, p->column, text, b->lens[i], &diag, key,
                                                  sizeof key, &len);
    if (status == NAY_ENOTSUP) {
      die(EXIT_TROUBLE, "%s: %s, which is %s, cannot be probed: %s", c->names[p - c->parquets],
          c->o->in, c->key_check.type, diag_text(status, &diag, why));
    }
    if (status != NAY_OK && status != NAY_EBUFFER) {
      die(EXIT_TROUBLE, "'%s' is no value of %s: %s",
          escape_text(b->keys[i], b->lens[i], shown, sizeof shown), c->o->in,
          diag_text(status, &diag, why));
    }
    if (maybe) return true;
  }
  return false;
}

/* Whether a text is a value of the column, in all files. A column that cannot be probed is reported
 * when it is probed. */
static bool check_parquet_accepts(const void *ctx, const char *text, size_t len, nay_diag *diag) {
  const check *c = ctx;
  uint8_t key[16];
  size_t key_len;
  for (size_t f = 0; f < c->nfilters; f++) {
    const check_parquet *p = &c->parquets[f];
    if (nay_sst_parquet_key(p->file, p->column, text, len, diag, key, sizeof key, &key_len) ==
        NAY_EINVAL) {
      return false;
    }
  }
  return true;
}

static void check_parquet_keys(const check *c, const check_parquet *p, const key_batch *b,
                               uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) bitmap[w] = 0;
  for (size_t i = 0; i < b->n; i++) {
    bitmap[i / 64] |= (uint64_t)check_parquet_key(c, p, b, i) << i % 64;
  }
}

/* The reader has asked: a range that is none is a bad record. */
static void check_ranges(const key_batch *b, uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) bitmap[w] = 0;
  for (size_t i = 0; i < b->n; i++) bitmap[i / 64] |= (uint64_t)b->maybes[i] << i % 64;
}

static void check_probe(const check *c, size_t f, const key_batch *b, uint64_t *bitmap) {
  if (c->parquets != NULL) {
    check_parquet_keys(c, &c->parquets[f], b, bitmap);
    return;
  }
  if (c->filters[f] == NULL) {
    check_table(c->tables[f].table, b, bitmap);
    return;
  }
  if (c->o->ranges) {
    check_ranges(b, bitmap);
    return;
  }
  nay_status status = c->shares_hash[f] ? batch_may_contain(c->filters[f], b, bitmap)
                                        : nay_filter_may_contain_many(c->filters[f], b->keys,
                                                                      b->lens, b->n, bitmap);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", c->names[f], nay_status_text(status));
}

/* The selected keys of a batch: union or intersection over the filters, perhaps inverted. */
static void check_select(const check *c, const key_batch *b, uint64_t *bitmap) {
  uint64_t one[BATCH_WORDS];
  check_probe(c, 0, b, bitmap);
  for (size_t f = 1; f < c->nfilters; f++) {
    check_probe(c, f, b, one);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      bitmap[w] = c->o->all ? bitmap[w] & one[w] : bitmap[w] | one[w];
    }
  }
  for (size_t w = 0; c->o->invert && w < (b->n + 63) / 64; w++) {
    bitmap[w] = ~bitmap[w] & word_mask(b->n, w);
  }
}

/* ---- printing ---- */

/* The records as they came, and nothing else. */
static bool check_prints_records(const check_options *o) {
  return !o->common.quiet && !o->select.count && !o->common.json && !o->annotate && !o->which &&
         !o->select.only_names;
}

/* With -a every key of the first n; without it JSON has the selected keys, as plain output has. */
static void check_annotated(const check *c, const key_batch *b, const uint64_t *bitmap, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool selected = is_selected(bitmap, i), maybe = selected != c->o->invert;
    if (!selected && !c->o->annotate) continue;
    size_t len;
    const uint8_t *record = batch_record(b, i, &len);
    if (!c->o->common.json) selection_pass(b, i, "bad\t");
    if (c->o->common.json) {
      json_open(NULL, '{');
      if (c->o->ranges) {
        selection_json_range(b, i);
      } else {
        selection_json_key(b, i);
      }
      json_bool("maybe", maybe);
      json_end();
    } else {
      selection_prefix(b, i);
      out_text("%s%s%s\t", paint(maybe ? PAINT_GOOD : PAINT_DIM), maybe ? "maybe" : "nay",
               paint(PAINT_PLAIN));
      out_record(record, len);
    }
  }
  if (!c->o->common.json) selection_pass(b, n, "bad\t");
}

typedef uint64_t check_bitmap[BATCH_WORDS];

/* The key, a tab, and the filters that may hold it. */
static void check_which_key(const check *c, const key_batch *b, const check_bitmap *maps,
                            size_t i) {
  size_t len;
  const uint8_t *record = batch_record(b, i, &len);
  if (c->o->common.json) {
    json_open(NULL, '{');
    selection_json_key(b, i);
    json_open("filters", '[');
  } else {
    selection_prefix(b, i);
    out_record(record, len - (record[len - 1] == '\n'));
  }
  const char *before = "\t";
  for (size_t f = 0; f < c->nfilters; f++) {
    if (!is_selected(maps[f], i)) continue;
    if (c->o->common.json) json_text(NULL, c->names[f]);
    if (!c->o->common.json) out_text("%s%s", before, c->names[f]);
    before = ",";
  }
  if (c->o->common.json) json_close();
  if (c->o->common.json) json_end();
  if (!c->o->common.json) out_text("\n");
}

static void check_which(check *c, key_stream *s, const key_batch *b) {
  static check_bitmap maps[CHECK_FILTERS];
  uint64_t any[BATCH_WORDS] = {0};
  for (size_t f = 0; f < c->nfilters; f++) {
    check_probe(c, f, b, maps[f]);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) any[w] |= maps[f][w];
  }
  size_t n = selection_take(&c->selection, s, b, any);
  for (size_t i = 0; i < n && !c->o->common.quiet; i++) {
    if (!c->o->common.json) selection_pass(b, i, "");
    if (is_selected(any, i)) check_which_key(c, b, (const check_bitmap *)maps, i);
  }
  if (!c->o->common.quiet && !c->o->common.json) selection_pass(b, n, "");
}

static void check_batch(check *c, key_stream *s, const key_batch *b) {
  uint64_t bitmap[BATCH_WORDS];
  bool records = check_prints_records(c->o);
  if (records) selection_print_header(&c->selection, b);
  if (c->o->which) {
    check_which(c, s, b);
    return;
  }
  check_select(c, b, bitmap);
  size_t n = selection_take(&c->selection, s, b, bitmap);
  if (records) {
    selection_print(&c->selection, b, bitmap);
  } else if (!c->o->common.quiet && !c->o->select.count && !c->o->select.only_names) {
    check_annotated(c, b, bitmap, n);
  }
}

/* ---- the command ---- */

/* What a filter or a table states of its keys. */
static const char *check_states(const check *c, size_t f) {
  nay_sst_filters_info info = {.size = sizeof info};
  if (c->filters[f] != NULL) return filter_states(c->filters[f]);
  nay_sst_filters_stats(c->tables[f].table, &info);
  return info.key;
}

/* The filters of the column, of all row groups or of one. */
static void check_open_parquet(check *c, check_options *o, size_t f) {
  const char *path = c->names[f];
  check_parquet *p = &c->parquets[f];
  nay_sst_parquet_info info = {.size = sizeof info};
  p->file = parquetfile_open(path);
  p->column = parquetfile_column(p->file, path, o->in);
  nay_sst_parquet_stats(p->file, &info);
  bool one = o->row_group != UINT64_MAX;
  if (one && o->row_group >= info.nrow_groups) {
    die(EXIT_TROUBLE, "%s has %s: no number %llu, they count from 0", path,
        COUNTED(info.nrow_groups, "row group"), (unsigned long long)o->row_group);
  }
  p->ngroups = one ? 1 : info.nrow_groups;
  p->filters = must_alloc((p->ngroups + 1) * sizeof *p->filters);
  uint64_t nlacking = 0;
  for (uint64_t g = 0; g < p->ngroups; g++) {
    nay_diag diag = {.what = NULL};
    char why[DIAG_TEXT];
    nay_sst_parquet_filter at = {.size = sizeof at};
    uint64_t group = one ? o->row_group : g;
    nay_sst_parquet_filter_at(p->file, group, p->column, &at);
    nay_status status = at.has_filter ? nay_sst_parquet_filter_read(p->file, group, p->column, NULL,
                                                                    &diag, &p->filters[g])
                                      : NAY_ENOTSUP;
    if (status != NAY_OK) p->filters[g] = NULL;
    nlacking += status == NAY_ENOTSUP;
    if (status != NAY_OK && status != NAY_ENOTSUP) {
      die(exit_of(status), "%s: %s", path, diag_text(status, &diag, why));
    }
  }
  if (nlacking != 0) {
    message_error("warning: %s: %llu of %s no filter of %s that can be read: every answer is maybe",
                  path, (unsigned long long)nlacking,
                  p->ngroups == 1 ? "1 row group has" : "its row groups have", o->in);
  }
}

/* --in: the column gives the keys their bytes, and the file has no secret, blob or clock. */
static void check_in_options(const check_options *o) {
  if (described_is_given(&o->keys) || o->filter.format != NULL || o->filter.table_format != NULL) {
    die(EXIT_TROUBLE,
        "--in reads keys as they are, in the type of the column: omit --key, --trim, "
        "--ignore-case and --format");
  }
  if (o->blob != PUFFINFILE_ONLY || o->filter.secret != NULL || window_begin(&o->window)) {
    die(EXIT_TROUBLE, "--in probes a Parquet file: omit --blob, --secret and --now");
  }
}

static void check_in_keys(check *c, check_options *o) {
  nay_sst_parquet_column column = {.size = sizeof column};
  nay_sst_parquet_column_at(c->parquets[0].file, c->parquets[0].column, &column);
  c->key_check = (key_check){check_parquet_accepts, c, column.type};
  o->keys.check = &c->key_check;
}

static void check_open(check *c, check_options *o) {
  if (o->in != NULL) {
    check_in_options(o);
    c->parquets = must_alloc(c->nfilters * sizeof *c->parquets);
  } else if (o->row_group != UINT64_MAX) {
    die(EXIT_TROUBLE, "--row-group is for a Parquet file: give the column, --in NAME");
  }
  for (size_t f = 0; f < c->nfilters; f++) {
    c->tables[f] = (table_file){.is_table = false};
    c->filters[f] = NULL;
    c->shares_hash[f] = false;
    if (o->in != NULL) {
      check_open_parquet(c, o, f);
      continue;
    }
    bool puffin = c->o->filter.format == NULL && puffinfile_is(c->names[f]);
    if (o->blob != PUFFINFILE_ONLY && !puffin) {
      die(EXIT_TROUBLE, "%s: --blob is for a Puffin file", c->names[f]);
    }
    if (puffin) c->filters[f] = puffinfile_filter(c->names[f], o->blob);
    if (puffin) filterfile_unlock(c->filters[f], c->names[f], c->o->filter.secret);
    if (!puffin && c->o->filter.format == NULL)
      c->tables[f] = tablefile_open(c->names[f], c->o->filter.table_format);
    if (!puffin && !c->tables[f].is_table)
      c->filters[f] = filterfile_open(&c->o->common, &c->o->filter, c->names[f]);
    /* a range filter is asked with keys: a hash has no place in their order */
    bool by_keys = c->filters[f] != NULL && nay_filter_kind(c->filters[f]) == NAY_RANGE;
    c->shares_hash[f] = !by_keys && filters_hash_alike(c->filters[0], c->filters[f]);
    if (c->filters[f] != NULL) described_form(&o->keys, nay_filter_format(c->filters[f]));
    described_by(&o->keys, c->names[f], check_states(c, f));
    if (!window_begin(&o->window)) continue;
    if (c->filters[f] == NULL) die(EXIT_TROUBLE, "--now is for windows by time, not for tables");
    window_advance(&o->window, c->filters[f], c->names[f]);
  }
}

/* Of tables no plan is known. */
static int check_promises(const check *c) {
  int status = c->selection.nselected > 0 ? EXIT_FOUND : EXIT_NONE;
  for (size_t f = 0; f < c->nfilters; f++) {
    if (c->filters[f] == NULL) continue;
    const char *caveat = nay_filter_caveat(c->filters[f]);
    if (caveat != NULL) message_error("warning: %s: %s", c->names[f], caveat);
    promise p = promise_judge(c->filters[f], 0);
    status = promise_tell(&c->o->common, c->names[f], &p, NULL, status);
  }
  return status;
}

static void check_count(const check *c, const key_stream *s) {
  if (!c->o->common.json && c->o->keys.with_name) {
    if (s != NULL) selection_files(&c->selection, s);
    return;
  }
  if (!c->o->common.json) {
    out_text("%llu\n", (unsigned long long)c->selection.nselected);
    return;
  }
  bool overfilled = false;
  for (size_t f = 0; f < c->nfilters; f++) {
    if (c->filters[f] != NULL) overfilled |= promise_judge(c->filters[f], 0).overfilled;
  }
  json_begin("nay.check/1");
  json_count("nkeys", c->selection.nkeys);
  json_count("nselected", c->selection.nselected);
  json_count("nbad", bads_count());
  json_bool("overfilled", overfilled);
  if (c->o->keys.with_name && s != NULL) selection_files(&c->selection, s);
  json_end();
}

/* --ranges: of a range filter, and with both ends in a record. */
static void check_range_options(check *c, check_options *o) {
  if (c->filters[0] == NULL || nay_filter_kind(c->filters[0]) != NAY_RANGE) {
    die(EXIT_TROUBLE, "%s: --ranges is for range filters (nay build -t range --range-length COUNT)",
        c->names[0]);
  }
  bool columns = o->keys.csv || o->keys.tsv || o->keys.separator != NULL;
  if (o->keys.length_prefixed || o->keys.type == KEY_U64LE) {
    die(EXIT_TROUBLE, "--ranges: the ends of a range are texts in a record");
  }
  if (!columns && !o->keys.jsonl && o->keys.column == NULL) o->keys.separator = "\t";
  o->keys.values = true;
  o->keys.ranges = c->filters[0];
  if (o->keys.column == NULL || o->keys.jsonl) return;
  const char *comma = strchr(o->keys.column, ',');
  size_t n = comma != NULL ? (size_t)(comma - o->keys.column) : 0;
  if (n == 0 || n >= sizeof c->first_column || comma[1] == '\0' || strchr(comma + 1, ',') != NULL) {
    die(EXIT_TROUBLE, "--ranges: -k names two columns, the first and the second end: -k 2,3");
  }
  memcpy(c->first_column, o->keys.column, n);
  c->first_column[n] = '\0';
  o->keys.column = c->first_column;
  o->keys.value = comma + 1;
  if (strcmp(o->keys.column, o->keys.value) == 0) {
    die(EXIT_TROUBLE, "--ranges: -k names one column twice");
  }
}

static void check_options_agree(const check_options *o, bool many) {
  if (o->ranges && many)
    die(EXIT_TROUBLE,
        "--ranges takes one filter: it excludes --any, --all and "
        "--which");
  if (o->ranges && o->keys.args.n > 0) {
    die(EXIT_TROUBLE, "--ranges reads both ends from a file: it excludes -e");
  }
  if (o->any + o->all + o->which > 1)
    die(EXIT_TROUBLE, "--any, --all and --which are mutually exclusive");
  if (o->which && (o->invert || o->annotate || o->select.count)) {
    die(EXIT_TROUBLE, "--which has its own output: it excludes -v, -c and -a");
  }
  if (o->select.only_names && (o->which || o->annotate || o->select.count)) {
    die(EXIT_TROUBLE, "-l prints names of files alone: it excludes -a, -c and --which");
  }
  if ((o->select.only_names || o->keys.with_name) && o->keys.args.n > 0) {
    die(EXIT_TROUBLE, "%s is for key files, and -e gives the keys",
        o->select.only_names ? "-l" : "-H");
  }
  if (o->common.noperands > CHECK_FILTERS && many)
    die(EXIT_TROUBLE, "at most %d filters", CHECK_FILTERS);
}

/* The files to read keys from: --keys, or the operands after the filters. */
static const char *const *check_key_files(check_options *o, size_t nfilters, size_t *n) {
  const char *const *paths = keys_operands(&o->common, &o->keys, (int)nfilters, n);
  if (o->keys.files.n == 0) return key_files_list(&o->keys, paths, n);
  if (*n > 0) die(EXIT_TROUBLE, "--keys and key files as operands are mutually exclusive");
  if (o->keys.args.n > 0) die(EXIT_TROUBLE, "--keys and -e are mutually exclusive");
  *n = o->keys.files.n;
  return key_files_list(&o->keys, (const char *const *)o->keys.files.at, n);
}

/* As in grep a --max-count of 0 reads nothing. Returns the exit status of the key files. */
static int check_keys(check *c, const char *const *paths, size_t npaths) {
  bool counts = selection_counts(&c->o->common, &c->o->select) && !c->o->common.quiet;
  if (c->o->select.max_count == 0) {
    if (counts) check_count(c, NULL);
    out_flush();
    return EXIT_FOUND;
  }
  key_stream *s = stream_open_to_answer(&c->o->common, &c->o->keys, paths, npaths, c->filters[0],
                                        ON_BAD_REPORT);
  for (key_batch *b; !selection_done(&c->selection) && (b = stream_next(s)) != NULL;) {
    check_batch(c, s, b);
    if (b->idle) out_flush();
  }
  int status = stream_status(s); /* the last file may have failed */
  if (counts) check_count(c, s);
  out_flush();
  stream_close(s);
  return selection_done(&c->selection) ? EXIT_FOUND : status; /* -q and a hit: as grep */
}

static int check_run(options *common) {
  check_options *o = (check_options *)common;
  bool many = o->any || o->all || o->which;
  check_options_agree(o, many);
  nay_filter *filters[CHECK_FILTERS];
  table_file tables[CHECK_FILTERS];
  bool shares_hash[CHECK_FILTERS];
  check c = {.o = o,
             .names = (const char *const *)o->common.operands,
             .filters = filters,
             .tables = tables,
             .nfilters = many ? (size_t)o->common.noperands : 1,
             .shares_hash = shares_hash,
             .parquets = NULL,
             .selection = selection_begin(&o->common, &o->select, &o->keys)};
  size_t npaths;
  const char *const *paths = check_key_files(o, c.nfilters, &npaths);
  check_open(&c, o);
  if (o->ranges) check_range_options(&c, o);
  if (o->in != NULL) check_in_keys(&c, o);
  int reading = check_keys(&c, paths, npaths);
  int status = exit_worse(check_promises(&c), reading);
  for (size_t f = 0; f < c.nfilters; f++) {
    nay_filter_free(filters[f]);
    tablefile_close(&tables[f]);
    if (c.parquets == NULL) continue;
    for (uint64_t g = 0; g < c.parquets[f].ngroups; g++) nay_filter_free(c.parquets[f].filters[g]);
    free(c.parquets[f].filters);
    nay_sst_parquet_free(c.parquets[f].file);
  }
  free(c.parquets);
  selection_end(&c.selection);
  return status;
}

static const option_row check_rows[] = {
    {"invert-match", 'v', NULL, FLAG_AT(check_options, invert),
     .help = "select the keys that are certainly absent (nay) instead of the maybes"},
    {"quiet", 'q', NULL, FLAG_AT(check_options, common.quiet),
     .help = "print nothing; the first selected key decides the exit status"},
    {"annotate", 'a', NULL, FLAG_AT(check_options, annotate),
     .help = "print every key, preceded by \"maybe\" or \"nay\" and a tab"},
    {"any", 0, NULL, FLAG_AT(check_options, any),
     .help = "all operands are filters: select keys that at least one may contain"},
    {"all", 0, NULL, FLAG_AT(check_options, all),
     .help = "all operands are filters: select keys that every one may contain"},
    {"which", 0, NULL, FLAG_AT(check_options, which),
     .help = "all operands are filters: print each key with the filters that may contain it"},
    {"in", 0, "COLUMN", TEXT_AT(check_options, in),
     .help = "FILTER is a Parquet file: probe the filters of this column"},
    {"row-group", 0, "N", NUMBER_AT(check_options, row_group),
     .help = "with --in, those of one row group, counted from 0", .preset = UINT64_MAX},
    {"blob", 0, "N", NUMBER_AT(check_options, blob),
     .help = "FILTER is a Puffin file: probe the filter in this blob, counted from 0",
     .preset = UINT64_MAX},
    {"ranges", 0, NULL, FLAG_AT(check_options, ranges),
     .help = "records are the two ends of a range, both included, separated by a tab, or the "
             "columns that -k names (-k 2,3): select those in which a range filter may have a key"},
    {0},
};
static const option_use check_uses[] = {
    TAKES(check_options, filter, FILTER_FILE_FORMAT | FILTER_SECRET),
    TAKES(check_options, window, 0),
    TAKES(check_options, select, SELECT_COUNT | SELECT_MAX_COUNT | SELECT_NAMES),
    TAKES(check_options, keys,
          KEYS_FILES | KEYS_DIRS | KEYS_ARGS | KEYS_NAME | KEYS_LINE_NUMBER | KEYS_STYLE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_check = {
    .name = "check",
    .alias = "query",
    .run = check_run,
    .size = sizeof(check_options),
    .summary = "print the keys that a filter may contain, or with -v those it does not",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = check_rows,
    .uses = check_uses,
    .about =
        "A grep-like command: prints the keys that the filter may contain, unchanged, and drops "
        "the others. A key that was added is always printed; other keys are printed at the "
        "filter's false-positive rate (FPR). -v prints exactly the other keys, and each of those "
        "is certain: it was never added.\n"
        "\n"
        "The file is verified before the first answer: a corrupt file ends in exit status 3, "
        "never in a false nay. With --any, --all or --which all operands are filters, and keys "
        "come from standard input or --keys; filters with the same hash function share one hash "
        "of each key. --csv, --tsv and -F print whole rows, after the header if there is one. "
        "--json writes one object for each selected key, with -a for every key, and with -c a "
        "single one; doc/json.md lists the members.\n"
        "\n"
        "-e gives a key on the command line: no file is read then, and options that say how files "
        "are read are refused. Keys are read in the type that the filter states, in files and "
        "after -e: of type int 7, 007 and 0x7 are one key, and a text that is no integer is an "
        "error with its line; keys are printed as they came. --key names the type for layouts "
        "that cannot state it; one that contradicts the filter is an error, as are several "
        "filters of different types.\n"
        "\n"
        "--max-count and --line-number are those of grep: each file has its own count and its own "
        "numbers, which follow its name when there are several, and with -c and -q, which print no "
        "keys, also with -a, there is nothing to "
        "number. "
        "--now asks a window by time as of that moment: what is too old then is gone. The file "
        "stays "
        "as it is; without --now the answer is that of its last change.\n"
        "\n"
        "-H prints the name before each key also of one file, and with -c a count for each file; "
        "-l "
        "prints the names of the files with a selected key. "
        "With --max-count 0 no file is read and the exit status is 1; -c prints nothing then, as "
        "in grep, and with --json its document.\n"
        "\n"
        "FILTER may be a table of LevelDB, RocksDB or nori (.ldb, .sst), or one of mini-lsm with "
        "--format=mini-lsm-sst: the filters in it answer, each "
        "for its own range of keys, and no data block is read, except where nori keeps the filter "
        "inside it.\n"
        "\n"
        "With --ranges each record is the two ends of a range, and FILTER a range filter (nay "
        "build "
        "-t range). An end that is no value of the type, and a first end above the second, make a "
        "bad "
        "record (--on-bad). Ends with different prefixes, and ranges longer than the filter can "
        "answer, are maybes.\n"
        "\n"
        "With --in it is a Parquet file: keys are read in the type of the column, and a key is "
        "selected when a row group may hold it. nay prune asks many files for few values.\n"
        "\n"
        "In a Puffin file the filter of one blob is asked: --blob N, which a file with a single "
        "filter needs not.\n"
        "\n"
        "Exit status: 0 when a key was selected; 1 when none was; 2 for trouble, also when one of "
        "several key files cannot be read; 3 when the filter or a compressed key file is corrupt, "
        "or the filter is not recognised; with --strict, 4 when the FPR is above the plan, which "
        "a warning says in any case. With -q a selected key gives 0, as in grep.",
    .examples =
        "$ printf 'apple\\npear\\n' | nay build -q -n 2 -p 0.1% -o fruit.nay\n"
        "$ printf 'apple\\nstone\\n' | nay check fruit.nay\n"
        "apple\n"
        "$ printf 'apple\\nstone\\n' | nay check -v fruit.nay\n"
        "stone\n"
        "$ printf 'apple\\nstone\\n' | nay check -a fruit.nay\n"
        "maybe\tapple\n"
        "nay\tstone\n"
        "$ nay check fruit.nay -e pear -e stone\n"
        "pear\n"
        "$ printf 'id:fruit\\n1:stone\\n2:pear\\n' | nay check -F: -k 2 --line-number fruit.nay\n"
        "3:2:pear\n"
        "$ echo pear | nay check -q fruit.nay && echo 'perhaps seen'\n"
        "perhaps seen\n",
};
