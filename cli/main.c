/* main.c - finds the command, parses its options and runs it. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "codecs.h"
#include "commands.h"
#include "descriptors.h"
#include "help.h"
#include "options.h"

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
    if (strcmp(c->name, name) == 0) return c;
  }
  return NULL;
}

const command *command_must_find(const char *name) {
  const command *c = command_find(name);
  if (c != NULL) return c;
  const char *names[OPTION_VALUES] = {NULL};
  for (size_t i = 0; command_at(i) != NULL; i++) names[i] = command_at(i)->name;
  const char *near = nearest_word(name, names);
  if (near != NULL) die(EXIT_TROUBLE, "no command '%s'; did you mean %s?", name, near);
  die(EXIT_TROUBLE, "no command '%s'; 'nay help' lists them", name);
}

static int main_version(bool as_json) {
  const char *kinds[OPTION_VALUES], *formats[OPTION_VALUES];
  if (!as_json) {
    out_text("nay %s\n", nay_version());
    out_flush();
    return EXIT_FOUND;
  }
  kind_names(kinds);
  format_names(formats);
  json_begin("nay.version/1");
  json_text("version", nay_version());
  json_open("kinds", '[');
  for (size_t i = 1; kinds[i] != NULL; i++) json_text(NULL, kinds[i]);
  json_close();
  json_open("formats", '[');
  for (size_t i = 0; formats[i] != NULL; i++) json_text(NULL, formats[i]);
  json_close();
  json_text("codecs", codec_names());
  json_end();
  out_flush();
  return EXIT_FOUND;
}

int main(int argc, char **argv) {
  options o;
  descriptors_begin();
  signals_begin();
  out_begin(COLOR_AUTO);
  if (argc < 2) {
    fputs("usage: nay COMMAND [options] [operands]; 'nay help' lists the commands\n", stderr);
    return EXIT_TROUBLE;
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    return main_version(argc > 2 && strcmp(argv[2], "--json") == 0);
  }
  bool wants_help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
  const command *c = wants_help ? &command_help : command_must_find(argv[1]);
  messages_begin(c->name, false);
  options_parse(c, argc - 1, argv + 1, &o);
  messages_begin(c->name, o.quiet);
  out_begin((color_mode)o.color);
  int status = EXIT_FOUND;
  if (o.help) {
    help_command(c);
  } else {
    status = c->run(&o);
  }
  out_flush();
  return status;
}
