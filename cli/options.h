/*
 * options.h - how a command declares its options, and how it gets their values.
 *
 * A command has a struct of its own, in its own file, and a table of rows that fill it:
 *
 *   typedef struct add_options {
 *     options common;          first: what every command has
 *     keys_options keys;       a group, see option_groups.h
 *     bool create;             an option of its own
 *   } add_options;
 *
 *   static const option_row add_rows[] = {
 *       {"create", 0, NULL, FLAG_AT(add_options, create), .help = "make the filter ..."},
 *       {0},
 *   };
 *   static const option_use add_uses[] = {TAKES(add_options, keys, KEYS_STYLE), {0}};
 *
 * Parsing, --help, the completions, "did you mean" and the OPTIONS of the manual all go over these
 * tables, so that a row is everything that a new option needs.
 */
#ifndef NAY_OPTIONS_H
#define NAY_OPTIONS_H

#include <nay_key.h>

#include "cli.h"
#include "output.h"
#include "progress.h"

#define OPTIONS_MOST 80 /* options of a command */

/* options: what every command has. It is the first member of the command's own struct. */
struct options {
  const command *command;
  char **operands;
  int noperands;
  unsigned verb;            /* which of command->verbs the first operand is */
  bool given[OPTIONS_MOST]; /* by their index in option_table */
  bool help, quiet;
  unsigned color;
  bool json, strict; /* false, and progress auto, unless the command takes them */
  unsigned progress;
};

/* text_list: the values of an option that may be repeated. */
typedef struct text_list {
  const char **at;
  size_t n, cap;
} text_list;

/* What options hold whose every value means something, until they are given: the preset of a row.
 */
#define NUMBER_NOT_GIVEN UINT64_MAX
#define CHOICE_NOT_GIVEN 64

typedef enum option_type {
  OPTION_FLAG,
  OPTION_COUNT,  /* at least 1 */
  OPTION_NUMBER, /* a count that may be 0 */
  OPTION_SIZE,
  OPTION_FPR,
  OPTION_REAL,
  OPTION_TEXT,
  OPTION_FILE,   /* that is read */
  OPTION_OUTPUT, /* that is written: the result */
  OPTION_FILES,  /* repeatable */
  OPTION_TEXTS,  /* repeatable */
  OPTION_KIND,
  OPTION_KIND_ADDS, /* one that takes adds; the help offers no other */
  OPTION_KINDS,     /* several, separated by commas; a bit for each, 0: all */
  OPTION_FORMAT,
  OPTION_FORMATS, /* several of other systems, separated by commas, or all; a bit for each */
  OPTION_TABLE_FORMAT,
  OPTION_FILE_FORMAT, /* of a filter or of a table: fills a filter_options */
  OPTION_KEY_TYPE,    /* fills a keys_options */
  OPTION_CHOICE,      /* the index of the choice */
  OPTION_CHOICES      /* several, separated by commas; may be repeated; a bit for each */
} option_type;

struct option_row {
  const char *name;  /* after --; NULL ends a table */
  char letter;       /* after -, or 0 */
  const char *value; /* NULL for flags */
  option_type type;
  size_t at; /* offset in the command's struct; in a group's table in the group's */
  const char *help;
  const char *const *choices; /* ends in NULL */
  const char *verbs;          /* those it is for, "build, compact"; NULL: all */
  uint64_t preset;            /* of numbers and choices: the value until it is given */
  unsigned part;              /* of a group: 0 or one bit, see option_use */
};

/* FLAG_AT and so on: the type of a row and the field that it fills, which must be of that type. */
#define OPTION_AT(s, field, type) _Generic(((s *)0)->field, type : offsetof(s, field))
#define FLAG_AT(s, field) OPTION_FLAG, OPTION_AT(s, field, bool)
#define COUNT_AT(s, field) OPTION_COUNT, OPTION_AT(s, field, uint64_t)
#define NUMBER_AT(s, field) OPTION_NUMBER, OPTION_AT(s, field, uint64_t)
#define SIZE_AT(s, field) OPTION_SIZE, OPTION_AT(s, field, uint64_t)
#define FPR_AT(s, field) OPTION_FPR, OPTION_AT(s, field, double)
#define REAL_AT(s, field) OPTION_REAL, OPTION_AT(s, field, double)
#define TEXT_AT(s, field) OPTION_TEXT, OPTION_AT(s, field, const char *)
#define FILE_AT(s, field) OPTION_FILE, OPTION_AT(s, field, const char *)
#define OUTPUT_AT(s, field) OPTION_OUTPUT, OPTION_AT(s, field, const char *)
#define FILES_AT(s, field) OPTION_FILES, OPTION_AT(s, field, text_list)
#define TEXTS_AT(s, field) OPTION_TEXTS, OPTION_AT(s, field, text_list)
#define KIND_AT(s, field) OPTION_KIND, OPTION_AT(s, field, nay_kind)
#define KIND_ADDS_AT(s, field) OPTION_KIND_ADDS, OPTION_AT(s, field, nay_kind)
#define KINDS_AT(s, field) OPTION_KINDS, OPTION_AT(s, field, uint64_t)
#define FORMAT_AT(s, field) OPTION_FORMAT, OPTION_AT(s, field, const nay_format *)
#define FORMATS_AT(s, field) OPTION_FORMATS, OPTION_AT(s, field, uint64_t)
#define TABLE_FORMAT_AT(s, field) OPTION_TABLE_FORMAT, OPTION_AT(s, field, const char *)
#define FILE_FORMAT_AT(s, field) OPTION_FILE_FORMAT, OPTION_AT(s, field, filter_options)
#define KEY_TYPE_AT(s, field) OPTION_KEY_TYPE, OPTION_AT(s, field, keys_options)
#define CHOICE_AT(s, field) OPTION_CHOICE, OPTION_AT(s, field, unsigned)
#define CHOICES_AT(s, field) OPTION_CHOICES, OPTION_AT(s, field, unsigned)

