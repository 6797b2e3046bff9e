/*
 * test_clubcard_build.c - clubcards that the library writes: every known certificate of every size
 * up to 2,000 gets its right answer, in both versions; the lists of the real builder's files
 * (tests/golden/clubcard) are written in no more bytes than its own; the bytes do not depend on the
 * order of the lists; wrong lists are refused by name, and failing allocations change nothing.
 */
#include "support/clubcards.h"
#include "support/flaky.h"

typedef struct memory_of_sink {
  uint8_t *at;
  size_t len;
} memory_of_sink;

static nay_status keep(void *ctx, const void *bytes, size_t len) {
  memory_of_sink *m = ctx;
  m->at = realloc(m->at, m->len + len + 1);
  assert_non_null(m->at);
  memcpy(m->at + m->len, bytes, len);
  m->len += len;
  return NAY_OK;
}

static size_t put_record(uint8_t *to, const uint8_t *serial, size_t len) {
  to[0] = (uint8_t)len;
  memcpy(to + 1, serial, len);
  return len + 1;
}

/* lists_of_case: of its issuers that have certificates. */
typedef struct lists_of_case {
  nay_clubcard_lists lists;
  nay_clubcard_issuer issuers[CLUBCARD_MAX_ISSUERS];
  uint8_t *records;
} lists_of_case;

static lists_of_case *make_lists(const clubcard_case *c, const golden_bytes *inside) {
  lists_of_case *l = calloc(1, sizeof *l);
  size_t total = 0, at = 0;
  for (unsigned i = 0; i < c->nissuers; i++) total += c->issuers[i].n;
  l->records = malloc(total * 2 * 33 + 1);
  uint8_t *to = l->records;
  l->lists = (nay_clubcard_lists){
      .size = sizeof l->lists, .logs = c->logs, .nlogs = c->nlogs, .issuers = l->issuers};
  for (unsigned i = 0; i < c->nissuers; i++) {
    nay_clubcard_issuer *issuer = &l->issuers[l->lists.nissuers];
    *issuer = (nay_clubcard_issuer){.id = c->issuers[i].id, .known = to};
    if (c->issuers[i].n == 0) continue;
    l->lists.nissuers++;
    for (unsigned pass = 0; pass < 2; pass++) {
      for (unsigned j = 0; j < c->issuers[i].n; j++) {
        uint8_t serial[32];
        if (pass == 1 && !clubcard_bit(inside, at + j)) continue;
        to += put_record(to, serial, clubcard_serial(c->serials, c->seed, i, j, serial));
      }
      if (pass == 0) {
        issuer->revoked = to;
        issuer->known_len = (size_t)(to - issuer->known);
      }
    }
    issuer->revoked_len = (size_t)(to - issuer->revoked);
    at += c->issuers[i].n;
  }
  return l;
}

static memory_of_sink build_lists(const nay_clubcard_lists *lists, unsigned version) {
  memory_of_sink out = {NULL, 0};
  nay_clubcard_lists given = *lists;
  nay_diag diag = {.what = ""};
  given.version = version;
  nay_status status = nay_clubcard_build(&given, NULL, keep, &out, &diag);
  if (status != NAY_OK) fail_msg("%s: %s", nay_status_name(status), diag.what);
  return out;
}

/* Asks for the records of one list; those of the other side are told apart by `revoked`. */
static void check_records(const nay_clubcard *card, const nay_clubcard_issuer *issuer,
                          const nay_sct *sct) {
  size_t revoked = 0; /* the revoked are in the order of the known */
  for (size_t at = 0; at < issuer->known_len; at += 1u + issuer->known[at]) {
    const uint8_t *record = issuer->known + at;
    bool is = revoked < issuer->revoked_len && record[0] == issuer->revoked[revoked] &&
              memcmp(record, issuer->revoked + revoked, 1u + record[0]) == 0;
    if (is) revoked += 1u + record[0];
    nay_certificate c = {.size = sizeof c,
                         .issuer = issuer->id,
                         .serial = record + 1,
                         .serial_len = record[0],
                         .scts = sct,
                         .nscts = 1};
    nay_revocation answer;
    assert_ok(nay_clubcard_check(card, &c, &answer));
    assert_int_equal(answer, is ? NAY_REVOKED : NAY_NOT_REVOKED);
  }
  assert_int_equal(revoked, issuer->revoked_len);
}

