/*
 * plan_lsm.c - nay plan --lsm: what the options say about a tree and a budget, both allocations of
 * nay_sst_plan.h side by side, and what they waste at the rates of --reads.
 */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "numbers.h"

#define LSM_RATES 8
#define LSM_SWEEP 64
#define LSM_DEFAULT_RATIO 10
#define LSM_DEFAULT_MEMTABLE 1000000

static const char *const lsm_mergings[] = {"leveled", "tiered", "lazy leveled"};
static const char *const lsm_allocations[] = {"uniform", "Monkey"};

/* What is asked about a tree. */
typedef struct lsm_request {
  nay_sst_plan_params params;
  double rates[LSM_RATES]; /* lookups per second */
  size_t nrates;
  double absent;
  plan_times times;        /* read 0: not asked for */
  double sweep[LSM_SWEEP]; /* bits per key; none: as params says */
  size_t nsweep;
  bool rocksdb;
} lsm_request;

/* ---- options ---- */

/* The numbers of a list, between commas; false when one is none, or there are more than cap. */
static bool lsm_list(const char *list, double *to, size_t cap, size_t *n,
                     bool (*number)(const char *text, double *value)) {
  for (*n = 0; list != NULL;) {
    char part[NUMBER_TEXT];
    const char *comma = strchr(list, ',');
    size_t len = comma != NULL ? (size_t)(comma - list) : strlen(list);
    if (len >= sizeof part || *n == cap) return false;
    memcpy(part, list, len);
    part[len] = '\0';
    if (!number(part, &to[*n])) return false;
    (*n)++;
    list = comma != NULL ? comma + 1 : NULL;
  }
  return true;
}

/* 50k/s; the unit may be left out. */
static bool lsm_rate(const char *text, double *rate) {
  char digits[NUMBER_TEXT];
  uint64_t count;
  snprintf(digits, sizeof digits, "%s", text);
  size_t len = strlen(digits);
  if (len > 2 && strcmp(digits + len - 2, "/s") == 0) digits[len - 2] = '\0';
  if (!number_count(digits, &count) || count == 0) return false;
  *rate = (double)count;
  return true;
}

static bool lsm_bits(const char *text, double *bits) {
  return number_real(text, bits) && *bits > 0 && *bits <= 64;
}

void plan_lsm_refuse(const plan_options *o) {
  const struct {
    bool given;
    const char *name;
  } rows[] = {
      {o->ratio != 0, "ratio"},
      {o->tiered, "tiered"},
      {o->memtable != 0, "memtable"},
      {o->lazy_leveled, "lazy-leveled"},
      {o->flushes != 0, "flushes"},
      {o->table_keys != 0, "table-keys"},
      {o->reads != NULL, "reads"},
      {o->absent != NULL, "absent"},
      {o->sweep != NULL, "sweep"},
      {o->rocksdb, "rocksdb"},
      {o->read_latency != NULL, "read-latency"},
      {o->probe_time != NULL, "probe-time"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].given) die(EXIT_TROUBLE, "--%s is for LSM trees: give --lsm too", rows[i].name);
  }
}

static void lsm_budget(const plan_options *o, lsm_request *r) {
  int sizes =
      (o->size.fpr != 0) + (o->size.bits_per_key != 0) + (o->size.nbytes != 0) + (o->sweep != NULL);
  if (sizes > 1) {
    die(EXIT_TROUBLE, "-p, -b, -M and --sweep are mutually exclusive: give one of them");
  }
  r->params.fpr = sizes == 0 ? 0.01 : o->size.fpr;
  r->params.bits_per_key = o->size.bits_per_key;
  r->params.nbytes = o->size.nbytes;
  if (o->sweep != NULL && !lsm_list(o->sweep, r->sweep, LSM_SWEEP, &r->nsweep, lsm_bits)) {
    die(EXIT_TROUBLE,
        "--sweep: '%s' is not a list of up to %d bits per key such as 8,10,12, at most 64",
        o->sweep, LSM_SWEEP);
  }
}

