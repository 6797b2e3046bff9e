/* cmd_prune.c - nay prune: which Parquet files may hold a value, by their footers and filters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "numbers.h"
#include "parquetfile.h"

typedef struct prune_options {
  options common;
  keys_options keys;
  select_options select;
  const char *in;
  bool invert, groups;
} prune_options;

/* What one file, or all of them, came to. */
typedef struct prune_count {
  uint64_t nfiles; /* that may hold a value */
  uint64_t ngroups, nmaybe, nfilters, nbytes_read, nbytes;
} prune_count;

/* Whether a row group may hold one of the values. Faults of a filter are told once and count as
 * maybe. */
static bool prune_group(const prune_options *o, nay_sst_parquet *p, uint64_t group, uint64_t column,
                        const char *path, int *status) {
  bool any = false;
  for (size_t i = 0; i < o->keys.args.n && !any; i++) {
    const char *text = o->keys.args.at[i];
    nay_diag diag = {.what = NULL};
    char why[DIAG_TEXT];
    bool maybe = true;
    nay_status got =
        nay_sst_parquet_may_contain(p, group, column, text, strlen(text), &diag, &maybe);
    if (got != NAY_OK) {
      message_error("%s: row group %llu: %s", path, (unsigned long long)group,
                    diag_text(got, &diag, why));
      *status = exit_worse(*status, exit_of(got));
    }
    any |= maybe;
  }
  return any;
}

/* Whether all values are values of the column, in this file: another file may have another type. */
static bool prune_values(const prune_options *o, const nay_sst_parquet *p, uint64_t column,
                         const char *path) {
  nay_sst_parquet_column c = {.size = sizeof c};
  nay_sst_parquet_column_at(p, column, &c);
  for (size_t i = 0; i < o->keys.args.n; i++) {
    const char *text = o->keys.args.at[i];
    nay_diag diag = {.what = NULL};
    char why[DIAG_TEXT], shown[80];
    uint8_t key[16];
    size_t len;
    nay_status got =
        nay_sst_parquet_key(p, column, text, strlen(text), &diag, key, sizeof key, &len);
    if (got == NAY_OK || got == NAY_EBUFFER) continue;
    if (got == NAY_ENOTSUP) {
      message_error("%s: %s, which is %s, cannot be probed: %s", path, o->in, c.type,
                    diag_text(got, &diag, why));
    } else {
      message_error("%s: '%s' is no value of %s, which is %s: %s", path,
                    escape_text((const uint8_t *)text, strlen(text), shown, sizeof shown), o->in,
                    c.type, diag_text(got, &diag, why));
    }
    return false;
  }
  return true;
}

/* `group` NULL: the row groups of the file are not known. */
static void prune_print_group(const prune_options *o, const char *path, const uint64_t *group) {
  if (o->common.json) {
    json_open(NULL, '{');
    json_text("file", path);
    if (group != NULL) json_count("row_group", *group);
    if (group == NULL) json_null("row_group");
    json_end();
  } else if (group != NULL) {
    out_text("%s\t%llu\n", path, (unsigned long long)*group);
  } else {
    out_text("%s\n", path);
  }
}

static void prune_print_file(const prune_options *o, const char *path, bool maybe,
                             const prune_count *c) {
  if (o->common.json) {
    json_open(NULL, '{');
    json_text("file", path);
    json_bool("maybe", maybe);
    json_count("nrow_groups", c->ngroups);
    json_count("nmaybes", c->nmaybe);
    json_count("nfilters", c->nfilters);
    json_count("nbytes_read", c->nbytes_read);
    json_end();
  } else {
    out_text("%s\n", path);
  }
}

/* A file of which nothing is known: it is printed, without the numbers of its row groups. */
static uint64_t prune_unread(const prune_options *o, const char *path, prune_count *all) {
  prune_count none = {.ngroups = 0};
  all->nfiles++;
  if (o->invert) return 0;
  if (o->common.quiet || o->select.count) return 1;
  if (o->groups) prune_print_group(o, path, NULL);
  if (!o->groups) prune_print_file(o, path, true, &none);
  return 1;
}

/* Whether a file that could not be opened as a Parquet file may be one all the same: its footer is
 * encrypted, damaged or cannot be read. */
static bool prune_may_be(const char *path, nay_status opened) {
  struct stat st;
  if (opened == NAY_EIO) return stat(path, &st) == 0 && S_ISREG(st.st_mode);
  return opened != NAY_EFORMAT;
}

