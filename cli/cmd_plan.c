/* cmd_plan.c - nay plan: compares the families for a number of keys and recommends one. */
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "numbers.h"
#include "options.h"
#include "plan.h"
#include "plan_layouts.h"

#define PLAN_KINDS 32
#define PLAN_KEYS 1000000u /* without -n: bits per key and FPR hardly depend on it */
#define PLAN_MEASURE_KEYS 1000000u
#define PLAN_MEASURE_SECONDS 0.02

typedef struct candidate {
  nay_kind kind;
  unsigned traits;
  bool possible, fits; /* can be planned; has everything that is needed */
  nay_plan plan;
  double ns; /* 0: not measured */
} candidate;

/* ---- needs ---- */

#define NEED_STATIC 0x80000000u /* not a trait: the keys are all known and will not change */

/* In the same order: the choices of --need, and what they ask of a family. */
static const char *const needs[] = {"delete", "merge", "grow", "expire", "count", "static", NULL};
static const unsigned need_traits[] = {NAY_CAN_REMOVE, NAY_CAN_MERGE, NAY_CAN_GROW,
                                       NAY_CAN_EXPIRE, NAY_CAN_COUNT, NEED_STATIC};

static unsigned plan_needs(unsigned chosen) {
  unsigned all = 0;
  for (size_t i = 0; needs[i] != NULL; i++) {
    if ((chosen >> i & 1) != 0) all |= need_traits[i];
  }
  return all;
}

/* All keys are known and none will follow, or they are not: not both. */
static void plan_check_needs(const plan_options *o, unsigned need) {
  if ((need & NEED_STATIC) == 0) return;
  const char *other = o->size.max_keys != 0        ? "--max-keys"
                      : (need & NAY_CAN_GROW) != 0 ? "--need grow"
                                                   : NULL;
  if (other == NULL) return;
  die(EXIT_TROUBLE, "--need static says that no keys follow, %s that they do: omit one of them",
      other);
}

/* ---- candidates ---- */

static bool plan_fits(unsigned traits, unsigned need) {
  unsigned wanted = need & ~NEED_STATIC;
  bool adds = (traits & NAY_CAN_ADD) != 0;
  return (traits & wanted) == wanted && (adds || (need & NEED_STATIC) != 0);
}

/* A cuckoo filter grows when it is planned to; --max-keys is for no other family. */
static nay_params plan_params(const plan_options *o, nay_kind kind) {
  nay_params p = size_params(&o->size, NULL, 0.01);
  p.kind = kind;
  if (kind != NAY_CUCKOO) p.max_nkeys = 0;
  return p;
}

static unsigned plan_traits(const plan_options *o, nay_kind kind) {
  unsigned traits = nay_kind_traits(kind);
  return kind == NAY_CUCKOO && o->size.max_keys == 0 ? traits & ~(unsigned)NAY_CAN_GROW : traits;
}

static size_t plan_candidates(const plan_options *o, unsigned need, candidate *list) {
  size_t n = 0;
  for (int kind = 1; kind < PLAN_KINDS; kind++) {
    if (!is_filter_kind((nay_kind)kind)) continue;
    if (o->size.kind != NAY_AUTO && o->size.kind != (nay_kind)kind) continue;
    if (o->size.kind == NAY_AUTO && kind == NAY_SBBF) continue; /* for exchange, never the best */
    candidate c = {.plan = {.size = sizeof c.plan},
                   .kind = (nay_kind)kind,
                   .traits = plan_traits(o, (nay_kind)kind)};
    nay_params p = plan_params(o, c.kind);
    nay_diag diag;
    c.possible = nay_params_plan(&p, &diag, &c.plan) == NAY_OK;
    c.fits = c.possible && plan_fits(c.traits, need);
    list[n++] = c;
  }
  return n;
}

