/*
 * list_build.c - builds exact lists (family/list.h) in passes over the keys (list_records.h).
 *
 *   count     distinct keys and listed ones of each partition; keys whose hashes collide
 *   choose    the class of each partition: columns, inverted
 *   filter    level 1: the minority of each partition, and the check bits of all keys
 *   exact     what passes level 1
 *   assemble  the payload
 *   verify    every key, by the lookup of readers: a build that errs for one fails
 *
 * With NAY_LIST_TWO_PASSES the records are the listed keys and those that pass level 1
 * (list_stream.h); finish is called once for each pass over the universe, and the last call does
 * the above. The keys that are no records were denied by the bytes of level 1.
 *
 * The levels are static maps (map_build.c), so threads, retries and little memory are theirs.
 * Nothing depends on the order of the adds: buckets are sorted, partitions ascend by their hashes.
 */
#include "build/list_build.h"

#include "build/list_stream.h"
#include "build/map_build.h"
#include "math/elementary.h"
#include "nay_list.h"

typedef struct listb_partition {
  uint64_t hash;           /* its lowest 8 bits are 0 */
  uint64_t nkeys, nlisted; /* distinct, without exceptions */
  uint64_t nadded;         /* to the universe in the first of several passes */
  bool used;               /* a key is in it; all of them may be dropped */
  unsigned class;
} listb_partition;

struct nay_list_builder {
  nay_params params;
  nay_hash_fn hasher, second;
  nay_allocator allocator;
  nay_list_records *records;
  nay_list_stream *stream; /* NULL: the keys of the universe are kept */
  uint64_t nadds;          /* of this pass */
  listb_partition *partitions;
  size_t npartitions, partitions_cap;
  uint32_t *index; /* open addressing: 1 + the number of a partition; twice as many, at least */
  size_t nindex;
  char *spill_dir;
  size_t spill_dir_size;
};

/* ---- partitions ---- */

static size_t listb_home(const nay_list_builder *b, uint64_t hash) {
  return (size_t)nay__reduce(hash, b->nindex);
}

static void listb_index_add(nay_list_builder *b, size_t number) {
  size_t i = listb_home(b, b->partitions[number].hash);
  while (b->index[i] != 0) i = i + 1 < b->nindex ? i + 1 : 0;
  b->index[i] = (uint32_t)number + 1;
}

static nay_status listb_grow(nay_list_builder *b) {
  size_t cap = b->partitions_cap == 0 ? 8 : 2 * b->partitions_cap, size, index_size;
  if (!nay__mul_ok(cap, sizeof *b->partitions, &size)) return NAY_ENOMEM;
  if (!nay__mul_ok(cap, 2 * sizeof *b->index, &index_size)) return NAY_ENOMEM;
  listb_partition *more = nay__alloc(&b->allocator, size);
  uint32_t *index = nay__alloc(&b->allocator, index_size);
  if (more == NULL || index == NULL) {
    nay__free(&b->allocator, more, size);
    nay__free(&b->allocator, index, index_size);
    return NAY_ENOMEM;
  }
  if (b->npartitions != 0) memcpy(more, b->partitions, b->npartitions * sizeof *more);
  nay__free(&b->allocator, b->partitions, b->partitions_cap * sizeof *more);
  nay__free(&b->allocator, b->index, b->nindex * sizeof *index);
  b->partitions = more;
  b->partitions_cap = cap;
  b->index = index;
  b->nindex = 2 * cap;
  memset(index, 0, index_size);
  for (size_t i = 0; i < b->npartitions; i++) listb_index_add(b, i);
  return NAY_OK;
}

static nay_status listb_partition_of(nay_list_builder *b, uint64_t hash, uint64_t *number) {
  hash &= ~(uint64_t)255;
  for (size_t i = b->nindex != 0 ? listb_home(b, hash) : 0; b->nindex != 0 && b->index[i] != 0;
       i = i + 1 < b->nindex ? i + 1 : 0) {
    *number = b->index[i] - 1;
    if (b->partitions[*number].hash == hash) return NAY_OK;
  }
  if (b->npartitions == NAY_LIST_MAX_PARTITIONS) return NAY_EFULL;
  if (b->npartitions == b->partitions_cap) NAY_TRY(listb_grow(b));
  *number = b->npartitions++;
  b->partitions[*number] = (listb_partition){.hash = hash};
  listb_index_add(b, (size_t)*number);
  return NAY_OK;
}

