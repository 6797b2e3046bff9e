/*
 * json_read.h - values of fields out of one line of JSON. The whole line is checked against RFC
 * 8259, so that a line which no other reader takes has no key: UTF-8, escapes and their surrogates,
 * numbers, structure, at most JSON_DEPTH levels. Nothing here allocates, recurses or exits; every
 * byte is read once.
 */
#ifndef NAY_JSON_READ_H
#define NAY_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 1024u /* levels of objects and arrays, as simdjson and others */
#define JSON_PATHS 16u
#define JSON_SEGMENTS 16u
#define JSON_VALUES 8192u /* of one line */
#define JSON_NUMBER 24u   /* bytes of a number that is written without an exponent */

/* json_path: "user.id" is two names; "items[].sku" a name, all elements, a name; "." no segment. */
typedef struct json_path {
  struct json_segment {
    const char *name; /* NULL: all elements of an array */
    size_t len;
  } segments[JSON_SEGMENTS];
  unsigned n;
  bool has_elements;
} json_path;

typedef struct json_paths {
  json_path at[JSON_PATHS];
  unsigned n;
  char names[1024]; /* without the backslashes of the option's text */
} json_paths;

/* json_paths_parse: "id", "user.id,type", "items[].sku", "a\\.b" (a name with a dot), "." (the line
 * itself). Returns NULL, or what is wrong. */
const char *json_paths_parse(const char *text, json_paths *paths);

/* json_value: a string between its quotes, a number, true or false, as they stand in the line. */
typedef struct json_value {
  const uint8_t *at;
  size_t len;
  bool is_string, is_plain; /* plain: the bytes are the text: no escape, no fraction or exponent */
} json_value;

/*
 * json_find: the values of the paths in line[0, len), in their order; of a path with [] all.
 * Returns NULL and their number in *n, or why the line has no key: it is no JSON, a field is
 * missing or null, stands twice, is an object or an array; *at is then the byte. `values` has room
 * for JSON_VALUES. *blank: there is nothing but white space.
 */
const char *json_find(const json_paths *paths, const uint8_t *line, size_t len, json_value *values,
                      size_t *n, size_t *at, bool *blank);

/*
 * json_value_text: the text of a value: a string without its escapes; a number as the shortest
 * decimal with no exponent, or where that has more than JSON_NUMBER bytes with one: 42, 42.0
 * and 4.2e1 are 42; 1e300 and 10e299 are 1e300. At most len + JSON_NUMBER bytes into dst. Returns
 * its length.
 */
size_t json_value_text(const json_value *value, uint8_t *dst);

/* json_value_quote: text as a JSON string with no escapes but those that JSON needs, \uXXXX for
 * control characters. At most 6 * len + 2 bytes into dst. Returns its length. */
size_t json_value_quote(const uint8_t *text, size_t len, uint8_t *dst);

#endif /* NAY_JSON_READ_H */
