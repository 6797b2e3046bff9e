/* parquetfile.c - see parquetfile.h. */
#include "parquetfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"

bool parquetfile_magic(const uint8_t head[4]) {
  return memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0;
}

bool parquetfile_is(const char *path) {
  uint8_t head[4];
  struct stat st;
  if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, head, sizeof head);
  close(fd);
  return n == sizeof head && parquetfile_magic(head);
}

nay_sst_parquet *parquetfile_try(const char *path, nay_status *status, char why[DIAG_TEXT]) {
  nay_sst_parquet *p = NULL;
  nay_diag diag = {.what = NULL};
  *status = nay_sst_parquet_open(path, NULL, &diag, &p);
  if (*status != NAY_OK) diag_text(*status, &diag, why);
  return p;
}

nay_sst_parquet *parquetfile_open(const char *path) {
  char why[DIAG_TEXT];
  nay_status status;
  nay_sst_parquet *p = parquetfile_try(path, &status, why);
  if (p == NULL) die(exit_of(status), "%s: %s", path, why);
  return p;
}

uint64_t parquetfile_column(const nay_sst_parquet *p, const char *path, const char *name) {
  nay_diag diag = {.what = NULL};
  uint64_t column;
  nay_status status = nay_sst_parquet_find(p, name, &diag, &column);
  if (status != NAY_OK) die(EXIT_TROUBLE, "%s: %s: %s", path, name, diag.what);
  return column;
}

/* ---- info ---- */

/* The filters of a column, all together. */
typedef struct column_filters {
  uint64_t nfilters, nbytes, nfaults;
  double nkeys, fpr; /* fpr: the mean over the filters */
} column_filters;

static column_filters column_read(nay_sst_parquet *p, uint64_t ngroups, uint64_t column) {
  column_filters c = {.nfilters = 0};
  double rates = 0;
  for (uint64_t g = 0; g < ngroups; g++) {
    nay_sst_parquet_filter at = {.size = sizeof at};
    nay_filter *f;
    nay_sst_parquet_filter_at(p, g, column, &at);
    if (!at.has_filter) continue;
    nay_stats s = {.size = sizeof s};
    if (nay_sst_parquet_filter_read(p, g, column, NULL, NULL, &f) != NAY_OK) {
      c.nfaults++;
      continue;
    }
    nay_filter_stats(f, &s);
    c.nfilters++;
    c.nbytes += nay_format_encoded_size(nay_filter_format(f), f);
    c.nkeys += s.nkeys_estimated;
    rates += s.fpr_now;
    nay_filter_free(f);
  }
  c.fpr = c.nfilters != 0 ? rates / (double)c.nfilters : 0;
  return c;
}

static void info_column(nay_sst_parquet *p, const nay_sst_parquet_info *info, uint64_t i,
                        bool as_json, uint64_t *nfaults) {
  nay_sst_parquet_column column = {.size = sizeof column};
  nay_sst_parquet_column_at(p, i, &column);
  column_filters c = {.nfilters = 0};
  if (column.nfilters != 0) c = column_read(p, info->nrow_groups, i);
  *nfaults += c.nfaults;
  if (as_json) {
    json_open(NULL, '{');
    json_bytes("column", (const uint8_t *)column.name, strlen(column.name));
    json_text("type", column.type);
    json_count("nfilters", column.nfilters);
    json_count("nbytes", c.nbytes);
    json_real("nkeys_estimated", c.nkeys);
    json_real("fpr_now", c.fpr);
    json_count("nfaults", c.nfaults);
    json_close();
    return;
  }
  char name[200], size[NUMBER_TEXT], keys[NUMBER_TEXT], rate[NUMBER_TEXT];
  escape_text((const uint8_t *)column.name, strlen(column.name), name, sizeof name);
  if (column.nfilters == 0) {
    out_text("  %-16s %s, no filter\n", name, column.type);
    return;
  }
  out_text("  %-16s %s, %s, %s, about %s values, FPR %s\n", name, column.type,
           COUNTED(column.nfilters, "filter"), size_text(c.nbytes, size), count_text(c.nkeys, keys),
           fpr_text(c.fpr, rate));
}

int parquetfile_info(const char *path, bool as_json) {
  char why[DIAG_TEXT], size[NUMBER_TEXT];
  nay_status status;
  uint64_t nfaults = 0;
  nay_sst_parquet *p = parquetfile_try(path, &status, why);
  if (p == NULL) {
    if (as_json) {
      json_begin("nay.info/1");
      json_text("file", path);
      json_text("engine", "Parquet");
      json_text("checksum", why);
      json_end();
    }
    out_flush();
    message_error("%s: %s", path, why);
    return exit_of(status);
  }
  nay_sst_parquet_info info = {.size = sizeof info};
  nay_sst_parquet_stats(p, &info);
  if (as_json) {
    json_begin("nay.info/1");
    json_text("file", path);
    json_text("engine", "Parquet");
    json_text("created_by", info.created_by);
    json_count("nbytes", info.nbytes);
    json_count("nrows", info.nrows);
    json_count("nrow_groups", info.nrow_groups);
    json_count("nfilters", info.nfilters);
    json_count("nencrypted", info.nencrypted);
    json_open("columns", '[');
  } else {
    out_text(
        "%s%s%s: Parquet, %s\n", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
        info.created_by[0] != '\0' ? info.created_by : "by a program that does not say its name");
    out_text("  %-16s %s, %s in %s, %s\n", "size", size_text(info.nbytes, size),
             COUNTED(info.nrows, "row"), COUNTED(info.nrow_groups, "row group"),
             COUNTED(info.nfilters, "filter"));
  }
  for (uint64_t i = 0; i < info.ncolumns; i++) info_column(p, &info, i, as_json, &nfaults);
  if (as_json) {
    json_close();
    json_text("checksum", nfaults != 0 ? "a filter cannot be read" : "none");
    json_end();
  } else {
    out_text("  %-16s none: corruption of filters goes undetected\n", "checksum");
  }
  out_flush();
  if (info.nencrypted != 0) {
    message_error("warning: %s: %s encrypted: their filters are not read", path,
                  COUNTED(info.nencrypted, "chunk"));
  }
  nay_sst_parquet_free(p);
  if (nfaults != 0) message_error("%s: %s cannot be read", path, COUNTED(nfaults, "filter"));
  return nfaults != 0 ? EXIT_DAMAGED : EXIT_FOUND;
}

