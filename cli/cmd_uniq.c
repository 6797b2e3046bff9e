/*
 * cmd_uniq.c - nay uniq: the first occurrence of each line, in order, in constant memory.
 *
 * A line is printed when it tests nay. A new line that tests maybe (a false positive) is lost, with
 * probability -p. --exact loses none and keeps every distinct line in memory.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "described.h"
#include "exact.h"
#include "filterfile.h"
#include "key_files.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"

#define UNIQ_FPR 1e-6 /* a lost line in a million */
#define UNIQ_STATE_FPR_MOST 0.05
#define UNIQ_FIRST 8192     /* keys of the first level of a filter that grows */
#define UNIQ_NKEYS 10000000 /* without -n, of a filter that cannot grow */

typedef struct uniq_options {
  options common;
  size_options size;
  keys_options keys;
  select_options select;
  bool exact, repeated;
  const char *window, *state;
  const char *const *paths; /* of key files */
  size_t npaths;
} uniq_options;

typedef struct uniq {
  const uniq_options *o;
  nay_filter *filter;
  bool resumed;     /* it is that of a state that was there */
  exact_set *exact; /* or NULL */
  uint64_t selected, fresh;
  uint64_t nleft; /* keys of the last batch that a full filter did not take: nothing else is read */
} uniq;

/* ---- the filter ---- */

static bool uniq_can_plan(nay_params p, nay_kind kind) {
  nay_plan plan = {.size = sizeof plan};
  p.kind = kind;
  return nay_params_plan(&p, NULL, &plan) == NAY_OK;
}

/*
 * A family that grows when the number of lines is not known, as it never is of a state that later
 * runs add to; else blocked, where it can be: one cache line per key matters more here than a third
 * of the memory.
 */
static nay_kind uniq_kind(const nay_params *p, bool grows) {
  if (grows && uniq_can_plan(*p, NAY_SCALABLE)) return NAY_SCALABLE;
  return uniq_can_plan(*p, NAY_BLOCKED) ? NAY_BLOCKED : NAY_AUTO;
}

/* The number of lines to plan for, and the family, when -n and -t do not say. */
static void uniq_size(const uniq_options *o, nay_params *p) {
  bool counted = false, given = p->nkeys != 0;
  if (!given) counted = stream_count(&o->keys, o->paths, o->npaths, &p->nkeys);
  if (p->nkeys == 0) p->nkeys = counted ? 1 : UNIQ_FIRST;
  if (p->kind == NAY_AUTO) p->kind = uniq_kind(p, !given && (!counted || o->state != NULL));
  bool grows = p->kind == NAY_SCALABLE;
  if (!given && !counted && !grows) p->nkeys = UNIQ_NKEYS;
}

static void uniq_window(const uniq_options *o, nay_params *p) {
  uint64_t count, seconds;
  if (nay_kind_name(NAY_WINDOW) == NULL) {
    die(EXIT_TROUBLE, "--window: this library has no family that forgets keys");
  }
  if (o->size.kind != NAY_AUTO && o->size.kind != NAY_WINDOW) {
    die(EXIT_TROUBLE, "--window: a %s filter forgets nothing: omit -t",
        nay_kind_name(o->size.kind));
  }
  p->kind = NAY_WINDOW;
  if (number_count(o->window, &count) && count != 0) {
    if (o->size.nkeys != 0 && o->size.nkeys != count) {
      die(EXIT_TROUBLE, "-n and a --window of lines give two numbers of lines: omit -n");
    }
    p->nkeys = count;
  } else if (number_span(o->window, &seconds)) {
    p->window = seconds * 1000; /* ticks are milliseconds */
    if (p->nkeys == 0) p->nkeys = UNIQ_NKEYS;
  } else {
    die(EXIT_TROUBLE, "--window: '%s' is not a count such as 10M or a time such as 15m, 1h",
        o->window);
  }
}

static nay_params uniq_params(const uniq_options *o) {
  nay_params p = size_params(&o->size, NULL, UNIQ_FPR);
  if (o->window != NULL) {
    uniq_window(o, &p);
    return p;
  }
  if (p.kind == NAY_WINDOW) {
    die(EXIT_TROUBLE, "-t window forgets lines: say after how many, or when, with --window");
  }
  if (p.kind == NAY_CUCKOO) p.flags |= NAY_UNIQUE; /* it holds only eight copies of a key */
  uniq_size(o, &p);
  return p;
}

/* ---- the state ---- */

