/*
 * range_algebra.c - range filters without their keys: the union of two, and a smaller one.
 *
 * Filters of one seed and one number of locations store sorted locations: their union is a merge of
 * two sorted sequences, and its FPR is the sum of theirs. An exact filter stores the numbers
 * themselves; where the union is not exact, they are sent to their locations first.
 *
 * Shrinking drops the lowest bits of every location: a cell of 2^shift numbers is a key as a whole,
 * and ranges cover whole cells. A range of l numbers is then a maybe with n * (l - 1 + 2^shift) /
 * r, if it is 2^shift away from every key; nearer, it may share a cell with the key.
 */
#include "base/sort.h"
#include "family/range.h"
#include "family/regrow.h"

/* rangealg_values: the sorted values of one filter, as the result has them. */
typedef struct rangealg_values {
  nay_range_reader reader;
  uint64_t add;    /* to each: exact filters with another base */
  uint32_t shift;  /* and dropped from it */
  uint64_t *words; /* instead, for numbers that had to be sent to locations */
  size_t nwords, i, cap;
} rangealg_values;

static bool rangealg_next(rangealg_values *v, uint64_t *value) {
  if (v->words != NULL) {
    if (v->i == v->nwords) return false;
    *value = v->words[v->i++] >> v->shift;
    return true;
  }
  if (!nay__range_reader_next(&v->reader, value)) return false;
  *value = (*value + v->add) >> v->shift;
  return true;
}

static void rangealg_rewind(rangealg_values *v, const uint8_t *payload) {
  v->i = 0;
  nay__range_reader_start(&v->reader, payload);
}

/* The numbers of an exact filter at their locations, sorted. */
static nay_status rangealg_locate(const nay_filter *f, const nay_range_head *h,
                                  const nay_allocator *a, rangealg_values *v) {
  size_t n, size;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  if (!nay__size_ok(h->nvalues, &n) || !nay__mul_ok(n, sizeof *v->words, &size)) return NAY_ENOMEM;
  v->words = nay__alloc(a, size);
  if (v->words == NULL) return NAY_ENOMEM;
  v->cap = size;
  nay_range_map map = nay__range_map_of(&f->hasher, f->shape.nunits);
  uint64_t value;
  rangealg_rewind(v, f->bits.bytes);
  while (nay__range_reader_next(&v->reader, &value)) {
    v->words[v->nwords++] = nay__range_place(&map, false, 0, value + h->base);
  }
  nay__sort_u64(v->words, v->nwords);
  v->nwords = nay__unique_u64(v->words, v->nwords);
  return NAY_OK;
}

/* One of the result, without duplicates. */
typedef struct rangealg_union {
  rangealg_values *a, *b; /* b: or NULL */
  uint64_t x, y, last;
  bool has_x, has_y, any;
} rangealg_union;

static void rangealg_start(rangealg_union *u) {
  u->has_x = rangealg_next(u->a, &u->x);
  u->has_y = u->b != NULL && rangealg_next(u->b, &u->y);
  u->any = false;
}

static bool rangealg_union_next(rangealg_union *u, uint64_t *value) {
  while (u->has_x || u->has_y) {
    if (u->has_x && (!u->has_y || u->x <= u->y)) {
      *value = u->x;
      u->has_x = rangealg_next(u->a, &u->x);
    } else {
      *value = u->y;
      u->has_y = rangealg_next(u->b, &u->y);
    }
    if (u->any && *value == u->last) continue;
    u->any = true;
    u->last = *value;
    return true;
  }
  return false;
}

typedef struct rangealg_bytes {
  uint8_t at[NAY_RANGE_OTHER];
  uint32_t len;
} rangealg_bytes;

