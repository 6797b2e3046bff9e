/* options.c - the options that commands share, and getopt_long over a command's tables. */
#include "options.h"

#include <nay_sst_foreign.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"

const char *const option_when[] = {"auto", "always", "never", NULL};

static const option_row shared[] = {
    /* the filter to build */
    {"type", 't', "KIND", OPTION_KIND, AT(kind), "family of the filter (default auto)", NULL,
     TAKES_FAMILY, NULL},
    {"nkeys", 'n', "COUNT", OPTION_COUNT, AT(nkeys),
     "number of distinct keys to plan for: 1000, 1e6, 10M", NULL, TAKES_SIZE, NULL},
    {"fpr", 'p', "FPR", OPTION_FPR, AT(fpr),
     "false-positive rate (FPR) once all planned keys are added: 0.01, 1%, 1/256", NULL,
     TAKES_FAMILY, NULL},
    {"bits", 'b', "BITS", OPTION_REAL, AT(bits_per_key), "bits per key, instead of an FPR", NULL,
     TAKES_FAMILY, NULL},
    {"memory", 'M', "SIZE", OPTION_SIZE, AT(nbytes),
     "memory budget of the filter, instead of an FPR: 10M, 1Gi", NULL, TAKES_SIZE, NULL},
    {"nbits", 0, "COUNT", OPTION_COUNT, AT(nbits),
     "exactly COUNT bits, instead of an FPR; with -n and --probes a Bloom filter is given by the "
     "m, n "
     "and k of the literature (default type: bloom)",
     NULL, TAKES_SHAPE, NULL},
    {"probes", 0, "K", OPTION_COUNT, AT(probes), "probes per key (default: the best for the size)",
     NULL, TAKES_SHAPE, NULL},
    {"fold", 0, "N", OPTION_COUNT, AT(fold), "make the size divisible by N, for nay fold", NULL,
     TAKES_SHAPE, NULL},
    /* filters in files */
    {"format", 0, "NAME", OPTION_FORMAT, AT(format),
     "layout of the filter, for layouts without a magic number; a file with the magic number of "
     "another layout is refused",
     NULL, TAKES_FILTER, NULL},
    {"secret", 0, "FILE", OPTION_FILE, AT(secret),
     "file with the secret key of a keyed filter: 16 bytes or 32 hex digits", NULL, TAKES_FILTER,
     NULL},
    /* keys */
    {"count", 'c', NULL, OPTION_FLAG, AT(count), "print only how many keys are selected", NULL,
     TAKES_COUNT, NULL},
    {"keys", 0, "FILE", OPTION_FILES, AT(key_files), "read keys from FILE; may be repeated", NULL,
     TAKES_KEY_FILES, NULL},
    {"element", 'e', "KEY", OPTION_TEXTS, AT(keys.args),
     "the key is KEY itself, and no file is read; may be repeated", NULL, TAKES_KEY_ARGS, NULL},
    ROW_MAX_COUNT("stop reading a file after COUNT selected keys; 0 selects none", TAKES_SELECT,
                  NULL),
    ROW_LINE_NUMBER(TAKES_SELECT, NULL),
    ROW_NULL(TAKES_KEYS, NULL),
    ROW_KEY_TYPE(TAKES_KEYS, NULL),
    ROWS_FRAMING(TAKES_KEYS, NULL),
    /* output */
    {"output", 'o', "FILE", OPTION_FILE, AT(out),
     "write FILE, atomically at the end; - is standard output", NULL, TAKES_OUTPUT, NULL},
    ROW_FORCE(TAKES_OUTPUT, NULL),
    {"json", 0, NULL, OPTION_FLAG, AT(json), "write JSON to standard output", NULL, TAKES_JSON,
     NULL},
    ROW_THREADS(TAKES_KEYS, NULL),
    {"quiet", 'q', NULL, OPTION_FLAG, AT(quiet),
     "print only errors, and warnings about an FPR above the promise", NULL, 0, NULL},
    {"strict", 0, NULL, OPTION_FLAG, AT(strict),
     "exit with status 4 when the expected FPR is more than 10% above what was asked or planned, "
     "which is always said on standard error",
     NULL, TAKES_STRICT, NULL},
    {"color", 0, "WHEN", OPTION_CHOICE, AT(color), "use colours:", option_when, 0, NULL},
    ROW_PROGRESS(TAKES_KEYS | TAKES_PROGRESS, NULL),
    {"help", 'h', NULL, OPTION_FLAG, AT(help), "show this text", NULL, 0, NULL},
};
#define NSHARED (sizeof shared / sizeof shared[0])

