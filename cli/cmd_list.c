/* cmd_list.c - nay list: exact lists. The verbs are in cmd_list_build.c (build, delta), _check.c
 * and _info.c (info, verify). */
#include "lists.h"

static int list_run(options *o) {
  static int (*const verbs[])(list_options *) = {list_build, list_check, list_info, list_verify,
                                                 list_delta};
  return verbs[o->verb]((list_options *)o);
}

static const char *const list_outside[] = {"join", "drop", "refuse", NULL};

static const option_row list_own[] = {
    {"universe", 'u', "FILE", FILES_AT(list_options, universe),
     .help = "the keys of the universe, listed or not; may be repeated",
     .verbs = "build, verify, delta"},
    {"partition", 0, "NAME|N", TEXT_AT(list_options, partition),
     .help = "the column of the partition, an attribute on which the share of listed keys depends: "
             "a name in the header, or a number from 1"},
    {"partition-prefix", 0, "BYTES", COUNT_AT(list_options, partition_prefix),
     .help = "the first BYTES of a key are its partition", .verbs = "build"},
    {"partition-delimiter", 0, "C", TEXT_AT(list_options, partition_delimiter),
     .help = "what a key has before its first C is its partition (\\t: a tab)", .verbs = "build"},
    {"check", 0, "BITS", NUMBER_AT(list_options, check_bits),
     .help = "check bits, 0 to 32: a key outside the universe is then unknown, but for 1 in 2^BITS "
             "(default 0)",
     .verbs = "build, delta", .preset = NUMBER_NOT_GIVEN},
    {"outside", 0, "WHAT", CHOICE_AT(list_options, outside),
     .help = "what becomes of a listed key that is not of the universe: refuse it (default), drop "
             "it, or let it join the universe:",
     .choices = list_outside, .verbs = "build, delta", .preset = NAY_LIST_REFUSE},
    {"low-memory", 0, NULL, FLAG_AT(list_options, low_memory),
     .help = "keep the keys in a temporary file while the list is built", .verbs = "build, delta"},
    {"two-passes", 0, NULL, FLAG_AT(list_options, two_passes),
     .help = "read the files of the universe again instead of keeping their keys",
     .verbs = "build, delta"},
    {"secret", 0, "FILE", FILE_AT(list_options, secret),
     .help = "file with the secret key of a keyed list: 16 bytes or 32 hex digits"},
    {"store-key", 0, NULL, FLAG_AT(list_options, store_key),
     .help = "store the secret key in the file, which then opens without --secret",
     .verbs = "build, delta"},
    {"meta", 0, "TEXT", TEXT_AT(list_options, meta),
     .help = "store a note in the file; info shows it", .verbs = "build, delta"},
    {"output", 'o', "FILE", OUTPUT_AT(list_options, output.path),
     .help = "write FILE, atomically at the end", .verbs = "build, delta"},
    {"keys", 0, "FILE", FILES_AT(list_options, keys.files),
     .help = "check: read keys from FILE; verify: the listed keys; may be repeated",
     .verbs = "check, verify"},
    {"invert-match", 'v', NULL, FLAG_AT(list_options, invert),
     .help = "select the keys that are not listed", .verbs = "check"},
    {"annotate", 'a', NULL, FLAG_AT(list_options, annotate),
     .help = "print every key, preceded by \"yea\", \"nay\" or \"unknown\" and a tab",
     .verbs = "check"},
    {0},
};
static const option_use list_uses[] = {
    TAKES_FOR(list_options, size, SIZE_SEED, "build, delta"),
    TAKES_FOR(list_options, output, OUTPUT_FORCE, "build, delta"),
    TAKES_FOR(list_options, select, SELECT_COUNT | SELECT_MAX_COUNT, "check"),
    TAKES_FOR(list_options, keys, KEYS_LINE_NUMBER | KEYS_ARGS, "check"),
    TAKES_FOR(list_options, keys, KEYS_STYLE, "build, check, verify, delta"),
    REPORTS(REPORT_JSON),
    REPORTS_FOR(REPORT_PROGRESS, "build, check, verify, delta"),
    {0},
};

