/*
 * cmd_check.c - nay check: grep for filters.
 *
 * Each batch of keys becomes a bitmap of answers; what is then counted or printed are bits. Several
 * filters share the hashes when their hash function and seed agree, else each hashes the keys.
 */
#include <string.h>

#include "filterfile.h"
#include "stream.h"
#include "tablefile.h"

typedef struct check {
  const options *o;
  const char *const *names;
  nay_filter **filters; /* NULL: it is the table */
  table_file *tables;
  size_t nfilters;
  bool *shares_hash; /* with the first */
  uint64_t selected;
} check;

/* ---- probing ---- */

static void check_table(const nay_table_filters *t, const key_batch *b, uint64_t *bitmap) {
  for (size_t w = 0; w < (b->n + 63) / 64; w++) bitmap[w] = 0;
  for (size_t i = 0; i < b->n; i++) {
    bitmap[i / 64] |= (uint64_t)nay_table_filters_may_contain(t, b->keys[i], b->lens[i]) << i % 64;
  }
}

static void check_probe(const check *c, size_t f, const key_batch *b, uint64_t *bitmap) {
  if (c->filters[f] == NULL) {
    check_table(c->tables[f].table, b, bitmap);
    return;
  }
  nay_status status =
      c->shares_hash[f]
          ? nay_filter_may_contain_hash_many(c->filters[f], b->lo, b->hi, b->n, bitmap)
          : nay_filter_may_contain_many(c->filters[f], b->keys, b->lens, b->n, bitmap);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", c->names[f], nay_status_text(status));
}

/* The selected keys of a batch: union or intersection over the filters, perhaps inverted. */
static void check_select(const check *c, const key_batch *b, uint64_t *bitmap) {
  uint64_t one[BATCH_WORDS];
  check_probe(c, 0, b, bitmap);
  for (size_t f = 1; f < c->nfilters; f++) {
    check_probe(c, f, b, one);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      bitmap[w] = c->o->all ? bitmap[w] & one[w] : bitmap[w] | one[w];
    }
  }
  for (size_t w = 0; c->o->invert && w < (b->n + 63) / 64; w++) {
    bitmap[w] = ~bitmap[w] & word_mask(b->n, w);
  }
}

/* ---- printing ---- */

static void check_header(check *c, const key_batch *b) {
  bool prints = !c->o->quiet && !c->o->count && !c->o->json && !c->o->annotate && !c->o->which;
  if (prints && b->header != NULL) out_record(b->header, b->header_len);
}

/* With -a every key; without it JSON has the selected keys, as plain output has. */
static void check_annotated(const check *c, const key_batch *b, const uint64_t *bitmap) {
  for (size_t i = 0; i < b->n; i++) {
    bool selected = (bitmap[i / 64] >> (i % 64) & 1) != 0, maybe = selected != c->o->invert;
    if (!selected && !c->o->annotate) continue;
    size_t len;
    const uint8_t *record = batch_record(b, i, &len);
    if (c->o->json) {
      json_open(NULL, '{');
      json_bytes("key", b->keys[i], b->lens[i]);
      json_bool("maybe", maybe);
      json_end();
    } else {
      out_text("%s%s%s\t", paint(maybe ? PAINT_GOOD : PAINT_DIM), maybe ? "maybe" : "nay",
               paint(PAINT_PLAIN));
      out_record(record, len);
    }
  }
}

/* --which: the key, a tab, and the filters that may hold it. */
static void check_which(check *c, const key_batch *b) {
  static uint64_t maps[OPTIONS_FILES][BATCH_WORDS];
  for (size_t f = 0; f < c->nfilters; f++) check_probe(c, f, b, maps[f]);
  for (size_t i = 0; i < b->n; i++) {
    bool first = true;
    for (size_t f = 0; f < c->nfilters; f++) {
      if ((maps[f][i / 64] >> (i % 64) & 1) == 0) continue;
      if (c->o->json && first) {
        json_open(NULL, '{');
        json_bytes("key", b->keys[i], b->lens[i]);
        json_open("filters", '[');
      }
      size_t len;
      const uint8_t *record = batch_record(b, i, &len);
      if (!c->o->json && first) out_record(record, len - (record[len - 1] == '\n'));
      if (c->o->json) json_text(NULL, c->names[f]);
      if (!c->o->json) out_text("%s%s", first ? "\t" : ",", c->names[f]);
      first = false;
    }
    if (first) continue;
    c->selected++;
    if (c->o->json) json_close();
    if (c->o->json) json_end();
    if (!c->o->json) out_text("\n");
  }
}