/* The option that contradicts the parameters of the state, or NULL. */
static const char *uniq_contradiction(const uniq_options *o, const nay_params *is) {
  if (o->window != NULL) {
    nay_params p = {sizeof p, .nkeys = is->nkeys};
    uniq_window(o, &p);
    bool same = is->kind == NAY_WINDOW && p.window == is->window && p.nkeys == is->nkeys;
    if (!same) return "--window";
  }
  size_options size = o->size;
  size.fpr = 0; /* it may change from run to run: it is the promise */
  return contradiction(&size, is);
}

static void uniq_check_state(const uniq_options *o, const nay_filter *f) {
  nay_params is = {.size = sizeof is};
  nay_stats s = {.size = sizeof s};
  char window[NUMBER_TEXT + 16] = "";
  nay_filter_stats(f, &s);
  if (s.locked) die(EXIT_TROUBLE, "%s is keyed, and no state of nay uniq", o->state);
  if (nay_filter_params(f, &is) != NAY_OK) {
    die(EXIT_TROUBLE, "%s is a %s filter, and no state of nay uniq", o->state,
        s.kind != NAY_AUTO ? nay_kind_name(s.kind) : nay_format_name(nay_filter_format(f)));
  }
  const char *option = uniq_contradiction(o, &is);
  if (option == NULL) return;
  if (is.window != 0) {
    snprintf(window, sizeof window, " in %llu s", (unsigned long long)(is.window / 1000));
  }
  die(EXIT_TROUBLE,
      "%s: the state in %s is a %s filter for %s%s: omit the option, or use a new file", option,
      o->state, nay_kind_name(is.kind), COUNTED(is.nkeys, "key"), window);
}

static nay_filter *uniq_resume(uniq_options *o) {
  const filter_options native = {.format = NULL};
  filter_file file = filterfile_try(o->state, &native);
  if (file.status == NAY_EFORMAT) die(EXIT_DAMAGED, "%s: no state of nay uniq", o->state);
  if (file.status != NAY_OK) die(exit_of(file.status), "%s: %s", o->state, file.why);
  uniq_check_state(o, file.filter);
  described_filter(&o->keys, o->state, file.filter);
  return file.filter;
}

static nay_filter *uniq_filter(uniq_options *o, bool *resumed) {
  if (o->state != NULL) outfile_lock(o->state); /* before checking that it exists */
  *resumed = o->state != NULL && access(o->state, F_OK) == 0;
  if (*resumed) return uniq_resume(o);
  if (o->exact) { /* only for its hash */
    nay_params p = {sizeof p, .kind = NAY_BLOOM, .nbits = 64, .k = 1};
    return new_filter(NULL, &p);
  }
  nay_params p = uniq_params(o);
  if (!can_add(p.kind))
    die(EXIT_TROUBLE, "a %s filter is static and takes no adds", nay_kind_name(p.kind));
  nay_filter *f = new_filter(NULL, &p);
  describe_filter(&o->keys, f);
  return f;
}

/* ---- the stream ---- */

