/* option_groups.c - the tables of option_groups.h, and what their values say. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bads.h"
#include "numbers.h"
#include "options.h"

static const char *const option_on_bad[] = {"fail", "report", "skip", "pass", "line", NULL};
static const char *const option_range_keys[] = {"default", "be8", "be4", "decimal", NULL};
static const char *const option_time_unit[] = {"s", "ms", "us", "ns", NULL};
static const char *const option_when[] = {"auto", "always", "never", NULL};

/* ---- the filter to make ---- */

static const option_row size_rows[] = {
    {"type", 't', "KIND", KIND_AT(size_options, kind),
     .help = "family of the filter (default auto)", .part = SIZE_FAMILY},
    {"nkeys", 'n', "COUNT", COUNT_AT(size_options, nkeys),
     .help = "number of distinct keys to plan for: 1000, 1e6, 10M", .part = SIZE_KEYS},
    {"fpr", 'p', "FPR", FPR_AT(size_options, fpr),
     .help = "false-positive rate (FPR) once all planned keys are added: 0.01, 1%, 1/256",
     .part = SIZE_FAMILY},
    {"bits", 'b', "BITS", REAL_AT(size_options, bits_per_key),
     .help = "bits per key, instead of an FPR", .part = SIZE_FAMILY},
    {"memory", 'M', "SIZE", SIZE_AT(size_options, nbytes),
     .help = "memory budget of the filter, instead of an FPR: 10M, 1Gi", .part = SIZE_KEYS},
    {"nbits", 0, "COUNT", COUNT_AT(size_options, nbits),
     .help = "exactly COUNT bits, instead of an FPR; with -n and --probes a Bloom filter is given "
             "by the m, n and k of the literature (default type: bloom)",
     .part = SIZE_SHAPE},
    {"probes", 0, "K", COUNT_AT(size_options, probes),
     .help = "probes per key (default: the best for the size)", .part = SIZE_SHAPE},
    {"fold", 0, "N", COUNT_AT(size_options, fold),
     .help = "make the size divisible by N, for nay fold", .part = SIZE_SHAPE},
    {"max-keys", 0, "COUNT", COUNT_AT(size_options, max_keys),
     .help = "cuckoo: the filter may grow from -n keys to COUNT (default: it stays at -n)",
     .part = SIZE_MAX_KEYS},
    {"range-length", 0, "COUNT", COUNT_AT(size_options, range_length),
     .help = "range: how many numbers the longest range has for which -p is planned (default 1000)",
     .part = SIZE_RANGE},
    {"range-keys", 0, "FORM", CHOICE_AT(size_options, range_keys),
     .help = "range: how keys of bytes end in a number: decimal digits (default for text), or 8 or "
             "4 bytes, big-endian:",
     .choices = option_range_keys, .part = SIZE_RANGE},
    {"range-delimiter", 0, "C", TEXT_AT(size_options, range_delimiter),
     .help = "range: the character in which the part before the number ends", .part = SIZE_RANGE},
    {"seed", 0, "N|random", TEXT_AT(size_options, seed), .help = "seed of the hash (default 0)",
     .part = SIZE_SEED},
    {0},
};
const option_group size_group = {size_rows};

#define RANGE_LENGTH_DEFAULT 1000

