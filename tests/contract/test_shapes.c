/*
 * test_shapes.c - every shape (shapes.h) in every form: built, copied, moved, decoded, opened,
 * mapped, lazily mapped, viewed, made concurrent; with the usual hash, keyed, and concurrent. In
 * each, all keys that are in are maybe, however they are asked; and absent keys get the same answer
 * from all forms and all calls, at the planned FPR.
 */
#include "shapes.h"
#include "support/hashes.h"

/* ---- questions ---- */

/* Keys and room for the answers. */
typedef struct questions {
  size_t n;
  uint8_t *bytes; /* packed */
  size_t *offsets, *lens;
  const void **keys;
  uint64_t *lo, *bitmap, *other; /* answers one by one; and by another call */
} questions;

static void *some(size_t n, size_t size) {
  void *p = calloc(n + 1, size);
  assert_non_null(p);
  return p;
}

/* n keys from `first` on, every step-th; lengths of all kinds. */
static questions questions_make(uint64_t first, uint64_t step, size_t n) {
  questions q = {.n = n};
  q.bytes = some(n, KEY_MAX);
  q.offsets = some(n, sizeof *q.offsets);
  q.lens = some(n, sizeof *q.lens);
  q.keys = some(n, sizeof *q.keys);
  q.lo = some(n, sizeof *q.lo);
  q.bitmap = some(n / 64 + 1, sizeof *q.bitmap);
  q.other = some(n / 64 + 1, sizeof *q.other);
  for (size_t i = 0; i < n; i++) {
    uint64_t number = first + i * step;
    q.keys[i] = q.bytes + q.offsets[i];
    q.lens[i] = key_sets[number % N_KEY_SETS].make(number, q.bytes + q.offsets[i]);
    q.offsets[i + 1] = q.offsets[i] + q.lens[i];
  }
  return q;
}

static void questions_free(questions *q) {
  free(q->bytes);
  free(q->offsets);
  free(q->lens);
  free(q->keys);
  free(q->lo);
  free(q->bitmap);
  free(q->other);
}

/* What is being asked, for messages. */
static char context[160];

static void assert_agrees(const questions *q, const uint64_t *answers, const char *call) {
  for (size_t i = 0; i < q->n; i++) {
    if (((answers[i / 64] ^ q->bitmap[i / 64]) >> i % 64 & 1) != 0) {
      fail_msg("%s: %s answers otherwise for key %zu", context, call, i);
    }
  }
}

/* Asks in every way there is; the answers are in q->bitmap. */
static void ask(const nay_filter *f, questions *q) {
  nay_probe probe;
  bool probes = nay_filter_probe(f, &probe) == NAY_OK;
  memset(q->bitmap, 0, (q->n / 64 + 1) * sizeof *q->bitmap);
  for (size_t i = 0; i < q->n; i++) {
    nay_hash hash;
    bool maybe = nay_filter_may_contain(f, q->keys[i], q->lens[i]);
    assert_ok(filter_hash(f, q->keys[i], q->lens[i], &hash));
    nay_filter_prefetch(f, hash);
    if (nay_filter_may_contain_hash(f, hash) != maybe ||
        (probes && probe.ask(probe.state, hash.lo) != maybe)) {
      fail_msg("%s: the hash of key %zu has another answer", context, i);
    }
    q->lo[i] = hash.lo;
    q->bitmap[i / 64] |= (uint64_t)maybe << i % 64;
  }
  assert_ok(nay_filter_may_contain_many(f, q->keys, q->lens, q->n, q->other));
  assert_agrees(q, q->other, "many");
  assert_ok(nay_filter_may_contain_hash_many(f, q->lo, NULL, q->n, q->other));
  assert_agrees(q, q->other, "hash_many");
  nay_column column = column_of(q->bytes, q->offsets, q->n);
  assert_ok(nay_filter_may_contain_column(f, &column, q->n, q->other));
  assert_agrees(q, q->other, "column");
}

static size_t count_maybes(const questions *q) {
  size_t n = 0;
  for (size_t i = 0; i < q->n; i++) n += q->bitmap[i / 64] >> i % 64 & 1;
  return n;
}

/* ---- forms ---- */

/* The keys that are in, those that are not, and what the first form said of those. */
typedef struct subject {
  const shape_case *shape;
  nay_params params;
  questions present, absent;
  uint64_t *expected;
} subject;

static void assert_answers(subject *s, const nay_filter *f, const char *form) {
  snprintf(context, sizeof context, "%s, %s", s->shape->name, form);
  ask(f, &s->present);
  size_t maybes = count_maybes(&s->present);
  if (maybes != s->present.n) {
    fail_msg("%s: %zu of %zu keys are lost", context, s->present.n - maybes, s->present.n);
  }
  ask(f, &s->absent);
  if (s->expected != NULL) assert_agrees(&s->absent, s->expected, "the filter that was built");
}

