/*
 * cmd_sst.c - nay sst: sorted tables in LevelDB's format, with filters inside. Each verb has a file
 * of its own, cmd_sst_<verb>.c.
 */
#include "tables.h"

/* In the order of table_filter in tables.h. */
static const char *const sst_filters[] = {"full", "partitioned", "leveldb", "small",
                                          "none", "quotient",    "range",   NULL};
#define CODEC_TEXT(name, id, text) text,
static const char *const sst_codecs[] = {"none", NAY_CODECS(CODEC_TEXT) NULL};

static int sst_run(options *common) {
  static int (*const verbs[])(sst_options *) = {sst_build, sst_get, sst_scan, sst_info,
                                                sst_compact};
  sst_options *o = (sst_options *)common;
  table_set_comparator(o);
  table_set_filters(o);
  return verbs[common->verb](o);
}

#define MAKING "build, compact"

static const option_row sst_rows[] = {
    {"type", 't', "KIND", KIND_AT(sst_options, size.kind),
     .help = "family of the filters (default auto)", .verbs = MAKING},
    {"nkeys", 'n', "COUNT", COUNT_AT(sst_options, size.nkeys),
     .help =
         "number of keys to size a full filter for, which is then filled as the rows come, without "
         "memory for each key (default: they are counted)",
     .verbs = "build"},
    {"fpr", 'p', "FPR", FPR_AT(sst_options, size.fpr),
     .help = "false-positive rate: 0.01, 1%, 1/256", .verbs = MAKING},
    {"bits", 'b', "BITS", REAL_AT(sst_options, size.bits_per_key),
     .help = "bits per key, instead of an FPR", .verbs = MAKING},
    {"filter", 0, "KINDS", CHOICES_AT(sst_options, filters),
     .help =
         "one filter for the table, one for each range of keys, or one for each 2 KiB of data, as "
         "LevelDB stores them or with fewer false positives; quotient: in each block of a nori "
         "table, without -b; range: also, or alone, a filter that scans with two ends ask "
         "(default full):",
     .choices = sst_filters, .verbs = MAKING},
    {"prefix-length", 0, "N", COUNT_AT(sst_options, prefix_length),
     .help = "also a filter of the first N bytes of each key, for scans", .verbs = MAKING},
    {"prefix-delimiter", 0, "C", TEXT_AT(sst_options, prefix_delimiter),
     .help = "also a filter of each key up to its first C", .verbs = MAKING},
    {"compress", 0, "CODEC", CHOICE_AT(sst_options, compress),
     .help =
         "codec of the data blocks; LevelDB reads snappy, after 1.23 also zstd; lz4 is read by nay "
         "alone, and in tables of nori by nori:",
     .choices = sst_codecs, .verbs = MAKING},
    {"block", 0, "SIZE", SIZE_AT(sst_options, block_bytes),
     .help = "size of a block (default 4096)", .verbs = MAKING},
    {"properties", 0, NULL, FLAG_AT(sst_options, properties),
     .help =
         "also store counts, sizes and the range of keys and sequence numbers, which info shows",
     .verbs = MAKING},
    {"output", 'o', "FILE", OUTPUT_AT(sst_options, output.path), .help = "write FILE, atomically",
     .verbs = MAKING},
    {"sort", 0, NULL, FLAG_AT(sst_options, sort),
     .help = "sort the rows first, in memory; of equal keys the last one wins", .verbs = "build"},
    {"sequence", 0, "N", NUMBER_AT(sst_options, sequence),
     .help = "internal keys with this sequence number", .verbs = "build",
     .preset = NUMBER_NOT_GIVEN},
    {"bottom", 0, NULL, FLAG_AT(sst_options, bottom),
     .help = "no older table lies below, so deletions are dropped", .verbs = "compact"},
    {"target-size", 0, "SIZE", SIZE_AT(sst_options, target_bytes),
     .help = "several tables of about SIZE with disjoint ranges of keys: FILE with a number before "
             "its suffix",
     .verbs = "compact"},
    {"snapshot", 0, "N", NUMBER_AT(sst_options, snapshot),
     .help = "get, scan: only versions up to sequence number N; compact: keep the versions that a "
             "reader "
             "at sequence N can see",
     .verbs = "get, scan, compact", .preset = NUMBER_NOT_GIVEN},
    {"format", 0, "NAME", TABLE_FORMAT_AT(sst_options, table_format),
     .help = "layout of the tables: build: to write (default LevelDB's); else to read, where they "
             "have no "
             "magic number; nori and mini-lsm for short"},
    {"comparator", 0, "NAME", TEXT_AT(sst_options, comparator),
     .help =
         "order of the keys: bytewise, reverse, decimal, or prefix.N: N bytes ascending, the rest "
         "descending (default: what the table names, or bytewise)"},
    {"from", 0, "KEY", TEXT_AT(sst_options, from), .help = "start at KEY", .verbs = "scan"},
    {"to", 0, "KEY", TEXT_AT(sst_options, upto), .help = "end before KEY", .verbs = "scan"},
    {"prefix", 0, "KEY", TEXT_AT(sst_options, prefix), .help = "only keys that start with KEY",
     .verbs = "scan"},
    {"reverse", 0, NULL, FLAG_AT(sst_options, reverse), .help = "from the last key to the first",
     .verbs = "scan"},
    {"max-count", 'm', "COUNT", NUMBER_AT(sst_options, select.max_count),
     .help = "at most COUNT entries; get: of the keys of each file", .verbs = "get, scan"},
    {"versions", 0, NULL, FLAG_AT(sst_options, versions),
     .help = "all versions of internal keys, with sequence number and type", .verbs = "scan"},
    {"no-values", 0, NULL, FLAG_AT(sst_options, no_values), .help = "print only the keys",
     .verbs = "get, scan"},
    {"invert-match", 'v', NULL, FLAG_AT(sst_options, invert),
     .help = "select the keys that are absent", .verbs = "get"},
    {"older", 0, "TABLE", FILES_AT(sst_options, older),
     .help = "another table, for keys that those before it do not know; may be repeated",
     .verbs = "get"},
    {"prom", 0, NULL, FLAG_AT(sst_options, prom),
     .help = "write metrics for Prometheus; get: the counters of the lookups, instead of the keys",
     .verbs = "get, info"},
    {"verify", 0, NULL, FLAG_AT(sst_options, verify), .help = "read every block, count the entries",
     .verbs = "info"},
    {"threads", 'T', "N", NUMBER_AT(sst_options, keys.threads),
     .help = "build, get: threads; 1: one thread reads, hashes and works. compact: with "
             "--target-size, ranges of keys that are compacted at the same time. 0: one for each "
             "CPU (default 2)",
     .verbs = "build, get, compact"},
    {0},
};
static const option_use sst_uses[] = {
    TAKES_FOR(sst_options, size, SIZE_RANGE, MAKING),
    TAKES_FOR(sst_options, output, OUTPUT_FORCE, MAKING),
    TAKES_FOR(sst_options, select, SELECT_COUNT, "get, scan"),
    TAKES_FOR(sst_options, keys, KEYS_FILES | KEYS_LINE_NUMBER, "get"),
    TAKES_FOR(sst_options, keys, KEYS_NULL, "build, get, scan"),
    TAKES_FOR(sst_options, keys, KEYS_TYPE, "build, get, scan, compact"),
    TAKES_FOR(sst_options, keys, KEYS_BAD, "build, get"),
    TAKES_FOR(sst_options, keys, KEYS_FRAMING, "build, get"),
    REPORTS(REPORT_JSON),
    REPORTS_FOR(REPORT_PROGRESS, "build, get, compact"),
    {0},
};

