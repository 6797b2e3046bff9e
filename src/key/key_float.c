/*
 * key_float.c - decimal text to the nearest IEEE 754 binary64, ties to even, in integers alone: no
 * strtod (locale), no floating point (rounding mode, x87).
 *
 * The value is D * 10^e, D an integer of the significant digits. As a quotient of two integers,
 *
 *   value = N / M * 2^e     N = D * 5^e, M = 1  (e >= 0)     N = D, M = 5^-e  (e < 0)
 *
 * Shifts bring N / M into [1, 2); then long division gives one bit of the mantissa per step, and
 * comparing the remainder with half of M rounds. Exact, so no case is hard.
 *
 * The longest decimal that a tie can need has 767 significant digits. Digits after the 800th cannot
 * make a tie: if one of them is not 0 they become one digit 1. So D < 10^801, and with the decimal
 * point limited to what binary64 can hold, every integer fits FLOAT_WORDS words.
 */
#include "key/key_text.h"

#define FLOAT_DIGITS 800
#define FLOAT_MAX_POINT 310  /* above it, value >= 10^310; the largest binary64 is 1.8e308 */
#define FLOAT_MIN_POINT -330 /* below it, value < 10^-330; half of the smallest is 2.4e-324 */
#define FLOAT_WORDS 88       /* 2,816 bits; 10^801 has 2,661, 5^1131 has 2,627 */
#define FLOAT_INFINITY (UINT64_C(0x7ff) << 52)

/* A natural number, least significant word first; the last word is not 0. */
typedef struct float_big {
  uint32_t word[FLOAT_WORDS];
  unsigned n;
} float_big;

static void float_push(float_big *b, uint32_t word) {
  if (word == 0) return;
  assert(b->n < FLOAT_WORDS);
  b->word[b->n++] = word;
}

/* b = b * factor + addend */
static void float_mul_add(float_big *b, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (unsigned i = 0; i < b->n; i++) {
    carry += (uint64_t)b->word[i] * factor;
    b->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  float_push(b, (uint32_t)carry);
}

static void float_mul_pow5(float_big *b, uint64_t exponent) {
  for (; exponent >= 13; exponent -= 13) float_mul_add(b, 1220703125, 0); /* 5^13 < 2^32 */
  for (; exponent > 0; exponent--) float_mul_add(b, 5, 0);
}

static void float_shift_left(float_big *b, unsigned nbits) {
  unsigned words = nbits / 32, bits = nbits % 32;
  float_mul_add(b, UINT32_C(1) << bits, 0);
  if (words == 0) return;
  assert(b->n + words <= FLOAT_WORDS);
  memmove(b->word + words, b->word, b->n * sizeof b->word[0]);
  memset(b->word, 0, words * sizeof b->word[0]);
  b->n += words;
}

/* a -= b, where a >= b */
static void float_sub(float_big *a, const float_big *b) {
  uint64_t borrow = 0;
  for (unsigned i = 0; i < a->n; i++) {
    uint64_t difference = (uint64_t)a->word[i] - (i < b->n ? b->word[i] : 0) - borrow;
    a->word[i] = (uint32_t)difference;
    borrow = difference >> 63;
  }
  while (a->n > 0 && a->word[a->n - 1] == 0) a->n--;
}

/* Below, at or above 0, as a is below, at or above b. */
static int float_compare(const float_big *a, const float_big *b) {
  if (a->n != b->n) return a->n < b->n ? -1 : 1;
  for (unsigned i = a->n; i-- > 0;) {
    if (a->word[i] != b->word[i]) return a->word[i] < b->word[i] ? -1 : 1;
  }
  return 0;
}

static int float_bit_length(const float_big *b) {
  int nbits = (int)b->n * 32;
  for (uint32_t top = b->word[b->n - 1]; top >> 31 == 0; top <<= 1) nbits--;
  return nbits;
}

/* D, and returns e. */
static int64_t float_significand(const key_decimal *d, float_big *b) {
  size_t used = d->ndigits < FLOAT_DIGITS ? d->ndigits : FLOAT_DIGITS;
  b->n = 0;
  for (size_t i = 0; i < used;) {
    uint32_t scale = 1, chunk = 0;
    for (; i < used && scale < 1000000000; i++, scale *= 10) {
      chunk = chunk * 10 + (uint32_t)(nay__key_digit(d, i) - '0');
    }
    float_mul_add(b, scale, chunk);
  }
  if (used == d->ndigits) return d->point - (int64_t)used;
  float_mul_add(b, 10, 1); /* the last digit is not 0, so the rest is not */
  return d->point - (int64_t)used - 1;
}

/* n / m * 2^exponent, rounded. Infinity when it is too large. */
static uint64_t float_divide(float_big *n, float_big *m, int exponent) {
  int shift = float_bit_length(n) - float_bit_length(m);
  if (shift > 0) float_shift_left(m, (unsigned)shift);
  if (shift < 0) float_shift_left(n, (unsigned)-shift);
  exponent += shift;
  if (float_compare(n, m) < 0) {
    float_shift_left(n, 1);
    exponent--;
  }
  /* now 1 <= n / m < 2; subnormals have fewer bits than 53 */
  if (exponent > 1023) return FLOAT_INFINITY;
  int precision = exponent >= -1022 ? 53 : 53 - (-1022 - exponent);
  uint64_t quotient = 0;
  if (precision < 0) return 0;
  for (int i = 0; i < precision; i++) {
    bool bit = float_compare(n, m) >= 0;
    if (bit) float_sub(n, m);
    quotient = quotient << 1 | bit;
    float_shift_left(n, 1);
  }
  int half = float_compare(n, m);
  if (half > 0 || (half == 0 && quotient % 2 != 0)) quotient++;
  /* the leading bit of the mantissa, or a carry out of it, adds 1 to the exponent field */
  return ((uint64_t)(exponent >= -1022 ? exponent + 1022 : 0) << 52) + quotient;
}

nay_status nay__key_scan_float(key_cursor *c, uint64_t *word) {
  key_decimal d;
  uint64_t bits = 0;
  NAY_TRY(nay__key_scan_decimal(c, &d));
  if (d.class == KEY_NAN) {
    bits = FLOAT_INFINITY | 1;
  } else if (d.class == KEY_INFINITE) {
    bits = FLOAT_INFINITY;
  } else if (d.ndigits != 0 && d.point > FLOAT_MAX_POINT) {
    bits = FLOAT_INFINITY;
  } else if (d.ndigits != 0 && d.point >= FLOAT_MIN_POINT) {
    float_big n, m = {.word = {1}, .n = 1};
    int64_t exponent = float_significand(&d, &n);
    float_mul_pow5(exponent >= 0 ? &n : &m, (uint64_t)(exponent >= 0 ? exponent : -exponent));
    bits = float_divide(&n, &m, (int)exponent);
  }
  if (d.class == KEY_FINITE && bits == FLOAT_INFINITY) {
    return nay__key_fail_at(c, 0, "a number beyond the range of a float");
  }
  *word = nay__key_float_bits(bits | (uint64_t)d.negative << 63);
  return NAY_OK;
}