/* Returns false when the answer is known and no more keys are needed. */
static bool check_batch(check *c, const key_batch *b) {
  uint64_t bitmap[BATCH_WORDS];
  check_header(c, b);
  if (c->o->which) {
    check_which(c, b);
    return true;
  }
  check_select(c, b, bitmap);
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    c->selected += (uint64_t)__builtin_popcountll(bitmap[w]);
    bool prints = !c->o->quiet && !c->o->count && !c->o->annotate && !c->o->json;
    if (prints && bitmap[w] != 0) batch_print(b, w, bitmap[w]);
  }
  if (c->o->quiet) return c->selected == 0;
  if (!c->o->count && (c->o->annotate || c->o->json)) check_annotated(c, b, bitmap);
  return true;
}

/* ---- the command ---- */

static void check_open(check *c) {
  for (size_t f = 0; f < c->nfilters; f++) {
    c->tables[f] = (table_file){.is_table = false};
    c->filters[f] = NULL;
    if (c->o->format == NULL) c->tables[f] = tablefile_open(c->names[f]);
    if (!c->tables[f].is_table) c->filters[f] = filterfile_open(c->names[f], c->o);
    c->shares_hash[f] = nay_filter_same_hash(c->filters[0], c->filters[f]);
  }
}

/* Of tables no plan is known. */
static int check_promises(const check *c) {
  int status = c->selected > 0 ? EXIT_FOUND : EXIT_NONE;
  for (size_t f = 0; f < c->nfilters; f++) {
    if (c->filters[f] == NULL) continue;
    promise p = promise_judge(c->filters[f], 0);
    status = promise_tell(c->o, c->names[f], &p, NULL, status);
  }
  return status;
}

static void check_count(const check *c, uint64_t nkeys) {
  if (!c->o->json) {
    out_text("%llu\n", (unsigned long long)c->selected);
    return;
  }
  bool overfilled = false;
  for (size_t f = 0; f < c->nfilters; f++) {
    if (c->filters[f] != NULL) overfilled |= promise_judge(c->filters[f], 0).overfilled;
  }
  json_begin("nay.check/1");
  json_count("nkeys", nkeys);
  json_count("nselected", c->selected);
  json_bool("overfilled", overfilled);
  json_end();
}

static int check_run(options *o) {
  bool many = o->any || o->all || o->which;
  if (o->any + o->all + o->which > 1)
    die(EXIT_TROUBLE, "--any, --all and --which are mutually exclusive");
  if (o->which && (o->invert || o->annotate || o->count)) {
    die(EXIT_TROUBLE, "--which has its own output: it excludes -v, -c and -a");
  }
  if (o->noperands > OPTIONS_FILES && many) die(EXIT_TROUBLE, "at most %d filters", OPTIONS_FILES);
  nay_filter *filters[OPTIONS_FILES];
  table_file tables[OPTIONS_FILES];
  bool shares_hash[OPTIONS_FILES];
  check c = {.o = o,
             .names = (const char *const *)o->operands,
             .filters = filters,
             .tables = tables,
             .nfilters = many ? (size_t)o->noperands : 1,
             .shares_hash = shares_hash};
  const char *const *paths = (const char *const *)o->operands + 1;
  size_t npaths = (size_t)o->noperands - 1;
  if (many) npaths = 0;
  if (o->key_files.n > 0) {
    if (npaths > 0) die(EXIT_TROUBLE, "--keys and key files as operands are mutually exclusive");
    paths = o->key_files.at;
    npaths = o->key_files.n;
  }
  check_open(&c);
  key_stream *s = stream_open(o, paths, npaths, filters[0]);
  stream_skip_bad_files(s);
  for (key_batch *b; (b = stream_next(s)) != NULL && check_batch(&c, b);) {
    if (b->idle) out_flush();
  }
  if (o->count && !o->quiet) check_count(&c, stream_nkeys(s));
  out_flush();
  int status = check_promises(&c);
  if (!o->quiet || c.selected == 0) status = exit_worse(status, stream_status(s)); /* as grep */
  stream_close(s);
  for (size_t f = 0; f < c.nfilters; f++) {
    nay_filter_free(filters[f]);
    tablefile_close(&tables[f]);
  }
  return status;
}

