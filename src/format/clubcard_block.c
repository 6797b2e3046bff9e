/*
 * clubcard_block.c - builds the block of an issuer: of how many columns, which unknowns, which
 * exceptions.
 *
 * With x others for each certificate of the set, k columns cost k + 1 + x / 2^k bits per
 * certificate of the set: each column lets half of the others pass, and each that passes all of
 * them is an equation of the exact filter. k is the one with the least rows. The set is that of the
 * smaller side when it is less than half of the other: `inverted` then says that it is the set of
 * those that are not revoked.
 */
#include "format/clubcard_build.h"

#define CLUBBLOCK_EXCEPTION_BITS 136u /* a serial of 16 bytes, with its length */
#define CLUBBLOCK_TAIL_BITS 24u       /* unknowns behind the last row of a column, at random */

nay_status nay__clubblock_revoked(nay_clubwork *w, const nay_clubblock *b) {
  nay_clubrecords records = {b->issuer->revoked, b->issuer->revoked_len, 0, b->issuer->id};
  nay_clubitem item;
  size_t n;
  w->revoked.items.len = 0;
  if (!nay__clubrecords_count(records.bytes, records.len, &n)) {
    return nay__fail(w->diag, NAY_EINVAL, "a record of a revoked serial is cut off or empty",
                     b->number);
  }
  while (nay__clubrecords_next(&records, &item)) {
    NAY_TRY(nay__clubset_add(&w->revoked, &item, w->a));
  }
  NAY_TRY(nay__clubset_sort(&w->revoked, w->a));
  return nay__clubset_index(&w->revoked, w->a);
}

static uint64_t clubblock_cost(const nay_clubblock *b, unsigned rank) {
  return b->nset * (rank + 1) + (b->nothers >> rank);
}

static void clubblock_choose(nay_clubblock *b, uint64_t nrevoked, uint64_t nothers) {
  b->inverted = nrevoked / 2 > nothers || (nrevoked / 2 == nothers && nrevoked % 2 != 0);
  b->nset = b->inverted ? nothers : nrevoked;
  b->nothers = b->inverted ? nrevoked : nothers;
  b->rank = 0;
  if (b->nset == 0) return;
  while (b->rank < 63 && clubblock_cost(b, b->rank + 1) < clubblock_cost(b, b->rank)) b->rank++;
}

nay_status nay__clubblock_count(nay_clubwork *w, nay_clubblock *b) {
  size_t nknown;
  if (!nay__clubrecords_count(b->issuer->known, b->issuer->known_len, &nknown)) {
    return nay__fail(w->diag, NAY_EINVAL, "a record of a known serial is cut off or empty",
                     b->number);
  }
  NAY_TRY(nay__clubblock_revoked(w, b));
  size_t nrevoked = nay__clubset_n(&w->revoked);
  if (nknown == 0) {
    return nay__fail(w->diag, NAY_EINVAL, "an issuer without known certificates", b->number);
  }
  if (nknown < nrevoked) {
    return nay__fail(w->diag, NAY_EINVAL, "a revoked serial is not known", b->number);
  }
  clubblock_choose(b, nrevoked, nknown - nrevoked);
  return NAY_OK;
}

/* ---- the approximate filter ---- */

/*
 * Where a window is full, so that equations are redundant, all unknowns near it are 0 and the
 * others pass: some 700 rows of them for each redundant equation (measured at 300,000 equations).
 * Worth it while that is less than what another trial costs.
 */
static uint64_t clubblock_redundant_most(const nay_clubblock *b) {
  return b->nset / 700 * b->rank / NAY_CLUBRIBBON_STEP * b->nset / (b->nothers + 1);
}

