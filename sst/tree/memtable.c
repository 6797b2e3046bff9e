/*
 * memtable.c - implements nay_sst_memtable.h as LevelDB does: a skip list in an arena.
 *
 *   node    | trailer u64 | len u32 | value_len u32 | height u32 | next[height] |
 *           | user key | trailer u64le | value |
 *            \______ internal key ____/  as in tables
 *
 * A node of height h is in the lists 0 to h - 1. List 0 has all nodes, in the order of internal
 * keys: by user key, the newest version first. Each higher list has about a quarter of the nodes of
 * the list below it, so a search takes O(log n) steps. A node's height is a hash of the number of
 * entries before it, so the same adds make the same lists. A hash of the sequence number would not
 * work, because a batch may give all its entries the same one. An attacker who chooses the order of
 * the adds can make searches slow, as in LevelDB, whose random heights have a fixed seed.
 *
 * One thread inserts while others read without a lock. A node is complete before the release store
 * that links it, so a reader that loads the link with acquire sees the whole node. Nodes are never
 * removed, so a reader never meets freed memory.
 *
 * The arena allocates pages of 64 KiB; a larger entry gets a page of its own. All pages are freed
 * with the memtable. An entry takes its key and value, 24 bytes of header, 8 bytes of trailer and
 * on average 10.7 bytes of links.
 */
#include "base/alloc.h"
#include "block/block.h"
#include "block/key_order.h"
#include "block/option_checks.h"
#include "nay_sst_memtable.h"

#define MEMTABLE_HEIGHT 12u
#define MEMTABLE_PAGE (64u << 10)

typedef struct memtable_node {
  uint64_t trailer; /* sequence << 8 | type */
  uint32_t len;     /* length of the user key */
  uint32_t value_len;
  uint32_t height;
  void *next[]; /* memtable_node *, accessed atomically */
} memtable_node;

typedef struct memtable_page {
  struct memtable_page *next;
  size_t size, used;
} memtable_page;

struct nay_sst_memtable {
  nay_allocator allocator;
  nay_order order;
  memtable_page *pages; /* the first page is being filled */
  uint64_t count;       /* entries */
  uint64_t bytes;       /* bytes of all nodes */
  memtable_node *head;  /* first node of every list; holds no entry */
};

/* ---- nodes ---- */

static memtable_node *memtable_next(const memtable_node *node, unsigned i) {
  return nay__atomic_acquire_pointer(&node->next[i]);
}

static const uint8_t *memtable_key(const memtable_node *node) {
  return (const uint8_t *)node + sizeof *node + node->height * sizeof(memtable_node *);
}

static const uint8_t *memtable_value(const memtable_node *node) {
  return memtable_key(node) + node->len + NAY_KEY_TRAILER;
}

static void *memtable_alloc(nay_sst_memtable *m, size_t n) {
  n = (n + 7) & ~(size_t)7;
  memtable_page *p = m->pages;
  if (p == NULL || p->size - p->used < n) {
    size_t size = n + sizeof *p > MEMTABLE_PAGE ? n + sizeof *p : MEMTABLE_PAGE;
    p = nay__alloc(&m->allocator, size);
    if (p == NULL) return NULL;
    *p = (memtable_page){m->pages, size, sizeof *p};
    m->pages = p;
  }
  uint8_t *at = (uint8_t *)p + p->used;
  p->used += n;
  return at;
}

