/*
 * substitution.c - back substitution (banding.c) in portable C.
 *
 * Up to four columns, each has a register with its last 128 slots, shifted by one for each row: a
 * bit is the parity of the row and the register.
 *
 * From five columns on a slot is a word with a bit for each column. The word of a row's first slot
 * is the row's constant plus the words of its other slots, some 63. They are added eight slots at a
 * time: every panel of eight slots has a table of the sums of all its 256 subsets, so a row is 16
 * lookups, one for each byte of its coefficients, whatever the number of columns (the method of the
 * four Russians). Up to 16 columns a word has 16 bits, and the tables in use take 8 KiB. Beyond, a
 * word has 64 bits and a panel has two tables of four slots each, as tables of 256 words would not
 * fit into L1.
 *
 * The tables of a block and of the next one are side by side, so that byte j of a row finds its
 * table at a constant distance. A block of words is transposed into its columns when it is done.
 */
#include "family/burr.h"

#define SUBST_PANEL NAY_BAND_PANEL
#define SUBST_PANELS (NAY_RIBBON_WIDTH / SUBST_PANEL) /* of a block */
#define SUBST_FEW 4u                                  /* columns that have registers */

/* ---- registers ---- */

NAY_INLINE void subst_row(const nay_band_row *row, nay_band_columns *columns, unsigned ncolumns) {
  for (unsigned c = 0; c < ncolumns; c++) {
    uint64_t lo = columns->lo[c], hi = columns->hi[c];
    hi = hi << 1 | lo >> 63;
    lo <<= 1;
    uint64_t bit = row->fingerprint >> nay__burr_bit(c);
    bit ^= nay__parity64((lo & row->lo) ^ (hi & row->hi));
    columns->lo[c] = lo | (bit & 1);
    columns->hi[c] = hi;
  }
}

static void subst_block_few(const nay_band_row *rows, unsigned ncolumns,
                            nay_band_columns *columns) {
  for (unsigned i = NAY_RIBBON_WIDTH; i-- > 0;) subst_row(rows + i, columns, ncolumns);
}

/* ---- what both kinds of tables share ---- */

/* An 8 x 8 matrix of bits: bit 8 i + j becomes bit 8 j + i. */
static uint64_t subst_transpose(uint64_t x) {
  uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aau;
  x ^= t ^ t << 7;
  t = (x ^ x >> 14) & 0x0000cccc0000ccccu;
  x ^= t ^ t << 14;
  t = (x ^ x >> 28) & 0x00000000f0f0f0f0u;
  return x ^ t ^ t << 28;
}

/* bytes[b][i]: byte b of the word of slot i. Bit i of a word goes to column column_of[i]. */
static void subst_columns(const uint8_t (*bytes)[NAY_RIBBON_WIDTH], unsigned nbytes,
                          unsigned (*column_of)(unsigned bit), nay_band_columns *columns) {
  for (unsigned b = 0; b < nbytes; b++) {
    uint64_t words[8][2] = {{0, 0}};
    for (unsigned q = 0; q < SUBST_PANELS; q++) {
      uint64_t x = subst_transpose(nay__load64le(bytes[b] + SUBST_PANEL * q));
      for (unsigned i = 0; i < 8; i++) words[i][q / 8] |= (x >> 8 * i & 0xff) << (q % 8 * 8);
    }
    for (unsigned i = 0; i < 8; i++) {
      columns->lo[column_of(8 * b + i)] = words[i][0];
      columns->hi[column_of(8 * b + i)] = words[i][1];
    }
  }
}

/* The coefficients of the row of slot i of a panel, by bytes, from the panel's first slot on. */
NAY_INLINE void subst_bytes(const nay_band_row *row, unsigned i, uint8_t bytes[24]) {
  nay__store64le(bytes, row->lo << i);
  nay__store64le(bytes + 8, row->hi << i | (row->lo >> 1) >> (63 - i));
  nay__store64le(bytes + 16, (row->hi >> 1) >> (63 - i));
}

/* words[i] is the sum over all slots after the panel; those within it are missing. */
NAY_INLINE void subst_panel(const nay_band_row *rows, uint64_t words[SUBST_PANEL]) {
  for (unsigned i = SUBST_PANEL - 1; i-- > 0;) {
    uint64_t sum = words[i];
    for (unsigned j = i + 1; j < SUBST_PANEL; j++) {
      sum ^= words[j] & (0 - (rows[i].lo >> (j - i) & 1));
    }
    words[i] = sum;
  }
}

/* ---- words of 16 bits ---- */

typedef struct subst_narrow {
  uint16_t tables[2 * SUBST_PANELS][256]; /* of this block and of the next */
  uint8_t bytes[2][NAY_RIBBON_WIDTH];
} subst_narrow;

/* Bits 0 to 3 of each quarter of a fingerprint, side by side: those of columns 0 to 15. */
NAY_INLINE uint64_t subst_pack(uint64_t fingerprint) {
  fingerprint &= 0x000f000f000f000fu;
  fingerprint |= fingerprint >> 12;
  return (fingerprint | fingerprint >> 24) & 0xffff;
}

static unsigned subst_narrow_column(unsigned bit) { return bit % 4 * 4 + bit / 4; }

