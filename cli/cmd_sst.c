/* cmd_sst.c - nay sst: sorted tables, LevelDB's format, with filters inside. */
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "outfile.h"
#include "stream.h"
#include "tables.h"

/* ---- tables of the command line ---- */

typedef struct table_list {
  const nay_sst **at;
  nay_prefix *prefixes;
  char **names;
  size_t n;
} table_list;

static table_list tables_open(const options *o) {
  table_list t = {.names = o->operands + 1, .n = (size_t)o->noperands - 1};
  if (t.n == 0) die(EXIT_TROUBLE, "missing operand: a table");
  t.at = must_alloc(t.n * sizeof *t.at);
  t.prefixes = must_alloc(t.n * sizeof *t.prefixes);
  for (size_t i = 0; i < t.n; i++) t.at[i] = table_open(t.names[i], &t.prefixes[i]);
  return t;
}

static void tables_close(table_list *t) {
  for (size_t i = 0; i < t->n; i++) nay_sst_free((nay_sst *)(uintptr_t)t->at[i]);
  free(t->at);
  free(t->prefixes);
}

static void print_entry(const options *o, const void *key, size_t len, const void *value,
                        size_t value_len) {
  out_record(key, len);
  if (!o->no_values) {
    out_bytes("\t", 1);
    out_record(value, value_len);
  }
  out_bytes(o->keys.null ? "" : "\n", 1);
}

/* ---- get ---- */

typedef struct get {
  const options *o;
  table_list tables;
  nay_lookup *lookup;
  nay_sst_value value;
  uint64_t selected;
} get;

static void get_print(const get *g, const key_batch *b, size_t i, bool found, size_t table) {
  size_t len;
  if (g->o->count) return;
  if (g->o->json) {
    json_open(NULL, '{');
    json_bytes("key", b->keys[i], b->lens[i]);
    if (found) json_bytes("value", g->value.bytes, g->value.len);
    if (found) json_text("table", g->tables.names[table]);
    json_end();
  } else if (found) {
    print_entry(g->o, b->keys[i], b->lens[i], g->value.bytes, g->value.len);
  } else {
    const uint8_t *record = batch_record(b, i, &len);
    out_record(record, len);
  }
}

static void get_key(get *g, const key_batch *b, size_t i) {
  nay_diag diag = {NULL, 0, 0};
  size_t table = 0;
  nay_status status = nay_lookup_get(g->lookup, b->keys[i], b->lens[i], &diag, &g->value, &table);
  if (status != NAY_OK && status != NAY_ENOENT) {
    table_die(g->tables.names[table], status, &diag);
  }
  bool found = status == NAY_OK;
  if (found == g->o->invert) return;
  g->selected++;
  get_print(g, b, i, found, table);
}

static void get_report(const get *g, uint64_t asked) {
  char found[NUMBER_TEXT], nays[NUMBER_TEXT], reads[NUMBER_TEXT];
  nay_sst_counters c;
  nay_lookup_count(g->lookup, &c);
  words("%s asked, %s selected; nays of filters: %s, blocks read: %s", COUNTED(asked, "key"),
        count_text((double)g->selected, found), count_text((double)c.filter_useful, nays),
        count_text((double)c.block_reads, reads));
}

static void sst_count(const options *o, const char *schema, uint64_t selected) {
  if (!o->json) {
    out_text("%llu\n", (unsigned long long)selected);
    return;
  }
  json_begin(schema);
  json_count("nselected", selected);
  json_end();
}

static int sst_get(options *o) {
  get g = {.o = o, .tables = tables_open(o)};
  if (nay_lookup_new(g.tables.at, g.tables.n, NULL, &g.lookup) != NAY_OK) {
    die(EXIT_TROUBLE, "out of memory");
  }
  key_stream *s = stream_open(o, o->key_files.at, o->key_files.n, NULL);
  stream_skip_bad_files(s);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n; i++) get_key(&g, b, i);
    if (b->idle) out_flush();
  }
  if (o->count) sst_count(o, "nay.sst.get/1", g.selected);
  out_flush();
  get_report(&g, stream_nkeys(s));
  int status = exit_worse(g.selected > 0 ? EXIT_FOUND : EXIT_NONE, stream_status(s));
  stream_close(s);
  nay_sst_value_free(&g.value);
  nay_lookup_free(g.lookup);
  tables_close(&g.tables);
  return status;
}

