/* cmd_map.c - nay map: static maps, a value for each key. Each verb has a function in
 * cmd_map_<verb>.c. */
#include "maps.h"

static int map_run(options *o) {
  static int (*const verbs[])(map_options *) = {map_build, map_get, map_info, map_verify};
  return verbs[o->verb]((map_options *)o);
}

static const option_row map_own[] = {
    {"value-bits", 'r', "BITS", COUNT_AT(map_options, value_bits),
     .help = "bits of a value, 1 to 64 (default: the fewest that hold every value)",
     .verbs = "build"},
    {"check", 0, "BITS", NUMBER_AT(map_options, check_bits),
     .help = "check bits: a key outside the set is then absent, but for 1 in 2^BITS (default 0)",
     .verbs = "build"},
    {"secret", 0, "FILE", FILE_AT(map_options, secret),
     .help = "file with the secret key of a keyed map: 16 bytes or 32 hex digits"},
    {"store-key", 0, NULL, FLAG_AT(map_options, store_key),
     .help = "store the secret key in the file, which then opens without --secret",
     .verbs = "build"},
    {"meta", 0, "TEXT", TEXT_AT(map_options, meta),
     .help = "store a note in the file; info shows it", .verbs = "build"},
    {"output", 'o', "FILE", OUTPUT_AT(map_options, output.path),
     .help = "write FILE, atomically at the end", .verbs = "build"},
    {"keys", 0, "FILE", FILES_AT(map_options, keys.files),
     .help = "get: read keys from FILE; verify: rows; may be repeated", .verbs = "get, verify"},
    {"invert-match", 'v', NULL, FLAG_AT(map_options, invert),
     .help = "select the keys that are absent", .verbs = "get"},
    {"value", 0, "NAME|N", TEXT_AT(map_options, keys.value),
     .help = "the column of the value (default 2): a name in the header, or a number from 1",
     .verbs = "build, verify"},
    {0},
};
static const option_use map_uses[] = {
    TAKES_FOR(map_options, size, SIZE_SEED, "build"),
    TAKES_FOR(map_options, output, OUTPUT_FORCE, "build"),
    TAKES_FOR(map_options, select, SELECT_COUNT | SELECT_MAX_COUNT, "get"),
    TAKES_FOR(map_options, keys, KEYS_LINE_NUMBER, "get"),
    TAKES_FOR(map_options, keys, KEYS_STYLE, "build, get, verify"),
    REPORTS(REPORT_JSON),
    REPORTS_FOR(REPORT_PROGRESS, "build, get, verify"),
    {0},
};

const command command_map = {
    .name = "map",
    .run = map_run,
    .size = sizeof(map_options),
    .summary = "build and query static maps: a small number for each key",
    .to_stdout = true,
    .operands = "build [FILE...] [-o MAP] | get MAP [KEY...] | info MAP... | verify MAP",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build get info verify",
    .own = map_own,
    .uses = map_uses,
    .about =
        "A static map gives each key of a set a value of 1 to 64 bits: the shard of a user, the "
        "category of a domain, a small counter. It stores no keys, so it is as small as the "
        "values themselves, and 0.2% more (0.5% for values of 1 bit). A KEY OUTSIDE THE SET GETS "
        "AN ARBITRARY VALUE, unless "
        "the map is built with check bits: then it is absent, but for 1 in 2^BITS of such keys.\n"
        "\n"
        "nay map build [FILE...] reads rows, each a key, a tab and a value: a decimal number, or a "
        "hexadecimal one after 0x. It writes the map to the file of -o, or to standard output. "
        "With "
        "--csv, --tsv or -F the key is the column of -k (default 1), the value that of --value "
        "(default 2). With --key=u64le or --length-prefixed each key is followed by its value, 8 "
        "bytes little-endian. Blank lines are no rows. A key may come more than once if its values "
        "are equal; with two values it is an error that names file and line. 16 bytes per row are "
        "kept until the end.\n"
        "\n"
        "nay map get MAP [KEY...] (MAP may be -, standard input) prints the keys, each with a tab "
        "and its value. Without KEY it "
        "reads keys from standard input or --keys. Keys that are absent are left out; -v prints "
        "those alone.\n"
        "\n"
        "nay map info MAP... describes maps. nay map verify MAP checks every checksum, and with "
        "--keys that the map has the values of all rows of a file, which are read as those of "
        "build.\n"
        "\n"
        "Exit status: 0; for get, 1 when no key was selected; for verify, 1 when a row has another "
        "value; 2 for trouble; 3 for a file that is corrupt or not a map.",
    .examples =
        "$ printf 'ada\\t3\\ngrace\\t1\\nalan\\t7\\n' > shards.tsv\n"
        "$ nay map build -q --check 16 -o shards.nay shards.tsv\n"
        "$ nay map get shards.nay grace alan kurt\n"
        "grace\t1\n"
        "alan\t7\n"
        "$ nay map verify --keys shards.tsv shards.nay\n"
        "shards.nay: intact, every checksum matches\n"
        "shards.nay: 3 rows, 0 wrong\n",
};
