/*
 * clubcard_build.c - writes clubcards.
 *
 * The rows of all blocks lie behind each other, those of the most columns first, so that column c
 * ends with the last block of more than c columns. Windows reach into the rows of the next block:
 * blocks are solved from the last to the first. Free unknowns are random, but always the same
 * (SplitMix64), and keys are sorted where their order matters, so the bytes depend on the sets
 * alone.
 */
#include "format/clubcard_build.h"

#include "base/abi.h"
#include "base/bytes.h"

typedef struct clubcard_build {
  nay_clubcard_lists lists;
  const nay_allocator *a;
  nay_diag *diag;
  nay_clubblock *blocks; /* in ascending order of ids */
  nay_clubblock **order; /* in falling order of ranks */
  nay_clubwork work;
  nay_buffer out;
  nay_buffer column;
} clubcard_build;

/* ---- what is given ---- */

static nay_status clubcard_build_check_logs(const clubcard_build *b) {
  const nay_clubcard_log *logs = b->lists.logs;
  if (b->lists.nlogs > NAY_CLUBCARD_MAX_LOGS) {
    return nay__fail(b->diag, NAY_EFULL, "more than 4,096 logs", NAY_CLUBCARD_MAX_LOGS);
  }
  for (size_t i = 0; i < b->lists.nlogs; i++) {
    if (logs[i].low > logs[i].high) {
      return nay__fail(b->diag, NAY_EINVAL, "the times of a log end before they begin", i);
    }
    for (size_t j = 0; j < i; j++) {
      if (memcmp(logs[i].id, logs[j].id, NAY_CLUBCARD_ID) == 0) {
        return nay__fail(b->diag, NAY_EINVAL, "a log comes twice", i);
      }
    }
  }
  return NAY_OK;
}

static nay_status clubcard_build_check(clubcard_build *b) {
  const nay_clubcard_lists *l = &b->lists;
  if (l->version != 3 && l->version != 4) {
    return nay__fail(b->diag, NAY_EINVAL, "the version is neither 3 nor 4", 0);
  }
  if ((l->logs == NULL && l->nlogs > 0) || (l->issuers == NULL && l->nissuers > 0)) {
    return nay__fail(b->diag, NAY_EINVAL, "logs or issuers is NULL", 0);
  }
  if (l->nissuers > UINT32_MAX) return nay__fail(b->diag, NAY_EFULL, "more than 2^32 issuers", 0);
  for (size_t i = 0; i < l->nissuers; i++) {
    const nay_clubcard_issuer *issuer = &l->issuers[i];
    if (issuer->id == NULL || (issuer->known == NULL && issuer->known_len > 0) ||
        (issuer->revoked == NULL && issuer->revoked_len > 0)) {
      return nay__fail(b->diag, NAY_EINVAL, "a pointer of an issuer is NULL", i);
    }
  }
  return clubcard_build_check_logs(b);
}

/* Shell sort: some thousand issuers. `above` tells whether x belongs behind y. */
static void clubcard_build_sort(nay_clubblock **at, size_t n,
                                bool (*above)(const nay_clubblock *x, const nay_clubblock *y)) {
  size_t gap = 1;
  while (gap < n / 3) gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3) {
    for (size_t i = gap; i < n; i++) {
      nay_clubblock *moved = at[i];
      size_t j = i;
      for (; j >= gap && above(at[j - gap], moved); j -= gap) at[j] = at[j - gap];
      at[j] = moved;
    }
  }
}

static bool clubcard_build_id_above(const nay_clubblock *x, const nay_clubblock *y) {
  return memcmp(x->issuer->id, y->issuer->id, NAY_CLUBCARD_ID) > 0;
}

static bool clubcard_build_rank_below(const nay_clubblock *x, const nay_clubblock *y) {
  return x->rank != y->rank ? x->rank < y->rank : clubcard_build_id_above(x, y);
}

