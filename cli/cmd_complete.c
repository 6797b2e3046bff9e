/* cmd_complete.c - nay complete: completions for three shells, from the tables of commands and
 * options. */
#include <string.h>

#include "options.h"

/* ---- bash ---- */

static void bash_values(const option_row *row) {
  const char *list[OPTION_VALUES];
  options_values(row, list);
  if (list[0] == NULL) return;
  out_text("    --%s", row->name);
  if (row->letter != 0) out_text("|-%c", row->letter);
  out_text(") COMPREPLY=($(compgen -W '");
  for (size_t i = 0; list[i] != NULL; i++) out_text("%s%s", i > 0 ? " " : "", list[i]);
  out_text("' -- \"$cur\")); return ;;\n");
}

static void complete_bash(void) {
  const command *c;
  out_text(
      "# bash completion for nay; made by 'nay complete bash'\n_nay() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= verbs=\n"
      "  [ \"$prev\" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  [ \"$cur\" = = ] && cur= && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) out_text("%s%s", i > 0 ? " " : "", c->name);
  out_text("' -- \"$cur\"))\n    return\n  fi\n  case $prev in\n");
  const option_row *row;
  for (size_t k = 0; (row = option_at(NULL, k)) != NULL; k++) bash_values(row);
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    for (row = c->own; row != NULL && row->name != NULL; row++) bash_values(row);
  }
  out_text("  esac\n  case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    out_text("    %s) words='", c->name);
    const char *space = "";
    for (size_t k = 0; (row = option_at(c, k)) != NULL; k++, space = " ") {
      out_text("%s--%s", space, row->name);
    }
    out_text("'%s%s%s ;;\n", c->verbs != NULL ? " verbs='" : "", c->verbs != NULL ? c->verbs : "",
             c->verbs != NULL ? "'" : "");
  }
  out_text(
      "  esac\n  [ \"$COMP_CWORD\" -eq 2 ] || verbs=\n  case $cur in\n"
      "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
      "    *) [ -n \"$verbs\" ] && COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\")) ||\n"
      "      COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
      "  esac\n}\ncomplete -o filenames -F _nay nay\n");
}

/* ---- zsh ---- */

static void zsh_quoted(const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\'') {
      out_text("'\\''");
      continue;
    }
    if (strchr("[]:\\", *text) != NULL) out_bytes("\\", 1);
    out_bytes(text, 1);
  }
}

static void zsh_row(const option_row *row) {
  const char *list[OPTION_VALUES];
  char help[OPTION_HELP];
  options_values(row, list);
  out_text("      '--%s%s[", row->name, row->value != NULL ? "=" : "");
  zsh_quoted(option_help(row, false, help));
  out_text("]");
  if (row->value != NULL) {
    out_text(":");
    zsh_quoted(row->value);
    out_text(":");
    if (list[0] != NULL) {
      out_text("(");
      for (size_t i = 0; list[i] != NULL; i++) out_text("%s%s", i > 0 ? " " : "", list[i]);
      out_text(")");
    } else if (row->type == OPTION_FILE || row->type == OPTION_FILES) {
      out_text("_files");
    }
  }
  out_text("' \\\n");
}

static void complete_zsh(void) {
  const command *c;
  out_text(
      "#compdef nay\n# zsh completion for nay; made by 'nay complete zsh'\n_nay() {\n"
      "  if (( CURRENT == 2 )); then\n    local -a commands=(\n");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    out_text("      '%s:", c->name);
    zsh_quoted(c->summary);
    out_text("'\n");
  }
  out_text(
      "    )\n    _describe command commands\n    return\n  fi\n  local cmd=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n  case $cmd in\n");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    out_text("    %s) _arguments \\\n", c->name);
    const option_row *row;
    for (size_t k = 0; (row = option_at(c, k)) != NULL; k++) zsh_row(row);
    if (c->verbs != NULL) out_text("      '1:verb:(%s)' \\\n", c->verbs);
    out_text("      '*:file:_files' ;;\n");
  }
  out_text("  esac\n}\n_nay \"$@\"\n");
}

/* ---- fish ---- */

static void fish_quoted(const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\'' || *text == '\\') out_bytes("\\", 1);
    out_bytes(text, 1);
  }
}

static void fish_row(const command *c, const option_row *row) {
  const char *list[OPTION_VALUES];
  char help[OPTION_HELP];
  options_values(row, list);
  out_text("complete -c nay -n '__fish_seen_subcommand_from %s' -l %s", c->name, row->name);
  if (row->letter != 0) out_text(" -s %c", row->letter);
  if (row->value != NULL) out_text(" -r");
  if (list[0] != NULL) {
    out_text(" -f -a '");
    for (size_t k = 0; list[k] != NULL; k++) out_text("%s%s", k > 0 ? " " : "", list[k]);
    out_text("'");
  }
  out_text(" -d '");
  fish_quoted(option_help(row, false, help));
  out_text("'\n");
}

static void complete_fish(void) {
  const command *c;
  out_text("# fish completion for nay; made by 'nay complete fish'\n");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    out_text("complete -c nay -n __fish_use_subcommand -f -a %s -d '", c->name);
    fish_quoted(c->summary);
    out_text("'\n");
    if (c->verbs != NULL) {
      out_text(
          "complete -c nay -n '__fish_seen_subcommand_from %s; and not "
          "__fish_seen_subcommand_from %s' -f -a '%s'\n",
          c->name, c->verbs, c->verbs);
    }
    const option_row *row;
    for (size_t k = 0; (row = option_at(c, k)) != NULL; k++) fish_row(c, row);
  }
}

static int complete_run(options *o) {
  static void (*const shells[])(void) = {complete_bash, complete_zsh, complete_fish};
  shells[o->verb]();
  return EXIT_FOUND;
}

const command command_complete = {
    .name = "complete",
    .run = complete_run,
    .summary = "write completions for bash, zsh or fish",
    .operands = "bash|zsh|fish",
    .min_operands = 1,
    .max_operands = 1,
    .verbs = "bash zsh fish",
    .about =
        "Writes the completions of this program for a shell. Installing nay installs them; to "
        "try them in bash: eval \"$(nay complete bash)\".",
};
