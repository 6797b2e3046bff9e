/* cmd_list_build.c - nay list build and delta: a universe and what of it is listed in, a list out.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bads.h"
#include "described.h"
#include "exact.h"
#include "filterfile.h"
#include "hashers.h"
#include "lists.h"
#include "numbers.h"
#include "outfile.h"
#include "places.h"
#include "select.h"

/* list_job: of build and delta. */
typedef struct list_job {
  list_options *o;
  nay_builder *builder;
  uint64_t nuniverse;       /* adds of the universe; those of listed keys follow */
  unsigned npasses;         /* over the universe */
  row_places places;        /* of the listed keys */
  const char *unit;         /* of their lines */
  const list_chain *before; /* of delta: the lists so far, */
  const list_chain *now;    /* and the list that they are to become, or its listed keys */
  exact_set *listed;
} list_job;

/* ---- params ---- */

static nay_params job_params(const list_options *o) {
  nay_params p = size_params(&o->size, NULL, 0.01); /* for the seed */
  nay_params params = {.size = sizeof params,
                       .kind = NAY_LIST,
                       .seed = p.seed,
                       .threads = keys_threads(&o->keys),
                       .list_outside = o->outside};
  if (o->check_bits != NUMBER_NOT_GIVEN && o->check_bits > 32) {
    die(EXIT_TROUBLE, "--check: at most 32 bits");
  }
  params.check_bits = o->check_bits != NUMBER_NOT_GIVEN ? (uint32_t)o->check_bits : 0;
  if (filterfile_secret(o->secret, params.key)) params.hash = NAY_HASH_SIPHASH;
  if (o->secret != NULL && o->size.seed != NULL) {
    die(EXIT_TROUBLE, "--seed is for the hash without a key: --secret excludes it");
  }
  if (o->store_key && o->secret == NULL) die(EXIT_TROUBLE, "--store-key needs --secret");
  if (o->store_key) params.flags |= NAY_STORE_KEY;
  if (o->low_memory) params.flags |= NAY_LOW_MEMORY;
  if (o->two_passes) params.flags |= NAY_LIST_TWO_PASSES;
  params.spill_dir = getenv("TMPDIR");
  return params;
}

static void job_partitions(const list_options *o, nay_params *params) {
  bool prefix = o->partition_prefix != 0, delimiter = o->partition_delimiter != NULL;
  if ((o->partition != NULL) + prefix + delimiter > 1) {
    die(EXIT_TROUBLE,
        "--partition, --partition-prefix and --partition-delimiter are mutually exclusive");
  }
  if (o->partition_prefix > 65535) die(EXIT_TROUBLE, "--partition-prefix: at most 65,535 bytes");
  params->list_prefix = (uint32_t)o->partition_prefix;
  if (o->partition != NULL) params->list_delimiter = LIST_TAB;
  if (!delimiter) return;
  const char *text = o->partition_delimiter;
  if (strcmp(text, "\\t") == 0) text = "\t";
  if (strlen(text) != 1) die(EXIT_TROUBLE, "--partition-delimiter: one character");
  params->list_delimiter = (uint8_t)text[0];
}

/* ---- keys ---- */

static void job_must(const list_job *j, nay_status status) {
  (void)j;
  if (status == NAY_OK) return;
  if (status == NAY_EFULL) die(EXIT_TROUBLE, "too many keys, or more than 2^24 partitions");
  die(exit_of(status), "cannot add keys: %s", nay_status_text(status));
}

static void build_universe(void *ctx, const key_batch *b, const list_keys *keys) {
  list_job *j = ctx;
  for (size_t i = 0; i < b->n; i++) {
    job_must(j, nay_builder_add(j->builder, keys->at[i], keys->lens[i]));
    j->nuniverse += j->npasses == 1;
  }
}

static void build_listed(void *ctx, const key_batch *b, const list_keys *keys) {
  list_job *j = ctx;
  for (size_t i = 0; i < b->n; i++) {
    job_must(j, nay_builder_add_value(j->builder, keys->at[i], keys->lens[i], 1));
    places_add(&j->places, map_name(b->path), b->lines[i]);
  }
}

