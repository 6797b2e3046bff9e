/* cmd_verify.c - nay verify: integrity of the file, presence of its keys, and its FPR against the
 * promise. */
#include <string.h>

#include "batch.h"
#include "described.h"
#include "filterfile.h"
#include "interval.h"
#include "key_files.h"
#include "numbers.h"
#include "stream.h"
#include "table_foreign.h"
#include "tablefile.h"
#include "tables.h"

#define VERIFY_RIVALS 2

typedef struct verify_options {
  options common;
  filter_options filter;
  keys_options keys;
  text_list absent_files;
  bool has_keys; /* --keys or --files-from */
  const char *const *key_paths;
  size_t nkey_paths;
  uint64_t random;
  double expect_fpr;
} verify_options;

/* rival: the same bytes in another of the layouts that nothing in the file tells apart. */
typedef struct rival {
  nay_filter *filter; /* NULL: there is none */
  uint64_t nmissing;
} rival;

typedef struct verdict {
  uint64_t nkeys, nmissing;  /* --keys */
  uint64_t nabsent, nmaybes; /* --absent, --random */
  uint64_t nbad_before;      /* of the files before */
  double promise;            /* 0: none */
  bool expected;             /* it is --expect-fpr */
  int reading;               /* the exit status of key files that could not be read */
  promise judged;
  rival rivals[VERIFY_RIVALS];
} verdict;

/* ---- the parts ---- */

static void verify_show_missing(const key_batch *b, size_t w, uint64_t word, verdict *v) {
  for (; word != 0; word &= word - 1) {
    size_t i = 64 * w + (size_t)__builtin_ctzll(word);
    char text[120];
    if (v->nmissing++ < 5) {
      size_t len;
      const uint8_t *line = batch_text(b, i, &len);
      message_error("false nay: %s", escape_text(line, len, text, sizeof text));
    }
  }
}

/* Cassandra's three forms have one header and one hash. */
static void verify_open_rivals(const char *path, const verify_options *o, const nay_filter *f,
                               verdict *v) {
  static const char prefix[] = "cassandra";
  const nay_format *own = nay_filter_format(f), *format;
  bool has = strncmp(nay_format_name(own), prefix, strlen(prefix)) == 0;
  if (!has || !o->has_keys || strcmp(path, "-") == 0) return;
  for (size_t i = 0, n = 0; (format = nay_format_at(i)) != NULL && n < VERIFY_RIVALS; i++) {
    if (format == own || strncmp(nay_format_name(format), prefix, strlen(prefix)) != 0) continue;
    v->rivals[n].filter = filterfile_read_as(path, format);
    if (v->rivals[n].filter != NULL) n++;
  }
}

static void verify_rivals(const key_batch *b, verdict *v) {
  for (size_t i = 0; i < VERIFY_RIVALS && v->rivals[i].filter != NULL; i++) {
    uint64_t bitmap[BATCH_WORDS];
    batch_may_contain(v->rivals[i].filter, b, bitmap);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      v->rivals[i].nmissing += (uint64_t)__builtin_popcountll(~bitmap[w] & word_mask(b->n, w));
    }
  }
}

/* The layout in which every key is there, when the one that was taken lacks some; NULL: none. */
static const char *verify_fitting(const verdict *v) {
  for (size_t i = 0; v->nmissing != 0 && i < VERIFY_RIVALS; i++) {
    if (v->rivals[i].filter != NULL && v->rivals[i].nmissing == 0) {
      return nay_format_name(nay_filter_format(v->rivals[i].filter));
    }
  }
  return NULL;
}

static void verify_keys(const verify_options *o, nay_filter *f, verdict *v) {
  if (!o->has_keys) return;
  key_stream *s =
      stream_open_to_answer(&o->common, &o->keys, o->key_paths, o->nkey_paths, f, ON_BAD_REPORT);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    uint64_t bitmap[BATCH_WORDS];
    batch_may_contain(f, b, bitmap);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      verify_show_missing(b, w, ~bitmap[w] & word_mask(b->n, w), v);
    }
    verify_rivals(b, v);
  }
  v->nkeys = stream_nkeys(s);
  v->reading = exit_worse(v->reading, stream_status(s));
  stream_close(s);
}

