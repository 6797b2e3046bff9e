/*
 * format_registry.c - the public calls over NAY_FORMATS, the list in format.h.
 */
#include "base/abi.h"
#include "base/bytes.h"
#include "build/builder.h"
#include "format/format.h"
#include "format/native.h"
#include "math/elementary.h"
#include "math/plan.h"

#define FORMAT_ENTRY(file, name) &nay__format_##name,
static const nay_format *const format_list[] = {NAY_FORMATS(FORMAT_ENTRY)};
#undef FORMAT_ENTRY

const nay_format *nay_format_at(size_t i) {
  return i < sizeof format_list / sizeof format_list[0] ? format_list[i] : NULL;
}

const nay_format *nay_format_find(const char *name) {
  const nay_format *format;
  for (size_t i = 0; name != NULL && (format = nay_format_at(i)) != NULL; i++) {
    if (strcmp(format->name, name) == 0) return format;
  }
  return NULL;
}

const char *nay_format_name(const nay_format *format) { return format->name; }
const char *nay_format_about(const nay_format *format) { return format->about; }

uint32_t nay_format_traits(const nay_format *format) { return format != NULL ? format->traits : 0; }

/* The format whose magic number the bytes start with. */
static const nay_format *format_by_magic(const void *bytes, size_t len) {
  if (bytes == NULL) return NULL;
  const nay_format *format;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    if (format->matches != NULL && format->matches(bytes, len)) return format;
  }
  return NULL;
}

/* The format of the one system whose headers these bytes and this length fit. */
static const nay_format *format_by_header(const void *head, size_t nhead, uint64_t len) {
  const nay_format *found = NULL, *format;
  for (size_t i = 0; head != NULL && (format = nay_format_at(i)) != NULL; i++) {
    if (format->fits == NULL || !format->fits(head, nhead, len)) continue;
    if (found != NULL && found->fits != format->fits) return NULL; /* of two systems */
    if (found == NULL) {
      found = format->variant != NULL ? format->variant(format, head, nhead) : format;
    }
  }
  return found;
}

const nay_format *nay_format_recognise(const void *head, size_t nhead, uint64_t len, bool *likely) {
  const nay_format *found = format_by_magic(head, nhead);
  if (likely == NULL) return found;
  *likely = found == NULL;
  return found != NULL ? found : format_by_header(head, nhead, len);
}

const nay_format *nay_filter_format(const nay_filter *f) {
  return f == NULL ? NULL : f->format != NULL ? f->format : &nay__format_nay;
}

const char *nay_filter_caveat(const nay_filter *f) {
  const nay_format *format = nay_filter_format(f);
  return format != NULL && format->caveat != NULL ? format->caveat(f) : NULL;
}

/* What the shape tells, for the number of keys that the filter was planned for. */
static nay_plan format_plan_now(const nay_filter *f) {
  nay_plan p = {.kind = f->family->kind, .k = f->shape.k, .nkeys = f->nkeys};
  (void)f->family->payload(&f->shape, &p.nbits, &p.nbytes);
  p.nbytes = f->nbytes; /* a family that sizes itself may have more */
  if (f->nkeys != 0) {
    p.bits_per_key = (double)p.nbits / (double)f->nkeys;
    p.fpr = f->family->fpr(&f->shape, f->nkeys);
    p.fpr_limit = p.fpr;
  }
  return p;
}

nay_status nay_filter_plan(const nay_filter *f, size_t i, nay_diag *diag, nay_plan *plan) {
  if (f == NULL || plan == NULL) {
    return nay__fail(diag, NAY_EINVAL, "filter or plan is NULL", 0);
  }
  NAY_TRY(nay__abi_check(NAY_ABI_PLAN, plan, diag));
  nay_plan p = format_plan_now(f);
  const nay_format *format = nay_filter_format(f);
  bool found =
      format->plan_of != NULL && format->plan_of(&f->shape, i, &p.nkeys, &p.bits_per_key, &p.fpr);
  if (!found && i != 0) return nay__fail(diag, NAY_EEND, "no further plan fits this filter", 0);
  nay__abi_write(NAY_ABI_PLAN, &p, plan);
  return NAY_OK;
}

/* The name of a hash function, if it is of this kind. */
static const char *hash_name_of(const nay_foreign_hash *function, nay_hash_kind kind) {
  return function != NULL && function->kind == kind ? function->name : NULL;
}