/* The files of listed keys among the operands; without any, standard input. */
static text_list job_listed(const list_options *o, int from) {
  text_list files = {.at = NULL};
  for (int i = from; i < o->common.noperands; i++) options_append(&files, o->common.operands[i]);
  if (files.n == 0) options_append(&files, "-");
  size_t nstdin = 0;
  for (size_t i = 0; i < files.n; i++) nstdin += strcmp(files.at[i], "-") == 0;
  for (size_t i = 0; i < o->universe.n; i++) nstdin += strcmp(o->universe.at[i], "-") == 0;
  if (nstdin > 1) die(EXIT_TROUBLE, "standard input is read once: name files of keys");
  return files;
}

static void job_needs_universe(const list_options *o) {
  if (o->universe.n == 0) {
    die(EXIT_TROUBLE, "give the universe, all keys that may be asked for: --universe FILE");
  }
  if (!o->two_passes) return;
  if (o->check_bits != NUMBER_NOT_GIVEN && o->check_bits != 0) {
    die(EXIT_TROUBLE, "--check stores bits of every key: it excludes --two-passes");
  }
  for (size_t i = 0; i < o->universe.n; i++) {
    const char *path = o->universe.at[i];
    if (filterfile_is_regular(path)) continue;
    if (strcmp(path, "-") != 0 && access(path, F_OK) != 0) continue; /* told when it is read */
    die(EXIT_TROUBLE,
        "--two-passes: %s is no regular file, so it cannot be read twice: give a file, or omit "
        "--two-passes (--low-memory keeps the keys in a temporary file)",
        strcmp(path, "-") != 0 ? path : "standard input");
  }
}

/* ---- the list ---- */

_Noreturn static void job_refused(const list_job *j, const nay_diag *diag) {
  row_place at = places_of(&j->places, diag->offset - j->nuniverse);
  die(EXIT_TROUBLE,
      "%s: %s %llu: a listed key that is not of the universe: --outside=drop leaves such keys out, "
      "--outside=join adds them to the universe",
      at.file, j->unit, (unsigned long long)at.line);
}

#define JOB_REFUSED "a listed key is not of the universe"
#define JOB_REPEATED "a key of the universe was added again"
#define JOB_CHANGED "the universe changed between the passes"

/* What nay_builder_finish found wrong with the keys. */
static void job_blame(const list_job *j, const nay_diag *diag) {
  if (strcmp(diag->what, JOB_REFUSED) == 0) job_refused(j, diag);
  if (strcmp(diag->what, JOB_REPEATED) == 0) {
    die(EXIT_TROUBLE,
        "key %llu of the universe is there more than once: --two-passes needs each key once (sort "
        "-u), or omit it",
        (unsigned long long)diag->offset + 1);
  }
  if (strcmp(diag->what, JOB_CHANGED) == 0) {
    die(EXIT_TROUBLE, "%s changed while %s read: start again", j->o->universe.at[0],
        j->o->universe.n == 1 ? "it was" : "it or the other files of the universe were");
  }
}

/* NULL: the universe has to be read again. */
static nay_filter *job_finish_pass(const list_job *j) {
  nay_filter *list = NULL;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  nay_status status = nay_builder_finish(j->builder, &diag, &list);
  if (status == NAY_EINVAL) job_blame(j, &diag);
  if (status != NAY_OK) {
    die(EXIT_TROUBLE, "cannot build this list: %s", diag_text(status, &diag, why));
  }
  return list;
}

/* The universe was read once. */
static nay_filter *job_finish(list_job *j, list_each *universe) {
  nay_filter *list;
  while ((list = job_finish_pass(j)) == NULL) {
    j->o->again = true;
    j->npasses++;
    list_read(j->o, &j->o->universe, false, universe, j);
  }
  return list;
}

static nay_status job_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  nay_filter *const *list = ctx;
  return nay_filter_encode_stream(*list, sink, sink_ctx);
}

