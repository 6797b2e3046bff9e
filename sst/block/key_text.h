/* key_text.h - the key description (nay_key.h) of a table, as its metaindex stores it. */
#ifndef NAY_SST_BLOCK_KEY_TEXT_H
#define NAY_SST_BLOCK_KEY_TEXT_H

#include "base/base.h"
#include "nay_key.h"

/* nay_table_key: a canonical description, NUL-terminated; "": plain text, which tables do not
   state. */
typedef char nay_table_key[NAY_KEY_DESCRIPTION_MAX + 1];

/* nay_sst__table_key_of: converts a description to its canonical form. NAY_EINVAL: the text is no
   description. */
static inline nay_status nay_sst__table_key_of(const char *text, size_t len, nay_diag *diag,
                                               nay_table_key key) {
  NAY_TRY(nay_key_description_canonical(text, len, diag, key));
  if (strcmp(key, "text") == 0) key[0] = '\0';
  return NAY_OK;
}

/* nay_sst__table_key_stored: parses the description in a metaindex. false: no writer stores it like
   this: it is not canonical, or it is plain text, which tables do not state. */
static inline bool nay_sst__table_key_stored(const uint8_t *bytes, size_t len, nay_table_key key) {
  nay_table_key is;
  bool stored = len != 0 && len < sizeof is &&
                nay_sst__table_key_of((const char *)bytes, len, NULL, is) == NAY_OK &&
                strlen(is) == len && memcmp(is, bytes, len) == 0;
  if (stored) memcpy(key, is, sizeof is);
  return stored;
}

/* nay_sst__table_key_shown: returns the description as users see it. */
static inline const char *nay_sst__table_key_shown(const nay_table_key key) {
  return key[0] != '\0' ? key : "text";
}

#endif /* NAY_SST_BLOCK_KEY_TEXT_H */
