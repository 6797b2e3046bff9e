/* bench_main.c - options and the order of work. The measuring is in bench_run.c. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

static const char main_usage[] =
    "usage: nay-bench [options]\n"
    "Times every filter of nay and of its peers side by side and prints a table.\n"
    "\n"
    "  --quick           fewer sizes and repetitions: under two minutes\n"
    "  --sizes LIST      numbers of keys, as 1e4,10M (default 10k,1M,10M,100M)\n"
    "  --kinds LIST      only filters whose name contains one of these, as blocked,rocksdb\n"
    "  --large LIST      above 20M keys only these of them\n"
    "  --keys LIST       hashes, strings (default both)\n"
    "  --reps N          repetitions of each operation, 1 to 32 (default 7)\n"
    "  --seconds S       no further repetition once an operation has taken this long (default 8)\n"
    "  --seed N          of the keys (default 1)\n"
    "  --cpu N           the CPU to pin to (default the last)\n"
    "  --adapter FILE    also time the filters of this shared object; may be repeated\n"
    "  --lsm N           records in each of the 100 tables of the end-to-end model (0: skip it)\n"
    "  --json FILE       also write the results as JSON\n"
    "  --svg FILE        also plot bits per key against time\n"
    "  --keep DIR        also write DIR/<date>-<cpu>-<commit>.txt, .json and .svg\n"
    "  --commit NAME     what is being measured, for the reports\n"
    "  --list            the filters of this build, and no measurement\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0, or 1 when a filter gave a wrong answer, 2 for trouble.\n";

typedef struct main_state {
  bench_options options;
  const char *plugins[16];
  size_t nplugins;
  int cpu;
  bool list;
  const bench_adapter *adapters[BENCH_MAX_ADAPTERS];
  size_t nadapters;
  bench_row *rows;
  size_t nrows;
} main_state;

/* ---- options ---- */

/* "10k", "1M", "1e6", "100000000". */
static uint64_t main_count(const char *text) {
  char *end;
  errno = 0;
  double x = strtod(text, &end);
  if (*end == 'k' || *end == 'K')
    x *= 1e3, end++;
  else if (*end == 'M')
    x *= 1e6, end++;
  else if (*end == 'G')
    x *= 1e9, end++;
  if (errno != 0 || end == text || *end != '\0' || !(x >= 0 && x <= 1e12) || x != floor(x)) {
    bench_die("not a number of keys: %s", text);
  }
  return (uint64_t)x;
}

static void main_sizes(bench_options *o, const char *list) {
  char copy[512];
  if (strlen(list) >= sizeof copy) bench_die("--sizes: too long");
  strcpy(copy, list);
  o->nsizes = 0;
  for (char *at = strtok(copy, ","); at != NULL; at = strtok(NULL, ",")) {
    if (o->nsizes == BENCH_MAX_SIZES) bench_die("--sizes: at most %d", BENCH_MAX_SIZES);
    o->sizes[o->nsizes] = main_count(at);
    if (o->sizes[o->nsizes++] < 1000) bench_die("--sizes: from 1000 keys on");
  }
}

static void main_forms(bench_options *o, const char *list) {
  o->forms[BENCH_HASHES] = strstr(list, "hash") != NULL;
  o->forms[BENCH_STRINGS] = strstr(list, "string") != NULL;
  if (!o->forms[BENCH_HASHES] && !o->forms[BENCH_STRINGS]) bench_die("--keys: hashes or strings");
}

/* The default run, and the quick one; other options then change single fields. */
static bench_options main_defaults(bool quick) {
  bench_options o = {.forms = {true, true}, .seed = 1, .quick = quick};
  o.reps = quick ? 3 : 7;
  o.cell_seconds = quick ? 0.4 : 8;
  o.max_queries = (uint64_t)1 << (quick ? 20 : 22);
  o.nfpr = (uint64_t)1 << (quick ? 20 : 23);
  o.lsm_records = quick ? 10000 : 100000;
  main_sizes(&o, quick ? "10k,1M" : "10k,1M,10M,100M");
  return o;
}

