/*
 * test_pieces.c - filters that are encoded and decoded in pieces, copies built from recalled
 * parameters, and blocks that a defragmenting allocator moves.
 */
#include "contract.h"

#define RANDOM (&key_sets[3])

static nay_filter *keyed_filter(const nay_family *family, uint64_t n) {
  nay_params p = contract_keyed(family, n);
  p.flags = NAY_STORE_KEY;
  nay_filter *f = contract_build(&p, RANDOM, 0, n);
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  assert_ok(nay_filter_set_key(f, "int"));
  return f;
}

/* ---- out ---- */

static void a_range_is_a_part_of_the_file(void **state) {
  nay_filter *f = keyed_filter(*state, 60000);
  bytes b = bytes_of(f);
  uint8_t *piece = malloc(b.len);
  const size_t lens[] = {1, 7, 64, 4096, 65536, b.len};
  for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
    size_t step = lens[i] < 64 ? 1009 : lens[i]; /* small pieces here and there, others all */
    for (size_t at = 0; at < b.len; at += step) {
      size_t len = b.len - at < lens[i] ? b.len - at : lens[i];
      memset(piece, 0xee, b.len);
      assert_ok(nay__filter_encode_range(f, at, piece, len));
      assert_memory_equal(piece, b.at + at, len);
      if (len < b.len) assert_int_equal(piece[len], 0xee);
    }
  }
  assert_ok(nay__filter_encode_range(f, b.len, NULL, 0));
  assert_status(nay__filter_encode_range(f, b.len, piece, 1), NAY_EINVAL);
  assert_status(nay__filter_encode_range(f, UINT64_MAX, piece, 1), NAY_EINVAL);
  assert_status(nay__filter_encode_range(f, 1, piece, b.len), NAY_EINVAL);
  assert_status(nay__filter_encode_range(f, 0, NULL, 1), NAY_EINVAL);
  assert_status(nay__filter_encode_range(NULL, 0, piece, 1), NAY_EINVAL);
  free(piece);
  bytes_free(&b);
  nay_filter_free(f);
}

/* ---- in ---- */

static void feed(nay_decoder *d, const bytes *b, size_t from, size_t to, size_t step) {
  for (size_t at = from; at < to; at += step) {
    assert_ok(nay__decoder_add(d, b->at + at, to - at < step ? to - at : step, NULL));
  }
}

static void pieces_of_any_length_make_the_filter(void **state) {
  nay_filter *f = keyed_filter(*state, 60000);
  bytes b = bytes_of(f);
  const size_t steps[] = {1, 63, 64, 65, 10007, b.len};
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_decoder *d;
  assert_ok(nay__decoder_new(&a, &d));
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    nay_filter *g;
    feed(d, &b, 0, b.len, steps[i]); /* the decoder is used again each time */
    assert_ok(nay__decoder_finish(d, NULL, &g));
    assert_true(filters_equal(f, g));
    assert_false(stats_of(g).read_only || stats_of(g).locked);
    if (contract_can(*state, NAY_CAN_ADD)) contract_add(g, RANDOM, 60000, 10);
    nay_filter_free(g);
  }
  nay__decoder_free(d);
  nay__decoder_free(NULL);
  assert_true(flaky_is_clean(&heap));
  bytes_free(&b);
  nay_filter_free(f);
}

