/*
 * options.h - the options of all commands, as tables of rows: what parses them also writes --help,
 * the completions and the OPTIONS of the manual. Options of one command are in its file; those
 * that several share are in options.c, in groups that a command takes as a whole.
 */
#ifndef NAY_OPTIONS_H
#define NAY_OPTIONS_H

#include "cli.h"
#include "output.h"
#include "progress.h"

typedef enum key_encoding { KEY_TEXT, KEY_HEX, KEY_B64, KEY_U64, KEY_U64LE } key_encoding;

/* key_style: how keys are stored in files. */
typedef struct key_style {
  bool null, crlf, length_prefixed, csv, tsv, header, skip_empty, no_decompress;
  unsigned encoding; /* key_encoding */
  const char *delimiter;
  const char *column; /* a name or a number from 1; NULL: the first */
} key_style;

#define OPTIONS_FILES 64
typedef struct file_list {
  const char *at[OPTIONS_FILES];
  unsigned n;
} file_list;

struct options {
  const command *command;
  char **operands;
  int noperands;
  unsigned verb; /* which of command->verbs the first operand is */
  bool help;
  /* the filter to make */
  nay_kind kind;
  uint64_t nkeys, nbytes, probes, fold;
  double fpr, bits_per_key;
  const char *seed, *secret, *meta;
  bool store_key;
  const nay_format *format, *to;
  /* keys */
  key_style keys;
  file_list key_files, absent_files;
  uint64_t threads;
  /* output */
  const char *out;
  bool force, json, quiet, strict;
  unsigned color, progress;
  bool no_progress;
  /* of single commands */
  bool invert, count, annotate, any, all, which; /* check, uniq */
  bool prom;                                     /* info */
  bool list;                                     /* extract */
  uint64_t random;                               /* verify */
  double expect_fpr, max_fpr;                    /* verify; merge, fold */
  bool intersect;                                /* merge */
  uint64_t factor;                               /* fold */
  bool exact, repeated;                          /* uniq */
  const char *window, *state;                    /* uniq */
  const char *need;                              /* plan */
  bool no_measure;                               /* plan */
  const char *floor;                             /* bench */
  bool as_csv;                                   /* bench */
  bool svg;                                      /* plot */
  bool markdown;                                 /* man */
  /* tables */
  unsigned table_filter, compress; /* as in tables.h */
  uint64_t prefix_length, block_bytes, sequence, snapshot, limit;
  const char *prefix_delimiter, *from, *upto, *prefix;
  bool sort, bottom, versions, no_values, verify_table;
};

typedef enum option_type {
  OPTION_FLAG,
  OPTION_COUNT,
  OPTION_SIZE,
  OPTION_FPR,
  OPTION_REAL,
  OPTION_TEXT,
  OPTION_FILE,
  OPTION_FILES,
  OPTION_KIND,
  OPTION_FORMAT,
  OPTION_CHOICE
} option_type;

struct option_row {
  const char *name;  /* after --; NULL ends a table */
  char letter;       /* after -, or 0 */
  const char *value; /* NULL for flags */
  option_type type;
  size_t at; /* offset in options */
  const char *help;
  const char *const *choices; /* OPTION_CHOICE: ends in NULL; the value is the index */
  unsigned groups;   /* shared: TAKES_..., 0 for all commands; 0 in a table of one command */
  const char *verbs; /* those it is for, "build, compact"; NULL: all */
};

/* AT: where an option goes, for the tables of rows. */
#define AT(field) offsetof(options, field)

/*
 * option_at: the i-th option of a command, its own ones first; NULL past the last. A shared one is
 * left out when the command has one of the same name. Without a command: the shared ones.
 */
const option_row *option_at(const command *c, size_t i);

/* option_help: its help text, after the verbs that it is for, with the values it takes if wanted.
 */
#define OPTION_HELP 512
const char *option_help(const option_row *row, bool values, char text[OPTION_HELP]);

/* options_parse: fills *o, or exits with status 2 and a correction. argv[0] is the command.
 */
void options_parse(const command *c, int argc, char **argv, options *o);

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

/* kind_names and format_names: those of this library, ended by NULL. */
void kind_names(const char *list[OPTION_VALUES]);
void format_names(const char *list[OPTION_VALUES]);

#endif /* NAY_OPTIONS_H */