/* The sums of all subsets of eight words, four of them in a word of 64 bits. */
NAY_INLINE void subst_narrow_table(const uint64_t words[SUBST_PANEL], uint16_t table[256]) {
  uint64_t sums[64];
  const uint16_t first[4] = {0, (uint16_t)words[0], (uint16_t)words[1],
                             (uint16_t)(words[0] ^ words[1])};
  memcpy(sums, first, sizeof first);
  for (unsigned i = 2; i < SUBST_PANEL; i++) {
    uint64_t add = (words[i] & 0xffff) * 0x0001000100010001u;
    size_t half = (size_t)1 << (i - 2);
    for (size_t v = 0; v < half; v++) sums[half + v] = sums[v] ^ add;
  }
  memcpy(table, sums, sizeof sums);
}

static void subst_narrow_panel(subst_narrow *s, const nay_band_row *rows, unsigned q) {
  uint64_t words[SUBST_PANEL];
  for (unsigned i = 0; i < SUBST_PANEL; i++) {
    uint8_t bytes[24];
    subst_bytes(&rows[i], i, bytes);
    uint64_t sum = subst_pack(rows[i].fingerprint);
    for (unsigned j = 1; j <= SUBST_PANELS; j++) sum ^= s->tables[q + j][bytes[j]];
    words[i] = sum;
  }
  subst_panel(rows, words);
  subst_narrow_table(words, s->tables[q]);
  for (unsigned i = 0; i < SUBST_PANEL; i++) {
    s->bytes[0][q * SUBST_PANEL + i] = (uint8_t)words[i];
    s->bytes[1][q * SUBST_PANEL + i] = (uint8_t)(words[i] >> 8);
  }
}

static void subst_block_narrow(subst_narrow *s, const nay_band_row *rows,
                               nay_band_columns *columns) {
  memcpy(s->tables[SUBST_PANELS], s->tables[0], sizeof s->tables / 2);
  for (unsigned q = SUBST_PANELS; q-- > 0;) subst_narrow_panel(s, rows + q * SUBST_PANEL, q);
  subst_columns((const uint8_t(*)[NAY_RIBBON_WIDTH])s->bytes, 2, subst_narrow_column, columns);
}

/* ---- words of 64 bits ---- */

typedef struct subst_wide {
  uint64_t tables[2 * SUBST_PANELS][2][16];
  uint8_t bytes[8][NAY_RIBBON_WIDTH];
} subst_wide;

static unsigned subst_wide_column(unsigned bit) { return bit % 16 * 4 + bit / 16; }

static void subst_wide_table(const uint64_t words[4], uint64_t table[16]) {
  table[0] = 0;
  for (unsigned i = 0; i < 4; i++) {
    for (unsigned v = 0; v < 1u << i; v++) table[(1u << i) + v] = table[v] ^ words[i];
  }
}

static void subst_wide_panel(subst_wide *s, const nay_band_row *rows, unsigned q) {
  uint64_t words[SUBST_PANEL];
  for (unsigned i = 0; i < SUBST_PANEL; i++) {
    uint8_t bytes[24];
    subst_bytes(&rows[i], i, bytes);
    uint64_t low = rows[i].fingerprint, high = 0;
    for (unsigned j = 1; j <= SUBST_PANELS; j++) {
      low ^= s->tables[q + j][0][bytes[j] & 15];
      high ^= s->tables[q + j][1][bytes[j] >> 4];
    }
    words[i] = low ^ high;
  }
  subst_panel(rows, words);
  subst_wide_table(words, s->tables[q][0]);
  subst_wide_table(words + 4, s->tables[q][1]);
  for (unsigned i = 0; i < SUBST_PANEL; i++) {
    for (unsigned b = 0; b < 8; b++) {
      s->bytes[b][q * SUBST_PANEL + i] = (uint8_t)(words[i] >> 8 * b);
    }
  }
}

static void subst_block_wide(subst_wide *s, const nay_band_row *rows, nay_band_columns *columns) {
  memcpy(s->tables[SUBST_PANELS], s->tables[0], sizeof s->tables / 2);
  for (unsigned q = SUBST_PANELS; q-- > 0;) subst_wide_panel(s, rows + q * SUBST_PANEL, q);
  subst_columns((const uint8_t(*)[NAY_RIBBON_WIDTH])s->bytes, 8, subst_wide_column, columns);
}

/* ---- the choice ---- */

_Static_assert(sizeof(subst_narrow) <= NAY_BAND_SWEEP_BYTES, "no room for tables");
_Static_assert(sizeof(subst_wide) <= NAY_BAND_SWEEP_BYTES, "no room for tables");

void nay__band_substitute_open(const nay_band_part *p, unsigned ncolumns) {
  /* the tables of the block after the last: subst_block_... moves them to their place */
  if (ncolumns > 16) {
    memset(p->sweep, 0, sizeof(((subst_wide *)0)->tables) / 2);
  } else if (ncolumns > SUBST_FEW) {
    memset(p->sweep, 0, sizeof(((subst_narrow *)0)->tables) / 2);
  }
}

void nay__band_substitute(const nay_band_part *p, uint32_t block, unsigned ncolumns,
                          nay_band_columns *columns) {
  const nay_band_row *rows = p->rows + (size_t)block * NAY_RIBBON_WIDTH;
  if (ncolumns <= SUBST_FEW) {
    subst_block_few(rows, ncolumns, columns);
  } else if (ncolumns <= 16) {
    subst_block_narrow((subst_narrow *)(void *)p->sweep, rows, columns);
  } else {
    subst_block_wide((subst_wide *)(void *)p->sweep, rows, columns);
  }
}
