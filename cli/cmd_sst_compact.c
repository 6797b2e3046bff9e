/*
 * cmd_sst_compact.c - nay sst compact: one table of several, newest first; or with --target-size
 * several of about one size, FILE-1, FILE-2, ... Those are removed again if the compaction fails,
 * so no file is ever overwritten: it could be an input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nay_sst_compact.h"
#include "numbers.h"
#include "outfile.h"
#include "table_foreign.h"
#include "tables.h"

/* compact_part: a table that was written. */
typedef struct compact_part {
  char *path;
  uint8_t *smallest, *largest;
  size_t smallest_len, largest_len;
  uint64_t nentries, nbytes;
} compact_part;

typedef struct compact {
  const sst_options *o;
  const char *out;
  char **paths; /* named so far, whether finished or not */
  size_t npaths;
  compact_part *parts; /* finished, in the order of their keys */
  size_t nparts;
  bool exists; /* the last path is that of a file which must not be overwritten */
  pthread_mutex_t progress;
} compact;

/* Called by several threads: one of them shows it. A signal cancels. */
static nay_status compact_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  compact *c = ctx;
  if (pthread_mutex_trylock(&c->progress) == 0) {
    progress_update(0, so_far->read);
    pthread_mutex_unlock(&c->progress);
  }
  return signals_abort() ? NAY_ECANCELED : NAY_OK;
}

/* ---- several outputs ---- */

/* The name with a number: a.ldb becomes a-1.ldb. */
static char *compact_name(const char *out, size_t number) {
  const char *slash = strrchr(out, '/'), *name = slash != NULL ? slash + 1 : out;
  const char *dot = strrchr(name, '.'), *suffix = dot != NULL && dot != name ? dot : "";
  size_t stem = *suffix != '\0' ? (size_t)(suffix - out) : strlen(out);
  size_t size = strlen(out) + 32;
  char *path = must_alloc(size);
  snprintf(path, size, "%.*s-%zu%s", (int)stem, out, number, suffix);
  return path;
}

static const char *compact_next(void *ctx) {
  compact *c = ctx;
  char *path = compact_name(c->out, c->npaths + 1);
  c->paths = must_grow(c->paths, (c->npaths + 1) * sizeof *c->paths);
  c->paths[c->npaths] = path;
  c->exists = access(path, F_OK) == 0;
  if (c->exists) return NULL;
  c->npaths++;
  return path;
}

static void *compact_copy(const void *bytes, size_t len) {
  void *copy = must_alloc(len + 1);
  if (len != 0) memcpy(copy, bytes, len);
  return copy;
}

static bool compact_after(const compact_part *a, const compact_part *b) {
  size_t n = a->smallest_len < b->smallest_len ? a->smallest_len : b->smallest_len;
  int order = memcmp(a->smallest, b->smallest, n);
  return order != 0 ? order > 0 : a->smallest_len > b->smallest_len;
}

static void compact_done(void *ctx, const nay_sst_output *out) {
  compact *c = ctx;
  compact_part part = {.path = compact_copy(out->path, strlen(out->path) + 1),
                       .smallest = compact_copy(out->smallest, out->smallest_len),
                       .largest = compact_copy(out->largest, out->largest_len),
                       .smallest_len = out->smallest_len,
                       .largest_len = out->largest_len,
                       .nentries = out->entries,
                       .nbytes = out->nbytes};
  size_t at = c->nparts++;
  c->parts = must_grow(c->parts, c->nparts * sizeof *c->parts);
  for (; at > 0 && compact_after(&c->parts[at - 1], &part); at--) c->parts[at] = c->parts[at - 1];
  c->parts[at] = part;
}

static nay_status compact_parts(compact *c, const table_list *t, nay_sst_compact_options *how,
                                nay_diag *diag, nay_sst_compact_stats *stats) {
  nay_sst_outputs to = {.size = sizeof to, .next = compact_next, .done = compact_done, .ctx = c};
  how->target_bytes = c->o->target_bytes;
  how->threads = keys_threads(&c->o->keys);
  signals_defer(true);
  nay_status status = nay_sst_compact_to(t->at, t->n, &to, how, NULL, diag, stats);
  for (size_t i = 0; status != NAY_OK && i < c->nparts; i++) outfile_remove(c->parts[i].path);
  signals_defer(false); /* ends here after a signal */
  if (status == NAY_ECANCELED && c->exists) {
    die(EXIT_TROUBLE, "%s exists: --target-size overwrites no file", c->paths[c->npaths]);
  }
  return status;
}

/* ---- report ---- */

