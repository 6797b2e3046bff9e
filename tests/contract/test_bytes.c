/* test_bytes.c - a filter and its bytes: encode, decode, view, copy, metadata, keys. */
#include "contract.h"
#include "support/hashes.h"

#define RANDOM (&key_sets[3])

/* test_bytes is linked with --wrap: every malloc and calloc of the library comes by here. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
static unsigned long allocations;

void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
  allocations++;
  return __real_calloc(n, size);
}

/* ---- encode and decode ---- */

static const uint64_t sizes[] = {0, 1, 100, 10000, 100000};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

static nay_filter *decoded(const bytes *b) {
  nay_filter *f;
  nay_diag diag = {.what = "untouched", .offset = 99, .os_error = 99};
  assert_ok(nay_filter_decode(b->at, b->len, NULL, &diag, &f));
  assert_string_equal(diag.what, "untouched");
  return f;
}

static void decode_gives_the_filter_back(void **state) {
  for (size_t i = 0; i < N_SIZES; i++) {
    nay_params p = contract_params(*state, 0);
    p.seed = 7 * i;
    nay_filter *f = contract_build(&p, RANDOM, 0, sizes[i]);
    bytes b = bytes_of(f);
    nay_filter *g = decoded(&b);
    assert_same_answers(f, g, RANDOM, 2 * sizes[i]);
    assert_unchanged(g, &b);
    assert_true(filter_same_hash(f, g));
    nay_stats sf = stats_of(f), sg = stats_of(g);
    assert_true(sf.kind == sg.kind && sf.nkeys == sg.nkeys && sf.nbits == sg.nbits);
    assert_true(sf.k == sg.k && sf.nbits_set == sg.nbits_set && !sg.read_only && !sg.locked);
    bytes_free(&b);
    nay_filter_free(f);
    nay_filter_free(g);
  }
}

/* What was decoded is the caller's own: it takes adds and does not need the bytes any more. */
static void decoded_filters_take_adds(void **state) {
  nay_params p = contract_params(*state, 500);
  nay_filter *f = contract_new(&p);
  contract_add(f, RANDOM, 0, 250);
  bytes b = bytes_of(f);
  nay_filter *g = decoded(&b);
  memset(b.at, 0xff, b.len);
  bytes_free(&b);
  contract_add(f, RANDOM, 250, 250);
  contract_add(g, RANDOM, 250, 250);
  assert_true(filters_equal(f, g));
  nay_filter_free(f);
  nay_filter_free(g);
}

typedef struct collector {
  uint8_t *at;
  size_t len, cap;
  unsigned calls, fail_at; /* fail_at 0: never */
} collector;

static nay_status collect(void *ctx, const void *p, size_t len) {
  collector *c = ctx;
  c->calls++;
  if (c->fail_at != 0 && c->calls >= c->fail_at) {
    assert_int_equal(c->calls, c->fail_at); /* a sink that failed is not called again */
    return NAY_EFULL;
  }
  assert_true(len <= c->cap - c->len);
  memcpy(c->at + c->len, p, len);
  c->len += len;
  return NAY_OK;
}

static void a_stream_has_the_same_bytes(void **state) {
  nay_filter *f = contract_filter(*state, 60000); /* more than one chunk of 64 KiB */
  assert_ok(nay_filter_set_meta(f, "metadata", 8));
  bytes b = bytes_of(f);
  collector c = {malloc(b.len), 0, b.len, 0, 0};
  assert_ok(nay_filter_encode_stream(f, collect, &c));
  assert_int_equal(c.len, b.len);
  assert_memory_equal(c.at, b.at, b.len);
  unsigned calls = c.calls;
  for (unsigned i = 1; i <= calls; i++) {
    c.calls = 0;
    c.len = 0;
    c.fail_at = i;
    assert_status(nay_filter_encode_stream(f, collect, &c), NAY_EFULL);
    assert_int_equal(c.calls, i);
  }
  free(c.at);
  bytes_free(&b);
  nay_filter_free(f);
}

