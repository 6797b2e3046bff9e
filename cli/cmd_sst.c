/*
 * cmd_sst.c - nay sst: sorted tables in LevelDB's format, with filters inside. Each verb has a file
 * of its own, cmd_sst_<verb>.c.
 */
#include "tables.h"

/* In the order of table_filter and table_codec in tables.h. */
static const char *const sst_filters[] = {"full", "partitioned", "leveldb", "small",
                                          "none", "quotient",    NULL};
static const char *const sst_codecs[] = {"none", "snappy", "lz4", "zstd", NULL};

static int sst_run(options *o) {
  table_set_comparator(o);
  static int (*const verbs[])(options *) = {sst_build, sst_get, sst_scan, sst_info, sst_compact};
  return verbs[o->verb](o);
}

#define MAKING "build, compact"

static const option_row sst_options[] = {
    {"type", 't', "KIND", OPTION_KIND, AT(kind), "family of the filters (default auto)", NULL, 0,
     MAKING},
    {"nkeys", 'n', "COUNT", OPTION_COUNT, AT(nkeys),
     "number of keys to size a full filter for, which is then filled as the rows come, without "
     "memory for each key (default: they are counted)",
     NULL, 0, "build"},
    {"fpr", 'p', "FPR", OPTION_FPR, AT(fpr), "false-positive rate: 0.01, 1%, 1/256", NULL, 0,
     MAKING},
    {"bits", 'b', "BITS", OPTION_REAL, AT(bits_per_key), "bits per key, instead of an FPR", NULL, 0,
     MAKING},
    {"filter", 0, "KIND", OPTION_CHOICE, AT(table_filter),
     "one filter for the table, one for each range of keys, or one for each 2 KiB of data, as "
     "LevelDB stores them or with fewer false positives; quotient: in each block of a nori table, "
     "without -b (default full):",
     sst_filters, 0, MAKING},
    {"prefix-length", 0, "N", OPTION_COUNT, AT(prefix_length),
     "also a filter of the first N bytes of each key, for scans", NULL, 0, MAKING},
    {"prefix-delimiter", 0, "C", OPTION_TEXT, AT(prefix_delimiter),
     "also a filter of each key up to its first C", NULL, 0, MAKING},
    {"compress", 0, "CODEC", OPTION_CHOICE, AT(compress),
     "codec of the data blocks; LevelDB reads snappy, after 1.23 also zstd; lz4 is read by nay "
     "alone, "
     "and in tables of nori by nori:",
     sst_codecs, 0, MAKING},
    {"block", 0, "SIZE", OPTION_SIZE, AT(block_bytes), "size of a block (default 4096)", NULL, 0,
     MAKING},
    {"properties", 0, NULL, OPTION_FLAG, AT(properties),
     "also store counts, sizes and the range of keys and sequence numbers, which info shows", NULL,
     0, MAKING},
    {"output", 'o', "FILE", OPTION_FILE, AT(out), "write FILE, atomically", NULL, 0, MAKING},
    {"sort", 0, NULL, OPTION_FLAG, AT(sort),
     "sort the rows first, in memory; of equal keys the last one wins", NULL, 0, "build"},
    {"sequence", 0, "N", OPTION_NUMBER, AT(sequence), "internal keys with this sequence number",
     NULL, 0, "build"},
    {"bottom", 0, NULL, OPTION_FLAG, AT(bottom),
     "no older table lies below, so deletions are dropped", NULL, 0, "compact"},
    {"target-size", 0, "SIZE", OPTION_SIZE, AT(target_bytes),
     "several tables of about SIZE with disjoint ranges of keys: FILE with a number before its "
     "suffix",
     NULL, 0, "compact"},
    {"snapshot", 0, "N", OPTION_NUMBER, AT(snapshot),
     "get, scan: only versions up to sequence number N; compact: keep the versions that a reader "
     "at "
     "sequence N can see",
     NULL, 0, "get, scan, compact"},
    {"format", 0, "NAME", OPTION_TABLE_FORMAT, AT(table_format),
     "layout of the tables: build: to write (default LevelDB's); else to read, where they have no "
     "magic number; nori and mini-lsm for short",
     NULL, 0, NULL},
    {"comparator", 0, "NAME", OPTION_TEXT, AT(comparator),
     "order of the keys: bytewise, reverse, decimal, or prefix.N: N bytes ascending, the rest "
     "descending (default: what the table names, or bytewise)",
     NULL, 0, NULL},
    ROW_FORCE(0, MAKING),
    {"from", 0, "KEY", OPTION_TEXT, AT(from), "start at KEY", NULL, 0, "scan"},
    {"to", 0, "KEY", OPTION_TEXT, AT(upto), "end before KEY", NULL, 0, "scan"},
    {"prefix", 0, "KEY", OPTION_TEXT, AT(prefix), "only keys that start with KEY", NULL, 0, "scan"},
    {"reverse", 0, NULL, OPTION_FLAG, AT(reverse), "from the last key to the first", NULL, 0,
     "scan"},
    ROW_MAX_COUNT("at most COUNT entries; get: of the keys of each file", 0, "get, scan"),
    ROW_LINE_NUMBER(0, "get"),
    {"versions", 0, NULL, OPTION_FLAG, AT(versions),
     "all versions of internal keys, with sequence number and type", NULL, 0, "scan"},
    {"no-values", 0, NULL, OPTION_FLAG, AT(no_values), "print only the keys", NULL, 0, "get, scan"},
    {"count", 'c', NULL, OPTION_FLAG, AT(count), "print only how many keys are selected", NULL, 0,
     "get, scan"},
    ROW_INVERT("select the keys that are absent", "get"),
    {"older", 0, "TABLE", OPTION_FILES, AT(older),
     "another table, for keys that those before it do not know; may be repeated", NULL, 0, "get"},
    {"keys", 0, "FILE", OPTION_FILES, AT(key_files), "read keys from FILE; may be repeated", NULL,
     0, "get"},
    {"prom", 0, NULL, OPTION_FLAG, AT(prom),
     "write metrics for Prometheus; get: the counters of the lookups, instead of the keys", NULL, 0,
     "get, info"},
    {"verify", 0, NULL, OPTION_FLAG, AT(verify_table), "read every block, count the entries", NULL,
     0, "info"},
    ROW_NULL(0, "build, get, scan"),
    ROW_KEY_TYPE(0, "build, get, scan, compact"),
    ROWS_FRAMING(0, "build, get"),
    {"threads", 'T', "N", OPTION_NUMBER, AT(threads),
     "build, get: 1: none beside that which reads and hashes; compact: with --target-size, ranges "
     "of keys that are compacted at the same time. 0: one for each CPU (default 2)",
     NULL, 0, "build, get, compact"},
    ROW_PROGRESS(0, "build, get, compact"),
    {0},
};

const command command_sst = {
    .name = "sst",
    .run = sst_run,
    .summary = "build, query, scan and compact sorted tables with filters",
    .operands =
        "build [FILE...] -o TABLE | get TABLE [KEY...] | scan TABLE... | info TABLE... | compact "
        "TABLE... -o TABLE",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "build get scan info compact",
    .takes = TAKES_JSON,
    .own = sst_options,
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