static void what_is_missing_or_wrong_can_be_sent_again(void **state) {
  nay_filter *f = keyed_filter(*state, 20000), *untouched = (nay_filter *)f, *g = untouched;
  bytes b = bytes_of(f);
  nay_decoder *d;
  nay_diag diag;
  size_t len;
  uint64_t total;
  assert_ok(nay__decoder_new(NULL, &d));
  assert_status(nay__decoder_finish(d, &diag, &g), NAY_ECORRUPT);
  assert_status(
      nay__decoder_add(d, "#!/bin/sh, and what else belongs to a script of 64 bytes or more", 64,
                       &diag),
      NAY_EFORMAT);
  feed(d, &b, 0, 63, 63);
  nay__decoder_bytes(d, &len, &total);
  assert_true(len == 63 && total == 0);
  feed(d, &b, 63, b.len - 1, b.len);
  assert_memory_equal(nay__decoder_bytes(d, &len, &total), b.at, b.len - 1);
  assert_true(len == b.len - 1 && total == b.len);
  assert_status(nay__decoder_finish(d, &diag, &g), NAY_ECORRUPT);
  assert_status(nay__decoder_add(d, b.at, 2, &diag), NAY_ECORRUPT); /* one byte too many */
  uint8_t wrong = (uint8_t)(b.at[b.len - 1] ^ 1);
  assert_ok(nay__decoder_add(d, &wrong, 1, NULL));
  assert_status(nay__decoder_finish(d, &diag, &g), NAY_ECORRUPT);
  assert_ptr_equal(g, untouched);
  assert_ok(nay__decoder_truncate(d, b.len - 1));
  assert_status(nay__decoder_truncate(d, b.len), NAY_EINVAL);
  assert_ok(nay__decoder_add(d, b.at + b.len - 1, 1, NULL));
  assert_ok(nay__decoder_truncate(d, 10)); /* into the header */
  feed(d, &b, 10, b.len, 1000);
  assert_ok(nay__decoder_finish(d, NULL, &g));
  assert_true(filters_equal(f, g));
  nay_filter_free(g);
  nay__decoder_free(d);
  bytes_free(&b);
  nay_filter_free(f);
}

/* Every allocation of a decoder fails in turn: nothing was taken, and the next try works. */
static void a_decoder_survives_want_of_memory(void **state) {
  nay_filter *f = keyed_filter(*state, 1000);
  bytes b = bytes_of(f);
  for (long at = 0; at < 4; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_decoder *d = NULL;
    nay_filter *g = NULL;
    nay_diag diag;
    if (nay__decoder_new(&a, &d) != NAY_OK) assert_ok(nay__decoder_new(&a, &d));
    for (size_t i = 0; i < 2; i++) {
      size_t from = i * 40, to = i == 0 ? 40 : b.len;
      nay_status status = nay__decoder_add(d, b.at + from, to - from, &diag);
      if (status != NAY_OK) {
        assert_status(status, NAY_ENOMEM);
        assert_ok(nay__decoder_add(d, b.at + from, to - from, &diag));
      }
    }
    if (nay__decoder_finish(d, &diag, &g) != NAY_OK) assert_ok(nay__decoder_finish(d, &diag, &g));
    assert_true(filters_equal(f, g));
    nay_filter_free(g);
    nay__decoder_free(d);
    assert_true(flaky_is_clean(&heap));
  }
  bytes_free(&b);
  nay_filter_free(f);
}

/* ---- filters from recalled parameters ---- */

/* Parameters that were recalled make the filter that was made from the first ones. */
static void assert_twin(const nay_params *p) {
  nay_filter *f = contract_new(p), *copy;
  nay_params recalled = {.size = sizeof recalled};
  assert_ok(nay_filter_params(f, &recalled));
  copy = contract_new(&recalled);
  assert_true(filters_equal(f, copy));
  contract_add(f, RANDOM, 0, p->nkeys / 2);
  contract_add(copy, RANDOM, 0, p->nkeys / 2);
  assert_true(filters_equal(f, copy));
  nay_params later = {.size = sizeof later}; /* what is in it does not matter */
  assert_ok(nay_filter_params(f, &later));
  assert_memory_equal(&later, &recalled, sizeof later);
  nay_filter_free(f);
  nay_filter_free(copy);
}