static nay_status clubcard_build_begin(clubcard_build *b) {
  size_t n = b->lists.nissuers, blocks_size, order_size;
  if (n == 0) return NAY_OK;
  if (!nay__mul_ok(n, sizeof *b->blocks, &blocks_size)) return NAY_ENOMEM;
  if (!nay__mul_ok(n, sizeof(nay_clubblock *), &order_size)) return NAY_ENOMEM;
  b->blocks = nay__alloc(b->a, blocks_size);
  b->order = nay__alloc(b->a, order_size);
  if (b->blocks == NULL || b->order == NULL) {
    nay__free(b->a, b->blocks, blocks_size);
    nay__free(b->a, b->order, order_size);
    b->blocks = NULL;
    b->order = NULL;
    return NAY_ENOMEM;
  }
  for (size_t i = 0; i < n; i++) {
    b->blocks[i] = (nay_clubblock){.issuer = &b->lists.issuers[i], .number = i};
    b->order[i] = &b->blocks[i];
  }
  clubcard_build_sort(b->order, n, clubcard_build_id_above);
  for (size_t i = 1; i < n; i++) {
    if (!clubcard_build_id_above(b->order[i], b->order[i - 1])) {
      uint64_t later = nay__max_u64(b->order[i]->number, b->order[i - 1]->number);
      return nay__fail(b->diag, NAY_EINVAL, "an issuer comes twice", later);
    }
  }
  return NAY_OK;
}

static nay_status clubcard_build_solve(clubcard_build *b) {
  size_t n = b->lists.nissuers;
  uint64_t approx = 0, exact = 0;
  for (size_t i = 0; i < n; i++) NAY_TRY(nay__clubblock_count(&b->work, &b->blocks[i]));
  clubcard_build_sort(b->order, n, clubcard_build_rank_below);
  for (size_t i = n; i-- > 0;) NAY_TRY(nay__clubblock_solve(&b->work, b->order[i]));
  for (size_t i = 0; i < n; i++) {
    nay_clubblock *block = b->order[i];
    if (block->rank > 0) block->approx_offset = approx;
    if (block->nset > 0) block->exact_offset = exact;
    approx += block->approx_rows;
    exact += block->exact_rows;
  }
  if (approx + NAY_CLUBCARD_WINDOW > UINT32_MAX || exact > UINT32_MAX) {
    return nay__fail(b->diag, NAY_EFULL, "more than 2^32 rows", 0);
  }
  return NAY_OK;
}

/* ---- bytes ---- */

static nay_status clubcard_build_put(clubcard_build *b, const void *bytes, size_t len) {
  return nay__buffer_append(&b->out, bytes, len, b->a);
}

/* A number of so many bytes in V4, of 8 in V3. */
static nay_status clubcard_build_number(clubcard_build *b, uint64_t x, unsigned width) {
  uint8_t bytes[8];
  if (b->lists.version == 3) {
    nay__store64le(bytes, x);
    return clubcard_build_put(b, bytes, 8);
  }
  if (width < 8 && x >> 8 * width != 0) {
    return nay__fail(b->diag, NAY_EFULL, "a number is too large for version 4", x);
  }
  nay__store64be(bytes, x);
  return clubcard_build_put(b, bytes + 8 - width, width);
}

static nay_status clubcard_build_put_logs(clubcard_build *b) {
  NAY_TRY(clubcard_build_number(b, b->lists.nlogs, 2));
  for (size_t i = 0; i < b->lists.nlogs; i++) {
    const nay_clubcard_log *log = &b->lists.logs[i];
    NAY_TRY(clubcard_build_put(b, log->id, NAY_CLUBCARD_ID));
    NAY_TRY(clubcard_build_number(b, log->low, 8));
    NAY_TRY(clubcard_build_number(b, log->high, 8));
  }
  return NAY_OK;
}

static nay_status clubcard_build_put_exceptions(clubcard_build *b, const nay_clubblock *block) {
  const uint8_t *const *records = (const uint8_t *const *)(const void *)block->exceptions.at;
  size_t n = block->exceptions.len / sizeof *records;
  NAY_TRY(clubcard_build_number(b, n, 2));
  for (size_t i = 0; i < n; i++) {
    NAY_TRY(clubcard_build_number(b, records[i][0], 1));
    NAY_TRY(clubcard_build_put(b, records[i] + 1, records[i][0]));
  }
  return NAY_OK;
}

