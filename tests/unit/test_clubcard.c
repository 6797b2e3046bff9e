/*
 * test_clubcard.c - clubcards that the real builder wrote (tests/golden/clubcard): the reader gives
 * the answer of the real code for every certificate, inside and outside of the universe; a
 * directory with its index.bin is asked as C2SP upki-revocation says; what C2SP calls malformed is
 * refused by name, and so is what the real reader takes or dies of. SHA-256 against FIPS 180-4.
 */
#include "support/clubcards.h"

/* ---- SHA-256 ---- */

static void assert_digest(const void *bytes, size_t len, const char *hex) {
  uint8_t want[32], got[32];
  clubcard_hex(hex, want);
  for (size_t cut = 0; cut <= len; cut += len < 300 ? 1 : len / 7) {
    nay__sha256(bytes, cut, (const uint8_t *)bytes + cut, len - cut, got);
    assert_memory_equal(got, want, 32);
  }
}

/* The examples of FIPS 180-4, and all lengths about one and two blocks, chained. */
static void sha256_is_that_of_fips_180_4(void **state) {
  (void)state;
  uint8_t *bytes = malloc(1000000), chain[32] = {0}, want[32];
  assert_non_null(bytes);
  assert_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  memset(bytes, 'a', 1000000);
  assert_digest(bytes, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (size_t i = 0; i < 300; i++) bytes[i] = (uint8_t)(i * 7);
  for (size_t len = 0; len < 300; len++) nay__sha256(chain, 32, bytes, len, chain);
  clubcard_hex("cf287c8a9c3f894b8ea0f24e679145c7c48a33132b47c8e1cc0e7e75edb12c33", want);
  assert_memory_equal(chain, want, 32);
  free(bytes);
}

/* ---- cases ---- */

static golden_bytes read_of(const clubcard_case *c, const char *what) {
  char path[512];
  snprintf(path, sizeof path, CLUBCARD_GOLDEN "/%s.%s", c->name, what);
  return golden_read(path);
}

static nay_clubcard open_bytes(const char *name, const golden_bytes *file) {
  nay_clubcard card = {.size = sizeof card};
  nay_diag diag = {.what = ""};
  nay_status status = nay_clubcard_open(file->at, file->len, &diag, &card);
  if (status != NAY_OK)
    fail_msg("%s: %s at %llu", name, diag.what, (unsigned long long)diag.offset);
  return card;
}

static nay_revocation ask(const nay_clubcard *card, const uint8_t *id, const void *serial,
                          size_t len, const nay_sct *sct) {
  nay_certificate c = {
      .size = sizeof c, .issuer = id, .serial = serial, .serial_len = len, .scts = sct, .nscts = 1};
  nay_revocation answer = (nay_revocation)9;
  assert_ok(nay_clubcard_check(card, &c, &answer));
  return answer;
}

static void check_answers(const clubcard_case *c, const nay_clubcard *card, const char *what) {
  golden_bytes bits = read_of(c, what);
  size_t at = 0;
  nay_sct sct = {.timestamp = c->logs[0].low};
  memcpy(sct.log, c->logs[0].id, 32);
  for (unsigned i = 0; i < c->nissuers; i++) {
    const clubcard_block_of_case *b = &c->issuers[i];
    unsigned from = what[0] == 'o' ? b->n : 0, to = what[0] == 'o' ? b->n + b->outside : b->n;
    for (unsigned j = from; j < to; j++, at++) {
      uint8_t serial[32];
      size_t len = clubcard_serial(c->serials, c->seed, i, j, serial);
      nay_revocation want = clubcard_bit(&bits, at) ? NAY_REVOKED : NAY_NOT_REVOKED;
      if (ask(card, b->id, serial, len, &sct) != want) {
        fail_msg("%s: %s serial %u of issuer %u", c->name, what, j, i);
      }
    }
  }
  free(bits.at);
}

static void check_entries(const clubcard_case *c, const nay_clubcard *card) {
  nay_clubcard_entry e = {.size = sizeof e};
  assert_int_equal(card->nlogs, c->nlogs);
  assert_int_equal(card->nissuers, c->nissuers);
  for (unsigned i = 0; i < c->nissuers; i++) {
    unsigned at = 0; /* the file has them in the order of their ids */
    for (unsigned j = 0; j < c->nissuers; j++) {
      at += memcmp(c->issuers[j].id, c->issuers[i].id, 32) < 0;
    }
    assert_ok(nay_clubcard_at(card, NAY_CLUBCARD_ISSUER, at, &e));
    assert_memory_equal(&e, &c->issuers[i].entry, sizeof e);
  }
  for (unsigned i = 0; i < c->nlogs; i++) { /* in any order */
    unsigned found = 0;
    for (unsigned j = 0; j < c->nlogs; j++) {
      assert_ok(nay_clubcard_at(card, NAY_CLUBCARD_LOG, j, &e));
      bool same = memcmp(e.id, c->logs[i].id, 32) == 0;
      found += same && e.low == c->logs[i].low && e.high == c->logs[i].high;
    }
    assert_int_equal(found, 1);
  }
  assert_status(nay_clubcard_at(card, NAY_CLUBCARD_ISSUER, c->nissuers, &e), NAY_EEND);
  assert_status(nay_clubcard_at(card, NAY_CLUBCARD_LOG, c->nlogs, &e), NAY_EEND);
  assert_status(nay_clubcard_at(card, NAY_CLUBCARD_FILE, 0, &e), NAY_EEND);
  assert_status(nay_clubcard_at(card, (nay_clubcard_part)3, 0, &e), NAY_EINVAL);
}

/* The SCT of another log, and one before the first time of each log. */
static void check_coverage(const clubcard_case *c, const nay_clubcard *card) {
  nay_sct sct = {.timestamp = c->logs[0].low};
  const uint8_t *id = c->issuers[0].id;
  assert_int_equal(ask(card, id, "", 1, &sct), NAY_NOT_COVERED);
  for (unsigned i = 0; i < c->nlogs; i++) {
    uint64_t low = c->logs[i].low, high = c->logs[i].high;
    memcpy(sct.log, c->logs[i].id, 32);
    sct.timestamp = low - 1;
    if (low > 0) assert_int_equal(ask(card, id, "", 1, &sct), NAY_NOT_COVERED);
    sct.timestamp = high + 1;
    if (high < UINT64_MAX) assert_int_equal(ask(card, id, "", 1, &sct), NAY_NOT_COVERED);
    sct.timestamp = high;
    assert_int_not_equal(ask(card, id, "", 1, &sct), NAY_NOT_COVERED);
    assert_int_equal(ask(card, sct.log, "", 1, &sct), NAY_NOT_ENROLLED);
  }
}

/* A case without logs covers nothing: give the file one. */
static void add_log(clubcard_case *c, golden_bytes *file, size_t place, size_t len) {
  c->nlogs = 1;
  c->logs[0] = (nay_clubcard_log){.id = {7}, .low = 0, .high = 0};
  uint8_t *longer = calloc(1, file->len + 48);
  assert_non_null(longer);
  memcpy(longer, file->at, place + len);
  longer[place == 2 && len == 2 ? 3 : 2] = 1;
  longer[place + len] = 7;
  memcpy(longer + place + len + 48, file->at + place + len, file->len - place - len);
  free(file->at);
  *file = (golden_bytes){longer, file->len + 48};
}

static void check_file(const clubcard_case *given, const char *version) {
  clubcard_case c = *given;
  golden_bytes file = read_of(&c, version);
  if (c.nlogs == 0) add_log(&c, &file, 2, strcmp(version, "v4") == 0 ? 2 : 8);
  nay_clubcard card = open_bytes(c.name, &file);
  assert_int_equal(card.version, version[1] - '0');
  check_entries(&c, &card);
  check_coverage(&c, &card);
  if (strcmp(c.name, "no-keys") != 0) check_answers(&c, &card, "inside");
  check_answers(&c, &card, "outside");
  free(file.at);
}

static void check_case(const clubcard_case *c) {
  check_file(c, "v4");
  if (c->has_v3) check_file(c, "v3");
}

static void answers_are_those_of_the_real_code(void **state) {
  (void)state;
  assert_int_equal(clubcard_each(check_case), 27);
}

/* ---- malformed files ---- */

static bool is_accepted(const char *name, const char *c2sp, const char *real) {
  bool v3_lenient = strcmp(name, "v3_trailing_byte") == 0 || strcmp(name, "v3_id_31_bytes") == 0;
  if (strcmp(c2sp, "not-specified") == 0) return strcmp(real, "accept") == 0 && !v3_lenient;
  return strcmp(c2sp, "accept") == 0;
}

static void check_queries(const char *name, const nay_clubcard *card, const char *query) {
  nay_clubcard_entry e = {.size = sizeof e};
  if (nay_clubcard_at(card, NAY_CLUBCARD_LOG, 0, &e) != NAY_OK) return; /* covers nothing */
  nay_sct sct = {.timestamp = e.low};
  memcpy(sct.log, e.id, 32);
  for (unsigned i = 0; query[i] != '\0'; i++) {
    uint8_t id[32], serial[32];
    clubcard_issuer_id(100, i / 64, id);
    size_t len = clubcard_serial("mix16", 100, i / 64, i % 64, serial);
    nay_revocation want = query[i] == '1' ? NAY_REVOKED : NAY_NOT_REVOKED;
    if (ask(card, id, serial, len, &sct) != want) fail_msg("%s: query %u", name, i);
  }
}

static void malformed_files_are_refused(void **state) {
  (void)state;
  static char name[64], c2sp[32], real[32], hex[4096], query[256];
  static uint8_t bytes[2048];
  unsigned accepted = 0, refused = 0;
  golden_bytes text = golden_read(CLUBCARD_GOLDEN "/malformed.txt");
  for (char *line = strtok((char *)text.at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    assert_int_equal(sscanf(line, "%63s %31s %31s %4095s %255s", name, c2sp, real, hex, query), 5);
    size_t len = clubcard_hex(hex, bytes);
    uint8_t *exact = malloc(len + (len == 0)); /* so that a read past the end is seen */
    memcpy(exact, bytes, len);
    nay_clubcard card = {.size = sizeof card, .nlogs = 77};
    nay_diag diag = {.what = NULL};
    nay_status status = nay_clubcard_open(exact, len, &diag, &card);
    if ((status == NAY_OK) != is_accepted(name, c2sp, real)) {
      fail_msg("%s: %s (%s)", name, nay_status_name(status), diag.what != NULL ? diag.what : "");
    }
    if (status == NAY_OK) check_queries(name, &card, query);
    if (status != NAY_OK) {
      assert_true(status == NAY_ECORRUPT || status == NAY_EVERSION || status == NAY_EFORMAT);
      assert_non_null(diag.what);
      assert_true(diag.offset <= len);
      assert_int_equal(card.nlogs, 77); /* as it was */
    }
    accepted += status == NAY_OK;
    refused += status != NAY_OK;
    free(exact);
  }
  free(text.at);
  assert_int_equal(accepted, 9);
  assert_int_equal(refused, 60);
}

/* Every prefix of a file is refused, and every changed byte is refused or leaves a clubcard that
 * can be asked: the format has no checksum. */
static void damage_is_refused_or_answered(void **state) {
  (void)state;
  static const char *const names[] = {"first-64.v4", "first-64.v3", "issuers-2-rank0.v4",
                                      "one-of-1000.v3", "cache/index.bin"};
  for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
    char path[512];
    snprintf(path, sizeof path, CLUBCARD_GOLDEN "/%s", names[f]);
    golden_bytes file = golden_read(path);
    nay_clubcard card = {.size = sizeof card};
    unsigned refused = 0;
    for (size_t n = 0; n < file.len; n++) {
      uint8_t *cut = malloc(n + (n == 0));
      memcpy(cut, file.at, n);
      if (nay_clubcard_open(cut, n, NULL, &card) == NAY_OK) fail_msg("%s cut at %zu", names[f], n);
      free(cut);
      for (unsigned bit = 0; bit < 8; bit++) {
        file.at[n] ^= (uint8_t)(1u << bit);
        nay_diag diag = {.what = NULL};
        nay_clubcard_entry e = {.size = sizeof e};
        if (nay_clubcard_open(file.at, file.len, &diag, &card) != NAY_OK) {
          assert_non_null(diag.what);
          refused++;
        } else if (card.version != 0 && nay_clubcard_at(&card, NAY_CLUBCARD_LOG, 0, &e) == NAY_OK &&
                   nay_clubcard_at(&card, NAY_CLUBCARD_ISSUER, 0, &e) == NAY_OK) {
          nay_clubcard_entry log = {.size = sizeof log};
          assert_ok(nay_clubcard_at(&card, NAY_CLUBCARD_LOG, 0, &log));
          nay_sct sct = {.timestamp = log.low};
          memcpy(sct.log, log.id, 32);
          assert_in_range(ask(&card, e.id, "\1\2", 2, &sct), NAY_NOT_REVOKED, NAY_REVOKED);
        }
        file.at[n] ^= (uint8_t)(1u << bit);
      }
    }
    assert_true(refused > 100);
    free(file.at);
  }
}

/* ---- a directory ---- */

static nay_revocation answer_named(const char *name) {
  static const char *const names[] = {"not-covered", "not-enrolled", "not-revoked", "revoked"};
  for (unsigned i = 0; i < 4; i++) {
    if (strcmp(name, names[i]) == 0) return (nay_revocation)i;
  }
  fail_msg("%s", name);
  return NAY_NOT_COVERED;
}

static size_t parse_scts(char *text, nay_sct *scts) {
  size_t n = 0;
  for (char *at = text; strcmp(text, "-") != 0 && at != NULL; n++) {
    scts[n].timestamp = strtoull(strchr(at, ':') + 1, NULL, 10);
    *strchr(at, ':') = '\0';
    clubcard_hex(at, scts[n].log);
    at = strchr(at + strlen(at) + 1, ',');
    if (at != NULL) at++;
  }
  return n;
}

/* Compares the answer of each file that the index names, in order. */
static nay_revocation ask_directory(const nay_clubcard *index, const nay_certificate *c,
                                    char *each) {
  char name[NAY_CLUBCARD_NAME], path[512];
  nay_revocation greatest = NAY_NOT_COVERED, answer;
  uint32_t file = 0;
  for (char *next; nay_clubcard_file(index, c, &file, name) == NAY_OK; each = next) {
    next = strchr(each, ',');
    next = next != NULL ? *next = '\0', next + 1 : each + strlen(each);
    snprintf(path, sizeof path, CLUBCARD_GOLDEN "/cache/%s", name);
    golden_bytes bytes = golden_read(path);
    nay_clubcard card = open_bytes(name, &bytes);
    assert_ok(nay_clubcard_check(&card, c, &answer));
    assert_int_equal(answer, answer_named(each));
    if (answer > greatest) greatest = answer;
    free(bytes.at);
  }
  assert_true(*each == '\0' || strcmp(each, "-") == 0);
  return greatest;
}

static void directories_are_asked_by_their_index(void **state) {
  (void)state;
  static char issuer[100], serial[100], want[32], each[256], scts_text[2048];
  unsigned n = 0;
  golden_bytes bytes = golden_read(CLUBCARD_GOLDEN "/cache/index.bin");
  nay_clubcard index = open_bytes("index.bin", &bytes);
  assert_int_equal(index.version, 0);
  assert_int_equal(index.nfiles, 4);
  golden_bytes text = golden_read(CLUBCARD_GOLDEN "/cache.txt");
  for (char *line = strtok((char *)text.at, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
    uint8_t id[32], number[64];
    nay_sct scts[16];
    assert_int_equal(
        sscanf(line, "%99s %99s %31s %255s %2047s", issuer, serial, want, each, scts_text), 5);
    clubcard_hex(issuer, id);
    nay_certificate c = {.size = sizeof c, .issuer = id, .serial = number, .scts = scts};
    c.serial_len = clubcard_hex(serial, number);
    c.nscts = parse_scts(scts_text, scts);
    assert_int_equal(ask_directory(&index, &c, each), answer_named(want));
  }
  assert_int_equal(n, 400);
  free(text.at);
  free(bytes.at);
}

/* upkiidx0 has one byte where upkiidx1 has two. */
static size_t narrow_index(const golden_bytes *wide, uint8_t *out) {
  size_t nfiles = wide->at[9], nlogs = wide->at[13], tables = 14 + 32 * nfiles + 42 * nlogs;
  memcpy(out, "upkiidx0", 8);
  out[8] = (uint8_t)nfiles;
  memcpy(out + 9, wide->at + 10, tables - 10);
  for (size_t i = 0; i < nlogs; i++) { /* the entries of upki are in the order of the table */
    uint64_t entry = 0;
    uint8_t *place = out + 13 + 32 * nfiles + 42 * i + 32;
    for (unsigned b = 0; b < 8; b++) entry = entry << 8 | place[b];
    clubcard_be(tables - 1 + (entry - tables) / 18 * 17, 8, place);
  }
  size_t n = (wide->len - tables) / 18;
  for (size_t i = 0; i < n; i++) {
    memcpy(out + tables - 1 + 17 * i, wide->at + tables + 18 * i + 1, 17);
  }
  return tables - 1 + 17 * n;
}

static void indexes_of_the_older_kind_are_read(void **state) {
  (void)state;
  static uint8_t old[2048];
  golden_bytes bytes = golden_read(CLUBCARD_GOLDEN "/cache/index.bin");
  nay_clubcard index = open_bytes("index.bin", &bytes), narrow = {.size = sizeof narrow};
  nay_diag diag = {.what = ""};
  nay_status status = nay_clubcard_open(old, narrow_index(&bytes, old), &diag, &narrow);
  if (status != NAY_OK) fail_msg("%s", diag.what);
  for (uint32_t i = 0; i < index.nlogs; i++) {
    nay_clubcard_entry a = {.size = sizeof a}, b = {.size = sizeof b};
    assert_ok(nay_clubcard_at(&index, NAY_CLUBCARD_LOG, i, &a));
    assert_ok(nay_clubcard_at(&narrow, NAY_CLUBCARD_LOG, i, &b));
    assert_memory_equal(&a, &b, sizeof a);
  }
  for (uint32_t i = 0; i < index.nfiles; i++) {
    nay_clubcard_entry a = {.size = sizeof a}, b = {.size = sizeof b};
    assert_ok(nay_clubcard_at(&index, NAY_CLUBCARD_FILE, i, &a));
    assert_ok(nay_clubcard_at(&narrow, NAY_CLUBCARD_FILE, i, &b));
    assert_string_equal(a.name, b.name);
  }
  free(bytes.at);
}

/* Names that would leave the directory, and entries that lie. */
static void indexes_that_lie_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {".", "..", "../x", "a/b", "a\\b", "", "a\nb", "a\1", "\xff"};
  golden_bytes good = golden_read(CLUBCARD_GOLDEN "/cache/index.bin");
  uint8_t *bytes = malloc(good.len);
  nay_clubcard index = {.size = sizeof index};
  size_t logs = 14 + 32u * 4, nlogs = good.at[13], tables = logs + 42 * nlogs;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    memcpy(bytes, good.at, good.len);
    memset(bytes + 14, 0, 32);
    memcpy(bytes + 14, names[i], strlen(names[i]));
    assert_status(nay_clubcard_open(bytes, good.len, NULL, &index), NAY_ECORRUPT);
  }
  const struct {
    size_t at;
    uint8_t value;
  } lies[] = {{14 + 5, 0}, {logs, 0xff}, {logs + 39, 0}, {logs + 38, 0xff}, {logs + 41, 0xff}};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    memcpy(bytes, good.at, good.len);
    bytes[lies[i].at] = lies[i].value;
    assert_status(nay_clubcard_open(bytes, good.len, NULL, &index), NAY_ECORRUPT);
  }
  memcpy(bytes, good.at, good.len);
  bytes[tables + 1] = 4; /* the fifth of four files */
  assert_status(nay_clubcard_open(bytes, good.len, NULL, &index), NAY_ECORRUPT);
  bytes[7] = '2';
  assert_status(nay_clubcard_open(bytes, good.len, NULL, &index), NAY_EVERSION);
  free(bytes);
  free(good.at);
}