static void plan_measure(const plan_options *o, candidate *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    nay_params p = plan_params(o, list[i].kind);
    measurement m;
    if (!list[i].possible) continue;
    if (p.nkeys > PLAN_MEASURE_KEYS) {
      double part = (double)PLAN_MEASURE_KEYS / (double)p.nkeys;
      if (p.nbytes != 0) p.nbytes = (uint64_t)((double)p.nbytes * part);
      if (p.nbits != 0) p.nbits = ((uint64_t)((double)p.nbits * part) / 512 + 1) * 512;
      p.nkeys = PLAN_MEASURE_KEYS;
    }
    if (measure_filter(NULL, &p, PLAN_MEASURE_SECONDS, NULL, &m) == NAY_OK) list[i].ns = m.miss_ns;
  }
}

/* ---- the choice ---- */

/*
 * Static sets: the smallest. Otherwise the library's own choice among families that take adds,
 * if it has what is needed, else the smallest that has.
 */
static const candidate *plan_choose(const plan_options *o, unsigned need, const candidate *list,
                                    size_t n, const char **why) {
  nay_params p = plan_params(o, o->size.kind);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag;
  const candidate *best = NULL;
  bool is_static = (need & NEED_STATIC) != 0;
  bool chosen = nay_params_plan(&p, &diag, &plan) == NAY_OK;
  for (size_t i = 0; i < n; i++) {
    if (!list[i].fits) continue;
    if (!is_static && chosen && list[i].kind == plan.kind) {
      *why = list[i].kind == NAY_BLOCKED
                 ? "takes adds, and a probe touches one cache line at any FPR"
             : list[i].kind == NAY_BLOOM
                 ? "takes adds, and 512-bit blocks would waste memory at this size or FPR"
                 : "the requested family";
      return &list[i];
    }
    if (best == NULL || list[i].plan.nbytes < best->plan.nbytes) best = &list[i];
  }
  *why = !is_static                 ? "the smallest that supports everything needed"
         : o->size.kind != NAY_AUTO ? "the requested family, for a static set"
                                    : "the smallest for a static set";
  if (best == NULL) {
    *why = o->size.kind != NAY_AUTO
               ? "the requested family does not support everything that is needed"
               : "no family supports everything that is needed";
  }
  return best;
}

/* ---- printing ---- */

/* "take cuckoo: why"; of a filter that must grow also how far, and to which FPR. */
static void plan_take(const plan_options *o, unsigned need, const candidate *take,
                      const char *why) {
  char rate[NUMBER_TEXT];
  const char *name = nay_kind_name(take->kind);
  fpr_text(take->plan.fpr_limit, rate);
  if ((need & NAY_CAN_GROW) == 0) {
    out_text("take %s: %s\n", name, why);
  } else if (take->kind == NAY_CUCKOO) {
    out_text("take %s: %s; it grows to %s, where the FPR is %s\n", name, why,
             COUNTED(o->size.max_keys, "key"), rate);
  } else {
    out_text("take %s: %s; it grows without limit, and the FPR stays below %s\n", name, why, rate);
  }
}

static void plan_text(const plan_options *o, unsigned need, const candidate *list, size_t n,
                      const candidate *take, const char *why) {
  out_text(
      "%s  kind      bits/key   k        size         FPR   build mem  %sadd remove merge fold%s\n",
      paint(PAINT_BOLD), o->no_measure ? "" : "ns/key  ", paint(PAINT_PLAIN));
  for (size_t i = 0; i < n; i++) {
    const candidate *c = &list[i];
    const char *name = nay_kind_name(c->kind);
    char size[NUMBER_TEXT], rate[NUMBER_TEXT], memory[NUMBER_TEXT], ns[NUMBER_TEXT] = "";
    if (!c->possible) {
      out_text("%s  %-9s cannot be planned with these parameters%s\n", paint(PAINT_DIM), name,
               paint(PAINT_PLAIN));
      continue;
    }
    if (!o->no_measure) snprintf(ns, sizeof ns, "%6.1f  ", c->ns);
    const char *style = c == take ? paint(PAINT_GOOD) : c->fits ? "" : paint(PAINT_DIM);
    out_text("%s%c %-9s %8.2f %3u  %10s  %10s  %10s  %s%-3s %-6s %-5s %s%s\n", style,
             c == take ? '*' : ' ', name, c->plan.bits_per_key, c->plan.k,
             size_text(c->plan.nbytes, size), fpr_text(c->plan.fpr_limit, rate),
             size_text(c->plan.nbytes_build, memory), ns, c->traits & NAY_CAN_ADD ? "yes" : "-",
             c->traits & NAY_CAN_REMOVE ? "yes" : "-", c->traits & NAY_CAN_MERGE ? "yes" : "-",
             c->traits & NAY_CAN_FOLD ? "yes" : "-", *style != '\0' ? paint(PAINT_PLAIN) : "");
  }
  if (take != NULL) plan_take(o, need, take, why);
}

