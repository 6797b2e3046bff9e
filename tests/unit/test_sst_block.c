/* test_sst_block.c - blocks: what was added is found, in both orders; damaged ones end in an error.
 */
#include "block/block.h"
#include "block/footer.h"
#include "support/test.h"

#define MAX_KEYS 120
#define MAX_LEN 24

typedef struct sample {
  size_t n;
  nay_order order;
  uint8_t keys[MAX_KEYS][MAX_LEN + NAY_KEY_TRAILER];
  size_t lens[MAX_KEYS];
} sample;

static uint64_t draw(uint64_t *state, uint64_t below) {
  *state += 0x9e3779b97f4a7c15u;
  return nay_hash_mix(*state) % below;
}

/* Few letters, so that keys share prefixes and are prefixes of each other. */
static size_t draw_key(uint64_t *state, nay_order order, uint8_t *key) {
  size_t len = draw(state, MAX_LEN);
  for (size_t i = 0; i < len; i++) key[i] = draw(state, 3) == 0 ? 0xff : (uint8_t)draw(state, 3);
  if (!order.internal) return len;
  nay__store64le(key + len, draw(state, 5) << 8 | draw(state, 2));
  return len + NAY_KEY_TRAILER;
}

static void insert(sample *s, const uint8_t *key, size_t len) {
  size_t i = s->n;
  while (i > 0) {
    int sign = nay_sst__compare(s->order, s->keys[i - 1], s->lens[i - 1], key, len);
    if (sign == 0) return;
    if (sign < 0) break;
    i--;
  }
  memmove(s->keys + i + 1, s->keys + i, (s->n - i) * sizeof s->keys[0]);
  memmove(s->lens + i + 1, s->lens + i, (s->n - i) * sizeof s->lens[0]);
  memcpy(s->keys[i], key, len);
  s->lens[i] = len;
  s->n++;
}

static void draw_sample(sample *s, uint64_t *state, nay_order order) {
  size_t n = draw(state, MAX_KEYS);
  s->n = 0;
  s->order = order;
  for (size_t i = 0; i < n; i++) {
    uint8_t key[MAX_LEN + NAY_KEY_TRAILER];
    insert(s, key, draw_key(state, order, key));
  }
}

static size_t common(const sample *s, size_t i) {
  if (i == 0) return 0;
  size_t n = s->lens[i] < s->lens[i - 1] ? s->lens[i] : s->lens[i - 1];
  return nay_sst__common(s->keys[i], s->keys[i - 1], n);
}

static uint8_t *build(const sample *s, uint32_t interval, size_t *len) {
  nay_allocator a = nay__allocator_default();
  nay_block_builder b = {.interval = interval};
  assert_ok(nay_sst__block_reset(&b, &a));
  for (size_t i = 0; i < s->n; i++) {
    uint8_t value[2] = {(uint8_t)i, 7};
    assert_ok(nay_sst__block_add(&b, s->keys[i], s->lens[i], common(s, i), value, i % 3, &a));
  }
  size_t size = nay_sst__block_size(&b);
  assert_ok(nay_sst__block_finish(&b, &a));
  assert_int_equal(b.bytes.len, size);
  uint8_t *copy = malloc(size); /* exactly as long, for the sanitizer */
  assert_non_null(copy);
  memcpy(copy, b.bytes.at, size);
  *len = size;
  nay_sst__block_builder_free(&b, &a);
  return copy;
}

static nay_target target_of(const sample *s, const uint8_t *key, size_t len) {
  uint64_t trailer = s->order.internal ? nay__load64le(key + len - NAY_KEY_TRAILER) : 0;
  return (nay_target){key, nay_sst__user_len(s->order, len), trailer};
}

static size_t lower_bound(const sample *s, const uint8_t *key, size_t len) {
  size_t i = 0;
  while (i < s->n && nay_sst__compare(s->order, s->keys[i], s->lens[i], key, len) < 0) i++;
  return i;
}

static bool same_user(const sample *s, size_t i, const uint8_t *key, size_t len) {
  size_t a = nay_sst__user_len(s->order, s->lens[i]), b = nay_sst__user_len(s->order, len);
  return a == b && memcmp(s->keys[i], key, a) == 0;
}

