/*
 * cmd_explain.c - nay explain: why a filter answers nay or maybe for a key.
 *
 * Keys are operands, or come as in nay check. Without --keys each is explained and printed as it
 * comes. With it the explanations wait until the key files have been read, once, however many keys
 * are explained.
 */
#include <stdlib.h>

#include "described.h"
#include "explain.h"
#include "filterfile.h"
#include "stream.h"
#include "tablefile.h"

typedef struct explain_options {
  options common;
  filter_options filter;
  keys_options keys;
} explain_options;

typedef struct explain {
  const explain_options *o;
  explain_subject subject;
  explained_key *keys; /* with --keys: those that wait */
  size_t nkeys;
  uint64_t nprinted;
  bool found; /* a maybe */
} explain;

static void explain_show(explain *e, const explained_key *k, const members *m) {
  e->found = e->found || k->maybe;
  if (e->o->common.quiet) return;
  if (e->o->common.json) {
    explain_json(k, &e->subject, m);
    return;
  }
  if (e->nprinted++ > 0) out_text("\n");
  explain_print(k, &e->subject, m);
}

static void explain_wait(explain *e, explained_key k) {
  e->keys = must_grow(e->keys, (e->nkeys + 1) * sizeof *e->keys);
  e->keys[e->nkeys++] = k;
}

/* The keys in question; returns the exit status of their files. */
static int explain_ask(explain *e, const keys_options *keys, bool waits) {
  key_stream *s = stream_open_to_answer(&e->o->common, keys, NULL, 0, NULL, ON_BAD_REPORT);
  for (key_batch *b; (b = stream_next(s)) != NULL && !(e->o->common.quiet && e->found);) {
    for (size_t i = 0; i < b->n; i++) {
      size_t len;
      const uint8_t *text = batch_text(b, i, &len);
      explained_key k = explain_key(&e->subject, b->keys[i], b->lens[i], text, len);
      if (waits) {
        explain_wait(e, k);
      } else {
        explain_show(e, &k, NULL);
        explained_key_free(&k);
      }
    }
    if (b->idle) out_flush();
  }
  int status = stream_status(s);
  stream_close(s);
  return status;
}

/* The keys of --keys, over the steps of those that wait. */
static members *explain_members(const explain *e, const keys_options *keys) {
  members *m = members_new(e->keys, e->nkeys);
  key_stream *s =
      stream_open_whole(&e->o->common, keys, (const char *const *)keys->files.at, keys->files.n);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n; i++) {
      size_t len;
      const uint8_t *text = batch_text(b, i, &len);
      members_add(m, &e->subject, b->keys[i], b->lens[i], text, len);
    }
  }
  stream_close(s);
  return m;
}

/* Arguments are keys as they stand; how files are read is for those of --keys. */
static int explain_with_members(explain *e) {
  const keys_options *keys = &e->o->keys;
  keys_options questions = {.type = keys->type,
                            .trim = keys->trim,
                            .ignore_case = keys->ignore_case,
                            .on_bad = keys->on_bad,
                            .args = keys->args,
                            .threads = keys->threads};
  keys_options files = *keys;
  if (keys->args.n == 0) {
    die(EXIT_TROUBLE, "--keys: give the keys to explain as operands or with -e");
  }
  files.args = (text_list){.n = 0};
  int status = explain_ask(e, &questions, true);
  members *m = explain_members(e, &files);
  for (size_t i = 0; i < e->nkeys; i++) {
    explain_show(e, &e->keys[i], m);
    explained_key_free(&e->keys[i]);
  }
  members_free(m);
  free(e->keys);
  return status;
}