const char *nay_hash_name(nay_hash_kind kind) {
  const nay_format *format;
  const char *native = nay__hash_native_name(kind);
  if (native != NULL) return native;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    const char *name = hash_name_of(format->hash, kind);
    if (name == NULL) name = hash_name_of(format->other_hash, kind);
    if (name != NULL) return name;
  }
  return NULL;
}

/* Fills diag with the text of a status, for a call that takes no diag. */
static nay_status format_told(nay_diag *diag, nay_status status) {
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, nay_status_text(status), 0);
}

/* ---- making filters in another system's layout ---- */

/* These systems size by bits per key and have one hash: any other parameter is refused. */
static const char *format_refused(const nay_format *format, const nay_params *p) {
  if (p->kind != NAY_AUTO && p->kind != format->family->kind) {
    return "kind: this layout is of another family, leave it 0";
  }
  if (p->nbytes != 0) return "nbytes: this layout is sized by bits_per_key or fpr";
  uint32_t takes = format->takes;
  if (p->nbits != 0 && (takes & NAY_TAKES_NBITS) == 0) {
    return "nbits: this layout is sized by bits_per_key or fpr";
  }
  if (p->k != 0 && (takes & NAY_TAKES_K) == 0) return "k: this layout takes it from bits_per_key";
  if (p->fold != 0) return "fold: this layout cannot be folded";
  bool keyed = (takes & NAY_TAKES_KEY) != 0 && p->hash == NAY_HASH_SIPHASH;
  if (p->hash != NAY_HASH_XXH3 && !keyed) return "hash: this layout has one of its own, leave it 0";
  if (p->seed != 0 && (takes & NAY_TAKES_SEED) == 0) {
    return "seed: the hash of this layout has none";
  }
  if (p->flags != 0) return "flags: this layout has none";
  if (p->nkeys > NAY_MAX_NKEYS) return "nkeys is above 2^56";
  return NULL;
}

/* The bits per key that reach a false-positive rate (FPR): in tenths where the layout takes them,
 * else whole ones. */
static double format_bits_for(const nay_format *format, double fpr) {
  if (format->rate == NULL) {
    double bits = -nay__ln(fpr) / (NAY_LN2 * NAY_LN2);
    return bits > (double)(uint32_t)bits ? (double)(uint32_t)bits + 1 : bits;
  }
  unsigned tenths = 10;
  while (tenths < 1000 && format->rate(tenths / 10.0) > fpr) tenths++;
  return tenths / 10.0;
}

nay_status nay__format_bits(const nay_format *format, const nay_params *p, nay_diag *diag,
                            double *bits_per_key) {
  const char *refused = p == NULL ? "params is NULL" : format_refused(format, p);
  if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, 0);
  nay_params checked = {.nkeys = 1, .fpr = p->fpr, .bits_per_key = p->bits_per_key};
  nay_sizing by;
  NAY_TRY(nay__params_check(&checked, diag, &by));
  double bits = by == NAY_BY_FPR ? format_bits_for(format, p->fpr) : p->bits_per_key;
  if (by == NAY_BY_FPR && format->rate != NULL && format->rate(bits) > p->fpr) {
    return nay__fail(diag, NAY_EINVAL, "fpr is too low for this layout", 0);
  }
  if (format->rate == NULL && (bits < 1 || bits != (double)(uint32_t)bits)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key must be a whole number in this layout", 0);
  }
  *bits_per_key = bits;
  return NAY_OK;
}

/*
 * For layouts that are sized by their FPR. Where they have no plan by bits per key these are, as in
 * RedisBloom, those of the first link, at half of the FPR, and a filter of no keys is one of 1.
 */
static nay_status format_reserve(const nay_format *format, const nay_params *p, nay_diag *diag,
                                 nay_shape *shape) {
  const char *refused = p == NULL ? "params is NULL" : format_refused(format, p);
  if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, 0);
  nay_params checked = {.nkeys = 1, .fpr = p->fpr, .bits_per_key = p->bits_per_key};
  nay_sizing by;
  NAY_TRY(nay__params_check(&checked, diag, &by));
  double fpr = p->fpr;
  if (by != NAY_BY_FPR) fpr = 2 * nay__exp(-p->bits_per_key * NAY_LN2 * NAY_LN2);
  if (!(fpr < 1)) return nay__fail(diag, NAY_EINVAL, "bits_per_key is too low for this layout", 0);
  return format->reserve(nay__max_u64(p->nkeys, 1), fpr, diag, shape);
}

