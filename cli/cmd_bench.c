/* cmd_bench.c - nay bench: the speed of each family on this machine, and its measured FPR. */
#include <stdio.h>

#include "floor.h"
#include "measure.h"
#include "numbers.h"
#include "options.h"

#define BENCH_NKEYS 1000000u
#define BENCH_SECONDS 0.25

static void bench_row(const measurement *m) {
  char size[NUMBER_TEXT], expected[NUMBER_TEXT], rate[NUMBER_TEXT], low[NUMBER_TEXT],
      high[NUMBER_TEXT];
  out_text("%-9s %8.2f %10s  %7.1f %7.1f %7.1f %7.1f   %8s  %8s (%s to %s)\n",
           nay_kind_name(m->plan.kind), m->plan.bits_per_key, size_text(m->plan.nbytes, size),
           m->build_ns, m->hit_ns, m->miss_ns, m->one_ns, fpr_text(m->plan.fpr, expected),
           fpr_text(m->fpr.rate, rate), fpr_text(m->fpr.low, low), fpr_text(m->fpr.high, high));
}

static void bench_json(const measurement *m) {
  json_begin("nay.bench/1");
  json_text("kind", nay_kind_name(m->plan.kind));
  json_count("nkeys", m->plan.nkeys);
  json_real("bits_per_key", m->plan.bits_per_key);
  json_count("nbytes_memory", m->plan.nbytes);
  json_real("build_ns", m->build_ns);
  json_real("hit_ns", m->hit_ns);
  json_real("miss_ns", m->miss_ns);
  json_real("one_ns", m->one_ns);
  json_real("fpr_planned", m->plan.fpr);
  json_count("nabsent", m->nabsent);
  json_real("fpr_measured", m->fpr.rate);
  json_real("fpr_low", m->fpr.low);
  json_real("fpr_high", m->fpr.high);
  json_end();
}

static void bench_csv(const measurement *m) {
  out_text("%s,%llu,%.4f,%llu,%.6g,%.6g,%llu,%.2f,%.2f,%.2f,%.2f\n", nay_kind_name(m->plan.kind),
           (unsigned long long)m->plan.nkeys, m->plan.bits_per_key,
           (unsigned long long)m->plan.nbytes, m->plan.fpr, m->fpr.rate,
           (unsigned long long)m->nabsent, m->build_ns, m->hit_ns, m->miss_ns, m->one_ns);
}

static void bench_title(const options *o) {
  if (o->as_csv) {
    out_text(
        "kind,nkeys,bits_per_key,nbytes_memory,fpr_planned,fpr_measured,nabsent,build_ns,hit_ns,"
        "miss_ns,one_ns\n");
  } else if (!o->json) {
    out_text(
        "%skind      bits/key       size    build     hit    miss     one   expected  measured "
        "(95%%)%s\n",
        paint(PAINT_BOLD), paint(PAINT_PLAIN));
  }
  out_flush();
}

/* The lower bound for building from a file on one thread, and the build itself. */
static int bench_floor(options *o) {
  if ((o->kinds & (o->kinds - 1)) != 0) die(EXIT_TROUBLE, "--floor builds one filter: -t KIND");
  if (o->kinds != 0) o->kind = (nay_kind)__builtin_ctzll(o->kinds);
  floor_times t = floor_measure(o, o->floor);
  double sum = t.read + t.hash + t.touch;
  if (o->json) {
    json_begin("nay.bench.floor/1");
    json_count("nkeys", t.nkeys);
    json_real("read_s", t.read);
    json_real("hash_s", t.hash);
    json_real("touch_s", t.touch);
    json_real("build_s", t.build);
    json_end();
    return EXIT_FOUND;
  }
  out_text("%s, one thread, seconds:\n", COUNTED(t.nkeys, "key"));
  out_text("  read the file       %8.3f\n  hash the keys       %8.3f\n", t.read, t.hash);
  out_text("  touch a cache line  %8.3f\n  the floor           %8.3f\n", t.touch, sum);
  out_text("  build               %8.3f   %.2f times the floor\n", t.build, t.build / sum);
  return EXIT_FOUND;
}

static int bench_run(options *o) {
  if (o->floor != NULL) return bench_floor(o);
  bench_title(o);
  if (o->nkeys == 0) o->nkeys = BENCH_NKEYS;
  bool any = false;
  for (int kind = 1; kind < OPTION_VALUES; kind++) {
    measurement m;
    if (nay_kind_name((nay_kind)kind) == NULL) continue;
    if (o->kinds != 0 && (o->kinds >> kind & 1) == 0) continue;
    nay_params p = options_params(o, 0.01);
    p.kind = (nay_kind)kind;
    nay_status status = measure_kind(&p, BENCH_SECONDS, &m);
    if (status != NAY_OK) {
      message("%s: %s", nay_kind_name(p.kind), nay_status_text(status));
      continue;
    }
    any = true;
    if (o->json) {
      bench_json(&m);
    } else if (o->as_csv) {
      bench_csv(&m);
    } else {
      bench_row(&m);
    }
    out_flush();
  }
  if (any && !o->json && !o->as_csv) {
    out_text(
        "ns per 16-byte key, hashing included: build, batched probes (present: hit, absent: miss), "
        "\nsingle probes (one, absent); one thread, the fastest of several runs\n");
  }
  return any ? EXIT_FOUND : EXIT_TROUBLE;
}

static const option_row bench_options[] = {
    {"type", 't', "KIND[,KIND...]", OPTION_KINDS, AT(kinds), "families to measure (default all)",
     NULL, 0, NULL},
    {"csv", 0, NULL, OPTION_FLAG, AT(as_csv), "write a CSV table", NULL, 0, NULL},
    {"probes", 0, "K", OPTION_COUNT, AT(probes), "probes per key (default: the best for the size)",
     NULL, 0, NULL},
    {"floor", 0, "FILE", OPTION_FILE, AT(floor),
     "time the steps of building from FILE, each alone, and the whole build", NULL, 0, NULL},
    {0},
};

const command command_bench = {
    .name = "bench",
    .run = bench_run,
    .summary = "time the families on this machine and measure their FPR",
    .operands = "",
    .takes = TAKES_FAMILY | TAKES_SIZE | TAKES_PROGRESS | TAKES_JSON,
    .own = bench_options,
    .about =
        "Builds a filter of each family (or of those named by -t) for -n keys (default: a million) "
        "and times adds and probes. Then it probes as many absent keys and compares the measured "
        "false-positive rate (FPR), with its 95% interval, with the expected one. --csv and "
        "--json write tables for other programs; 'nay plot bench' draws the former.\n"
        "\n"
        "--floor times the steps of building from a file, each alone and on one thread: reading "
        "it, hashing its keys, and touching a random cache line for each key; then the build "
        "itself.",
    .examples =
        "$ nay bench -t blocked -n 10k --csv | cut -d, -f1-4\n"
        "kind,nkeys,bits_per_key,nbytes_memory\n"
        "blocked,10000,9.9328,12416\n",
};