/* A window by count has no clock, and says so; nothing is to be done then. */
static void uniq_tick(nay_filter *f) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  nay_filter_advance(f, (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

static void uniq_exact(uniq *u, const key_batch *b, uint64_t *bitmap) {
  memset(bitmap, 0, BATCH_WORDS * sizeof *bitmap);
  for (size_t i = 0; i < b->n; i++) {
    bool is_new = exact_add(u->exact, b->keys[i], b->lens[i], b->lo[i]);
    bitmap[i / 64] |= (uint64_t)is_new << (i % 64);
  }
}

/* *n: how many keys of the batch the filter took, all of them unless it is full. */
static void uniq_add(uniq *u, const key_batch *b, uint64_t *bitmap, size_t *n) {
  nay_status status = nay_filter_add_hash_many(u->filter, b->lo, b->hi, b->n, bitmap, n);
  if (status != NAY_OK && status != NAY_EFULL) {
    die(EXIT_TROUBLE, "cannot add: %s", nay_status_text(status));
  }
  if (status == NAY_OK) return;
  char why[FULL_TEXT];
  u->nleft = b->n - *n;
  full_why(&u->o->common, u->filter, b, u->o->state, why);
  message_error("%s", why);
}

static void uniq_batch(uniq *u, const key_batch *b) {
  uint64_t bitmap[BATCH_WORDS];
  const uniq_options *o = u->o;
  size_t n = b->n;
  if (nay_filter_kind(u->filter) == NAY_WINDOW) uniq_tick(u->filter);
  bool prints = !o->select.count && !o->common.quiet;
  if (prints && b->header != NULL) out_record(b->header, b->header_len);
  if (u->exact != NULL) {
    uniq_exact(u, b, bitmap);
  } else {
    uniq_add(u, b, bitmap, &n);
  }
  for (size_t w = 0; w < (n + 63) / 64; w++) {
    uint64_t fresh = bitmap[w] & word_mask(n, w);
    uint64_t word = o->repeated || o->common.quiet ? ~fresh & word_mask(n, w) : fresh;
    u->fresh += (uint64_t)__builtin_popcountll(fresh);
    u->selected += (uint64_t)__builtin_popcountll(word);
    if (prints && word != 0) batch_print(b, w, word);
  }
  if (prints && u->nleft == 0) batch_print_rest(b);
}

/*
 * Without -p the plan of a state that was there is the promise, as it is of any file; of a new
 * filter the default FPR of the manual, also when -b or -M sets the size. A state whose plan is
 * above UNIQ_STATE_FPR_MOST was sized by its bytes, not by a rate: such a state promises UNIQ_FPR,
 * as a new filter does, and uniq warns when it loses more lines.
 */
static promise uniq_promise(const uniq *u) {
  if (u->exact != NULL) return (promise){.overfilled = false};
  if (u->o->size.fpr != 0) return promise_judge(u->filter, u->o->size.fpr);
  nay_stats s = {.size = sizeof s};
  if (u->resumed) nay_filter_stats(u->filter, &s);
  bool planned = u->resumed && s.fpr_planned <= UNIQ_STATE_FPR_MOST;
  return promise_judge(u->filter, planned ? 0 : UNIQ_FPR);
}

/* What would have kept the promise: each of these options is one that the command then takes. */
static const char *uniq_advice(const uniq_options *o) {
  uint64_t count;
  bool by_count = o->window != NULL && number_count(o->window, &count);
  if (o->state != NULL) {
    return by_count ? "new lines were taken for duplicates: use a new --state file with a larger -M"
                    : "new lines were taken for duplicates: use a new --state file with a larger "
                      "-n or -M";
  }
  return by_count            ? "new lines were taken for duplicates: give a larger -p or -M"
         : o->window != NULL ? "new lines were taken for duplicates: give a larger -n, -p or -M"
                             : "new lines were taken for duplicates: give a larger -n, -p or -M, "
                               "or --exact";
}

static int uniq_status(const uniq *u, const promise *p) {
  return promise_tell(&u->o->common, "the filter of seen lines", p, uniq_advice(u->o),
                      u->o->common.quiet && u->selected == 0 ? EXIT_NONE : EXIT_FOUND);
}

static void uniq_json(const uniq *u, uint64_t nkeys, const promise *p) {
  json_begin("nay.uniq/1");
  json_count("nkeys", nkeys);
  json_count("nunique", u->fresh);
  json_count("nrepeats", nkeys - u->fresh);
  json_count("nbad", bads_count());
  if (u->exact == NULL) json_real("fpr_now", p->stats.fpr_now);
  if (u->exact == NULL) promise_json(p);
  json_end();
}

static int uniq_run(options *common) {
  uniq_options *o = (uniq_options *)common;
  if (o->exact && (o->state != NULL || o->window != NULL)) {
    die(EXIT_TROUBLE, "--exact keeps keys, not a filter: it excludes --state and --window");
  }
  if (o->common.json) o->select.count = true;
  o->npaths = (size_t)o->common.noperands;
  o->paths = key_files_list(&o->keys, (const char *const *)o->common.operands, &o->npaths);
  uniq u = {.o = o, .exact = o->exact ? exact_new() : NULL};
  u.filter = uniq_filter(o, &u.resumed);
  if (o->state != NULL) signals_stop_gently();
  key_stream *s =
      stream_open_to_answer(&o->common, &o->keys, o->paths, o->npaths, u.filter, ON_BAD_PASS);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    uniq_batch(&u, b);
    if (b->idle) out_flush();
    if (u.nleft > 0) break;
    if (o->common.quiet && u.selected > 0 && o->state == NULL) break; /* the answer is known */
  }
  uint64_t nkeys = stream_nkeys(s) - u.nleft;
  int reading = stream_status(s); /* also counts what is bad in the last batch */
  promise p = uniq_promise(&u);
  if (o->common.json) {
    uniq_json(&u, nkeys, &p);
  } else if (o->select.count && !o->common.quiet) {
    out_text("%llu\n", (unsigned long long)u.selected);
  }
  out_flush();
  bool nothing_read = nkeys == 0 && reading != EXIT_FOUND;
  if (o->state != NULL && !nothing_read) filterfile_save(u.filter, o->state);
  int status = uniq_status(&u, &p);
  if (!o->common.quiet || u.selected == 0) status = exit_worse(status, reading); /* as grep */
  if (u.nleft > 0) status = EXIT_TROUBLE;
  stream_close(s);
  signals_finish();
  if (u.exact != NULL) exact_free(u.exact);
  nay_filter_free(u.filter);
  return status;
}

static const option_row uniq_rows[] = {
    {"type", 't', "KIND", KIND_ADDS_AT(uniq_options, size.kind),
     .help = "family of the filter (default auto)"},
    {"exact", 0, NULL, FLAG_AT(uniq_options, exact),
     .help = "make no errors: keep every distinct key in memory, which grows"},
    {"repeated", 'd', NULL, FLAG_AT(uniq_options, repeated),
     .help = "print the duplicates instead"},
    {"window", 0, "COUNT|TIME", TEXT_AT(uniq_options, window),
     .help = "forget keys after COUNT lines, or after a time such as 90s, 15m, 1h, 7d"},
    {"state", 0, "FILE", FILE_AT(uniq_options, state),
     .help = "start from the filter in FILE if it exists, and save it there"},
    {"quiet", 'q', NULL, FLAG_AT(uniq_options, common.quiet),
     .help = "print nothing: exit status 0 when there is a duplicate, 1 when there is none"},
    {0},
};
static const option_use uniq_uses[] = {
    TAKES(uniq_options, size, SIZE_FAMILY | SIZE_KEYS),
    TAKES(uniq_options, select, SELECT_COUNT),
    TAKES(uniq_options, keys, KEYS_DIRS | KEYS_STYLE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_uniq = {
    .name = "uniq",
    .run = uniq_run,
    .size = sizeof(uniq_options),
    .summary = "print the first occurrence of each line, without sorting",
    .operands = "[FILE...]",
    .max_operands = ANY_NUMBER,
    .own = uniq_rows,
    .uses = uniq_uses,
    .about =
        "Copies each line that was not seen before, in order and at once, so it suits streams "
        "that never end. Memory is that of one filter, sized by -n and -p (see nay plan), "
        "whatever the length of the input. With probability -p (default one in a million) a new "
        "line is taken for a duplicate and lost; no line is printed twice.\n"
        "\n"
        "Without -n, lines of files are counted first; for a pipe, and with --state, the filter "
        "grows as needed: it starts small, but has more to probe and takes more room than one that "
        "-n has sized. What cannot grow (another -t, -b, -M, a -p below 1e-6, a window of time) is "
        "then planned for 10 million lines. "
        "When the filter was too small, also because -b or -M gave too little, a warning at the "
        "end states the promised error probability and the one that the last new lines had. "
        "--exact makes no errors and keeps every distinct line in memory. --window forgets lines "
        "again. A window of time is planned for -n lines spread evenly over it: when many come at "
        "once, as from a file, give a larger -n (up to 7 times), or a warning follows.\n"
        "\n"
        "--state keeps the filter in a file between runs; no other nay uses the file meanwhile. An "
        "option that contradicts the filter in the file is an error. "
        "SIGINT, SIGTERM and SIGHUP end reading; the state of every printed line is then saved, "
        "and further signals (except SIGKILL) are ignored until that is done. If lines cannot be "
        "written, the state stays as it was: they appear again and none is lost. If a file cannot "
        "be read or has a malformed record, the state of the lines printed so far is saved, the "
        "other files follow, and the exit status is 2 (3 for a corrupt compressed file). So it is "
        "when the filter is full (-t cuckoo), but nothing else is read. The promise of a state is "
        "the FPR of its plan, up to 5%, unless -p is given.\n"
        "\n"
        "-d prints the duplicates instead, -c only counts. Exit status: 0; with -q, 0 when there "
        "is a duplicate and 1 when there is none; with --strict, 4 when the filter was too small.",
    .examples =
        "$ printf 'b\\na\\nb\\nc\\na\\n' | nay uniq\n"
        "b\na\nc\n"
        "$ printf 'b\\na\\nb\\nc\\na\\n' | nay uniq -d\n"
        "b\na\n"
        "$ { seq 100000; seq 100000; } | nay uniq -c -n 100k\n"
        "100000\n",
};
