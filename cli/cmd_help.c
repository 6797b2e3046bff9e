/* cmd_help.c - nay help. */
#include "help.h"

static int help_run(options *o) {
  if (o->noperands == 0) {
    help_overview();
    return EXIT_FOUND;
  }
  help_command(command_must_find(o->operands[0]));
  return EXIT_FOUND;
}

const command command_help = {
    .name = "help",
    .run = help_run,
    .summary = "list the commands, or explain one",
    .operands = "[COMMAND]",
    .max_operands = 1,
    .about =
        "Without an operand, lists the commands; with one, describes that command, its options "
        "and examples. 'nay COMMAND --help' does the same.",
};
