/* cmd_extract.c - nay extract: the filters of a table, as files of their own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "described.h"
#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"
#include "parquetfile.h"
#include "puffinfile.h"
#include "tablefile.h"

typedef struct extract_options {
  options common;
  output_options output;
  const char *table_format;
  bool list;
} extract_options;

static const char *extract_format(const nay_sst_filters_entry *f) {
  return f->format != NULL ? nay_format_name(f->format) : "unknown";
}

static void extract_list_json(uint64_t i, const nay_sst_filters_entry *f) {
  json_open(NULL, '{');
  json_count("filter", i);
  json_count("offset", f->offset);
  json_count("nbytes", f->len);
  json_text("format", extract_format(f));
  json_bool("of_prefixes", f->of_prefixes);
  json_bool("of_ranges", f->of_ranges);
  json_bool("damaged", f->damaged);
  if (f->last_key != NULL) json_bytes("last_key", f->last_key, f->last_key_len);
  json_end();
}

static void extract_list(const nay_sst_filters *t, bool as_json) {
  nay_sst_filters_entry f = {.size = sizeof f};
  for (uint64_t i = 0; nay_sst_filters_at(t, i, &f) == NAY_OK; i++) {
    char key[200];
    if (as_json) {
      extract_list_json(i, &f);
      continue;
    }
    out_text("%llu\t%llu\t%llu\t%s%s%s", (unsigned long long)i, (unsigned long long)f.offset,
             (unsigned long long)f.len, extract_format(&f),
             f.of_prefixes ? ", prefixes"
             : f.of_ranges ? ", ranges"
                           : "",
             f.damaged ? ", damaged" : "");
    if (f.last_key != NULL) {
      out_text("\t%s", escape_text(f.last_key, f.last_key_len, key, sizeof key));
    }
    out_text("\n");
  }
}

static bool is_directory(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * What the table states of its keys a native filter gets, as a file of its own; other layouts have
 * no place for it. A filter of prefixes does not have the keys. Returns the bytes written.
 */
static uint64_t extract_save(const nay_sst_filters_entry *f, const char *key, const char *path,
                             const extract_options *o) {
  bool described = key != NULL && !nay_key_description_same(key, "text") && !f->of_prefixes;
  outfile_may_write(path, o->output.force);
  if (!described || strcmp(extract_format(f), "nay") != 0) {
    outfile_save(f->bytes, f->len, path);
    if (described) describe_not(key, f->format != NULL ? extract_format(f) : "this layout");
    return f->len;
  }
  nay_filter *filter;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  nay_status status = nay_filter_decode(f->bytes, f->len, NULL, &diag, &filter);
  if (status == NAY_OK) status = nay_filter_set_key(filter, key);
  if (status != NAY_OK) {
    die(status == NAY_EVERSION ? EXIT_TROUBLE : exit_of(status), "%s: its keys are of type %s: %s",
        o->common.operands[0], key, diag_text(status, &diag, why));
  }
  filterfile_save(filter, path);
  uint64_t nbytes = nay_filter_encoded_size(filter);
  nay_filter_free(filter);
  return nbytes;
}

/* One file for each filter that has bytes: DIRECTORY/0007.rocksdb-bloom. */
static uint64_t extract_all(const nay_sst_filters *t, const char *key, const extract_options *o) {
  nay_sst_filters_entry f = {.size = sizeof f};
  uint64_t written = 0;
  if (mkdir(o->output.path, 0777) != 0 && errno != EEXIST) {
    die(EXIT_TROUBLE, "cannot create the directory %s: %s", o->output.path, strerror(errno));
  }
  for (uint64_t i = 0; nay_sst_filters_at(t, i, &f) == NAY_OK; i++) {
    char path[4096];
    if (f.len == 0) continue;
    int n = snprintf(path, sizeof path, "%s/%04llu.%s", o->output.path, (unsigned long long)i,
                     extract_format(&f));
    if (n < 0 || (size_t)n >= sizeof path)
      die(EXIT_TROUBLE, "%s: the path is too long", o->output.path);
    (void)extract_save(&f, key, path, o);
    written++;
  }
  return written;
}

static void extract_json(const extract_options *o, uint64_t written) {
  json_begin("nay.extract/1");
  json_text("table", o->common.operands[0]);
  json_text("file", o->output.path);
  json_count("nwritten", written);
  json_end();
}