/* Whether the layout has a plan by what the params state: its bits per key, or its FPR. */
static bool format_reserves(const nay_format *format, const nay_params *p) {
  return format->reserve != NULL && (format->plan == NULL || p == NULL || p->bits_per_key == 0);
}

/* For layouts that read more fields of params than these: size_by. */
static nay_status format_size(const nay_format *format, const nay_params *p, nay_diag *diag,
                              nay_shape *shape) {
  const char *refused = p == NULL ? "params is NULL" : format_refused(format, p);
  if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, 0);
  nay_params full = *p;
  full.nkeys = nay__max_u64(p->nkeys, 1);
  nay_params checked = {
      .nkeys = full.nkeys, .fpr = p->fpr, .bits_per_key = p->bits_per_key, .nbits = p->nbits};
  nay_sizing by;
  NAY_TRY(nay__params_check(&checked, diag, &by));
  return format->size_by(&full, by, diag, shape);
}

static nay_status format_shape(const nay_format *format, const nay_params *p, nay_diag *diag,
                               nay_shape *shape) {
  double bits_per_key;
  if (format->size_by != NULL) return format_size(format, p, diag, shape);
  if (format_reserves(format, p)) return format_reserve(format, p, diag, shape);
  if (format->plan == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "filters in this layout are read here, not made", 0);
  }
  NAY_TRY(nay__format_bits(format, p, diag, &bits_per_key));
  return format->plan(p->nkeys, bits_per_key, diag, shape);
}

nay_status nay__format_hasher(const nay_format *format, const nay_params *params, nay_diag *diag,
                              nay_hash_fn *hasher) {
  *hasher = nay__hasher_foreign(format->hash);
  hasher->seed = params->seed;
  if (!hasher->locked) return NAY_OK;
  if (params->hash != NAY_HASH_SIPHASH) {
    return nay__fail(diag, NAY_EINVAL, "hash: this layout is keyed, and needs its secret key", 0);
  }
  return nay__hasher_unlock(hasher, params->key);
}

nay_status nay_format_plan(const nay_format *format, const nay_params *from, nay_diag *diag,
                           nay_plan *plan) {
  nay_params full;
  const nay_params *params = &full;
  if (format == NULL || from == NULL || plan == NULL) {
    return nay__fail(diag, NAY_EINVAL, "format, params or plan is NULL", 0);
  }
  if (format->family == NULL) return nay_params_plan(from, diag, plan);
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  NAY_TRY(nay__abi_check(NAY_ABI_PLAN, plan, diag));
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  nay_plan p = {.kind = format->family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!format->family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  p.nbytes_file = p.nbytes + format->overhead;
  p.nbytes_build = p.nbytes + sizeof(nay_filter);
  double file_bits = (double)p.nbits;
  if (format->packed_size != NULL) {
    p.nbytes_file = format->packed_size(&shape, params->nkeys);
    if (format->pack != NULL) file_bits = 8 * (double)p.nbytes_file;
  }
  if (params->nkeys != 0) p.bits_per_key = file_bits / (double)params->nkeys;
  p.fpr = format->family->fpr(&shape, params->nkeys);
  nay__abi_write(NAY_ABI_PLAN, &p, plan);
  return NAY_OK;
}

nay_status nay_format_new(const nay_format *format, const nay_params *from,
                          const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {
  nay_params full;
  const nay_params *params = &full;
  if (format == NULL || from == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "format, params or filter is NULL", 0);
  }
  if (format->family == NULL) return nay_filter_new(from, allocator, diag, filter);
  nay_allocator a;
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  if (format->family->add == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "this layout needs all keys at once: take a builder", 0);
  }
  nay_hash_fn hasher;
  nay_filter *f;
  NAY_TRY(nay__format_hasher(format, params, diag, &hasher));
  nay_status status = nay__filter_make(format->family, &shape, &hasher, params->nkeys, 0, &a, &f);
  if (status != NAY_OK) return nay__filter_made(status, diag);
  f->format = format;
  nay__filter_init(f, params);
  *filter = f;
  return NAY_OK;
}