static const option_row check_options[] = {
    {"invert", 'v', NULL, OPTION_FLAG, AT(invert),
     "select the keys that are certainly absent (nay) instead of the maybes", NULL, 0, NULL},
    {"quiet", 'q', NULL, OPTION_FLAG, AT(quiet),
     "print nothing; the first selected key decides the exit status", NULL, 0, NULL},
    {"annotate", 'a', NULL, OPTION_FLAG, AT(annotate),
     "print every key, preceded by \"maybe\" or \"nay\" and a tab", NULL, 0, NULL},
    {"any", 0, NULL, OPTION_FLAG, AT(any),
     "all operands are filters: select keys that at least one may contain", NULL, 0, NULL},
    {"all", 0, NULL, OPTION_FLAG, AT(all),
     "all operands are filters: select keys that every one may contain", NULL, 0, NULL},
    {"which", 0, NULL, OPTION_FLAG, AT(which),
     "all operands are filters: print each key with the filters that may contain it", NULL, 0,
     NULL},
    {0},
};

const command command_check = {
    .name = "check",
    .run = check_run,
    .summary = "print the keys that a filter may contain, or with -v those it does not",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .takes = TAKES_FILTER | TAKES_COUNT | TAKES_KEY_FILES | TAKES_KEYS | TAKES_JSON | TAKES_STRICT,
    .own = check_options,
    .about =
        "A grep-like command: prints the keys that the filter may contain, unchanged, and drops "
        "the others. A key that was added is always printed; other keys are printed at the "
        "filter's false-positive rate (FPR). -v prints exactly the other keys, and each of those "
        "is certain: it was never added.\n"
        "\n"
        "The file is verified before the first answer: a corrupt file ends in exit status 3, "
        "never in a false nay. With --any, --all or --which all operands are filters, and keys "
        "come from standard input or --keys; filters with the same hash function share one hash "
        "of each key. --csv and --tsv print whole rows, after the header if there is one. --json "
        "writes one object for each selected key, with -a for every key, and with -c a single "
        "one.\n"
        "\n"
        "FILTER may be a LevelDB or RocksDB table (.ldb, .sst): the filters in it answer, each "
        "for its own range of keys, and no data block is read.\n"
        "\n"
        "Exit status: 0 when a key was selected; 1 when none was; 2 for trouble, also when one of "
        "several key files cannot be read; 3 when the filter or a compressed key file is corrupt, "
        "or the filter is not recognised; with --strict, 4 when the FPR is above the plan, which "
        "a warning says in any case. With -q a selected key gives 0, as in grep.",
    .examples =
        "$ printf 'apple\\npear\\n' | nay build -q -n 2 -p 0.1% -o fruit.nay\n"
        "$ printf 'apple\\nstone\\n' | nay check fruit.nay\n"
        "apple\n"
        "$ printf 'apple\\nstone\\n' | nay check -v fruit.nay\n"
        "stone\n"
        "$ printf 'apple\\nstone\\n' | nay check -a fruit.nay\n"
        "maybe\tapple\n"
        "nay\tstone\n"
        "$ echo pear | nay check -q fruit.nay && echo 'perhaps seen'\n"
        "perhaps seen\n",
};
