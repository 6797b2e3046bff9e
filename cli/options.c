/* options.c - getopt_long over a command's tables of options. */
#include "options.h"

#include <nay_sst.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"

/* ---- the options of a command ---- */

static bool option_table_has(const option_table *t, const char *name) {
  for (size_t i = 0; i < t->n; i++) {
    if (strcmp(t->rows[i].name, name) == 0) return true;
  }
  return false;
}

/* A row that is there already, a command's own or an earlier group's, replaces the new one. */
static void option_table_add(option_table *t, const option_row *row, const option_use *use) {
  bool taken = row->part == 0 || (row->part & use->parts) != 0;
  if (!taken || option_table_has(t, row->name) || t->n == OPTIONS_MOST) return;
  t->rows[t->n] = *row;
  t->rows[t->n].at += use->at;
  if (use->verbs != NULL) t->rows[t->n].verbs = use->verbs;
  t->n++;
}

static void option_table_add_all(option_table *t, const option_row *rows, const option_use *use) {
  for (const option_row *row = rows; row != NULL && row->name != NULL; row++) {
    option_table_add(t, row, use);
  }
}

void option_table_make(const command *c, option_table *t) {
  const option_use own = {.at = 0};
  t->n = 0;
  option_table_add_all(t, c->own, &own);
  for (const option_use *use = c->uses; use != NULL && use->group != NULL; use++) {
    option_table_add_all(t, use->group->rows, use);
  }
  option_table_add_all(t, every_group.rows, &own);
}

bool option_is_taken(const command *c, const char *name) {
  option_table t;
  option_table_make(c, &t);
  return option_table_has(&t, name);
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
    if (nay_kind_parse(name, &kind) != NAY_OK || !is_filter_kind(kind)) option_bad_word(row, name);
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

/* Values as other systems make bytes of them: a type of the library, and a form. */
static bool option_key_form(const char *value, keys_options *keys) {
  static const struct {
    const char *name;
    nay_key_type type;
    unsigned form;
  } forms[] = {{"string", NAY_KEY_TEXT, 0},           {"long", NAY_KEY_INT, 0},
               {"int32", NAY_KEY_INT, KEY_FORM_32},   {"date32", NAY_KEY_DATE, KEY_FORM_32},
               {"bool32", NAY_KEY_BOOL, KEY_FORM_32}, {"utf16", NAY_KEY_TEXT, KEY_FORM_UTF16}};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (strcmp(value, forms[i].name) != 0) continue;
    keys->type = forms[i].type;
    keys->form = forms[i].form;
    keys->type_given = true;
    return true;
  }
  return false;
}

static void option_key_type(const option_row *row, const char *value, keys_options *keys) {
  unsigned type = NAY_KEY_TEXT;
  keys->form = 0;
  if (option_key_form(value, keys)) return;
  const char *name = nay_key_type_name(NAY_KEY_TEXT);
  if (strcmp(value, "u64le") == 0) {
    type = KEY_U64LE;
  } else if (strcmp(value, "bytes") != 0) {
    while (name != NULL && strcmp(value, name) != 0) name = nay_key_type_name((nay_key_type)++type);
    if (name == NULL) option_bad_word(row, value);
  }
  keys->type = type;
  keys->type_given = true;
}

static const nay_format *option_format(const option_row *row, const char *value) {
  const nay_format *format = nay_format_find(value);
  if (format == NULL) option_bad_word(row, value);
  return format;
}