static int explain_run(options *common) {
  explain_options *o = (explain_options *)common;
  const char *path = o->common.operands[0];
  size_t nkeys;
  (void)keys_operands(&o->common, &o->keys, 1, &nkeys); /* operands or -e, as in nay check */
  if (nkeys + o->keys.args.n > 0 && o->keys.null && o->keys.files.n == 0) {
    die(EXIT_TROUBLE, "-0 is for keys in files; here each argument is a key as it stands");
  }
  for (int i = 1; i < o->common.noperands; i++)
    options_append(&o->keys.args, o->common.operands[i]);
  table_file table = {.is_table = false};
  nay_filter *filter = NULL;
  if (o->filter.format == NULL) table = tablefile_open(path, o->filter.table_format);
  if (!table.is_table) filter = filterfile_open(&o->common, &o->filter, path);
  nay_sst_filters_info info = {.size = sizeof info};
  if (filter == NULL) nay_sst_filters_stats(table.table, &info);
  if (filter != NULL) described_form(&o->keys, nay_filter_format(filter));
  described_by(&o->keys, path, filter != NULL ? filter_states(filter) : info.key);
  explain e = {.o = o, .subject = {.filter = filter, .table = table.table}};
  promise p = {.fpr = 0};
  if (filter != NULL) {
    p = promise_judge(filter, 0);
    e.subject.promise = &p;
  }
  int reading = o->keys.files.n > 0 ? explain_with_members(&e) : explain_ask(&e, &o->keys, false);
  out_flush();
  int status = e.found ? EXIT_FOUND : EXIT_NONE;
  if (filter != NULL) status = promise_tell(&o->common, path, &p, NULL, status); /* as nay check */
  if (!(o->common.quiet && e.found)) status = exit_worse(status, reading);
  nay_filter_free(filter);
  tablefile_close(&table);
  return status;
}

static const option_row explain_rows[] = {
    {"keys", 0, "FILE", FILES_AT(explain_options, keys.files),
     .help = "read the keys that the filter was made of from FILE, and say which of them set each "
             "bit, or share a slot; may be repeated"},
    {"quiet", 'q', NULL, FLAG_AT(explain_options, common.quiet),
     .help = "print nothing; the first key that is a maybe decides the exit status"},
    {0},
};
static const option_use explain_uses[] = {
    TAKES(explain_options, filter, FILTER_FILE_FORMAT | FILTER_SECRET),
    TAKES(explain_options, keys, KEYS_ARGS | KEYS_STYLE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_explain = {
    .name = "explain",
    .run = explain_run,
    .size = sizeof(explain_options),
    .summary = "say why a filter answers nay or maybe: the bits it reads, and who set them",
    .operands = "FILTER [KEY...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = explain_rows,
    .uses = explain_uses,
    .about =
        "For each key: the answer, its hash, every bit, slot or fingerprint that decides the "
        "answer, "
        "with what is there, and the reason in a sentence. A probe stops at the first bit that "
        "decides; an explanation lists all. Positions count bits and bytes of the payload, from 0. "
        "Works for every family, every layout of another system, and the filters in tables of "
        "LevelDB and RocksDB.\n"
        "\n"
        "--keys FILE explains a false positive: for each bit, the keys of FILE that set it; in a "
        "cuckoo filter, whose fingerprint is in a slot; in an xor or fuse filter, the keys that "
        "have "
        "a slot in common with this one; in a ribbon, the keys whose slots overlap. FILE is read "
        "once and not kept: of each bit the first three keys and their number are remembered. The "
        "keys to explain are then arguments; options that say how keys are stored are for FILE.\n"
        "\n"
        "Keys are operands or come with -e, not both; without either they come from standard "
        "input, as in nay check. Their type is the one that the filter states, or --key. --json "
        "writes one object for "
        "each key; "
        "doc/json.md lists the members.\n"
        "\n"
        "Exit status: as nay check: 0 when a key is a maybe; 1 when none is; 2 for trouble; 3 when "
        "the filter or a compressed key file is corrupt, or the filter is not recognised; with "
        "--strict, 4 when the FPR is above the plan, which a warning says in any case.",
    .examples =
        "$ printf 'apple\\npear\\nplum\\ncherry\\nquince\\n' > fruit\n"
        "$ nay build -q -t bloom -b 5 -o fruit.nay fruit\n"
        "$ nay explain fruit.nay stone\n"
        "nay\tstone\n"
        "  hash 851f152f91401f29, xxh3, seed 0\n"
        "    bit 13             1   line 0\n"
        "    bit 24             0   line 0\n"
        "    bit 19             0   line 0\n"
        "  bit 2 of 3 is 0: certainly absent\n"
        "$ nay explain fruit.nay moon --keys fruit\n"
        "maybe\tmoon\n"
        "  hash c2074e99b3c51eee, xxh3, seed 0\n"
        "    bit 18             1   line 0   set by cherry and quince\n"
        "    bit 1              1   line 0   set by apple and cherry\n"
        "    bit 15             1   line 0   set by cherry and quince\n"
        "  all 3 bits are set\n"
        "  a false positive (FPR 11.1%): it is none of the 5 keys\n",
};