static void verify_absent(const verify_options *o, nay_filter *f, verdict *v) {
  if (o->absent_files.n == 0) return;
  key_stream *s = stream_open_to_answer(&o->common, &o->keys, o->absent_files.at, o->absent_files.n,
                                        f, ON_BAD_REPORT);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    uint64_t bitmap[BATCH_WORDS];
    batch_may_contain(f, b, bitmap);
    for (size_t w = 0; w < (b->n + 63) / 64; w++) {
      v->nmaybes += (uint64_t)__builtin_popcountll(bitmap[w]);
    }
  }
  v->nabsent += stream_nkeys(s);
  v->reading = exit_worse(v->reading, stream_status(s));
  stream_close(s);
}

/* Pseudo-random keys of 16 bytes, the same in every run, so that results are reproducible. */
static void verify_random(const verify_options *o, nay_filter *f, verdict *v) {
  for (uint64_t i = 0; i < o->random; i++) {
    uint64_t key[2] = {nay_hash_mix(i), nay_hash_mix(~i)};
    v->nmaybes += nay_filter_may_contain(f, key, sizeof key);
  }
  v->nabsent += o->random;
}

/* Files without keys check nothing. */
static void verify_warn_empty(const verify_options *o, const verdict *v) {
  if (v->reading != EXIT_FOUND) return; /* that is said already */
  if (o->has_keys && v->nkeys == 0) message_error("warning: --keys gives no keys");
  if (o->absent_files.n > 0 && v->nabsent == 0) {
    message_error("warning: --absent gives no keys: the FPR is not measured");
  }
}

/* ---- the verdict ---- */

/*
 * The plan promises the mean over all sets of keys. A small filter within its plan may by chance
 * have more bits set than the mean: then its own bits are the measure. --expect-fpr is a limit.
 */
static double verify_limit(const verdict *v) {
  double now = v->judged.stats.fpr_now;
  return !v->expected && v->judged.within_plan && now > v->promise ? now : v->promise;
}

static bool verify_is_above(const verdict *v, double limit) {
  return v->nabsent != 0 && limit != 0 && interval_of(v->nmaybes, v->nabsent, Z_999).low > limit;
}

static bool verify_keeps_promise(const verdict *v) { return !verify_is_above(v, verify_limit(v)); }

static void verify_text(const verify_options *o, const char *path, const nay_filter *f,
                        const verdict *v) {
  char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT];
  if (o->common.quiet) return;
  out_text("%s: %s\n", path,
           (nay_format_traits(nay_filter_format(f)) & NAY_FORMAT_CHECKSUM) != 0
               ? "intact, every checksum matches"
               : "readable; this layout has no checksum");
  if (nay_filter_caveat(f) != NULL) out_text("%s: %s\n", path, nay_filter_caveat(f));
  if (o->has_keys) {
    out_text("%s: %s, %s missing\n", path, COUNTED(v->nkeys, "key"),
             count_text((double)v->nmissing, b));
  }
  if (verify_fitting(v) != NULL) {
    out_text("%s: no key is missing with --format=%s\n", path, verify_fitting(v));
  }
  if (v->nabsent == 0) return;
  interval i = interval_of(v->nmaybes, v->nabsent, Z_999);
  out_text("%s: FPR %s (99.9%% interval %s to %s), ", path, fpr_text(i.rate, a), fpr_text(i.low, b),
           fpr_text(i.high, c));
  if (v->promise == 0) {
    out_text("nothing is promised: the file stores no plan\n");
  } else {
    bool kept = verify_keeps_promise(v), by_chance = kept && verify_is_above(v, v->promise);
    const char *verb = !kept ? "breaks" : by_chance ? "near" : "keeps";
    out_text("%s the promised %s%s\n", verb, fpr_text(v->promise, d),
             v->expected ? " of --expect-fpr"
             : by_chance ? ", the mean over all sets of so few keys"
                         : ", that of its plan");
  }
}

