/* key_description.h - key descriptions as files and handles hold them: nay_key.h has the grammar.
 */
#ifndef NAY_KEY_DESCRIPTION_H
#define NAY_KEY_DESCRIPTION_H

#include "base/base.h"
#include "nay_key.h"

/* nay_key_text: a canonical description, ended by 0; "" stands for plain text, which files do not
 * state. */
typedef char nay_key_text[NAY_KEY_DESCRIPTION_MAX + 1];

/*
 * nay__key_canonical: the canonical form of text[0, len): a notation of a type becomes the type.
 * Types and transformations need not be known here. NAY_EINVAL: not a description.
 */
nay_status nay__key_canonical(const char *text, size_t len, nay_diag *diag, nay_key_text canonical);

/* nay__key_stored: a description that a file states. false: no writer has written it so: not
 * canonical, or plain text, which is not stated. */
bool nay__key_stored(const uint8_t *bytes, size_t len, nay_key_text stored);

/* nay__key_same: whether two canonical descriptions are equal. */
static inline bool nay__key_same(const nay_key_text a, const nay_key_text b) {
  return strcmp(a, b) == 0;
}

/* nay__key_shown: a canonical description as users see it. */
static inline const char *nay__key_shown(const nay_key_text text) {
  return text[0] != '\0' ? text : "text";
}

/* nay__key_type_parse: the inverse of nay_key_type_name; "bytes" is text. NAY_EINVAL: no type. */
nay_status nay__key_type_parse(const char *name, nay_key_type *type);

#endif /* NAY_KEY_DESCRIPTION_H */