const command command_sst = {
    .name = "sst",
    .run = sst_run,
    .size = sizeof(sst_options),
    .summary = "build, query, scan and compact sorted tables with filters",
    .operands =
        "build [FILE...] -o TABLE | get TABLE [KEY...] | scan TABLE... | info TABLE... | compact "
        "TABLE... -o TABLE",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build get scan info compact",
    .own = sst_rows,
    .uses = sst_uses,
    .about =
        "A table (SST) is a file of sorted keys and values in LevelDB's format, with filters that "
        "say which keys are certainly not in it.\n"
        "\n"
        "nay sst build [FILE...] -o TABLE reads rows, each a key, a tab and a value, or a key "
        "alone. With --csv, -F or -k the value is the whole row. Rows must be in the "
        "order of their keys, bytewise or --comparator, without duplicates; --sort sorts them in "
        "memory and keeps the last "
        "of equal keys. With --sequence the keys are internal keys, as inside a LevelDB database: "
        "a row without a tab is then a deletion.\n"
        "\n"
        "--filter=full,range adds a range filter: a scan from --from to --to of at most "
        "--range-length numbers then reads no block of a table without such keys, but for -p of "
        "the scans (default 1%). It needs keys that end in numbers, in the order of their bytes: "
        "--key=int and the other typed numbers, whose keys become ordered ones (ordered-int), text "
        "that ends in equally many digits behind equally many --range-delimiter, or --range-keys. "
        "Any other scan reads the data.\n"
        "\n"
        "--format=nori writes a table of nori, with one Bloom filter, or --filter=quotient; "
        "--sequence is then the index of its entries. --format=mini-lsm-sst writes one of "
        "mini-lsm; "
        "a row without a value is a deletion there, and --sequence the timestamp "
        "of mini-lsm-sst-week3. mini-lsm-sst-day4 has no filter, the others of mini-lsm always the "
        "same. "
        "The bytes are those of the engines.\n"
        "\n"
        "nay sst get TABLE [KEY...] prints those of the keys that it finds, each with a tab and "
        "its value. Without KEY it reads keys from standard input or --keys. --older names "
        "further tables, the newest first: the first one that knows a key answers. -v selects the "
        "keys that are absent. With --json, -c also writes what the lookups did in each table: "
        "filters probed, nays, false positives, the measured false-positive rate (FPR) with its "
        "95% "
        "interval, blocks searched; --prom writes these counters for Prometheus.\n"
        "\n"
        "nay sst scan TABLE... prints all entries, those from --from to before --to, or those that "
        "start with --prefix, in the order of their keys; of several tables, newest first, each "
        "key "
        "once, as a lookup finds it. --from, "
        "--to and --prefix are values of the type that the tables state, or of --key, and keys are "
        "printed as such; --key=hex and b64 show the bytes of keys of any type. For internal keys "
        "it prints what a user sees; "
        "--versions prints all versions, each preceded by its sequence number and put or delete.\n"
        "\n"
        "nay sst info TABLE... describes tables; --verify reads every block, and exits with 3 if "
        "one, or a filter, is damaged. --prom writes "
        "metrics: "
        "bytes, entries, blocks, and of the filters bytes, bits per key, expected FPR, "
        "utilisation.\n"
        "\n"
        "get, scan, info and compact also read the tables of nori, which are recognised, and of "
        "mini-lsm, which --format must name: mini-lsm-sst tells its four forms apart. Their keys "
        "appear as internal keys: the sequence number is the version that the table stores. info "
        "says what is special about such a table, with --verify also how many of its keys the "
        "engine that wrote it denies; here they are found.\n"
        "\n"
        "nay sst compact TABLE... -o TABLE merges tables, newest first, into one. Of equal keys "
        "the newest is kept. Deletions are kept too, because older tables may lie below; --bottom "
        "says that there are none, and drops them. Filters are built anew. The new table is "
        "LevelDB's, "
        "of whatever tables it is made: --format names those of mini-lsm that are read. It states "
        "the type of the keys that the tables state; tables of other programs state none, and "
        "--key says it.\n"
        "\n"
        "Exit status: 0; for get and scan, 1 when nothing was selected; 2 for trouble; 3 for a "
        "file that is corrupt or not a table.",
    .examples =
        "$ printf 'ada\\t1815\\ngrace\\t1906\\n' | nay sst build -q -o people.ldb\n"
        "$ nay sst get people.ldb grace alan\n"
        "grace\t1906\n"
        "nay sst: 2 keys looked up, 1 selected; filter negatives: 1, blocks read: 1\n"
        "$ nay sst get -q --json -c people.ldb grace bob | jq -c '.tables[0] | [.ngets, "
        ".nfilter_useful]'\n"
        "[2,1]\n"
        "$ printf 'ada\\tLovelace\\nalan\\tTuring\\n' | nay sst build -q --filter small -o "
        "new.ldb\n"
        "$ nay sst compact --key=text new.ldb people.ldb -o all.ldb\n"
        "nay sst: wrote all.ldb: 3 entries of 4; superseded: 1, deletions dropped: 0\n"
        "$ nay sst scan all.ldb --to b\n"
        "ada\tLovelace\n"
        "alan\tTuring\n",
};