/* The tree has no more flushes than its keys fill. */
static void lsm_tell_flushes(const nay_sst_plan_params *p) {
  uint64_t most = p->nkeys / p->nkeys_memtable + (p->nkeys % p->nkeys_memtable != 0);
  char text[2][NUMBER_TEXT];
  if (p->nruns_level0 <= most || p->merging != NAY_SST_PLAN_LEVELED) return;
  message("--flushes: %s hold all keys, of %s each; planned for so many",
          count_text((double)most, text[0]), count_text((double)p->nkeys_memtable, text[1]));
}

static void lsm_times(const plan_options *o, lsm_request *r) {
  if (o->read_latency == NULL && o->probe_time == NULL) return;
  if (o->reads == NULL || o->read_latency == NULL) {
    die(EXIT_TROUBLE, o->reads == NULL ? "--read-latency and --probe-time need --reads"
                                       : "--probe-time needs --read-latency");
  }
  if (o->sweep != NULL && !o->common.json) {
    die(EXIT_TROUBLE, "--sweep prints no times: --read-latency needs --json beside it");
  }
  if (!number_time(o->read_latency, &r->times.read)) {
    die(EXIT_TROUBLE, "--read-latency: '%s' is not a time such as 100us or 5ms", o->read_latency);
  }
  if (o->probe_time != NULL && !number_time(o->probe_time, &r->times.probe)) {
    die(EXIT_TROUBLE, "--probe-time: '%s' is not a time such as 67ns", o->probe_time);
  }
}

static lsm_request lsm_read(const plan_options *o) {
  lsm_request r = {.absent = 1};
  options_refuse(&o->common, "need, max-keys, nbits, probes, fold, format", "plan --lsm");
  if (o->size.nkeys == 0) die(EXIT_TROUBLE, "give the number of keys: -n COUNT");
  if (o->tiered && o->lazy_leveled) {
    die(EXIT_TROUBLE, "--tiered and --lazy-leveled are mutually exclusive: give one of them");
  }
  if (o->flushes > UINT32_MAX) die(EXIT_TROUBLE, "--flushes: at most 10,000 runs");
  r.params =
      (nay_sst_plan_params){.size = sizeof r.params,
                            .nkeys = o->size.nkeys,
                            .ratio = o->ratio != 0 ? o->ratio : LSM_DEFAULT_RATIO,
                            .nkeys_memtable = o->memtable != 0 ? o->memtable : LSM_DEFAULT_MEMTABLE,
                            .nkeys_table = o->table_keys,
                            .nruns_level0 = (uint32_t)o->flushes,
                            .merging = o->tiered         ? NAY_SST_PLAN_TIERED
                                       : o->lazy_leveled ? NAY_SST_PLAN_LAZY_LEVELED
                                                         : NAY_SST_PLAN_LEVELED,
                            .kind = o->size.kind};
  lsm_tell_flushes(&r.params);
  lsm_budget(o, &r);
  if (o->reads != NULL && !lsm_list(o->reads, r.rates, LSM_RATES, &r.nrates, lsm_rate)) {
    die(EXIT_TROUBLE, "--reads: '%s' is not a rate such as 50k/s, nor up to %d separated by commas",
        o->reads, LSM_RATES);
  }
  if (o->absent != NULL && !number_share(o->absent, &r.absent)) {
    die(EXIT_TROUBLE, "--absent: '%s' is not a share between 0 and 1 such as 0.9 or 90%%",
        o->absent);
  }
  lsm_times(o, &r);
  if (o->rocksdb) plan_rocksdb_check(&r.params);
  if (o->rocksdb && o->reads != NULL && !o->common.json) {
    die(EXIT_TROUBLE, "--rocksdb prints the policy alone: --reads needs --json beside it");
  }
  r.rocksdb = o->rocksdb;
  if (o->absent != NULL && o->reads == NULL) die(EXIT_TROUBLE, "--absent needs --reads");
  return r;
}

/* ---- plans ---- */