static void compact_json(const compact *c, const nay_sst_compact_stats *stats) {
  json_begin("nay.sst.compact/1");
  if (c->o->target_bytes == 0) {
    json_text("file", c->out);
  } else {
    json_open("files", '[');
    for (size_t i = 0; i < c->nparts; i++) {
      const compact_part *p = &c->parts[i];
      json_open(NULL, '{');
      json_text("file", p->path);
      json_count("nentries", p->nentries);
      json_count("nbytes_table", p->nbytes);
      json_bytes("smallest", p->smallest, p->smallest_len);
      json_bytes("largest", p->largest, p->largest_len);
      json_close();
    }
    json_close();
  }
  json_count("nread", stats->read);
  json_count("nwritten", stats->written);
  json_count("nsuperseded", stats->superseded);
  json_count("ndeletions", stats->deletions);
  json_end();
}

static void compact_report(const compact *c, const nay_sst_compact_stats *stats) {
  char read[NUMBER_TEXT], old[NUMBER_TEXT], gone[NUMBER_TEXT], what[NUMBER_TEXT + 32];
  if (c->o->common.json) compact_json(c, stats);
  const char *out = c->out;
  if (c->o->target_bytes != 0) {
    snprintf(what, sizeof what, "%s", COUNTED(c->nparts, "table"));
    out = what;
  }
  message("wrote %s: %s of %s; superseded: %s, deletions dropped: %s", out,
          COUNTED(stats->written, "entry"), count_text((double)stats->read, read),
          count_text((double)stats->superseded, old), count_text((double)stats->deletions, gone));
}

static void compact_free(compact *c) {
  for (size_t i = 0; i < c->npaths; i++) free(c->paths[i]);
  for (size_t i = 0; i < c->nparts; i++) {
    free(c->parts[i].path);
    free(c->parts[i].smallest);
    free(c->parts[i].largest);
  }
  free(c->paths);
  free(c->parts);
}

/* ---- the command ---- */

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
static void compact_check_options(const sst_options *o) {
  if (o->table_format != NULL && table_layout_is_nori(o->table_format)) {
    die(EXIT_TROUBLE,
        "--format: compact writes LevelDB's tables, and recognises those of nori: omit it");
  }
  if (o->target_bytes != 0) options_refuse(&o->common, "force", "sst compact --target-size");
  if (o->snapshot == 0) die(EXIT_TROUBLE, "--snapshot: at least 1 with compact");
}

/* The range filter, for the keys that the tables have. */
static void compact_ranges(const sst_options *o, table_plan *plan) {
  nay_key_description how = {.size = sizeof how};
  if (nay_key_description_parse(plan->write.key, NULL, &how) != NAY_OK) how.type = NAY_KEY_HEX;
  unsigned type = how.type;
  table_plan_ranges(o, &type, plan);
  if (type == (unsigned)how.type) return;
  die(EXIT_TROUBLE,
      "--filter range: keys of type %s are not in the order of their values, those of type %s are: "
      "build the tables with that --key",
      nay_key_type_name(how.type), nay_key_type_name((nay_key_type)type));
}

int sst_compact(sst_options *o) {
  compact_check_options(o);
  bool several =
      o->target_bytes != 0 && o->output.path != NULL && !outfile_is_stdout(o->output.path);
  compact c = {.o = o,
               .out = several ? o->output.path : table_output(o),
               .progress = PTHREAD_MUTEX_INITIALIZER};
  outfile_lock(c.out);
  table_list t = tables_of(o);
  tables_have_versions(o, &t);
  table_plan plan;
  nay_diag diag = {.what = NULL};
  nay_sst_compact_stats stats = {.size = sizeof stats};
  table_plan_make(o, &plan);
  plan.write.key = tables_key(o, &t);
  compact_ranges(o, &plan);
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &plan.write,
                                 .bottom = o->bottom,
                                 .snapshots = &o->snapshot,
                                 .nsnapshots = o->snapshot != NUMBER_NOT_GIVEN,
                                 .progress = compact_progress,
                                 .progress_ctx = &c};
  progress_begin(o->common.quiet ? PROGRESS_NEVER : (progress_mode)o->common.progress, 0);
  nay_status status = o->target_bytes != 0
                          ? compact_parts(&c, &t, &how, &diag, &stats)
                          : nay_sst_compact(t.at, t.n, c.out, &how, NULL, &diag, &stats);
  progress_clear();
  if (status != NAY_OK) compact_failed(&t, c.out, status, &diag);
  outfile_unlock();
  compact_report(&c, &stats);
  compact_free(&c);
  tables_close(&t);
  return EXIT_FOUND;
}