/* ---- arguments ---- */

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  golden_bytes bytes = golden_read(CLUBCARD_GOLDEN "/first-64.v4");
  golden_bytes other = golden_read(CLUBCARD_GOLDEN "/cache/index.bin");
  nay_clubcard card = open_bytes("first-64", &bytes), index = open_bytes("index.bin", &other);
  uint8_t id[32] = {0};
  char name[NAY_CLUBCARD_NAME];
  uint32_t file = 0;
  nay_revocation answer = (nay_revocation)9;
  nay_certificate c = {.size = sizeof c, .issuer = id}, none = {.size = sizeof none};
  nay_certificate lost = {.size = sizeof lost, .issuer = id, .nscts = 1};
  nay_clubcard unset = {.size = sizeof unset}, sizeless = {.size = 0};
  assert_ok(nay_clubcard_check(&card, &c, &answer));
  assert_int_equal(answer, NAY_NOT_COVERED); /* without SCTs */
  assert_status(nay_clubcard_check(&index, &c, &answer), NAY_EINVAL);
  assert_status(nay_clubcard_check(&card, &none, &answer), NAY_EINVAL);
  assert_status(nay_clubcard_check(&card, &lost, &answer), NAY_EINVAL);
  assert_status(nay_clubcard_check(&unset, &c, &answer), NAY_EINVAL);
  assert_status(nay_clubcard_check(&sizeless, &c, &answer), NAY_EINVAL);
  assert_status(nay_clubcard_file(&card, &c, &file, name), NAY_EINVAL);
  assert_status(nay_clubcard_file(&index, &c, &file, name), NAY_EEND);
  file = 4000000000u;
  assert_status(nay_clubcard_file(&index, &c, &file, name), NAY_EEND);
  assert_status(nay_clubcard_open(NULL, 0, NULL, &card), NAY_EINVAL);
  assert_status(nay_clubcard_open(bytes.at, bytes.len, NULL, &sizeless), NAY_EINVAL);
  free(bytes.at);
  free(other.at);
}

int main(void) {
  const test_case tests[] = {
      TEST(sha256_is_that_of_fips_180_4),         TEST(answers_are_those_of_the_real_code),
      TEST(malformed_files_are_refused),          TEST(damage_is_refused_or_answered),
      TEST(directories_are_asked_by_their_index), TEST(indexes_of_the_older_kind_are_read),
      TEST(indexes_that_lie_are_refused),         TEST(wrong_arguments_are_refused)};
  return run_all(tests);
}
