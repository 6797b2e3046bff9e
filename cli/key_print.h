/* key_print.h - the text of a typed key: the inverse of nay_key_parse. */
#ifndef NAY_KEY_PRINT_H
#define NAY_KEY_PRINT_H

#include "options.h"

/* key_print_size: bytes that the text of a key of len bytes needs at most. */
size_t key_print_size(size_t len);

/*
 * key_print: a text of a type whose key is key[0, len), in text[0, key_print_size(len)); *text_len
 * bytes, no zero at the end. Types without a text of their own (text, u64le) give the bytes. False:
 * the bytes are no key of this type.
 */
bool key_print(unsigned type, const uint8_t *key, size_t len, char *text, size_t *text_len);

#endif /* NAY_KEY_PRINT_H */