/* A name of both kinds of file is that of a table. */
static void option_file_format(const option_row *row, const char *value, filter_options *filter) {
  if (nay_sst_layout_about(value) != NULL) {
    filter->table_format = value;
  } else {
    filter->format = option_format(row, value);
  }
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
      if (nay_kind_parse(value, at) != NAY_OK || !is_filter_kind(*(nay_kind *)at)) {
        option_bad_word(row, value);
      }
      break;
    case OPTION_FORMAT: *(const nay_format **)at = option_format(row, value); break;
    case OPTION_FILE_FORMAT: option_file_format(row, value, at); break;
    case OPTION_TABLE_FORMAT:
      if (strcmp(value, "nori") == 0)
        value = "nori-sst"; /* there is no filter to confuse it with */
      if (strcmp(value, "mini-lsm") == 0) value = "mini-lsm-sst";
      if (nay_sst_layout_about(value) == NULL) option_bad_word(row, value);
      *(const char **)at = value;
      break;
    case OPTION_KINDS: *(uint64_t *)at = option_kinds(row, value); break;
    case OPTION_FORMATS: *(uint64_t *)at = option_formats(row, value); break;
    case OPTION_KEY_TYPE: option_key_type(row, value, at); break;
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

static void option_set(const option_row *row, const char *value, void *at) {
  const char *form = NULL;
  switch (row->type) {
    case OPTION_FLAG: *(bool *)at = true; break;
    case OPTION_TEXT:
    case OPTION_OUTPUT:
    case OPTION_FILE: *(const char **)at = value; break;
    case OPTION_FILES:
    case OPTION_TEXTS: options_append(at, value); break;
    case OPTION_FORMAT:
    case OPTION_FILE_FORMAT:
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

/* option_getopt: a command's table, and the same for getopt_long: val is 256 + the index. */
typedef struct option_getopt {
  option_table table;
  struct option longs[OPTIONS_MOST + 1];
  char letters[2 * OPTIONS_MOST + 2];
} option_getopt;

static void option_getopt_make(const command *c, option_getopt *g) {
  char *letters = g->letters;
  *g = (option_getopt){.table = {.n = 0}};
  option_table_make(c, &g->table);
  *letters++ = ':';
  for (size_t i = 0; i < g->table.n; i++) {
    const option_row *row = &g->table.rows[i];
    int has_value = row->value != NULL ? required_argument : no_argument;
    g->longs[i] = (struct option){row->name, has_value, NULL, 256 + (int)i};
    if (row->letter == 0) continue;
    *letters++ = row->letter;
    if (row->value != NULL) *letters++ = ':';
  }
}

/* The index of what getopt_long found. */
static size_t option_found(const option_table *t, int got) {
  size_t i = got >= 256 ? (size_t)got - 256 : 0;
  while (got < 256 && i + 1 < t->n && t->rows[i].letter != got) i++;
  return i;
}

_Noreturn static void option_unknown(const command *c, const option_table *t, const char *word) {
  const char *names[OPTIONS_MOST + 1] = {NULL};
  for (size_t i = 0; i < t->n; i++) names[i] = t->rows[i].name;
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
  const char *near = strncmp(bare, "--", 2) == 0 ? nearest_word(bare + 2, names) : NULL;
  if (near != NULL) die(EXIT_TROUBLE, "no option %s; did you mean --%s?", bare, near);
  die(EXIT_TROUBLE, "no option %s; 'nay help %s' lists them", bare, c->name);
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
  option_table t;
  option_table_make(o->command, &t);
  for (size_t i = 0; i < t.n; i++) {
    if (o->given[i] && list_has(names, t.rows[i].name)) option_misplaced(&t.rows[i], where);
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
    const option_row *row = &t->rows[i];
    snprintf(all, sizeof all, "%s %s", name, verb);
    if (o->given[i] && !option_is_for(row, verb)) option_misplaced(row, all);
  }
  o->verb = found;
}

static void *option_value(const options *o, const option_row *row) {
  return (char *)(uintptr_t)o + row->at;
}

/* The option that names the result, if this verb of the command has one. */
static const option_row *options_output(const options *o, const option_table *t) {
  for (size_t i = 0; i < t->n; i++) {
    bool is_for = o->command->verbs == NULL || option_is_for(&t->rows[i], o->operands[0]);
    if (t->rows[i].type == OPTION_OUTPUT && is_for) return &t->rows[i];
  }
  return NULL;
}

/* Whether the result is an explanation, and no file: --explain. */
static bool options_explain(const options *o, const option_table *t) {
  for (size_t i = 0; i < t->n; i++) {
    if (o->given[i] && strcmp(t->rows[i].name, "explain") == 0) return true;
  }
  return false;
}

/* Two documents on one standard output would be none. */
static void options_check_stdout(const options *o, const option_table *t) {
  const option_row *row = options_output(o, t);
  const char *out = row != NULL ? *(const char **)option_value(o, row) : NULL;
  bool by_default = out == NULL && o->command->to_stdout && row != NULL && !options_explain(o, t);
  bool asked = out != NULL && strcmp(out, "-") == 0;
  if (o->json && (by_default || asked)) {
    die(EXIT_TROUBLE, "--json writes to standard output, and so would the result: use -o FILE");
  }
}

/* ---- an output that is an input ---- */

/* output_file: the result, which exists already. */
typedef struct output_file {
  const char *path;
  struct stat stat;
} output_file;

static void output_check_input(const output_file *out, const char *path) {
  struct stat in;
  bool is_stdin = strcmp(path, "-") == 0;
  if ((is_stdin ? fstat(STDIN_FILENO, &in) : stat(path, &in)) != 0) return;
  if (in.st_dev != out->stat.st_dev || in.st_ino != out->stat.st_ino) return;
  die(EXIT_TROUBLE, "-o %s would replace an input, %s: choose another file", out->path,
      is_stdin ? "standard input" : path);
}

/* Records that are kept do not replace a result, nor a state: bads.c makes sure of every name. */
static void options_check_bad_to(const options *o, const option_table *t) {
  const char *kept = NULL;
  for (size_t i = 0; i < t->n; i++) {
    if (strcmp(t->rows[i].name, "bad-to") == 0) kept = *(const char **)option_value(o, &t->rows[i]);
  }
  for (size_t i = 0; kept != NULL && i < t->n; i++) {
    const option_row *row = &t->rows[i];
    bool is_path = row->type == OPTION_FILE || row->type == OPTION_OUTPUT;
    const char *path = is_path ? *(const char **)option_value(o, row) : NULL;
    if (path == NULL || strcmp(row->name, "bad-to") == 0 || strcmp(path, kept) != 0) continue;
    die(EXIT_TROUBLE, "--bad-to and --%s are one file, %s: choose another", row->name, kept);
  }
}

/*
 * A result that replaces one of the inputs destroys it, also by another name of the file, -f or
 * not. Filters that a command changes in place may be replaced.
 */
static void options_check_inputs(const options *o, const option_table *t) {
  options_check_bad_to(o, t);
  const option_row *result = options_output(o, t);
  output_file out = {.path = result != NULL ? *(const char **)option_value(o, result) : NULL};
  if (out.path == NULL || stat(out.path, &out.stat) != 0 || !S_ISREG(out.stat.st_mode)) return;
  int first = (o->command->verbs != NULL) + o->command->changes;
  for (int i = first; i < o->noperands; i++) output_check_input(&out, o->operands[i]);
  for (size_t i = 0; i < t->n; i++) {
    const option_row *row = &t->rows[i];
    const char *path = row->type == OPTION_FILE ? *(const char **)option_value(o, row) : NULL;
    if (path != NULL) output_check_input(&out, path);
    const text_list *list = row->type == OPTION_FILES ? option_value(o, row) : NULL;
    for (size_t f = 0; list != NULL && f < list->n; f++) output_check_input(&out, list->at[f]);
  }
  output_check_input(&out, "-");
}

/* ---- the struct of a command ---- */

static void option_preset(const option_row *row, void *at) {
  if (row->preset == 0) return;
  if (row->type == OPTION_CHOICE) {
    *(unsigned *)at = (unsigned)row->preset;
  } else {
    *(uint64_t *)at = row->preset;
  }
}

/* Of a group also the fields whose options this command does not take. */
static void options_preset(options *o) {
  const option_row *row;
  for (const option_use *use = o->command->uses; use != NULL && use->group != NULL; use++) {
    for (row = use->group->rows; row->name != NULL; row++) {
      option_preset(row, (char *)o + use->at + row->at);
    }
  }
  for (row = o->command->own; row != NULL && row->name != NULL; row++) {
    option_preset(row, option_value(o, row));
  }
}

static void options_parse(options *o, int argc, char **argv) {
  option_getopt g;
  option_getopt_make(o->command, &g);
  opterr = 0;
  for (int got; (got = getopt_long(argc, argv, g.letters, g.longs, NULL)) != -1;) {
    if (got == ':') die(EXIT_TROUBLE, "option %s needs a value", argv[optind - 1]);
    if (got == '?') {
      char letter[3] = {'-', (char)optopt, '\0'};
      bool is_letter = optopt > 0 && optopt < 256;
      option_unknown(o->command, &g.table, is_letter ? letter : argv[optind - 1]);
    }
    size_t i = option_found(&g.table, got);
    o->given[i] = true;
    option_set(&g.table.rows[i], optarg, option_value(o, &g.table.rows[i]));
  }
  o->operands = argv + optind;
  o->noperands = argc - optind;
  if (o->help) return;
  options_check_operands(o);
  if (o->command->verbs != NULL) options_check_verb(o, &g.table);
  options_check_stdout(o, &g.table);
  options_check_inputs(o, &g.table);
}

options *options_new(const command *c, int argc, char **argv) {
  size_t size = c->size != 0 ? c->size : sizeof(options);
  options *o = must_alloc(size);
  memset(o, 0, size);
  o->command = c;
  options_preset(o);
  options_parse(o, argc, argv);
  return o;
}

void options_free(options *o) {
  option_table t;
  option_table_make(o->command, &t);
  for (size_t i = 0; i < t.n; i++) {
    bool is_list = t.rows[i].type == OPTION_FILES || t.rows[i].type == OPTION_TEXTS;
    if (is_list) free(((text_list *)option_value(o, &t.rows[i]))->at);
  }
  free(o);
}