static void check_find(const sample *s, const nay_block *b, const uint8_t *key, size_t len) {
  nay_allocator a = nay__allocator_default();
  nay_found found;
  size_t want = lower_bound(s, key, len);
  nay_target target = target_of(s, key, len);
  nay_status status = nay_sst__block_find(b, s->order, &target, &a, NULL, &found);
  if (want == s->n) {
    assert_status(status, NAY_ENOENT);
    return;
  }
  assert_ok(status);
  assert_int_equal(found.entry.value_len, want % 3);
  if (want % 3 != 0) assert_int_equal(found.entry.value[0], want);
  assert_int_equal(found.equal, same_user(s, want, key, len));
  if (found.equal && s->order.internal) {
    assert_int_equal(found.trailer, nay__load64le(s->keys[want] + s->lens[want] - NAY_KEY_TRAILER));
  }
}

static void assert_at(const nay_cursor *c, const sample *s, size_t i) {
  assert_true(c->valid);
  assert_int_equal(c->key.len, s->lens[i]);
  assert_memory_equal(c->key.at, s->keys[i], s->lens[i]);
  assert_int_equal(c->entry.value_len, i % 3);
}

static void check_cursor(const sample *s, const nay_block *b, uint64_t *state) {
  nay_allocator a = nay__allocator_default();
  nay_cursor c = {.block = *b, .order = s->order, .allocator = &a};
  nay_status status = nay_sst__cursor_first(&c, NULL);
  for (size_t i = 0; i < s->n; i++, status = nay_sst__cursor_next(&c, NULL)) assert_at(&c, s, i);
  assert_status(status, NAY_EEND);
  status = nay_sst__cursor_last(&c, NULL);
  for (size_t i = s->n; i-- > 0; status = nay_sst__cursor_prev(&c, NULL)) assert_at(&c, s, i);
  assert_status(status, NAY_EEND);
  for (int i = 0; i < 10; i++) {
    uint8_t key[MAX_LEN + NAY_KEY_TRAILER];
    size_t len = draw_key(state, s->order, key), want = lower_bound(s, key, len);
    nay_target target = target_of(s, key, len);
    status = nay_sst__cursor_seek(&c, &target, NULL);
    assert_status(status, want == s->n ? NAY_EEND : NAY_OK);
    if (status == NAY_OK) assert_at(&c, s, want);
  }
  nay__buffer_free(&c.key, &a);
}

static void finds_what_was_added(void **order) {
  static sample s;
  uint64_t state = 1;
  for (int round = 0; round < TEST_SCALE(2000); round++) {
    draw_sample(&s, &state, *(const nay_order *)*order);
    size_t len;
    uint8_t *bytes = build(&s, 1 + (uint32_t)draw(&state, 20), &len);
    nay_block b;
    assert_ok(nay_sst__block_open(bytes, len, NULL, &b));
    for (size_t i = 0; i < s.n; i++) check_find(&s, &b, s.keys[i], s.lens[i]);
    for (int i = 0; i < 20; i++) {
      uint8_t key[MAX_LEN + NAY_KEY_TRAILER];
      check_find(&s, &b, key, draw_key(&state, s.order, key));
    }
    check_cursor(&s, &b, &state);
    free(bytes);
  }
}

static nay_status checked(const sample *s, const nay_block *b, const nay_buffer *above,
                          const nay_buffer *upto) {
  nay_allocator a = nay__allocator_default();
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst__block_check(b, s->order, above, upto, &a, &diag);
  if (status != NAY_OK) assert_non_null(diag.what);
  return status;
}

/* Two neighbours exchanged, wherever they stand: the check sees it. Bounds: as a search has them.
 */
static void keys_out_of_order_are_seen(void **order) {
  static sample s;
  uint64_t state = 3;
  for (int round = 0; round < TEST_SCALE(2000); round++) {
    draw_sample(&s, &state, *(const nay_order *)*order);
    if (s.n < 2) continue;
    size_t len, i = draw(&state, s.n - 1), last = s.n - 1;
    nay_block b;
    nay_buffer first = {s.keys[0], s.lens[0], 0}, second = {s.keys[1], s.lens[1], 0};
    nay_buffer end = {s.keys[last], s.lens[last], 0};
    nay_buffer before = {s.keys[last - 1], s.lens[last - 1], 0};
    uint32_t interval = 1 + (uint32_t)draw(&state, 20);
    uint8_t *bytes = build(&s, interval, &len);
    assert_ok(nay_sst__block_open(bytes, len, NULL, &b));
    assert_ok(checked(&s, &b, NULL, NULL));
    assert_ok(checked(&s, &b, NULL, &end));
    assert_status(checked(&s, &b, &first, NULL), NAY_ENOTSUP);
    assert_status(checked(&s, &b, &second, NULL), NAY_ENOTSUP);
    assert_status(checked(&s, &b, NULL, &before), NAY_ENOTSUP);
    nay__store32le(bytes + b.end, 1 + (uint32_t)draw(&state, b.end)); /* a restart at no entry */
    assert_status(checked(&s, &b, NULL, NULL), NAY_ECORRUPT);
    free(bytes);
    uint8_t key[sizeof s.keys[0]];
    size_t key_len = s.lens[i];
    memcpy(key, s.keys[i], sizeof key);
    memcpy(s.keys[i], s.keys[i + 1], sizeof key);
    memcpy(s.keys[i + 1], key, sizeof key);
    s.lens[i] = s.lens[i + 1];
    s.lens[i + 1] = key_len;
    bytes = build(&s, interval, &len);
    assert_ok(nay_sst__block_open(bytes, len, NULL, &b));
    assert_status(checked(&s, &b, NULL, NULL), NAY_ENOTSUP);
    free(bytes);
  }
}