static void recalled_parameters_make_a_twin(void **state) {
  const nay_family *family = *state;
  const uint64_t nkeys[] = {1, 100, 12345};
  for (size_t i = 0; i < 3; i++) {
    nay_params p = contract_params(family, nkeys[i]);
    p.seed = 99;
    assert_twin(&p);
    p = contract_keyed(family, nkeys[i]);
    p.flags = NAY_STORE_KEY;
    assert_twin(&p);
    if (contract_can(family, NAY_CAN_REMOVE)) {
      p.flags |= NAY_UNIQUE;
      assert_twin(&p);
    }
    if (contract_can(family, NAY_CAN_GROW)) {
      p.max_nbytes = 1 << 20;
      if (family->kind == NAY_CUCKOO) p.max_nkeys = nkeys[i] * 5;
      assert_twin(&p);
    }
    if (contract_can(family, NAY_CAN_EXPIRE)) {
      p.window = 86400;
      p.generations = 3;
      assert_twin(&p);
    }
  }
}

static void twins_merge(void **state) {
  nay_params p = contract_keyed(*state, 1000), copy = {.size = sizeof copy};
  nay_filter *f = contract_new(&p);
  assert_ok(nay_filter_params(f, &copy));
  nay_filter *g = contract_new(&copy);
  contract_add(g, RANDOM, 0, 500);
  assert_ok(nay_filter_merge(f, g, 1, NULL));
  assert_all_maybe(f, RANDOM, 0, 500);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void parameters_are_not_for_everyone(void **state) {
  const nay_family *family = *state;
  nay_params p = {sizeof p, .nkeys = 77};
  nay_filter *f = contract_filter(family, 100);
  if (!contract_can(family, NAY_CAN_ADD)) {
    assert_status(nay_filter_params(f, &p), NAY_ENOTSUP);
    assert_int_equal(p.nkeys, 77);
  }
  assert_int_equal(nay_filter_kind(f), family->kind);
  assert_int_equal(nay_filter_kind(NULL), NAY_AUTO);
  assert_status(nay_filter_params(NULL, &p), NAY_EINVAL);
  assert_status(nay_filter_params(f, NULL), NAY_EINVAL);
  nay_filter_free(f);
  if (!contract_can(family, NAY_CAN_ADD)) return;
  nay_params secret = contract_keyed(family, 100);
  f = contract_new(&secret);
  bytes b = bytes_of(f);
  nay_filter *locked;
  assert_ok(nay_filter_decode(b.at, b.len, NULL, NULL, &locked));
  assert_status(nay_filter_params(locked, &p), NAY_EKEY);
  nay_filter_free(locked);
  nay_filter_free(f);
  bytes_free(&b);
}

/* ---- moving ---- */

typedef struct mover {
  flaky *heap;
  unsigned moves, stays; /* the first `stays` blocks are left where they are */
} mover;

/* To a place that is aligned otherwise than the old one, as another allocator's might be. */
static void *move_block(void *ctx, void *block) {
  mover *m = ctx;
  size_t size = ((const flaky_label *)block - 1)->size;
  if (m->moves++ < m->stays) return NULL;
  nay_allocator a = flaky_allocator(m->heap);
  void *fresh = a.alloc(a.ctx, size);
  if (fresh == NULL) return NULL;
  memcpy(fresh, block, size);
  memset(block, 0xdd, size);
  a.free(a.ctx, block, size);
  return fresh;
}

static void a_moved_filter_is_the_same(void **state) {
  for (unsigned stays = 0; stays < 4; stays++) {
    flaky heap = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&heap);
    nay_filter *made = keyed_filter(*state, 3000), *f;
    assert_ok(nay_filter_copy(made, &a, NULL, &f));
    bytes b = bytes_of(f);
    assert_true(nay_filter_nbytes(f) == heap.live);
    mover m = {&heap, 0, stays};
    void *spacer = NULL; /* so that addresses differ by less than a line */
    for (unsigned i = 0; i < 20; i++) {
      m.moves = 0;
      nay_allocator odd = flaky_allocator(&heap);
      spacer = odd.alloc(odd.ctx, 16 + i * 16);
      f = nay__filter_move(f, move_block, &m);
      odd.free(odd.ctx, spacer, 16 + i * 16);
      assert_unchanged(f, &b);
      assert_same_answers(made, f, RANDOM, 300);
    }
    assert_true(nay_filter_nbytes(f) == heap.live);
    if (contract_can(*state, NAY_CAN_ADD)) contract_add(f, RANDOM, 3000, 10);
    nay_filter_free(f);
    assert_true(flaky_is_clean(&heap));
    bytes_free(&b);
    nay_filter_free(made);
  }
  assert_null(nay__filter_move(NULL, move_block, NULL));
  assert_int_equal(nay_filter_nbytes(NULL), 0);
}

