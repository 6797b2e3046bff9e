/*
 * options.h - the options of all commands, as tables of rows: what parses them also writes --help,
 * the completions and the OPTIONS of the manual. Options of one command are in its file; those
 * that several share are in options.c, in groups that a command takes as a whole.
 */
#ifndef NAY_OPTIONS_H
#define NAY_OPTIONS_H

#include <nay_key.h>

#include "cli.h"
#include "output.h"
#include "progress.h"

/* text_list: the values of an option that may be repeated. */
typedef struct text_list {
  const char **at;
  size_t n, cap;
} text_list;

/* What options hold whose every value means something, until they are given. */
#define NUMBER_NOT_GIVEN UINT64_MAX
#define CHOICE_NOT_GIVEN 64

#define OPTIONS_MOST 80 /* options of a command */

/* key_style: how keys are stored in files, or the keys themselves. */
typedef struct key_style {
  bool null, crlf, length_prefixed, csv, tsv, header, skip_empty, no_decompress, line_number;
  unsigned type;         /* nay_key_type, or KEY_U64LE */
  bool type_given;       /* by --key, not by a file: described.h */
  const char *stated_by; /* the file that the type is from, or NULL */
  const char *silent;    /* a file that cannot state it, or NULL */
  const char *delimiter;
  const char *separator; /* -F */
  const char *column;    /* a name or a number from 1, with -F a list of them; NULL: the first */
  bool values;           /* a record is a key and its value */
  bool value_is_rest;    /* all that follows the key's column */
  const char *value;     /* its column, with -F its field, or NULL: the second */
  text_list args;        /* keys that are arguments: no file is read then */
} key_style;

#define KEY_U64LE 64u /* binary integers, which have no text: records of 8 bytes, each a key */

struct options {
  const command *command;
  char **operands;
  int noperands;
  unsigned verb; /* which of command->verbs the first operand is */
  bool help;
  bool given[OPTIONS_MOST]; /* by their index in option_at */
  /* the filter to make */
  nay_kind kind;
  uint64_t nkeys, max_keys, nbytes, nbits, probes, fold;
  double fpr, bits_per_key;
  const char *seed, *secret, *meta;
  bool store_key;
  const nay_format *format, *to;
  const char *table_format; /* --format, of a table; NULL: by its magic number */
  /* keys */
  key_style keys;
  text_list key_files, absent_files;
  uint64_t threads;
  /* output */
  const char *out;
  bool force, json, quiet, strict;
  unsigned color, progress;
  bool no_progress;
  /* of single commands */
  bool invert, count, annotate, any, all, which; /* check, uniq */
  uint64_t max_count;                            /* UINT64_MAX: no limit */
  bool create;                                   /* add */
  uint64_t kinds;                                /* bench: a bit for each, 0: all */
  uint64_t formats;                              /* plan, bench: a bit for each of nay_format_at */
  bool prom;                                     /* info */
  bool list;                                     /* extract */
  uint64_t random;                               /* verify */
  double expect_fpr, max_fpr;                    /* verify; merge, fold */
  bool intersect;                                /* merge */
  uint64_t factor;                               /* fold */
  bool exact, repeated;                          /* uniq */
  const char *window, *state;                    /* uniq */
  unsigned need;                                 /* plan: a bit for each choice */
  bool no_measure;                               /* plan */
  bool lsm, tiered, lazy_leveled, rocksdb;       /* plan, and the next two lines */
  uint64_t ratio, memtable, flushes, table_keys;
  const char *reads, *absent, *sweep;
  const char *floor;               /* bench */
  bool hash;                       /* bench */
  bool as_csv;                     /* bench */
  bool svg, measure;               /* plot */
  bool markdown;                   /* man */
  uint64_t value_bits, check_bits; /* map */
  /* tables */
  unsigned table_filter, compress; /* as in tables.h; CHOICE_NOT_GIVEN: no --filter */
  uint64_t prefix_length, block_bytes, target_bytes;
  uint64_t sequence, snapshot; /* NUMBER_NOT_GIVEN */
  text_list older;
  const char *prefix_delimiter, *from, *upto, *prefix, *comparator;
  bool reverse;
  bool sort, bottom, versions, no_values, verify_table, properties;
};

typedef enum option_type {
  OPTION_FLAG,
  OPTION_COUNT,  /* at least 1 */
  OPTION_NUMBER, /* a count that may be 0 */
  OPTION_SIZE,
  OPTION_FPR,
  OPTION_REAL,
  OPTION_TEXT,
  OPTION_FILE,
  OPTION_FILES, /* repeatable */
  OPTION_TEXTS, /* repeatable */
  OPTION_KIND,
  OPTION_KIND_ADDS, /* one that takes adds; the help offers no other */
  OPTION_KINDS,     /* several, separated by commas */
  OPTION_FORMAT,
  OPTION_FORMATS, /* several of other systems, separated by commas, or all */
  OPTION_TABLE_FORMAT,
  OPTION_KEY_TYPE,
  OPTION_CHOICE,
  OPTION_CHOICES /* several, separated by commas; may be repeated */
} option_type;