/* Every call on damaged bytes comes back, and reads nothing outside (the sanitizer looks). */
static void survives_damage(void **order) {
  static sample s;
  uint64_t state = 2;
  nay_allocator a = nay__allocator_default();
  unsigned refused = 0;
  for (int round = 0; round < TEST_SCALE(20000); round++) {
    draw_sample(&s, &state, *(const nay_order *)*order);
    size_t len;
    uint8_t *bytes = build(&s, 1 + (uint32_t)draw(&state, 20), &len);
    for (uint64_t n = 1 + draw(&state, 4); n > 0; n--) bytes[draw(&state, len)] ^= (uint8_t)state;
    nay_cursor c = {.order = s.order, .allocator = &a};
    nay_diag diag = {.what = NULL};
    uint8_t key[MAX_LEN + NAY_KEY_TRAILER];
    size_t key_len = draw_key(&state, s.order, key);
    nay_found found;
    nay_status status = nay_sst__block_open(bytes, len, &diag, &c.block);
    refused += status != NAY_OK;
    if (status == NAY_OK) {
      nay_target target = target_of(&s, key, key_len);
      (void)nay_sst__block_find(&c.block, s.order, &target, &a, &diag, &found);
      (void)nay_sst__cursor_seek(&c, &target, &diag);
      (void)nay_sst__block_check(&c.block, s.order, &c.key, &c.key, &a, &diag);
      status = nay_sst__cursor_first(&c, &diag);
      while (status == NAY_OK) status = nay_sst__cursor_next(&c, &diag);
      refused += status != NAY_EEND;
      assert_true(diag.offset <= UINT32_MAX);
      for (status = nay_sst__cursor_last(&c, &diag); status == NAY_OK;) {
        status = nay_sst__cursor_prev(&c, &diag);
      }
    }
    nay__buffer_free(&c.key, &a);
    free(bytes);
  }
  assert_true(refused > 0);
}

static void separate(nay_order order, const char *key, size_t len, const char *next,
                     size_t next_len, const char *want, size_t want_len) {
  uint8_t room[64];
  memcpy(room, key, len);
  nay_buffer b = {room, len, sizeof room};
  nay_sst__separator(order, &b, (const uint8_t *)next, next_len);
  assert_int_equal(b.len, want_len);
  assert_memory_equal(b.at, want, want_len);
}

static void separators(void **unused) {
  (void)unused;
  const nay_order plain = NAY_BYTEWISE, internal = NAY_INTERNAL_KEYS;
  separate(plain, "abcdef", 6, "abzz", 4, "abd", 3);
  separate(plain, "abcdef", 6, "abd", 3, "abcdef", 6); /* nothing shorter lies between */
  separate(plain, "ab", 2, "abc", 3, "ab", 2);         /* a prefix */
  separate(plain, "ab\xff", 3, "b", 1, "ab\xff", 3);
  separate(plain, "abc", 3, NULL, 0, "b", 1);
  separate(plain,
           "\xff\xff"
           "c",
           3, NULL, 0,
           "\xff\xff"
           "d",
           3);
  separate(plain, "\xff\xff", 2, NULL, 0, "\xff\xff", 2);
  separate(plain, "", 0, NULL, 0, "", 0);
  separate(internal, "abc\1\5\0\0\0\0\0\0", 11, "axx\1\4\0\0\0\0\0\0", 11,
           "ac\1\xff\xff\xff\xff\xff\xff\xff", 10);
  separate(internal, "abc\1\5\0\0\0\0\0\0", 11, "abc\1\4\0\0\0\0\0\0", 11, "abc\1\5\0\0\0\0\0\0",
           11); /* versions of one key */
  separate(internal, "abc\1\5\0\0\0\0\0\0", 11, NULL, 0, "b\1\xff\xff\xff\xff\xff\xff\xff", 9);
}

