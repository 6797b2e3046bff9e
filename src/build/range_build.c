/*
 * range_build.c - a range filter from a stream of keys.
 *
 * Keys wait as records until finish: a word for a number without a prefix, two for one behind a
 * prefix. The tag of a number v is v * G modulo 2^64, from which v can be computed; behind a prefix
 * with the hash p it is p + v * G, and v is the second word. Tags of different keys are equal with
 * a chance of 2^-64; the size then is that of a key less, and no key is lost, because every record
 * gets its location.
 *
 * How many locations the filter has depends on the number of distinct keys. finish takes all
 * records for distinct, sends each to its location, sorts and writes these (range_sort.c), and is
 * right unless two locations are equal. Then it looks at the records of these few locations; if
 * records were equal, it starts again with the right number.
 *
 * Memory: 8 bytes for each record (16 behind a prefix) and 8 for each location. With NAY_LOW_MEMORY
 * records wait in a temporary file by the top byte of their tag, locations in another one by their
 * top byte, and the array has room for the largest of 256 parts. The bytes are the same.
 */
#include "build/range_build.h"

#include "base/sort.h"
#include "build/bulk_strategy.h"
#include "build/hash_spill.h"
#include "build/parallel_sort.h"
#include "build/range_sort.h"
#include "filter.h"
#include "math/plan.h"

#define RBUILD_PAGE 65536u /* words */
#define RBUILD_PARTS 256u  /* of a build in little memory */

typedef struct rbuild_page {
  struct rbuild_page *next;
  size_t used;
  uint64_t words[RBUILD_PAGE];
} rbuild_page;

/* Records of `width` words: in pages, or in a file. */
typedef struct rbuild_list {
  unsigned width;
  rbuild_page *first, *last;
  nay_hash_spill *spill;
  uint64_t parts[RBUILD_PARTS]; /* records by the top byte of the first word */
  uint64_t n;
} rbuild_list;

/* The first 255 bytes of a key that does not end in a number. */
typedef struct rbuild_bytes {
  uint32_t len;
  uint8_t at[NAY_RANGE_OTHER];
} rbuild_bytes;

struct nay_range_builder {
  nay_params params;
  nay_hash_fn hasher;
  nay_allocator allocator;
  nay_range_form form;
  rbuild_list plain, prefixed;
  nay_hash_spill *locations; /* of a finish in little memory; or NULL */
  uint64_t least, greatest;  /* numbers without a prefix */
  nay_range_forms forms;
  uint64_t nothers; /* duplicates included */
  rbuild_bytes others_min, others_max;
};

/* ---- records ---- */

static void rbuild_list_clear(const nay_allocator *a, rbuild_list *l) {
  while (l->first != NULL) {
    rbuild_page *next = l->first->next;
    nay__free(a, l->first, sizeof *l->first);
    l->first = next;
  }
  l->last = NULL;
  if (l->spill != NULL) nay__hash_spill_clear(l->spill);
  memset(l->parts, 0, sizeof l->parts);
  l->n = 0;
}

static nay_status rbuild_list_add(const nay_allocator *a, rbuild_list *l, const uint64_t *record) {
  if (l->spill != NULL) {
    NAY_TRY(nay__hash_spill_add(l->spill, record));
  } else {
    if (l->last == NULL || l->last->used + l->width > RBUILD_PAGE) {
      rbuild_page *page = nay__alloc(a, sizeof *page);
      if (page == NULL) return NAY_ENOMEM;
      page->next = NULL;
      page->used = 0;
      if (l->last != NULL) l->last->next = page;
      if (l->first == NULL) l->first = page;
      l->last = page;
    }
    for (unsigned i = 0; i < l->width; i++) l->last->words[l->last->used++] = record[i];
  }
  l->parts[record[0] >> 56]++;
  l->n++;
  return NAY_OK;
}

typedef void (*rbuild_piece)(void *ctx, const uint64_t *records, size_t n);

