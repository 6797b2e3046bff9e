/*
 * candidates.c - what can follow the words of a command line.
 *
 * The words before the last are read as getopt_long reads them, which tells: the command, the verb
 * of a command that has verbs, how many operands there are, which options are given, and whether
 * the last option still waits for its value. What can follow is then
 *
 *   a value         of the option that waits for one, or after --name= and -x: the words that the
 *                   option takes, of a list those that it lacks, or a file
 *   an option       when the word starts with a dash: those of the command and the verb that are
 *                   not given yet, or may be repeated
 *   an operand      else: a verb, a command, a file, as the synopsis of the command calls it
 *
 * Nothing is listed here: a row in a table of options is all that a new option needs.
 */
#include "candidates.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

#define CANDIDATES_GIVEN 128

/* typed: what the words before the last say. */
typedef struct typed {
  const command *command;
  option_table table;        /* of its options */
  const char *verb;          /* NULL: none yet, or none at all */
  unsigned noperands;        /* the verb not counted */
  bool ended;                /* by --: what follows is an operand, whatever it starts with */
  const option_row *waiting; /* the last word is its value */
  const option_row *given[CANDIDATES_GIVEN];
  size_t ngiven;
} typed;

/* ---- what is written ---- */

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* A description is the help text up to its first semicolon, without a colon at the end. */
static void candidate(const char *word, const char *name, const char *end, const char *about) {
  char text[256];
  snprintf(text, sizeof text, "%s%s", name, end);
  if (!starts_with(text, word)) return;
  size_t len = strcspn(about, ";\n");
  if (len > 0 && about[len - 1] == ':') len--;
  out_text("%s\t%.*s\n", text, (int)len, about);
}

static void candidate_files(const char *prefix) { out_text(":files%s\n", prefix); }

/* ---- the words before ---- */

/* As getopt_long: a name, or the start of only one. */
static const option_row *typed_long(const typed *t, const char *name, size_t len) {
  const option_row *found = NULL;
  for (size_t i = 0; i < t->table.n; i++) {
    const option_row *row = &t->table.rows[i];
    if (strncmp(row->name, name, len) != 0) continue;
    if (row->name[len] == '\0') return row;
    if (found != NULL) return NULL;
    found = row;
  }
  return found;
}

static const option_row *typed_letter(const typed *t, char letter) {
  for (size_t i = 0; i < t->table.n; i++) {
    if (t->table.rows[i].letter == letter) return &t->table.rows[i];
  }
  return NULL;
}

static void typed_option(typed *t, const option_row *row) {
  if (row != NULL && t->ngiven < CANDIDATES_GIVEN) t->given[t->ngiven++] = row;
}

static void typed_word(typed *t, const char *word) {
  if (t->waiting != NULL) {
    t->waiting = NULL;
  } else if (t->ended || word[0] != '-' || word[1] == '\0') {
    if (t->command->verbs != NULL && t->verb == NULL) {
      t->verb = word;
    } else {
      t->noperands++;
    }
  } else if (strcmp(word, "--") == 0) {
    t->ended = true;
  } else if (word[1] == '-') {
    size_t len = strcspn(word + 2, "=");
    const option_row *row = typed_long(t, word + 2, len);
    typed_option(t, row);
    if (row != NULL && row->value != NULL && word[2 + len] == '\0') t->waiting = row;
  } else {
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
      const option_row *row = typed_letter(t, *letter);
      typed_option(t, row);
      if (row == NULL || row->value == NULL) continue;
      if (letter[1] == '\0') t->waiting = row;
      break; /* the rest is its value */
    }
  }
}

/* ---- values ---- */

static bool list_has(const char *list, size_t len, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at < list + len; at += strcspn(at, ",") + 1) {
    if (strncmp(at, name, n) == 0 && at[n] == ',') return true;
  }
  return false;
}

/* The words that stand for themselves in what a synopsis calls the value: "random" in N|random. */
static void value_literals(const option_row *row, const char *before, const char *word) {
  for (const char *at = row->value; *at != '\0';) {
    size_t len = strcspn(at, "|"), lower = 0;
    while (lower < len && islower((unsigned char)at[lower])) lower++;
    char name[128];
    snprintf(name, sizeof name, "%s%.*s", before, (int)len, at);
    if (lower == len) candidate(word, name, "", row->help);
    at += len + (at[len] == '|');
  }
}

/*
 * `before` is the part of the word that is not the value: "--type=", "-t", or nothing. In a list
 * what is there already is not offered, nor auto, which stands alone.
 */
static void values_write(const option_row *row, const char *before, const char *word) {
  const char *list[OPTION_VALUES], *value = word + strlen(before);
  const char *comma = option_is_list(row) ? strrchr(value, ',') : NULL;
  size_t kept = comma != NULL ? (size_t)(comma + 1 - value) : 0;
  options_values(row, list);
  for (size_t i = 0; list[i] != NULL; i++) {
    char name[256];
    if (list_has(value, kept, list[i]) || (kept > 0 && strcmp(list[i], "auto") == 0)) continue;
    snprintf(name, sizeof name, "%s%.*s%s", before, (int)kept, value, list[i]);
    candidate(word, name, "", row->help);
  }
  value_literals(row, before, word);
  if (option_is_file(row)) candidate_files(before);
}

/* ---- options ---- */

static bool option_can_follow(const typed *t, const option_row *row) {
  if (t->verb != NULL && !option_is_for(row, t->verb)) return false;
  for (size_t i = 0; i < t->ngiven; i++) {
    if (t->given[i] == row && !option_repeats(row)) return false;
  }
  return true;
}