static void extract_write(const table_file *file, const nay_sst_filters_info *info,
                          const extract_options *o) {
  nay_sst_filters_entry f = {.size = sizeof f};
  bool directory =
      is_directory(o->output.path) || o->output.path[strlen(o->output.path) - 1] == '/';
  if (directory) {
    uint64_t written = extract_all(file->table, info->key, o);
    if (o->common.json) extract_json(o, written);
    if (!o->common.json) message("wrote %s to %s", COUNTED(written, "filter"), o->output.path);
    return;
  }
  if (info->nfilters != 1) {
    die(EXIT_TROUBLE, "%s has %s: -o must be a directory, or end in /", o->common.operands[0],
        COUNTED(info->nfilters, "filter"));
  }
  uint64_t i = 0;
  while (nay_sst_filters_at(file->table, i, &f) == NAY_OK && f.len == 0) i++;
  uint64_t nbytes = extract_save(&f, info->key, o->output.path, o);
  if (o->common.json) {
    extract_json(o, 1);
    return;
  }
  message("wrote %s, %s, %s", strcmp(o->output.path, "-") == 0 ? "standard output" : o->output.path,
          COUNTED(nbytes, "byte"), extract_format(&f));
}

static int extract_run(options *common) {
  extract_options *o = (extract_options *)common;
  const char *path = o->common.operands[0];
  const output_options *to = !o->list && o->output.path != NULL ? &o->output : NULL;
  if (o->table_format == NULL && parquetfile_is(path)) {
    return parquetfile_extract(&o->common, path, to);
  }
  if (o->table_format == NULL && puffinfile_is(path)) {
    return puffinfile_extract(&o->common, path, to);
  }
  table_file file = tablefile_open(path, o->table_format);
  if (!file.is_table && access(path, R_OK) != 0) {
    die(EXIT_TROUBLE, "cannot open %s: %s", path, strerror(errno));
  }
  if (!file.is_table)
    die(EXIT_DAMAGED,
        "%s is no Parquet or Puffin file and no table of LevelDB, RocksDB or nori; --format names "
        "one of "
        "mini-lsm",
        path);
  nay_sst_filters_info info = {.size = sizeof info};
  nay_sst_filters_stats(file.table, &info);
  if (o->list || o->output.path == NULL) {
    extract_list(file.table, o->common.json);
  } else if (info.nfilters > 0) {
    extract_write(&file, &info, o);
  } else if (o->common.json) {
    extract_json(o, 0);
  }
  out_flush();
  if (info.ndamaged > 0) {
    message_error("%s: checksum mismatch in %s", path, COUNTED(info.ndamaged, "filter"));
  } else if (info.nfilters == 0) {
    message("%s has no filter", path);
  }
  tablefile_close(&file);
  return info.ndamaged > 0 ? EXIT_DAMAGED : info.nfilters > 0 ? EXIT_FOUND : EXIT_NONE;
}

static const option_row extract_rows[] = {
    {"list", 0, NULL, FLAG_AT(extract_options, list), .help = "only list where the filters are"},
    {"format", 0, "NAME", TABLE_FORMAT_AT(extract_options, table_format),
     .help = "layout of the table, for mini-lsm's, which have no magic number"},
    {0},
};
static const option_use extract_uses[] = {
    TAKES(extract_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON),
    {0},
};

const command command_extract = {
    .name = "extract",
    .run = extract_run,
    .size = sizeof(extract_options),
    .summary = "extract the filters of a table, a Parquet or a Puffin file",
    .operands = "TABLE [-o FILE|DIRECTORY/]",
    .min_operands = 1,
    .max_operands = 1,
    .own = extract_rows,
    .uses = extract_uses,
    .about =
        "Finds the filters inside an .ldb or .sst file: LevelDB's, one for each 2 KiB of data; "
        "RocksDB's full and partitioned filters; those of nay sst; nori's, one for the table or "
        "one in "
        "each block; mini-lsm's. -o writes each as it is stored "
        "in the table, in its own layout: to FILE when there is one, or into DIRECTORY/ as "
        "NUMBER.LAYOUT. nay info and nay check read such a file with --format=LAYOUT. A native "
        "filter also gets the "
        "type of the keys (--key) that the table states.\n"
        "\n"
        "Without -o, or with --list, prints one line for each filter: its number, its offset and "
        "length in the table, its layout, and for a partition an upper bound of its keys. --json "
        "writes an object for each instead, and with -o one that says how many were written. "
        "Every block is checked against its checksum.\n"
        "\n"
        "Of a Parquet file a line has the row group, the column, offset, length (0: only the "
        "filter "
        "says) and layout, and -o DIRECTORY/ writes ROWGROUP.COLUMN.sbbf. Of a Puffin file it has "
        "number, offset, length and type of a blob, and -o DIRECTORY/ writes NUMBER.TYPE, "
        "uncompressed.\n"
        "\n"
        "Exit status: 0 when there is a filter, 1 when there is none, 2 for trouble, 3 when the "
        "table or one of its filters is corrupt.",
    .examples =
        "$ seq -w 1000 | nay sst build -q -o thousand.ldb\n"
        "$ nay extract thousand.ldb\n"
        "0\t4574\t1408\tnay\n"
        "$ nay extract -q thousand.ldb -o filter.nay\n"
        "$ printf '0500\\nstone\\n' | nay check -a filter.nay\n"
        "maybe\t0500\n"
        "nay\tstone\n",
};