static void rangealg_bound(const uint8_t *at, uint32_t len, bool least, bool first,
                           rangealg_bytes *bound) {
  uint32_t n = len < bound->len ? len : bound->len;
  int c = n != 0 ? memcmp(at, bound->at, n) : 0;
  if (c == 0) c = (len > bound->len) - (len < bound->len);
  if (!first && (least ? c >= 0 : c <= 0)) return;
  bound->len = len;
  if (len != 0) memcpy(bound->at, at, len);
}

/* The bounds of keys without numbers, of one filter or two. */
static void rangealg_others(const nay_filter *f, bool first, rangealg_bytes bounds[2]) {
  nay_range_head h;
  nay_range_parts p;
  nay__range_head_load(f->bits.bytes, &h);
  if (h.nothers == 0 || !nay__range_parts(&h, &p)) return;
  const uint8_t *least = f->bits.bytes + p.others;
  rangealg_bound(least, h.others_min_len, true, first, &bounds[0]);
  rangealg_bound(least + h.others_min_len, h.others_max_len, false, first, &bounds[1]);
}

/* Writes the result; its head has all but nvalues and low_bits. f is unchanged if that fails. */
static nay_status rangealg_write(nay_filter *f, nay_range_head *h, rangealg_union *u,
                                 const uint8_t *b_payload, const rangealg_bytes bounds[2]) {
  nay_range_parts parts;
  nay_memory fresh;
  nay_range_writer w;
  uint64_t value;
  if (h->nvalues > NAY_RANGE_MAX_VALUES) return NAY_EFULL;
  h->low_bits = nay__range_low_bits(h->nvalues, h->last);
  if (!nay__range_parts(h, &parts)) return NAY_EFULL;
  NAY_TRY(nay__payload_new(f, parts.end, &fresh));
  nay__range_head_store(h, fresh.at);
  nay__range_writer_start(&w, fresh.at);
  rangealg_rewind(u->a, f->bits.bytes);
  if (u->b != NULL) rangealg_rewind(u->b, b_payload);
  rangealg_start(u);
  while (rangealg_union_next(u, &value)) nay__range_writer_put(&w, value);
  nay__range_writer_end(&w);
  memcpy(fresh.at + parts.others, bounds[0].at, h->others_min_len);
  memcpy(fresh.at + parts.others + h->others_min_len, bounds[1].at, h->others_max_len);
  nay__payload_take(f, &fresh, (size_t)parts.end);
  nay__range_bind(f);
  return NAY_OK;
}

static uint64_t rangealg_count(rangealg_union *u) {
  uint64_t n = 0, value;
  rangealg_start(u);
  while (rangealg_union_next(u, &value)) n++;
  return n;
}

/* Whether the union of two filters, of numbers without prefixes, is exact. */
static bool rangealg_exact(const nay_range_head *a, const nay_range_head *b, uint64_t r,
                           nay_range_head *h) {
  if ((!a->exact && a->nvalues != 0) || (!b->exact && b->nvalues != 0)) return false;
  if (!a->exact && !b->exact) return false;
  if (!a->exact) a = b;
  if (!b->exact) b = a;
  uint64_t base = nay__min_u64(a->base, b->base);
  uint64_t end = nay__max_u64(a->base + a->last, b->base + b->last);
  if (end - base >= r) return false;
  h->exact = true;
  h->base = base;
  h->last = end - base;
  return true;
}

static nay_status rangealg_prepare(const nay_filter *f, const nay_range_head *h,
                                   const nay_range_head *result, const nay_allocator *a,
                                   rangealg_values *v) {
  if (h->exact && !result->exact) return rangealg_locate(f, h, a, v);
  if (h->exact) v->add = h->base - result->base;
  return NAY_OK;
}