static uint64_t check_bytes(const memory_of_sink *out, const nay_clubcard_lists *lists,
                            unsigned version) {
  nay_clubcard card = {.size = sizeof card};
  nay_diag diag = {.what = ""};
  nay_status status = nay_clubcard_open(out->at, out->len, &diag, &card);
  if (status != NAY_OK) fail_msg("%s: %s", nay_status_name(status), diag.what);
  assert_int_equal(card.version, version);
  assert_int_equal(card.nissuers, lists->nissuers);
  assert_int_equal(card.nlogs, lists->nlogs);
  nay_sct sct = {.timestamp = lists->nlogs > 0 ? lists->logs[0].high : 0};
  for (size_t i = 0; i < lists->nissuers && lists->nlogs > 0; i++) {
    memcpy(sct.log, lists->logs[0].id, 32);
    check_records(&card, &lists->issuers[i], &sct);
  }
  return card.nbits;
}

/* ---- the lists of the real builder ---- */

static uint64_t ours_in_all, real_in_all;

static void rebuild_case(const clubcard_case *c) {
  char path[512];
  golden_bytes inside = {NULL, 0};
  snprintf(path, sizeof path, CLUBCARD_GOLDEN "/%s.inside", c->name);
  if (strcmp(c->name, "no-keys") != 0) inside = golden_read(path);
  lists_of_case *l = make_lists(c, &inside);
  for (unsigned version = 3; version <= 4; version++) {
    memory_of_sink out = build_lists(&l->lists, version);
    uint64_t nbits = check_bytes(&out, &l->lists, version);
    snprintf(path, sizeof path, CLUBCARD_GOLDEN "/%s.v%u", c->name, version);
    if (version == 4) {
      golden_bytes real = golden_read(path);
      nay_clubcard card = {.size = sizeof card};
      assert_ok(nay_clubcard_open(real.at, real.len, NULL, &card));
      if (nbits > card.nbits) fail_msg("%s: %llu bits", c->name, (unsigned long long)nbits);
      ours_in_all += nbits;
      real_in_all += card.nbits;
      free(real.at);
    }
    free(out.at);
  }
  free(l->records);
  free(l);
  free(inside.at);
}

static void lists_of_the_real_builder_take_fewer_bits(void **state) {
  (void)state;
  assert_int_equal(clubcard_each(rebuild_case), 27);
  print_message("# %llu bits, those of the real builder %llu\n", (unsigned long long)ours_in_all,
                (unsigned long long)real_in_all);
  assert_true(ours_in_all * 1000 < real_in_all * 975); /* 0.973 when this was written */
}

/* ---- sizes ---- */

/* Three issuers: n known with `each`-th revoked, n with all but those, and none or all. */
static void build_size(unsigned n, unsigned each) {
  static uint8_t records[2][2100 * 5], turned[2100 * 5];
  static const uint8_t ids[3][32] = {{3}, {2}, {1}};
  size_t known = 0, revoked = 0, others = 0;
  for (unsigned i = 0; i < n; i++) {
    uint8_t serial[4];
    clubcard_be(i, 4, serial);
    known += put_record(records[0] + known, serial, 4);
    if (i % each == 0) revoked += put_record(records[1] + revoked, serial, 4);
    if (i % each != 0) others += put_record(turned + others, serial, 4);
  }
  const nay_clubcard_log log = {.id = {9}, .low = 5, .high = 6};
  const nay_clubcard_issuer issuers[3] = {{ids[0], records[0], known, records[1], revoked},
                                          {ids[1], records[0], known, turned, others},
                                          {ids[2], records[0], known, records[0], n % 2 * known}};
  const nay_clubcard_lists lists = {.size = sizeof lists,
                                    .logs = &log,
                                    .nlogs = 1,
                                    .issuers = issuers,
                                    .nissuers = n == 0 ? 0 : 3};
  unsigned version = 3 + n % 2;
  memory_of_sink out = build_lists(&lists, version);
  check_bytes(&out, &lists, version);
  free(out.at);
}

static void every_size_is_answered(void **state) {
  (void)state;
  static const unsigned eachs[] = {2, 3, 10, 70, 1000};
  for (unsigned n = 0; n <= 2000; n += n < TEST_SCALE(300)       ? 1
                                       : TEST_SCALE(2000) == 200 ? 170
                                                                 : 17) {
    build_size(n, eachs[n % 5]);
    build_size(n, eachs[(n + 2) % 5]);
  }
}

