/*
 * option_groups.h - the options that several commands share. A group is a struct that a command
 * embeds and a table of rows in option_groups.c; the parts say which rows a command takes.
 */
#ifndef NAY_OPTION_GROUPS_H
#define NAY_OPTION_GROUPS_H

#include "options.h"

/* size_options: the filter to make. */
typedef struct size_options {
  nay_kind kind;
  uint64_t nkeys, max_keys, nbytes, nbits, probes, fold;
  double fpr, bits_per_key;
  const char *seed;
  uint64_t range_length;
  unsigned range_keys; /* RANGE_KEYS_DEFAULT, or 1 + nay_range_keys */
  const char *range_delimiter;
} size_options;
enum {
  SIZE_FAMILY = 1,   /* -t -p -b */
  SIZE_KEYS = 2,     /* -n -M */
  SIZE_SHAPE = 4,    /* --nbits --probes --fold */
  SIZE_MAX_KEYS = 8, /* --max-keys */
  SIZE_SEED = 16,    /* --seed */
  SIZE_RANGE = 32    /* --range-length --range-keys --range-delimiter */
};
extern const option_group size_group;

/* size_params: what they say; the default FPR when none of them sets a size. m, n and k without a
 * family and a layout are those of a Bloom filter. */
nay_params size_params(const size_options *size, const nay_format *format, double default_fpr);

/* filter_options: a filter, or a table, in a file. */
typedef struct filter_options {
  const nay_format *format;
  const char *table_format; /* --format, of a table; NULL: by its magic number */
  const char *secret;
  bool guesses; /* no option: a layout that is only likely is taken */
} filter_options;
enum {
  FILTER_FORMAT = 1,      /* --format */
  FILTER_FILE_FORMAT = 2, /* --format also names a table, of nay_sst.h */
  FILTER_SECRET = 4       /* --secret */
};
extern const option_group filter_group;

/* keys_options: how keys are stored in files, or the keys themselves. */
typedef struct keys_options {
  bool recursive, with_name, stats;
  text_list files_from;
  const struct key_files *listed; /* key_files.h: the files of these two; else NULL */
  bool null, crlf, length_prefixed, csv, tsv, jsonl, header, skip_empty, no_decompress, line_number;
  unsigned type;          /* nay_key_type, or KEY_U64LE */
  unsigned form;          /* KEY_FORM_...: bytes that other systems make of a value */
  bool type_given;        /* by --key, not by a file: described.h */
  bool trim, ignore_case; /* transformations, of the options or of a file */
  bool adopted;           /* some of the description is of a file */
  const char *stated_by;  /* the file that the type is from, or NULL */
  const char *silent;     /* a file that cannot state it, or NULL */
  const char *delimiter;
  const char *separator;   /* -F */
  const char *column;      /* a name or a number from 1, with -F a list of them; NULL: the first */
  bool values;             /* a record is a key and its value */
  bool value_is_rest;      /* all that follows the key's column */
  const char *value;       /* its column, with -F its field, or NULL: the second */
  bool value_is_partition; /* the option that names it is --partition, not --value */
  const struct nay_filter *ranges; /* not NULL: the value is the second end of a range of it */
  const struct key_check *check;   /* not NULL: keys.h */
  unsigned on_bad;                 /* bads.h */
  const char *bad_to;              /* or NULL */
  uint64_t max_record;             /* bytes, 0: any number */
  text_list args;                  /* keys that are arguments: no file is read then */
  text_list files;                 /* --keys */
  uint64_t threads;
} keys_options;
enum {
  KEYS_TYPE = 1,    /* --key --trim --ignore-case */
  KEYS_NULL = 2,    /* -0 */
  KEYS_FRAMING = 4, /* --csv -F -k and so on */
  KEYS_THREADS = 8, /* -T */
  KEYS_BAD = 128,   /* --on-bad --bad-to --max-record --stats */
  KEYS_STYLE = KEYS_TYPE | KEYS_NULL | KEYS_FRAMING | KEYS_THREADS | KEYS_BAD,
  KEYS_FILES = 16,      /* --keys */
  KEYS_DIRS = 256,      /* --recursive --files-from */
  KEYS_NAME = 512,      /* -H */
  KEYS_ARGS = 32,       /* -e */
  KEYS_LINE_NUMBER = 64 /* --line-number */
};
extern const option_group keys_group;

#define KEY_U64LE 64u     /* binary integers, which have no text: records of 8 bytes, each a key */
#define KEY_FORM_32 1u    /* the low 4 of the 8 bytes of an integer, a date or a bool */
#define KEY_FORM_UTF16 2u /* UTF-16, little-endian, of a text in UTF-8 */
#define KEYS_THREADS_DEFAULT 2u

/* keys_threads: the value of -T; 0 stands for the number of CPUs. At most 256. */
uint32_t keys_threads(const keys_options *keys);

/*
 * keys_operands: the key files among the operands, from the given one on; exits when keys are
 * arguments too (-e): then nothing is read.
 */
const char *const *keys_operands(const options *o, const keys_options *keys, int from, size_t *n);

/* select_options: which keys are selected, as in grep. */
typedef struct select_options {
  bool count, only_names;
  uint64_t max_count; /* UINT64_MAX: no limit */
} select_options;
enum {
  SELECT_COUNT = 1 /* -c */,
  SELECT_MAX_COUNT = 2 /* --max-count */,
  SELECT_NAMES = 4 /* -l */
};
extern const option_group select_group;

/* window_options: the time of windows, see window_time.h. */
typedef struct window_options {
  const char *length, *now, *column;
  unsigned unit; /* of numbers in the column: s, ms, us, ns */
} window_options;
enum { WINDOW_LENGTH = 1 /* --window */, WINDOW_COLUMN = 2 /* --time-column --time-unit */ };
extern const option_group window_group;

/* output_options: -o -f. */
typedef struct output_options {
  const char *path; /* NULL: not given */
  bool force;
} output_options;
enum { OUTPUT_PATH = 1, OUTPUT_FORCE = 2, OUTPUT_FILE = OUTPUT_PATH | OUTPUT_FORCE };
extern const option_group output_group;

/* Of struct options. */
enum { REPORT_JSON = 1, REPORT_STRICT = 2, REPORT_PROGRESS = 4 };
extern const option_group report_group;

/* Those of every command: -q --color -h. */
extern const option_group every_group;

#endif /* NAY_OPTION_GROUPS_H */