struct option_row {
  const char *name;  /* after --; NULL ends a table */
  char letter;       /* after -, or 0 */
  const char *value; /* NULL for flags */
  option_type type;
  size_t at; /* offset in options */
  const char *help;
  const char *const
      *choices;      /* ends in NULL; the value is the index, of OPTION_CHOICES a bit for each */
  unsigned groups;   /* shared: TAKES_..., 0 for all commands; 0 in a table of one command */
  const char *verbs; /* those it is for, "build, compact"; NULL: all */
};

/* AT: where an option goes, for the tables of rows. */
#define AT(field) offsetof(options, field)

/*
 * Rows that several tables have: the shared one for whole commands, and those of commands whose
 * verbs do not all take them.
 */
#define ROW_NULL(groups, verbs)                                                                    \
  {                                                                                                \
    "null", '0', NULL, OPTION_FLAG, AT(keys.null), "keys end in a zero byte instead of a newline", \
        NULL, groups, verbs                                                                        \
  }
#define ROW_KEY_TYPE(groups, verbs)                                                          \
  {                                                                                          \
    "key", 0, "TYPE", OPTION_KEY_TYPE, AT(keys.type),                                        \
        "type of the keys (default: as the file states, or text); the same value gives the " \
        "same key in every program; u64le: binary integers of 8 bytes",                      \
        NULL, groups, verbs                                                                  \
  }
#define ROWS_FRAMING(groups, verbs)                                                                 \
  {"crlf",        0,                                                                                \
   NULL,          OPTION_FLAG,                                                                      \
   AT(keys.crlf), "a carriage return before the newline is not part of the key",                    \
   NULL,          groups,                                                                           \
   verbs},                                                                                          \
      {"length-prefixed",                                                                           \
       0,                                                                                           \
       NULL,                                                                                        \
       OPTION_FLAG,                                                                                 \
       AT(keys.length_prefixed),                                                                    \
       "each key follows its length, 4 bytes little-endian",                                        \
       NULL,                                                                                        \
       groups,                                                                                      \
       verbs},                                                                                      \
      {"csv", 0,      NULL, OPTION_FLAG, AT(keys.csv), "keys are a column of a CSV file",           \
       NULL,  groups, verbs},                                                                       \
      {"tsv", 0,      NULL, OPTION_FLAG, AT(keys.tsv), "keys are a column of a tab-separated file", \
       NULL,  groups, verbs},                                                                       \
      {"field-separator",                                                                           \
       'F',                                                                                         \
       "TEXT",                                                                                      \
       OPTION_TEXT,                                                                                 \
       AT(keys.separator),                                                                          \
       "keys are fields of each line, separated by TEXT (\\t: a tab), without quoting",             \
       NULL,                                                                                        \
       groups,                                                                                      \
       verbs},                                                                                      \
      {"column",                                                                                    \
       'k',                                                                                         \
       "NAME|LIST",                                                                                 \
       OPTION_TEXT,                                                                                 \
       AT(keys.column),                                                                             \
       "the column (default 1): a name in the header, or a number from 1; with -F fields such as "  \
       "2, 2,5 or "                                                                                 \
       "3-4, joined by TEXT in this order",                                                         \
       NULL,                                                                                        \
       groups,                                                                                      \
       verbs},                                                                                      \
      {"header",                                                                                    \
       0,                                                                                           \
       NULL,                                                                                        \
       OPTION_FLAG,                                                                                 \
       AT(keys.header),                                                                             \
       "the first record is a header, also when -k is a number",                                    \
       NULL,                                                                                        \
       groups,                                                                                      \
       verbs},                                                                                      \
      {"delimiter",                                                                                 \
       0,                                                                                           \
       "C",                                                                                         \
       OPTION_TEXT,                                                                                 \
       AT(keys.delimiter),                                                                          \
       "the character between CSV fields (default ,)",                                              \
       NULL,                                                                                        \
       groups,                                                                                      \
       verbs},                                                                                      \
      {"skip-empty",        0,    NULL,   OPTION_FLAG, AT(keys.skip_empty),                         \
       "ignore empty keys", NULL, groups, verbs},                                                   \
  {                                                                                                 \
    "no-decompress", 0, NULL, OPTION_FLAG, AT(keys.no_decompress),                                  \
        "read compressed and binary files as they are", NULL, groups, verbs                         \
  }
#define ROW_THREADS(groups, verbs)                                                             \
  {                                                                                            \
    "threads", 'T', "N", OPTION_NUMBER, AT(threads),                                           \
        "threads that build a static filter, 0: one for each CPU (default 2); another thread " \
        "reads and hashes, unless N is 1",                                                     \
        NULL, groups, verbs                                                                    \
  }