static nay_sst_plan *lsm_plan(const nay_sst_plan_params *params) {
  nay_sst_plan *plan;
  nay_diag diag = {.what = NULL};
  char text[DIAG_TEXT];
  nay_status status = nay_sst_plan_new(params, NULL, &diag, &plan);
  if (status != NAY_OK) die(exit_of(status), "%s", diag_text(status, &diag, text));
  return plan;
}

static nay_sst_plan_info lsm_sums(const nay_sst_plan *plan, nay_sst_plan_allocation a) {
  nay_sst_plan_info sums = {.size = sizeof sums};
  if (nay_sst_plan_stats(plan, a, &sums) != NAY_OK) die(EXIT_TROUBLE, "no such plan");
  return sums;
}

/* What the lookups of a second take, with the filters of an allocation or without any. */
static double lsm_seconds(const lsm_request *r, const nay_sst_plan *plan, nay_sst_plan_allocation a,
                          double lookups, bool filters) {
  return lookups * plan_seconds(plan, a, &r->times, r->absent, filters);
}

/* Data blocks that are read in vain, of as many lookups. */
static double lsm_waste(const lsm_request *r, const nay_sst_plan_info *sums, double lookups) {
  return lookups * (r->absent * sums->absent_reads + (1 - r->absent) * sums->present_waste);
}

/* ---- text ---- */

static const char *lsm_reads_text(double reads, char text[NUMBER_TEXT]) {
  if (reads >= 1000) return count_text(reads, text);
  snprintf(text, NUMBER_TEXT, reads >= 0.0001 ? "%.3g" : "%.2e", reads);
  return text;
}

/* Wasted reads per second: whole ones, unless they are few. */
static const char *lsm_waste_text(double waste, char text[NUMBER_TEXT]) {
  return waste >= 100 ? count_text(waste, text) : lsm_reads_text(waste, text);
}

static const char *lsm_share_text(double share, char text[NUMBER_TEXT]) {
  snprintf(text, NUMBER_TEXT, "%.4g%%", share * 100);
  return text;
}

static void lsm_text_head(const lsm_request *r, const nay_sst_plan_info *s) {
  char size[NUMBER_TEXT];
  out_text("%s LSM tree, ratio %llu: %s, %s, %s", lsm_mergings[r->params.merging],
           (unsigned long long)r->params.ratio, COUNTED(s->nkeys, "key"),
           COUNTED(s->nlevels, "level"), COUNTED(s->nruns, "run"));
  if (r->nsweep == 0) {
    out_text("; budget %s, %.2f bits per key", size_text(s->nbytes_budget, size),
             (double)s->nbytes_budget * 8 / (double)s->nkeys);
  }
  out_text("\n");
}

static void lsm_text_columns(void) {
  out_text("%s%46s %38s%s\n", paint(PAINT_BOLD), "uniform", "Monkey", paint(PAINT_PLAIN));
  out_text("%s%5s %15s %6s %8s  %8s %9s %9s  %8s %10s %9s %9s%s\n", paint(PAINT_BOLD), "level",
           "keys", "runs", "kind", "bits/key", "FPR", "reads", "bits/key", "size", "FPR", "reads",
           paint(PAINT_PLAIN));
}

static void lsm_text_level(const nay_sst_level *u, const nay_sst_level *m) {
  char keys[NUMBER_TEXT], runs[NUMBER_TEXT], size[NUMBER_TEXT], rate[2][NUMBER_TEXT],
      reads[2][NUMBER_TEXT];
  nay_kind kind = m->kind != NAY_AUTO ? m->kind : u->kind;
  out_text("%5u %15s %6s %8s  %8.2f %9s %9s  %8.2f %10s %9s %9s\n", m->level,
           count_text((double)m->nkeys, keys), count_text((double)m->nruns, runs),
           kind != NAY_AUTO ? nay_kind_name(kind) : "none", u->bits_per_key,
           fpr_text(u->fpr, rate[0]), lsm_reads_text(u->absent_reads, reads[0]), m->bits_per_key,
           size_text(m->nbytes, size), fpr_text(m->fpr, rate[1]),
           lsm_reads_text(m->absent_reads, reads[1]));
}