static void verify_json(const verify_options *o, const char *path, const nay_filter *f,
                        const verdict *v) {
  interval i = interval_of(v->nmaybes, v->nabsent, Z_999);
  json_begin("nay.verify/1");
  json_text("file", path);
  json_text("checksum",
            (nay_format_traits(nay_filter_format(f)) & NAY_FORMAT_CHECKSUM) != 0 ? "ok" : "none");
  if (o->has_keys) {
    json_count("nkeys", v->nkeys);
    json_count("nmissing", v->nmissing);
  }
  if (o->has_keys || o->absent_files.n > 0) json_count("nbad", bads_count() - v->nbad_before);
  if (verify_fitting(v) != NULL) json_text("format_fitting", verify_fitting(v));
  if (v->nabsent > 0) {
    json_count("nabsent", v->nabsent);
    json_count("nmaybes", v->nmaybes);
    json_real("fpr_measured", i.rate);
    json_real("fpr_low", i.low);
    json_real("fpr_high", i.high);
  }
  json_filter_caveats(f);
  json_real("fpr_now", v->judged.stats.fpr_now);
  promise_json(&v->judged);
  json_bool("ok", v->nmissing == 0 && v->reading == EXIT_FOUND && verify_keeps_promise(v));
  json_end();
}

static void verify_damaged(const verify_options *o, const char *path, const filter_file *file) {
  if (o->common.json) {
    json_begin("nay.verify/1");
    json_text("file", path);
    json_text("checksum", file->why);
    json_bool("ok", false);
    json_end();
  }
  out_flush();
  message_error("%s: %s", path, file->why);
}

/* Each file is probed with keys of its own type. */
static int verify_one(const verify_options *all, const char *path) {
  verify_options own = *all;
  const verify_options *o = &own;
  filter_file file = filterfile_try(path, &o->filter);
  if (file.status != NAY_OK) {
    verify_damaged(o, path, &file);
    return exit_of(file.status);
  }
  nay_filter *f = file.filter;
  bool asks = o->has_keys || o->absent_files.n > 0 || o->random > 0;
  if (asks) filterfile_unlock(f, path, o->filter.secret);
  bool reads = o->has_keys || o->absent_files.n > 0;
  if (reads || described_is_given(&o->keys)) described_filter(&own.keys, path, f);
  verdict v = {.nbad_before = bads_count()};
  v.judged = promise_judge(f, o->expect_fpr);
  v.promise = v.judged.fpr;
  verify_open_rivals(path, o, f, &v);
  v.expected = o->expect_fpr > 0;
  verify_keys(o, f, &v);
  verify_absent(o, f, &v);
  verify_random(o, f, &v);
  verify_warn_empty(o, &v);
  if (o->common.json) verify_json(o, path, f, &v);
  if (!o->common.json) verify_text(o, path, f, &v);
  nay_filter_free(f);
  for (size_t i = 0; i < VERIFY_RIVALS; i++) nay_filter_free(v.rivals[i].filter);
  out_flush();
  int status = promise_tell(&o->common, path, &v.judged, NULL, EXIT_FOUND);
  if (v.nmissing != 0 || !verify_keeps_promise(&v)) status = EXIT_NONE;
  return exit_worse(status, v.reading);
}

/* A table of nori or mini-lsm: every block, and what its engine denies. */
static void verify_table(const verify_options *o, const char *path, const nay_sst *table,
                         const nay_sst_foreign_info *info) {
  table_verdict v = table_verify(path, table);
  if (v.filter_damaged) die(EXIT_DAMAGED, "%s: the filter is damaged", path);
  if (o->common.json) {
    json_begin("nay.verify/1");
    json_text("file", path);
    json_text("checksum", info->has_checksums ? "ok" : "none");
    json_count("nentries", v.nentries);
    table_foreign_json(table, info, &v);
    json_bool("ok", true);
    json_end();
  } else if (!o->common.quiet) {
    out_text("%s: %s, %s\n", path, COUNTED(v.nentries, "entry"),
             info->has_checksums ? "every checksum matches" : "every block parses");
    if (!info->has_checksums) out_text("%s: %s\n", path, nay_sst_caveat(table, 0));
    if (v.ndenied != 0) {
      out_text("%s: %s itself denies %s by its filter; nay finds them\n", path, table_engine(info),
               COUNTED(v.ndenied, "present key"));
    }
  }
}