enum {
  OPT_QUICK = 256,
  OPT_SIZES,
  OPT_KINDS,
  OPT_LARGE,
  OPT_KEYS,
  OPT_REPS,
  OPT_SECONDS,
  OPT_SEED,
  OPT_CPU,
  OPT_ADAPTER,
  OPT_LSM,
  OPT_JSON,
  OPT_SVG,
  OPT_KEEP,
  OPT_COMMIT,
  OPT_LIST,
  OPT_HELP
};

static const struct option main_options[] = {{"quick", no_argument, NULL, OPT_QUICK},
                                             {"sizes", required_argument, NULL, OPT_SIZES},
                                             {"kinds", required_argument, NULL, OPT_KINDS},
                                             {"large", required_argument, NULL, OPT_LARGE},
                                             {"keys", required_argument, NULL, OPT_KEYS},
                                             {"reps", required_argument, NULL, OPT_REPS},
                                             {"seconds", required_argument, NULL, OPT_SECONDS},
                                             {"seed", required_argument, NULL, OPT_SEED},
                                             {"cpu", required_argument, NULL, OPT_CPU},
                                             {"adapter", required_argument, NULL, OPT_ADAPTER},
                                             {"lsm", required_argument, NULL, OPT_LSM},
                                             {"json", required_argument, NULL, OPT_JSON},
                                             {"svg", required_argument, NULL, OPT_SVG},
                                             {"keep", required_argument, NULL, OPT_KEEP},
                                             {"commit", required_argument, NULL, OPT_COMMIT},
                                             {"list", no_argument, NULL, OPT_LIST},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {NULL, 0, NULL, 0}};

static unsigned main_reps(const char *text) {
  uint64_t n = main_count(text);
  if (n < 1 || n > BENCH_MAX_REPS) bench_die("--reps: 1 to %d", BENCH_MAX_REPS);
  return (unsigned)n;
}

static void main_plugin(main_state *s, const char *path) {
  if (s->nplugins == sizeof s->plugins / sizeof s->plugins[0]) bench_die("too many adapters");
  s->plugins[s->nplugins++] = path;
}

static void main_option(main_state *s, int option, const char *value) {
  bench_options *o = &s->options;
  switch (option) {
    case OPT_QUICK: break; /* seen before the others */
    case OPT_SIZES: main_sizes(o, value); break;
    case OPT_KINDS: o->kinds = value; break;
    case OPT_LARGE: o->large = value; break;
    case OPT_KEYS: main_forms(o, value); break;
    case OPT_REPS: o->reps = main_reps(value); break;
    case OPT_SECONDS: o->cell_seconds = strtod(value, NULL); break;
    case OPT_SEED: o->seed = main_count(value); break;
    case OPT_CPU: s->cpu = (int)main_count(value); break;
    case OPT_ADAPTER: main_plugin(s, value); break;
    case OPT_LSM: o->lsm_records = main_count(value); break;
    case OPT_JSON: o->json = value; break;
    case OPT_SVG: o->svg = value; break;
    case OPT_KEEP: o->keep = value; break;
    case OPT_COMMIT: o->commit = value; break;
    case OPT_LIST: s->list = true; break;
    case OPT_HELP: fputs(main_usage, stdout); exit(0);
    default: fputs("nay-bench: see --help for the options\n", stderr); exit(2);
  }
}

static void main_parse(main_state *s, int argc, char **argv) {
  bool quick = false;
  for (int i = 1; i < argc; i++) quick |= strcmp(argv[i], "--quick") == 0;
  s->options = main_defaults(quick);
  s->cpu = -1;
  int option;
  while ((option = getopt_long(argc, argv, "", main_options, NULL)) != -1) {
    main_option(s, option, optarg);
  }
  if (optind != argc) bench_die("unexpected argument %s; see --help for the options", argv[optind]);
}

/* ---- work ---- */

static void main_choose(main_state *s) {
  const bench_adapter *all[BENCH_MAX_ADAPTERS];
  size_t n = bench_adapters_all(s->plugins, s->nplugins, all);
  for (size_t i = 0; i < n; i++) {
    if (bench_wanted(s->options.kinds, all[i])) s->adapters[s->nadapters++] = all[i];
  }
  if (s->nadapters == 0) bench_die("no filter has such a name; see --list");
}

