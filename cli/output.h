/*
 * output.h - stdout: buffered, checked, escaped for terminals, coloured when that is wanted; and
 * JSON on top of it.
 */
#ifndef NAY_OUTPUT_H
#define NAY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_mode;

/* out_begin: decides about colour: --color, then NO_COLOR, CLICOLOR_FORCE, TERM, the terminal. */
void out_begin(color_mode mode);

void out_bytes(const void *bytes, size_t len);
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * out_record: a key as it came, terminator included. On a terminal control characters and bytes
 * that are not UTF-8 are shown as \xNN: a key must not be able to steer the terminal.
 */
void out_record(const uint8_t *record, size_t len);

/* out_flush: hands everything to the system; a write error ends the program with status 2. */
void out_flush(void);
/* out_flush_quietly: on the way out of an error. */
void out_flush_quietly(void);

bool out_is_terminal(void);
bool out_is_utf8(void); /* a terminal that shows block and braille characters */
unsigned out_width(void);

/* paint: the escape sequence of a style, "" without colour. */
typedef enum paint_style {
  PAINT_PLAIN,
  PAINT_BOLD,
  PAINT_DIM,
  PAINT_GOOD,
  PAINT_BAD,
  PAINT_KEY
} paint_style;
const char *paint(paint_style style);

/* utf8_printable: the length of the UTF-8 character at p; 0: it is none, or a control character. */
size_t utf8_printable(const uint8_t *p, size_t len);

/* escape_text: bytes as one printable line for messages, shortened to fit; returns text. */
const char *escape_text(const uint8_t *bytes, size_t len, char *text, size_t cap);

/* ---- JSON ---- */

/*
 * Commas and nesting are kept by the emitter; names are NULL inside arrays. Integers above 2^53
 * are written as strings, because that is where other languages start to round; NaN is null.
 */
void json_open(const char *name, char bracket); /* '{' or '[' */
void json_close(void);
void json_text(const char *name, const char *text);
void json_bytes(const char *name, const uint8_t *bytes, size_t len); /* not UTF-8: {"b64": ...} */
void json_count(const char *name, uint64_t value);
void json_real(const char *name, double value);
void json_bool(const char *name, bool value);
void json_null(const char *name);
/* json_begin and json_end: a whole document, on a line of its own; schema like "nay.info/1". */
void json_begin(const char *schema);
void json_end(void);

#endif /* NAY_OUTPUT_H */