/* ---- order ---- */

static void bytes_do_not_depend_on_the_order(void **state) {
  (void)state;
  enum { N = 3000 };
  static uint8_t known[2][N * 17], revoked[2][N * 17];
  static const uint8_t ids[2][32] = {{7}, {6}};
  for (unsigned i = 0; i < N; i++) {
    uint8_t serial[32];
    clubcard_serial("mix16", 5, 0, i, serial);
    put_record(known[0] + 17 * i, serial, 16);
    put_record(known[1] + 17 * (N - 1 - i), serial, 16);
    if (i % 10 == 0) put_record(revoked[0] + 17 * (i / 10), serial, 16);
    if (i % 10 == 0) put_record(revoked[1] + 17 * (N / 10 - 1 - i / 10), serial, 16);
  }
  const nay_clubcard_issuer up[2] = {{ids[0], known[0], N * 17, revoked[0], N / 10 * 17},
                                     {ids[1], known[0], 17, known[0], 17}};
  const nay_clubcard_issuer down[2] = {{ids[1], known[0], 17, known[0], 17},
                                       {ids[0], known[1], N * 17, revoked[1], N / 10 * 17}};
  nay_clubcard_lists lists = {.size = sizeof lists, .issuers = up, .nissuers = 2};
  memory_of_sink a = build_lists(&lists, 4);
  lists.issuers = down;
  memory_of_sink b = build_lists(&lists, 4);
  assert_int_equal(a.len, b.len);
  assert_memory_equal(a.at, b.at, a.len);
  free(a.at);
  free(b.at);
}

/* ---- wrong lists ---- */

static nay_status refuse(void *ctx, const void *bytes, size_t len) {
  (void)ctx, (void)bytes, (void)len;
  return NAY_ECANCELED;
}

