/*
 * test_redisbloom_mutations.c - chains of RedisBloom's cuckoo filters from an attacker who makes
 * the sums right, as CF.SCANDUMP and as DUMP write them: most are accepted, and then answer as the
 * chain object that the Redis module has. `test_redisbloom_mutations N` makes N of them.
 */
#include "redis/redis.h"
#include "support/cf_mutate.h"
#include "support/exercise.h"
#include "support/redisbloom.h"
#include "support/test.h"

#define ROOM 4096u

static uint64_t rounds = TEST_SCALE(10000);

/* The chain that the module makes of the same bytes. */
static nay_cfchain *chain_of(const uint8_t *p, size_t len) {
  nay_cfchain_header h;
  nay_cfchain *chain;
  assert_ok(nay__cfchain_read_header(p, NAY_CFCHAIN_HEADER_LEN, NULL, &h));
  assert_ok(nay__cfchain_new(&h, NULL, NULL, &chain));
  size_t at = NAY_CFCHAIN_HEADER_LEN, n;
  for (uint64_t place = 0; nay__cfchain_chunk(chain, place, &n) != NULL; place += n, at += n) {
    assert_true(at + n <= len);
    assert_ok(nay__cfchain_load(chain, place, p + at, n));
  }
  assert_int_equal(at, len);
  return chain;
}

/* Whatever is in the slots: each fingerprint there is a maybe, and both give the same answers. */
static void assert_answers(const uint8_t *p, size_t len, const nay_format *format,
                           const uint8_t *bytes, size_t nbytes) {
  nay_filter *f;
  nay_cfchain *chain = chain_of(p, len);
  assert_ok(nay_format_decode(format, bytes, nbytes, 0, NULL, NULL, &f));
  for (uint64_t i = 0; i < 200; i++) {
    nay_hash hash = {nay_hash_mix(i ^ len << 20), 0};
    assert_int_equal(nay_filter_may_contain_hash(f, hash), nay__cfchain_has(chain, hash.lo));
  }
  nay_filter_free(f);
  nay__cfchain_free(chain);
}

/* The same bytes in memory that ends where they end, for the sanitizers. */
static bool check(const nay_format *format, const uint8_t *bytes, size_t len, const uint8_t *cf,
                  size_t cf_len) {
  uint8_t *p = malloc(len);
  memcpy(p, bytes, len);
  bool accepted = exercise_bytes(format, p, len, len, true);
  if (accepted) assert_answers(cf, cf_len, format, p, len);
  free(p);
  return accepted;
}

static void mutations(void **state) {
  (void)state;
  static const char *const names[] = {"cf_default", "cf_b4", "cf_del", "cf_exp0"};
  static uint8_t p[ROOM];
  uint64_t accepted = 0, accepted_dumps = 0, sizes[2] = {0};
  uint8_t *dump = malloc(cf_dump_room(ROOM));
  for (uint64_t i = 0; i < rounds; i++) {
    cf_dice dice = {i << 24};
    golden_bytes sample = redisbloom_bytes(names[i % 4], false);
    assert_true(sample.len <= ROOM);
    memcpy(p, sample.at, sample.len);
    size_t len = cf_mutate(p, sample.len, ROOM, &dice);
    sizes[len < sample.len] += len != sample.len;
    free(sample.at);
    bool ok = check(nay_format_find("redisbloom-cf"), p, len, p, len);
    accepted += ok;
    /* a DUMP of what is refused is refused */
    bool dumped = check(nay_format_find("redis-dump-cf"), dump, cf_dump(p, len, dump), p, len);
    assert_int_equal(dumped, ok);
    accepted_dumps += dumped;
  }
  free(dump);
  print_message(
      "# %llu of %llu chains were accepted, %llu of their dumps; %llu became longer, %llu "
      "shorter\n",
      (unsigned long long)accepted, (unsigned long long)rounds, (unsigned long long)accepted_dumps,
      (unsigned long long)sizes[0], (unsigned long long)sizes[1]);
  assert_true(accepted > rounds * 8 / 10 && accepted < rounds);
  assert_true(sizes[0] > rounds / 20 && sizes[1] > rounds / 20);
}

/* cf_dump writes what RedisBloom does. Redis packs strings; cf_b4 is one that it could not pack. */
static void dumps_are_those_of_redis(void **state) {
  (void)state;
  static const char *const names[] = {"cf_default", "cf_b4", "cf_del", "cf_exp0"};
  unsigned same = 0;
  for (unsigned i = 0; i < 4; i++) {
    golden_bytes sample = redisbloom_bytes(names[i], false),
                 want = redisbloom_bytes(names[i], true);
    uint8_t *dump = malloc(cf_dump_room(sample.len));
    size_t len = cf_dump(sample.at, sample.len, dump);
    same += len == want.len && memcmp(dump, want.at, len - 10) == 0; /* but for the version */
    free(dump);
    free(want.at);
    free(sample.at);
  }
  assert_true(same >= 1);
}

int main(int argc, char **argv) {
  if (argc > 1) rounds = strtoull(argv[1], NULL, 10);
  const test_case tests[] = {TEST(dumps_are_those_of_redis), TEST(mutations)};
  return run_all(tests);
}