static nay_status clubblock_eliminate(nay_clubwork *w, nay_clubblock *b) {
  const nay_clubitem *items = nay__clubset_at(&w->set);
  size_t n = nay__clubset_n(&w->set);
  uint64_t m, most = clubblock_redundant_most(b);
  for (unsigned trial = 0; (m = nay__clubribbon_rows(n, trial)) != 0; trial++) {
    bool last = nay__clubribbon_rows(n, trial + 1) == 0;
    NAY_TRY(nay__clubribbon_reset(&w->ribbon, m, w->a));
    b->approx_m = m;
    for (size_t i = 0; i < n && (last || w->ribbon.nredundant <= most); i++) {
      nay__clubribbon_insert(&w->ribbon, &items[i].key, 0);
    }
    if (w->ribbon.nredundant <= most) break;
  }
  b->approx_rows = w->ribbon.nrows;
  return NAY_OK;
}

/* The unknowns behind the last block of a column. Were they 0, so would be all others. */
static void clubblock_begin_column(nay_clubwork *w, unsigned column) {
  nay_clubrandom *random = &w->random[column];
  uint64_t *window = w->windows[column];
  *random = (nay_clubrandom){.state = 0x6e61792063617264u + column};
  uint64_t z = random->state * 0x9E3779B97F4A7C15u;
  window[0] = (z ^ z >> 29) >> (64 - CLUBBLOCK_TAIL_BITS) | 1;
  window[1] = window[2] = window[3] = 0;
}

/* Puts the window behind the rows of a column, where the windows of the last rows read it. */
static void clubblock_put_window(uint64_t *bits, uint64_t rows, const uint64_t window[4]) {
  size_t at = (size_t)(rows / 64);
  unsigned shift = rows % 64;
  for (unsigned i = 0; i < 4; i++) {
    bits[at + i] |= window[i] << shift;
    if (shift != 0) bits[at + i + 1] |= window[i] >> (64 - shift);
  }
}

static nay_status clubblock_solve_approx(nay_clubwork *w, nay_clubblock *b) {
  size_t words = nay__clubblock_words(b->approx_rows);
  NAY_TRY(nay__buffer_reserve(&b->approx, b->rank * words * sizeof(uint64_t), w->a));
  uint64_t *bits = (uint64_t *)(void *)b->approx.at;
  memset(bits, 0, b->rank * words * sizeof *bits);
  for (; w->ncolumns < b->rank; w->ncolumns++) clubblock_begin_column(w, w->ncolumns);
  for (unsigned c = 0; c < b->rank; c++, bits += words) {
    uint64_t behind[4];
    memcpy(behind, w->windows[c], sizeof behind);
    nay__clubribbon_solve(&w->ribbon, &w->random[c], w->windows[c], bits);
    clubblock_put_window(bits, b->approx_rows, behind);
  }
  return NAY_OK;
}

static bool clubblock_passes(const nay_clubblock *b, const nay_clubkey *key) {
  uint64_t bit = nay__clubkey_start(key, b->approx_m);
  const uint64_t *bits = (const uint64_t *)(const void *)b->approx.at;
  size_t words = nay__clubblock_words(b->approx_rows);
  for (unsigned c = 0; c < b->rank; c++, bits += words) {
    if (nay__clubkey_sum(key, bits + bit / 64, (unsigned)(bit % 64)) != 0) return false;
  }
  return true;
}

/* ---- the exact filter ---- */

/* Walks over the known and adds those to `to` that are not revoked and pass `filter`. */
static nay_status clubblock_collect_known(nay_clubwork *w, const nay_clubblock *b,
                                          const nay_clubblock *filter, nay_clubset *to) {
  nay_clubrecords records = {b->issuer->known, b->issuer->known_len, 0, b->issuer->id};
  nay_clubitem item;
  size_t nrevoked = nay__clubset_n(&w->revoked), nfound = 0;
  NAY_TRY(nay__buffer_reserve(&w->found, nrevoked + 1, w->a));
  memset(w->found.at, 0, nrevoked + 1);
  to->items.len = 0;
  while (nay__clubrecords_next(&records, &item)) {
    size_t at = nay__clubset_find(&w->revoked, &item.key);
    if (at != SIZE_MAX) {
      nfound += w->found.at[at] == 0;
      w->found.at[at] = 1;
    } else if (filter == NULL || clubblock_passes(filter, &item.key)) {
      NAY_TRY(nay__clubset_add(to, &item, w->a));
    }
  }
  if (nfound != nrevoked) {
    return nay__fail(w->diag, NAY_EINVAL, "a revoked serial is not known", b->number);
  }
  return nay__clubset_sort(to, w->a);
}