static void wrong_lists_are_refused(void **state) {
  (void)state;
  static const uint8_t a[32] = {1}, b[32] = {2}, two[] = {1, 7, 1, 8}, cut[] = {1, 7, 2, 8},
                       empty[] = {0}, other[] = {1, 9}, long_one[] = {2, 7, 7};
  static const nay_clubcard_log twice[] = {{{1}, 0, 1}, {{1}, 2, 3}}, back[] = {{{1}, 2, 1}};
  const struct {
    nay_clubcard_issuer issuers[2];
    size_t nissuers;
    const nay_clubcard_log *logs;
    size_t nlogs;
    unsigned version;
    const char *what;
  } rows[] = {
      {{{a, two, 4, two, 2}}, 1, NULL, 0, 5, "version"},
      {{{a, two, 4, two, 2}}, 1, NULL, 1, 4, "NULL"},
      {{{a, NULL, 4, two, 2}}, 1, NULL, 0, 4, "NULL"},
      {{{NULL, two, 4, two, 2}}, 1, NULL, 0, 4, "NULL"},
      {{{a, cut, 4, two, 2}}, 1, NULL, 0, 4, "known serial is cut"},
      {{{a, two, 4, cut, 4}}, 1, NULL, 0, 4, "revoked serial is cut"},
      {{{a, empty, 1, NULL, 0}}, 1, NULL, 0, 4, "known serial is cut"},
      {{{a, two, 4, other, 2}}, 1, NULL, 0, 4, "not known"},
      {{{a, two, 2, other, 2}}, 1, NULL, 0, 4, "not known"}, /* as many as all */
      {{{a, two, 4, long_one, 3}}, 1, NULL, 0, 3, "not known"},
      {{{a, two, 2, two, 4}}, 1, NULL, 0, 3, "not known"},
      {{{a, NULL, 0, NULL, 0}}, 1, NULL, 0, 4, "without known"},
      {{{a, two, 4, two, 2}, {a, two, 4, two, 2}}, 2, NULL, 0, 4, "issuer comes twice"},
      {{{a, two, 4, two, 2}, {b, two, 4, two, 2}}, 2, twice, 2, 4, "log comes twice"},
      {{{a, two, 4, two, 2}, {b, two, 4, two, 2}}, 2, back, 1, 4, "end before"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    nay_clubcard_lists l = {.size = sizeof l,
                            .version = rows[i].version,
                            .logs = rows[i].logs,
                            .nlogs = rows[i].nlogs,
                            .issuers = rows[i].issuers,
                            .nissuers = rows[i].nissuers};
    memory_of_sink out = {NULL, 0};
    nay_diag diag = {.what = ""};
    assert_status(nay_clubcard_build(&l, NULL, keep, &out, &diag), NAY_EINVAL);
    if (strstr(diag.what, rows[i].what) == NULL) fail_msg("%zu: %s", i, diag.what);
    assert_null(out.at); /* the sink saw nothing */
  }
  const nay_clubcard_issuer good = {a, two, 4, two, 2};
  nay_clubcard_lists l = {.size = sizeof l, .version = 4, .issuers = &good, .nissuers = 1};
  assert_status(nay_clubcard_build(&l, NULL, refuse, NULL, NULL), NAY_ECANCELED);
  assert_status(nay_clubcard_build(&l, NULL, NULL, NULL, NULL), NAY_EINVAL);
  l.size = 3;
  assert_status(nay_clubcard_build(&l, NULL, refuse, NULL, NULL), NAY_EINVAL);
}

/* A serial that comes twice in a list is one certificate. */
static void duplicates_are_one_certificate(void **state) {
  (void)state;
  static const uint8_t id[32] = {1}, known[] = {1, 7, 1, 8, 1, 7, 1, 8, 1, 9},
                       revoked[] = {1, 7, 1, 7};
  const nay_clubcard_issuer issuer = {id, known, sizeof known, revoked, sizeof revoked};
  const nay_clubcard_log log = {.id = {9}, .low = 5, .high = 6};
  const nay_clubcard_lists lists = {
      .size = sizeof lists, .logs = &log, .nlogs = 1, .issuers = &issuer, .nissuers = 1};
  memory_of_sink out = build_lists(&lists, 4);
  nay_clubcard card = {.size = sizeof card};
  assert_ok(nay_clubcard_open(out.at, out.len, NULL, &card));
  nay_sct sct = {.log = {9}, .timestamp = 5};
  for (uint8_t serial = 7; serial <= 9; serial++) {
    nay_certificate c = {.size = sizeof c,
                         .issuer = id,
                         .serial = &serial,
                         .serial_len = 1,
                         .scts = &sct,
                         .nscts = 1};
    nay_revocation answer;
    assert_ok(nay_clubcard_check(&card, &c, &answer));
    assert_int_equal(answer, serial == 7 ? NAY_REVOKED : NAY_NOT_REVOKED);
  }
  free(out.at);
}

/* ---- allocations ---- */

static void failing_allocations_change_nothing(void **state) {
  (void)state;
  static uint8_t known[1000 * 17];
  static const uint8_t ids[2][32] = {{1}, {2}};
  for (unsigned i = 0; i < 1000; i++) {
    uint8_t serial[32];
    clubcard_serial("mix16", 5, 0, i, serial);
    put_record(known + 17 * i, serial, 16);
  }
  const nay_clubcard_issuer issuers[2] = {{ids[0], known, sizeof known, known, 30 * 17},
                                          {ids[1], known, sizeof known, known, 900 * 17}};
  const nay_clubcard_lists lists = {
      .size = sizeof lists, .version = 4, .issuers = issuers, .nissuers = 2};
  memory_of_sink want = build_lists(&lists, 4);
  long failed = 0;
  for (long at = 0;; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    memory_of_sink out = {NULL, 0};
    nay_status status = nay_clubcard_build(&lists, &a, keep, &out, NULL);
    assert_true(flaky_is_clean(&heap));
    if (status == NAY_OK) {
      assert_int_equal(out.len, want.len);
      assert_memory_equal(out.at, want.at, want.len);
      free(out.at);
      break;
    }
    assert_int_equal(status, NAY_ENOMEM);
    assert_null(out.at);
    failed++;
  }
  assert_true(failed > 20);
  free(want.at);
}

int main(void) {
  const test_case tests[] = {TEST(lists_of_the_real_builder_take_fewer_bits),
                             TEST(every_size_is_answered),
                             TEST(bytes_do_not_depend_on_the_order),
                             TEST(wrong_lists_are_refused),
                             TEST(duplicates_are_one_certificate),
                             TEST(failing_allocations_change_nothing)};
  return run_all(tests);
}
