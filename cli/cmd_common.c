/* cmd_common.c - nay common: the keys of B that a filter of A may hold. */
#include "compare.h"

static int common_run(options *o) { return compare_run(o, true); }

const command command_common = {
    .name = "common",
    .run = common_run,
    .size = sizeof(compare_options),
    .summary = "print the keys of B that are also in A",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .uses = compare_uses,
    .about =
        "Builds a filter of A and prints the keys of B for which it answers maybe, in order. "
        "Every common key is printed. With probability -p (default one in a million) a key that "
        "is not in A is printed too.\n"
        "\n"
        "Exit status: 0 when a key was printed, 1 when none was; with --strict, 4 when the filter "
        "was too small for that probability, which a warning says in any case.",
    .examples =
        "$ seq 1 8 > a\n"
        "$ seq 5 10 > b\n"
        "$ nay common a b\n"
        "5\n6\n7\n8\n",
};
