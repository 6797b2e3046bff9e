/* cmd_bench.c - nay bench: the speed of each family on this machine, and its measured FPR. */
#include <stdio.h>

#include "filterfile.h"
#include "floor.h"
#include "hash_bench.h"
#include "measure.h"
#include "numbers.h"
#include "options.h"
#include "plan_layouts.h"

#define BENCH_NKEYS 1000000u
#define BENCH_SECONDS 0.25
#define BENCH_KIND 9 /* columns of a name */
#define BENCH_LAYOUT 21

typedef struct bench_options {
  options common;
  size_options size;
  uint64_t kinds;   /* a bit for each, 0: all */
  uint64_t formats; /* a bit for each of nay_format_at */
  bool csv, hash;
  const char *floor;
} bench_options;

/* A family, or a layout of another system. */
static const char *bench_name(const nay_format *format, const measurement *m) {
  return format != NULL ? nay_format_name(format) : nay_kind_name(m->plan.kind);
}

static void bench_row(const nay_format *format, const measurement *m) {
  char size[NUMBER_TEXT], expected[NUMBER_TEXT], rate[NUMBER_TEXT], low[NUMBER_TEXT],
      high[NUMBER_TEXT];
  out_text("%-*s %8.2f %10s  %7.1f %7.1f %7.1f %7.1f   %8s  %8s (%s to %s)\n",
           format != NULL ? BENCH_LAYOUT : BENCH_KIND, bench_name(format, m), m->plan.bits_per_key,
           size_text(format != NULL ? m->plan.nbytes_file : m->plan.nbytes, size), m->build_ns,
           m->hit_ns, m->miss_ns, m->one_ns, fpr_text(m->plan.fpr, expected),
           fpr_text(m->fpr.rate, rate), fpr_text(m->fpr.low, low), fpr_text(m->fpr.high, high));
}