static nay_status clubblock_collect_revoked(nay_clubwork *w, const nay_clubblock *filter,
                                            nay_clubset *to) {
  const nay_clubitem *items = nay__clubset_at(&w->revoked);
  to->items.len = 0;
  for (size_t i = 0; i < nay__clubset_n(&w->revoked); i++) {
    if (filter == NULL || clubblock_passes(filter, &items[i].key)) {
      NAY_TRY(nay__clubset_add(to, &items[i], w->a));
    }
  }
  return NAY_OK;
}

static size_t clubblock_nexceptions(const nay_clubblock *b) {
  return b->exceptions.len / sizeof(const uint8_t *);
}

/* Inserts the set, then the others; what fails is an exception. Stops at more than `most`. */
static nay_status clubblock_try_exact(nay_clubwork *w, nay_clubblock *b, size_t most) {
  const nay_clubitem *set = nay__clubset_at(&w->set), *others = nay__clubset_at(&w->others);
  b->exceptions.len = 0;
  for (size_t i = 0; i < nay__clubset_n(&w->set); i++) {
    nay__clubribbon_insert(&w->ribbon, &set[i].key, 0);
  }
  for (size_t i = 0; i < nay__clubset_n(&w->others) && clubblock_nexceptions(b) <= most; i++) {
    if (nay__clubribbon_insert(&w->ribbon, &others[i].key, 1)) continue;
    const uint8_t *record = others[i].record;
    NAY_TRY(nay__buffer_append(&b->exceptions, &record, sizeof(const uint8_t *), w->a));
  }
  return NAY_OK;
}

static nay_status clubblock_solve_exact(nay_clubwork *w, nay_clubblock *b) {
  uint64_t n = nay__clubset_n(&w->set) + nay__clubset_n(&w->others), m;
  nay_clubrandom zeros = {0, 0, 0};
  for (unsigned trial = 0; (m = nay__clubribbon_rows(n, trial)) != 0; trial++) {
    NAY_TRY(nay__clubribbon_reset(&w->ribbon, m, w->a));
    b->exact_m = m;
    bool last = nay__clubribbon_rows(n, trial + 1) == 0;
    size_t most = (size_t)(n / NAY_CLUBRIBBON_STEP / CLUBBLOCK_EXCEPTION_BITS);
    NAY_TRY(clubblock_try_exact(w, b, last ? SIZE_MAX : most));
    if (clubblock_nexceptions(b) <= most) break;
  }
  b->exact_rows = w->ribbon.nrows;
  size_t nbytes = nay__clubblock_words(b->exact_rows) * sizeof(uint64_t);
  NAY_TRY(nay__buffer_reserve(&b->exact, nbytes, w->a));
  nay__clubribbon_solve(&w->ribbon, &zeros, w->exact_window, (uint64_t *)(void *)b->exact.at);
  return NAY_OK;
}

nay_status nay__clubblock_solve(nay_clubwork *w, nay_clubblock *b) {
  NAY_TRY(nay__clubblock_revoked(w, b));
  if (b->nset == 0) return clubblock_collect_known(w, b, NULL, &w->others); /* only to look */
  if (b->inverted) NAY_TRY(clubblock_collect_known(w, b, NULL, &w->set));
  if (!b->inverted) NAY_TRY(clubblock_collect_revoked(w, NULL, &w->set));
  b->approx_m = nay__clubset_n(&w->set);
  if (b->rank > 0) {
    NAY_TRY(clubblock_eliminate(w, b));
    NAY_TRY(clubblock_solve_approx(w, b));
  }
  if (b->inverted) NAY_TRY(clubblock_collect_revoked(w, b, &w->others));
  if (!b->inverted) NAY_TRY(clubblock_collect_known(w, b, b, &w->others));
  return clubblock_solve_exact(w, b);
}