static void job_report(const list_options *o, const char *out, const nay_filter *list,
                       const list_job *j) {
  char size[NUMBER_TEXT], bits[NUMBER_TEXT];
  nay_stats s = {.size = sizeof s};
  bool delta = j->before != NULL;
  nay_filter_stats(list, &s);
  if (o->common.json) {
    json_begin(delta ? "nay.list.delta/1" : "nay.list.build/1");
    json_text("file", out);
    json_count("nkeys", j->nuniverse + j->places.nrows);
    json_count("nbad", bads_count());
    json_count("ndistinct", s.nkeys);
    json_count("nlisted", s.nlisted);
    json_count("npartitions", s.npartitions);
    json_count("nexceptions", s.nexceptions);
    json_count("npasses", j->npasses);
    json_count("check_bits", s.check_bits);
    json_count("nbytes", nay_filter_encoded_size(list));
    json_count("nbits", s.nbits);
    json_count("nbits_bound", s.list_bound);
    json_real("bits_per_listed", list_bits_per_listed(&s, s.nbits));
    json_real("bits_per_listed_bound", list_bits_per_listed(&s, s.list_bound));
    json_end();
    return;
  }
  message("built %s: %s of %s %s, %s; the payload has %s bits, at least %s are needed",
          outfile_is_stdout(out) ? "standard output" : out,
          delta ? COUNTED(s.nlisted, "changed answer") : COUNTED(s.nlisted, "listed key"),
          COUNTED(s.nkeys, "key"), s.npartitions > 1 ? "in partitions" : "of the universe",
          size_text(nay_filter_encoded_size(list), size), count_text((double)s.nbits, bits),
          count_text((double)s.list_bound, (char[NUMBER_TEXT]){""}));
  if (s.check_bits == 0) message("no check bits: %s", LIST_WARNING);
}

static void job_write(const list_job *j, nay_filter *list, const char *key) {
  const list_options *o = j->o;
  const char *out = o->output.path != NULL ? o->output.path : "-";
  if (nay_filter_set_key(list, key) != NAY_OK) die(EXIT_TROUBLE, "cannot store --key");
  if (o->meta != NULL && nay_filter_set_meta(list, o->meta, strlen(o->meta)) != NAY_OK) {
    die(EXIT_TROUBLE, "cannot store --meta");
  }
  outfile_write(out, o->store_key ? NAY_FILE_PRIVATE : 0, job_produce, &list);
  job_report(o, out, list, j);
  nay_filter_free(list);
}

static void job_begin(list_job *j, const nay_params *params) {
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  keys_options style = list_style(j->o);
  key_reader reader = key_reader_new(&style);
  j->unit = key_reader_unit(&reader);
  key_reader_end(&reader);
  nay_status status = nay_builder_new(params, NULL, &diag, &j->builder);
  if (status != NAY_OK) {
    die(EXIT_TROUBLE, "cannot build this list: %s", diag_text(status, &diag, why));
  }
}

static void job_end(list_job *j) {
  nay_builder_free(j->builder);
  free(j->places.runs);
}

int list_build(list_options *o) {
  list_job j = {.o = o, .npasses = 1};
  const char *out = o->output.path != NULL ? o->output.path : "-";
  job_needs_universe(o);
  if (o->two_passes && o->outside != NAY_LIST_REFUSE) {
    die(EXIT_TROUBLE, "--outside=%s needs all keys at once: it excludes --two-passes",
        o->outside == NAY_LIST_DROP ? "drop" : "join");
  }
  outfile_may_write(out, o->output.force);
  text_list listed = job_listed(o, 1);
  nay_params params = job_params(o);
  job_partitions(o, &params);
  if (o->keys.form != 0) described_own();
  job_begin(&j, &params);
  list_read(o, &o->universe, false, build_universe, &j);
  list_read(o, &listed, false, build_listed, &j);
  job_write(&j, job_finish(&j, build_universe), described_key(&o->keys));
  job_end(&j);
  free(listed.at);
  return EXIT_FOUND;
}

/* ---- delta ---- */

static uint64_t delta_hash(const list_job *j, const void *key, size_t len) {
  nay_hasher hasher = filter_hasher(j->before->lists[0]);
  nay_hash hash = {0, 0};
  nay_hasher_hash(&hasher, key, len, &hash);
  return hash.lo;
}