static void bench_json(const nay_format *format, const measurement *m) {
  json_begin("nay.bench/1");
  if (format != NULL) json_text("format", nay_format_name(format));
  json_text("kind", filterfile_kind_name(format, m->plan.kind));
  json_count("nkeys", m->plan.nkeys);
  json_real("bits_per_key", m->plan.bits_per_key);
  json_count("nbytes_memory", m->plan.nbytes);
  json_count("k", m->plan.k);
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

static void bench_csv(const nay_format *format, const measurement *m) {
  out_text("%s,%llu,%.4f,%llu,%.6g,%.6g,%llu,%.2f,%.2f,%.2f,%.2f\n", bench_name(format, m),
           (unsigned long long)m->plan.nkeys, m->plan.bits_per_key,
           (unsigned long long)m->plan.nbytes, m->plan.fpr, m->fpr.rate,
           (unsigned long long)m->nabsent, m->build_ns, m->hit_ns, m->miss_ns, m->one_ns);
}

static void bench_title(const bench_options *o) {
  if (o->csv) {
    out_text(MEASURE_CSV "\n");
  } else if (!o->common.json) {
    out_text(
        "%s%-*s bits/key       size    build     hit    miss     one   expected  measured "
        "(95%%)%s\n",
        paint(PAINT_BOLD), o->formats != 0 ? BENCH_LAYOUT : BENCH_KIND,
        o->formats != 0 ? "layout" : "kind", paint(PAINT_PLAIN));
  }
}

/* The lower bound for building from a file on one thread, and the build itself. */
static int bench_floor(bench_options *o) {
  options_refuse(&o->common, "format, csv", "bench --floor");
  if ((o->kinds & (o->kinds - 1)) != 0) die(EXIT_TROUBLE, "--floor builds one filter: -t KIND");
  if (o->kinds != 0) o->size.kind = (nay_kind)__builtin_ctzll(o->kinds);
  floor_times t = floor_measure(&o->common, &o->size, o->floor);
  double sum = t.read + t.hash + t.touch;
  if (o->common.json) {
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

/* One row; the title stands above the first. */
static void bench_one(const bench_options *o, const nay_format *format, const nay_params *p,
                      bool *any) {
  measurement m;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  nay_status status = measure_filter(format, p, BENCH_SECONDS, &diag, &m);
  if (status != NAY_OK) {
    message("%s: %s", format != NULL ? nay_format_name(format) : nay_kind_name(p->kind),
            diag_text(status, &diag, why));
    return;
  }
  if (!*any) bench_title(o);
  *any = true;
  (o->common.json ? bench_json : o->csv ? bench_csv : bench_row)(format, &m);
  out_flush();
}

static bool bench_kinds(const bench_options *o) {
  bool any = false;
  nay_params p = size_params(&o->size, NULL, 0.01);
  for (int kind = 1; kind < OPTION_VALUES; kind++) {
    if (!is_filter_kind((nay_kind)kind)) continue;
    if (o->kinds != 0 && (o->kinds >> kind & 1) == 0) continue;
    p.kind = (nay_kind)kind;
    bench_one(o, NULL, &p, &any);
  }
  return any;
}

static bool bench_layouts(const bench_options *o) {
  bool any = false;
  const nay_format *format;
  if (o->kinds != 0) {
    die(EXIT_TROUBLE, LAYOUTS_EXCLUDE_KINDS);
  }
  nay_params p = layouts_params(&o->size);
  for (size_t i = 0; (format = layout_at(o->formats, i)) != NULL; i++)
    bench_one(o, format, &p, &any);
  return any;
}

static int bench_run(options *common) {
  bench_options *o = (bench_options *)common;
  if (o->floor != NULL && o->hash) die(EXIT_TROUBLE, "--floor and --hash are mutually exclusive");
  if (o->common.json && o->csv) die(EXIT_TROUBLE, "--json and --csv are mutually exclusive");
  if (o->floor != NULL) return bench_floor(o);
  if (o->hash) {
    if (o->kinds != 0 || o->formats != 0 || o->size.nbytes != 0 || o->size.fpr != 0) {
      die(EXIT_TROUBLE, "--hash takes -n, -b and --probes alone");
    }
    return hash_bench(&o->size, o->common.json, o->csv);
  }
  if (o->size.nkeys == 0) o->size.nkeys = BENCH_NKEYS;
  bool any = o->formats != 0 ? bench_layouts(o) : bench_kinds(o);
  if (any && !o->common.json && !o->csv) {
    out_text(
        "ns per 16-byte key, hashing included: build, batched probes (present: hit, absent: miss), "
        "\nsingle probes (one, absent); one thread, the fastest of several runs\n");
  }
  return any ? EXIT_FOUND : EXIT_TROUBLE;
}

static const option_row bench_rows[] = {
    {"type", 't', "KIND[,KIND...]", KINDS_AT(bench_options, kinds),
     .help = "families to measure (default all)"},
    {"format", 0, "LAYOUT[,LAYOUT...]|all", FORMATS_AT(bench_options, formats),
     .help = "measure filters in other systems' layouts instead of the families"},
    {"csv", 0, NULL, FLAG_AT(bench_options, csv), .help = "write a CSV table"},
    {"probes", 0, "K", COUNT_AT(bench_options, size.probes),
     .help = "probes per key (default: the best for the size)"},
    {"hash", 0, NULL, FLAG_AT(bench_options, hash),
     .help = "time the hashes of all layouts, and one, two and k hashes for each key"},
    {"floor", 0, "FILE", FILE_AT(bench_options, floor),
     .help = "time the steps of building from FILE, each alone, and the whole build"},
    {0},
};
static const option_use bench_uses[] = {
    TAKES(bench_options, size, SIZE_FAMILY | SIZE_KEYS),
    REPORTS(REPORT_JSON | REPORT_PROGRESS),
    {0},
};

const command command_bench = {
    .name = "bench",
    .run = bench_run,
    .size = sizeof(bench_options),
    .summary = "time the families on this machine and measure their FPR",
    .operands = "",
    .own = bench_rows,
    .uses = bench_uses,
    .about =
        "Builds a filter of each family (or of those named by -t) for -n keys (default: a million) "
        "and times adds and probes. Then it probes as many absent keys and compares the measured "
        "false-positive rate (FPR), with its 95% interval, with the expected one. --csv and "
        "--json write tables for other programs; 'nay plot bench' draws the former. --format "
        "measures the layouts of other systems, with their hashes, as nay builds and probes them.\n"
        "\n"
        "--hash times the hashes of the native filter and of every layout, for keys of 4 to 1,024 "
        "bytes, in batches and one call each. Then it compares Bloom filters of -n keys (default "
        "100,000), -b bits per key (default 10) and --probes that compute their bits from k "
        "independent hashes, from two (double hashing), from the halves of one, and from 32 bits "
        "as LevelDB does, with nay's: ns for present and absent keys of three lengths, and the "
        "measured FPR against the one of "
        "independent probes.\n"
        "\n"
        "--floor times the steps of building from a file, each alone and on one thread: reading "
        "it, hashing its keys, and touching a random cache line for each key; then the build "
        "itself.",
    .examples =
        "$ nay bench -t blocked -n 10k --csv | cut -d, -f1-4\n"
        "kind,nkeys,bits_per_key,nbytes_memory\n"
        "blocked,10000,9.9328,12416\n",
};