/* Returns how many are selected: of files, or with --row-groups of its row groups. */
static uint64_t prune_file(const prune_options *o, const char *path, prune_count *all,
                           int *status) {
  char why[DIAG_TEXT];
  nay_status opened;
  nay_diag diag = {.what = NULL};
  nay_sst_parquet *p = parquetfile_try(path, &opened, why);
  bool prints = !o->common.quiet && !o->select.count;
  if (p == NULL) {
    message_error("%s: %s", path, why);
    *status = exit_worse(*status, exit_of(opened));
    return prune_may_be(path, opened) ? prune_unread(o, path, all) : 0;
  }
  prune_count c = {.ngroups = 0};
  nay_sst_parquet_info info = {.size = sizeof info};
  uint64_t column = 0;
  bool known = nay_sst_parquet_find(p, o->in, &diag, &column) == NAY_OK;
  nay_sst_parquet_stats(p, &info);
  c.ngroups = info.nrow_groups;
  if (!known) message_error("%s: %s: %s", path, o->in, diag.what);
  known = known && prune_values(o, p, column, path);
  if (!known) *status = exit_worse(*status, EXIT_TROUBLE);
  for (uint64_t g = 0; g < info.nrow_groups; g++) {
    nay_sst_parquet_filter at = {.size = sizeof at};
    if (known) nay_sst_parquet_filter_at(p, g, column, &at);
    c.nfilters += at.has_filter;
    bool maybe = !known || prune_group(o, p, g, column, path, status);
    c.nmaybe += maybe;
    if (o->groups && prints && maybe != o->invert) prune_print_group(o, path, &g);
  }
  nay_sst_parquet_stats(p, &info);
  nay_sst_parquet_free(p);
  bool selected = (c.nmaybe != 0) != o->invert;
  c.nbytes_read = info.nbytes_read;
  if (selected && prints && !o->groups) prune_print_file(o, path, c.nmaybe != 0, &c);
  all->nfiles += c.nmaybe != 0;
  all->ngroups += c.ngroups;
  all->nmaybe += c.nmaybe;
  all->nfilters += c.nfilters;
  all->nbytes_read += c.nbytes_read;
  all->nbytes += info.nbytes;
  uint64_t ngroups = o->invert ? c.ngroups - c.nmaybe : c.nmaybe;
  return o->groups ? ngroups : selected;
}

static void prune_report(const prune_options *o, uint64_t nfiles, uint64_t nselected,
                         const prune_count *all) {
  char read_text[NUMBER_TEXT], of[NUMBER_TEXT];
  if (o->common.json && o->select.count) {
    json_begin("nay.prune/1");
    json_count("nfiles", nfiles);
    json_count("nselected", nselected);
    json_count("nrow_groups", all->ngroups);
    json_count("nmaybes", all->nmaybe);
    json_count("nfilters", all->nfilters);
    json_count("nbytes_read", all->nbytes_read);
    json_count("nbytes", all->nbytes);
    json_end();
  } else if (o->select.count) {
    out_text("%llu\n", (unsigned long long)nselected);
  }
  message("%llu of %s, %llu of %s, %s; read %s of %s", (unsigned long long)all->nfiles,
          COUNTED(nfiles, "file"), (unsigned long long)all->nmaybe,
          COUNTED(all->ngroups, "row group"), COUNTED(all->nfilters, "filter"),
          size_text(all->nbytes_read, read_text), size_text(all->nbytes, of));
}

static int prune_run(options *common) {
  prune_options *o = (prune_options *)common;
  prune_count all = {.ngroups = 0};
  uint64_t nselected = 0;
  int status = EXIT_FOUND;
  if (o->in == NULL) die(EXIT_TROUBLE, "give the column: --in NAME");
  if (o->keys.args.n == 0) die(EXIT_TROUBLE, "give the value: -e VALUE");
  for (int i = 0; i < o->common.noperands; i++) {
    nselected += prune_file(o, o->common.operands[i], &all, &status);
  }
  prune_report(o, (uint64_t)o->common.noperands, nselected, &all);
  out_flush();
  return status != EXIT_FOUND ? status : nselected != 0 ? EXIT_FOUND : EXIT_NONE;
}

static const option_row prune_rows[] = {
    {"in", 0, "COLUMN", TEXT_AT(prune_options, in),
     .help = "the column; of nested ones the names from the root on, with dots"},
    {"invert", 'v', NULL, FLAG_AT(prune_options, invert),
     .help = "print the files that certainly do not hold it"},
    {"row-groups", 0, NULL, FLAG_AT(prune_options, groups),
     .help = "print each row group: the file, a tab, its number from 0"},
    {0},
};
static const option_use prune_uses[] = {
    TAKES(prune_options, keys, KEYS_ARGS),
    TAKES(prune_options, select, SELECT_COUNT),
    REPORTS(REPORT_JSON),
    {0},
};

const command command_prune = {
    .name = "prune",
    .run = prune_run,
    .size = sizeof(prune_options),
    .summary = "print the Parquet files that may hold a value",
    .operands = "--in COLUMN -e VALUE FILE...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = prune_rows,
    .uses = prune_uses,
    .about =
        "Reads the footer of each file, and of each Bloom filter of the column the header and one "
        "block of 32 bytes; no page and no statistic. A file is printed when one of its row groups "
        "may hold one of the values. Row groups without a filter, or with one that cannot be read, "
        "may hold anything, and so may a Parquet file whose footer is encrypted or damaged, so a "
        "value "
        "that is in a file is never missed.\n"
        "\n"
        "A value is a text in the column's own Parquet type: 42, 1.5, 2024-02-29, 12:34:56, a "
        "UUID, "
        "hex for bytes of a fixed length, the text itself for strings. A file without the column, "
        "with a column of a type that does not have the value, or with a footer that cannot be "
        "read, is printed, with an error; without a number if --row-groups cannot say which. -c "
        "counts the files, or with --row-groups the row groups.\n"
        "\n"
        "Exit status: 0 when a file is printed, 1 when none is, 2 for trouble, 3 when a footer or "
        "a "
        "filter is corrupt.",
    .examples = NULL,
};