/* Records of part `part`, or all: RBUILD_PARTS. */
static nay_status rbuild_list_read(const rbuild_list *l, unsigned part, rbuild_piece piece,
                                   void *ctx) {
  if (l->spill != NULL) {
    uint64_t lo = part == RBUILD_PARTS ? 0 : (uint64_t)part << 56;
    uint64_t hi = part == RBUILD_PARTS ? UINT64_MAX : lo | UINT64_MAX >> 8;
    return nay__hash_spill_read(l->spill, lo, hi, piece, ctx);
  }
  for (const rbuild_page *page = l->first; page != NULL; page = page->next) {
    piece(ctx, page->words, page->used / l->width);
  }
  return NAY_OK;
}

/* ---- the builder ---- */

static void rbuild_reset(nay_range_builder *b) {
  rbuild_list_clear(&b->allocator, &b->plain);
  rbuild_list_clear(&b->allocator, &b->prefixed);
  if (b->locations != NULL) nay__hash_spill_clear(b->locations);
  b->least = UINT64_MAX;
  b->greatest = 0;
  b->forms = NAY_RANGE_NO_FORMS;
  b->nothers = 0;
}

nay_status nay__range_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_range_builder **builder) {
  nay_range_builder *b = nay__alloc(allocator, sizeof *b);
  if (b == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the builder", 0);
  *b = (nay_range_builder){.params = *params,
                           .hasher = *hasher,
                           .allocator = *allocator,
                           .form = {params->range_keys, (uint8_t)params->range_delimiter},
                           .plain = {.width = 1},
                           .prefixed = {.width = 2}};
  const char *directory = params->spill_dir;
  b->params.spill_dir = NULL; /* the caller owns the string */
  rbuild_reset(b);
  nay_status status = NAY_OK;
  if ((params->flags & NAY_LOW_MEMORY) != 0) {
    const nay_allocator *a = &b->allocator;
    status = nay__hash_spill_new(directory, 1, a, diag, &b->plain.spill);
    if (status == NAY_OK) status = nay__hash_spill_new(directory, 2, a, diag, &b->prefixed.spill);
    if (status == NAY_OK) status = nay__hash_spill_new(directory, 1, a, diag, &b->locations);
  }
  if (status != NAY_OK) {
    nay__range_builder_free(b);
    return status;
  }
  *builder = b;
  return NAY_OK;
}

static int rbuild_compare(const uint8_t *a, uint32_t a_len, const rbuild_bytes *b) {
  uint32_t n = a_len < b->len ? a_len : b->len;
  int c = n != 0 ? memcmp(a, b->at, n) : 0;
  return c != 0 ? c : (a_len > b->len) - (a_len < b->len);
}

static void rbuild_take_bytes(rbuild_bytes *to, const uint8_t *key, uint32_t len) {
  to->len = len;
  if (len != 0) memcpy(to->at, key, len);
}

/* A key that does not end in a number: of these the bounds are kept. */
static void rbuild_add_other(nay_range_builder *b, const uint8_t *key, size_t len) {
  uint32_t cut = len < NAY_RANGE_OTHER ? (uint32_t)len : NAY_RANGE_OTHER;
  if (b->nothers == 0 || rbuild_compare(key, cut, &b->others_min) < 0) {
    rbuild_take_bytes(&b->others_min, key, cut);
  }
  if (b->nothers == 0 || rbuild_compare(key, cut, &b->others_max) > 0) {
    rbuild_take_bytes(&b->others_max, key, cut);
  }
  b->nothers++;
}

/* A number without a prefix. */
static nay_status rbuild_add_number(nay_range_builder *b, uint64_t number) {
  uint64_t tag = number * NAY_G64;
  rbuild_page *page = b->plain.last;
  if (NAY_LIKELY(page != NULL && page->used != RBUILD_PAGE)) {
    page->words[page->used++] = tag;
    b->plain.n++;
  } else {
    NAY_TRY(rbuild_list_add(&b->allocator, &b->plain, &tag));
  }
  b->least = nay__min_u64(b->least, number);
  b->greatest = nay__max_u64(b->greatest, number);
  return NAY_OK;
}

nay_status nay__range_builder_add(nay_range_builder *b, const void *bytes, size_t len) {
  const uint8_t *key = bytes;
  nay_range_key_parts parts;
  NAY_TRY(nay__hasher_ready(&b->hasher));
  if (NAY_LIKELY(len == 8 && b->form.keys == NAY_RANGE_BE8 && b->form.delimiter == 0)) {
    NAY_TRY(rbuild_add_number(b, nay__swap64(nay__load64le(key))));
    b->forms.prefix_min = b->forms.delimiters_min = b->forms.digits_min = 0;
    return NAY_OK;
  }
  if (!nay__range_split(b->form, key, len, &parts)) {
    rbuild_add_other(b, key, len);
    return NAY_OK;
  }
  if (parts.prefix_len == 0) {
    NAY_TRY(rbuild_add_number(b, parts.number));
  } else {
    uint64_t prefix = nay__range_prefix(&b->hasher, key, parts.prefix_len);
    const uint64_t record[2] = {prefix + parts.number * NAY_G64, parts.number};
    NAY_TRY(rbuild_list_add(&b->allocator, &b->prefixed, record));
  }
  nay__range_forms_add(&b->forms, b->form, key, &parts);
  return NAY_OK;
}

uint64_t nay__range_builder_nkeys(const nay_range_builder *b) {
  return b->plain.n + b->prefixed.n + b->nothers;
}

void nay__range_builder_free(nay_range_builder *b) {
  if (b == NULL) return;
  rbuild_reset(b);
  nay__hash_spill_free(b->plain.spill);
  nay__hash_spill_free(b->prefixed.spill);
  nay__hash_spill_free(b->locations);
  nay_allocator a = b->allocator;
  nay__free(&a, b, sizeof *b);
}

/* ---- finish ---- */

typedef struct rbuild_job {
  nay_range_builder *b;
  nay_range_map map;
  nay_range_head head;
  unsigned up; /* locations are sorted as their bits in the highest places */
  uint64_t *words;
  size_t nwords, cap;
  uint64_t parts[RBUILD_PARTS]; /* locations by their top byte, in little memory */
  nay_status status;            /* of what a piece did */
  /* in memory */
  nay_range_source source;
  nay_range_sorted sorted;
  unsigned nthreads;
} rbuild_job;

/* Words by which records are counted. */
static void rbuild_gather_tags(void *ctx, const uint64_t *records, size_t n) {
  rbuild_job *j = ctx;
  for (size_t i = 0; i < n; i++) j->words[j->nwords++] = records[i];
}

static void rbuild_gather_pair_tags(void *ctx, const uint64_t *records, size_t n) {
  rbuild_job *j = ctx;
  for (size_t i = 0; i < n; i++) j->words[j->nwords++] = records[2 * i];
}

static void rbuild_arrange(rbuild_job *j) {
  nay__sort_parallel(j->words, j->nwords, nay__bulk_threads(j->b->params.threads, j->nwords));
  j->nwords = nay__unique_u64(j->words, j->nwords);
}

/* The number of distinct records. */
static nay_status rbuild_count(rbuild_job *j, uint64_t *n) {
  const nay_range_builder *b = j->b;
  bool low = b->locations != NULL;
  *n = 0;
  for (unsigned part = 0; part < (low ? RBUILD_PARTS : 1); part++) {
    unsigned which = low ? part : RBUILD_PARTS;
    j->nwords = 0;
    NAY_TRY(rbuild_list_read(&b->plain, which, rbuild_gather_tags, j));
    NAY_TRY(rbuild_list_read(&b->prefixed, which, rbuild_gather_pair_tags, j));
    rbuild_arrange(j);
    *n += j->nwords;
  }
  return NAY_OK;
}

static void rbuild_put_location(rbuild_job *j, uint64_t location) {
  uint64_t word = location << j->up;
  if (j->status == NAY_OK) j->status = nay__hash_spill_add(j->b->locations, &word);
  j->parts[word >> 56]++;
}

static void rbuild_locate(void *ctx, const uint64_t *records, size_t n) {
  rbuild_job *j = ctx;
  for (size_t i = 0; i < n; i++) {
    uint64_t number = records[i] * NAY_G64_INVERSE;
    rbuild_put_location(
        j, j->head.exact ? number - j->head.base : nay__range_place(&j->map, false, 0, number));
  }
}

static void rbuild_locate_pairs(void *ctx, const uint64_t *records, size_t n) {
  rbuild_job *j = ctx;
  for (size_t i = 0; i < n; i++) {
    uint64_t number = records[2 * i + 1], prefix = records[2 * i] - number * NAY_G64;
    rbuild_put_location(j, nay__range_place(&j->map, true, prefix, number));
  }
}

/* The locations of one part in j->words. */
static nay_status rbuild_load_part(rbuild_job *j, unsigned part) {
  j->nwords = 0;
  uint64_t lo = (uint64_t)part << 56;
  NAY_TRY(nay__hash_spill_read(j->b->locations, lo, lo | UINT64_MAX >> 8, rbuild_gather_tags, j));
  rbuild_arrange(j);
  return NAY_OK;
}

static nay_status rbuild_reserve(rbuild_job *j, uint64_t n) {
  size_t size;
  if (n <= j->cap) return NAY_OK;
  nay__free(&j->b->allocator, j->words, j->cap * sizeof(uint64_t));
  j->words = NULL;
  j->cap = 0;
  if (!nay__size_ok(n, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  j->words = nay__alloc(&j->b->allocator, size);
  if (j->words == NULL) return NAY_ENOMEM;
  j->cap = (size_t)n;
  return NAY_OK;
}

/* In little memory: sends every record to its location, and counts the distinct ones. */
static nay_status rbuild_place(rbuild_job *j) {
  nay_range_builder *b = j->b;
  uint64_t most = 0;
  nay__hash_spill_clear(b->locations);
  NAY_TRY(rbuild_list_read(&b->plain, RBUILD_PARTS, rbuild_locate, j));
  NAY_TRY(rbuild_list_read(&b->prefixed, RBUILD_PARTS, rbuild_locate_pairs, j));
  NAY_TRY(j->status);
  for (unsigned part = 0; part < RBUILD_PARTS; part++) most = nay__max_u64(most, j->parts[part]);
  NAY_TRY(rbuild_reserve(j, most));
  for (unsigned part = 0; part < RBUILD_PARTS; part++) {
    NAY_TRY(rbuild_load_part(j, part));
    j->head.nvalues += j->nwords;
  }
  return NAY_OK;
}

static nay_status rbuild_write(rbuild_job *j, nay_filter *f) {
  const nay_range_builder *b = j->b;
  uint8_t *payload = f->bits.bytes;
  nay_range_parts parts;
  nay__range_head_store(&j->head, payload);
  nay__range_layout(&j->head, &parts);
  if (b->locations == NULL) {
    nay__range_sorted_write(&j->sorted, j->nthreads, payload);
  } else {
    nay_range_writer w;
    nay__range_writer_start(&w, payload);
    for (unsigned part = 0; part < RBUILD_PARTS; part++) {
      NAY_TRY(rbuild_load_part(j, part));
      for (size_t i = 0; i < j->nwords; i++) nay__range_writer_put(&w, j->words[i] >> j->up);
    }
    nay__range_writer_end(&w);
  }
  uint8_t *others = payload + parts.others;
  if (b->nothers != 0) {
    memcpy(others, b->others_min.at, b->others_min.len);
    memcpy(others + b->others_min.len, b->others_max.at, b->others_max.len);
  }
  nay__range_bind(f);
  return NAY_OK;
}

/* The head of n distinct keys, but for nvalues. */
static void rbuild_head(rbuild_job *j, const nay_shape *shape) {
  const nay_range_builder *b = j->b;
  bool numbers = b->plain.n != 0 && b->prefixed.n == 0;
  j->head =
      (nay_range_head){.last = shape->nunits - 1, .others = b->nothers != 0, .forms = b->forms};
  if (numbers && b->greatest - b->least < shape->nunits) {
    j->head.exact = true;
    j->head.base = b->least;
    j->head.last = b->greatest - b->least;
  }
  if (b->nothers != 0) {
    j->head.others_min_len = b->others_min.len;
    j->head.others_max_len = b->others_max.len;
  }
  j->map = nay__range_map_of(&b->hasher, shape->nunits);
  j->up = 63 - (unsigned)nay__log2_64(j->head.last | 1);
}

/* In little memory: the shape, and the locations in their file. */
static nay_status rbuild_prepare_spilled(rbuild_job *j, nay_diag *diag, nay_shape *shape,
                                         uint64_t *n) {
  const nay_range_builder *b = j->b;
  uint64_t most = 0;
  for (unsigned i = 0; i < RBUILD_PARTS; i++) {
    most = nay__max_u64(most, b->plain.parts[i] + b->prefixed.parts[i]);
  }
  NAY_TRY(rbuild_reserve(j, most));
  NAY_TRY(rbuild_count(j, n));
  *n = nay__max_u64(*n, b->params.nkeys); /* of the union that filters of these params merge into */
  NAY_TRY(nay__range_shape(&b->params, *n, diag, shape));
  rbuild_head(j, shape);
  return rbuild_place(j);
}

static size_t rbuild_list_runs(const rbuild_list *l, nay_range_run *runs) {
  size_t n = 0;
  for (const rbuild_page *page = l->first; page != NULL; page = page->next, n++) {
    if (runs != NULL) runs[n] = (nay_range_run){page->words, page->used / l->width, l->width};
  }
  return n;
}

/* The locations of all records, sorted, of a filter for n keys. */
static nay_status rbuild_sort(rbuild_job *j, uint64_t n, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__range_shape(&j->b->params, n, diag, shape));
  rbuild_head(j, shape);
  nay_range_source *s = &j->source;
  s->map = j->map;
  s->exact = j->head.exact;
  s->base = j->head.base;
  s->last = j->head.last;
  nay__range_sorted_clear(&j->b->allocator, &j->sorted);
  return nay__range_sort(s, j->nthreads, &j->b->allocator, &j->sorted);
}

/* The number of distinct records. *lost: the locations are not sorted any more. */
static nay_status rbuild_distinct(rbuild_job *j, uint64_t *n, bool *lost) {
  nay_range_sorted *s = &j->sorted;
  uint64_t nequal;
  *lost = false;
  if (j->head.exact) {
    *n = s->nvalues;
    return NAY_OK;
  }
  if (s->nrepeats <= s->repeats_cap) {
    NAY_TRY(nay__range_equal_records(&j->source, s, j->nthreads, &j->b->allocator, &nequal));
    *n = j->source.nrecords - nequal;
    return NAY_OK;
  }
  *lost = true;
  return rbuild_count(j, n);
}

/* In memory: the shape, and the locations in j->sorted. */
static nay_status rbuild_prepare(rbuild_job *j, nay_diag *diag, nay_shape *shape, uint64_t *n) {
  const nay_range_builder *b = j->b;
  uint64_t nrecords = j->source.nrecords, distinct;
  bool lost = false, exact;
  *n = nay__max_u64(nrecords, b->params.nkeys);
  NAY_TRY(rbuild_sort(j, *n, diag, shape));
  if (j->sorted.nrepeats == 0 || b->params.nkeys >= nrecords) return NAY_OK;
  exact = j->head.exact;
  NAY_TRY(rbuild_distinct(j, &distinct, &lost));
  distinct = nay__max_u64(distinct, b->params.nkeys);
  if (distinct == *n && !lost) return NAY_OK;
  *n = distinct;
  NAY_TRY(nay__range_shape(&b->params, *n, diag, shape));
  rbuild_head(j, shape);
  return exact && j->head.exact && !lost ? NAY_OK : rbuild_sort(j, *n, diag, shape);
}

/* Room for the locations and the repeated ones, and the list of runs. */
static nay_status rbuild_start(rbuild_job *j) {
  const nay_range_builder *b = j->b;
  nay_range_source *s = &j->source;
  size_t plain = rbuild_list_runs(&b->plain, NULL), n;
  s->nruns = plain + rbuild_list_runs(&b->prefixed, NULL);
  if (!nay__size_ok(b->plain.n + b->prefixed.n, &s->nrecords)) return NAY_ENOMEM;
  size_t repeats = s->nrecords / 64 + 64, runs = nay__ceil_div(s->nruns * sizeof(nay_range_run), 8);
  if (!nay__size_ok((uint64_t)s->nrecords + repeats + runs, &n)) return NAY_ENOMEM;
  NAY_TRY(rbuild_reserve(j, n));
  nay_range_run *list = (nay_range_run *)(void *)(j->words + s->nrecords + repeats);
  s->runs = list;
  (void)rbuild_list_runs(&b->plain, list);
  (void)rbuild_list_runs(&b->prefixed, list + plain);
  j->nthreads = nay__bulk_threads(b->params.threads, s->nrecords);
  j->sorted.words = j->words;
  j->sorted.repeats = j->words + s->nrecords;
  j->sorted.repeats_cap = repeats;
  return NAY_OK;
}

static nay_status rbuild_run(rbuild_job *j, nay_diag *diag, nay_filter **filter) {
  nay_range_builder *b = j->b;
  nay_range_parts parts;
  nay_shape shape;
  uint64_t n;
  size_t nbytes;
  if (b->locations == NULL) {
    NAY_TRY(rbuild_start(j));
    NAY_TRY(rbuild_prepare(j, diag, &shape, &n));
    j->head.nvalues = j->sorted.nvalues;
  } else {
    NAY_TRY(rbuild_prepare_spilled(j, diag, &shape, &n));
  }
  j->head.low_bits = nay__range_low_bits(j->head.nvalues, j->head.last);
  if (!nay__range_parts(&j->head, &parts)) return NAY_EINVAL;
  if (!nay__size_ok(parts.end, &nbytes)) return NAY_ENOMEM;
  nay_filter *f;
  NAY_TRY(nay__filter_make_sized(&nay__family_range, &shape, nbytes, &b->hasher, nay__max_u64(n, 1),
                                 b->params.flags & (NAY_STORE_KEY | NAY_SMALL_PAGES), &b->allocator,
                                 &f));
  nay_status status = rbuild_write(j, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

nay_status nay__range_builder_finish(nay_range_builder *b, nay_diag *diag, nay_filter **filter) {
  rbuild_job *j = nay__alloc(&b->allocator, sizeof *j);
  nay_diag why = {.what = NULL};
  if (j == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to build the filter", 0);
  *j = (rbuild_job){.b = b};
  nay_status status = rbuild_run(j, &why, filter);
  nay__range_sorted_clear(&b->allocator, &j->sorted);
  nay__free(&b->allocator, j->words, j->cap * sizeof(uint64_t));
  nay__free(&b->allocator, j, sizeof *j);
  if (status == NAY_OK) {
    rbuild_reset(b);
    return NAY_OK;
  }
  if (status == NAY_EIO && diag != NULL) {
    const nay_diag *troubles[] = {nay__hash_spill_trouble(b->plain.spill),
                                  nay__hash_spill_trouble(b->prefixed.spill),
                                  nay__hash_spill_trouble(b->locations)};
    for (unsigned i = 0; i < 3; i++) {
      if (troubles[i]->what != NULL) *diag = *troubles[i];
    }
    return status;
  }
  return nay__fail(diag, status, why.what != NULL ? why.what : "no memory to build the filter", 0);
}