/* An allocator whose blocks can be moved, to addresses aligned otherwise; old ones are poisoned. */
typedef struct moving_label {
  void *base;
  size_t size;
} moving_label;

typedef struct moving {
  unsigned step;
  long blocks, moved;
} moving;

static void *moving_alloc(void *ctx, size_t size) {
  moving *m = ctx;
  size_t skip = 16 * (m->step++ % 5);
  uint8_t *base = malloc(size + skip + sizeof(moving_label));
  if (base == NULL) return NULL;
  moving_label *label = (moving_label *)(void *)(base + skip);
  *label = (moving_label){base, size};
  m->blocks++;
  return label + 1;
}

static void moving_free(void *ctx, void *ptr, size_t size) {
  moving *m = ctx;
  moving_label label = ((moving_label *)ptr)[-1];
  assert_int_equal(label.size, size);
  memset(ptr, 0xdd, size);
  free(label.base);
  m->blocks--;
}

static void *moving_move(void *ctx, void *ptr) {
  moving *m = ctx;
  size_t size = ((moving_label *)ptr)[-1].size;
  void *to = moving_alloc(ctx, size);
  if (to == NULL) return NULL;
  memcpy(to, ptr, size);
  moving_free(ctx, ptr, size);
  m->moved++;
  return to;
}

static void unlock(const subject *s, nay_filter *f) {
  if (s->params.hash != NAY_HASH_SIPHASH) return;
  assert_true(nay_filter_may_contain(f, "whatever", 8)); /* locked: maybe */
  assert_ok(nay_filter_unlock(f, s->params.key));
}

/* Takes keys after a move: what was chosen for the old place must not be written to. */
static void assert_adds(subject *s, nay_filter *f, const char *form) {
  if ((nay_kind_traits(s->params.kind) & NAY_CAN_ADD) == 0) return;
  questions more = questions_make((uint64_t)1 << 33, 1, 20);
  for (size_t i = 0; i < more.n; i++) {
    nay_status status = nay_filter_add(f, more.keys[i], more.lens[i], NULL);
    if (status != NAY_OK) assert_status(status, NAY_EFULL);
  }
  snprintf(context, sizeof context, "%s, %s, after adds", s->shape->name, form);
  bool forgets = s->params.kind == NAY_WINDOW && s->params.window == 0;
  ask(f, &s->present);
  if (!forgets) assert_int_equal(count_maybes(&s->present), s->present.n);
  questions_free(&more);
}

static void form_copied(subject *s, const nay_filter *f) {
  nay_filter *copy;
  assert_ok(nay_filter_copy(f, NULL, NULL, &copy));
  assert_answers(s, copy, "copied");
  nay_filter_free(copy);
  copy = concurrent_twin(f);
  if (copy != NULL) assert_answers(s, copy, "concurrent");
  nay_filter_free(copy);
}

static void move_and_ask(subject *s, nay_filter *f, moving *heap, const char *form) {
  for (unsigned i = 0; i < 3; i++) { /* each time to another alignment */
    f = nay__filter_move(f, moving_move, heap);
    assert_answers(s, f, form);
  }
  assert_true(heap->moved >= 6); /* payload and handle */
  assert_adds(s, f, form);
  nay_filter_free(f);
  assert_int_equal(heap->blocks, 0);
}

static void form_moved(subject *s, const nay_filter *f, const bytes *b) {
  moving heap = {0}, other = {.step = 2};
  nay_allocator a = {.alloc = moving_alloc, .free = moving_free, .ctx = &heap},
                o = {.alloc = moving_alloc, .free = moving_free, .ctx = &other};
  nay_filter *g;
  assert_ok(nay_filter_copy(f, &a, NULL, &g));
  move_and_ask(s, g, &heap, "moved");
  assert_ok(nay_filter_decode(b->at, b->len, &o, NULL, &g));
  unlock(s, g);
  move_and_ask(s, g, &other, "decoded and moved");
}

static void form_decoded(subject *s, const bytes *b) {
  nay_filter *f;
  nay_decoder *d;
  assert_ok(nay_filter_decode(b->at, b->len, NULL, NULL, &f));
  unlock(s, f);
  assert_answers(s, f, "decoded");
  nay_filter_free(f);
  assert_ok(nay__decoder_new(NULL, &d));
  for (size_t at = 0, piece = 1; at < b->len; at += piece, piece = piece * 3 + 1) {
    if (piece > b->len - at) piece = b->len - at;
    assert_ok(nay__decoder_add(d, b->at + at, piece, NULL));
  }
  assert_ok(nay__decoder_finish(d, NULL, &f));
  nay__decoder_free(d);
  unlock(s, f);
  assert_answers(s, f, "decoded in pieces");
  nay_filter_free(f);
}