nay_status nay_sst_memtable_new(const nay_sst_comparator *comparator,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_sst_memtable **memtable) {
  nay_allocator a;
  if (memtable == NULL) return nay__fail(diag, NAY_EINVAL, "memtable is NULL", 0);
  NAY_TRY(nay_sst__check_comparator(comparator, diag));
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  size_t head = sizeof(memtable_node) + MEMTABLE_HEIGHT * sizeof(memtable_node *);
  nay_sst_memtable *m = nay__alloc(&a, sizeof *m + head);
  if (m == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a memtable", 0);
  memset(m, 0, sizeof *m + head);
  m->allocator = a;
  m->order = (nay_order){comparator, true};
  m->head = (memtable_node *)(m + 1);
  *memtable = m;
  return NAY_OK;
}

void nay_sst_memtable_free(nay_sst_memtable *m) {
  if (m == NULL) return;
  for (memtable_page *p = m->pages, *next; p != NULL; p = next) {
    next = p->next;
    nay__free(&m->allocator, p, p->size);
  }
  nay_allocator a = m->allocator;
  nay__free(&a, m, sizeof *m + sizeof *m->head + MEMTABLE_HEIGHT * sizeof m->head);
}

/* ---- search and insert ---- */

/*
 * Finds the first node at or after the target; NULL: there is none. A NULL target is after all
 * nodes. Stores the last node before the target in each list in `before`, unless that is NULL. A
 * concurrent insert may put a node between before[i] and the result.
 */
static memtable_node *memtable_find(const nay_sst_memtable *m, const nay_target *target,
                                    memtable_node **before) {
  memtable_node *at = m->head, *next = NULL;
  for (unsigned i = MEMTABLE_HEIGHT; i-- > 0;) {
    for (; (next = memtable_next(at, i)) != NULL; at = next) {
      if (target == NULL) continue;
      int order = nay_sst__compare_users(m->order, memtable_key(next), next->len, target->user,
                                         target->len);
      if (order > 0 || (order == 0 && next->trailer <= target->trailer)) break;
    }
    if (before != NULL) before[i] = at;
  }
  return next;
}

static bool memtable_has_key(const nay_sst_memtable *m, const memtable_node *node,
                             const nay_target *t) {
  return node != NULL &&
         nay_sst__compare_users(m->order, memtable_key(node), node->len, t->user, t->len) == 0;
}

/* The height of entry i: h with probability 3/4^h, up to the maximum. */
static unsigned memtable_height(uint64_t i) {
  uint64_t random = nay_hash_mix(i);
  unsigned height = 1;
  for (; height < MEMTABLE_HEIGHT && (random & 3) == 0; random >>= 2) height++;
  return height;
}

nay_status nay_sst_memtable_add(nay_sst_memtable *m, const nay_sst_entry *from, const void *value,
                                size_t value_len, nay_diag *diag) {
  nay_sst_entry v;
  memtable_node *before[MEMTABLE_HEIGHT];
  if (m == NULL || from == NULL || (value == NULL && value_len != 0))
    return nay__fail(diag, NAY_EINVAL, "memtable, entry or value is NULL", 0);
  NAY_TRY(nay__abi_read(NAY_ABI_SST_ENTRY, from, diag, &v));
  if ((v.key == NULL && v.len != 0) || v.len >= NAY_SST_ENTRY_MAX - NAY_KEY_TRAILER ||
      value_len >= NAY_SST_ENTRY_MAX || v.sequence > NAY_SST_MAX_SEQUENCE ||
      (unsigned)v.type > NAY_SST_MERGE || v.term != 0) {
    return nay__fail(
        diag, NAY_EINVAL,
        "the entry: key NULL or too long, sequence above 2^56 - 1, unknown type, or a term", 0);
  }
  nay_target target = {v.len != 0 ? v.key : "", v.len, NAY_KEY_TRAILER_OF(v.sequence)};
  const memtable_node *same = memtable_find(m, &target, before);
  if (memtable_has_key(m, same, &target) && same->trailer >> 8 == v.sequence)
    return nay__fail(diag, NAY_EINVAL, "an entry of this key and sequence is there already", 0);
  unsigned height = memtable_height(m->count);
  size_t n = sizeof(memtable_node) + height * sizeof(memtable_node *) + v.len + NAY_KEY_TRAILER +
             value_len;
  memtable_node *node = memtable_alloc(m, n);
  if (node == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for an entry", 0);
  node->trailer = nay_sst__trailer(v.sequence, v.type);
  node->len = (uint32_t)v.len;
  node->value_len = (uint32_t)value_len;
  node->height = height;
  uint8_t *at = (uint8_t *)node + sizeof *node + height * sizeof(memtable_node *);
  memcpy(at, target.user, v.len);
  nay__store64le(at + v.len, node->trailer);
  if (value_len != 0) memcpy(at + v.len + NAY_KEY_TRAILER, value, value_len);
  for (unsigned i = 0; i < height; i++) {
    node->next[i] = memtable_next(before[i], i);
    nay__atomic_release_pointer(&before[i]->next[i], node);
  }
  m->count++;
  m->bytes += n;
  return NAY_OK;
}

/* ---- reading ---- */

nay_status nay_sst_memtable_get(const nay_sst_memtable *m, const void *key, size_t len,
                                uint64_t sequence, nay_diag *diag, nay_sst_value *value) {
  if (m == NULL || value == NULL || (key == NULL && len != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL,
                     "memtable, key or value is NULL, or the sequence number has more than 56 bits",
                     0);
  }
  NAY_TRY(nay__abi_check(NAY_ABI_SST_VALUE, value, diag));
  nay_target target = {len != 0 ? key : "", len, NAY_KEY_TRAILER_OF(sequence)};
  const memtable_node *node = memtable_find(m, &target, NULL);
  value->deleted = false;
  if (!memtable_has_key(m, node, &target)) return NAY_ENOENT;
  if ((node->trailer & 255) > 1)
    return nay__fail(diag, NAY_ENOTSUP, "the newest version of the key is a merge operand", 0);
  nay_sst_value_free(value);
  value->bytes = memtable_value(node);
  value->len = node->value_len;
  value->sequence = node->trailer >> 8;
  value->deleted = (node->trailer & 255) == 0;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

/* After a failed add, nay_sst_writer_finish fails as well and sets diag to the cause. */
nay_status nay_sst_memtable_write(const nay_sst_memtable *m, const char *path,
                                  const nay_sst_write_options *options, nay_diag *diag) {
  nay_sst_write_options how = {.size = sizeof how};
  nay_sst_writer *w;
  if (m == NULL) return nay__fail(diag, NAY_EINVAL, "memtable is NULL", 0);
  if (options != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_WRITE, options, diag, &how));
  if (!nay_sst__same_comparator(how.comparator, m->order.user)) {
    return nay__fail(diag, NAY_EMISMATCH, "write: the comparator is not the memtable's", 0);
  }
  how.keys = NAY_SST_KEYS_INTERNAL;
  NAY_TRY(nay_sst_writer_new(path, &how, &m->allocator, diag, &w));
  const memtable_node *node = m->head;
  nay_status status = NAY_OK;
  while (status == NAY_OK && (node = memtable_next(node, 0)) != NULL) {
    status = nay_sst_writer_add(w, memtable_key(node), node->len + NAY_KEY_TRAILER,
                                memtable_value(node), node->value_len, NULL);
  }
  nay_status finished = nay_sst_writer_finish(w, diag);
  nay_sst_writer_free(w);
  if (status != NAY_EINVAL) return status != NAY_OK ? status : finished;
  return nay__fail(diag, NAY_EINVAL,
                   "the comparator orders the keys differently than when they were added", 0);
}

nay_status nay_sst_memtable_stats(const nay_sst_memtable *m, nay_sst_memtable_info *info) {
  if (m == NULL || info == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_MEMTABLE_INFO, info, NULL));
  const nay_sst_memtable_info now = {.nentries = m->count, .nbytes = m->bytes};
  nay__abi_write(NAY_ABI_MEMTABLE_INFO, &now, info);
  return NAY_OK;
}

/* ---- the memtable as a nay_sst_source ---- */

typedef struct memtable_source {
  const nay_sst_memtable *m;
  const memtable_node *node;
} memtable_source;

static nay_status source_at(memtable_source *c, const memtable_node *node) {
  c->node = node != c->m->head ? node : NULL;
  return c->node != NULL ? NAY_OK : NAY_EEND;
}

/* Moves to the last node before the target. The target need not be the next node: another may have
 * been inserted between the two. */
static nay_status source_before(memtable_source *c, const nay_target *target) {
  memtable_node *before[MEMTABLE_HEIGHT];
  memtable_find(c->m, target, before);
  return source_at(c, before[0]);
}

static nay_status source_first(void *ctx) {
  memtable_source *c = ctx;
  return source_at(c, memtable_next(c->m->head, 0));
}

static nay_status source_last(void *ctx) { return source_before(ctx, NULL); }

static nay_status source_seek(void *ctx, const void *key, size_t len) {
  memtable_source *c = ctx;
  return source_at(c, memtable_find(c->m, &(nay_target){key, len, UINT64_MAX}, NULL));
}

/* Trailer 0 (a deletion at sequence number 0) is the last trailer that a version of the key can
   have. Therefore memtable_find returns that version if it exists, and otherwise a node after all
   versions. */
static nay_status source_seek_for_prev(void *ctx, const void *key, size_t len) {
  memtable_source *c = ctx;
  const nay_target oldest = {key, len, 0};
  memtable_node *before[MEMTABLE_HEIGHT];
  const memtable_node *node = memtable_find(c->m, &oldest, before);
  return source_at(c, memtable_has_key(c->m, node, &oldest) ? node : before[0]);
}

static nay_status source_next(void *ctx) {
  memtable_source *c = ctx;
  return source_at(c, memtable_next(c->node, 0));
}

static nay_status source_prev(void *ctx) {
  memtable_source *c = ctx;
  const memtable_node *n = c->node;
  return source_before(c, &(nay_target){memtable_key(n), n->len, n->trailer});
}

static const void *source_key(void *ctx, size_t *len) {
  const memtable_node *node = ((memtable_source *)ctx)->node;
  *len = node->len + NAY_KEY_TRAILER;
  return memtable_key(node);
}

static const void *source_value(void *ctx, size_t *len) {
  const memtable_node *node = ((memtable_source *)ctx)->node;
  *len = node->value_len;
  return memtable_value(node);
}

static void source_free(void *ctx) {
  memtable_source *c = ctx;
  if (c != NULL) nay__free(&c->m->allocator, c, sizeof *c);
}

nay_status nay_sst_memtable_source(const nay_sst_memtable *m, nay_sst_source *source) {
  if (m == NULL || source == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_SOURCE, source, NULL));
  memtable_source *c = nay__alloc(&m->allocator, sizeof *c);
  if (c == NULL) return NAY_ENOMEM;
  *c = (memtable_source){m, NULL};
  const nay_sst_source all = {.ctx = c,
                              .first = source_first,
                              .last = source_last,
                              .seek = source_seek,
                              .seek_for_prev = source_seek_for_prev,
                              .next = source_next,
                              .prev = source_prev,
                              .key = source_key,
                              .value = source_value,
                              .free = source_free,
                              .stable = true};
  nay__abi_write(NAY_ABI_SST_SOURCE, &all, source);
  return NAY_OK;
}