static void lsm_text_sums(const nay_sst_plan_info *u, const nay_sst_plan_info *m) {
  char keys[NUMBER_TEXT], runs[NUMBER_TEXT], size[NUMBER_TEXT], reads[2][NUMBER_TEXT];
  out_text("%5s %15s %6s %8s  %8.2f %9s %9s  %8.2f %10s %9s %9s\n", "all",
           count_text((double)m->nkeys, keys), count_text((double)m->nruns, runs), "",
           u->bits_per_key, "", lsm_reads_text(u->absent_reads, reads[0]), m->bits_per_key,
           size_text(m->nbytes, size), "", lsm_reads_text(m->absent_reads, reads[1]));
}

static void lsm_text_reason(uint32_t first, const nay_sst_level *last) {
  out_text(first != last->level ? "levels %u to %u" : "level %u", first, last->level);
  if (last->kind != NAY_AUTO) out_text(", %s", nay_kind_name(last->kind));
  out_text(": %s\n", last->why);
}

/* Why each level has its family; levels in a row with the same reason are one line. */
static void lsm_text_reasons(const nay_sst_plan *plan) {
  nay_sst_level last = {.size = sizeof last}, level = {.size = sizeof level};
  uint32_t first = 0;
  for (size_t i = 0; nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, i, &level) == NAY_OK; i++) {
    bool same = i > 0 && level.kind == last.kind && strcmp(level.why, last.why) == 0;
    if (i > 0 && !same) lsm_text_reason(first, &last);
    if (!same) first = level.level;
    last = level;
  }
  lsm_text_reason(first, &last);
}

/* The line of times below that of a rate. */
static void lsm_text_times(const lsm_request *r, const nay_sst_plan *plan, double lookups) {
  char text[2][NUMBER_TEXT];
  if (r->times.read == 0) return;
  double none = lsm_seconds(r, plan, NAY_SST_PLAN_UNIFORM, lookups, false);
  out_text("at %s a read", time_text(r->times.read, text[0]));
  if (r->times.probe > 0) out_text(" and %s a probe", time_text(r->times.probe, text[0]));
  out_text(", lookups of a second take: %s without filters", time_text(none, text[0]));
  for (int a = NAY_SST_PLAN_UNIFORM; a <= NAY_SST_PLAN_MONKEY; a++) {
    double with = lsm_seconds(r, plan, (nay_sst_plan_allocation)a, lookups, true);
    out_text(", %s %s (%.*fx faster)", time_text(with, text[0]), lsm_allocations[a],
             none / with < 100 ? 1 : 0, none / with);
  }
  out_text("\n");
}

static void lsm_text(const lsm_request *r) {
  nay_sst_plan *plan = lsm_plan(&r->params);
  nay_sst_plan_info u = lsm_sums(plan, NAY_SST_PLAN_UNIFORM),
                    m = lsm_sums(plan, NAY_SST_PLAN_MONKEY);
  nay_sst_level lu = {.size = sizeof lu}, lm = {.size = sizeof lm};
  char runs[NUMBER_TEXT], text[2][NUMBER_TEXT], rate[NUMBER_TEXT], share[NUMBER_TEXT];
  lsm_text_head(r, &m);
  lsm_text_columns();
  for (size_t i = 0; nay_sst_plan_level(plan, NAY_SST_PLAN_UNIFORM, i, &lu) == NAY_OK &&
                     nay_sst_plan_level(plan, NAY_SST_PLAN_MONKEY, i, &lm) == NAY_OK;
       i++) {
    lsm_text_level(&lu, &lm);
  }
  lsm_text_sums(&u, &m);
  lsm_text_reasons(plan);
  out_text(
      "blocks that a lookup of an absent key reads: %s uniform, %s Monkey, %s without filters\n",
      lsm_reads_text(u.absent_reads, text[0]), lsm_reads_text(m.absent_reads, text[1]),
      count_text((double)m.nruns, runs));
  for (size_t i = 0; i < r->nrates; i++) {
    out_text("%s lookups/s, %s absent: %s wasted reads/s uniform, %s Monkey\n",
             count_text(r->rates[i], rate), lsm_share_text(r->absent, share),
             lsm_waste_text(lsm_waste(r, &u, r->rates[i]), text[0]),
             lsm_waste_text(lsm_waste(r, &m, r->rates[i]), text[1]));
    lsm_text_times(r, plan, r->rates[i]);
  }
  nay_sst_plan_free(plan);
}