static void a_small_buffer_is_refused_untouched(void **state) {
  nay_filter *f = contract_filter(*state, 100);
  size_t size = nay_filter_encoded_size(f), written = 12345;
  uint8_t *buffer = malloc(size);
  const size_t caps[] = {0, 1, 63, 64, size - 1};
  for (size_t i = 0; i < 5; i++) {
    memset(buffer, 0xee, size);
    assert_status(nay_filter_encode(f, buffer, caps[i], &written), NAY_EBUFFER);
    assert_int_equal(written, 12345);
    for (size_t j = 0; j < size; j++) assert_int_equal(buffer[j], 0xee);
  }
  assert_ok(nay_filter_encode(f, buffer, size, &written));
  assert_int_equal(written, size);
  free(buffer);
  nay_filter_free(f);
}

/* The plan tells the length of the file before the filter exists. */
static void the_plan_knows_the_file(void **state) {
  const uint64_t nkeys[] = {1, 10, 1000, 100000};
  for (size_t i = 0; i < 8; i++) {
    nay_params p =
        i % 2 == 0 ? contract_params(*state, nkeys[i / 2]) : contract_keyed(*state, nkeys[i / 2]);
    if (i % 2 == 1) p.flags = NAY_STORE_KEY;
    nay_plan plan = {.size = sizeof plan};
    assert_ok(nay_params_plan(&p, NULL, &plan));
    nay_filter *f = contract_new(&p);
    assert_int_equal(nay_filter_encoded_size(f), plan.nbytes_file);
    nay_stats s = stats_of(f);
    assert_true(s.nbits == plan.nbits && s.k == plan.k && s.kind == plan.kind);
    nay_filter_free(f);
  }
}

/* ---- views ---- */

static void a_view_works_at_any_address(void **state) {
  nay_filter *f = contract_filter(*state, 2000);
  assert_ok(nay_filter_set_meta(f, "seen from afar", 14));
  bytes b = bytes_of(f);
  uint8_t *room = malloc(b.len + 8);
  for (size_t shift = 0; shift < 8; shift++) {
    nay_view view = {.size = sizeof view};
    memcpy(room + shift, b.at, b.len);
    unsigned long before = allocations;
    assert_ok(nay_view_open(room + shift, b.len, NULL, NULL, &view));
    const nay_filter *v = nay_view_filter(&view);
    for (uint64_t i = 0; i < 4000; i++) (void)contract_has(v, RANDOM, i);
    assert_int_equal(allocations, before);
    assert_same_answers(f, v, RANDOM, 4000);
    assert_true(filters_equal(f, v));
    assert_true(stats_of(v).read_only);
    size_t len;
    assert_memory_equal(nay_filter_meta(v, &len), "seen from afar", 14);
    assert_int_equal(len, 14);
  }
  assert_true(allocations > 0); /* the counter counts */
  free(room);
  bytes_free(&b);
  nay_filter_free(f);
}

static void a_copy_of_a_view_is_free_of_it(void **state) {
  nay_filter *f = contract_filter(*state, 300), *copy;
  bytes b = bytes_of(f);
  nay_view view = {.size = sizeof view};
  assert_ok(nay_view_open(b.at, b.len, NULL, NULL, &view));
  assert_ok(nay_filter_copy(nay_view_filter(&view), NULL, NULL, &copy));
  memset(&view, 0, sizeof view);
  memset(b.at, 0, b.len);
  assert_true(filters_equal(f, copy));
  assert_false(stats_of(copy).read_only);
  if (contract_can(*state, NAY_CAN_ADD)) contract_add(copy, RANDOM, 300, 1);
  bytes_free(&b);
  nay_filter_free(f);
  nay_filter_free(copy);
}

/* ---- copy, clear, metadata ---- */

static void a_copy_is_independent(void **state) {
  nay_params p = contract_params(*state, 400);
  nay_filter *f = contract_new(&p), *copy;
  contract_add(f, RANDOM, 0, 200);
  assert_ok(nay_filter_set_meta(f, "first", 5));
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  assert_true(filters_equal(f, copy));
  bytes before = bytes_of(f);
  contract_add(copy, RANDOM, 200, 200);
  assert_ok(nay_filter_set_meta(copy, "second", 6));
  assert_unchanged(f, &before);
  assert_ok(nay_filter_clear(f));
  nay_filter_free(f);
  assert_all_maybe(copy, RANDOM, 0, 400);
  size_t len;
  assert_memory_equal(nay_filter_meta(copy, &len), "second", 6);
  bytes_free(&before);
  nay_filter_free(copy);
}