static void form_mapped(subject *s, const nay_filter *f) {
  static const char *const names[] = {"opened", "mapped", "lazily mapped",
                                      "copied from a lazy map"};
  nay_filter *g[4];
  const char *path = saved(f, "shape");
  assert_ok(nay_filter_open(path, NULL, NULL, &g[0]));
  assert_ok(nay_filter_mmap(path, 0, NULL, NULL, &g[1]));
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &g[2]));
  assert_ok(nay_filter_copy(g[2], NULL, NULL, &g[3]));
  remove(path);
  for (size_t i = 0; i < 4; i++) {
    unlock(s, g[i]);
    assert_answers(s, g[i], names[i]);
    assert_ok(nay_filter_health(g[i]));
    nay_filter_free(g[i]);
  }
}

/* A view of bytes at an odd address. */
static void form_view(subject *s, const bytes *b) {
  uint8_t *odd = some(b->len + 1, 1);
  const uint8_t *key = s->params.hash == NAY_HASH_SIPHASH ? s->params.key : NULL;
  nay_view view = {.size = sizeof view}, copy;
  memcpy(odd + 1, b->at, b->len);
  assert_ok(nay_view_open(odd + 1, b->len, key, NULL, &view));
  copy = view; /* a view is a value */
  memset(&view, 0xdd, sizeof view);
  assert_answers(s, nay_view_filter(&copy), "viewed");
  free(odd);
}

/* ---- a shape ---- */

static nay_filter *build(const shape_case *shape, const nay_params *p) {
  nay_builder *b;
  nay_filter *f;
  uint8_t key[KEY_MAX];
  assert_ok(nay_builder_new(p, NULL, NULL, &b));
  for (uint64_t i = 0; i < shape->nkeys; i++) {
    assert_ok(nay_builder_add(b, key, key_sets[i % N_KEY_SETS].make(i, key)));
  }
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/*
 * Six standard deviations and a fifth, which is what single small filters differ by. A window by
 * ticks has all keys in one generation: no time has passed, and they must stay for a whole window.
 */
static void assert_rate(const subject *s, const nay_filter *f) {
  if (s->params.window != 0) return;
  nay_plan plan = {.size = sizeof plan};
  assert_ok(nay_params_plan(&s->params, NULL, &plan));
  double fpr = plan.fpr > plan.fpr_limit ? plan.fpr : plan.fpr_limit;
  double wrong = (double)count_maybes(&s->absent), expected = fpr * (double)s->absent.n;
  double excess = wrong - 1.2 * expected - 10;
  if (excess > 0 && excess * excess > 36 * expected) {
    fail_msg("%s: %.0f false positives, %.1f expected", context, wrong, expected);
  }
  assert_true(stats_of(f).nkeys != 0);
}

static void run_shape(const shape_case *shape, const nay_params *p) {
  size_t npresent = shape->nkeys < 4999 ? (size_t)shape->nkeys : 4999;
  subject s = {.shape = shape,
               .params = *p,
               .present = questions_make(0, shape->nkeys / npresent, npresent),
               .absent = questions_make((uint64_t)1 << 32, 1, TEST_SCALE(2500))};
  nay_filter *f = build(shape, p);
  assert_answers(&s, f, "built");
  assert_rate(&s, f);
  size_t nwords = s.absent.n / 64 + 1;
  s.expected = some(nwords, sizeof *s.expected);
  memcpy(s.expected, s.absent.bitmap, nwords * sizeof *s.expected);
  assert_ok(nay_filter_set_meta(f, "beside the payload", 18));
  bytes b = bytes_of(f);
  form_copied(&s, f);
  form_moved(&s, f, &b);
  form_decoded(&s, &b);
  form_mapped(&s, f);
  form_view(&s, &b);
  bytes_free(&b);
  free(s.expected);
  questions_free(&s.present);
  questions_free(&s.absent);
  nay_filter_free(f);
}

static void every_form_answers_alike(void **state) {
  const shape_case *shape = *state;
  nay_params p = shape->params;
  p.seed = 7;
  run_shape(shape, &p);
  if (shape->nkeys > SHAPE_RIBBONS) return; /* what follows changes the hash, not the probes */
  p.seed = 0;
  p.hash = NAY_HASH_SIPHASH;
  for (unsigned i = 0; i < sizeof p.key; i++) p.key[i] = (uint8_t)(0xc0 + i);
  run_shape(shape, &p);
  p = shape->params;
  p.flags |= NAY_CONCURRENT;
  nay_plan plan = {.size = sizeof plan};
  if (nay_params_plan(&p, NULL, &plan) == NAY_OK) run_shape(shape, &p);
}

int main(void) {
  static shape_list list;
  static test_case cases[sizeof list.at / sizeof list.at[0]];
#ifdef SHAPES_LARGE
  shapes_large(&list);
#else
  shapes_small(&list);
  shapes_sharded(&list);
#endif
  for (size_t i = 0; i < list.n; i++) {
    cases[i] = (test_case)TEST_WITH(list.at[i].name, every_form_answers_alike, &list.at[i]);
  }
  return run_list(test_file(__FILE__), cases, list.n);
}