/* The builder calls this plan once it knows the number of keys: see builder.h. */
static nay_status format_builder_plan(const struct nay_format *format, const nay_params *params,
                                      uint64_t nkeys, nay_diag *diag, nay_shape *shape) {
  nay_params p = *params;
  p.nkeys = nkeys;
  return format_shape(format, &p, diag, shape);
}

nay_status nay_format_builder_new(const nay_format *format, const nay_params *from,
                                  const nay_allocator *allocator, nay_diag *diag,
                                  nay_builder **builder) {
  nay_params full;
  const nay_params *params = &full;
  if (format == NULL || from == NULL || builder == NULL) {
    return nay__fail(diag, NAY_EINVAL, "format, params or builder is NULL", 0);
  }
  if (format->family == NULL) return nay_builder_new(from, allocator, diag, builder);
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  nay_hash_fn hasher;
  NAY_TRY(nay__format_hasher(format, params, diag, &hasher));
  return nay__builder_make(format, format->family, params, &hasher, format_builder_plan, false,
                           allocator, diag, builder);
}

/* ---- bytes ---- */

/*
 * The layout in which encode writes a filter if the caller names `format`; NULL when it cannot. One
 * reader takes all variants, so a filter stays in its own. Where two of them have the same bits and
 * another hash (Spark's and those of its SQL) the reader goes by the name alone: they stay apart.
 */
static const nay_format *format_written(const nay_format *format, const nay_filter *f) {
  const nay_format *own = nay_filter_format(f);
  bool variants = own->variant != NULL && own->variant == format->variant;
  bool by_name = own->family == format->family && own->hash != format->hash;
  if (own == format || (variants && !by_name)) return own;
  bool same = format->interchanges && own->interchanges && own->family == format->family;
  return same ? format : NULL;
}

size_t nay_format_encoded_size(const nay_format *format, const nay_filter *f) {
  size_t packed;
  const nay_format *as = format != NULL && f != NULL ? format_written(format, f) : NULL;
  if (as == NULL) return 0;
  if (as->family == NULL) return nay_filter_encoded_size(f);
  if (as->pack != NULL) return as->pack(f, NULL, &packed) == NAY_OK ? packed : 0;
  return as->size != NULL ? as->size(f) : f->nbytes + as->overhead;
}

nay_status nay_format_encode(const nay_format *format, const nay_filter *f, void *dst, size_t cap,
                             size_t *written) {
  if (format == NULL || f == NULL || dst == NULL || written == NULL) return NAY_EINVAL;
  const nay_format *as = format_written(format, f);
  if (as == NULL) return NAY_EMISMATCH;
  if (as->family == NULL) return nay_filter_encode(f, dst, cap, written);
  size_t size = nay_format_encoded_size(format, f);
  if (as->pack != NULL && size == 0) return NAY_ENOMEM;
  if (cap < size) return NAY_EBUFFER;
  if (as->pack != NULL) return as->pack(f, dst, written);
  as->encode(f, dst);
  *written = size;
  return NAY_OK;
}

/* Whether a checksum says with certainty that the bytes are of a layout without a magic number. */
static bool format_sum_holds(const nay_format *is, const void *bytes, size_t len) {
  nay_shape shape;
  nay_span payload;
  return is->traits == NAY_FORMAT_CHECKSUM &&
         is->parse(bytes, len, NULL, &shape, &payload) == NAY_OK;
}

/*
 * A magic number outweighs the name that the caller gives, and so does a checksum: a layout that
 * has neither takes any bytes, and every answer from them would be wrong.
 */
static nay_status format_named(const nay_format *format, const void *bytes, size_t len,
                               nay_diag *diag) {
  const nay_format *is = format_by_magic(bytes, len);
  bool sums = (format->traits & NAY_FORMAT_CHECKSUM) == 0;
  for (size_t i = 0; is == NULL && sums && nay_format_at(i) != NULL; i++) {
    if (format_sum_holds(nay_format_at(i), bytes, len)) is = nay_format_at(i);
  }
  if (is == NULL || is == format) return NAY_OK;
  return nay__fail(diag, NAY_EFORMAT, is->named_wrong, 0);
}

