/*
 * list_records.c - see list_records.h.
 *
 * In memory each bucket is a chain of pages, 24 bytes for each key. A read sorts the bucket in a
 * scratch of its size (twice: a merge sort) and stores it back without duplicates, so that it is
 * sorted once. Records in a file are sorted at each read.
 */
#include "build/list_records.h"

#include "nay_list.h"

#define RECORDS_FIRST 16u /* records of the first page of a bucket; each further one has twice */
#define RECORDS_LAST 4096u

typedef struct records_page {
  struct records_page *next;
  size_t cap, used;
  nay_list_record at[];
} records_page;

typedef struct records_bucket {
  records_page *first, *last;
  uint64_t n;
  bool sorted;
} records_bucket;

struct nay_list_records {
  nay_allocator allocator;
  nay_hash_spill *spill; /* instead of pages; or NULL */
  nay_memory scratch;
  unsigned outside;
  bool once;
  size_t filled; /* records in the scratch, while a bucket is read */
  unsigned bucket;
  records_bucket buckets[NAY_LIST_BUCKETS];
};

nay_status nay__list_records_new(bool spills, const char *directory, unsigned outside,
                                 const nay_allocator *allocator, nay_diag *diag,
                                 nay_list_records **records) {
  nay_list_records *r = nay__alloc(allocator, sizeof *r);
  if (r == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the keys", 0);
  memset(r, 0, sizeof *r);
  r->allocator = *allocator;
  r->outside = outside;
  if (spills) {
    nay_status status = nay__hash_spill_new(directory, 3, allocator, diag, &r->spill);
    if (status != NAY_OK) {
      nay__free(allocator, r, sizeof *r);
      return status;
    }
  }
  *records = r;
  return NAY_OK;
}

static size_t records_page_bytes(size_t cap) {
  return sizeof(records_page) + cap * sizeof(nay_list_record);
}

void nay__list_records_done(nay_list_records *r) {
  nay__memory_free(&r->allocator, &r->scratch);
  r->scratch = (nay_memory){.at = NULL};
}

void nay__list_records_clear(nay_list_records *r) {
  nay__list_records_done(r);
  if (r->spill != NULL) nay__hash_spill_clear(r->spill);
  for (unsigned i = 0; i < NAY_LIST_BUCKETS; i++) {
    records_bucket *b = &r->buckets[i];
    while (b->first != NULL) {
      records_page *page = b->first;
      b->first = page->next;
      nay__free(&r->allocator, page, records_page_bytes(page->cap));
    }
    *b = (records_bucket){.first = NULL};
  }
}

void nay__list_records_free(nay_list_records *r) {
  if (r == NULL) return;
  nay__list_records_clear(r);
  nay__hash_spill_free(r->spill);
  nay_allocator a = r->allocator;
  nay__free(&a, r, sizeof *r);
}

void nay__list_records_expect(nay_list_records *r, unsigned outside, bool once) {
  r->outside = outside;
  r->once = once;
}

/* ---- adding ---- */

static nay_status records_new_page(nay_list_records *r, records_bucket *b) {
  size_t cap = b->last == NULL ? RECORDS_FIRST : nay__min_u64(2 * b->last->cap, RECORDS_LAST);
  records_page *page = nay__alloc(&r->allocator, records_page_bytes(cap));
  if (page == NULL) return NAY_ENOMEM;
  *page = (records_page){.cap = cap};
  if (b->last != NULL) b->last->next = page;
  if (b->last == NULL) b->first = page;
  b->last = page;
  return NAY_OK;
}

nay_status nay__list_records_add(nay_list_records *r, const nay_list_record *record) {
  records_bucket *b = &r->buckets[record->hash >> 56];
  if (r->spill != NULL) {
    const uint64_t words[3] = {record->hash, record->second, record->info};
    NAY_TRY(nay__hash_spill_add(r->spill, words));
  } else {
    if (b->last == NULL || b->last->used == b->last->cap) NAY_TRY(records_new_page(r, b));
    b->last->at[b->last->used++] = *record;
  }
  b->n++;
  b->sorted = false;
  return NAY_OK;
}

/* ---- sorting ---- */

static bool records_above(const nay_list_record *a, const nay_list_record *b) {
  return a->hash != b->hash ? a->hash > b->hash : a->second > b->second;
}

#define RECORDS_RUN 8u /* sorted by insertion */

static void records_sort_run(nay_list_record *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    nay_list_record x = a[i];
    size_t j = i;
    for (; j > 0 && records_above(&a[j - 1], &x); j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

static void records_merge(const nay_list_record *a, size_t na, const nay_list_record *b, size_t nb,
                          nay_list_record *to) {
  while (na != 0 && nb != 0) {
    bool second = records_above(a, b);
    *to++ = second ? *b : *a;
    b += second, nb -= second;
    a += !second, na -= !second;
  }
  memcpy(to, a, na * sizeof *a);
  memcpy(to + na, b, nb * sizeof *b);
}

/* A stable merge sort of n records, with as much room behind them; returns where they are. */
static nay_list_record *records_sort(nay_list_record *from, size_t n) {
  nay_list_record *to = from + n;
  for (size_t i = 0; i < n; i += RECORDS_RUN) {
    records_sort_run(from + i, nay__min_u64(RECORDS_RUN, n - i));
  }
  for (size_t width = RECORDS_RUN; width < n; width *= 2) {
    for (size_t i = 0; i < n; i += 2 * width) {
      size_t na = nay__min_u64(width, n - i), nb = nay__min_u64(width, n - i - na);
      records_merge(from + i, na, from + i + na, nb, to + i);
    }
    nay_list_record *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* ---- each key once ---- */

/* Merges a record into an equal one that was added before it; false: they contradict each other. */
static bool records_join(nay_list_record *kept, const nay_list_record *next) {
  unsigned a = nay__list_status(kept), b = nay__list_status(next);
  if (a == NAY_LIST_UNLISTED || b == NAY_LIST_UNLISTED) {
    if (((a | b) & NAY_LIST_LISTED) != 0) return false;
    kept->info &= ~(uint64_t)3;
    return true;
  }
  kept->info |= b;
  return true;
}

/* Of keys that are listed and not of the universe: returns how many records remain. *refused: the
 * least index of an add. */
static size_t records_inside(const nay_list_records *r, nay_list_record *a, size_t n,
                             uint64_t *refused) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    bool outside = nay__list_status(&a[i]) == NAY_LIST_LISTED;
    if (outside && r->outside == NAY_LIST_REFUSE)
      *refused = nay__min_u64(*refused, a[i].info >> 26);
    if (!outside || r->outside != NAY_LIST_DROP) a[kept++] = a[i];
  }
  return kept;
}

/* Returns how many remain. *conflict: the least index of an add that contradicts an earlier one;
 * *repeated: of one that adds a key to the universe again. */
static size_t records_unique(nay_list_record *a, size_t n, uint64_t *conflict, uint64_t *repeated) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    bool again = kept != 0 && a[kept - 1].hash == a[i].hash && a[kept - 1].second == a[i].second;
    bool listed = again && (nay__list_status(&a[kept - 1]) == NAY_LIST_LISTED ||
                            nay__list_status(&a[i]) == NAY_LIST_LISTED);
    if (again && !listed) *repeated = nay__min_u64(*repeated, a[i].info >> 26);
    if (!again) {
      a[kept++] = a[i];
    } else if (!records_join(&a[kept - 1], &a[i])) {
      *conflict = nay__min_u64(*conflict, a[i].info >> 26);
    }
  }
  return kept;
}

static void records_take(void *ctx, const uint64_t *words, size_t n) {
  nay_list_records *r = ctx;
  nay_list_record *to = (nay_list_record *)(void *)r->scratch.at + r->filled;
  for (size_t i = 0; i < n; i++, words += 3) {
    if (words[0] >> 56 != r->bucket) continue;
    *to++ = (nay_list_record){words[0], words[1], words[2]};
    r->filled++;
  }
}

/* The records of a bucket into the scratch, in the order of the adds. */
static nay_status records_load(nay_list_records *r, unsigned bucket) {
  records_bucket *b = &r->buckets[bucket];
  size_t size;
  nay__list_records_done(r);
  r->filled = 0;
  r->bucket = bucket;
  if (!nay__size_ok(b->n, &size) || !nay__mul_ok(size, 2 * sizeof(nay_list_record), &size)) {
    return NAY_ENOMEM;
  }
  NAY_TRY(nay__memory_raw(&r->allocator, size, &r->scratch));
  if (r->spill != NULL) {
    uint64_t lo = (uint64_t)bucket << 56;
    return nay__hash_spill_read(r->spill, lo, lo | UINT64_MAX >> 8, records_take, r);
  }
  nay_list_record *to = (nay_list_record *)(void *)r->scratch.at;
  for (const records_page *page = b->first; page != NULL; page = page->next) {
    memcpy(to + r->filled, page->at, page->used * sizeof *to);
    r->filled += page->used;
  }
  return NAY_OK;
}

/* Sorted records go back into the pages; pages that are left over are freed. */
static void records_store(nay_list_records *r, records_bucket *b, const nay_list_record *from,
                          size_t n) {
  b->n = n;
  b->sorted = true;
  records_page **link = &b->first;
  b->last = NULL;
  while (*link != NULL && n != 0) {
    records_page *page = *link;
    page->used = nay__min_u64(page->cap, n);
    memcpy(page->at, from, page->used * sizeof *from);
    from += page->used;
    n -= page->used;
    b->last = page;
    link = &page->next;
  }
  while (*link != NULL) {
    records_page *page = *link;
    *link = page->next;
    nay__free(&r->allocator, page, records_page_bytes(page->cap));
  }
}

nay_status nay__list_records_read(nay_list_records *r, unsigned bucket, nay_diag *diag,
                                  const nay_list_record **first, size_t *n) {
  records_bucket *b = &r->buckets[bucket];
  nay_status status = records_load(r, bucket);
  if (status == NAY_EIO && diag != NULL) *diag = *nay__hash_spill_trouble(r->spill);
  if (status == NAY_EIO) return status;
  if (status != NAY_OK) return nay__fail(diag, status, "no memory to sort the keys", 0);
  nay_list_record *records = (nay_list_record *)(void *)r->scratch.at;
  *n = r->filled;
  if (!b->sorted) {
    uint64_t conflict = UINT64_MAX, repeated = UINT64_MAX;
    records = records_sort(records, r->filled);
    *n = records_unique(records, r->filled, &conflict, &repeated);
    if (conflict != UINT64_MAX) {
      return nay__fail(diag, NAY_EINVAL, "a key is both listed and not listed", conflict);
    }
    if (r->once && repeated != UINT64_MAX) {
      return nay__fail(diag, NAY_EINVAL, "a key of the universe was added again", repeated);
    }
    if (r->spill == NULL) records_store(r, b, records, *n);
  }
  uint64_t refused = UINT64_MAX; /* a key that is outside now may be added to the universe later */
  *n = records_inside(r, records, *n, &refused);
  if (refused != UINT64_MAX) {
    return nay__fail(diag, NAY_EINVAL, "a listed key is not of the universe", refused);
  }
  *first = records;
  return NAY_OK;
}