static void lsm_sweep_line(const lsm_request *r, double bits) {
  nay_sst_plan_params p = r->params;
  char size[NUMBER_TEXT], text[NUMBER_TEXT];
  p.fpr = 0;
  p.bits_per_key = bits;
  nay_sst_plan *plan = lsm_plan(&p);
  nay_sst_plan_info u = lsm_sums(plan, NAY_SST_PLAN_UNIFORM),
                    m = lsm_sums(plan, NAY_SST_PLAN_MONKEY);
  out_text("%8g %10s", bits, size_text(m.nbytes_budget, size));
  out_text("  %9s", lsm_reads_text(u.absent_reads, text));
  out_text(" %9s", lsm_reads_text(m.absent_reads, text));
  for (size_t i = 0; i < r->nrates; i++) {
    out_text("  %11s", lsm_waste_text(lsm_waste(r, &u, r->rates[i]), text));
    out_text(" %11s", lsm_waste_text(lsm_waste(r, &m, r->rates[i]), text));
  }
  out_text("\n");
  nay_sst_plan_free(plan);
}

static void lsm_sweep(const lsm_request *r) {
  nay_sst_plan_params p = r->params;
  char rate[NUMBER_TEXT], share[NUMBER_TEXT];
  p.fpr = 0;
  p.bits_per_key = r->sweep[0];
  nay_sst_plan *plan = lsm_plan(&p);
  nay_sst_plan_info m = lsm_sums(plan, NAY_SST_PLAN_MONKEY);
  lsm_text_head(r, &m);
  nay_sst_plan_free(plan);
  out_text("reads: blocks that a lookup of an absent key reads");
  if (r->nrates > 0) {
    out_text("; wasted reads/s at %s absent and", lsm_share_text(r->absent, share));
    for (size_t i = 0; i < r->nrates; i++) {
      out_text("%s %s", i > 0 ? "," : "", count_text(r->rates[i], rate));
    }
    out_text(" lookups/s");
  }
  out_text("\n%s%8s %10s  %9s %9s", paint(PAINT_BOLD), "", "", "uniform", "Monkey");
  for (size_t i = 0; i < r->nrates; i++) out_text("  %11s %11s", "uniform", "Monkey");
  out_text("\n%8s %10s  %9s %9s", "bits/key", "size", "reads", "reads");
  for (size_t i = 0; i < r->nrates; i++) out_text("  %11s %11s", "wasted/s", "wasted/s");
  out_text("%s\n", paint(PAINT_PLAIN));
  for (size_t i = 0; i < r->nsweep; i++) lsm_sweep_line(r, r->sweep[i]);
}

/* ---- JSON ---- */

static void lsm_json_level(const nay_sst_level *l) {
  json_open(NULL, '{');
  json_count("level", l->level);
  if (l->kind != NAY_AUTO) json_text("kind", nay_kind_name(l->kind));
  if (l->kind == NAY_AUTO) json_null("kind");
  json_count("nkeys_level", l->nkeys);
  json_count("nruns", l->nruns);
  json_count("nfilters", l->nfilters);
  json_count("nkeys_planned", l->nkeys_filter);
  json_count("nbytes_filter", l->nbytes_filter);
  json_count("nbytes_memory", l->nbytes);
  json_real("bits_per_key", l->bits_per_key);
  json_real("fpr_planned", l->fpr);
  json_real("absent_reads", l->absent_reads);
  json_text("why", l->why);
  json_close();
}