/* ---- builder ---- */

static void listb_clear(nay_list_builder *b) {
  if (b->records != NULL) nay__list_records_clear(b->records);
  if (b->stream != NULL) nay__list_stream_clear(b->stream);
  nay__free(&b->allocator, b->partitions, b->partitions_cap * sizeof *b->partitions);
  nay__free(&b->allocator, b->index, b->nindex * sizeof *b->index);
  b->partitions = NULL;
  b->index = NULL;
  b->npartitions = b->partitions_cap = b->nindex = 0;
  b->nadds = 0;
}

void nay__list_builder_free(nay_list_builder *b) {
  if (b == NULL) return;
  listb_clear(b);
  nay__list_records_free(b->records);
  nay__list_stream_free(b->stream, &b->allocator);
  nay_allocator a = b->allocator;
  nay__free(&a, b->spill_dir, b->spill_dir_size);
  nay__free(&a, b, sizeof *b);
}

/* The levels are built at the end, in files of the same directory: the string is copied. */
static nay_status listb_keep_directory(nay_list_builder *b, const char *directory) {
  if (directory == NULL) return NAY_OK;
  size_t size = strlen(directory) + 1;
  char *copy = nay__alloc(&b->allocator, size);
  if (copy == NULL) return NAY_ENOMEM;
  memcpy(copy, directory, size);
  b->spill_dir = copy;
  b->spill_dir_size = size;
  return NAY_OK;
}