static void varints_and_handles(void **unused) {
  (void)unused;
  const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 32, UINT64_MAX};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    uint8_t bytes[NAY_HANDLE_MAX];
    size_t len = nay_sst__handle_store(bytes, (nay_handle){numbers[i], UINT64_MAX - numbers[i]});
    nay_handle back;
    assert_ptr_equal(nay_sst__handle_load(bytes, bytes + len, &back), bytes + len);
    assert_true(back.offset == numbers[i] && back.size == UINT64_MAX - numbers[i]);
    for (size_t cut = 0; cut < len; cut++)
      assert_null(nay_sst__handle_load(bytes, bytes + cut, &back));
    uint32_t narrow = 5;
    const uint8_t *end = nay__varint32_load(bytes, bytes + len, &narrow);
    assert_int_equal(end != NULL, numbers[i] <= UINT32_MAX);
    if (end != NULL) assert_int_equal(narrow, numbers[i]);
  }
  const uint8_t endless[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
  const uint8_t too_big[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
  uint64_t v;
  assert_null(nay__varint64_load(endless, endless + 11, &v));
  assert_null(nay__varint64_load(too_big, too_big + 10, &v));
  assert_false(nay_sst__handle_fits((nay_handle){UINT64_MAX, 10}, 100));
  assert_false(nay_sst__handle_fits((nay_handle){10, UINT64_MAX}, 100));
  assert_false(nay_sst__handle_fits((nay_handle){10, 86}, 100));
  assert_true(nay_sst__handle_fits((nay_handle){10, 85}, 100));
}

/* Keys of up to 600 bytes that share up to 600: what a search puts together is on the stack, in
 * memory, and on the stack again. */
static void long_keys_by_comparator(void **unused) {
  (void)unused;
  nay_allocator a = nay__allocator_default();
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  nay_order order = {&reverse, false};
  uint8_t key[600];
  memset(key, 'k', sizeof key);
  const size_t lens[] = {600, 500, 257, 256, 255, 100, 99, 1};
  const size_t n = sizeof lens / sizeof *lens;
  nay_block_builder builder = {.interval = 100};
  assert_ok(nay_sst__block_reset(&builder, &a));
  for (size_t i = 0; i < n; i++) {
    assert_ok(nay_sst__block_add(&builder, key, lens[i], i == 0 ? 0 : lens[i], key, i, &a));
  }
  assert_ok(nay_sst__block_finish(&builder, &a));
  nay_block b;
  assert_ok(nay_sst__block_open(builder.bytes.at, builder.bytes.len, NULL, &b));
  assert_ok(nay_sst__block_check(&b, order, NULL, NULL, &a, NULL));
  for (size_t i = 0; i < n; i++) {
    nay_found found;
    nay_target target = {key, lens[i], 0};
    assert_ok(nay_sst__block_find(&b, order, &target, &a, NULL, &found));
    assert_true(found.equal && found.entry.value_len == i);
  }
  nay_sst__block_builder_free(&builder, &a);
}

int main(void) {
  static nay_sst_comparator reverse = {.size = sizeof reverse};
  static const nay_order plain = {NULL, false}, internal = {NULL, true};
  static const nay_order custom = {&reverse, false}, both = {&reverse, true};
  if (nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse) != NAY_OK) return 1;
  const test_case tests[] = {
      TEST_WITH("finds_what_was_added plain", finds_what_was_added, &plain),
      TEST_WITH("finds_what_was_added internal", finds_what_was_added, &internal),
      TEST_WITH("finds_what_was_added custom", finds_what_was_added, &custom),
      TEST_WITH("finds_what_was_added custom internal", finds_what_was_added, &both),
      TEST_WITH("keys_out_of_order_are_seen plain", keys_out_of_order_are_seen, &plain),
      TEST_WITH("keys_out_of_order_are_seen internal", keys_out_of_order_are_seen, &internal),
      TEST_WITH("keys_out_of_order_are_seen custom", keys_out_of_order_are_seen, &custom),
      TEST_WITH("keys_out_of_order_are_seen custom internal", keys_out_of_order_are_seen, &both),
      TEST_WITH("survives_damage plain", survives_damage, &plain),
      TEST_WITH("survives_damage internal", survives_damage, &internal),
      TEST_WITH("survives_damage custom", survives_damage, &custom),
      TEST_WITH("survives_damage custom internal", survives_damage, &both),
      TEST(long_keys_by_comparator),
      TEST(separators),
      TEST(varints_and_handles),
  };
  return run_all(tests);
}
