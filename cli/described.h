/* described.h - --key against the key descriptions (nay_key.h) of the files that a command opens.
 */
#ifndef NAY_DESCRIBED_H
#define NAY_DESCRIBED_H

#include "options.h"

/* described_key: the description that --key, --trim and --ignore-case, or a file before, give;
 * "text" without them. */
const char *described_key(const keys_options *keys);

/* described_is_given: whether one of these options was given. Not after described_by. */
static inline bool described_is_given(const keys_options *keys) {
  return keys->type_given || keys->trim || keys->ignore_case;
}

/*
 * described_by: what the file at path states of its keys; NULL: its layout states nothing. Without
 * --key the keys of the command are then read so. Exits with status 2 when --key or a file before
 * this one says otherwise, or when this program cannot make such keys. described_filter: the same
 * for a filter.
 */
void described_by(keys_options *keys, const char *path, const char *stated);
void described_filter(keys_options *keys, const char *path, const nay_filter *f);

/* filter_states: the description that a filter states; NULL: that of another system, which has no
 * place for one. */
const char *filter_states(const nay_filter *f);

/* described_form: exits with status 2 when --key says bytes of another system and the layout is
 * nay's own, or a type that the system of the layout hashes otherwise. described_own: that message.
 */
void described_form(const keys_options *keys, const nay_format *format);
_Noreturn void described_own(void);

/* describe_filter: a new filter of keys of this style states it; a message when its layout cannot.
 * describe_not: that message. */
void describe_filter(const keys_options *keys, nay_filter *f);
void describe_not(const char *key, const char *layout);

/* json_described: the member `key_description`; null when nothing is stated. */
void json_described(const char *stated);

#endif /* NAY_DESCRIBED_H */