/* ---- scan ---- */

typedef struct scan {
  const options *o;
  bool internal;
  uint8_t *last; /* user key of the entry before */
  size_t last_len, last_cap;
  bool has_last;
  uint64_t selected;
} scan;

/* Whether the user sees this version: the newest of its key, and not a deletion. */
static bool scan_is_seen(scan *s, const nay_sst_version *v) {
  bool same = s->has_last && v->len == s->last_len && memcmp(v->key, s->last, v->len) == 0;
  if (same) return false;
  if (s->last_cap < v->len + 1) {
    s->last_cap = 2 * v->len + 64;
    s->last = must_grow(s->last, s->last_cap);
  }
  memcpy(s->last, v->key, v->len);
  s->last_len = v->len;
  s->has_last = true;
  return !v->deleted;
}

static void scan_print(const scan *s, const nay_sst_version *v, const void *value,
                       size_t value_len) {
  bool tells_version = s->o->versions && s->internal;
  if (s->o->count) return;
  if (s->o->json) {
    json_open(NULL, '{');
    json_bytes("key", v->key, v->len);
    if (tells_version) json_count("sequence", v->sequence);
    if (tells_version) json_bool("deleted", v->deleted);
    if (!v->deleted && !s->o->no_values) json_bytes("value", value, value_len);
    json_end();
    return;
  }
  if (tells_version) {
    out_text("%llu\t%s\t", (unsigned long long)v->sequence, v->deleted ? "delete" : "put");
  }
  print_entry(s->o, v->key, v->len, value, value_len);
}

static void scan_entry(scan *s, const char *path, const nay_sst_iter *it) {
  size_t len, value_len;
  const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
  nay_sst_version v = {.key = key, .len = len};
  if (s->internal && nay_sst_key_split(key, len, &v) != NAY_OK) {
    die(EXIT_DAMAGED, "%s: a key is not an internal key", path);
  }
  if (s->internal && !s->o->versions && !scan_is_seen(s, &v)) return;
  s->selected++;
  scan_print(s, &v, value, value_len);
}

static nay_status scan_start(const options *o, nay_sst_iter *it) {
  const char *from = o->from != NULL ? o->from : "", *to = o->upto;
  if (o->prefix == NULL) {
    return nay_sst_iter_range(it, from, strlen(from), to, to != NULL ? strlen(to) : 0);
  }
  if (o->from != NULL || to != NULL) die(EXIT_TROUBLE, "--prefix excludes --from and --to");
  return nay_sst_iter_prefix(it, o->prefix, strlen(o->prefix));
}

