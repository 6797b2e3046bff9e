/* main.c - the command table, nothing else. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "codecs.h"
#include "descriptors.h"
#include "help.h"
#include "options.h"

extern const command command_plan, command_build, command_add, command_remove, command_check,
    command_info, command_verify, command_merge, command_fold, command_convert, command_uniq,
    command_diff, command_common, command_bench, command_plot, command_complete, command_man,
    command_help, command_sst, command_extract;

static const command *const commands[] = {
    &command_plan,  &command_build,  &command_check,    &command_info, &command_verify,
    &command_add,   &command_remove, &command_merge,    &command_fold, &command_convert,
    &command_uniq,  &command_diff,   &command_common,   &command_sst,  &command_extract,
    &command_bench, &command_plot,   &command_complete, &command_man,  &command_help,
};

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
  const char *names[OPTION_WORDS] = {NULL};
  for (size_t i = 0; command_at(i) != NULL; i++) names[i] = command_at(i)->name;
  const char *near = words_nearest(name, names);
  if (near != NULL) die(EXIT_TROUBLE, "no command '%s'; did you mean %s?", name, near);
  die(EXIT_TROUBLE, "no command '%s'; 'nay help' lists them", name);
}

static int main_version(bool as_json) {
  const char *kinds[OPTION_WORDS], *formats[OPTION_WORDS];
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
  words_begin(c->name, false);
  options_parse(c, argc - 1, argv + 1, &o);
  words_begin(c->name, o.quiet);
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
