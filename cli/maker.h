/* maker.h - a filter from keys, as build, diff, common and convert need it. */
#ifndef NAY_MAKER_H
#define NAY_MAKER_H

#include "stream.h"

/*
 * make_filter: reads all keys of the files into a new filter in the given layout (NULL: native).
 * Without -n the keys are counted first when the files can be read twice; else, and for families
 * whose bytes depend on all keys or on their order, the hashes are kept until the end, as a
 * message on stderr says. Exits with a message on failure.
 */
nay_filter *make_filter(const options *o, const keys_options *keys, const nay_format *format,
                        nay_params *params, const char *const *paths, size_t npaths,
                        uint64_t *nkeys);

/* new_filter: an empty filter; exits with a message on failure. */
nay_filter *new_filter(const nay_format *format, const nay_params *params);

/* same_plan: whether the size that the options ask for, by default that FPR, gives a filter of as
 * many bytes and the same planned FPR as the params of one that is there already. */
bool same_plan(const size_options *size, double default_fpr, const nay_params *is);

/* contradiction: the option of -t, -n, --max-keys, -p, -b and -M that says otherwise than the
 * params of a filter that is there already, or NULL. */
const char *contradiction(const size_options *size, const nay_params *is);

/* add_all: adds every key of the stream. */
void add_all(const options *o, nay_filter *f, key_stream *s);

/* full_why: why the keys of a batch did not fit, and which option of `o->command` would have made
 * room, into text[0, FULL_TEXT). state: the file that keeps the filter, or NULL. Returns text. */
#define FULL_TEXT 400u
const char *full_why(const options *o, const nay_filter *f, const key_batch *b, const char *state,
                     char *text);

/* can_add: whether a family (or the one that auto picks) takes adds. */
bool can_add(nay_kind kind);

#endif /* NAY_MAKER_H */
