/* filter_key.c - the key description of filters and maps: how their keys were made of texts. */
#include "filter.h"
#include "nay_key.h"

const char *nay_filter_key(const nay_filter *f) {
  return f != NULL ? nay__key_shown(f->key_text) : NULL;
}

nay_status nay_filter_set_key(nay_filter *f, const char *description) {
  if (f == NULL) return NAY_EINVAL;
  nay_key_description known = {.size = sizeof known};
  nay_key_text text;
  NAY_TRY(nay_key_description_parse(description, NULL, &known));
  NAY_TRY(nay__key_canonical(description, strlen(description), NULL, text));
  if (f->format != NULL && text[0] != '\0') return NAY_ENOTSUP;
  memcpy(f->key_text, text, sizeof text);
  return NAY_OK;
}