static nay_status clubcard_build_put_issuer(clubcard_build *b, const nay_clubblock *block) {
  bool v3 = b->lists.version == 3;
  uint8_t inverted = block->inverted;
  if (v3) NAY_TRY(clubcard_build_number(b, NAY_CLUBCARD_ID, 8));
  NAY_TRY(clubcard_build_put(b, block->issuer->id, NAY_CLUBCARD_ID));
  NAY_TRY(clubcard_build_number(b, block->approx_m, 4));
  if (v3) NAY_TRY(clubcard_build_number(b, block->exact_m, 4));
  NAY_TRY(clubcard_build_number(b, block->rank, 1));
  NAY_TRY(clubcard_build_number(b, block->approx_offset, 4));
  if (!v3) NAY_TRY(clubcard_build_number(b, block->exact_m, 4));
  NAY_TRY(clubcard_build_number(b, block->exact_offset, 4));
  NAY_TRY(clubcard_build_put(b, &inverted, 1));
  return clubcard_build_put_exceptions(b, block);
}

/* Appends n bits at bit *at of the column, whose words behind them are 0. */
static void clubcard_build_add_bits(uint64_t *column, uint64_t *at, const uint64_t *bits,
                                    uint64_t n) {
  for (uint64_t i = 0; i < n; i += 64) {
    uint64_t left = n - i, word = bits[i / 64];
    if (left < 64) word &= ((uint64_t)1 << left) - 1;
    uint64_t to = *at + i;
    column[to / 64] |= word << (to % 64);
    if (to % 64 != 0) column[to / 64 + 1] |= word >> (64 - to % 64);
  }
  *at += n;
}

static nay_status clubcard_build_put_column(clubcard_build *b, const uint64_t *column,
                                            uint64_t nwords) {
  while (nwords > 0 && column[nwords - 1] == 0) nwords--;
  NAY_TRY(clubcard_build_number(b, nwords, 4));
  for (uint64_t i = 0; i < nwords; i++) NAY_TRY(clubcard_build_number(b, column[i], 8));
  return NAY_OK;
}

/* Column c of the approximate filter; that after the last of them is the exact filter. */
static nay_status clubcard_build_put_filter(clubcard_build *b, unsigned c, bool exact) {
  uint64_t at = 0, rows = 0;
  size_t n = b->lists.nissuers, nwords;
  for (size_t i = 0; i < n; i++) {
    rows += exact ? b->order[i]->exact_rows : b->order[i]->rank > c ? b->order[i]->approx_rows : 0;
  }
  nwords = (size_t)(rows / 64 + 6);
  b->column.len = 0;
  NAY_TRY(nay__buffer_reserve(&b->column, nwords * sizeof(uint64_t), b->a));
  uint64_t *column = (uint64_t *)(void *)b->column.at;
  memset(column, 0, nwords * sizeof *column);
  for (size_t i = 0; i < n; i++) {
    const nay_clubblock *block = b->order[i];
    const uint64_t *bits =
        (const uint64_t *)(const void *)(exact ? block->exact.at : block->approx.at);
    if (exact ? block->nset == 0 : block->rank <= c) continue;
    uint64_t from = exact ? 0 : nay__clubblock_words(block->approx_rows) * c;
    uint64_t more = exact ? block->exact_rows : block->approx_rows;
    bool last = !exact && at + more == rows; /* its window is that of the column's end */
    clubcard_build_add_bits(column, &at, bits + from, more + (last ? NAY_CLUBCARD_WINDOW : 0));
  }
  return clubcard_build_put_column(b, column, nwords);
}

static nay_status clubcard_build_put_all(clubcard_build *b) {
  const uint8_t head[2] = {(uint8_t)b->lists.version, 0};
  size_t n = b->lists.nissuers;
  unsigned ncolumns = b->work.ncolumns;
  NAY_TRY(clubcard_build_put(b, head, sizeof head));
  NAY_TRY(clubcard_build_put_logs(b));
  NAY_TRY(clubcard_build_number(b, n, 4));
  clubcard_build_sort(b->order, n, clubcard_build_id_above);
  for (size_t i = 0; i < n; i++) NAY_TRY(clubcard_build_put_issuer(b, b->order[i]));
  clubcard_build_sort(b->order, n, clubcard_build_rank_below);
  NAY_TRY(clubcard_build_number(b, ncolumns, 1));
  for (unsigned c = 0; c < ncolumns; c++) NAY_TRY(clubcard_build_put_filter(b, c, false));
  return clubcard_build_put_filter(b, 0, true);
}