static void plan_json(const plan_options *o, const candidate *list, size_t n, const candidate *take,
                      const char *why) {
  json_begin("nay.plan/1");
  json_count("nkeys_planned", o->size.nkeys);
  if (o->size.max_keys != 0) json_count("nkeys_max", o->size.max_keys);
  json_open("candidates", '[');
  for (size_t i = 0; i < n; i++) {
    const candidate *c = &list[i];
    if (!c->possible) continue;
    json_open(NULL, '{');
    json_text("kind", nay_kind_name(c->kind));
    json_real("bits_per_key", c->plan.bits_per_key);
    json_count("nbits", c->plan.nbits);
    json_count("nbytes_memory", c->plan.nbytes);
    json_count("nbytes", c->plan.nbytes_file);
    json_count("nbytes_build", c->plan.nbytes_build);
    json_count("k", c->plan.k);
    json_real("fpr_planned", c->plan.fpr_limit);
    json_real("fpr_at_nkeys", c->plan.fpr);
    if (c->ns > 0) json_real("miss_ns", c->ns);
    json_bool("fits", c->fits);
    static const struct {
      const char *name;
      unsigned trait;
    } traits[] = {{"add", NAY_CAN_ADD},      {"remove", NAY_CAN_REMOVE}, {"merge", NAY_CAN_MERGE},
                  {"fold", NAY_CAN_FOLD},    {"count", NAY_CAN_COUNT},   {"grow", NAY_CAN_GROW},
                  {"expire", NAY_CAN_EXPIRE}};
    for (size_t t = 0; t < sizeof traits / sizeof traits[0]; t++) {
      json_bool(traits[t].name, (c->traits & traits[t].trait) != 0);
    }
    json_close();
  }
  json_close();
  if (take != NULL) json_text("take", nay_kind_name(take->kind));
  if (take == NULL) json_null("take");
  json_text("why", why);
  json_end();
}

static int plan_run(options *common) {
  plan_options *o = (plan_options *)common;
  candidate list[PLAN_KINDS];
  const char *why = "";
  unsigned need = plan_needs(o->need);
  plan_check_needs(o, need);
  if (o->lsm) return plan_lsm_run(o);
  plan_lsm_refuse(o);
  if (o->size.nkeys == 0) {
    o->size.nkeys = PLAN_KEYS;
    message("without -n: a plan for %s", COUNTED(o->size.nkeys, "key"));
  }
  if (o->formats != 0) {
    options_refuse(&o->common, "max-keys", "plan --format");
    return plan_layouts(o);
  }
  if (o->size.max_keys != 0) need |= NAY_CAN_GROW;
  /* who names a static family, and nothing that it must support, has a static set */
  if (need == 0 && o->size.kind != NAY_AUTO && (nay_kind_traits(o->size.kind) & NAY_CAN_ADD) == 0) {
    need = NEED_STATIC;
  }
  nay_params p = plan_params(o, o->size.kind);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_params_plan(&p, &diag, &plan);
  char text[DIAG_TEXT];
  if (status != NAY_OK) die(EXIT_TROUBLE, "%s", diag_text(status, &diag, text));
  size_t n = plan_candidates(o, need, list);
  if (!o->no_measure) plan_measure(o, list, n);
  const candidate *take = plan_choose(o, need, list, n, &why);
  if (o->common.json) plan_json(o, list, n, take, why);
  if (!o->common.json) plan_text(o, need, list, n, take, why);
  out_flush();
  if (take != NULL) return EXIT_FOUND;
  message("%s", why);
  return EXIT_NONE;
}