/* ---- extract ---- */

/* DIRECTORY/0003.NAME.sbbf; what a file name cannot have is replaced. */
static void extract_path(char *path, size_t cap, const char *directory, uint64_t group,
                         const char *column) {
  char name[128];
  size_t n = 0;
  for (; column[n] != '\0' && n + 1 < sizeof name; n++) {
    bool plain = (column[n] > ' ' && column[n] < 0x7f && column[n] != '/');
    name[n] = plain ? column[n] : '_';
  }
  name[n] = '\0';
  int len = snprintf(path, cap, "%s/%04llu.%s.sbbf", directory, (unsigned long long)group, name);
  if (len < 0 || (size_t)len >= cap) die(EXIT_TROUBLE, "%s: the path is too long", directory);
}

static void extract_line(const options *o, uint64_t group, const nay_sst_parquet_column *column,
                         const nay_sst_parquet_filter *at) {
  char name[200];
  if (o->json) {
    json_open(NULL, '{');
    json_count("row_group", group);
    json_bytes("column", (const uint8_t *)column->name, strlen(column->name));
    json_count("offset", at->offset);
    json_count("nbytes", at->nbytes);
    json_text("format", "sbbf");
    json_end();
    return;
  }
  escape_text((const uint8_t *)column->name, strlen(column->name), name, sizeof name);
  out_text("%llu\t%s\t%llu\t%llu\tsbbf\n", (unsigned long long)group, name,
           (unsigned long long)at->offset, (unsigned long long)at->nbytes);
}

static bool extract_is_directory(const char *path) {
  struct stat st;
  return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

int parquetfile_extract(const options *o, const char *path, const output_options *to) {
  nay_sst_parquet *p = parquetfile_open(path);
  nay_sst_parquet_info info = {.size = sizeof info};
  nay_sst_parquet_stats(p, &info);
  bool directory = to != NULL && extract_is_directory(to->path);
  uint64_t written = 0, nfaults = 0;
  if (to != NULL && !directory && info.nfilters != 1) {
    die(EXIT_TROUBLE, "%s has %s: -o must be a directory, or end in /", path,
        COUNTED(info.nfilters, "filter"));
  }
  if (directory && mkdir(to->path, 0777) != 0 && errno != EEXIST) {
    die(EXIT_TROUBLE, "cannot create the directory %s: %s", to->path, strerror(errno));
  }
  for (uint64_t i = 0; i < info.nrow_groups * info.ncolumns; i++) {
    uint64_t group = i / info.ncolumns;
    nay_sst_parquet_column column = {.size = sizeof column};
    nay_sst_parquet_filter at = {.size = sizeof at};
    nay_sst_parquet_column_at(p, i % info.ncolumns, &column);
    nay_sst_parquet_filter_at(p, group, i % info.ncolumns, &at);
    if (!at.has_filter) continue;
    if (to == NULL) {
      extract_line(o, group, &column, &at);
      continue;
    }
    char file[4096], why[DIAG_TEXT];
    nay_filter *f;
    nay_diag diag = {.what = NULL};
    nay_status status = nay_sst_parquet_filter_read(p, group, i % info.ncolumns, NULL, &diag, &f);
    if (status != NAY_OK) {
      message_error("%s: row group %llu, %s: %s", path, (unsigned long long)group, column.name,
                    diag_text(status, &diag, why));
      nfaults++;
      continue;
    }
    snprintf(file, sizeof file, "%s", to->path);
    if (directory) extract_path(file, sizeof file, to->path, group, column.name);
    outfile_may_write(file, to->force);
    filterfile_save(f, file);
    nay_filter_free(f);
    written++;
  }
  if (to != NULL && o->json) {
    json_begin("nay.extract/1");
    json_text("table", path);
    json_text("file", to->path);
    json_count("nwritten", written);
    json_end();
  } else if (to != NULL) {
    message("wrote %s to %s", COUNTED(written, "filter"), to->path);
  }
  out_flush();
  if (info.nfilters == 0) message("%s has no filter", path);
  nay_sst_parquet_free(p);
  return nfaults != 0 ? EXIT_DAMAGED : info.nfilters != 0 ? EXIT_FOUND : EXIT_NONE;
}