static uint64_t size_seed(const char *text) {
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

nay_params size_params(const size_options *size, const nay_format *format, double default_fpr) {
  nay_params p = {.size = sizeof p,
                  .kind = size->kind,
                  .nkeys = size->nkeys,
                  .max_nkeys = size->max_keys,
                  .fpr = size->fpr,
                  .bits_per_key = size->bits_per_key,
                  .nbytes = size->nbytes,
                  .nbits = size->nbits,
                  .k = size->probes > UINT32_MAX ? UINT32_MAX : (uint32_t)size->probes,
                  .fold = size->fold,
                  .range_length = size->range_length,
                  .seed = size_seed(size->seed)};
  int sizes =
      (size->fpr != 0) + (size->bits_per_key != 0) + (size->nbytes != 0) + (size->nbits != 0);
  if (sizes > 1)
    die(EXIT_TROUBLE, "-p, -b, -M and --nbits are mutually exclusive: give one of them");
  if (sizes == 0) p.fpr = default_fpr;
  if (p.kind == NAY_RANGE && p.range_length == 0) p.range_length = RANGE_LENGTH_DEFAULT;
  if (size->range_keys != 0) p.range_keys = size->range_keys - 1;
  if (size->range_delimiter != NULL) {
    if (strlen(size->range_delimiter) != 1) die(EXIT_TROUBLE, "--range-delimiter: one character");
    p.range_delimiter = (uint8_t)size->range_delimiter[0];
  }
  bool own = format == NULL && p.kind == NAY_AUTO;
  if (size->nbits != 0 && own) p.kind = NAY_BLOOM; /* m, n and k are its numbers */
  return p;
}

/* ---- filters in files ---- */

#define FORMAT_HELP                                                                            \
  "layout of the filter, for layouts without a magic number; a file with the magic number of " \
  "another layout is refused"

static const option_row filter_rows[] = {
    {"format", 0, "NAME", FORMAT_AT(filter_options, format), .help = FORMAT_HELP,
     .part = FILTER_FORMAT},
    {"format", 0, "NAME", OPTION_FILE_FORMAT, 0, .help = FORMAT_HELP, .part = FILTER_FILE_FORMAT},
    {"secret", 0, "FILE", FILE_AT(filter_options, secret),
     .help = "file with the secret key of a keyed filter: 16 bytes or 32 hex digits",
     .part = FILTER_SECRET},
    {0},
};
const option_group filter_group = {filter_rows};

/* ---- keys ---- */

static const option_row keys_rows[] = {
    {"keys", 0, "FILE", FILES_AT(keys_options, files),
     .help = "read keys from FILE; may be repeated", .part = KEYS_FILES},
    {"element", 'e', "KEY", TEXTS_AT(keys_options, args),
     .help = "the key is KEY itself, and no file is read; may be repeated", .part = KEYS_ARGS},
    {"recursive", 0, NULL, FLAG_AT(keys_options, recursive),
     .help = "a key file that is a directory stands for the files below it, in the order of their "
             "names, without hidden and binary ones and links; without any, the working directory",
     .part = KEYS_DIRS},
    {"files-from", 0, "FILE", FILES_AT(keys_options, files_from),
     .help =
         "read the names of key files from FILE, - is standard input: one a line, or each ended "
         "by a zero byte; may be repeated",
     .part = KEYS_DIRS},
    {"with-filename", 'H', NULL, FLAG_AT(keys_options, with_name),
     .help =
         "print the name of its file and a colon before each key; with -c a count for each file",
     .part = KEYS_NAME},
    {"line-number", 0, NULL, FLAG_AT(keys_options, line_number),
     .help = "print the number of its line, in its file, and a colon before each key; of several "
             "files also the name",
     .part = KEYS_LINE_NUMBER},
    {"null", '0', NULL, FLAG_AT(keys_options, null),
     .help = "keys end in a zero byte instead of a newline", .part = KEYS_NULL},
    {"key", 0, "TYPE", OPTION_KEY_TYPE, 0,
     .help =
         "type of the keys (default: as the file states, or text); the same value gives the "
         "same key in every program; u64le: binary integers of 8 bytes; from string on: as other "
         "systems make bytes of them",
     .part = KEYS_TYPE},
    {"trim", 0, NULL, FLAG_AT(keys_options, trim),
     .help = "white space around a key is no part of it; the file states this", .part = KEYS_TYPE},
    {"ignore-case", 'i', NULL, FLAG_AT(keys_options, ignore_case),
     .help = "ASCII only: the letters A to Z of a key are read as a to z, all others stay as they "
             "are; the file states this",
     .part = KEYS_TYPE},
    {"crlf", 0, NULL, FLAG_AT(keys_options, crlf),
     .help = "a carriage return before the newline is not part of the key", .part = KEYS_FRAMING},
    {"length-prefixed", 0, NULL, FLAG_AT(keys_options, length_prefixed),
     .help = "each key follows its length, 4 bytes little-endian", .part = KEYS_FRAMING},
    {"csv", 0, NULL, FLAG_AT(keys_options, csv), .help = "keys are a column of a CSV file",
     .part = KEYS_FRAMING},
    {"tsv", 0, NULL, FLAG_AT(keys_options, tsv),
     .help = "keys are a column of a tab-separated file", .part = KEYS_FRAMING},
    {"jsonl", 0, NULL, FLAG_AT(keys_options, jsonl),
     .help = "keys are fields of JSON lines (NDJSON): -k id, user.id, items[].sku (each element), "
             "or several, id,type",
     .part = KEYS_FRAMING},
    {"field-separator", 'F', "TEXT", TEXT_AT(keys_options, separator),
     .help = "keys are fields of each line, separated by TEXT (\\t: a tab), without quoting",
     .part = KEYS_FRAMING},
    {"column", 'k', "NAME|LIST", TEXT_AT(keys_options, column),
     .help =
         "the column (default 1): a name in the header, or a number from 1; of lines a "
         "list of fields such as 2, 2,5 or 3-4, joined in this order: those between -F's TEXT, or "
         "without -F between runs of blanks, as in awk; with --jsonl a field",
     .part = KEYS_FRAMING},
    {"header", 0, NULL, FLAG_AT(keys_options, header),
     .help = "the first record is a header, also when -k is a number", .part = KEYS_FRAMING},
    {"delimiter", 0, "C", TEXT_AT(keys_options, delimiter),
     .help = "the character between CSV fields (default ,)", .part = KEYS_FRAMING},
    {"skip-empty", 0, NULL, FLAG_AT(keys_options, skip_empty), .help = "ignore empty keys",
     .part = KEYS_FRAMING},
    {"no-decompress", 0, NULL, FLAG_AT(keys_options, no_decompress),
     .help = "read compressed and binary files as they are", .part = KEYS_FRAMING},
    {"on-bad", 0, "WHAT", CHOICE_AT(keys_options, on_bad),
     .help = "what to do with a record that has no key, such as a line with too few fields: fail "
             "ends its file, or a command whose result is a file; report says so, goes on and "
             "gives exit status 2; skip goes on; pass prints it where records are printed; line "
             "takes the whole line as the key:",
     .choices = option_on_bad, .preset = ON_BAD_DEFAULT, .part = KEYS_BAD},
    {"bad-to", 0, "FILE", FILE_AT(keys_options, bad_to),
     .help = "write records without a key to FILE, each after its line number and a colon; FILE "
             "must not exist",
     .part = KEYS_BAD},
    {"max-record", 0, "SIZE", SIZE_AT(keys_options, max_record),
     .help = "a record of more bytes has no key (default: any number is fine)", .part = KEYS_BAD},
    {"stats", 0, NULL, FLAG_AT(keys_options, stats),
     .help = "say on standard error how many lines, keys, bad records and bytes were read, in what "
             "time; with --json as JSON",
     .part = KEYS_BAD},
    {"threads", 'T', "N", NUMBER_AT(keys_options, threads),
     .help = "threads that build a static filter, 0: one for each CPU (default 2); another thread "
             "reads and hashes, unless N is 1",
     .preset = KEYS_THREADS_DEFAULT, .part = KEYS_THREADS},
    {0},
};
const option_group keys_group = {keys_rows};

uint32_t keys_threads(const keys_options *keys) {
  if (keys->threads > 256) die(EXIT_TROUBLE, "-T: at most 256 threads");
  long n = keys->threads != 0 ? (long)keys->threads : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

const char *const *keys_operands(const options *o, const keys_options *keys, int from, size_t *n) {
  *n = (size_t)(o->noperands - from);
  if (keys->args.n > 0 && *n > 0) {
    die(EXIT_TROUBLE, "one operand too many: '%s'; -e gives the keys, each by an -e of its own",
        o->operands[from]);
  }
  return (const char *const *)o->operands + from;
}

/* ---- output ---- */

static const option_row select_rows[] = {
    {"count", 'c', NULL, FLAG_AT(select_options, count),
     .help = "print only how many keys are selected", .part = SELECT_COUNT},
    {"files-with-matches", 'l', NULL, FLAG_AT(select_options, only_names),
     .help = "print only the names of the key files with a selected key", .part = SELECT_NAMES},
    {"max-count", 'm', "COUNT", NUMBER_AT(select_options, max_count),
     .help = "stop reading a file after COUNT selected keys; 0 selects none", .preset = UINT64_MAX,
     .part = SELECT_MAX_COUNT},
    {0},
};
const option_group select_group = {select_rows};

static const option_row window_rows[] = {
    {"window", 0, "TIME", TEXT_AT(window_options, length),
     .help =
         "the filter forgets keys after TIME, such as 90s, 15m, 1h, 7d; -n says how many come in "
         "that time",
     .part = WINDOW_LENGTH},
    {"now", 0, "TIME", TEXT_AT(window_options, now),
     .help = "what time it is, for a window by time: seconds since 1970, 2026-01-31T12:00:00Z, a "
             "date, or now, the clock of this machine"},
    {"time-column", 0, "NAME|N", TEXT_AT(window_options, column),
     .help = "window by time: the column or field with the time of each key, as --now has it",
     .part = WINDOW_COLUMN},
    {"time-unit", 0, "UNIT", CHOICE_AT(window_options, unit),
     .help = "window by time: what numbers in that column count (default s):",
     .choices = option_time_unit, .part = WINDOW_COLUMN},
    {0},
};
const option_group window_group = {window_rows};

static const option_row output_rows[] = {
    {"output", 'o', "FILE", OUTPUT_AT(output_options, path),
     .help = "write FILE, atomically at the end; - is standard output", .part = OUTPUT_PATH},
    {"force", 'f', NULL, FLAG_AT(output_options, force),
     .help = "overwrite FILE; write binary data to a terminal", .part = OUTPUT_FORCE},
    {0},
};
const option_group output_group = {output_rows};

static const option_row report_rows[] = {
    {"json", 0, NULL, FLAG_AT(options, json), .help = "write JSON to standard output",
     .part = REPORT_JSON},
    {"strict", 0, NULL, FLAG_AT(options, strict),
     .help = "exit with status 4 when the expected FPR is more than 10% above what was asked or "
             "planned, which is always said on standard error",
     .part = REPORT_STRICT},
    {"progress", 0, "WHEN", CHOICE_AT(options, progress),
     .help = "show progress on standard error:", .choices = option_when, .part = REPORT_PROGRESS},
    {0},
};
const option_group report_group = {report_rows};

static const option_row every_rows[] = {
    {"quiet", 'q', NULL, FLAG_AT(options, quiet),
     .help = "print only errors, and warnings about an FPR above the promise"},
    {"color", 0, "WHEN", CHOICE_AT(options, color), .help = "use colours:", .choices = option_when},
    {"help", 'h', NULL, FLAG_AT(options, help), .help = "show this text"},
    {0},
};
const option_group every_group = {every_rows};