static const option_row plan_rows[] = {
    {"need", 0, "LIST", CHOICES_AT(plan_options, need),
     .help = "what the filter must support, separated by commas:", .choices = needs},
    {"no-measure", 0, NULL, FLAG_AT(plan_options, no_measure),
     .help = "do not time the candidates on this machine"},
    {"format", 0, "LAYOUT[,LAYOUT...]|all", FORMATS_AT(plan_options, formats),
     .help = "plan filters in other systems' layouts instead of the families"},
    {"lsm", 0, NULL, FLAG_AT(plan_options, lsm),
     .help = "plan the levels of an LSM tree: the same bits per key everywhere, beside Monkey's "
             "allocation"},
    {"ratio", 0, "N", COUNT_AT(plan_options, ratio),
     .help = "LSM tree: a level is N times as large as the one before it (default 10)"},
    {"tiered", 0, NULL, FLAG_AT(plan_options, tiered),
     .help = "LSM tree: a level collects up to N - 1 runs before they are merged"},
    {"lazy-leveled", 0, NULL, FLAG_AT(plan_options, lazy_leveled),
     .help = "LSM tree: tiered, but the last level is one run"},
    {"memtable", 0, "COUNT", COUNT_AT(plan_options, memtable),
     .help = "LSM tree: keys of a flush (default 1M)"},
    {"flushes", 0, "RUNS", NUMBER_AT(plan_options, flushes),
     .help = "LSM tree: flushes that wait in level 0 of a leveled tree (default 0)"},
    {"table-keys", 0, "COUNT", COUNT_AT(plan_options, table_keys),
     .help = "LSM tree: at most COUNT keys share a filter (default: one filter for each run)"},
    {"reads", 0, "RATES", TEXT_AT(plan_options, reads),
     .help = "LSM tree: lookups per second, such as 50k/s, or several separated by commas: tells "
             "the reads that each wastes"},
    {"absent", 0, "SHARE", TEXT_AT(plan_options, absent),
     .help = "LSM tree: share of the lookups whose key is absent, such as 90% (default 100%)"},
    {"read-latency", 0, "TIME", TEXT_AT(plan_options, read_latency),
     .help =
         "LSM tree: time to read a data block, such as 100us: tells what the lookups of --reads "
         "take with and without filters"},
    {"probe-time", 0, "TIME", TEXT_AT(plan_options, probe_time),
     .help = "LSM tree: time to probe a filter, such as 67ns (default 0)"},
    {"sweep", 0, "LIST", TEXT_AT(plan_options, sweep),
     .help = "LSM tree: one line for each of several bits per key, such as 8,10,12"},
    {"rocksdb", 0, NULL, FLAG_AT(plan_options, rocksdb),
     .help = "LSM tree: print Monkey's plan as the filter_policy of the RocksDB plug-in"},
    {0},
};
static const option_use plan_uses[] = {
    TAKES(plan_options, size, SIZE_FAMILY | SIZE_KEYS | SIZE_SHAPE | SIZE_MAX_KEYS | SIZE_RANGE),
    REPORTS(REPORT_JSON),
    {0},
};