nay_status nay__list_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                 const nay_allocator *allocator, nay_diag *diag,
                                 nay_list_builder **builder) {
  nay_allocator a = *allocator;
  bool spills = (params->flags & NAY_LOW_MEMORY) != 0;
  bool streams = (params->flags & NAY_LIST_TWO_PASSES) != 0;
  nay_list_builder *b = nay__alloc(&a, sizeof *b);
  if (b == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the builder", 0);
  *b = (nay_list_builder){
      .params = *params, .hasher = *hasher, .second = nay__list_second(hasher), .allocator = a};
  nay_status status = listb_keep_directory(b, params->spill_dir);
  if (streams && (b->stream = nay__list_stream_new(&a)) == NULL) status = NAY_ENOMEM;
  if (status != NAY_OK) (void)nay__fail(diag, status, "no memory for the builder", 0);
  b->params.spill_dir = b->spill_dir;
  if (status == NAY_OK) {
    status = nay__list_records_new(spills, params->spill_dir, params->list_outside, &a, diag,
                                   &b->records);
  }
  if (status != NAY_OK) {
    nay__list_builder_free(b);
    return status;
  }
  *builder = b;
  return NAY_OK;
}

/* With several passes: the first one keeps the listed keys, the others what they have to. A key
 * that is added with 1 is one of the universe, too, unless such keys come from another file. */
static nay_status listb_stream_add(nay_list_builder *b, nay_list_record *r) {
  nay_list_stream *s = b->stream;
  listb_partition *p = &b->partitions[nay__list_partition(r)];
  bool joins = b->params.list_outside == NAY_LIST_JOIN;
  if (nay__list_is_listed(r) && joins) r->info |= NAY_LIST_OF_UNIVERSE;
  bool of_universe = nay__list_status(r) != NAY_LIST_LISTED;
  if (!of_universe && s->pass != 0) return NAY_EINVAL;
  if (nay__list_is_listed(r) && s->pass == 0) NAY_TRY(nay__list_records_add(b->records, r));
  if (!nay__list_is_listed(r) && s->pass != 0) {
    NAY_TRY(nay__list_stream_take(s, b->records, r, p->class));
  }
  if (!of_universe) return NAY_OK;
  nay__list_stream_count(s, r);
  p->nadded += s->pass == 0;
  return NAY_OK;
}

nay_status nay__list_builder_add(nay_list_builder *b, const void *key, size_t len,
                                 unsigned status) {
  NAY_TRY(nay__hasher_ready(&b->hasher));
  if (b->nadds == NAY_LIST_MAX_ADDS) return NAY_EFULL;
  uint64_t part = 0, number, rule = nay__list_rule(&b->params);
  if (rule != 0) {
    size_t part_len = nay__list_partition_len((uint32_t)rule, key, len);
    part = nay__hash_key(&b->hasher, key, part_len).lo;
  }
  NAY_TRY(listb_partition_of(b, part, &number));
  nay_list_record record = {nay__hash_key(&b->hasher, key, len).lo,
                            nay__hash_key(&b->second, key, len).lo,
                            nay__list_info(status, number, b->nadds)};
  NAY_TRY(b->stream != NULL ? listb_stream_add(b, &record)
                            : nay__list_records_add(b->records, &record));
  b->nadds++;
  return NAY_OK;
}

uint64_t nay__list_builder_nkeys(const nay_list_builder *b) { return b->nadds; }

/* ---- the build ---- */

#define LISTB_QUEUE NAY_MAP_GROUP

/* listb_group: level 1 of all partitions of k columns. */
typedef struct listb_group {
  unsigned columns;
  nay_map_builder *builder;
  nay_filter *map;
  unsigned nqueued; /* keys that are not members: which of them pass? */
  uint64_t queue[LISTB_QUEUE];
} listb_group;

typedef struct listb_job {
  nay_list_builder *b;
  nay_diag *diag;
  unsigned check_bits;
  nay_list_head head;
  uint64_t nkeys;
  size_t npartitions; /* those that are used */
  uint8_t *exceptions;
  size_t exceptions_cap;
  listb_group groups[NAY_LIST_MAX_GROUPS];
  nay_map_builder *exact_builder, *check_builder;
  nay_filter *exact, *check, *list;
} listb_job;

typedef nay_status (*listb_each)(listb_job *j, const nay_list_record *records, size_t n);

/* Calls `each` with the records of one bucket after the other. */
static nay_status listb_pass(listb_job *j, listb_each each) {
  nay_status status = NAY_OK;
  uint64_t conflict = UINT64_MAX;
  for (unsigned i = 0; i < NAY_LIST_BUCKETS && (status == NAY_OK || status == NAY_EINVAL); i++) {
    nay_diag diag = {.what = NULL};
    const nay_list_record *records;
    size_t n;
    nay_status read = nay__list_records_read(j->b->records, i, &diag, &records, &n);
    if (read == NAY_OK && status == NAY_OK) {
      status = each(j, records, n);
      const char *what = status == NAY_ENOTSUP
                             ? "two keys have one hash: give another seed, or build in one pass"
                             : "no memory to build the list";
      if (status != NAY_OK) (void)nay__fail(j->diag, status, what, 0);
    } else if (read != NAY_OK) { /* the first conflict of all buckets is told */
      if (read == NAY_EINVAL && diag.offset > conflict) continue;
      if (read == NAY_EINVAL) conflict = diag.offset;
      if (j->diag != NULL) *j->diag = diag;
      status = read;
    }
  }
  nay__list_records_done(j->b->records);
  return status;
}

/* How many records have the hash of the first one. */
static size_t listb_equal(const nay_list_record *r, size_t n) {
  size_t equal = 1;
  while (equal < n && r[equal].hash == r[0].hash) equal++;
  return equal;
}

static listb_partition *listb_of(const listb_job *j, const nay_list_record *r) {
  return &j->b->partitions[nay__list_partition(r)];
}

/* ---- count ---- */

static nay_status listb_except(listb_job *j, const nay_list_record *r) {
  if (j->b->stream != NULL) return NAY_ENOTSUP; /* the other key may be one that was not kept */
  size_t used = (size_t)j->head.nexceptions * NAY_LIST_EXCEPTION;
  if (j->head.nexceptions == UINT32_MAX) return NAY_EFULL;
  if (used == j->exceptions_cap) {
    size_t cap = used == 0 ? 16 * NAY_LIST_EXCEPTION : 2 * used;
    uint8_t *more = nay__alloc(&j->b->allocator, cap);
    if (more == NULL) return NAY_ENOMEM;
    if (used != 0) memcpy(more, j->exceptions, used);
    nay__free(&j->b->allocator, j->exceptions, j->exceptions_cap);
    j->exceptions = more;
    j->exceptions_cap = cap;
  }
  nay__store64le(j->exceptions + used, r->hash);
  nay__store64le(j->exceptions + used + 8, r->second);
  nay__store64le(j->exceptions + used + 16, nay__list_is_listed(r));
  j->head.nexceptions++;
  return NAY_OK;
}

static nay_status listb_count(listb_job *j, const nay_list_record *r, size_t n) {
  j->nkeys += n;
  for (size_t i = 0, equal; i < n; i += equal) {
    equal = listb_equal(r + i, n - i);
    for (size_t k = i; k < i + equal; k++) listb_of(j, &r[k])->used = true;
    for (size_t k = i; k < i + equal; k++) j->head.nlisted += nay__list_is_listed(&r[k]);
    for (size_t k = i; equal > 1 && k < i + equal; k++) NAY_TRY(listb_except(j, &r[k]));
    if (equal > 1) continue;
    listb_of(j, &r[i])->nkeys++;
    listb_of(j, &r[i])->nlisted += nay__list_is_listed(&r[i]);
  }
  return NAY_OK;
}

/* ---- choose ---- */

/* Columns of level 1: a further one costs a bit for each of the few, and halves the others that
 * pass. A bit of the exact level is dearer by the codes of its buckets, 2 bits for 512 slots. */
static unsigned listb_columns(uint64_t few, uint64_t many) {
  unsigned k = (many - 1) >> 1 >= few; /* one column has as many codes */
  while (k != 0 && (many + many / 256) >> (k + 1) >= few) k++;
  return k;
}

/* Bits that tell which r of n keys are listed: n h(r / n). */
static double listb_entropy(uint64_t n, uint64_t r) {
  double all = (double)n, few = (double)r, many = (double)(n - r);
  if (r == 0 || r == n) return 0;
  return (few * nay__ln(all / few) + many * nay__ln(all / many)) / NAY_LN2;
}

static unsigned listb_group_of(listb_job *j, unsigned columns) {
  unsigned g = 0;
  while (g < j->head.ngroups && j->groups[g].columns < columns) g++;
  return g;
}

static void listb_want_group(listb_job *j, unsigned columns) {
  unsigned g = listb_group_of(j, columns);
  if (g < j->head.ngroups && j->groups[g].columns == columns) return;
  for (unsigned i = j->head.ngroups++; i > g; i--) j->groups[i].columns = j->groups[i - 1].columns;
  j->groups[g].columns = columns;
}

/* The columns of a partition's level 1, and whether its unlisted keys are the few. */
static bool listb_divide(const listb_partition *p, unsigned *columns, bool *inverted) {
  uint64_t unlisted = p->nkeys - p->nlisted;
  *inverted = p->nlisted > unlisted;
  uint64_t few = *inverted ? unlisted : p->nlisted;
  if (few == 0) return false;
  *columns = listb_columns(few, p->nkeys - few);
  return true;
}

static void listb_choose(listb_job *j) {
  const nay_list_builder *b = j->b;
  unsigned columns;
  bool inverted;
  for (size_t i = 0; i < b->npartitions; i++) {
    if (listb_divide(&b->partitions[i], &columns, &inverted) && columns != 0) {
      listb_want_group(j, columns);
    }
  }
  for (size_t i = 0; i < b->npartitions; i++) {
    listb_partition *p = &b->partitions[i];
    bool mixed = listb_divide(p, &columns, &inverted);
    p->class = !mixed         ? NAY_LIST_CONSTANT
               : columns == 0 ? NAY_LIST_EXACT_ONLY
                              : 1 + listb_group_of(j, columns);
    if (inverted) p->class |= NAY_LIST_INVERTED;
  }
}

/* In the order of their hashes: the sum of doubles depends on it. */
static uint64_t listb_bound(const listb_job *j, const uint64_t *sorted) {
  double bits = 0;
  for (size_t i = 0; i < j->npartitions; i++) {
    const listb_partition *p = &j->b->partitions[sorted[i]];
    bits += listb_entropy(p->nkeys, p->nlisted);
  }
  return (uint64_t)bits + 1;
}

/* ---- the levels ---- */

static nay_status listb_level(const listb_job *j, unsigned columns, nay_map_builder **builder) {
  const nay_params *from = &j->b->params;
  nay_params params = {.size = sizeof params,
                       .kind = NAY_MAP,
                       .value_bits = columns,
                       .threads = from->threads,
                       .spill_dir = from->spill_dir,
                       .flags = (from->flags & NAY_LOW_MEMORY) | NAY_NO_VERIFY};
  return nay__map_builder_new(&params, &j->b->hasher, &j->b->allocator, j->diag, builder);
}

static nay_status listb_finish_level(const listb_job *j, nay_map_builder **builder,
                                     nay_filter **map) {
  if (*builder == NULL) return NAY_OK;
  NAY_TRY(nay__map_builder_finish(*builder, j->diag, map));
  nay__map_builder_free(*builder);
  *builder = NULL;
  return NAY_OK;
}

static nay_status listb_add_members(listb_job *j, const nay_list_record *r, size_t n) {
  for (size_t i = 0, equal; i < n; i += equal) {
    equal = listb_equal(r + i, n - i);
    unsigned class = listb_of(j, &r[i])->class, level = class & ~NAY_LIST_INVERTED;
    bool inverted = class != level;
    if (j->check_builder != NULL && equal == 1) {
      uint64_t word = nay__list_word(r[i].hash, j->check_bits);
      NAY_TRY(nay__map_builder_add(j->check_builder, r[i].hash, word));
    }
    if (equal > 1 || level >= NAY_LIST_EXACT_ONLY || nay__list_is_listed(&r[i]) == inverted)
      continue;
    listb_group *g = &j->groups[level - 1];
    uint64_t word = nay__list_word(r[i].hash, g->columns);
    NAY_TRY(nay__map_builder_add(g->builder, r[i].hash, word));
  }
  return NAY_OK;
}

/* Level 1 that keys of the universe were looked up in is not built again. */
static bool listb_borrow_levels(listb_job *j) {
  const nay_list_stream *s = j->b->stream;
  if (s == NULL || s->sieves[0].map == NULL) return false;
  for (unsigned g = 0; g < j->head.ngroups; g++) j->groups[g].map = s->sieves[g].map;
  return true;
}

static nay_status listb_filter(listb_job *j) {
  if (listb_borrow_levels(j)) return NAY_OK;
  for (unsigned g = 0; g < j->head.ngroups; g++) {
    NAY_TRY(listb_level(j, j->groups[g].columns, &j->groups[g].builder));
  }
  if (j->check_bits != 0) NAY_TRY(listb_level(j, j->check_bits, &j->check_builder));
  NAY_TRY(listb_pass(j, listb_add_members));
  for (unsigned g = 0; g < j->head.ngroups; g++) {
    NAY_TRY(listb_finish_level(j, &j->groups[g].builder, &j->groups[g].map));
  }
  return listb_finish_level(j, &j->check_builder, &j->check);
}

static nay_status listb_add_exact(listb_job *j, uint64_t hash, bool few) {
  return nay__map_builder_add(j->exact_builder, nay__list_exact_word(hash), few);
}

/* Those in the queue that pass level 1. */
static nay_status listb_flush(listb_job *j, listb_group *g) {
  uint64_t words[LISTB_QUEUE];
  if (g->nqueued == 0) return NAY_OK;
  (void)nay__map_get(g->map, g->queue, g->nqueued, words);
  for (unsigned i = 0; i < g->nqueued; i++) {
    if (words[i] == nay__list_word(g->queue[i], g->columns)) {
      NAY_TRY(listb_add_exact(j, g->queue[i], false));
    }
  }
  g->nqueued = 0;
  return NAY_OK;
}

static nay_status listb_add_passing(listb_job *j, const nay_list_record *r, size_t n) {
  for (size_t i = 0, equal; i < n; i += equal) {
    equal = listb_equal(r + i, n - i);
    unsigned class = listb_of(j, &r[i])->class, level = class & ~NAY_LIST_INVERTED;
    bool few = nay__list_is_listed(&r[i]) != (class != level);
    if (equal > 1 || level == NAY_LIST_CONSTANT) continue;
    if (few || level == NAY_LIST_EXACT_ONLY) {
      NAY_TRY(listb_add_exact(j, r[i].hash, few));
      continue;
    }
    listb_group *g = &j->groups[level - 1];
    g->queue[g->nqueued++] = r[i].hash;
    if (g->nqueued == LISTB_QUEUE) NAY_TRY(listb_flush(j, g));
  }
  return NAY_OK;
}

static nay_status listb_exact(listb_job *j) {
  NAY_TRY(listb_level(j, 1, &j->exact_builder));
  NAY_TRY(listb_pass(j, listb_add_passing));
  for (unsigned g = 0; g < j->head.ngroups; g++) NAY_TRY(listb_flush(j, &j->groups[g]));
  if (nay__map_builder_npairs(j->exact_builder) == 0) return NAY_OK;
  return listb_finish_level(j, &j->exact_builder, &j->exact);
}

/* ---- assemble ---- */

/* Entries in ascending order, each at its home or behind the one before. Returns the slots that
 * this takes, with a free one at the end; slots NULL: only that. */
static uint64_t listb_place(const listb_job *j, const uint64_t *sorted, uint8_t *slots) {
  uint64_t nhomes = nay__list_homes(j->npartitions), next = 0;
  for (size_t i = 0; i < j->npartitions; i++) {
    const listb_partition *p = &j->b->partitions[sorted[i]];
    uint64_t at = nay__max_u64(next, nay__list_home(p->hash, nhomes));
    if (slots != NULL) nay__store64le(slots + at * NAY_LIST_SLOT, p->hash | p->class);
    next = at + 1;
  }
  return nay__max_u64(nhomes, next + 1);
}

/* Puts a level behind `end`, and returns where it ends; payload NULL: only that. */
static uint64_t listb_put(const nay_filter *level, uint64_t end, uint8_t *payload, uint64_t *at) {
  if (level == NULL) return end;
  *at = nay__list_start(end);
  if (payload != NULL) memcpy(payload + *at, level->bits.bytes, level->nbytes);
  return *at + level->nbytes;
}

static uint64_t listb_put_levels(const listb_job *j, uint8_t *payload) {
  uint64_t end = nay__list_tables_end(&j->head), at = 0;
  for (unsigned g = 0; g < j->head.ngroups; g++) {
    const nay_filter *level = j->groups[g].map;
    end = listb_put(level, end, payload, &at);
    if (payload == NULL) continue;
    uint8_t *entry = payload + NAY_LIST_HEAD_LEN + (size_t)g * NAY_LIST_ENTRY;
    nay__store64le(entry, at);
    nay__store32le(entry + 8, (uint32_t)level->shape.nunits);
    nay__store32le(entry + 12, level->shape.k);
  }
  end = listb_put(j->exact, end, payload, &at);
  return listb_put(j->check, end, payload, &at);
}

static nay_status listb_fill(listb_job *j, const uint64_t *sorted) {
  uint32_t rule = nay__list_rule(&j->b->params);
  nay_list_head *h = &j->head;
  h->base = j->b->params.list_base;
  h->bound = listb_bound(j, sorted);
  h->npartitions = rule != 0 ? (uint32_t)j->npartitions : 0;
  h->nslots = rule != 0 ? (uint32_t)listb_place(j, sorted, NULL) : 0;
  h->whole = rule != 0             ? 0
             : j->npartitions != 0 ? (uint8_t)j->b->partitions[0].class
                                   : NAY_LIST_CONSTANT;
  if (j->exact != NULL) h->exact_blocks = (uint32_t)j->exact->shape.nunits;
  if (j->check != NULL) h->check_blocks = (uint32_t)j->check->shape.nunits;
  nay_shape shape = {listb_put_levels(j, NULL), j->check_bits, rule};
  uint32_t flags = j->b->params.flags & ~(NAY_LOW_MEMORY | NAY_LIST_TWO_PASSES);
  NAY_TRY(nay__filter_make(&nay__family_list, &shape, &j->b->hasher, j->nkeys, flags,
                           &j->b->allocator, &j->list));
  uint8_t *payload = j->list->bits.bytes, *slots = payload + NAY_LIST_HEAD_LEN;
  nay__list_head_store(h, payload);
  slots += (size_t)h->ngroups * NAY_LIST_ENTRY;
  if (rule != 0) (void)listb_place(j, sorted, slots);
  if (h->nexceptions != 0) {
    memcpy(slots + (size_t)h->nslots * NAY_LIST_SLOT, j->exceptions,
           (size_t)h->nexceptions * NAY_LIST_EXCEPTION);
  }
  (void)listb_put_levels(j, payload);
  nay__filter_attach(j->list, payload, j->list->nbytes);
  return NAY_OK;
}

/* Numbers of the partitions that are used, by hash: a heap sort. */
static void listb_sift(const listb_partition *p, uint64_t *a, size_t i, size_t n) {
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && p[a[child + 1]].hash > p[a[child]].hash) child++;
    if (p[a[i]].hash >= p[a[child]].hash) return;
    uint64_t swap = a[i];
    a[i] = a[child];
    a[child] = swap;
  }
}