const command command_list = {
    .name = "list",
    .run = list_run,
    .size = sizeof(list_options),
    .summary = "build and query exact lists: which keys of a known universe are listed",
    .to_stdout = true,
    .operands =
        "build [LISTED...] [-o LIST] | check LIST [DELTA...] | info LIST... | "
        "verify LIST [DELTA...] | delta LIST [DELTA...] NOW [-o DELTA]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build check info verify delta",
    .own = list_own,
    .uses = list_uses,
    .about =
        "A KEY OUTSIDE THE UNIVERSE GETS AN ARBITRARY ANSWER, unless the list is built with check "
        "bits: then it is unknown, but for 1 in 2^BITS of such keys. A key of the universe is "
        "answered exactly: listed or not, without an error. An exact list stores no keys: of "
        "revoked certificates, 1 in 70 of all, it takes some 8 bits for each revoked one.\n"
        "\n"
        "nay list build --universe ALL [LISTED...] builds the list of the keys in the files LISTED "
        "(default: standard input) among those of ALL, and writes it to the file of -o, or to "
        "standard output. At the end every key is asked: if one were answered wrongly, nothing "
        "would be written. A listed key that is not in ALL is an error that names file and line; "
        "--outside says otherwise. Keys may come more than once. 24 bytes for each key are kept "
        "until the end, with --low-memory in a temporary file (TMPDIR).\n"
        "\n"
        "With --two-passes the files of the universe are read twice, three times where most keys "
        "of one partition are listed and few of another, and only listed keys and some as many "
        "others are kept. The list is the same. The universe must be regular files, not a pipe, "
        "with each key once; if they change between the passes, nothing is written. Not with "
        "--check, nor with --outside of build.\n"
        "\n"
        "Where the share of listed keys depends on an attribute that those who ask know, such as "
        "the issuer of a certificate, --partition names its column, and the list is smaller. A key "
        "is then the partition, a tab and the key itself: without --partition check reads lines of "
        "that form. Keys of a partition that has none are unknown.\n"
        "\n"
        "nay list check LIST prints the records of standard input, or of --keys, whose keys are "
        "listed, unchanged; -v those that are not; unknown ones by neither. -a prints all, "
        "annotated, -e KEY asks for KEY itself.\n"
        "\n"
        "nay list delta --universe ALL LIST NOW writes what has changed: ALL are the keys of now, "
        "NOW those that are listed now, or a list of them. Pass both to those who have LIST: nay "
        "list check LIST DELTA answers as a new list would. A delta may follow a delta: nay list "
        "delta --universe ALL LIST DELTA NOW. Each states which file it follows, so another order "
        "is an error.\n"
        "\n"
        "nay list info LIST... describes lists, with the least number of bits that any such list "
        "needs. nay list verify LIST [DELTA...] checks every checksum; with --universe that the "
        "universe is the one of the list, and with --keys, the listed ones, every answer.\n"
        "\n"
        "Exit status: 0; for check, 1 when no key was selected; for verify, 1 when an answer is "
        "wrong; 2 for trouble; 3 for a file that is corrupt or no list.",
    .examples =
        "$ seq 1 1000 > all\n"
        "$ seq 1 100 1000 > revoked\n"
        "$ nay list build -q --universe all -o revoked.nay revoked\n"
        "$ seq 99 103 | nay list check -q -a revoked.nay\n"
        "nay\t99\n"
        "nay\t100\n"
        "yea\t101\n"
        "nay\t102\n"
        "nay\t103\n"
        "$ echo 5 >> revoked\n"
        "$ nay list delta -q --universe all -o today.nay revoked.nay revoked\n"
        "$ nay list check -q -e 5 -e 6 -e 101 revoked.nay today.nay\n"
        "5\n"
        "101\n"
        "$ nay list verify --universe all --keys revoked revoked.nay today.nay\n"
        "revoked.nay: intact, every checksum matches\n"
        "today.nay: intact, every checksum matches\n"
        "today.nay: 1,000 keys, 0 wrong\n",
};