static int sst_scan(options *o) {
  if (o->noperands != 2) die(EXIT_TROUBLE, "scan walks one table; compact makes one of many");
  table_list t = tables_open(o);
  const char *path = t.names[0];
  nay_sst_info info;
  nay_sst_iter *it;
  nay_sst_describe(t.at[0], &info);
  scan s = {.o = o, .internal = info.keys == NAY_SST_KEYS_INTERNAL};
  if (nay_sst_iter_new(t.at[0], &it) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  nay_status status = scan_start(o, it);
  while (status == NAY_OK && (o->limit == 0 || s.selected < o->limit)) {
    scan_entry(&s, path, it);
    status = nay_sst_iter_next(it);
  }
  if (status != NAY_OK && status != NAY_ENOENT) table_die(path, status, nay_sst_iter_diag(it));
  if (o->count) sst_count(o, "nay.sst.scan/1", s.selected);
  out_flush();
  free(s.last);
  nay_sst_iter_free(it);
  tables_close(&t);
  return s.selected > 0 ? EXIT_FOUND : EXIT_NONE;
}

/* ---- info ---- */

static const char *const filter_names[] = {"none", "block", "full", "partitioned"};

/* Every entry, which reads and verifies every block. */
static nay_status info_count(const nay_sst *table, nay_diag *diag, uint64_t *entries) {
  nay_sst_iter *it;
  *entries = 0;
  if (nay_sst_iter_new(table, &it) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) ++*entries;
  *diag = *nay_sst_iter_diag(it);
  nay_sst_iter_free(it);
  return status == NAY_ENOENT ? NAY_OK : status;
}

static size_t info_user_len(const nay_sst_info *info, size_t len) {
  bool cut = info->keys == NAY_SST_KEYS_INTERNAL && len >= 8;
  return cut ? len - 8 : len;
}

static void info_json_filter(const char *name, const char *made_by, bool used, uint64_t nbytes) {
  json_open(name, '{');
  json_text("by", made_by);
  json_bool("used", used);
  json_count("bytes", nbytes);
  json_close();
}

static void info_json(const char *path, const nay_sst_info *info, const uint64_t *entries,
                      const nay_filter *f) {
  json_begin("nay.sst.info/1");
  json_text("file", path);
  json_count("bytes", info->nbytes);
  json_text("keys", info->keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain");
  json_bool("keys_guessed", info->keys_guessed);
  json_count("blocks", info->nblocks);
  json_count("codec", info->codec);
  if (entries != NULL) json_count("entries", *entries);
  if (info->smallest != NULL) {
    json_bytes("smallest", info->smallest, info_user_len(info, info->smallest_len));
    json_bytes("largest", info->largest, info_user_len(info, info->largest_len));
  }
  json_text("filter", filter_names[info->filter]);
  if (info->policy != NULL) {
    info_json_filter("policy", info->policy, info->filter_used, info->filter_bytes);
  }
  if (info->npartitions != 0) json_count("partitions", info->npartitions);
  if (info->prefix != NULL) {
    info_json_filter("prefix", info->prefix, info->prefix_used, info->prefix_bytes);
  }
  nay_stats stats;
  if (f != NULL && nay_filter_stats(f, &stats) == NAY_OK) json_real("fpr_now", stats.fpr_now);
  json_end();
}

static void info_text_filter(const nay_sst_info *info, const nay_filter *f) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT];
  nay_stats stats;
  if (info->policy == NULL) {
    out_text("  filter   none\n");
  } else {
    out_text("  filter   %s, %s, %s%s", filter_names[info->filter], info->policy,
             size_text(info->filter_bytes, size), info->filter_used ? "" : ", left out");
    if (f != NULL && nay_filter_stats(f, &stats) == NAY_OK) {
      out_text(", %s, %s false positives", nay_kind_name(stats.kind),
               rate_text(stats.fpr_now, rate));
    }
    out_text("\n");
  }
  if (info->prefix != NULL) {
    out_text("  prefixes %s, %s%s\n", info->prefix, size_text(info->prefix_bytes, size),
             info->prefix_used ? "" : ", left out");
  }
}

static void info_text(const char *path, const nay_sst_info *info, const uint64_t *entries,
                      const nay_filter *f) {
  char size[NUMBER_TEXT], count[NUMBER_TEXT], low[80], high[80];
  out_text("%s%s%s: a table of %s keys%s, %s\n", paint(PAINT_BOLD), path, paint(PAINT_PLAIN),
           info->keys == NAY_SST_KEYS_INTERNAL ? "internal" : "plain",
           info->keys_guessed ? " (it seems)" : "", size_text(info->nbytes, size));
  out_text("  data     %s, %s\n", COUNTED(info->nblocks, "block"),
           info->codec == 0   ? "not compressed"
           : info->codec == 1 ? "snappy"
                              : "compressed");
  if (entries != NULL) {
    out_text("  entries  %s, every checksum holds\n", count_text((double)*entries, count));
  }
  if (info->smallest != NULL) {
    out_text("  keys     from %s, none above %s\n",
             escape_text(info->smallest, info_user_len(info, info->smallest_len), low, sizeof low),
             escape_text(info->largest, info_user_len(info, info->largest_len), high, sizeof high));
  }
  info_text_filter(info, f);
}

