/* cmd_sst_compact.c - nay sst compact: one table of several, newest first. */
#include "nay_compact.h"
#include "numbers.h"
#include "outfile.h"
#include "table_foreign.h"
#include "tables.h"

static bool compact_progress(void *unused, const nay_sst_compact_stats *so_far) {
  (void)unused;
  progress_update(0, so_far->read);
  return true;
}

static void compact_report(const options *o, const char *out, const nay_sst_compact_stats *stats) {
  char read[NUMBER_TEXT], old[NUMBER_TEXT], gone[NUMBER_TEXT];
  if (o->json) {
    json_begin("nay.sst.compact/1");
    json_text("file", out);
    json_count("nread", stats->read);
    json_count("nwritten", stats->written);
    json_count("nsuperseded", stats->superseded);
    json_count("ndeletions", stats->deletions);
    json_end();
  }
  message("wrote %s: %s of %s; superseded: %s, deletions dropped: %s", out,
          COUNTED(stats->written, "entry"), count_text((double)stats->read, read),
          count_text((double)stats->superseded, old), count_text((double)stats->deletions, gone));
}

/* Blames an input that cannot be scanned, else the output. */
_Noreturn static void compact_failed(const table_list *t, const char *out, nay_status status,
                                     const nay_diag *diag) {
  for (size_t i = 0; i < t->n; i++) {
    nay_diag why;
    uint64_t entries;
    nay_status walked = table_count(t->at[i], &why, &entries);
    if (walked != NAY_OK) table_die(t->names[i], walked, &why);
  }
  table_die(out, status, diag);
}

/* --format names what is read: the output is LevelDB's. */
static void compact_check_options(const options *o) {
  if (o->table_format != NULL && table_layout_is_nori(o->table_format)) {
    die(EXIT_TROUBLE,
        "--format: compact writes LevelDB's tables, and recognises those of nori: omit it");
  }
  if (o->snapshot == 0) die(EXIT_TROUBLE, "--snapshot: at least 1 with compact");
}

int sst_compact(options *o) {
  compact_check_options(o);
  const char *out = table_output(o);
  outfile_lock(out); /* before it is read: it may be one of the tables */
  table_list t = tables_of(o);
  table_plan plan;
  nay_diag diag = {.what = NULL};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  table_plan_make(o, &plan);
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &plan.write,
                                 .bottom = o->bottom,
                                 .snapshots = &o->snapshot,
                                 .nsnapshots = o->snapshot != NUMBER_NOT_GIVEN,
                                 .progress = compact_progress};
  progress_begin(o->quiet ? PROGRESS_NEVER : (progress_mode)o->progress, 0);
  nay_status status = nay_sst_compact(t.at, t.n, out, &how, NULL, &diag, &stats);
  progress_clear();
  if (status != NAY_OK) compact_failed(&t, out, status, &diag);
  outfile_unlock();
  compact_report(o, out, &stats);
  tables_close(&t);
  return EXIT_FOUND;
}
