/* cmd_toy.c - nay toy: says its name, or another word, as often as asked. */
#include "options.h"

typedef struct toy_options {
  options common;
  uint64_t times;
  const char *greeting;
} toy_options;

static int toy_run(options *common) {
  const toy_options *o = (const toy_options *)common;
  const char *greeting = o->greeting != NULL ? o->greeting : "toy";
  if (common->json) {
    json_begin("nay.toy/1");
    json_count("times", o->times);
    json_text("greeting", greeting);
    json_end();
    return EXIT_FOUND;
  }
  for (uint64_t i = 0; i < o->times; i++) out_text("%s %s\n", greeting, common->operands[0]);
  return EXIT_FOUND;
}

static const option_row toy_rows[] = {
    {"times", 0, "N", COUNT_AT(toy_options, times), .help = "how often", .verbs = "play",
     .preset = 1},
    {"greeting", 'g', "TEXT", TEXT_AT(toy_options, greeting), .help = "say TEXT instead of toy"},
    {0},
};
static const option_use toy_uses[] = {REPORTS(REPORT_JSON), {0}};

const command command_toy = {
    .name = "toy",
    .run = toy_run,
    .size = sizeof(toy_options),
    .summary = "say toy",
    .operands = "play|rest",
    .min_operands = 1,
    .max_operands = 1,
    .verbs = "play rest",
    .own = toy_rows,
    .uses = toy_uses,
    .about = "Says toy.",
};