static bool option_is_replaced(const command *c, const char *name) {
  for (const option_row *own = c->own; own != NULL && own->name != NULL; own++) {
    if (strcmp(own->name, name) == 0) return true;
  }
  return false;
}

const option_row *option_at(const command *c, size_t i) {
  if (c == NULL) return i < NSHARED ? &shared[i] : NULL;
  for (const option_row *own = c->own; own != NULL && own->name != NULL; own++) {
    if (i-- == 0) return own;
  }
  for (const option_row *row = shared; row < shared + NSHARED; row++) {
    bool taken = row->groups == 0 || (row->groups & c->takes) != 0;
    if (taken && !option_is_replaced(c, row->name) && i-- == 0) return row;
  }
  return NULL;
}

bool option_is_taken(const command *c, const char *name) {
  const option_row *row;
  for (size_t i = 0; (row = option_at(c, i)) != NULL; i++) {
    if (strcmp(row->name, name) == 0) return true;
  }
  return false;
}

const char *option_help(const option_row *row, bool values, char text[OPTION_HELP]) {
  const char *list[OPTION_VALUES];
  int used = snprintf(text, OPTION_HELP, "%s%s%s", row->verbs != NULL ? row->verbs : "",
                      row->verbs != NULL ? ": " : "", row->help);
  options_values(row, list);
  for (size_t i = 0; values && list[i] != NULL && used < OPTION_HELP; i++) {
    const char *before = i > 0 ? ", " : row->choices != NULL ? " " : ": ";
    used += snprintf(text + used, (size_t)(OPTION_HELP - used), "%s%s", before, list[i]);
  }
  return text;
}

const char *options_row_title(const option_row *row, char title[ROW_TITLE]) {
  char letter[5] = "";
  if (row->letter != 0) snprintf(letter, sizeof letter, "-%c, ", row->letter);
  snprintf(title, ROW_TITLE, "%s--%s%s%s", letter, row->name, row->value != NULL ? "=" : "",
           row->value != NULL ? row->value : "");
  return title;
}

/* ---- parsing ---- */

_Noreturn static void option_bad_word(const option_row *row, const char *value) {
  const char *list[OPTION_VALUES];
  char all[512] = "";
  options_values(row, list);
  for (size_t i = 0; list[i] != NULL; i++) {
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", list[i]);
  }
  const char *near = nearest_word(value, list);
  if (near != NULL) {
    die(EXIT_TROUBLE, "--%s: '%s' is not known; did you mean %s?", row->name, value, near);
  }
  die(EXIT_TROUBLE, "--%s: '%s' is not one of %s", row->name, value, all);
}

/* A bit for each kind; auto alone is all of them, which is 0. */
static uint64_t option_kinds(const option_row *row, const char *value) {
  uint64_t kinds = 0;
  if (strcmp(value, "auto") == 0) return 0;
  for (const char *at = value; at != NULL;) {
    char name[64];
    nay_kind kind;
    const char *comma = strchr(at, ',');
    size_t len = comma != NULL ? (size_t)(comma - at) : strlen(at);
    snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), at);
    if (nay_kind_parse(name, &kind) != NAY_OK) option_bad_word(row, name);
    if (kind == NAY_AUTO)
      die(EXIT_TROUBLE, "--%s: auto stands for all and stands alone", row->name);
    kinds |= (uint64_t)1 << kind;
    at = comma != NULL ? comma + 1 : NULL;
  }
  return kinds;
}

/* A bit for each of nay_format_at. */
static uint64_t option_formats(const option_row *row, const char *value) {
  const char *list[OPTION_VALUES];
  uint64_t formats = 0;
  bool all = strcmp(value, "all") == 0;
  options_values(row, list);
  for (const char *at = value; at != NULL;) {
    size_t len = strcspn(at, ","), found = 0;
    for (size_t i = 0; list[i] != NULL; i++) {
      if (!all && (strlen(list[i]) != len || strncmp(at, list[i], len) != 0)) continue;
      for (size_t f = 0; nay_format_at(f) != NULL; f++) {
        if (nay_format_at(f) == nay_format_find(list[i])) formats |= (uint64_t)1 << f;
      }
      found++;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), at);
    if (found == 0) option_bad_word(row, name);
    at = at[len] == ',' ? at + len + 1 : NULL;
  }
  return formats;
}