/* ---- the proof ---- */

static nay_status clubcard_build_verify_block(clubcard_build *b, const nay_clubcard *card,
                                              const nay_clubblock *block) {
  nay_clubrecords records = {block->issuer->known, block->issuer->known_len, 0, block->issuer->id};
  nay_clubitem item;
  NAY_TRY(nay__clubblock_revoked(&b->work, block));
  while (nay__clubrecords_next(&records, &item)) {
    nay_certificate c = {.size = sizeof c,
                         .issuer = block->issuer->id,
                         .serial = item.record + 1,
                         .serial_len = item.record[0]};
    bool revoked = nay__clubset_find(&b->work.revoked, &item.key) != SIZE_MAX;
    if (nay__clubcard_answer(card, &c) == (revoked ? NAY_REVOKED : NAY_NOT_REVOKED)) continue;
    return nay__fail(b->diag, NAY_ECORRUPT, "a certificate got the wrong answer", block->number);
  }
  return NAY_OK;
}

/* Reads the bytes as everybody will, and asks for every certificate. */
static nay_status clubcard_build_verify(clubcard_build *b) {
  nay_clubcard card = {.size = sizeof card};
  NAY_TRY(nay_clubcard_open(b->out.at, b->out.len, b->diag, &card));
  for (size_t i = 0; i < b->lists.nissuers; i++) {
    NAY_TRY(clubcard_build_verify_block(b, &card, &b->blocks[i]));
  }
  return NAY_OK;
}

static void clubcard_build_free(clubcard_build *b) {
  size_t n = b->blocks != NULL ? b->lists.nissuers : 0;
  for (size_t i = 0; i < n; i++) {
    nay__buffer_free(&b->blocks[i].approx, b->a);
    nay__buffer_free(&b->blocks[i].exact, b->a);
    nay__buffer_free(&b->blocks[i].exceptions, b->a);
  }
  nay__free(b->a, b->blocks, n * sizeof *b->blocks);
  nay__free(b->a, b->order, n * sizeof(nay_clubblock *));
  nay__clubribbon_free(&b->work.ribbon, b->a);
  nay__clubset_free(&b->work.revoked, b->a);
  nay__clubset_free(&b->work.set, b->a);
  nay__clubset_free(&b->work.others, b->a);
  nay__buffer_free(&b->work.found, b->a);
  nay__buffer_free(&b->out, b->a);
  nay__buffer_free(&b->column, b->a);
}

nay_status nay_clubcard_build(const nay_clubcard_lists *lists, const nay_allocator *allocator,
                              nay_sink sink, void *ctx, nay_diag *diag) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  clubcard_build *b = nay__alloc(&a, sizeof *b);
  if (b == NULL) return NAY_ENOMEM;
  *b = (clubcard_build){.a = &a, .diag = diag, .work = {.a = &a, .diag = diag}};
  nay_status status = sink == NULL ? nay__fail(diag, NAY_EINVAL, "sink is NULL", 0) : NAY_OK;
  if (status == NAY_OK) status = nay__abi_read(NAY_ABI_CLUBCARD_LISTS, lists, diag, &b->lists);
  if (status == NAY_OK) status = clubcard_build_check(b);
  if (status == NAY_OK) status = clubcard_build_begin(b);
  if (status == NAY_OK) status = clubcard_build_solve(b);
  if (status == NAY_OK) status = clubcard_build_put_all(b);
  if (status == NAY_OK) status = clubcard_build_verify(b);
  if (status == NAY_OK) status = sink(ctx, b->out.at, b->out.len);
  clubcard_build_free(b);
  nay__free(&a, b, sizeof *b);
  return status;
}