static size_t listb_sort(const listb_partition *p, uint64_t *a, size_t npartitions) {
  size_t n = 0;
  for (size_t i = 0; i < npartitions; i++) {
    if (p[i].used) a[n++] = i;
  }
  for (size_t i = n / 2; i-- > 0;) listb_sift(p, a, i, n);
  for (size_t end = n; end-- > 1;) {
    uint64_t swap = a[0];
    a[0] = a[end];
    a[end] = swap;
    listb_sift(p, a, 0, end);
  }
  return n;
}

static nay_status listb_assemble(listb_job *j) {
  size_t size;
  if (!nay__mul_ok(j->b->npartitions + 1, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  uint64_t *sorted = nay__alloc(&j->b->allocator, size);
  nay_status status = NAY_ENOMEM;
  if (sorted != NULL) {
    j->npartitions = listb_sort(j->b->partitions, sorted, j->b->npartitions);
    status = listb_fill(j, sorted);
  }
  nay__free(&j->b->allocator, sorted, size);
  if (status != NAY_OK) return nay__fail(j->diag, status, "no memory for the list", 0);
  return NAY_OK;
}

/* ---- verify ---- */

static nay_status listb_verify(listb_job *j, const nay_list_record *r, size_t n) {
  for (size_t i = 0; i < n; i += NAY_LIST_GROUP) {
    nay_list_asked asked;
    unsigned group = (unsigned)nay__min_u64(n - i, NAY_LIST_GROUP);
    uint64_t expected = 0, known;
    for (unsigned k = 0; k < group; k++) {
      asked.hash[k] = r[i + k].hash;
      asked.second[k] = r[i + k].second;
      asked.part[k] = listb_of(j, &r[i + k])->hash;
      expected |= (uint64_t)nay__list_is_listed(&r[i + k]) << k;
    }
    uint64_t listed = nay__list_answers(j->list, &asked, group, &known);
    if (listed != expected || known != ~(uint64_t)0 >> (64 - group)) return NAY_ECORRUPT;
  }
  return NAY_OK;
}

/* ---- the whole ---- */

static void listb_free_levels(listb_job *j) {
  for (unsigned g = 0; g < NAY_LIST_MAX_GROUPS; g++) {
    nay__map_builder_free(j->groups[g].builder);
    const nay_list_stream *s = j->b->stream;
    bool borrowed = s != NULL && j->groups[g].map == s->sieves[g].map;
    if (!borrowed) nay_filter_free(j->groups[g].map);
    j->groups[g].builder = NULL;
    j->groups[g].map = NULL;
  }
  nay__map_builder_free(j->exact_builder);
  nay__map_builder_free(j->check_builder);
  nay_filter_free(j->exact);
  nay_filter_free(j->check);
  j->exact_builder = j->check_builder = NULL;
  j->exact = j->check = NULL;
}

/* Partitions with all their keys, of which some are no records. */
static void listb_count_streamed(listb_job *j) {
  j->nkeys = 0;
  for (size_t i = 0; i < j->b->npartitions; i++) {
    listb_partition *p = &j->b->partitions[i];
    p->nkeys =
        nay__max_u64(p->nadded, p->nlisted); /* more are listed: the last pass refuses them */
    p->used = p->nadded != 0;
    j->nkeys += p->nkeys;
  }
}

static nay_status listb_divide_all(listb_job *j) {
  for (size_t i = 0; i < j->b->npartitions; i++) {
    j->b->partitions[i].nkeys = j->b->partitions[i].nlisted = 0;
    j->b->partitions[i].used = false;
  }
  NAY_TRY(listb_pass(j, listb_count));
  if (j->b->stream != NULL) listb_count_streamed(j);
  if (j->nkeys > NAY_LIST_MAX_KEYS) return nay__fail(j->diag, NAY_EFULL, "keys: above 2^36", 0);
  listb_choose(j);
  return NAY_OK;
}

/* ---- several passes ---- */

/* Whether a partition has a level 1 of its listed keys, and whether one has of its unlisted ones.
 */
static void listb_sifted(const listb_job *j, bool *listed, bool *unlisted) {
  *listed = *unlisted = false;
  for (size_t i = 0; i < j->b->npartitions; i++) {
    unsigned class = j->b->partitions[i].class, level = class & ~NAY_LIST_INVERTED;
    if (level == 0 || level >= NAY_LIST_EXACT_ONLY) continue;
    *listed |= class == level;
    *unlisted |= class != level;
  }
}

static nay_status listb_build_sieves(listb_job *j) {
  nay_list_stream *s = j->b->stream;
  NAY_TRY(listb_filter(j));
  for (unsigned g = 0; g < j->head.ngroups; g++) {
    s->sieves[g].map = j->groups[g].map;
    s->sieves[g].columns = j->groups[g].columns;
    j->groups[g].map = NULL;
  }
  return NAY_OK;
}

/* The end of a pass. *more: another one has begun. */
static nay_status listb_next_pass(listb_job *j, bool *more) {
  nay_list_stream *s = j->b->stream;
  bool listed, unlisted, first = s->pass == 0;
  if (!first) {
    nay_status status = nay__list_stream_flush(s, j->b->records);
    if (status != NAY_OK) return nay__fail(j->diag, status, "no memory to build the list", 0);
    if (!nay__list_stream_same(s)) {
      return nay__fail(j->diag, NAY_EINVAL, "the universe changed between the passes", 0);
    }
  }
  listb_sifted(j, &listed, &unlisted);
  *more = first || (listed && !s->filters);
  nay__list_records_expect(j->b->records, *more ? NAY_LIST_JOIN : j->b->params.list_outside, true);
  if (!*more) return NAY_OK;
  NAY_TRY(listb_divide_all(j));
  listb_sifted(j, &listed, &unlisted);
  bool filters = listed && !(first && unlisted);
  if (filters) NAY_TRY(listb_build_sieves(j));
  nay__list_stream_next(s, first, filters);
  j->b->nadds = 0;
  return NAY_OK;
}

static nay_status listb_run(listb_job *j) {
  bool more = false;
  if (j->b->stream != NULL) NAY_TRY(listb_next_pass(j, &more));
  if (more) return NAY_OK;
  NAY_TRY(listb_divide_all(j));
  NAY_TRY(listb_filter(j));
  NAY_TRY(listb_exact(j));
  NAY_TRY(listb_assemble(j));
  listb_free_levels(j);
  nay_status status = listb_pass(j, listb_verify);
  if (status != NAY_ECORRUPT) return status;
  return nay__fail(j->diag, status, "a key of the universe is answered wrongly", 0);
}

nay_status nay__list_builder_finish(nay_list_builder *b, nay_diag *diag, nay_filter **list) {
  listb_job *j = nay__alloc(&b->allocator, sizeof *j);
  if (j == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to build the list", 0);
  memset(j, 0, sizeof *j);
  j->b = b;
  j->diag = diag;
  j->check_bits = b->params.check_bits;
  nay_status status = listb_run(j);
  listb_free_levels(j);
  nay__free(&b->allocator, j->exceptions, j->exceptions_cap);
  if (status == NAY_OK) {
    *list = j->list; /* NULL: another pass */
    if (j->list != NULL) listb_clear(b);
  } else {
    nay_filter_free(j->list);
  }
  nay__free(&b->allocator, j, sizeof *j);
  return status;
}
