/*
 * filterfile.h - filters in files: opening any known layout, saving, and reports.
 */
#ifndef NAY_FILTERFILE_H
#define NAY_FILTERFILE_H

#include "promise.h"

/* What is known of a file that was tried. filter is NULL when status is not NAY_OK. */
typedef struct filter_file {
  nay_filter *filter;
  const nay_format *format; /* NULL when it is not recognised */
  uint64_t nbytes;
  bool likely; /* the layout is a guess by the numbers in the file */
  nay_status status;
  char why[2 * DIAG_TEXT]; /* room for the names of all layouts */
} filter_file;

/* filterfile_try: "-" is standard input. format NULL: recognise it by its magic number,
 * or one of Cassandra's files by its name. */
filter_file filterfile_try(const char *path, const filter_options *filter);

/* filterfile_open: the same, but exits with the status of the error; unlocked if it is keyed. */
nay_filter *filterfile_open(const options *o, const filter_options *filter, const char *path);

/* filterfile_read_as: the filter in a file when its bytes are read in this layout; NULL when they
 * cannot be. */
nay_filter *filterfile_read_as(const char *path, const nay_format *format);

/* filterfile_is_regular: a file that the library can open by its name; "-" is none.
 * filterfile_bytes: all bytes of any other file, in memory to be freed; false, and why, when it
 * cannot be opened. */
bool filterfile_is_regular(const char *path);
bool filterfile_bytes(const char *path, uint8_t **bytes, size_t *len, char why[DIAG_TEXT]);

/* filterfile_unlock: gives a keyed filter the key of --secret; exits when it is missing or wrong.
 */
void filterfile_unlock(nay_filter *f, const char *path, const char *secret);

/* filterfile_secret: reads --secret; false when there is none. */
bool filterfile_secret(const char *path, uint8_t key[16]);

/*
 * filterfile_save: writes the filter, in the layout it is in, as outfile_write does. A new file
 * that stores its key can be read by its owner alone.
 */
void filterfile_save(const nay_filter *f, const char *path);

/* filterfile_target: the file that a command in place writes, locked: -o, or the filter itself. */
const char *filterfile_target(const options *o, const output_options *output);

/* filterfile_kind_name: of a family; the layout's own where only that layout has it. */
const char *filterfile_kind_name(const nay_format *format, nay_kind kind);

/* filterfile_kind: the name of a filter's family, and its traits. */
const char *filterfile_kind(const nay_filter *f, unsigned *traits);

/*
 * filterfile_report: one line on stderr about what was done ("built"), or an object on stdout with
 * --json; then the rule of promise.h, for the target FPR (0: the plan's). nkeys is the
 * number of keys that were read, or ESTIMATED. Returns an exit status.
 */
#define ESTIMATED UINT64_MAX
int filterfile_report(const options *o, const char *done, const char *path, const nay_filter *f,
                      uint64_t nkeys, double asked);

/* filterfile_report_new: the same for a command that has made the filter for this FPR, 0: for none
 * (promise_judge_new). */
int filterfile_report_new(const options *o, const char *done, const char *path, const nay_filter *f,
                          uint64_t nkeys, double asked);

/* filterfile_report_removal: the same for nay remove; nabsent of the nkeys were not in it. */
int filterfile_report_removal(const options *o, const char *path, const nay_filter *f,
                              uint64_t nkeys, uint64_t nabsent);

/* filterfile_seed: the seed of its hash; false when the hash has none. */
bool filterfile_seed(const nay_filter *f, uint64_t *seed);

/* json_filter_caveats: the member `caveats`, if there is one. */
void json_filter_caveats(const nay_filter *f);

/* json_filter: the members that describe a filter in a file of this layout and size. */
void json_filter(const nay_filter *f, const nay_format *format, uint64_t nbytes, const promise *p);

#endif /* NAY_FILTERFILE_H */