static int main_list(const main_state *s) {
  for (size_t i = 0; i < s->nadapters; i++) {
    const bench_adapter *a = s->adapters[i];
    printf("%-12s %-12s %-20s %s\n", a->library, a->version, a->name, a->family);
  }
  bench_adapters_missing(stdout);
  return 0;
}

static void main_measure(main_state *s) {
  const bench_options *o = &s->options;
  s->rows = calloc((size_t)o->nsizes * BENCH_NFORMS * s->nadapters, sizeof s->rows[0]);
  if (s->rows == NULL) bench_die("no memory");
  for (unsigned size = 0; size < o->nsizes; size++) {
    for (int form = 0; form < BENCH_NFORMS; form++) {
      if (!o->forms[form]) continue;
      bench_row *rows = s->rows + s->nrows;
      bench_run(o, o->sizes[size], (bench_form)form, s->adapters, s->nadapters, rows);
      bench_table_block(stdout, rows, s->nadapters);
      s->nrows += s->nadapters;
    }
  }
}

static void main_print_all(FILE *out, const bench_report *report, size_t nadapters) {
  bench_table_head(out, report);
  bench_adapters_missing(out);
  for (size_t i = 0; i < report->nrows; i += nadapters) {
    bench_table_block(out, report->rows + i, nadapters);
  }
  bench_table_foot(out, report->rows, report->nrows);
  if (report->lsm != NULL) bench_table_lsm(out, report->lsm);
}

static void main_keep(const bench_report *report, size_t nadapters) {
  const bench_options *o = report->options;
  char path[600];
  if (mkdir(o->keep, 0777) != 0 && errno != EEXIST) bench_die("%s: %s", o->keep, strerror(errno));
  int stem = snprintf(path, sizeof path - 8, "%s/%.10s-%s-%s", o->keep, report->machine.date,
                      report->machine.host, o->commit != NULL ? o->commit : "unknown");
  if (stem < 0 || (size_t)stem >= sizeof path - 8) bench_die("--keep: the name is too long");
  strcpy(path + stem, ".txt");
  FILE *out = fopen(path, "w");
  if (out == NULL) bench_die("%s: %s", path, strerror(errno));
  main_print_all(out, report, nadapters);
  if (fclose(out) != 0) bench_die("%s: %s", path, strerror(errno));
  strcpy(path + stem, ".json");
  if (!bench_json_write(path, report)) bench_die("%s: %s", path, strerror(errno));
  strcpy(path + stem, ".svg");
  if (!bench_svg_write(path, report)) bench_die("%s: %s", path, strerror(errno));
  printf("\nkept as %.*s.{txt,json,svg}\n", stem, path);
}

static void main_write(const bench_report *report, size_t nadapters) {
  const bench_options *o = report->options;
  if (o->json != NULL && !bench_json_write(o->json, report)) {
    bench_die("%s: %s", o->json, strerror(errno));
  }
  if (o->svg != NULL && !bench_svg_write(o->svg, report)) {
    bench_die("%s: %s", o->svg, strerror(errno));
  }
  if (o->keep != NULL) main_keep(report, nadapters);
}

/* A filter that takes this form of keys but gave wrong answers fails the run. */
static int main_status(const main_state *s) {
  for (size_t i = 0; i < s->nrows; i++) {
    const char *failure = s->rows[i].failure;
    if (failure != NULL && strstr(failure, "left out") != NULL) return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  static main_state s;
  static lsm_report lsm;
  main_parse(&s, argc, argv);
  main_choose(&s);
  if (s.list) return main_list(&s);
  bench_report report = {.options = &s.options};
  bench_machine_read(&report.machine);
  report.machine.pinned = bench_pin(s.cpu);
  bench_table_head(stdout, &report);
  bench_adapters_missing(stdout);
  bench_warm(0.3);
  main_measure(&s);
  bench_table_foot(stdout, s.rows, s.nrows);
  report.rows = s.rows;
  report.nrows = s.nrows;
  if (s.options.lsm_records != 0) {
    lsm_run(&s.options, &lsm);
    report.lsm = &lsm;
    bench_table_lsm(stdout, &lsm);
  }
  main_write(&report, s.nadapters);
  int status = main_status(&s);
  free(s.rows);
  return status;
}
