/* cmd_sst_info.c - nay sst info: what a table is, and whether it is whole. */
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "filterfile.h"
#include "numbers.h"
#include "prom.h"
#include "table_foreign.h"
#include "table_properties.h"
#include "tables.h"

static const char *const filter_names[] = {"none", "blocks", "full", "partitioned"};

static size_t info_user_len(const nay_sst_info *info, size_t len) {
  bool cut = info->keys == NAY_SST_KEYS_INTERNAL && len >= 8;
  return cut ? len - 8 : len;
}

/* A table, and what is known of it. */
typedef struct table_facts {
  const char *path;
  const nay_sst *table;
  nay_sst_info info;
  table_summary filters;
  uint64_t ndamaged; /* filters of whole keys */
  bool prefix_damaged, range_damaged;
  table_verdict verdict;
  bool is_foreign;
  nay_sst_foreign_info foreign;
} table_facts;

static const char *info_codec(const table_facts *t) {
  if (t->is_foreign) return t->foreign.codec_ignored ? "none" : t->foreign.codec;
  if (t->info.codec == 0) return "none";
  const char *name = nay_codec_name(t->info.codec);
  return name != NULL ? name : "other";
}

static void info_json_filter(const table_facts *t) {
  const nay_sst_info *info = &t->info;
  json_text("layout", filter_names[info->filter]);
  if (info->policy != NULL) json_text("policy", info->policy);
  if (info->policy == NULL) json_null("policy");
  json_bool("policy_used", info->filter_used);
  json_count("nbytes", info->filter_bytes);
  if (info->npartitions != 0) json_count("nfilters", info->npartitions);
  json_count("nfilter_faults", t->ndamaged + t->prefix_damaged + t->range_damaged);
  if (info->prefix != NULL) json_text("prefix", info->prefix);
  if (info->prefix == NULL) json_null("prefix");
  json_bool("prefix_used", info->prefix_used);
  json_count("nbytes_prefix", info->prefix_bytes);
  json_bool("range_used", info->range_used);
  json_count("nbytes_range", info->range_bytes);
  const nay_stats *range = &t->filters.range;
  if (range->size != 0) {
    json_count("range_length", range->range_length);
    json_bool("range_exact", range->range_exact != 0);
    json_real("range_fpr", range->fpr_now);
  }
  tablefile_json_stats(&t->filters);
}

