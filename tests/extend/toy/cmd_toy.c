/* cmd_toy.c - nay toy: says its name as often as asked. */
#include "options.h"

static int toy_run(options *o) {
  uint64_t times = o->factor != 0 ? o->factor : 1;
  for (uint64_t i = 0; i < times; i++) out_text("toy %s\n", o->operands[0]);
  return EXIT_FOUND;
}

static const option_row toy_options[] = {
    {"times", 0, "N", OPTION_COUNT, AT(factor), "how often", NULL, 0, "play"},
    {0},
};

const command command_toy = {
    .name = "toy",
    .run = toy_run,
    .summary = "say toy",
    .operands = "play|rest",
    .min_operands = 1,
    .max_operands = 1,
    .verbs = "play rest",
    .own = toy_options,
    .about = "Says toy.",
};
