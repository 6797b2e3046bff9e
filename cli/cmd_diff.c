/* cmd_diff.c - nay diff: the keys of B that a filter of A denies. */
#include "compare.h"

static int diff_run(options *o) { return compare_run(o, false); }

const command command_diff = {
    .name = "diff",
    .run = diff_run,
    .size = sizeof(compare_options),
    .summary = "print the keys of B that are not in A",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .uses = compare_uses,
    .about =
        "Builds a filter of A and prints the keys of B for which it answers nay, in order, "
        "without sorting; only the filter is kept in memory. Every printed key is certainly not "
        "in A. With probability -p (default one in a million) a key that is not in A is not "
        "printed.\n"
        "\n"
        "Exit status: 0 when a key was printed, 1 when none was; with --strict, 4 when the filter "
        "was too small for that probability, which a warning says in any case.",
    .examples =
        "$ seq 1 8 > a\n"
        "$ seq 5 10 > b\n"
        "$ nay diff a b\n"
        "9\n10\n",
};
