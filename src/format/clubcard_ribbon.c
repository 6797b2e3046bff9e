/*
 * clubcard_ribbon.c - see clubcard_ribbon.h. Ribbon elimination [1] with windows of 256 bits: an
 * equation moves to its first coefficient; if a row is there, it is added, and the equation moves
 * on. The rows that are taken do not depend on the order of the equations, and neither do the
 * unknowns: only which of several contradicting equations fails.
 * [1] Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate
 * membership using ribbon. SEA 2022.
 */
#include "format/clubcard_ribbon.h"

/* Slack grows up to the 2% of Mozilla's builder. */
#define CLUBRIBBON_TRIALS 9u

uint64_t nay__clubribbon_rows(uint64_t n, unsigned trial) {
  if (trial >= CLUBRIBBON_TRIALS) return 0;
  uint64_t m =
      n + n / NAY_CLUBRIBBON_STEP * trial + n % NAY_CLUBRIBBON_STEP * trial / NAY_CLUBRIBBON_STEP;
  return m == n ? m + trial : m; /* another m moves every equation, so few keys get new trials */
}

void nay__clubribbon_free(nay_clubribbon *r, const nay_allocator *a) {
  nay__free(a, r->rows, r->room * sizeof *r->rows);
  nay__free(a, r->right, r->room);
  *r = (nay_clubribbon){.rows = NULL};
}

nay_status nay__clubribbon_reset(nay_clubribbon *r, uint64_t m, const nay_allocator *a) {
  size_t nbytes, room;
  if (m > UINT32_MAX || !nay__size_ok(m + NAY_CLUBCARD_WINDOW - 1, &room)) return NAY_EFULL;
  if (room > r->room) {
    nay__clubribbon_free(r, a);
    if (!nay__mul_ok(room, sizeof *r->rows, &nbytes)) return NAY_ENOMEM;
    r->rows = nay__alloc(a, nbytes);
    r->right = nay__alloc(a, room);
    r->room = room;
    if (r->rows == NULL || r->right == NULL) {
      nay__clubribbon_free(r, a);
      return NAY_ENOMEM;
    }
  }
  memset(r->rows, 0, room * sizeof *r->rows);
  r->m = m;
  r->nrows = (size_t)m;
  r->nredundant = 0;
  return NAY_OK;
}

/* Moves the first coefficient to bit 0; returns by how many unknowns. The row is not all 0. */
static unsigned clubribbon_normalise(nay_clubrow *row) {
  unsigned moved = 0;
  while (row->a[0] == 0) {
    row->a[0] = row->a[1], row->a[1] = row->a[2], row->a[2] = row->a[3], row->a[3] = 0;
    moved += 64;
  }
  unsigned by = nay__ctz64(row->a[0]);
  if (by == 0) return moved;
  for (unsigned i = 0; i < 3; i++) row->a[i] = row->a[i] >> by | row->a[i + 1] << (64 - by);
  row->a[3] >>= by;
  return moved + by;
}

bool nay__clubribbon_insert(nay_clubribbon *r, const nay_clubkey *key, unsigned right) {
  nay_clubrow row = {{key->a[0] | 1, key->a[1], key->a[2], key->a[3]}};
  size_t at = (size_t)nay__clubkey_start(key, r->m);
  for (;;) {
    nay_clubrow *taken = &r->rows[at];
    if (taken->a[0] == 0) {
      *taken = row;
      r->right[at] = (uint8_t)right;
      if (at >= r->nrows) r->nrows = at + 1;
      return true;
    }
    for (unsigned i = 0; i < 4; i++) row.a[i] ^= taken->a[i];
    right ^= r->right[at];
    if ((row.a[0] | row.a[1] | row.a[2] | row.a[3]) == 0) {
      r->nredundant += right == 0;
      return right == 0;
    }
    at += clubribbon_normalise(&row);
  }
}

/* SplitMix64: any bits would do that are not all 0. */
static uint64_t clubribbon_random_bit(nay_clubrandom *random) {
  if (random->state == 0) return 0;
  if (random->left == 0) {
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    random->word = z ^ z >> 31;
    random->left = 64;
  }
  random->left--;
  return random->word >> random->left & 1;
}

void nay__clubribbon_solve(const nay_clubribbon *r, nay_clubrandom *random, uint64_t window[4],
                           uint64_t *bits) {
  memset(bits, 0, (r->nrows + 63) / 64 * sizeof *bits);
  for (size_t i = r->nrows; i-- > 0;) {
    const nay_clubrow *row = &r->rows[i];
    for (unsigned w = 3; w > 0; w--) window[w] = window[w] << 1 | window[w - 1] >> 63;
    window[0] <<= 1;
    uint64_t sum = (row->a[0] & window[0]) ^ (row->a[1] & window[1]) ^ (row->a[2] & window[2]) ^
                   (row->a[3] & window[3]);
    uint64_t bit =
        row->a[0] == 0 ? clubribbon_random_bit(random) : nay__parity64(sum) ^ r->right[i];
    window[0] |= bit;
    bits[i / 64] |= bit << (i % 64);
  }
}