static void lsm_json_allocation(const lsm_request *r, const nay_sst_plan *plan,
                                nay_sst_plan_allocation a) {
  nay_sst_plan_info s = lsm_sums(plan, a);
  nay_sst_level level = {.size = sizeof level};
  json_open(NULL, '{');
  json_text("allocation", lsm_allocations[a]);
  json_count("nbytes_memory", s.nbytes);
  json_real("bits_per_key", s.bits_per_key);
  json_real("absent_reads", s.absent_reads);
  json_real("present_waste", s.present_waste);
  char id[PLAN_ROCKSDB];
  if (r->rocksdb) json_text("filter_policy", plan_rocksdb_id(plan, a, r->params.kind, id));
  json_open("rates", '[');
  for (size_t i = 0; i < r->nrates; i++) {
    json_open(NULL, '{');
    json_real("lookups_per_s", r->rates[i]);
    json_real("absent_share", r->absent);
    json_real("wasted_per_s", lsm_waste(r, &s, r->rates[i]));
    if (r->times.read > 0) {
      double none = lsm_seconds(r, plan, a, r->rates[i], false);
      double with = lsm_seconds(r, plan, a, r->rates[i], true);
      json_real("lookups_s", with);
      json_real("lookups_s_without", none);
      json_real("speedup", none / with);
    }
    json_close();
  }
  json_close();
  json_open("levels", '[');
  for (size_t i = 0; nay_sst_plan_level(plan, a, i, &level) == NAY_OK; i++) lsm_json_level(&level);
  json_close();
  json_close();
}

static void lsm_json(const lsm_request *r, const nay_sst_plan_params *params) {
  nay_sst_plan *plan = lsm_plan(params);
  nay_sst_plan_info s = lsm_sums(plan, NAY_SST_PLAN_MONKEY);
  json_begin("nay.plan.lsm/1");
  json_text("merging", lsm_mergings[params->merging]);
  json_count("nkeys_tree", s.nkeys);
  json_count("ratio", params->ratio);
  json_count("nkeys_memtable", params->nkeys_memtable);
  json_count("nlevels", s.nlevels);
  json_count("nruns", s.nruns);
  json_count("nbytes_budget", s.nbytes_budget);
  json_open("allocations", '[');
  lsm_json_allocation(r, plan, NAY_SST_PLAN_UNIFORM);
  lsm_json_allocation(r, plan, NAY_SST_PLAN_MONKEY);
  json_close();
  json_end();
  nay_sst_plan_free(plan);
}

static void lsm_json_sweep(const lsm_request *r) {
  nay_sst_plan_params p = r->params;
  p.fpr = 0;
  for (size_t i = 0; i < r->nsweep; i++) {
    p.bits_per_key = r->sweep[i];
    lsm_json(r, &p);
  }
}

static void lsm_rocksdb(const lsm_request *r) {
  nay_sst_plan_params p = r->params;
  char id[PLAN_ROCKSDB];
  if (r->nsweep > 0) p.fpr = 0;
  for (size_t i = 0; i == 0 || i < r->nsweep; i++) {
    if (r->nsweep > 0) p.bits_per_key = r->sweep[i];
    nay_sst_plan *plan = lsm_plan(&p);
    out_text("%s\n", plan_rocksdb_id(plan, NAY_SST_PLAN_MONKEY, p.kind, id));
    nay_sst_plan_free(plan);
  }
}

int plan_lsm_run(const plan_options *o) {
  lsm_request r = lsm_read(o);
  if (o->common.json && r.nsweep > 0) {
    lsm_json_sweep(&r);
  } else if (o->common.json) {
    lsm_json(&r, &r.params);
  } else if (r.rocksdb) {
    lsm_rocksdb(&r);
  } else if (r.nsweep > 0) {
    lsm_sweep(&r);
  } else {
    lsm_text(&r);
  }
  out_flush();
  return EXIT_FOUND;
}
