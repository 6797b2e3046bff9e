/*
 * test_native_mutations.c - an enemy who can compute digests: random changes to header, directory
 * and body, sealed again. Each file is refused, or gives a filter that is safe to use; decoding
 * never takes more memory than twice the input and 64 KiB. `test_native_mutations N` makes N of
 * them.
 */
#include "family/family.h"
#include "support/exercise.h"
#include "support/native.h"
#include "support/test.h"

#define MAX_SAMPLES 96u
#define ROOM 8192u

typedef struct sample {
  uint8_t *bytes;
  size_t len;
} sample;

static sample samples[MAX_SAMPLES];
static unsigned nsamples;
static uint64_t rounds = 100000;
static uint64_t dice_state;

static uint64_t dice(uint64_t n) { return nay_hash_mix(dice_state++) % n; }

/* Numbers that have hurt parsers. */
static uint64_t nasty(uint64_t old) {
  static const uint64_t list[] = {0,
                                  1,
                                  2,
                                  7,
                                  8,
                                  63,
                                  64,
                                  65,
                                  127,
                                  128,
                                  255,
                                  256,
                                  511,
                                  512,
                                  65535,
                                  65536,
                                  65537,
                                  1u << 31,
                                  UINT32_MAX,
                                  (uint64_t)1 << 32,
                                  (uint64_t)1 << 51,
                                  (uint64_t)1 << 56,
                                  (uint64_t)1 << 60,
                                  (uint64_t)1 << 63,
                                  UINT64_MAX - 63,
                                  UINT64_MAX};
  switch (dice(6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return old / 2;
    case 4: return nay_hash_mix(dice_state++) >> dice(64);
    default: return list[dice(sizeof list / sizeof list[0])];
  }
}

static uint64_t get(const uint8_t *at, unsigned size) {
  uint64_t value = 0;
  for (unsigned i = 0; i < size; i++) value |= (uint64_t)at[i] << (8 * i);
  return value;
}

/* ---- the changes; each works on bytes[0, len) with room for ROOM ---- */

static size_t change_bits(uint8_t *p, size_t len) {
  for (uint64_t n = 1 + dice(8); n > 0; n--) p[dice(len)] ^= (uint8_t)(1u << dice(8));
  return len;
}

static size_t change_header(uint8_t *p, size_t len) {
  for (uint64_t n = 1 + dice(2); n > 0; n--) {
    const native_field *f = &native_fields[2 + dice(NATIVE_NFIELDS - 2)];
    native_put(p + f->at, f->size, nasty(get(p + f->at, f->size)));
  }
  return len;
}

static size_t change_table(uint8_t *p, size_t len) {
  static const unsigned at[] = {0, 4, 8}, size[] = {4, 4, 8};
  uint64_t field = dice(3), entry = 64 + 16 * dice(p[13] == 0 ? 1 : p[13]);
  if (entry + 16 > len) return len;
  uint8_t *q = p + entry + at[field];
  native_put(q, size[field], field == 0 ? dice(5) : nasty(get(q, size[field])));
  return len;
}

static size_t change_range(uint8_t *p, size_t len) {
  size_t from = (size_t)dice(len), n = (size_t)dice(64);
  uint8_t fill = (uint8_t)dice(4);
  for (size_t i = from; i < len && i < from + n; i++) {
    p[i] = fill == 0 ? 0 : fill == 1 ? 0xff : (uint8_t)dice(256);
  }
  return len;
}

static size_t change_splice(uint8_t *p, size_t len) {
  const sample *other = &samples[dice(nsamples)];
  size_t from = (size_t)dice(len), n = (size_t)dice(256);
  for (size_t i = from; i < len && i < from + n && i < other->len; i++) p[i] = other->bytes[i];
  return len;
}

/* Shorter or longer, with a body_len that fits again. */
static size_t change_length(uint8_t *p, size_t len) {
  size_t now = dice(2) == 0 ? len - (size_t)dice(len - 64) : len + (size_t)dice(200);
  if (now > ROOM) now = ROOM;
  if (now > len) memset(p + len, (int)dice(2), now - len);
  for (uint64_t body = 0; body <= now; body++) {
    if (native_body_at(p[13], body) + body != now) continue;
    nay__store64le(p + 48, body);
    break;
  }
  if (dice(2) == 0 && p[13] != 0) { /* and the last section as well */
    uint8_t *entry = p + 64 + 16 * (p[13] - 1u);
    if ((size_t)(entry - p) + 16 <= now) {
      nay__store64le(entry + 8, nay__load64le(entry + 8) + (uint64_t)now - (uint64_t)len);
    }
  }
  return now;
}

/* Sections dropped, doubled, turned round, made up. */
static size_t change_sections(uint8_t *p, size_t len) {
  native_section s[16];
  unsigned n = native_split(p, s, 8);
  for (unsigned i = 0; i < n; i++) { /* hostile already? leave it */
    const uint8_t *at = s[i].at;
    if (at > p + len || s[i].len > len || at + s[i].len > p + len) return len;
  }
  switch (dice(4)) {
    case 0: s[n] = s[dice(n == 0 ? 1 : n)], n += n != 0; break;
    case 1: n -= n != 0; break;
    case 2:
      s[n++] = (native_section){(uint32_t)dice(6), (uint32_t)dice(2), p, (size_t)dice(64)};
      break;
    default: break;
  }
  for (unsigned i = 0; i + 1 < n; i++) {
    unsigned j = i + (unsigned)dice(n - i);
    native_section t = s[i];
    s[i] = s[j];
    s[j] = t;
  }
  size_t now;
  uint8_t *made = native_assemble(p, s, n, &now);
  if (now <= ROOM) memcpy(p, made, now);
  free(made);
  return now <= ROOM ? now : len;
}

static size_t mutate(uint8_t *p) {
  static size_t (*const changes[])(uint8_t *, size_t) = {
      change_bits, change_header, change_table, change_range, change_splice, change_length,
  };
  const sample *from = &samples[dice(nsamples)];
  size_t len = from->len;
  memcpy(p, from->bytes, len);
  if (dice(4) == 0) len = change_sections(p, len); /* first: it needs a good file */
  for (uint64_t n = 1 + dice(3); n > 0 && len > 64; n--) {
    len = changes[dice(sizeof changes / sizeof changes[0])](p, len);
  }
  if (dice(16) != 0) native_seal(p, len);
  return len;
}

static bool check_file(const uint8_t *bytes, size_t len) {
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exact, for the sanitizers */
  memcpy(p, bytes, len);
  bool accepted = exercise_bytes(nay_format_find("nay"), p, len, dice_state, dice(8) == 0);
  free(p);
  return accepted;
}

static void mutations(void **state) {
  (void)state;
  uint8_t *p = malloc(ROOM);
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < rounds; i++) {
    dice_state = i << 20;
    accepted += check_file(p, mutate(p));
  }
  free(p);
  print_message("# %llu of %llu mutations were files of their own right\n",
                (unsigned long long)accepted, (unsigned long long)rounds);
  assert_true(accepted > rounds / 50); /* else the mutations are too rough to reach the families */
}

