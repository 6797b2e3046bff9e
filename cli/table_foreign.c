/* table_foreign.c - see table_foreign.h. */
#include "table_foreign.h"

#include <string.h>

#include "numbers.h"
#include "table_properties.h"
#include "tables.h"

bool table_is_foreign(const nay_sst *table, nay_sst_foreign_info *info) {
  nay_sst_info is = {.size = sizeof is};
  if (nay_sst_stats(table, &is) != NAY_OK || is.foreign == NULL) return false;
  *info = *is.foreign;
  return true;
}

bool table_layout_is_nori(const char *layout) { return strncmp(layout, "nori", 4) == 0; }

const char *table_engine(const nay_sst_foreign_info *info) {
  return table_layout_is_nori(info->layout) ? "nori" : "mini-lsm";
}

table_verdict table_verify(const char *path, const nay_sst *table) {
  table_verdict v = {.verified = true};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_verify(table, &diag, &v.nentries, &v.ndenied);
  if (status != NAY_OK) table_die(path, status, &diag);
  table_properties_verify(path, table);
  nay_sst_info is = {.size = sizeof is};
  v.filter_damaged = nay_sst_stats(table, &is) == NAY_OK && is.counters.filter_faults != 0;
  return v;
}

static void foreign_entries(const nay_sst_foreign_info *info, const table_verdict *v) {
  char count[NUMBER_TEXT];
  const char *told = info->versions_tried ? ", told by parsing every block" : "";
  if (v->verified || info->has_nentries) {
    out_text("  entries  %s, %s; ",
             count_text((double)(v->verified ? v->nentries : info->nentries), count),
             !v->verified          ? "as the footer says"
             : v->filter_damaged   ? "every block parses, the filter is damaged"
             : info->has_checksums ? "every checksum matches"
                                   : "every block parses");
  } else {
    out_text("  entries  ");
  }
  out_text("versions: %s%s\n", info->versions, told);
}

void table_foreign_text(const nay_sst *table, const nay_sst_foreign_info *info,
                        const table_verdict *v) {
  const char *caveat;
  foreign_entries(info, v);
  if (v->verified && info->filter != NULL) {
    out_text("  denied   %s by its own filter, as its writer reads it\n",
             v->ndenied == 0 ? "no key" : COUNTED(v->ndenied, "present key"));
  }
  for (size_t i = 0; (caveat = nay_sst_caveat(table, i)) != NULL; i++) {
    out_text("  caveat   %s\n", caveat);
  }
}

void table_foreign_json(const nay_sst *table, const nay_sst_foreign_info *info,
                        const table_verdict *v) {
  const char *caveat;
  json_text("engine", table_engine(info));
  json_text("table_format", info->layout);
  json_count("format_version", info->footer_version);
  json_text("version_form", info->versions);
  json_bool("version_form_guessed", info->versions_tried);
  if (v->verified) json_count("ndenied", v->ndenied);
  json_open("caveats", '[');
  for (size_t i = 0; (caveat = nay_sst_caveat(table, i)) != NULL; i++) {
    json_text(NULL, caveat);
  }
  json_close();
}

/* ---- making ---- */

/* nori's zstd frames do not state their size. */
static const nay_sst_codec *foreign_codec(const sst_options *o) {
  nay_codec_kind kind = table_codec(o);
  return table_codec_find(kind == NAY_CODEC_ZSTD ? NAY_CODEC_ZSTD_UNSIZED : kind);
}

/* Of nori: a Bloom filter, whose size -b says, or quotient filters, and two codecs. */
static void foreign_check_nori(const sst_options *o) {
  if (o->range_filter) die(EXIT_TROUBLE, "--filter range is for LevelDB's layout");
  if (o->table_filter != TABLE_DEFAULT && o->table_filter != TABLE_FULL &&
      o->table_filter != TABLE_QUOTIENT) {
    die(EXIT_TROUBLE, "--filter: a table of nori has full or quotient");
  }
  if (o->table_filter == TABLE_QUOTIENT && o->size.bits_per_key != 0) {
    die(EXIT_TROUBLE, "-b is for --filter full: nori's quotient filters have a fixed size");
  }
  nay_codec_kind codec = table_codec(o);
  if (codec != 0 && codec != NAY_CODEC_LZ4 && codec != NAY_CODEC_ZSTD) {
    die(EXIT_TROUBLE, "--compress: a table of nori takes none, lz4 or zstd");
  }
}

/* Of mini-lsm: always the same Bloom filter, before its fifth day none. */
static void foreign_check_minilsm(const sst_options *o) {
  bool none = strcmp(o->table_format, "mini-lsm-sst-day4") == 0;
  if (o->range_filter) die(EXIT_TROUBLE, "--filter range is for LevelDB's layout");
  if (o->table_filter != TABLE_DEFAULT && o->table_filter != (none ? TABLE_NONE : TABLE_FULL)) {
    die(EXIT_TROUBLE, "--filter: a table of %s has %s", o->table_format, none ? "none" : "full");
  }
  if (o->size.bits_per_key != 0) {
    die(EXIT_TROUBLE, "-b: a table of mini-lsm has %s",
        none ? "no filter on that day" : "always 10 bits per key: omit it");
  }
  if (o->compress != 0) {
    die(EXIT_TROUBLE, "--compress: a table of mini-lsm is not compressed: omit it");
  }
}

nay_sst_writer *table_foreign_writer(const sst_options *o, const char *path) {
  nay_params params = {.size = sizeof params, .bits_per_key = o->size.bits_per_key};
  nay_sst_write_options how = {.size = sizeof how, .layout = o->table_format, .params = &params};
  nay_sst_writer *writer;
  nay_diag diag = {.what = NULL};
  if (o->size.fpr != 0 || o->size.kind != NAY_AUTO || o->prefix_length != 0 ||
      o->prefix_delimiter != NULL) {
    die(EXIT_TROUBLE, "-p, -t and prefixes are for LevelDB's tables: omit them with --format");
  }
  if (o->properties)
    die(EXIT_TROUBLE, "--properties is for LevelDB's tables: omit it with --format");
  if (o->comparator != NULL && strcmp(o->comparator, "bytewise") != 0) {
    die(EXIT_TROUBLE, "--comparator: tables of other engines are in bytewise order");
  }
  (table_layout_is_nori(o->table_format) ? foreign_check_nori : foreign_check_minilsm)(o);
  if (o->size.bits_per_key != (double)(uint32_t)o->size.bits_per_key ||
      o->block_bytes > UINT32_MAX) {
    die(EXIT_TROUBLE, "-b: a whole number; --block: less than 4 GiB");
  }
  how.quotient = o->table_filter == TABLE_QUOTIENT;
  how.block_bytes = (uint32_t)o->block_bytes;
  how.codec = foreign_codec(o);
  nay_status status = nay_sst_writer_new(path, &how, NULL, &diag, &writer);
  if (status != NAY_OK) table_die(path, status, &diag);
  return writer;
}