static unsigned option_key_type(const option_row *row, const char *value) {
  nay_key_type type = NAY_KEY_TEXT;
  if (strcmp(value, "u64le") == 0) return KEY_U64LE;
  bool known = strcmp(value, "bytes") == 0 || nay_key_type_parse(value, &type) == NAY_OK;
  if (!known) option_bad_word(row, value);
  return (unsigned)type;
}

/* The index of a choice; an error says what was meant. */
static unsigned option_choice(const option_row *row, const char *value) {
  unsigned i = 0;
  while (row->choices[i] != NULL && strcmp(row->choices[i], value) != 0) i++;
  if (row->choices[i] == NULL) option_bad_word(row, value);
  return i;
}

static void option_set_list(const option_row *row, const char *list, unsigned *bits) {
  while (list != NULL) {
    char word[32];
    size_t len = strcspn(list, ",");
    snprintf(word, sizeof word, "%.*s", (int)(len < 31 ? len : 31), list);
    *bits |= 1u << option_choice(row, word);
    list = list[len] == ',' ? list + len + 1 : NULL;
  }
}

static void option_set_word(const option_row *row, const char *value, void *at) {
  switch (row->type) {
    case OPTION_KIND:
    case OPTION_KIND_ADDS:
      if (nay_kind_parse(value, at) != NAY_OK) option_bad_word(row, value);
      break;
    case OPTION_FORMAT: {
      const nay_format *format = nay_format_find(value);
      if (format == NULL) option_bad_word(row, value);
      *(const nay_format **)at = format;
      break;
    }
    case OPTION_TABLE_FORMAT:
      if (strcmp(value, "nori") == 0)
        value = "nori-sst"; /* there is no filter to confuse it with */
      if (strcmp(value, "mini-lsm") == 0) value = "mini-lsm-sst";
      if (nay_sst_foreign_about(value) == NULL) option_bad_word(row, value);
      *(const char **)at = value;
      break;
    case OPTION_KINDS: *(uint64_t *)at = option_kinds(row, value); break;
    case OPTION_FORMATS: *(uint64_t *)at = option_formats(row, value); break;
    case OPTION_KEY_TYPE: *(unsigned *)at = option_key_type(row, value); break;
    default: *(unsigned *)at = option_choice(row, value); break;
  }
}

void options_append(text_list *list, const char *text) {
  if (list->n == list->cap) {
    list->cap = list->cap != 0 ? 2 * list->cap : 16;
    list->at = must_grow(list->at, list->cap * sizeof *list->at);
  }
  list->at[list->n++] = text;
}

void options_free(options *o) {
  free(o->key_files.at);
  free(o->absent_files.at);
  free(o->keys.args.at);
  free(o->older.at);
}

static const char *option_set_number(const option_row *row, const char *value, void *at) {
  bool ok = true;
  switch (row->type) {
    case OPTION_COUNT:
      ok = number_count(value, at) && *(uint64_t *)at != 0;
      return ok ? NULL : "a count such as 1000, 1e6 or 10M";
    case OPTION_NUMBER:
      ok = number_count(value, at) && *(uint64_t *)at != NUMBER_NOT_GIVEN;
      return ok ? NULL : "a count such as 0, 1000 or 1e6";
    case OPTION_SIZE:
      ok = number_size(value, at) && *(uint64_t *)at != 0;
      return ok ? NULL : "a size such as 4096, 10M or 1Gi";
    case OPTION_FPR:
      ok = number_fpr(value, at);
      return ok ? NULL : "a false-positive rate between 0 and 1 such as 0.01, 1% or 1/256";
    default:
      ok = number_real(value, at) && *(double *)at > 0;
      return ok ? NULL : "a number such as 10 or 9.6";
  }
}

