/* options.c - the option table, and getopt_long over it. */
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "numbers.h"

#define KEYED                                                                                     \
  (CMD_BUILD | CMD_ADD | CMD_REMOVE | CMD_CHECK | CMD_VERIFY | CMD_UNIQ | CMD_DIFF | CMD_COMMON | \
   CMD_CONVERT | CMD_SST)
#define MAKING (CMD_BUILD | CMD_UNIQ | CMD_DIFF | CMD_COMMON | CMD_PLAN | CMD_BENCH | CMD_PLOT)
#define READING \
  (CMD_ADD | CMD_REMOVE | CMD_CHECK | CMD_INFO | CMD_VERIFY | CMD_MERGE | CMD_FOLD | CMD_CONVERT)
#define WRITING                                                                                 \
  (CMD_BUILD | CMD_ADD | CMD_REMOVE | CMD_MERGE | CMD_FOLD | CMD_CONVERT | CMD_PLOT | CMD_SST | \
   CMD_EXTRACT)
#define TELLING                                                                                  \
  (CMD_PLAN | CMD_BUILD | CMD_ADD | CMD_REMOVE | CMD_CHECK | CMD_INFO | CMD_VERIFY | CMD_MERGE | \
   CMD_FOLD | CMD_CONVERT | CMD_UNIQ | CMD_DIFF | CMD_COMMON | CMD_BENCH | CMD_SST | CMD_EXTRACT)
#define JUDGING                                                                                  \
  (CMD_BUILD | CMD_ADD | CMD_REMOVE | CMD_CHECK | CMD_INFO | CMD_VERIFY | CMD_MERGE | CMD_FOLD | \
   CMD_CONVERT | CMD_UNIQ | CMD_DIFF | CMD_COMMON)
#define AT(field) offsetof(options, field)

static const char *const encodings[] = {"text", "hex", "b64", "u64", "u64le", NULL};
static const char *const table_filters[] = {"full",  "partitioned", "leveldb",
                                            "small", "none",        NULL}; /* tables.h */