const command command_plan = {
    .name = "plan",
    .run = plan_run,
    .size = sizeof(plan_options),
    .summary = "compare the families for a number of keys and recommend one",
    .operands = "[-n COUNT] [-p FPR | -b BITS | -M SIZE] [--lsm]",
    .own = plan_rows,
    .uses = plan_uses,
    .about =
        "Takes a number of keys (default a million) and a false-positive rate (FPR), or bits per "
        "key, or a memory budget. Lists every family with its size, its probes for each key (k: "
        "bits, buckets, "
        "fingerprints or columns), its exact expected FPR and the peak memory of "
        "a build, and marks the recommended one. Sizes and FPRs are computed; ns/key is measured "
        "now, on this machine, by probing batches of absent keys in a filter of at most a million "
        "keys (--no-measure omits it).\n"
        "\n"
        "--need names what the filter must support: delete, merge, grow (the number of keys is "
        "unknown: scalable, or cuckoo if --max-keys says how far it may grow), expire (old keys "
        "are forgotten), count, or static (all keys are known in "
        "advance and none is added later; -t with a static family alone means that, too). Families "
        "that lack it are dimmed and never "
        "recommended. The exit status is 1 when no family fits.\n"
        "\n"
        "--format plans filters in the layouts of other systems, one row for each that is named, "
        "or "
        "for all: the size, k and FPR that the layout's own rules give for -n and -b or -p. These "
        "formulas take the probes of a key as independent, which double hashing and short hashes "
        "are "
        "not; the FPR that is measured beside it, with so many keys, shows what that costs. Above "
        "a "
        "million keys nothing is measured. The reason stands where a layout cannot be planned.\n"
        "\n"
        "--lsm plans the filters of an LSM tree, one filter for each run or for --table-keys keys: "
        "keys and runs of each level, and for two ways to divide the budget bits per key, FPR and "
        "the data blocks that a lookup of an absent key reads. Uniform gives every key the same "
        "bits. Monkey (Dayan, Athanassoulis, Idreos, SIGMOD 2017) minimises the reads within the "
        "same bytes: smaller levels get more bits per key, and where memory is scarce the last "
        "levels get no filter. The budget is -M in all, -b for each key, or what -p takes on every "
        "level (default 1%). Without -t, runs that flushes write get blocked filters and runs that "
        "compactions write ribbon filters. --reads tells the reads that are wasted each second, "
        "--sweep compares several budgets. --read-latency makes times of reads: no block is "
        "cached, "
        "and no two reads overlap. --rocksdb prints the plan as a filter_policy for nay's "
        "RocksDB plug-in.",
    .examples =
        "$ nay plan -n 1M -p 1% --no-measure -t blocked\n"
        "  kind      bits/key   k        size         FPR   build mem  add remove merge fold\n"
        "* blocked       9.96   6     1.2 MiB      0.982%     1.2 MiB  yes -      yes   yes\n"
        "take blocked: takes adds, and a probe touches one cache line at any FPR\n"
        "$ nay plan -n 1M -b 10 --no-measure --format leveldb,cassandra,rocksdb-bloom\n"
        "layout                bits/key   k        size         FPR\n"
        "leveldb                  10.00   6     1.2 MiB      0.844%\n"
        "rocksdb-bloom            10.00   6     1.2 MiB      0.966%\n"
        "cassandra                10.00   7     1.2 MiB      0.819%\n"
        "$ nay plan -n 1M -p 1% --json --no-measure | jq -r .take\n"
        "blocked\n"
        "$ nay plan --lsm -n 100k -t bloom --sweep 8,10,12 --reads 1M/s\n"
        "leveled LSM tree, ratio 10: 100,000 keys, 1 level, 1 run\n"
        "reads: blocks that a lookup of an absent key reads; wasted reads/s at 100% absent and "
        "1,000,000 lookups/s\n"
        "                       uniform    Monkey      uniform      Monkey\n"
        "bits/key       size      reads     reads     wasted/s    wasted/s\n"
        "       8   97.7 KiB     0.0217    0.0217       21,679      21,679\n"
        "      10  122.1 KiB    0.00819   0.00819        8,194       8,194\n"
        "      12  146.5 KiB    0.00314   0.00314        3,142       3,142\n",
};