/* Listed keys, looked up while the universe is read. */
static void delta_collect(void *ctx, const key_batch *b, const list_keys *keys) {
  list_job *j = ctx;
  for (size_t i = 0; i < b->n; i++) {
    uint64_t hash = delta_hash(j, keys->at[i], keys->lens[i]);
    exact_add(j->listed, keys->at[i], keys->lens[i], hash);
    places_add(&j->places, map_name(b->path), b->lines[i]);
  }
}

/* Which keys of the batch are listed now. */
static void delta_now(const list_job *j, const list_keys *keys, size_t n, uint64_t *now) {
  uint64_t known[BATCH_WORDS];
  if (j->now != NULL) {
    list_answer(j->now, keys->at, keys->lens, n, now, known);
    return;
  }
  memset(now, 0, (n + 63) / 64 * sizeof *now);
  for (size_t i = 0; i < n; i++) {
    uint64_t hash = delta_hash(j, keys->at[i], keys->lens[i]);
    now[i / 64] |= (uint64_t)exact_see(j->listed, keys->at[i], keys->lens[i], hash) << i % 64;
  }
}

static void delta_universe(void *ctx, const key_batch *b, const list_keys *keys) {
  list_job *j = ctx;
  uint64_t now[BATCH_WORDS], before[BATCH_WORDS], known[BATCH_WORDS];
  list_answer(j->before, keys->at, keys->lens, b->n, before, known);
  delta_now(j, keys, b->n, now);
  for (size_t i = 0; i < b->n; i++) {
    bool changed = is_selected(now, i) != is_selected(before, i);
    job_must(j, nay_builder_add_value(j->builder, keys->at[i], keys->lens[i], changed));
    j->nuniverse += j->npasses == 1;
  }
}

static void delta_check_listed(const list_job *j) {
  uint64_t outside = exact_count(j->listed) - exact_nseen(j->listed);
  if (outside == 0 || j->o->outside == NAY_LIST_DROP) return;
  die(EXIT_TROUBLE,
      "the universe lacks %s: --outside=drop leaves such keys out; to add them give their file to "
      "--universe, too",
      COUNTED(outside, "listed key"));
}

static nay_params delta_params(const list_options *o, const list_chain *before) {
  nay_params params = job_params(o);
  params.list_base = before->last.list_id;
  params.list_prefix = before->first.list_prefix;
  params.list_delimiter = before->first.list_delimiter;
  params.list_outside = NAY_LIST_JOIN; /* every key is added as one of the universe */
  if (before->first.hash == NAY_HASH_SIPHASH && o->secret == NULL) {
    die(EXIT_TROUBLE, "%s is keyed: give --secret, for the delta too", before->paths[0]);
  }
  if (o->outside == NAY_LIST_JOIN) {
    die(EXIT_TROUBLE, "--outside=join: give the file of the listed keys to --universe, too");
  }
  return params;
}

/* The last operand is what is listed now: a list, or a file of keys. */
int list_delta(list_options *o) {
  list_job j = {.o = o, .npasses = 1};
  const char *out = o->output.path != NULL ? o->output.path : "-";
  const char *const *operands = (const char *const *)o->common.operands + 1;
  size_t n = (size_t)o->common.noperands - 1;
  job_needs_universe(o);
  if (n < 2) die(EXIT_TROUBLE, "give the list, and what is listed now: a list or a file of keys");
  outfile_may_write(out, o->output.force);
  list_chain before = list_open(o, operands, n - 1), now = {.n = 0};
  text_list listed = job_listed(o, (int)n);
  bool is_list = strcmp(operands[n - 1], "-") != 0 && list_is_file(operands[n - 1], o->secret);
  if (is_list) now = list_open(o, operands + n - 1, 1);
  nay_params params = delta_params(o, &before);
  j.before = &before;
  j.now = is_list ? &now : NULL;
  job_begin(&j, &params);
  if (!is_list) {
    j.listed = exact_new();
    list_read(o, &listed, false, delta_collect, &j);
  }
  list_read(o, &o->universe, false, delta_universe, &j);
  if (!is_list) delta_check_listed(&j);
  job_write(&j, job_finish(&j, delta_universe), nay_filter_key(before.lists[0]));
  job_end(&j);
  if (j.listed != NULL) exact_free(j.listed);
  if (is_list) list_close(&now);
  list_close(&before);
  free(listed.at);
  return EXIT_FOUND;
}