static void options_write(const typed *t, const char *word) {
  for (size_t i = 0; i < t->table.n; i++) {
    const option_row *row = &t->table.rows[i];
    char name[ROW_TITLE];
    if (!option_can_follow(t, row)) continue;
    snprintf(name, sizeof name, "--%s", row->name);
    candidate(word, name, row->value != NULL ? "=" : "", row->help);
  }
}

/* -x and what follows it in the same word: flags, or the value of the last one. */
static void letters_write(const typed *t, const char *word) {
  for (const char *letter = word + 1; *letter != '\0'; letter++) {
    const option_row *row = typed_letter(t, *letter);
    if (row == NULL) return;
    if (row->value == NULL) continue;
    if (letter[1] == '\0') break; /* its value is the next word */
    char before[256];
    snprintf(before, sizeof before, "%.*s", (int)(letter + 1 - word), word);
    values_write(row, before, word);
    return;
  }
  candidate(word, word, "", "");
}

/* ---- operands ---- */

static void commands_write(const char *word) {
  const command *c;
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    candidate(word, c->name, "", c->summary);
    if (c->alias != NULL) candidate(word, c->alias, "", c->summary);
  }
}

static void verbs_write(const command *c, const char *word) {
  for (const char *at = c->verbs; *at != '\0';) {
    char name[64];
    size_t len = strcspn(at, " ");
    snprintf(name, sizeof name, "%.*s", (int)len, at);
    candidate(word, name, "", c->summary);
    at += len + (at[len] == ' ');
  }
}

/* The next token of a synopsis, without its brackets; NULL at the end. */
static const char *synopsis_token(const char *at, const char **token, size_t *len) {
  at += strspn(at, " [");
  *token = at;
  *len = strcspn(at, " ]");
  return *len > 0 ? at + *len + strspn(at + *len, " ]") : NULL;
}

static bool token_is(const char *token, size_t len, const char *word) {
  return strlen(word) == len && strncmp(token, word, len) == 0;
}

/* Whether one of the words between bars is the verb: "get" is in build|get|scan. */
static bool token_has(const char *token, size_t len, const char *verb) {
  for (size_t at = 0; at < len;) {
    size_t part = strcspn(token + at, "| ]");
    if (part > len - at) part = len - at;
    if (token_is(token + at, part, verb)) return true;
    at += part + 1;
  }
  return false;
}

/* Where the operands of a verb start in "fpr [FILTER] | size | bench [TABLE]"; "" when nowhere. */
static const char *synopsis_of_verb(const char *synopsis, const char *verb) {
  while (synopsis != NULL) {
    const char *token, *next;
    size_t len;
    next = synopsis_token(synopsis, &token, &len);
    if (next != NULL && token_has(token, len, verb)) return next;
    synopsis = strstr(synopsis, " | ");
    if (synopsis != NULL) synopsis += 3;
  }
  return "";
}

/*
 * What a synopsis calls the operand of a number, from 0: "KEYFILE" is number 1 and above of
 * "FILTER [KEYFILE...]". Options, each with a value, are left out. NULL: there is no such operand.
 */
static const char *synopsis_operand(const char *synopsis, unsigned number, size_t *len) {
  const char *token, *at = synopsis;
  while ((at = synopsis_token(at, &token, len)) != NULL && !token_is(token, *len, "|")) {
    if (token_is(token, *len, "--")) continue;
    if (token[0] == '-') {
      at = synopsis_token(at, &token, len);
      if (at == NULL) return NULL;
      continue;
    }
    bool repeats = *len > 3 && strncmp(token + *len - 3, "...", 3) == 0;
    if (repeats) *len -= 3;
    if (number == 0 || repeats) return token;
    number--;
  }
  return NULL;
}

/* Whether the keys are arguments (-e): no file is read then. */
static bool typed_keys(const typed *t) {
  for (size_t i = 0; i < t->ngiven; i++) {
    if (strcmp(t->given[i]->name, "element") == 0) return true;
  }
  return false;
}

static void operands_write(const typed *t, const char *word) {
  const command *c = t->command;
  const char *synopsis = c->operands;
  size_t len;
  if (c->verbs != NULL && t->verb == NULL) {
    verbs_write(c, word);
    return;
  }
  if (t->verb != NULL) synopsis = synopsis_of_verb(synopsis, t->verb);
  const char *name = synopsis_operand(synopsis, t->noperands, &len);
  if (name == NULL || token_is(name, len, "KEY") || token_is(name, len, "WORD")) return;
  if (token_is(name, len, "KEYFILE") && typed_keys(t)) return;
  if (token_is(name, len, "COMMAND")) {
    commands_write(word);
  } else {
    candidate_files("");
  }
}

/* ---- the line ---- */

static const command *candidates_command(const char *word) {
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) word = "help";
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) word = "version";
  return command_find(word);
}

void candidates_write(char *const *words, size_t n) {
  const char *word = words[n - 1];
  if (n == 1) {
    commands_write(word);
    candidate(word, "--help", "", "list the commands");
    candidate(word, "--version", "", "print the version");
    return;
  }
  typed t = {.command = candidates_command(words[0])};
  if (t.command == NULL) return;
  option_table_make(t.command, &t.table);
  for (size_t i = 1; i + 1 < n; i++) typed_word(&t, words[i]);
  if (t.waiting != NULL) {
    values_write(t.waiting, "", word);
  } else if (t.ended || word[0] != '-') {
    operands_write(&t, word);
  } else if (word[1] != '\0' && word[1] != '-') {
    letters_write(&t, word);
  } else if (strchr(word, '=') != NULL) {
    char before[256];
    size_t len = strcspn(word, "=");
    const option_row *row = typed_long(&t, word + 2, len - 2);
    snprintf(before, sizeof before, "%.*s=", (int)len, word);
    if (row != NULL && row->value != NULL) values_write(row, before, word);
  } else {
    options_write(&t, word);
  }
}
