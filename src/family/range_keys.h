/*
 * range_keys.h - keys as prefix and number, for range filters; and which forms the keys of a filter
 * have, because a range of bytes is a range of numbers only among keys of one form.
 */
#ifndef NAY_FAMILY_RANGE_KEYS_H
#define NAY_FAMILY_RANGE_KEYS_H

#include "base/base.h"
#include "nay_range.h"

/* nay_range_form: how keys end. */
typedef struct nay_range_form {
  uint32_t keys;     /* nay_range_keys */
  uint8_t delimiter; /* 0: none */
} nay_range_form;

/* nay_range_key_parts: a key that ends in a number. */
typedef struct nay_range_key_parts {
  size_t prefix_len;
  uint64_t number;
  uint32_t digits; /* NAY_RANGE_DECIMAL: of the number as it is written; else 0 */
} nay_range_key_parts;

/* nay__range_split: false: the key does not have the form. */
bool nay__range_split(nay_range_form form, const uint8_t *key, size_t len,
                      nay_range_key_parts *parts);

/*
 * nay_range_forms: of all keys that have the form, the least and the greatest length of the prefix,
 * number of delimiters in it, and number of digits behind it. min > max: there is no key.
 */
typedef struct nay_range_forms {
  uint32_t prefix_min, prefix_max;
  uint32_t delimiters_min, delimiters_max;
  uint32_t digits_min, digits_max; /* NAY_RANGE_DECIMAL; else 0 where there are keys */
} nay_range_forms;

#define NAY_RANGE_NO_FORMS ((nay_range_forms){UINT32_MAX, 0, UINT32_MAX, 0, UINT32_MAX, 0})

/* nay__range_forms_add: takes a key into account; nay__range_forms_join: those of another filter.
 */
void nay__range_forms_add(nay_range_forms *forms, nay_range_form form, const uint8_t *key,
                          const nay_range_key_parts *parts);
void nay__range_forms_join(nay_range_forms *forms, const nay_range_forms *more);

/*
 * nay__range_in_order: whether the keys between two keys of a prefix, in the order of bytes, are
 * the keys of that prefix with numbers between theirs. With BE8 and BE4 a key c that is longer or
 * shorter than both could lie between them and split elsewhere. Then one of the prefixes begins
 * with the other. This cannot be if all prefixes have one length; nor if all end in the delimiter
 * and have equally many of them, for the longer one then has one more.
 */
bool nay__range_in_order(const nay_range_forms *forms, nay_range_form form, const uint8_t *prefix,
                         size_t len);

/*
 * nay__range_in_byte_order: the same for every form, of keys [lo, end) in the order of bytes, where
 * both have the same prefix. Decimal digits have that order only among numbers of equally many
 * digits: those of all keys and of both ends.
 */
bool nay__range_in_byte_order(const nay_range_forms *forms, nay_range_form form,
                              const uint8_t *prefix, const nay_range_key_parts *lo,
                              const nay_range_key_parts *end);

#endif /* NAY_FAMILY_RANGE_KEYS_H */
