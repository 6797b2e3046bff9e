/*
 * clubcards.h - the clubcards of tests/golden/clubcard: the cases, as cases.txt lists them, and the
 * serials of their certificates, as MANIFEST.md has the formulas.
 */
#ifndef NAY_TEST_CLUBCARDS_H
#define NAY_TEST_CLUBCARDS_H

#include "golden/golden.h"
#include "hash/sha256.h"
#include "nay_clubcard.h"

#define CLUBCARD_GOLDEN TEST_GOLDEN "/clubcard"
#define CLUBCARD_MAX_ISSUERS 20
#define CLUBCARD_MAX_LOGS_OF_CASE 8

typedef struct clubcard_block_of_case {
  uint8_t id[32];
  unsigned n, listed, outside;
  nay_clubcard_entry entry; /* what the file has of it */
} clubcard_block_of_case;

typedef struct clubcard_case {
  char name[64], serials[16];
  unsigned seed, has_v3, exact_words, nlogs, nissuers;
  nay_clubcard_log logs[CLUBCARD_MAX_LOGS_OF_CASE];
  clubcard_block_of_case issuers[CLUBCARD_MAX_ISSUERS];
} clubcard_case;

static inline size_t clubcard_hex(const char *hex, uint8_t *out) {
  size_t n = 0;
  unsigned byte;
  if (strcmp(hex, "-") == 0) return 0;
  for (; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (uint8_t)byte;
  return n;
}

static inline uint64_t clubcard_mix(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static inline void clubcard_be(uint64_t x, size_t n, uint8_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = (uint8_t)(x >> 8 * (n - 1 - i));
}

/* Serial j of issuer i; returns its length. */
static inline size_t clubcard_serial(const char *kind, unsigned seed, unsigned issuer, uint64_t j,
                                     uint8_t out[32]) {
  uint64_t u = (uint64_t)seed << 48 | (uint64_t)issuer << 32 | j;
  if (strcmp(kind, "be4") == 0) return clubcard_be(j, 4, out), 4;
  if (strcmp(kind, "mix16") == 0) {
    clubcard_be(clubcard_mix(u), 8, out);
    clubcard_be(clubcard_mix(~u), 8, out + 8);
    return 16;
  }
  if (strcmp(kind, "var") == 0) {
    clubcard_be(j, 4, out);
    clubcard_be(clubcard_mix(~u), 8, out + 4);
    clubcard_be(clubcard_mix(u ^ 0x5555555555555555u), 8, out + 12);
    return 5 + clubcard_mix(u) % 16;
  }
  size_t n = 1;
  while (n < 8 && j >> (8 * n - 1) != 0) n++;
  return clubcard_be(j, n, out), n;
}

static inline void clubcard_issuer_id(unsigned seed, unsigned issuer, uint8_t id[32]) {
  char text[64];
  int n = snprintf(text, sizeof text, "nay clubcard issuer %u %u", seed, issuer);
  nay__sha256(text, (size_t)n, NULL, 0, id);
}

static inline void clubcard_case_line(clubcard_case *c, const char *line) {
  char hex[600];
  clubcard_block_of_case *b = &c->issuers[c->nissuers];
  nay_clubcard_log *log = &c->logs[c->nlogs];
  unsigned long long low, high;
  nay_clubcard_entry e = {.size = sizeof e};
  if (sscanf(line, "log %599s %llu %llu", hex, &low, &high) == 3) {
    clubcard_hex(hex, log->id);
    log->low = low, log->high = high;
    c->nlogs++;
  } else if (sscanf(line, "issuer %599s %u %u %u %u %u %u %u %u %u %u", hex, &b->n, &b->listed,
                    &b->outside, &e.approx_m, &e.approx_rank, &e.approx_offset, &e.exact_m,
                    &e.exact_offset, &e.inverted, &e.nexceptions) == 11) {
    clubcard_hex(hex, e.id);
    memcpy(b->id, e.id, 32);
    b->entry = e;
    c->nissuers++;
  }
}

/* clubcard_each: calls run for each case; returns their number. */
static inline unsigned clubcard_each(void (*run)(const clubcard_case *c)) {
  static clubcard_case c;
  unsigned n = 0;
  golden_bytes text = golden_read(CLUBCARD_GOLDEN "/cases.txt");
  for (char *line = strtok((char *)text.at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (strncmp(line, "case ", 5) == 0) {
      if (n++ > 0) run(&c);
      c = (clubcard_case){.nlogs = 0};
      assert_int_equal(sscanf(line, "case %63s %u %15s %u %u", c.name, &c.seed, c.serials,
                              &c.has_v3, &c.exact_words),
                       5);
    }
    clubcard_case_line(&c, line);
  }
  if (n > 0) run(&c);
  free(text.at);
  return n;
}

static inline bool clubcard_bit(const golden_bytes *bits, size_t i) {
  assert_true(i / 8 < bits->len);
  return (bits->at[i / 8] >> (i % 8) & 1) != 0;
}

#endif /* NAY_TEST_CLUBCARDS_H */