#define ROW_PROGRESS(groups, verbs)                                    \
  {                                                                    \
    "progress", 0, "WHEN", OPTION_CHOICE, AT(progress),                \
        "show progress on standard error:", option_when, groups, verbs \
  }
#define ROW_FORCE(groups, verbs)                                                                   \
  {                                                                                                \
    "force", 'f', NULL, OPTION_FLAG, AT(force), "overwrite FILE; write binary data to a terminal", \
        NULL, groups, verbs                                                                        \
  }
#define ROW_FORMATS(verbs, help) \
  { "format", 0, "LAYOUT[,LAYOUT...]|all", OPTION_FORMATS, AT(formats), help, NULL, 0, verbs }
#define ROW_MAX_KEYS                                                                            \
  {                                                                                             \
    "max-keys", 0, "COUNT", OPTION_COUNT, AT(max_keys),                                         \
        "cuckoo: the filter may grow from -n keys to COUNT (default: it stays at -n)", NULL, 0, \
        NULL                                                                                    \
  }
#define ROW_TYPE_ADDS(help) \
  { "type", 't', "KIND", OPTION_KIND_ADDS, AT(kind), help, NULL, 0, NULL }
#define ROW_INVERT(help, verbs) \
  { "invert-match", 'v', NULL, OPTION_FLAG, AT(invert), help, NULL, 0, verbs }
#define ROW_MAX_COUNT(help, groups, verbs) \
  { "max-count", 0, "COUNT", OPTION_NUMBER, AT(max_count), help, NULL, groups, verbs }
#define ROW_LINE_NUMBER(groups, verbs)                                                        \
  {                                                                                           \
    "line-number", 0, NULL, OPTION_FLAG, AT(keys.line_number),                                \
        "print the number of its line, in its file, and a colon before each key; of several " \
        "files also the name",                                                                \
        NULL, groups, verbs                                                                   \
  }

extern const char *const option_when[]; /* auto, always, never */

/*
 * option_at: the i-th option of a command, its own ones first; NULL past the last. A shared one is
 * left out when the command has one of the same name. Without a command: the shared ones.
 */
const option_row *option_at(const command *c, size_t i);

/* option_is_taken: whether the command has an option of this name. */
bool option_is_taken(const command *c, const char *name);

/*
 * options_refuse: exits when one of the options is given, "type, nkeys", that would do nothing
 * here; `where` is what the user gave: "plot fpr FILTER".
 */
void options_refuse(const options *o, const char *names, const char *where);

/* option_help: its help text, after the verbs that it is for, with the values it takes if wanted.
 */
#define OPTION_HELP 512
const char *option_help(const option_row *row, bool values, char text[OPTION_HELP]);

/* options_parse: fills *o, or exits with status 2 and a correction. argv[0] is the command.
 */
void options_parse(const command *c, int argc, char **argv, options *o);

/* options_append: another value of a list. options_free: the memory of all lists. */
void options_append(text_list *list, const char *text);
void options_free(options *o);

/*
 * options_key_files: the key files among the operands, from the given one on; exits when keys are
 * arguments too (-e): then nothing is read.
 */
const char *const *options_key_files(const options *o, int from, size_t *n);

/* options_params: what the sizing options say; the default FPR when none is given. */
nay_params options_params(const options *o, double default_fpr);

/* options_threads: the value of -T; 0 stands for the number of CPUs. At most 256. */
uint32_t options_threads(const options *o);

/* options_row_title: "-n, --nkeys=COUNT". */
#define ROW_TITLE 64
const char *options_row_title(const option_row *row, char title[ROW_TITLE]);

/* options_values: the values an option takes, for help and completion; fills list, ends in NULL. */
#define OPTION_VALUES 64
void options_values(const option_row *row, const char *list[OPTION_VALUES]);

/*
 * option_is_for: whether a verb takes it. option_is_file: its value is a file. option_is_list: it
 * takes several of its values, separated by commas. option_repeats: it may be given again.
 */
bool option_is_for(const option_row *row, const char *verb);
bool option_is_file(const option_row *row);
bool option_is_list(const option_row *row);
bool option_repeats(const option_row *row);

/* options_layout: the i-th layout of --format that is chosen, of OPTION_FORMATS; NULL past the
 * last.
 */
const nay_format *options_layout(const options *o, size_t i);

/* is_filter_kind: a family of filters; static maps have a command of their own. auto is one, too.
 */
bool is_filter_kind(nay_kind kind);

/* kind_names and format_names: those of this library, ended by NULL. */
void kind_names(const char *list[OPTION_VALUES]);
void format_names(const char *list[OPTION_VALUES]);

#endif /* NAY_OPTIONS_H */
