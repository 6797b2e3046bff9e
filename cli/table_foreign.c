/* table_foreign.c - see table_foreign.h. */
#include "table_foreign.h"

#include <string.h>

#include "numbers.h"
#include "tables.h"

bool table_is_foreign(const nay_sst *table, nay_sst_foreign_info *info) {
  *info = (nay_sst_foreign_info){.size = sizeof *info};
  return nay_sst_foreign_describe(table, info) == NAY_OK;
}

const char *table_engine(const nay_sst_foreign_info *info) {
  return strncmp(info->layout, "nori", 4) == 0 ? "nori" : "mini-lsm";
}

table_verdict table_verify(const char *path, const nay_sst *table) {
  table_verdict v = {.verified = true};
  nay_diag diag = {NULL, 0, 0};
  nay_status status = nay_sst_foreign_verify(table, &diag, &v.nentries, &v.ndenied);
  if (status == NAY_ENOENT || status == NAY_OK) status = table_count(table, &diag, &v.nentries);
  if (status != NAY_OK) table_die(path, status, &diag);
  return v;
}

static void foreign_entries(const nay_sst_foreign_info *info, const table_verdict *v) {
  char count[NUMBER_TEXT];
  const char *told = info->versions_tried ? ", told by parsing every block" : "";
  if (v->verified || info->has_nentries) {
    out_text("  entries  %s, %s; ",
             count_text((double)(v->verified ? v->nentries : info->nentries), count),
             !v->verified          ? "as the footer says"
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
  for (size_t i = 0; (caveat = nay_sst_foreign_caveat(table, i)) != NULL; i++) {
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
  for (size_t i = 0; (caveat = nay_sst_foreign_caveat(table, i)) != NULL; i++) {
    json_text(NULL, caveat);
  }
  json_close();
}