static void clear_forgets_every_key(void **state) {
  nay_params p = contract_params(*state, 1000);
  nay_filter *f = contract_new(&p), *fresh = contract_new(&p);
  contract_add(f, RANDOM, 0, 1000);
  assert_ok(nay_filter_clear(f));
  for (uint64_t i = 0; i < 1000; i++) assert_false(contract_has(f, RANDOM, i));
  assert_true(filters_equal(f, fresh));
  contract_add(f, RANDOM, 0, 1000);
  contract_add(fresh, RANDOM, 0, 1000);
  assert_true(filters_equal(f, fresh));
  nay_filter_free(f);
  nay_filter_free(fresh);
}

static void metadata_keeps_its_bytes(void **state) {
  static const size_t lens[] = {1, 12, 64, 65, 100000}; /* the last one spans two chunks */
  nay_filter *f = contract_filter(*state, 1000);
  bytes bare = bytes_of(f);
  size_t len = 99;
  assert_null(nay_filter_meta(f, &len));
  assert_int_equal(len, 0);
  for (size_t i = 0; i < 5; i++) {
    uint8_t *text = malloc(lens[i]);
    for (size_t j = 0; j < lens[i]; j++) text[j] = (uint8_t)(j * 31 + i);
    assert_ok(nay_filter_set_meta(f, text, lens[i]));
    bytes b = bytes_of(f);
    nay_filter *g = decoded(&b);
    assert_memory_equal(nay_filter_meta(g, &len), text, lens[i]);
    assert_int_equal(len, lens[i]);
    assert_same_answers(f, g, RANDOM, 2000);
    assert_ok(nay_filter_set_meta(g, nay_filter_meta(g, NULL), lens[i] / 2 + 1)); /* its own */
    assert_memory_equal(nay_filter_meta(g, &len), text, lens[i] / 2 + 1);
    assert_int_equal(len, lens[i] / 2 + 1);
    bytes_free(&b);
    nay_filter_free(g);
    free(text);
  }
  assert_ok(nay_filter_set_meta(f, NULL, 0));
  assert_unchanged(f, &bare);
  bytes_free(&bare);
  nay_filter_free(f);
}

/* ---- keyed filters ---- */

static bool contains_bytes(const bytes *b, const uint8_t *what, size_t len) {
  for (size_t i = 0; i + len <= b->len; i++) {
    if (memcmp(b->at + i, what, len) == 0) return true;
  }
  return false;
}

static void assert_locked(nay_filter *f) {
  const void *keys[2] = {"a", "b"};
  const size_t lens[2] = {1, 1};
  uint64_t bitmap[1] = {0}, count;
  nay_hash hash;
  assert_true(stats_of(f).locked);
  for (uint64_t i = 0; i < 100; i++) assert_true(contract_has(f, RANDOM, 1000000 + i));
  assert_status(filter_hash(f, "a", 1, &hash), NAY_EKEY);
  assert_status(nay_filter_add(f, "a", 1, NULL), NAY_EKEY);
  assert_status(nay_filter_add_many(f, keys, lens, 2, NULL, NULL), NAY_EKEY);
  assert_status(nay_filter_remove(f, "a", 1), NAY_EKEY);
  assert_status(nay_filter_count(f, "a", 1, &count), NAY_EKEY);
  assert_status(nay_filter_may_contain_many(f, keys, lens, 2, bitmap), NAY_EKEY);
  assert_int_equal(bitmap[0], 3);
}

static void keyed_files_open_locked(void **state) {
  nay_params p = contract_keyed(*state, 500);
  nay_filter *f = contract_build(&p, RANDOM, 0, 500);
  bytes b = bytes_of(f);
  assert_false(contains_bytes(&b, p.key, sizeof p.key));
  nay_filter *g = decoded(&b);
  assert_locked(g);
  assert_unchanged(g, &b); /* a locked filter can be passed on */
  assert_true(filter_same_hash(f, g));
  uint8_t wrong[16];
  memcpy(wrong, p.key, sizeof wrong);
  wrong[3] ^= 0x10;
  assert_status(nay_filter_unlock(g, wrong), NAY_EKEY);
  assert_locked(g);
  assert_ok(nay_filter_unlock(g, p.key));
  assert_false(stats_of(g).locked);
  assert_same_answers(f, g, RANDOM, 1000);
  assert_unchanged(g, &b);
  bytes_free(&b);
  nay_filter_free(f);
  nay_filter_free(g);
}

