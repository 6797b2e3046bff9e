/* main.c - finds the command, parses its options and runs it. */
#include <stdio.h>
#include <string.h>

#include "bads.h"
#include "cli.h"
#include "commands.h"
#include "descriptors.h"
#include "help.h"
#include "options.h"
#include "read_stats.h"

#define COMMAND_DECLARE(name) extern const command command_##name;
NAY_COMMANDS(COMMAND_DECLARE)

#define COMMAND_ENTRY(name) &command_##name,
static const command *const commands[] = {NAY_COMMANDS(COMMAND_ENTRY)};

const command *command_at(size_t i) {
  return i < sizeof commands / sizeof commands[0] ? commands[i] : NULL;
}

const command *command_find(const char *name) {
  const command *c;
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    bool is_alias = c->alias != NULL && strcmp(c->alias, name) == 0;
    if (is_alias || strcmp(c->name, name) == 0) return c;
  }
  return NULL;
}

const command *command_must_find(const char *name) {
  const command *c = command_find(name);
  if (c != NULL) return c;
  const char *names[OPTION_VALUES] = {NULL};
  size_t n = 0;
  for (size_t i = 0; command_at(i) != NULL; i++) {
    names[n++] = command_at(i)->name;
    if (command_at(i)->alias != NULL) names[n++] = command_at(i)->alias;
  }
  const char *near = nearest_word(name, names);
  if (near != NULL) die(EXIT_TROUBLE, "no command '%s'; did you mean %s?", name, near);
  die(EXIT_TROUBLE, "no command '%s'; 'nay help' lists them", name);
}

int main(int argc, char **argv) {
  descriptors_begin();
  read_stats_begin();
  signals_begin();
  out_begin(COLOR_AUTO);
  if (argc < 2) {
    fputs("usage: nay COMMAND [options] [operands]; 'nay help' lists the commands\n", stderr);
    return EXIT_TROUBLE;
  }
  bool wants_help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
  bool wants_version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0;
  const command *c = wants_help      ? &command_help
                     : wants_version ? &command_version
                                     : command_must_find(argv[1]);
  messages_begin(c->name, false);
  options *o = options_new(c, argc - 1, argv + 1);
  messages_begin(c->name, o->quiet);
  out_begin((color_mode)o->color);
  int status = EXIT_FOUND;
  if (o->help) {
    help_command(c);
  } else {
    status = bads_end(c->run(o));
    read_stats_end(bads_count());
  }
  out_flush();
  options_free(o);
  return status;
}