static int sst_info(options *o) {
  table_list t = tables_open(o);
  for (size_t i = 0; i < t.n; i++) {
    nay_sst_info info;
    nay_diag diag = {NULL, 0, 0};
    uint64_t entries = 0;
    nay_sst_describe(t.at[i], &info);
    if (o->verify_table) {
      nay_status status = info_count(t.at[i], &diag, &entries);
      if (status != NAY_OK) table_die(t.names[i], status, &diag);
    }
    const nay_filter *f = nay_sst_filter_of(t.at[i]);
    (o->json ? info_json : info_text)(t.names[i], &info, o->verify_table ? &entries : NULL, f);
  }
  tables_close(&t);
  return EXIT_FOUND;
}

/* ---- compact ---- */

static void compact_progress(void *unused, const nay_sst_compact_stats *so_far) {
  (void)unused;
  progress_update(0, so_far->read);
}

static void compact_report(const options *o, const char *out, const nay_sst_compact_stats *stats) {
  char read[NUMBER_TEXT], old[NUMBER_TEXT], gone[NUMBER_TEXT];
  if (o->json) {
    json_begin("nay.sst.compact/1");
    json_text("file", out);
    json_count("read", stats->read);
    json_count("written", stats->written);
    json_count("superseded", stats->superseded);
    json_count("deletions", stats->deletions);
    json_end();
  }
  words("wrote %s: %s of %s; superseded: %s, deletions dropped: %s", out,
        COUNTED(stats->written, "entry"), count_text((double)stats->read, read),
        count_text((double)stats->superseded, old), count_text((double)stats->deletions, gone));
}

/* An input is to blame if it cannot be walked either; else the output. */
_Noreturn static void compact_failed(const table_list *t, const char *out, nay_status status,
                                     const nay_diag *diag) {
  for (size_t i = 0; i < t->n; i++) {
    nay_diag why;
    uint64_t entries;
    nay_status walked = info_count(t->at[i], &why, &entries);
    if (walked != NAY_OK) table_die(t->names[i], walked, &why);
  }
  table_die(out, status, diag);
}

static int sst_compact(options *o) {
  const char *out = table_output(o);
  outfile_lock(out); /* before it is read: it may be one of the tables */
  table_list t = tables_open(o);
  table_plan plan;
  nay_diag diag = {NULL, 0, 0};
  nay_sst_compact_stats stats;
  table_plan_make(o, &plan);
  nay_sst_compact_options how = {.write = plan.write,
                                 .bottom = o->bottom,
                                 .oldest_snapshot = o->snapshot,
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

/* ---- the command ---- */

enum { VERB_BUILD = 1, VERB_GET = 2, VERB_SCAN = 4, VERB_INFO = 8, VERB_COMPACT = 16 };

static const struct {
  const char *name;
  unsigned bit;
  int (*run)(options *o);
} verbs[] = {{"build", VERB_BUILD, sst_build},
             {"get", VERB_GET, sst_get},
             {"scan", VERB_SCAN, sst_scan},
             {"info", VERB_INFO, sst_info},
             {"compact", VERB_COMPACT, sst_compact}};

/* An option of another verb would do nothing: better to say so. */
static void sst_check_options(const options *o, const char *verb, unsigned bit) {
  const unsigned making = VERB_BUILD | VERB_COMPACT;
  const struct {
    bool given;
    const char *name;
    unsigned verbs;
  } rows[] = {
      {o->out != NULL, "-o", making},
      {o->table_filter != 0, "--filter", making},
      {o->kind != NAY_AUTO, "-t", making},
      {o->fpr != 0, "-p", making},
      {o->bits_per_key != 0, "-b", making},
      {o->prefix_length != 0, "--prefix-length", making},
      {o->prefix_delimiter != NULL, "--prefix-delimiter", making},
      {o->compress != 0, "--compress", making},
      {o->block_bytes != 0, "--block", making},
      {o->sort, "--sort", VERB_BUILD},
      {o->sequence != 0, "--sequence", VERB_BUILD},
      {o->bottom, "--bottom", VERB_COMPACT},
      {o->snapshot != 0, "--snapshot", VERB_COMPACT},
      {o->from != NULL, "--from", VERB_SCAN},
      {o->upto != NULL, "--to", VERB_SCAN},
      {o->prefix != NULL, "--prefix", VERB_SCAN},
      {o->limit != 0, "--limit", VERB_SCAN},
      {o->versions, "--versions", VERB_SCAN},
      {o->no_values, "--no-values", VERB_SCAN | VERB_GET},
      {o->count, "-c", VERB_SCAN | VERB_GET},
      {o->invert, "-v", VERB_GET},
      {o->key_files.n != 0, "--keys", VERB_GET},
      {o->verify_table, "--verify", VERB_INFO},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].given && (rows[i].verbs & bit) == 0) {
      die(EXIT_TROUBLE, "%s is not for 'nay sst %s'", rows[i].name, verb);
    }
  }
}