static const char *const table_codecs[] = {"none", "snappy", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

static const option_row rows[] = {
    /* the filter to make */
    {"type", 't', "KIND", OPTION_KIND, AT(kind), MAKING | CMD_SST,
     "family of the filter (default auto)", NULL},
    {"nkeys", 'n', "COUNT", OPTION_COUNT, AT(nkeys), MAKING,
     "how many distinct keys to plan for: 1000, 1e6, 10M", NULL},
    {"fpr", 'p', "RATE", OPTION_RATE, AT(fpr), MAKING | CMD_SST,
     "rate of false positives once they are in: 0.01, 1%, 1/256", NULL},
    {"bits", 'b', "BITS", OPTION_REAL, AT(bits_per_key), MAKING | CMD_SST,
     "bits per key, instead of a rate", NULL},
    {"memory", 'M', "SIZE", OPTION_SIZE, AT(nbytes), MAKING,
     "memory budget of the filter, instead of a rate: 10M, 1Gi", NULL},
    {"probes", 0, "K", OPTION_COUNT, AT(probes), CMD_BUILD | CMD_PLAN | CMD_BENCH,
     "probes per key (default: the best for the size)", NULL},
    {"fold", 0, "N", OPTION_COUNT, AT(fold), CMD_BUILD | CMD_PLAN,
     "make the size divisible by N, for nay fold", NULL},
    {"seed", 0, "N|random", OPTION_TEXT, AT(seed), CMD_BUILD, "seed of the hash (default 0)", NULL},
    {"store-key", 0, NULL, OPTION_FLAG, AT(store_key), CMD_BUILD,
     "write the secret into the file, which then opens without it", NULL},
    {"meta", 0, "TEXT", OPTION_TEXT, AT(meta), CMD_BUILD,
     "a note kept in the file, shown by nay info", NULL},
    {"need", 0, "LIST", OPTION_TEXT, AT(need), CMD_PLAN,
     "what the filter must do: delete, merge, grow, expire, count, static; separated by commas",
     NULL},
    {"no-measure", 0, NULL, OPTION_FLAG, AT(no_measure), CMD_PLAN,
     "do not time the candidates on this machine", NULL},
    /* reading filters */
    {"format", 0, "NAME", OPTION_FORMAT, AT(format), READING | CMD_BUILD,
     "layout of the filter's bytes, for those without a magic number; a file with the magic number "
     "of another is refused",
     NULL},
    {"to", 0, "NAME", OPTION_FORMAT, AT(to), CMD_CONVERT, "layout to write", NULL},
    {"secret", 0, "FILE", OPTION_FILE, AT(secret), READING | CMD_BUILD,
     "file with the secret key of a keyed filter: 16 bytes or 32 hex digits", NULL},
    /* answers */
    {"invert", 'v', NULL, OPTION_FLAG, AT(invert), CMD_CHECK,
     "select the nays, which are certain, instead of the maybes", NULL},
    {"invert", 'v', NULL, OPTION_FLAG, AT(invert), CMD_SST,
     "get: select the keys that are not there", NULL},
    {"count", 'c', NULL, OPTION_FLAG, AT(count),
     CMD_SST | CMD_CHECK | CMD_UNIQ | CMD_DIFF | CMD_COMMON,
     "print only how many keys are selected", NULL},
    {"quiet", 'q', NULL, OPTION_FLAG, AT(quiet), CMD_CHECK,
     "print nothing; the first selected key decides the exit status", NULL},
    {"annotate", 'a', NULL, OPTION_FLAG, AT(annotate), CMD_CHECK,
     "print every key, after \"maybe\" or \"nay\" and a tab", NULL},
    {"any", 0, NULL, OPTION_FLAG, AT(any), CMD_CHECK,
     "all operands are filters: select keys that any of them may hold", NULL},
    {"all", 0, NULL, OPTION_FLAG, AT(all), CMD_CHECK,
     "all operands are filters: select keys that all of them may hold", NULL},
    {"which", 0, NULL, OPTION_FLAG, AT(which), CMD_CHECK,
     "all operands are filters: print each key with those that may hold it", NULL},
    {"keys", 0, "FILE", OPTION_FILES, AT(key_files), CMD_SST | CMD_CHECK | CMD_VERIFY | CMD_CONVERT,
     "read keys from FILE; may be given again", NULL},
    {"absent", 0, "FILE", OPTION_FILES, AT(absent_files), CMD_VERIFY,
     "keys known to be absent: their maybes are false positives", NULL},
    {"random", 0, "COUNT", OPTION_COUNT, AT(random), CMD_VERIFY,
     "measure the rate with COUNT random keys", NULL},
    {"expect-fpr", 0, "RATE", OPTION_RATE, AT(expect_fpr), CMD_VERIFY,
     "the promise to measure against (default: the filter's own rate)", NULL},
    {"list", 0, NULL, OPTION_FLAG, AT(list), CMD_EXTRACT, "only tell where the filters are", NULL},
    {"prom", 0, NULL, OPTION_FLAG, AT(prom), CMD_INFO, "write metrics for Prometheus", NULL},
    /* whole filters */
    {"intersect", 0, NULL, OPTION_FLAG, AT(intersect), CMD_MERGE,
     "keep what all filters have in common, instead of the union", NULL},
    {"max-fpr", 0, "RATE", OPTION_RATE, AT(max_fpr), CMD_MERGE | CMD_FOLD,
     "refuse (merge) or stop (fold) at a rate above this", NULL},
    {"factor", 0, "N", OPTION_COUNT, AT(factor), CMD_FOLD, "shrink by exactly this factor", NULL},
    /* tables */
    {"filter", 0, "KIND", OPTION_CHOICE, AT(table_filter), CMD_SST,
     "build, compact: one filter over the table, one for each range of keys, or one for each 2 KiB "
     "as LevelDB has it or with fewer false positives (default full):",
     table_filters},
    {"prefix-length", 0, "N", OPTION_COUNT, AT(prefix_length), CMD_SST,
     "build, compact: also a filter of the first N bytes of keys, for scans", NULL},
    {"prefix-delimiter", 0, "C", OPTION_TEXT, AT(prefix_delimiter), CMD_SST,
     "build, compact: also a filter of keys up to the first C", NULL},
    {"compress", 0, "CODEC", OPTION_CHOICE, AT(compress), CMD_SST,
     "build, compact: how blocks are compressed:", table_codecs},
    {"block", 0, "SIZE", OPTION_SIZE, AT(block_bytes), CMD_SST,
     "build, compact: size of a block (default 4096)", NULL},
    {"sort", 0, NULL, OPTION_FLAG, AT(sort), CMD_SST,
     "build: put the rows in order, in memory; of equal keys the last one counts", NULL},
    {"sequence", 0, "N", OPTION_COUNT, AT(sequence), CMD_SST,
     "build: internal keys with this sequence number", NULL},
    {"bottom", 0, NULL, OPTION_FLAG, AT(bottom), CMD_SST,
     "compact: nothing older lies below, so deletions can go", NULL},
    {"snapshot", 0, "N", OPTION_COUNT, AT(snapshot), CMD_SST,
     "compact: keep the versions that readers at sequence N and above can see", NULL},
    {"from", 0, "KEY", OPTION_TEXT, AT(from), CMD_SST, "scan: start at KEY", NULL},
    {"to", 0, "KEY", OPTION_TEXT, AT(upto), CMD_SST, "scan: end before KEY", NULL},
    {"prefix", 0, "KEY", OPTION_TEXT, AT(prefix), CMD_SST, "scan: only keys that start so", NULL},
    {"limit", 0, "COUNT", OPTION_COUNT, AT(limit), CMD_SST, "scan: at most so many entries", NULL},
    {"versions", 0, NULL, OPTION_FLAG, AT(versions), CMD_SST,
     "scan: all versions of internal keys, with sequence number and type", NULL},
    {"no-values", 0, NULL, OPTION_FLAG, AT(no_values), CMD_SST, "get, scan: print keys alone",
     NULL},
    {"verify", 0, NULL, OPTION_FLAG, AT(verify_table), CMD_SST,
     "info: read every block, count the entries", NULL},
    /* streams */
    {"exact", 0, NULL, OPTION_FLAG, AT(exact), CMD_UNIQ,
     "no errors: keep every distinct key in memory, which grows", NULL},
    {"repeated", 'd', NULL, OPTION_FLAG, AT(repeated), CMD_UNIQ, "print the repeats instead", NULL},
    {"window", 0, "COUNT|TIME", OPTION_TEXT, AT(window), CMD_UNIQ,
     "forget keys after COUNT lines, or after a time such as 90s, 15m, 1h, 7d", NULL},
    {"state", 0, "FILE", OPTION_FILE, AT(state), CMD_UNIQ,
     "start from the filter in FILE if it exists, and keep it there", NULL},
    {"quiet", 'q', NULL, OPTION_FLAG, AT(quiet), CMD_UNIQ,
     "print nothing: exit status 0 when a key repeats, 1 when none does", NULL},
    /* keys */
    {"null", '0', NULL, OPTION_FLAG, AT(keys.null), KEYED,
     "keys end in a zero byte instead of a newline", NULL},
    {"crlf", 0, NULL, OPTION_FLAG, AT(keys.crlf), KEYED,
     "a carriage return before the newline is not part of the key", NULL},
    {"key", 0, "ENCODING", OPTION_CHOICE, AT(keys.encoding), KEYED, "keys are written as",
     encodings},
    {"length-prefixed", 0, NULL, OPTION_FLAG, AT(keys.length_prefixed), KEYED,
     "each key follows its length, 4 bytes little-endian", NULL},
    {"csv", 0, NULL, OPTION_FLAG, AT(keys.csv), KEYED, "keys are a column of a CSV file", NULL},
    {"tsv", 0, NULL, OPTION_FLAG, AT(keys.tsv), KEYED, "keys are a column of a file with tabs",
     NULL},
    {"column", 'k', "NAME|N", OPTION_TEXT, AT(keys.column), KEYED,
     "the column: a name of the header, or a number from 1", NULL},
    {"header", 0, NULL, OPTION_FLAG, AT(keys.header), KEYED,
     "the first record is a header, also when -k is a number", NULL},
    {"delimiter", 0, "C", OPTION_TEXT, AT(keys.delimiter), KEYED,
     "the character between CSV fields (default ,)", NULL},
    {"skip-empty", 0, NULL, OPTION_FLAG, AT(keys.skip_empty), KEYED, "empty keys are not keys",
     NULL},
    {"no-decompress", 0, NULL, OPTION_FLAG, AT(keys.no_decompress), KEYED,
     "take compressed files as they are", NULL},
    /* output */
    {"output", 'o', "FILE", OPTION_FILE, AT(out), WRITING,
     "write FILE, all at once at the end; - is standard output", NULL},
    {"force", 'f', NULL, OPTION_FLAG, AT(force), WRITING,
     "overwrite FILE; write binary to a terminal", NULL},
    {"svg", 0, NULL, OPTION_FLAG, AT(svg), CMD_PLOT, "write SVG even to a terminal", NULL},
    {"csv", 0, NULL, OPTION_FLAG, AT(as_csv), CMD_BENCH, "write a CSV table", NULL},
    {"floor", 0, "FILE", OPTION_FILE, AT(floor), CMD_BENCH,
     "time the parts of building from FILE, each alone, and the whole", NULL},
    {"markdown", 0, NULL, OPTION_FLAG, AT(markdown), CMD_MAN, "write Markdown instead of roff",
     NULL},
    {"json", 0, NULL, OPTION_FLAG, AT(json), TELLING, "write JSON to standard output", NULL},
    {"threads", 'T', "N", OPTION_COUNT, AT(threads), KEYED,
     "threads that build a static filter, 0: one for each CPU (default 2); reading and hashing "
     "take "
     "one beside the one that adds or asks, and with 1 none",
     NULL},
    {"quiet", 'q', NULL, OPTION_FLAG, AT(quiet), CMD_ANY & ~(CMD_CHECK | CMD_UNIQ),
     "only errors, and warnings of a rate above the promise, on standard error", NULL},
    {"strict", 0, NULL, OPTION_FLAG, AT(strict), JUDGING,
     "end with exit status 4 when the rate of false positives to expect is more than 10% above "
     "what was asked or planned, which is always said on standard error",
     NULL},
    {"color", 0, "WHEN", OPTION_CHOICE, AT(color), CMD_ANY, "colours:", colors},
    {"progress", 0, "WHEN", OPTION_CHOICE, AT(progress), KEYED | CMD_BENCH,
     "progress on standard error:", colors},
    {"help", 'h', NULL, OPTION_FLAG, AT(help), CMD_ANY, "this text", NULL},
};
#define NROWS (sizeof rows / sizeof rows[0])

const option_row *options_next(const option_row *row, unsigned command_bit) {
  row = row == NULL ? rows : row + 1;
  for (; row < rows + NROWS; row++) {
    if ((row->commands & command_bit) != 0) return row;
  }
  return NULL;
}

const char *options_row_title(const option_row *row, char title[ROW_TITLE]) {
  char letter[5] = "";
  if (row->letter != 0) snprintf(letter, sizeof letter, "-%c, ", row->letter);
  snprintf(title, ROW_TITLE, "%s--%s%s%s", letter, row->name, row->value != NULL ? "=" : "",
           row->value != NULL ? row->value : "");
  return title;
}

void kind_names(const char *list[OPTION_WORDS]) {
  size_t n = 0;
  list[n++] = "auto";
  for (int kind = 1; kind < OPTION_WORDS - 1; kind++) {
    const char *name = nay_kind_name((nay_kind)kind);
    if (name != NULL) list[n++] = name;
  }
  list[n] = NULL;
}

void format_names(const char *list[OPTION_WORDS]) {
  size_t n = 0;
  for (; n < OPTION_WORDS - 1 && nay_format_at(n) != NULL; n++) {
    list[n] = nay_format_name(nay_format_at(n));
  }
  list[n] = NULL;
}

void options_values(const option_row *row, const char *list[OPTION_WORDS]) {
  size_t n = 0;
  if (row->type == OPTION_KIND) {
    kind_names(list);
    return;
  }
  if (row->type == OPTION_FORMAT) {
    format_names(list);
    return;
  }
  for (; row->choices != NULL && row->choices[n] != NULL; n++) list[n] = row->choices[n];
  list[n] = NULL;
}

/* ---- parsing ---- */

_Noreturn static void option_bad_word(const option_row *row, const char *value) {
  const char *list[OPTION_WORDS];
  char all[512] = "";
  options_values(row, list);
  for (size_t i = 0; list[i] != NULL; i++) {
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", list[i]);
  }
  const char *near = words_nearest(value, list);
  if (near != NULL) {
    die(EXIT_TROUBLE, "--%s: '%s' is not known; did you mean %s?", row->name, value, near);
  }
  die(EXIT_TROUBLE, "--%s: '%s' is not one of %s", row->name, value, all);
}

static void option_set_word(const option_row *row, const char *value, void *at) {
  nay_kind kind;
  if (row->type == OPTION_KIND) {
    if (nay_kind_parse(value, &kind) != NAY_OK) option_bad_word(row, value);
    *(nay_kind *)at = kind;
  } else if (row->type == OPTION_FORMAT) {
    const nay_format *format = nay_format_find(value);
    if (format == NULL) option_bad_word(row, value);
    *(const nay_format **)at = format;
  } else {
    unsigned i = 0;
    while (row->choices[i] != NULL && strcmp(row->choices[i], value) != 0) i++;
    if (row->choices[i] == NULL) option_bad_word(row, value);
    *(unsigned *)at = i;
  }
}

static void option_add_file(const option_row *row, const char *value, file_list *list) {
  if (list->n == OPTIONS_FILES) die(EXIT_TROUBLE, "--%s is given too often", row->name);
  list->at[list->n++] = value;
}

static void option_set(const option_row *row, const char *value, options *o) {
  void *at = (char *)o + row->at;
  const char *form = NULL;
  switch (row->type) {
    case OPTION_FLAG: *(bool *)at = true; break;
    case OPTION_TEXT:
    case OPTION_FILE: *(const char **)at = value; break;
    case OPTION_FILES: option_add_file(row, value, at); break;
    case OPTION_KIND:
    case OPTION_FORMAT:
    case OPTION_CHOICE: option_set_word(row, value, at); break;
    case OPTION_COUNT:
      if (!number_count(value, at) || (*(uint64_t *)at == 0 && row->at != AT(threads))) {
        form = "a count such as 1000, 1e6 or 10M";
      }
      break;
    case OPTION_SIZE:
      if (!number_size(value, at) || *(uint64_t *)at == 0) form = "a size such as 4096, 10M or 1Gi";
      break;
    case OPTION_RATE:
      if (!number_rate(value, at)) form = "a rate between 0 and 1 such as 0.01, 1% or 1/256";
      break;
    case OPTION_REAL:
      if (!number_real(value, at) || !(*(double *)at > 0)) form = "a number such as 10 or 9.6";
      break;
  }
  if (form != NULL) die(EXIT_TROUBLE, "--%s: '%s' is not %s", row->name, value, form);
}

_Noreturn static void option_unknown(const command *c, const char *word) {
  const char *names[NROWS + 1];
  size_t n = 0;
  for (const option_row *row = NULL; (row = options_next(row, c->bit)) != NULL;) {
    names[n++] = row->name;
  }
  names[n] = NULL;
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
  const char *near = strncmp(bare, "--", 2) == 0 ? words_nearest(bare + 2, names) : NULL;
  if (near != NULL) die(EXIT_TROUBLE, "no option %s; did you mean --%s?", bare, near);
  die(EXIT_TROUBLE, "no option %s; 'nay help %s' lists them", bare, c->name);
}

static void options_tables(const command *c, char *letters, struct option *longs,
                           const option_row *by_letter[256]) {
  *letters++ = ':';
  for (const option_row *row = NULL; (row = options_next(row, c->bit)) != NULL;) {
    int has_value = row->value != NULL ? required_argument : no_argument;
    *longs++ = (struct option){row->name, has_value, NULL, 256 + (int)(row - rows)};
    if (row->letter == 0) continue;
    *letters++ = row->letter;
    if (row->value != NULL) *letters++ = ':';
    by_letter[(unsigned char)row->letter] = row;
  }
  *letters = '\0';
  *longs = (struct option){NULL, 0, NULL, 0};
}

static void options_check_operands(const options *o) {
  const command *c = o->command;
  if (o->noperands < c->min_operands) {
    die(EXIT_TROUBLE, "missing operand; usage: nay %s [options] %s", c->name, c->operands);
  }
  if (o->noperands > c->max_operands) {
    die(EXIT_TROUBLE, "one operand too many: '%s'; usage: nay %s [options] %s",
        o->operands[c->max_operands], c->name, c->operands);
  }
}

/* Two documents on one standard output would be none. */
static void options_check_stdout(const options *o) {
  unsigned bit = o->command->bit;
  bool by_default = o->out == NULL && (bit & (CMD_BUILD | CMD_MERGE | CMD_CONVERT)) != 0;
  bool asked = o->out != NULL && strcmp(o->out, "-") == 0;
  if (o->json && (by_default || asked)) {
    die(EXIT_TROUBLE, "--json writes to standard output, and so would the result: use -o FILE");
  }
}

void options_parse(const command *c, int argc, char **argv, options *o) {
  char letters[2 * NROWS + 2];
  struct option longs[NROWS + 1];
  const option_row *by_letter[256] = {NULL};
  options_tables(c, letters, longs, by_letter);
  *o = (options){.command = c, .threads = 2};
  opterr = 0;
  for (int got; (got = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
    if (got == ':') die(EXIT_TROUBLE, "option %s needs a value", argv[optind - 1]);
    if (got == '?') {
      char letter[3] = {'-', (char)optopt, '\0'};
      bool is_letter = optopt > 0 && optopt < 256;
      option_unknown(c, is_letter ? letter : argv[optind - 1]);
    }
    const option_row *row = got >= 256 ? rows + (got - 256) : by_letter[(unsigned char)got];
    option_set(row, optarg, o);
  }
  o->operands = argv + optind;
  o->noperands = argc - optind;
  if (!o->help) {
    options_check_operands(o);
    options_check_stdout(o);
  }
}

/* ---- params ---- */

static uint64_t options_seed(const char *text) {
  uint64_t seed = 0;
  if (text == NULL) return 0;
  if (strcmp(text, "random") == 0) {
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
      die(EXIT_TROUBLE, "no random seed: %s", strerror(errno));
    }
    return seed;
  }
  if (!number_count(text, &seed)) die(EXIT_TROUBLE, "--seed: '%s' is not a number", text);
  return seed;
}

uint32_t options_threads(const options *o) {
  if (o->threads > 256) die(EXIT_TROUBLE, "-T: at most 256 threads");
  if (o->threads != 0) return (uint32_t)o->threads;
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

nay_params options_params(const options *o, double default_fpr) {
  nay_params p = {.kind = o->kind,
                  .nkeys = o->nkeys,
                  .fpr = o->fpr,
                  .bits_per_key = o->bits_per_key,
                  .nbytes = o->nbytes,
                  .k = o->probes > UINT32_MAX ? UINT32_MAX : (uint32_t)o->probes,
                  .fold = o->fold,
                  .seed = options_seed(o->seed)};
  int sizes = (o->fpr != 0) + (o->bits_per_key != 0) + (o->nbytes != 0);
  if (sizes > 1) die(EXIT_TROUBLE, "-p, -b and -M exclude each other: give one of them");
  if (sizes == 0) p.fpr = default_fpr;
  return p;
}