/* Whether it is such a table; others are filters, or nothing. */
static bool verify_foreign(const verify_options *o, const char *path) {
  table_file file = tablefile_try(path, o->filter.table_format);
  if (!file.is_table || o->filter.format != NULL) {
    tablefile_close(&file);
    return false;
  }
  bool nori = file.nbytes >= 64 && memcmp(file.bytes + file.nbytes - 12, "NORISSTL", 8) == 0;
  tablefile_close(&file);
  if (!nori && o->filter.table_format == NULL) return false;
  nay_sst_prefix none = {.size = sizeof none};
  nay_sst_foreign_info info = {.size = sizeof info};
  nay_sst *table = table_open(path, o->filter.table_format, &none);
  if (table_is_foreign(table, &info)) verify_table(o, path, table, &info);
  nay_sst_free(table);
  return true;
}

static int verify_run(options *common) {
  verify_options *o = (verify_options *)common;
  int worst = EXIT_FOUND;
  o->has_keys = o->keys.files.n > 0 || o->keys.files_from.n > 0;
  if (o->keys.recursive && !o->has_keys)
    die(EXIT_TROUBLE, "--recursive is for the files of --keys");
  o->nkey_paths = o->keys.files.n;
  o->key_paths = key_files_list(&o->keys, (const char *const *)o->keys.files.at, &o->nkey_paths);
  for (int i = 0; i < o->common.noperands; i++) {
    if (verify_foreign(o, o->common.operands[i])) continue;
    worst = exit_worse(worst, verify_one(o, o->common.operands[i]));
  }
  out_flush();
  return worst;
}

static const option_row verify_rows[] = {
    {"absent", 0, "FILE", FILES_AT(verify_options, absent_files),
     .help = "keys known to be absent: every maybe is a false positive"},
    {"random", 0, "COUNT", COUNT_AT(verify_options, random),
     .help = "measure the FPR with COUNT random keys"},
    {"expect-fpr", 0, "FPR", FPR_AT(verify_options, expect_fpr),
     .help = "the FPR to compare with (default: the one the filter was planned for)"},
    {0},
};
static const option_use verify_uses[] = {
    TAKES(verify_options, filter, FILTER_FILE_FORMAT | FILTER_SECRET),
    TAKES(verify_options, keys, KEYS_FILES | KEYS_DIRS | KEYS_STYLE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_verify = {
    .name = "verify",
    .run = verify_run,
    .size = sizeof(verify_options),
    .summary = "check that a filter is intact, contains its keys and keeps its FPR",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = verify_rows,
    .uses = verify_uses,
    .about =
        "Reads every byte of the file and checks all checksums and fields. With --keys, all keys "
        "that were added must answer maybe. With --absent (keys known to be absent) or --random, "
        "measures the false-positive rate (FPR) and compares it with the promise: the FPR of the "
        "plan that the file states, or --expect-fpr. The plan is what nay build -p made of its "
        "limit: sizes come in whole blocks and fingerprints in whole bits, so its FPR is at most "
        "-p. A layout that stores no plan promises nothing.\n"
        "\n"
        "Nothing in Cassandra's Filter.db says in which of its three forms it is. When keys of "
        "--keys are missing in one, and none in another, that one is named.\n"
        "\n"
        "FILE may be a table of nori, or of mini-lsm with --format=mini-lsm-sst: every block is "
        "read, "
        "and every key is asked of the table's own filter. Keys that the engine denies, although "
        "they are there, are counted.\n"
        "\n"
        "Exit status: 0 when everything holds; 1 when a key is missing, or when the measured FPR "
        "is above the promise by more than chance explains: even the low end of its 99.9% "
        "interval is above it and, where the filter holds no more keys than planned, above what "
        "its own bits tell (the plan is the mean over all sets of keys, and few keys scatter); "
        "2 for trouble; 3 when the file is corrupt or not recognised; with "
        "--strict, 4 when the filter holds so many keys that its FPR must be above the promise, "
        "which a warning says in any case.",
    .examples =
        "$ seq 1000 > keys.txt\n"
        "$ nay build -q -p 1% -o thousand.nay keys.txt\n"
        "$ nay verify --keys keys.txt thousand.nay\n"
        "thousand.nay: intact, every checksum matches\n"
        "thousand.nay: 1,000 keys, 0 missing\n",
};
