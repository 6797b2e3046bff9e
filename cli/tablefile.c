/* tablefile.c - see tablefile.h. */
#include "tablefile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "described.h"
#include "filterfile.h"
#include "numbers.h"
#include "tables.h"

/* ---- opening ---- */

static bool table_map(int fd, table_file *file) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return false;
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return false;
  file->bytes = map;
  file->nbytes = (size_t)st.st_size;
  return true;
}

/* A table in a layout that the user names must be one. */
static table_file table_refuse(const char *path) {
  die(EXIT_TROUBLE, "%s: a table must be a regular file that can be read", path);
}

table_file tablefile_try(const char *path, const char *layout) {
  table_file file = {.is_table = false};
  nay_diag diag = {.what = NULL};
  int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && layout != NULL) return table_refuse(path);
  if (fd < 0) return file; /* the next open reports why */
  bool mapped = table_map(fd, &file);
  close(fd);
  if (!mapped && layout != NULL) return table_refuse(path);
  if (!mapped) return (table_file){.is_table = false};
  if (layout == NULL && !nay_sst_filters_recognise(file.bytes, file.nbytes)) {
    tablefile_close(&file);
    return (table_file){.is_table = false};
  }
  nay_sst_filters_options how = {.size = sizeof how, .layout = layout};
  how.codecs = nay_codecs(&how.ncodecs); /* for LevelDB's index blocks */
  file.is_table = true;
  file.status = nay_sst_filters_open(file.bytes, file.nbytes, &how, NULL, &diag, &file.table);
  if (file.status != NAY_OK) diag_text(file.status, &diag, file.why);
  return file;
}

table_file tablefile_open(const char *path, const char *layout) {
  table_file file = tablefile_try(path, layout);
  if (file.is_table && file.status != NAY_OK) die(exit_of(file.status), "%s: %s", path, file.why);
  return file;
}

void tablefile_close(table_file *file) {
  nay_sst_filters_free(file->table);
  if (file->bytes != NULL) munmap(file->bytes, file->nbytes);
  *file = (table_file){.is_table = false};
}

/* ---- all filters together ---- */

/* Where they are, or from a copy that is unpacked. */
static bool table_filter_judge(const nay_sst_filters_entry *f, promise *judged) {
  nay_view view = {.size = sizeof view};
  nay_filter *copy = NULL;
  if (nay_format_view(f->format, f->bytes, f->len, 0, NULL, &view) == NAY_OK) {
    *judged = promise_judge(nay_view_filter(&view), 0);
    return true;
  }
  bool ok = nay_format_decode(f->format, f->bytes, f->len, 0, NULL, NULL, &copy) == NAY_OK;
  if (ok) *judged = promise_judge(copy, 0);
  nay_filter_free(copy);
  return ok;
}

static void table_range(const nay_sst_filters_entry *f, table_summary *s) {
  nay_view view = {.size = sizeof view};
  s->nbytes_range = f->len;
  if (f->damaged || nay_view_open(f->bytes, f->len, NULL, NULL, &view) != NAY_OK) return;
  s->range.size = sizeof s->range;
  if (nay_filter_stats(nay_view_filter(&view), &s->range) != NAY_OK) s->range.size = 0;
}

const char *tablefile_range_text(const table_summary *s, char text[160]) {
  char rate[NUMBER_TEXT];
  snprintf(text, 160, "%s", s->range.range_exact != 0 ? "exact" : "damaged");
  if (s->range.size != 0 && s->range.range_exact == 0) {
    snprintf(text, 160, "scans of %s FPR %s", COUNTED(s->range.range_length, "number"),
             fpr_text(s->range.fpr_now, rate));
  }
  return text;
}

table_summary tablefile_summary(const table_file *file) {
  table_summary s = {.info = {.size = sizeof s.info}, .plans_stated = true};
  double rates = 0, weight = 0;
  bool planned = true;
  size_t largest = 0;
  nay_sst_filters_entry f = {.size = sizeof f};
  if (file->status != NAY_OK) return s;
  nay_sst_filters_stats(file->table, &s.info);
  for (uint64_t i = 0; nay_sst_filters_at(file->table, i, &f) == NAY_OK; i++) {
    promise judged;
    if (f.of_ranges) table_range(&f, &s);
    if (f.len == 0 || f.damaged || f.of_prefixes || f.of_ranges || f.format == NULL) continue;
    if (!table_filter_judge(&f, &judged)) continue;
    rates += judged.stats.fpr_now * (double)f.len;
    weight += (double)f.len;
    s.nkeys_filtered += judged.stats.nkeys_estimated;
    s.nkeys_planned += (double)judged.nkeys;
    s.noverfilled += judged.overfilled;
    s.saturated = s.saturated || judged.stats.saturated;
    planned = planned && judged.nkeys != 0;
    s.plans_stated = s.plans_stated && judged.stats.nkeys != 0;
    if (f.len <= largest) continue;
    largest = f.len;
    s.format = f.format;
    s.stats = judged.stats;
  }
  s.fpr = weight > 0 ? rates / weight : NAN;
  s.nkeys = s.info.nentries != 0 ? (double)s.info.nentries : weight > 0 ? s.nkeys_filtered : NAN;
  if (!planned) s.nkeys_planned = 0;
  return s;
}