/* option_group: a table that several commands share, in option_groups.c. */
typedef struct option_group {
  const option_row *rows;
} option_group;

/* option_use: a group that a command takes, after its own options. A row of the command's own table
 * replaces that of the same name. */
struct option_use {
  const option_group *group; /* NULL ends a table */
  size_t at;                 /* offset of the group's struct in the command's */
  unsigned parts;            /* which rows; those of part 0 always */
  const char *verbs;         /* of the command's verbs, those that take it; NULL: all */
};

/*
 * TAKES: the group `name`, whose values are in the member of that name. TAKES_FOR: for some of the
 * verbs. REPORTS: of the options that `options` has for all commands, those that only some take.
 */
#define TAKES_FOR(s, name, parts, verbs) \
  { &name##_group, OPTION_AT(s, name, name##_options), parts, verbs }
#define TAKES(s, name, parts) TAKES_FOR(s, name, parts, NULL)
#define REPORTS_FOR(parts, verbs) \
  { &report_group, 0, parts, verbs }
#define REPORTS(parts) REPORTS_FOR(parts, NULL)

#include "option_groups.h" /* needs the rows, and every command needs it */

/* option_table: the options of a command: its own, those of its groups, and those of every command.
 * Offsets are in the command's struct. */
typedef struct option_table {
  option_row rows[OPTIONS_MOST];
  size_t n;
} option_table;
void option_table_make(const command *c, option_table *t);

/* option_is_taken: whether the command has an option of this name. */
bool option_is_taken(const command *c, const char *name);

/*
 * options_refuse: exits when one of the options is given, "type, nkeys", that would do nothing
 * here; `where` is what the user gave: "plot fpr FILTER".
 */
void options_refuse(const options *o, const char *names, const char *where);

/* option_help: its help text, after the verbs that it is for, with the values it takes if wanted.
 */
#define OPTION_HELP 2048
const char *option_help(const option_row *row, bool values, char text[OPTION_HELP]);

/* options_new: the command's struct, filled, or exits with status 2 and a correction. argv[0] is
 * the command. options_free releases it and its lists. */
options *options_new(const command *c, int argc, char **argv);
void options_free(options *o);

/* options_append: another value of a list. */
void options_append(text_list *list, const char *text);

/* options_row_title: "-n, --nkeys=COUNT". */
#define ROW_TITLE 64
const char *options_row_title(const option_row *row, char title[ROW_TITLE]);

/* options_values: the values an option takes, for help and completion; fills list, ends in NULL. */
#define OPTION_VALUES 64
void options_values(const option_row *row, const char *list[OPTION_VALUES]);

/*
 * option_is_for: whether a verb takes it. option_is_file: its value is a file. option_is_list: it
 * takes several of its values, separated by commas. option_repeats: it may be given again.
 * option_is_layout: its values are the layouts of filters.
 */
bool option_is_for(const option_row *row, const char *verb);
bool option_is_file(const option_row *row);
bool option_is_list(const option_row *row);
bool option_repeats(const option_row *row);
bool option_is_layout(const option_row *row);

/* layout_at: the i-th layout that is chosen, of OPTION_FORMATS; NULL past the last. */
const nay_format *layout_at(uint64_t formats, size_t i);

/* is_filter_kind: a family of filters; static maps have a command of their own. auto is one, too.
 */
bool is_filter_kind(nay_kind kind);

/* kind_names and format_names: those of this library, ended by NULL. */
void kind_names(const char *list[OPTION_VALUES]);
void format_names(const char *list[OPTION_VALUES]);

#endif /* NAY_OPTIONS_H */