nay_status nay__range_join(nay_filter *dst, const nay_filter *src, double max_fpr) {
  nay_range_head a, b, h;
  nay_shape sa = dst->shape, sb = src->shape;
  nay__range_head_load(dst->bits.bytes, &a);
  nay__range_head_load(src->bits.bytes, &b);
  if (sa.nunits != sb.nunits || sa.k != sb.k || sa.extra != sb.extra || a.shift != b.shift) {
    return NAY_EMISMATCH;
  }
  h = (nay_range_head){.last = (sa.nunits - 1) >> a.shift, .shift = a.shift, .forms = a.forms};
  (void)rangealg_exact(&a, &b, sa.nunits, &h);
  nay__range_forms_join(&h.forms, &b.forms);
  h.nothers = a.nothers + b.nothers;
  rangealg_bytes bounds[2] = {{.len = 0}, {.len = 0}};
  rangealg_others(dst, true, bounds);
  rangealg_others(src, a.nothers == 0, bounds);
  h.others_min_len = bounds[0].len;
  h.others_max_len = bounds[1].len;
  rangealg_values va = {.add = 0}, vb = {.add = 0};
  rangealg_union u = {.a = &va, .b = &vb};
  nay_status status = rangealg_prepare(dst, &a, &h, &dst->allocator, &va);
  if (status == NAY_OK) status = rangealg_prepare(src, &b, &h, &dst->allocator, &vb);
  if (status == NAY_OK) {
    rangealg_rewind(&va, dst->bits.bytes);
    rangealg_rewind(&vb, src->bits.bytes);
    h.nvalues = rangealg_count(&u);
    double fpr = h.exact ? 0 : nay__range_rate(&sa, &h);
    status = max_fpr < 1 && fpr > max_fpr ? NAY_EFULL
                                          : rangealg_write(dst, &h, &u, src->bits.bytes, bounds);
  }
  nay__free(&dst->allocator, va.words, va.cap);
  nay__free(&dst->allocator, vb.words, vb.cap);
  return status;
}

/* The head after `shift` bits are dropped in all, of n values; false: it is no filter. */
static bool rangealg_shrunk(const nay_filter *f, uint64_t n, uint32_t shift, nay_range_head *h,
                            uint64_t *nbytes) {
  nay_range_parts parts;
  h->exact = false;
  h->base = 0;
  h->shift = shift;
  h->last = (f->shape.nunits - 1) >> shift;
  h->nvalues = nay__min_u64(n, h->last + 1);
  h->low_bits = nay__range_low_bits(h->nvalues, h->last);
  if (h->last == 0 || !nay__range_parts(h, &parts)) return false;
  *nbytes = parts.end;
  return true;
}

/* Drops as few bits as make the filter small enough: at first as if no two values became one. */
static nay_status rangealg_shrink(nay_filter *f, uint64_t nbytes, nay_range_head *h,
                                  rangealg_values *v, const rangealg_bytes bounds[2]) {
  uint32_t before = h->shift;
  uint64_t n = h->nvalues, size;
  rangealg_union u = {.a = v};
  for (uint32_t shift = before; rangealg_shrunk(f, n, shift, h, &size); shift++) {
    if (size > nbytes) continue;
    v->shift = shift - before;
    rangealg_rewind(v, f->bits.bytes);
    (void)rangealg_shrunk(f, rangealg_count(&u), shift, h, &size);
    if (size <= nbytes) return rangealg_write(f, h, &u, NULL, bounds);
  }
  return NAY_EINVAL;
}

nay_status nay__range_shrink(nay_filter *f, uint64_t nbytes) {
  nay_range_head h;
  nay__range_head_load(f->bits.bytes, &h);
  if (f->nbytes <= nbytes) return NAY_OK;
  rangealg_bytes bounds[2] = {{.len = 0}, {.len = 0}};
  rangealg_others(f, true, bounds);
  rangealg_values v = {.shift = 0};
  nay_status status = h.exact ? rangealg_locate(f, &h, &f->allocator, &v) : NAY_OK;
  if (status == NAY_OK) status = rangealg_shrink(f, nbytes, &h, &v, bounds);
  nay__free(&f->allocator, v.words, v.cap);
  return status;
}