double tablefile_bits_per_key(const table_summary *s) {
  return s->nkeys > 0 ? 8 * (double)(s->info.nbytes - s->nbytes_range) / s->nkeys : NAN;
}

static const char *table_layout(nay_sst_filter_layout layout) {
  static const char *const names[] = {"none", "blocks", "full", "partitioned"};
  return names[layout];
}

static const char *table_verdict(const table_summary *s, char text[DIAG_TEXT]) {
  if (strcmp(s->info.checksum, "none") == 0) return "none";
  if (s->info.ndamaged == 0) return "ok";
  snprintf(text, DIAG_TEXT, "damaged: %llu of %s", (unsigned long long)s->info.ndamaged,
           COUNTED(s->info.nfilters + s->info.nempty, "filter"));
  return text;
}

static void table_optional(const char *name, const char *text) {
  if (text != NULL) json_text(name, text);
  if (text == NULL) json_null(name);
}

void tablefile_json_stats(const table_summary *s) {
  table_optional("format", s->format != NULL ? nay_format_name(s->format) : NULL);
  table_optional("kind", s->format != NULL ? filterfile_kind_name(s->format, s->stats.kind) : NULL);
  table_optional("hash", s->format != NULL ? nay_hash_name(s->stats.hash) : NULL);
  json_real("nkeys_estimated", s->nkeys);
  json_real("bits_per_key", tablefile_bits_per_key(s));
  if (s->format != NULL) json_count("k", s->stats.k);
  json_real("fpr_now", s->fpr);
  json_real("utilisation", s->nkeys_planned > 0 ? s->nkeys_filtered / s->nkeys_planned : NAN);
  json_bool("saturated", s->saturated);
  json_count("noverfilled", s->noverfilled);
}

static void table_json_filter(const table_summary *s) {
  const nay_sst_filters_info *info = &s->info;
  json_text("layout", table_layout(info->layout));
  table_optional("policy", info->policy);
  table_optional("policy_option", info->policy_option);
  json_bool("whole_keys", info->whole_keys);
  json_bool("prefixes", info->prefixes);
  table_optional("prefix", info->prefix);
  json_described(info->key);
  json_count("nfilters", info->nfilters);
  json_count("nempty", info->nempty);
  json_count("nbytes", info->nbytes);
  tablefile_json_stats(s);
}

void tablefile_json(const char *path, const table_file *file, const table_summary *s) {
  char text[DIAG_TEXT];
  json_begin("nay.info/1");
  json_text("file", path);
  if (file->status != NAY_OK) {
    json_text("checksum", file->why);
    json_end();
    return;
  }
  json_text("engine", s->info.engine_text);
  json_count("format_version", s->info.format_version);
  json_text("block_checksum", s->info.checksum);
  json_count("nbytes_table", file->nbytes);
  if (s->info.nkeys != 0) json_count("nentries", s->info.nkeys);
  table_json_filter(s);
  json_text("checksum", table_verdict(s, text));
  if (nay_sst_filters_caveat(file->table, 0) != NULL) {
    const char *caveat;
    json_open("caveats", '[');
    for (size_t i = 0; (caveat = nay_sst_filters_caveat(file->table, i)) != NULL; i++) {
      json_text(NULL, caveat);
    }
    json_close();
  }
  json_end();
}

/* ---- text ---- */

__attribute__((format(printf, 2, 3))) static void table_line(const char *name, const char *format,
                                                             ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  out_text("  %s%-10s%s %s\n", paint(PAINT_DIM), name, paint(PAINT_PLAIN), text);
}