/* One that was opened keeps its metadata inside the block that moves. */
static void a_moved_file_keeps_its_metadata(void **state) {
  nay_filter *made = keyed_filter(*state, 3000), *f;
  bytes b = bytes_of(made);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  mover m = {&heap, 0, 0};
  nay_decoder *d;
  assert_ok(nay__decoder_new(&a, &d));
  feed(d, &b, 0, b.len, b.len);
  assert_ok(nay__decoder_finish(d, NULL, &f));
  nay__decoder_free(d);
  f = nay__filter_move(f, move_block, &m);
  size_t len;
  assert_memory_equal(nay_filter_meta(f, &len), "metadata", 8);
  assert_int_equal(len, 8);
  assert_unchanged(f, &b);
  nay_filter_free(f);
  assert_true(flaky_is_clean(&heap));
  bytes_free(&b);
  nay_filter_free(made);
}

/* ---- memory that is zero already ---- */

static void *zero_alloc(void *ctx, size_t size) {
  void *p = flaky_alloc(ctx, size);
  return p != NULL ? memset(p, 0, size) : NULL;
}

/* The flag changes nothing but who writes the zeros; a copy elsewhere does not count on it. */
static void zeroed_memory_makes_the_same_filter(void **state) {
  flaky zero_heap = {.fail_at = -1}, other_heap = {.fail_at = -1};
  nay_allocator zero = flaky_allocator(&zero_heap), other = flaky_allocator(&other_heap);
  zero.alloc = zero_alloc;
  nay_params p = contract_params(*state, 500);
  uint64_t n = contract_can(*state, NAY_CAN_GROW) ? 4000 : 500;
  if (p.kind == NAY_CUCKOO) p.max_nkeys = n;
  nay_filter *plain = contract_new(&p), *f, *by_default, *copy;
  p.flags = NAY_ZEROED;
  assert_ok(nay_filter_new(&p, &zero, NULL, &f));
  assert_ok(nay_filter_new(&p, NULL, NULL, &by_default));
  assert_ok(nay_filter_copy(f, &other, NULL, &copy));
  nay_filter *all[] = {plain, f, by_default, copy};
  for (size_t i = 0; i < 4; i++) {
    contract_add(all[i], RANDOM, 0, n);
    assert_true(filters_equal(plain, all[i]));
    nay_filter_free(i == 0 ? NULL : all[i]);
  }
  nay_filter_free(plain);
  assert_true(flaky_is_clean(&zero_heap) && flaky_is_clean(&other_heap));
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(a_range_is_a_part_of_the_file, 0),
      CONTRACT(pieces_of_any_length_make_the_filter, 0),
      CONTRACT(what_is_missing_or_wrong_can_be_sent_again, 0),
      CONTRACT(a_decoder_survives_want_of_memory, 0),
      CONTRACT(recalled_parameters_make_a_twin, NAY_CAN_ADD),
      CONTRACT(twins_merge, NAY_CAN_ADD | NAY_CAN_MERGE),
      CONTRACT(parameters_are_not_for_everyone, 0),
      CONTRACT(a_moved_filter_is_the_same, 0),
      CONTRACT(a_moved_file_keeps_its_metadata, 0),
      CONTRACT(zeroed_memory_makes_the_same_filter, NAY_CAN_ADD),
  };
  return contract_run_all(tests);
}