static void keyed_views_take_the_key(void **state) {
  nay_params p = contract_keyed(*state, 500);
  nay_filter *f = contract_build(&p, RANDOM, 0, 500);
  bytes b = bytes_of(f);
  nay_view view = {.size = sizeof view};
  nay_diag diag = {.what = NULL};
  assert_ok(nay_view_open(b.at, b.len, NULL, NULL, &view));
  assert_true(stats_of(nay_view_filter(&view)).locked);
  assert_true(nay_filter_may_contain(nay_view_filter(&view), "absent", 6));
  assert_ok(nay_view_open(b.at, b.len, p.key, NULL, &view));
  assert_same_answers(f, nay_view_filter(&view), RANDOM, 1000);
  p.key[0] ^= 1;
  assert_status(nay_view_open(b.at, b.len, p.key, &diag, &view), NAY_EKEY);
  assert_non_null(diag.what);
  bytes_free(&b);
  nay_filter_free(f);
}

static void a_stored_key_opens_the_file(void **state) {
  nay_params p = contract_keyed(*state, 500);
  p.flags = NAY_STORE_KEY;
  nay_filter *f = contract_build(&p, RANDOM, 0, 500);
  assert_true(stats_of(f).stores_key);
  bytes b = bytes_of(f);
  assert_true(contains_bytes(&b, p.key, sizeof p.key));
  nay_filter *g = decoded(&b), *copy;
  assert_false(stats_of(g).locked);
  assert_true(stats_of(g).stores_key);
  assert_same_answers(f, g, RANDOM, 1000);
  assert_unchanged(g, &b);
  assert_ok(nay_filter_copy(g, NULL, NULL, &copy));
  assert_unchanged(copy, &b);
  bytes_free(&b);
  nay_filter_free(f);
  nay_filter_free(g);
  nay_filter_free(copy);
}

/* Only a keyed filter has a key to store, whatever the flags say. */
static void without_a_key_none_is_stored(void **state) {
  nay_params p = contract_params(*state, 100);
  nay_filter *plain = contract_build(&p, RANDOM, 0, 100);
  p.flags = NAY_STORE_KEY;
  nay_filter *flagged = contract_build(&p, RANDOM, 0, 100);
  assert_true(filters_equal(plain, flagged));
  assert_false(stats_of(flagged).stores_key);
  assert_status(nay_filter_unlock(plain, p.key), NAY_EKEY);
  nay_filter_free(plain);
  nay_filter_free(flagged);
}

static void seeds_and_keys_change_the_bytes(void **state) {
  nay_params p[4] = {contract_params(*state, 500), contract_params(*state, 500),
                     contract_keyed(*state, 500), contract_keyed(*state, 500)};
  p[1].seed = 0x123456789abcdef0u;
  p[3].key[7] ^= 0x80;
  nay_filter *f[4];
  for (size_t i = 0; i < 4; i++) {
    f[i] = contract_build(&p[i], RANDOM, 0, 500);
    for (size_t j = 0; j < i; j++) {
      assert_int_equal(f[i]->nbytes, f[j]->nbytes);
      assert_memory_not_equal(f[i]->bits.bytes, f[j]->bits.bytes, f[i]->nbytes);
    }
  }
  for (size_t i = 0; i < 4; i++) nay_filter_free(f[i]);
}

int main(void) {
  const contract_test tests[] = {
      CONTRACT(decode_gives_the_filter_back, 0),
      CONTRACT(decoded_filters_take_adds, NAY_CAN_ADD),
      CONTRACT(a_stream_has_the_same_bytes, 0),
      CONTRACT(a_small_buffer_is_refused_untouched, 0),
      CONTRACT(the_plan_knows_the_file, NAY_CAN_ADD),
      CONTRACT(a_view_works_at_any_address, 0),
      CONTRACT(a_copy_of_a_view_is_free_of_it, 0),
      CONTRACT(a_copy_is_independent, NAY_CAN_ADD),
      CONTRACT(clear_forgets_every_key, NAY_CAN_ADD),
      CONTRACT(metadata_keeps_its_bytes, 0),
      CONTRACT(keyed_files_open_locked, 0),
      CONTRACT(keyed_views_take_the_key, 0),
      CONTRACT(a_stored_key_opens_the_file, 0),
      CONTRACT(without_a_key_none_is_stored, 0),
      CONTRACT(seeds_and_keys_change_the_bytes, 0),
  };
  return contract_run_all(tests);
}
