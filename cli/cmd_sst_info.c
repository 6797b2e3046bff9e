/* cmd_sst_info.c - nay sst info: what a table is, and whether it is whole. */
#include <math.h>

#include "numbers.h"
#include "tables.h"

static const char *const filter_names[] = {"none", "blocks", "full", "partitioned"};

static size_t info_user_len(const nay_sst_info *info, size_t len) {
  bool cut = info->keys == NAY_SST_KEYS_INTERNAL && len >= 8;
  return cut ? len - 8 : len;
}

static const char *const codec_texts[] = {"none", "snappy"};

static const char *info_codec(const nay_sst_info *info) {
  return info->codec < 2 ? codec_texts[info->codec] : "other";
}

static void info_json_filter(const nay_sst_info *info, const nay_filter *f) {
  nay_stats stats;
  json_text("layout", filter_names[info->filter]);
  if (info->policy != NULL) json_text("policy", info->policy);
  if (info->policy == NULL) json_null("policy");
  json_bool("policy_used", info->filter_used);
  json_count("nbytes", info->filter_bytes);
  if (info->npartitions != 0) json_count("nfilters", info->npartitions);
  if (info->prefix != NULL) json_text("prefix", info->prefix);
  if (info->prefix == NULL) json_null("prefix");
  json_bool("prefix_used", info->prefix_used);
  json_count("nbytes_prefix", info->prefix_bytes);
  bool known = f != NULL && nay_filter_stats(f, &stats) == NAY_OK;
  json_real("fpr_now", known ? stats.fpr_now : NAN);
}

static void info_json(const char *path, const nay_sst_info *info, const uint64_t *entries,
                      const nay_filter *f) {
  json_begin("nay.sst.info/1");
  json_text("file", path);
  json_count("nbytes_table", info->nbytes);
  json_text("key_form", info->keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain");
  json_bool("key_form_guessed", info->keys_guessed);
  json_count("nblocks", info->nblocks);
  json_text("codec", info_codec(info));
  if (entries != NULL) json_count("nentries", *entries);
  if (info->smallest != NULL) {
    json_bytes("smallest", info->smallest, info_user_len(info, info->smallest_len));
    json_bytes("largest", info->largest, info_user_len(info, info->largest_len));
  }
  info_json_filter(info, f);
  json_end();
}

static void info_text_filter(const nay_sst_info *info, const nay_filter *f) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT];
  nay_stats stats;
  if (info->policy == NULL) {
    out_text("  filter   none\n");
  } else {
    out_text("  filter   %s, %s, %s%s", filter_names[info->filter], info->policy,
             size_text(info->filter_bytes, size), info->filter_used ? "" : ", not used");
    if (f != NULL && nay_filter_stats(f, &stats) == NAY_OK) {
      out_text(", %s, FPR %s", nay_kind_name(stats.kind), fpr_text(stats.fpr_now, rate));
    }
    out_text("\n");
  }
  if (info->prefix != NULL) {
    out_text("  prefixes %s, %s%s\n", info->prefix, size_text(info->prefix_bytes, size),
             info->prefix_used ? "" : ", not used");
  }
}

static void info_text(const char *path, const nay_sst_info *info, const uint64_t *entries,
                      const nay_filter *f) {
  char size[NUMBER_TEXT], count[NUMBER_TEXT], low[80], high[80];
  out_text("%s%s%s: a table of %s keys%s, %s\n", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
           info->keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain",
           info->keys_guessed ? " (guessed)" : "", size_text(info->nbytes, size));
  out_text("  data     %s, %s\n", COUNTED(info->nblocks, "block"),
           info->codec == 0   ? "not compressed"
           : info->codec == 1 ? "snappy"
                              : "compressed");
  if (entries != NULL) {
    out_text("  entries  %s, every checksum matches\n", count_text((double)*entries, count));
  }
  if (info->smallest != NULL) {
    out_text("  keys     from %s to at most %s\n",
             escape_text(info->smallest, info_user_len(info, info->smallest_len), low, sizeof low),
             escape_text(info->largest, info_user_len(info, info->largest_len), high, sizeof high));
  }
  info_text_filter(info, f);
}

int sst_info(options *o) {
  table_list t = tables_of(o);
  for (size_t i = 0; i < t.n; i++) {
    nay_sst_info info;
    nay_diag diag = {NULL, 0, 0};
    uint64_t entries = 0;
    nay_sst_describe(t.at[i], &info);
    if (o->verify_table) {
      nay_status status = table_count(t.at[i], &diag, &entries);
      if (status != NAY_OK) table_die(t.names[i], status, &diag);
    }
    const nay_filter *f = nay_sst_filter_of(t.at[i]);
    (o->json ? info_json : info_text)(t.names[i], &info, o->verify_table ? &entries : NULL, f);
  }
  tables_close(&t);
  return EXIT_FOUND;
}
