/*
 * numbers.h - parsing and printing numbers. Nothing here depends on the locale: the
 * program never calls setlocale, and a comma is never a decimal point.
 *
 *   counts  1000  1e6  2.5M  64Ki  1B    k M G T are powers of 1000, Ki Mi Gi Ti of 1024; B: 10^9
 *   sizes   the same, but B is a byte and optional: 10MB, 1GiB
 *   FPRs    0.01  1%  1/256  1e-6
 *   spans   90  90s  15m  1h  7d         seconds without a letter
 *   times   67ns  100us  1.5ms  2s       always with their unit
 */
#ifndef NAY_NUMBERS_H
#define NAY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool number_count(const char *text, uint64_t *value);
bool number_size(const char *text, uint64_t *value);
bool number_share(const char *text, double *value); /* an FPR, or 0 or 1 */
bool number_fpr(const char *text, double *value);   /* 0 < value < 1 */
bool number_real(const char *text, double *value);
bool number_span(const char *text, uint64_t *seconds);
bool number_time(const char *text, double *seconds); /* 1 ns to 1,000 s */

/* Texts for people, in the caller's array of NUMBER_TEXT bytes, which is returned. */
#define NUMBER_TEXT 40
const char *count_text(double value, char text[NUMBER_TEXT]);   /* 4,182,337 */
const char *size_text(uint64_t nbytes, char text[NUMBER_TEXT]); /* 5.3 MiB */
const char *time_text(double seconds, char text[NUMBER_TEXT]);  /* 10.9 s, 67 ns */
const char *fpr_text(double rate, char text[NUMBER_TEXT]);      /* 0.983%, 9.5e-07 */

/* counted_text: a count and its noun, "1 key", "2,000 keys", "2 entries"; returns text. */
const char *counted_text(double value, const char *noun, char *text, size_t cap);

/* COUNTED: the same, in memory that lives until the end of the block: for arguments of printf. */
#define COUNTED_TEXT (NUMBER_TEXT + 24)
#define COUNTED(value, noun) \
  counted_text((double)(value), noun, (char[COUNTED_TEXT]){""}, COUNTED_TEXT)

#endif /* NAY_NUMBERS_H */