static void option_set(const option_row *row, const char *value, options *o) {
  void *at = (char *)o + row->at;
  const char *form = NULL;
  switch (row->type) {
    case OPTION_FLAG: *(bool *)at = true; break;
    case OPTION_TEXT:
    case OPTION_FILE: *(const char **)at = value; break;
    case OPTION_FILES:
    case OPTION_TEXTS: options_append(at, value); break;
    case OPTION_FORMAT:
      if ((o->command->takes & TAKES_TABLES) != 0 && nay_sst_foreign_about(value) != NULL) {
        o->table_format = value;
        break;
      }
      option_set_word(row, value, at);
      break;
    case OPTION_KIND:
    case OPTION_KIND_ADDS:
    case OPTION_KINDS:
    case OPTION_FORMATS:
    case OPTION_TABLE_FORMAT:
    case OPTION_KEY_TYPE:
    case OPTION_CHOICE: option_set_word(row, value, at); break;
    case OPTION_CHOICES: option_set_list(row, value, at); break;
    case OPTION_COUNT:
    case OPTION_NUMBER:
    case OPTION_SIZE:
    case OPTION_FPR:
    case OPTION_REAL: form = option_set_number(row, value, at); break;
  }
  if (form != NULL) die(EXIT_TROUBLE, "--%s: '%s' is not %s", row->name, value, form);
}

/* ---- of one command ---- */

typedef struct option_table {
  const command *command;
  const option_row *rows[OPTIONS_MOST];
  size_t n;
  struct option longs[OPTIONS_MOST + 1]; /* for getopt_long: val is 256 + the index */
  char letters[2 * OPTIONS_MOST + 2];
} option_table;

static void options_table(const command *c, option_table *t) {
  char *letters = t->letters;
  *t = (option_table){.command = c};
  *letters++ = ':';
  for (const option_row *row; t->n < OPTIONS_MOST && (row = option_at(c, t->n)) != NULL; t->n++) {
    int has_value = row->value != NULL ? required_argument : no_argument;
    t->rows[t->n] = row;
    t->longs[t->n] = (struct option){row->name, has_value, NULL, 256 + (int)t->n};
    if (row->letter == 0) continue;
    *letters++ = row->letter;
    if (row->value != NULL) *letters++ = ':';
  }
}

/* The index of what getopt_long found. */
static size_t options_found(const option_table *t, int got) {
  size_t i = got >= 256 ? (size_t)got - 256 : 0;
  while (got < 256 && i + 1 < t->n && t->rows[i]->letter != got) i++;
  return i;
}