static void table_filter_line(const table_summary *s) {
  const nay_sst_filters_info *info = &s->info;
  char how[128] = "full";
  if (info->layout == NAY_SST_NO_FILTER) {
    table_line("filter", info->prefixes ? "of prefixes only" : "none");
    return;
  }
  if (info->engine == NAY_SST_ENGINE_NORI && info->layout == NAY_SST_PARTITIONED_FILTER) {
    snprintf(how, sizeof how, "one in each block, %s", COUNTED(info->nfilters, "filter"));
  } else if (info->layout == NAY_SST_PARTITIONED_FILTER) {
    snprintf(how, sizeof how, "partitioned, %s", COUNTED(info->nfilters, "filter"));
  } else if (info->layout == NAY_SST_BLOCK_FILTER) {
    snprintf(how, sizeof how, "one for each 2 KiB, %s and %llu empty",
             COUNTED(info->nfilters, "filter"), (unsigned long long)info->nempty);
  }
  table_line("filter", "%s, %s", how,
             s->format != NULL    ? nay_format_about(s->format)
             : info->understood   ? "of a policy without statistics"
             : info->nfilters > 0 ? "of a policy that is not known here"
                                  : "of no keys");
  table_line("policy", "%s%s%s", info->policy, info->policy_option != NULL ? ", written as " : "",
             info->policy_option != NULL ? info->policy_option : "");
}

/* ", 97% of 1,536 planned", where a plan of every filter is known; loads of single ones may differ.
 */
static const char *table_utilisation(const table_summary *s, char text[160]) {
  char planned[NUMBER_TEXT], over[80] = "";
  text[0] = '\0';
  if (!(s->nkeys_planned > 0)) return text;
  if (s->noverfilled != 0) {
    snprintf(over, sizeof over, ", %llu of %s overfilled", (unsigned long long)s->noverfilled,
             COUNTED(s->info.nfilters, "filter"));
  }
  snprintf(text, 160, ", %s%.0f%% of %s%s planned%s", s->saturated ? "at least " : "",
           100 * s->nkeys_filtered / s->nkeys_planned, s->plans_stated ? "" : "at most ",
           count_text(s->nkeys_planned, planned), over);
  return text;
}

static void table_size_lines(const table_summary *s) {
  char size[NUMBER_TEXT], keys[NUMBER_TEXT], rate[NUMBER_TEXT], planned[160];
  count_text(s->nkeys, keys);
  size_text(s->info.nbytes, size);
  if (s->nkeys >= 0.5) {
    table_line("size", "%s, %.2f bits per key", size, tablefile_bits_per_key(s));
    table_line("keys", "%s%s in the filter%s",
               s->info.nentries != 0 ? ""
               : s->saturated        ? "at least "
                                     : "about ",
               keys, table_utilisation(s, planned));
  } else {
    table_line("size", "%s", size);
  }
  if (s->format == NULL) return;
  table_line("FPR", "%s expected", fpr_text(s->fpr, rate));
  table_line("hash", "%s", nay_hash_name(s->stats.hash));
}

static void table_prefix_line(const nay_sst_filters_info *info) {
  if (info->prefix == NULL) return;
  if (!info->prefixes) {
    table_line("prefix", "%s, not in the filter", info->prefix);
  } else {
    table_line("prefix", "%s, %s", info->prefix,
               info->whole_keys ? "beside whole keys" : "instead of whole keys");
  }
}

void tablefile_info(const char *path, const table_file *file, const table_summary *s) {
  char text[DIAG_TEXT], size[NUMBER_TEXT];
  if (file->status != NAY_OK) return;
  out_text("%s%s%s: table of %s, ", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
           s->info.engine_text);
  if (s->info.engine == NAY_SST_ENGINE_NORI) {
    out_text("footer version %u, ", (unsigned)s->info.format_version);
  }
  if (s->info.engine == NAY_SST_ENGINE_ROCKSDB) {
    out_text("format %u, ", (unsigned)s->info.format_version);
  }
  out_text("%s, checksums %s\n", size_text(file->nbytes, size), s->info.checksum);
  table_filter_line(s);
  if (s->info.nbytes != 0) table_size_lines(s);
  table_prefix_line(&s->info);
  if (s->nbytes_range != 0) {
    char range[160];
    table_line("ranges", "%s, %s", size_text(s->nbytes_range, size),
               tablefile_range_text(s, range));
  }
  const char *key = s->info.key;
  if (key != NULL && !nay_key_description_same(key, "text")) table_line("key type", "%s", key);
  if (!s->info.index_known) {
    table_line("index", "compressed, and not readable here: all filters are probed for each key");
  }
  table_line("checksum", "%s%s%s", paint(s->info.ndamaged == 0 ? PAINT_GOOD : PAINT_BAD),
             table_verdict(s, text), paint(PAINT_PLAIN));
  const char *caveat;
  for (size_t i = 0; (caveat = nay_sst_filters_caveat(file->table, i)) != NULL; i++) {
    table_line("caveat", "%s", caveat);
  }
}