static void info_json(const table_facts *t) {
  const nay_sst_info *info = &t->info;
  json_begin("nay.sst.info/1");
  json_text("file", t->path);
  json_count("nbytes_table", info->nbytes);
  json_text("key_form", info->keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain");
  json_bool("key_form_guessed", info->keys_guessed);
  json_described(info->key);
  json_text("comparator", info->comparator);
  json_count("nblocks", info->nblocks);
  json_text("codec", info_codec(t));
  if (t->verdict.verified) {
    json_count("nentries", t->verdict.nentries);
  } else if (t->is_foreign && t->foreign.has_nentries) {
    json_count("nentries", t->foreign.nentries);
  }
  if (info->smallest != NULL) {
    json_bytes("smallest", info->smallest, info_user_len(info, info->smallest_len));
    json_bytes("largest", info->upper_bound, info_user_len(info, info->upper_bound_len));
  }
  table_properties_json(t->table);
  info_json_filter(t);
  if (t->is_foreign) table_foreign_json(t->table, &t->foreign, &t->verdict);
  json_end();
}

/* Why a filter is not used, or what of it. */
static const char *info_filter_state(bool damaged, bool used) {
  if (damaged) return used ? ", damaged in part" : ", damaged, not used";
  return used ? "" : ", not used";
}

static void info_text_range(const table_facts *t) {
  const nay_sst_info *info = &t->info;
  char size[NUMBER_TEXT], text[160];
  if (info->range_bytes == 0 && !t->range_damaged) return;
  out_text("  ranges   %s%s", size_text(info->range_bytes, size),
           info_filter_state(t->range_damaged, info->range_used));
  if (!t->range_damaged) out_text(", %s", tablefile_range_text(&t->filters, text));
  out_text("\n");
}

static void info_text_filter(const table_facts *t) {
  const nay_sst_info *info = &t->info;
  const table_summary *filters = &t->filters;
  char size[NUMBER_TEXT], rate[NUMBER_TEXT];
  if (info->policy == NULL) {
    out_text("  filter   none\n");
  } else {
    out_text("  filter   %s, %s, %s%s", filter_names[info->filter], info->policy,
             size_text(info->filter_bytes, size),
             info_filter_state(t->ndamaged != 0, info->filter_used));
    if (filters->nkeys > 0) out_text(", %.2f bits per key", tablefile_bits_per_key(filters));
    if (filters->format != NULL) {
      out_text(", %s, FPR %s", filterfile_kind_name(filters->format, filters->stats.kind),
               fpr_text(filters->fpr, rate));
    }
    out_text("\n");
  }
  if (info->prefix != NULL) {
    out_text("  prefixes %s, %s%s\n", info->prefix, size_text(info->prefix_bytes, size),
             info_filter_state(t->prefix_damaged, info->prefix_used));
  }
  info_text_range(t);
}

static bool info_is_damaged(const table_facts *t) {
  return t->ndamaged != 0 || t->prefix_damaged || t->range_damaged;
}

static void info_title(const table_facts *t) {
  char size[NUMBER_TEXT];
  out_text("%s%s%s: a table of ", paint(PAINT_BOLD), t->path, paint(PAINT_PLAIN));
  if (!t->is_foreign) {
    out_text("%s keys%s", t->info.keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain",
             t->info.keys_guessed ? " (guessed)" : "");
  } else if (strcmp(t->foreign.layout, "nori-sst") == 0) {
    out_text("nori, footer version %u", (unsigned)t->foreign.footer_version);
  } else {
    out_text("mini-lsm, %s", t->foreign.layout);
  }
  out_text(", %s\n", size_text(t->info.nbytes, size));
}

static void info_text(const table_facts *t) {
  const nay_sst_info *info = &t->info;
  const char *codec = info_codec(t);
  char count[NUMBER_TEXT], low[80], high[80];
  info_title(t);
  out_text("  data     %s, %s%s\n", COUNTED(info->nblocks, "block"),
           strcmp(codec, "none") == 0    ? "not compressed"
           : strcmp(codec, "other") == 0 ? "compressed"
                                         : codec,
           t->foreign.codec_ignored ? " although the footer names a codec" : "");
  if (t->verdict.verified && !t->is_foreign) {
    out_text("  entries  %s, %s\n", count_text((double)t->verdict.nentries, count),
             info_is_damaged(t) ? "the checksums of the data match" : "every checksum matches");
  }
  if (info->key != NULL && !nay_key_description_same(info->key, "text")) {
    out_text("  key type %s\n", info->key);
  }
  if (info->smallest != NULL) {
    out_text("  keys     from %s to at most %s\n",
             escape_text(info->smallest, info_user_len(info, info->smallest_len), low, sizeof low),
             escape_text(info->upper_bound, info_user_len(info, info->upper_bound_len), high,
                         sizeof high));
  }
  table_properties_text(t->table);
  if (strcmp(info->comparator, "leveldb.BytewiseComparator") != 0) {
    out_text("  order    %s\n", info->comparator);
  }
  info_text_filter(t);
  if (t->is_foreign) table_foreign_text(t->table, &t->foreign, &t->verdict);
}

/* The filters that are left out. If what leads to them is damaged, they are one. */
static void info_count_damaged(const table_file *file, table_facts *t) {
  nay_sst_filters_entry f = {.size = sizeof f};
  t->ndamaged = file->status == NAY_ECORRUPT;
  for (uint64_t i = 0; file->table != NULL && nay_sst_filters_at(file->table, i, &f) == NAY_OK;
       i++) {
    if (f.of_prefixes) t->prefix_damaged = f.damaged;
    if (f.of_ranges) t->range_damaged = f.damaged;
    if (!f.of_prefixes && !f.of_ranges) t->ndamaged += f.damaged;
  }
}

/* What nay_sst.h does not tell: the statistics of filters of every layout. */
static void info_filters(const sst_options *o, table_facts *t, prom_samples *to) {
  table_file file = tablefile_try(t->path, o->table_format);
  if (!file.is_table) die(EXIT_DAMAGED, "%s: not a table any more", t->path);
  t->filters = tablefile_summary(&file);
  info_count_damaged(&file, t);
  bool counted = t->verdict.verified || (t->is_foreign && t->foreign.has_nentries);
  if (counted && t->filters.nkeys > 0) { /* every entry is in the filter */
    t->filters.nkeys = (double)(t->verdict.verified ? t->verdict.nentries : t->foreign.nentries);
  }
  if (o->prom) prom_table(to, &file, &t->filters);
  tablefile_close(&file);
}

static void info_prom(const table_facts *t, prom_samples *to) {
  prom_sample(to, PROM_TABLE_BLOCKS, (double)t->info.nblocks);
  if (t->verdict.verified) prom_sample(to, PROM_TABLE_ENTRIES, (double)t->verdict.nentries);
}

int sst_info(sst_options *o) {
  prom_check(&o->common, o->prom);
  table_list list = tables_of(o);
  prom_samples *samples = must_alloc(list.n * sizeof *samples);
  int status = EXIT_FOUND;
  for (size_t i = 0; i < list.n; i++) {
    table_facts t = {.path = list.names[i], .table = list.at[i], .info = {.size = sizeof t.info}};
    samples[i] = (prom_samples){.file = t.path};
    nay_sst_stats(t.table, &t.info);
    t.is_foreign = table_is_foreign(t.table, &t.foreign);
    if (o->verify) t.verdict = table_verify(t.path, t.table);
    info_filters(o, &t, &samples[i]);
    if (o->prom) {
      info_prom(&t, &samples[i]);
    } else {
      (o->common.json ? info_json : info_text)(&t);
    }
    if (o->verify && info_is_damaged(&t)) {
      message_error("%s: a filter is damaged: the data answers without it", t.path);
      status = EXIT_DAMAGED;
    }
  }
  if (o->prom) prom_print(samples, list.n);
  free(samples);
  tables_close(&list);
  return status;
}