static void add_sample(const nay_params *params, uint64_t n, bool meta) {
  nay_filter *f = native_filter(params, n);
  if (meta) assert_ok(nay_filter_set_meta(f, "metadata", 8));
  if (nay_filter_encoded_size(f) <= ROOM / 2 && nsamples < MAX_SAMPLES) {
    samples[nsamples].bytes = native_encode(f, &samples[nsamples].len);
    nsamples++;
  }
  nay_filter_free(f);
}

static int make_samples(void **state) {
  (void)state;
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    nay_params p = {sizeof p, .kind = family->kind, .fpr = 0.01};
    add_sample(&p, 0, false);
    add_sample(&p, 1, true);
    add_sample(&p, 200, false);
    add_sample(&p, 600, true);
    p.fpr = 0.0001;
    add_sample(&p, 300, false);
    p.hash = NAY_HASH_SIPHASH;
    add_sample(&p, 150, false);
    p.flags = NAY_STORE_KEY;
    add_sample(&p, 150, true);
  }
  return 0;
}

static int free_samples(void **state) {
  (void)state;
  while (nsamples > 0) free(samples[--nsamples].bytes);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) rounds = strtoull(argv[1], NULL, 10);
  const test_case tests[] = {TEST(mutations)};
  return cmocka_run_group_tests_name("native_mutations", tests, make_samples, free_samples);
}