_Noreturn static void option_unknown(const option_table *t, const char *word) {
  const char *names[OPTIONS_MOST + 1] = {NULL};
  for (size_t i = 0; i < t->n; i++) names[i] = t->rows[i]->name;
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
  const char *near = strncmp(bare, "--", 2) == 0 ? nearest_word(bare + 2, names) : NULL;
  if (near != NULL) die(EXIT_TROUBLE, "no option %s; did you mean --%s?", bare, near);
  die(EXIT_TROUBLE, "no option %s; 'nay help %s' lists them", bare, t->command->name);
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

/* Whether a word is in a list, "build, compact". */
static bool list_has(const char *list, const char *word) {
  size_t len = strlen(word);
  for (const char *at = list; len > 0 && (at = strstr(at, word)) != NULL; at += len) {
    bool starts = at == list || at[-1] == ' ';
    if (starts && (at[len] == '\0' || at[len] == ',')) return true;
  }
  return false;
}

bool option_is_for(const option_row *row, const char *verb) {
  return row->verbs == NULL || list_has(row->verbs, verb);
}

_Noreturn static void option_misplaced(const option_row *row, const char *where) {
  if (row->letter != 0) die(EXIT_TROUBLE, "-%c is not for 'nay %s'", row->letter, where);
  die(EXIT_TROUBLE, "--%s is not for 'nay %s'", row->name, where);
}

void options_refuse(const options *o, const char *names, const char *where) {
  const option_row *row;
  for (size_t i = 0; i < OPTIONS_MOST && (row = option_at(o->command, i)) != NULL; i++) {
    if (o->given[i] && list_has(names, row->name)) option_misplaced(row, where);
  }
}

/* Finds the verb. An option of another verb would do nothing: an error says so. */
static void options_check_verb(options *o, const option_table *t) {
  const char *names[OPTION_VALUES + 1] = {NULL}, *verb = o->operands[0];
  char list[128], all[192] = "", *rest = NULL;
  unsigned n = 0, found = OPTION_VALUES;
  snprintf(list, sizeof list, "%s", o->command->verbs);
  for (char *at = strtok_r(list, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest), n++) {
    size_t used = strlen(all);
    names[n] = at;
    if (strcmp(at, verb) == 0) found = n;
    snprintf(all + used, sizeof all - used, "%s%s", n > 0 ? ", " : "", at);
  }
  const char *name = o->command->name, *near = nearest_word(verb, names);
  if (found == OPTION_VALUES && near != NULL) {
    die(EXIT_TROUBLE, "no 'nay %s %s'; did you mean %s?", name, verb, near);
  }
  if (found == OPTION_VALUES) {
    die(EXIT_TROUBLE, "no 'nay %s %s': there are %s", name, verb, all);
  }
  for (size_t i = 0; i < t->n; i++) {
    const option_row *row = t->rows[i];
    snprintf(all, sizeof all, "%s %s", name, verb);
    if (o->given[i] && !option_is_for(row, verb)) option_misplaced(row, all);
  }
  o->verb = found;
}

/* Two documents on one standard output would be none. */
static void options_check_stdout(const options *o, const option_table *t) {
  bool has_result = o->command->verbs == NULL;
  for (size_t i = 0; i < t->n && !has_result; i++) {
    has_result =
        strcmp(t->rows[i]->name, "output") == 0 && option_is_for(t->rows[i], o->operands[0]);
  }
  bool by_default = o->out == NULL && o->command->to_stdout && has_result;
  bool asked = o->out != NULL && strcmp(o->out, "-") == 0;
  if (o->json && (by_default || asked)) {
    die(EXIT_TROUBLE, "--json writes to standard output, and so would the result: use -o FILE");
  }
}

/* ---- an output that is an input ---- */

static void options_check_input(const options *o, const struct stat *out, const char *path) {
  struct stat in;
  bool is_stdin = strcmp(path, "-") == 0;
  if ((is_stdin ? fstat(STDIN_FILENO, &in) : stat(path, &in)) != 0) return;
  if (in.st_dev != out->st_dev || in.st_ino != out->st_ino) return;
  die(EXIT_TROUBLE, "-o %s would replace an input, %s: choose another file", o->out,
      is_stdin ? "standard input" : path);
}

/*
 * A result that replaces one of the inputs destroys it, also by another name of the file, -f or
 * not. Filters that a command changes in place may be replaced.
 */
static void options_check_inputs(const options *o, const option_table *t) {
  struct stat out;
  if (o->out == NULL || stat(o->out, &out) != 0 || !S_ISREG(out.st_mode)) return;
  int first = (o->command->verbs != NULL) + o->command->changes;
  for (int i = first; i < o->noperands; i++) options_check_input(o, &out, o->operands[i]);
  for (size_t i = 0; i < t->n; i++) {
    const option_row *row = t->rows[i];
    const void *at = (const char *)o + row->at;
    if (row->type == OPTION_FILE && row->at != AT(out) && *(const char *const *)at != NULL) {
      options_check_input(o, &out, *(const char *const *)at);
    }
    const text_list *list = row->type == OPTION_FILES ? at : NULL;
    for (size_t f = 0; list != NULL && f < list->n; f++) {
      options_check_input(o, &out, list->at[f]);
    }
  }
  options_check_input(o, &out, "-");
}

void options_parse(const command *c, int argc, char **argv, options *o) {
  option_table t;
  options_table(c, &t);
  *o = (options){.command = c,
                 .threads = 2,
                 .max_count = UINT64_MAX,
                 .table_filter = CHOICE_NOT_GIVEN,
                 .sequence = NUMBER_NOT_GIVEN,
                 .snapshot = NUMBER_NOT_GIVEN};
  opterr = 0;
  for (int got; (got = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1;) {
    if (got == ':') die(EXIT_TROUBLE, "option %s needs a value", argv[optind - 1]);
    if (got == '?') {
      char letter[3] = {'-', (char)optopt, '\0'};
      bool is_letter = optopt > 0 && optopt < 256;
      option_unknown(&t, is_letter ? letter : argv[optind - 1]);
    }
    size_t i = options_found(&t, got);
    o->given[i] = true;
    o->keys.type_given |= t.rows[i]->type == OPTION_KEY_TYPE;
    option_set(t.rows[i], optarg, o);
  }
  o->operands = argv + optind;
  o->noperands = argc - optind;
  if (o->help) return;
  options_check_operands(o);
  if (c->verbs != NULL) options_check_verb(o, &t);
  options_check_stdout(o, &t);
  options_check_inputs(o, &t);
}

const char *const *options_key_files(const options *o, int from, size_t *n) {
  *n = (size_t)(o->noperands - from);
  if (o->keys.args.n > 0 && *n > 0) {
    die(EXIT_TROUBLE, "one operand too many: '%s'; -e gives the keys, each by an -e of its own",
        o->operands[from]);
  }
  return (const char *const *)o->operands + from;
}
