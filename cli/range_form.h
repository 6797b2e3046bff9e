/* range_form.h - how the keys of a range filter end in numbers, from the options and the type of
 * the keys. */
#ifndef NAY_RANGE_FORM_H
#define NAY_RANGE_FORM_H

#include "option_groups.h"

/*
 * range_form: sets p->range_keys. Numbers of typed keys become ordered ones, whose bytes have the
 * order of the values: *type is then the ordered type. Text ends in decimal digits, unless
 * --range-keys says otherwise. Keys of other types need --range-keys. Exits when the options do not
 * fit the type.
 */
void range_form(const size_options *size, unsigned *type, nay_params *p);

#endif /* NAY_RANGE_FORM_H */
