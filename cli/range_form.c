/* range_form.c - see range_form.h. */
#include "range_form.h"

#include <nay_range.h>

void range_form(const size_options *size, unsigned *type, nay_params *p) {
  static const struct {
    unsigned type, ordered;
  } types[] = {{NAY_KEY_INT, NAY_KEY_ORDERED_INT},
               {NAY_KEY_FLOAT, NAY_KEY_ORDERED_FLOAT},
               {NAY_KEY_DATE, NAY_KEY_ORDERED_DATE},
               {NAY_KEY_TIMESTAMP, NAY_KEY_ORDERED_TIMESTAMP}};
  bool named = size->range_keys != 0, typed = false;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (*type == types[i].type) *type = types[i].ordered;
    typed |= *type == types[i].ordered;
  }
  if (typed && (named || p->range_delimiter != 0)) {
    die(EXIT_TROUBLE,
        "--range-keys and --range-delimiter are for keys of bytes: these have a type");
  }
  if (typed || named) return;
  if (*type != NAY_KEY_TEXT) {
    die(EXIT_TROUBLE,
        "a range filter of keys of this type needs --range-keys: how they end in a number");
  }
  p->range_keys = NAY_RANGE_DECIMAL;
}
