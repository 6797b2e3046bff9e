/* cmd_map.c - nay map: static maps, a value for each key. Each verb has a function in
 * cmd_map_<verb>.c. */
#include "maps.h"

static int map_run(options *o) {
  static int (*const verbs[])(options *) = {map_build, map_get, map_info, map_verify};
  return verbs[o->verb](o);
}

#define ROWS "build, get, verify"

static const option_row map_options[] = {
    {"value-bits", 'r', "BITS", OPTION_COUNT, AT(value_bits),
     "bits of a value, 1 to 64 (default: the fewest that hold every value)", NULL, 0, "build"},
    {"check", 0, "BITS", OPTION_NUMBER, AT(check_bits),
     "check bits: a key outside the set is then absent, but for 1 in 2^BITS (default 0)", NULL, 0,
     "build"},
    {"seed", 0, "N|random", OPTION_TEXT, AT(seed), "seed of the hash (default 0)", NULL, 0,
     "build"},
    {"secret", 0, "FILE", OPTION_FILE, AT(secret),
     "file with the secret key of a keyed map: 16 bytes or 32 hex digits", NULL, 0, NULL},
    {"store-key", 0, NULL, OPTION_FLAG, AT(store_key),
     "store the secret key in the file, which then opens without --secret", NULL, 0, "build"},
    {"meta", 0, "TEXT", OPTION_TEXT, AT(meta), "store a note in the file; info shows it", NULL, 0,
     "build"},
    {"output", 'o', "FILE", OPTION_FILE, AT(out), "write FILE, atomically at the end", NULL, 0,
     "build"},
    ROW_FORCE(0, "build"),
    {"keys", 0, "FILE", OPTION_FILES, AT(key_files),
     "get: read keys from FILE; verify: rows; may be repeated", NULL, 0, "get, verify"},
    {"count", 'c', NULL, OPTION_FLAG, AT(count), "print only how many keys are selected", NULL, 0,
     "get"},
    ROW_INVERT("select the keys that are absent", "get"),
    ROW_MAX_COUNT("stop reading a file after COUNT selected keys; 0 selects none", 0, "get"),
    ROW_LINE_NUMBER(0, "get"),
    ROW_NULL(0, ROWS),
    ROW_KEY_TYPE(0, ROWS),
    ROWS_FRAMING(0, ROWS),
    {"value", 0, "NAME|N", OPTION_TEXT, AT(keys.value),
     "the column of the value (default 2): a name in the header, or a number from 1", NULL, 0,
     "build, verify"},
    ROW_THREADS(0, ROWS),
    ROW_PROGRESS(0, ROWS),
    {0},
};

const command command_map = {
    .name = "map",
    .run = map_run,
    .summary = "build and query static maps: a small number for each key",
    .to_stdout = true,
    .operands = "build [FILE...] [-o MAP] | get MAP [KEY...] | info MAP... | verify MAP",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build get info verify",
    .takes = TAKES_JSON,
    .own = map_options,
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