/* A read-only filter over the bytes themselves. */
static nay_status format_parse(const nay_format *format, const void *bytes, size_t len,
                               uint32_t flags, nay_diag *diag, nay_filter *f) {
  if (format->variant != NULL) format = format->variant(format, bytes, len);
  nay_filter parsed = {.family = format->family,
                       .format = format,
                       .flags = NAY_IS_READ_ONLY,
                       .hasher = nay__hasher_foreign(format->hash)};
  nay_span payload;
  NAY_TRY(format->parse(bytes, len, diag, &parsed.shape, &payload));
  if (format->planned != NULL) parsed.nkeys = format->planned(&parsed.shape, bytes);
  if (format->has_other_hash != NULL && format->has_other_hash(payload.at)) {
    parsed.hasher = nay__hasher_foreign(format->other_hash);
  }
  if (format->seed != NULL) parsed.hasher.seed = format->seed(bytes);
  if (format->note != NULL) {
    nay_span note = format->note(bytes, len, &parsed.shape);
    parsed.meta = note.len != 0 ? note.at : NULL;
    parsed.meta_len = note.len;
  }
  if ((flags & NAY_FORMAT_AS_WRITTEN) != 0) parsed.flags |= NAY_IS_AS_WRITTEN;
  nay__filter_attach(&parsed, payload.at, payload.len);
  *f = parsed;
  return NAY_OK;
}

/* The same for packed bytes: unpacked into a temporary buffer, then parsed. */
static nay_status format_unpack(const nay_format *format, const void *bytes, size_t len,
                                uint32_t flags, const nay_allocator *allocator, nay_diag *diag,
                                nay_filter **filter) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_memory flat;
  nay_filter parsed;
  size_t size;
  uint32_t extra;
  NAY_TRY(format->unpack(bytes, len, diag, NULL, &size, &extra));
  NAY_TRY(format_told(diag, nay__memory_new(&a, size, &flat)));
  nay_status status = format->unpack(bytes, len, diag, flat.at, &size, &extra);
  if (status == NAY_OK) {
    status = format_parse(format, flat.at, size, flags, diag, &parsed);
    if (status != NAY_OK && diag != NULL) diag->offset = 0; /* it is not one of the input */
  }
  if (status == NAY_OK) {
    parsed.shape.extra = extra;
    status = format_told(diag, nay_filter_copy(&parsed, allocator, NULL, filter));
  }
  nay__memory_free(&a, &flat);
  return status;
}

/* The flags of a decode or a view, and whether the bytes are of the layout that the caller names.
 */
static nay_status format_admit(const nay_format *format, const void *bytes, size_t len,
                               uint32_t flags, nay_diag *diag) {
  if ((flags & ~(NAY_FORMAT_CERTAIN | NAY_FORMAT_AS_WRITTEN)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "a flag is unknown", 0);
  }
  return (flags & NAY_FORMAT_CERTAIN) != 0 ? NAY_OK : format_named(format, bytes, len, diag);
}

nay_status nay_format_decode(const nay_format *format, const void *bytes, size_t len,
                             uint32_t flags, const nay_allocator *allocator, nay_diag *diag,
                             nay_filter **filter) {
  if (format == NULL || filter == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "format, bytes or filter is NULL", 0);
  }
  NAY_TRY(format_admit(format, bytes, len, flags, diag));
  if (format->family == NULL) return nay_filter_decode(bytes, len, allocator, diag, filter);
  if (format->unpack != NULL) {
    return format_unpack(format, bytes, len, flags, allocator, diag, filter);
  }
  nay_filter parsed;
  NAY_TRY(format_parse(format, bytes, len, flags, diag, &parsed));
  return format_told(diag, nay_filter_copy(&parsed, allocator, NULL, filter));
}

nay_status nay_format_view(const nay_format *format, const void *bytes, size_t len, uint32_t flags,
                           nay_diag *diag, nay_view *view) {
  if (format == NULL || view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "format, bytes or view is NULL", 0);
  }
  NAY_TRY(format_admit(format, bytes, len, flags, diag));
  if (format->family == NULL) return nay_view_open(bytes, len, NULL, diag, view);
  if (format->unpack != NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "packed bytes cannot be probed where they are", 0);
  }
  nay_filter parsed;
  NAY_TRY(nay__view_check(view, diag));
  NAY_TRY(format_parse(format, bytes, len, flags, diag, &parsed));
  nay__view_set(view, &parsed);
  return NAY_OK;
}