static int sst_run(options *o) {
  const char *names[sizeof verbs / sizeof verbs[0] + 1] = {NULL}, *verb = o->operands[0];
  for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    names[i] = verbs[i].name;
    if (strcmp(verb, verbs[i].name) != 0) continue;
    sst_check_options(o, verb, verbs[i].bit);
    return verbs[i].run(o);
  }
  const char *near = words_nearest(verb, names);
  if (near != NULL) die(EXIT_TROUBLE, "no 'nay sst %s'; did you mean %s?", verb, near);
  die(EXIT_TROUBLE, "no 'nay sst %s': there are build, get, scan, info, compact", verb);
}

const command command_sst = {
    .name = "sst",
    .bit = CMD_SST,
    .run = sst_run,
    .summary = "sorted tables with filters inside: make, ask, walk, join",
    .operands = "build|get|scan|info|compact [FILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build get scan info compact",
    .about =
        "A table is a file of keys and values in order, in the format of LevelDB, with filters "
        "that "
        "say which keys are surely not in it.\n"
        "\n"
        "nay sst build [FILE...] -o TABLE reads rows, each a key, a tab and a value, or a key "
        "alone. "
        "With --csv, or --tsv and -k, the value is the whole row. Rows come in the order of the "
        "bytes of their keys, without repeats; --sort puts them so, in memory, and takes the last "
        "of equal keys. With --sequence the keys are internal ones, as inside a LevelDB database: "
        "a "
        "row without a tab is then a deletion.\n"
        "\n"
        "nay sst get TABLE... reads keys from standard input or --keys and prints those it finds, "
        "with a tab and their value. Of several tables the newest comes first on the command line; "
        "the first that knows a key answers. -v selects the keys that are not there.\n"
        "\n"
        "nay sst scan TABLE prints all entries, those from --from to before --to, or those that "
        "start with --prefix. Of internal keys it prints what a user sees; --versions prints all, "
        "each after its sequence number and put or delete.\n"
        "\n"
        "nay sst info TABLE... tells what tables are; with --verify every block is read.\n"
        "\n"
        "nay sst compact TABLE... -o TABLE joins tables, newest first, into one. Of equal keys the "
        "newest stays. Deletions stay too, because older tables may lie below; --bottom says that "
        "there are none, and deletions go. Filters are made anew.\n"
        "\n"
        "Exit status: 0; for get and scan 1 when nothing was selected; 2 for trouble, 3 for a "
        "table "
        "that is damaged or not one.",
    .examples =
        "$ printf 'ada\\t1815\\ngrace\\t1906\\n' | nay sst build -q -o people.ldb\n"
        "$ printf 'grace\\nalan\\n' | nay sst get people.ldb\n"
        "grace\t1906\n"
        "nay sst: 2 keys asked, 1 selected; nays of filters: 1, blocks read: 1\n"
        "$ printf 'ada\\tLovelace\\nalan\\tTuring\\n' | nay sst build -q --filter small -o "
        "new.ldb\n"
        "$ nay sst compact new.ldb people.ldb -o all.ldb\n"
        "nay sst: wrote all.ldb: 3 entries of 4; superseded: 1, deletions dropped: 0\n"
        "$ nay sst scan all.ldb --to b\n"
        "ada\tLovelace\n"
        "alan\tTuring\n",
};
