/*
 * make_native.c - makes the golden files of the native format, or compares them with those here.
 *
 *   make_native write DIR   writes every file, answers.txt and hashes.txt
 *   make_native check DIR   makes the same bytes again and compares: TAP
 *   make_native answers FILE ...
 *                           a line for each: its status, and the absent hashes that are maybes
 *   make_native list        how each file is made, an object of JSON a line: for other builds
 *
 * The files are what every build must write: another compiler, CPU, byte order or optimisation that
 * changes one byte fails the check. Files of every family in the registry are made, so a new family
 * has golden files as soon as somebody runs `write`. answers.txt is for readers that are not ours:
 * for each file the members, and which of a list of absent keys are maybes. hashes.txt has values
 * of the hash functions for every length that they treat differently.
 *
 * Member i is "" for i = 0, else "member-<i>" and, when i % 4 is 3, (37 * i) % 1500 letters x;
 * absent keys are made in the same way from "absent-<i>", i from 1. Under the hash `caller` member
 * i is the hash SplitMix64(i) >> s, absent key i is SplitMix64(1000000 + i) >> s, where s is the
 * seed of the filter: a seed that is not 0 makes hashes that are not spread evenly.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/hashes.h"
#include "nay_advanced.h"
#include "nay_key.h"

#define NABSENT 1000u
#define KEY_ROOM 1600u

/* What becomes of a filter after it was built from members 0 to nmembers - 1. */
typedef enum golden_deed {
  AS_BUILT,
  INTERSECTED, /* with as many members from `first` on */
  JOINED,      /* the two halves of the members, built apart */
  REMOVED,     /* members below `first` */
  REPEATED,    /* member 0 is added `amount` more times */
  IN_ORDER,    /* not built, but added one by one: old ones may go */
  ADVANCED,    /* half of the members, the clock from 1000 to `amount`, the other half in order */
  FOLDED,      /* as far as the rate stays below 1 % */
  SHRUNK,      /* to `amount` bytes */
} golden_deed;

typedef struct golden {
  char name[64];
  nay_params params;
  uint32_t nmembers;
  golden_deed deed;
  uint32_t first; /* members before it need not be in any more */
  uint64_t amount;
  size_t nmeta;
  const char *key_type; /* the key description; NULL: none */
} golden;

static void die(const char *what, const char *name, nay_status status) {
  fprintf(stderr, "make_native: %s: %s: %s\n", name, what, nay_status_text(status));
  exit(2);
}

/* ---- keys ---- */

static size_t golden_key(const char *stem, uint32_t i, char *key) {
  size_t len = (size_t)sprintf(key, "%s-%u", stem, (unsigned)i);
  size_t more = i % 4 == 3 ? 37 * (size_t)i % 1500 : 0;
  memset(key + len, 'x', more);
  return len + more;
}

static size_t member_key(uint32_t i, char *key) {
  return i == 0 ? 0 : golden_key("member", i, key);
}

static nay_hash caller_hash(const golden *g, bool member, uint32_t i) {
  return (nay_hash){nay_hash_mix(member ? i : 1000000u + (uint64_t)i) >> g->params.seed, 0};
}

static bool golden_test(const nay_filter *f, const golden *g, bool member, uint32_t i) {
  char key[KEY_ROOM];
  if (g->params.hash == NAY_HASH_CALLER) {
    return nay_filter_may_contain_hash(f, caller_hash(g, member, i));
  }
  size_t len = member ? member_key(i, key) : golden_key("absent", i, key);
  return nay_filter_may_contain(f, key, len);
}

static nay_status golden_add(const golden *g, nay_filter *f, uint32_t i) {
  char key[KEY_ROOM];
  return g->params.hash == NAY_HASH_CALLER ? nay_filter_add_hash(f, caller_hash(g, true, i), NULL)
                                           : nay_filter_add(f, key, member_key(i, key), NULL);
}

static nay_status golden_remove(const golden *g, nay_filter *f, uint32_t i) {
  char key[KEY_ROOM];
  return g->params.hash == NAY_HASH_CALLER ? nay_filter_remove_hash(f, caller_hash(g, true, i))
                                           : nay_filter_remove(f, key, member_key(i, key));
}

static nay_filter *golden_build(const golden *g, uint32_t first, uint32_t n) {
  nay_builder *b;
  nay_filter *f = NULL;
  nay_params params = g->params;
  params.size = sizeof params;
  nay_status status = nay_builder_new(&params, NULL, NULL, &b);
  if (status != NAY_OK) die("builder", g->name, status);
  for (uint32_t i = first; i < first + n && status == NAY_OK; i++) {
    char key[KEY_ROOM];
    status = g->params.hash == NAY_HASH_CALLER ? nay_builder_add_hash(b, caller_hash(g, true, i))
                                               : nay_builder_add(b, key, member_key(i, key));
  }
  if (status == NAY_OK) status = nay_builder_finish(b, NULL, &f);
  if (status != NAY_OK) die("build", g->name, status);
  nay_builder_free(b);
  return f;
}

/* How many members are in before the deed. */
static uint32_t golden_start(const golden *g) {
  if (g->deed == IN_ORDER) return 0;
  return g->deed == JOINED || g->deed == ADVANCED ? g->nmembers / 2 : g->nmembers;
}

static nay_status golden_add_rest(const golden *g, nay_filter *f) {
  nay_status status = NAY_OK;
  for (uint32_t i = golden_start(g); i < g->nmembers && status == NAY_OK; i++) {
    status = golden_add(g, f, i);
  }
  return status;
}

static nay_status golden_repeat(const golden *g, nay_filter *f) {
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < g->amount && status == NAY_OK; i++) status = golden_add(g, f, 0);
  return status;
}

static nay_status golden_remove_first(const golden *g, nay_filter *f) {
  nay_status status = NAY_OK;
  for (uint32_t i = 0; i < g->first && status == NAY_OK; i++) status = golden_remove(g, f, i);
  return status;
}

static nay_status golden_with_other(const golden *g, nay_filter *f) {
  bool join = g->deed == JOINED;
  uint32_t first = join ? golden_start(g) : g->first;
  nay_filter *other = golden_build(g, first, join ? g->nmembers - first : g->nmembers);
  nay_status status =
      join ? nay_filter_merge(f, other, 1, NULL) : nay_filter_intersect(f, other, NULL);
  nay_filter_free(other);
  return status;
}

static nay_status golden_advance(const golden *g, nay_filter *f) {
  nay_status status = nay_filter_advance(f, 1000);
  if (status == NAY_OK) status = nay_filter_advance(f, g->amount);
  return status == NAY_OK ? golden_add_rest(g, f) : status;
}

static nay_status golden_fold(nay_filter *f) {
  uint64_t factor;
  nay_status status = nay_filter_fold_factor(f, 0.01, &factor);
  return status == NAY_OK ? nay_filter_fold(f, factor, NULL) : status;
}

static nay_status golden_do(const golden *g, nay_filter *f) {
  switch (g->deed) {
    case AS_BUILT: break;
    case INTERSECTED:
    case JOINED: return golden_with_other(g, f);
    case REMOVED: return golden_remove_first(g, f);
    case REPEATED: return golden_repeat(g, f);
    case IN_ORDER: return golden_add_rest(g, f);
    case ADVANCED: return golden_advance(g, f);
    case FOLDED: return golden_fold(f);
    case SHRUNK: return nay_filter_shrink(f, g->amount, NULL);
  }
  return NAY_OK;
}

static nay_filter *golden_make(const golden *g) {
  nay_filter *f = golden_build(g, 0, golden_start(g));
  nay_status status = golden_do(g, f);
  if (status == NAY_OK && g->nmeta != 0) {
    char *meta = malloc(g->nmeta);
    for (size_t i = 0; i < g->nmeta; i++) meta[i] = "nay metadata. "[i % 14];
    status = nay_filter_set_meta(f, meta, g->nmeta);
    free(meta);
  }
  if (status == NAY_OK && g->key_type != NULL) status = nay_filter_set_key(f, g->key_type);
  if (status != NAY_OK) die("make", g->name, status);
  return f;
}

/* ---- the list ---- */

#define GOLDEN_KEY \
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }

#define KEYED .hash = NAY_HASH_SIPHASH, .key = GOLDEN_KEY
#define CALLER .hash = NAY_HASH_CALLER
#define BITS(n) (1.0 / (double)((uint64_t)1 << (n))) /* the rate of n bits */

static const golden specials[] = {
    {"bloom-tiny.nay", {.kind = NAY_BLOOM, .nbits = 64, .k = 3}, .nmembers = 3},
    {"blocked-tiny.nay", {.kind = NAY_BLOCKED, .nbits = 1024, .k = 4, .seed = 3}, .nmembers = 3},
    {"bloom-odd-bits.nay", {.kind = NAY_BLOOM, .nbits = 1001, .k = 5}, .nmembers = 100},
    {"bloom-one-bit.nay", {.kind = NAY_BLOOM, .nbits = 1, .k = 64}, .nmembers = 0},
    {"bloom-seed.nay",
     {.kind = NAY_BLOOM, .fpr = 0.01, .seed = 0x0123456789abcdefu},
     .nmembers = 100},
    {"bloom-caller.nay", {.kind = NAY_BLOOM, .fpr = 0.01, CALLER}, .nmembers = 100},
    {"bloom-derived.nay",
     {.kind = NAY_BLOOM, .nbits = 6000},
     .nmembers = 300,
     .deed = INTERSECTED,
     .first = 200},
    {"bloom-key-stored-meta.nay",
     {.kind = NAY_BLOOM, .fpr = 0.01, KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 100,
     .nmeta = 14},
    {"bloom-two-chunks.nay", {.kind = NAY_BLOOM, .nbits = 65600 * 8 + 3, .k = 7}, .nmembers = 1000},
    {"blocked-seed.nay", {.kind = NAY_BLOCKED, .fpr = 0.01, .seed = UINT64_MAX}, .nmembers = 100},
    {"sbbf-tiny.nay", {.kind = NAY_SBBF, .nbits = 512, .seed = 3}, .nmembers = 3},
    {"sbbf-caller.nay", {.kind = NAY_SBBF, .fpr = 0.001, CALLER}, .nmembers = 100},
    {"sbbf-derived.nay",
     {.kind = NAY_SBBF, .nbits = 256 * 12},
     .nmembers = 300,
     .deed = INTERSECTED,
     .first = 200},
    {"sbbf-three-chunks.nay",
     {.kind = NAY_SBBF, .nbits = 256 * 4100, KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 1000,
     .nmeta = 14},
    {"blocked-caller.nay", {.kind = NAY_BLOCKED, .fpr = 0.01, CALLER}, .nmembers = 100},
    {"blocked-derived.nay",
     {.kind = NAY_BLOCKED, .nbits = 512 * 12},
     .nmembers = 300,
     .deed = INTERSECTED,
     .first = 200},
    {"blocked-key.nay", {.kind = NAY_BLOCKED, .fpr = 0.01, KEYED}, .nmembers = 100},
    {"blocked-key-stored.nay",
     {.kind = NAY_BLOCKED, .nbits = 512, .k = 6, KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 3},
    {"blocked-meta.nay", {.kind = NAY_BLOCKED, .nbits = 512, .k = 6}, .nmembers = 3, .nmeta = 14},
    {"blocked-key-type.nay",
     {.kind = NAY_BLOCKED, .nbits = 512, .k = 6, CALLER},
     .nmembers = 3,
     .key_type = "int"},
    {"bloom-key-type-meta.nay",
     {.kind = NAY_BLOOM, .fpr = 0.01, CALLER},
     .nmembers = 100,
     .nmeta = 70001,
     .key_type = "timestamp"},
    {"blocked-three-chunks.nay",
     {.kind = NAY_BLOCKED, .nbits = 512 * 1050, .k = 6},
     .nmembers = 1000,
     .nmeta = 70001},

    /* groups of all four states, counters that stick, two pages */
    {"counting-removed.nay",
     {.kind = NAY_COUNTING, .fpr = 0.02},
     .nmembers = 300,
     .deed = REMOVED,
     .first = 100},
    {"counting-pooled.nay",
     {.kind = NAY_COUNTING, .nkeys = 400, .fpr = 0.02, CALLER},
     .nmembers = 700,
     .deed = REMOVED,
     .first = 50},
    {"counting-stuck.nay",
     {.kind = NAY_COUNTING, .nkeys = 10, .nbits = 512 * 8, .k = 5, CALLER},
     .nmembers = 1000},
    {"counting-spare.nay",
     {.kind = NAY_COUNTING, .nkeys = 1000, .nbits = 512 * 8, .k = 5, CALLER},
     .nmembers = 1000},
    {"counting-repeated.nay",
     {.kind = NAY_COUNTING, .nbits = 512, .k = 4, KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 20,
     .deed = REPEATED,
     .amount = 20},
    {"counting-joined.nay",
     {.kind = NAY_COUNTING, .nbits = 512 * 3, .k = 3},
     .nmembers = 100,
     .deed = JOINED},
    {"counting-two-pages.nay",
     {.kind = NAY_COUNTING, .nkeys = 1000, .nbits = 512 * 523, .k = 3, CALLER, .flags = NAY_UNIQUE},
     .nmembers = 2000},

    {"scalable-grown.nay", {.kind = NAY_SCALABLE, .nkeys = 20, .fpr = 0.02}, .nmembers = 1000},
    {"scalable-joined.nay",
     {.kind = NAY_SCALABLE, .nkeys = 50, .fpr = 0.1, CALLER},
     .nmembers = 300,
     .deed = JOINED},
    {"scalable-finished.nay",
     {.kind = NAY_SCALABLE, .nkeys = 50, .fpr = 0.0001, .max_nbytes = 65536, CALLER},
     .nmembers = 200,
     .deed = FOLDED},

    /* 5, 4, 16, 2 and 11 generations, one of them the newest */
    {"window-keys.nay",
     {.kind = NAY_WINDOW, .nkeys = 200, .fpr = 0.02, .generations = 4},
     .nmembers = 300,
     .deed = IN_ORDER,
     .first = 100},
    {"window-ticks.nay",
     {.kind = NAY_WINDOW, .nkeys = 200, .fpr = 0.02, .generations = 3, .window = 900},
     .nmembers = 200,
     .deed = ADVANCED,
     .amount = 1700},
    {"window-forgets.nay",
     {.kind = NAY_WINDOW, .nkeys = 200, .fpr = 0.05, .generations = 15, .window = 1500, CALLER},
     .nmembers = 200,
     .deed = ADVANCED,
     .first = 100,
     .amount = 10000},
    {"window-one.nay",
     {.kind = NAY_WINDOW, .nkeys = 100, .fpr = 0.01, .generations = 1, CALLER},
     .nmembers = 100},
    {"window-ten.nay",
     {.kind = NAY_WINDOW, .nkeys = 500, .nbits = 1024 * 40, .k = 3, .generations = 10, CALLER},
     .nmembers = 800,
     .deed = IN_ORDER,
     .first = 300},

    /* plain, with copies, tags wider than a quarter of a word, grown three times, from the smallest
     * table, at a limit */
    {"cuckoo-removed.nay",
     {.kind = NAY_CUCKOO, .fpr = 0.02},
     .nmembers = 500,
     .deed = REMOVED,
     .first = 100},
    {"cuckoo-copies.nay",
     {.kind = NAY_CUCKOO, .nkeys = 120, .fpr = 0.02, .tag_bits = 15},
     .nmembers = 100,
     .deed = REPEATED,
     .amount = 4},
    {"cuckoo-wide.nay", {.kind = NAY_CUCKOO, .fpr = 1e-6, KEYED}, .nmembers = 300},
    {"cuckoo-widest.nay",
     {.kind = NAY_CUCKOO, .nbits = 32 * 8 * 30, .tag_bits = 32, CALLER},
     .nmembers = 200},
    {"cuckoo-grown.nay",
     {.kind = NAY_CUCKOO, .nkeys = 200, .max_nkeys = 4000, .fpr = 0.02, CALLER},
     .nmembers = 1500,
     .deed = REMOVED,
     .first = 100},
    {"cuckoo-smallest.nay",
     {.kind = NAY_CUCKOO, .nkeys = 1, .max_nkeys = 700, .fpr = 0.01, CALLER},
     .nmembers = 600,
     .deed = REMOVED,
     .first = 50},
    {"cuckoo-unique.nay",
     {.kind = NAY_CUCKOO,
      .nkeys = 300,
      .fpr = 0.2,
      .max_nkeys = 600,
      .max_nbytes = 4096,
      .flags = NAY_UNIQUE,
      CALLER},
     .nmembers = 400},

    {"xor-four-bits.nay", {.kind = NAY_XOR, .fpr = BITS(4), .seed = 5}, .nmembers = 300},
    {"xor-8.nay", {.kind = NAY_XOR, .fpr = BITS(8), CALLER}, .nmembers = 300},
    {"xor-16.nay",
     {.kind = NAY_XOR, .fpr = BITS(16), KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 300,
     .nmeta = 14},
    {"xor-29.nay", {.kind = NAY_XOR, .fpr = BITS(29), CALLER}, .nmembers = 300},
    {"xor-32.nay", {.kind = NAY_XOR, .fpr = BITS(32), CALLER}, .nmembers = 300},

    /* widths that divide a word and others, 3 and 4 slots, a first seed that did not work */
    {"fuse-four-bits.nay", {.kind = NAY_FUSE, .fpr = BITS(4), .seed = 5}, .nmembers = 300},
    {"fuse-8.nay", {.kind = NAY_FUSE, .fpr = BITS(8), CALLER}, .nmembers = 300},
    {"fuse-16.nay",
     {.kind = NAY_FUSE, .fpr = BITS(16), KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 300,
     .nmeta = 14},
    {"fuse-29.nay", {.kind = NAY_FUSE, .fpr = BITS(29), CALLER}, .nmembers = 300},
    {"fuse-32.nay", {.kind = NAY_FUSE, .fpr = BITS(32), CALLER}, .nmembers = 300},
    {"fuse-k4-5.nay", {.kind = NAY_FUSE, .fpr = BITS(5), .k = 4, CALLER}, .nmembers = 2000},
    {"fuse-k4-8.nay", {.kind = NAY_FUSE, .fpr = BITS(8), .k = 4, CALLER}, .nmembers = 500},
    {"fuse-retried.nay", {.kind = NAY_FUSE, .fpr = BITS(4), CALLER}, .nmembers = 11500},

    /* a Bloom filter, one block, whole and short blocks, no column, one layer and more, seeds and
     * hashes that did not work */
    {"ribbon-few.nay",
     {.kind = NAY_RIBBON, .fpr = 0.001, KEYED, .flags = NAY_STORE_KEY},
     .nmembers = 40,
     .nmeta = 14},
    {"ribbon-one-block.nay", {.kind = NAY_RIBBON, .fpr = 0.0001}, .nmembers = 110},
    {"ribbon-bytes.nay", {.kind = NAY_RIBBON, .nbytes = 900, .seed = 5}, .nmembers = 700},
    {"ribbon-shrunk.nay",
     {.kind = NAY_RIBBON, .fpr = 0.001, CALLER},
     .nmembers = 1000,
     .deed = SHRUNK,
     .amount = 800},
    {"ribbon-one-column.nay",
     {.kind = NAY_RIBBON, .fpr = 0.01, CALLER},
     .nmembers = 1000,
     .deed = SHRUNK,
     .amount = 100},
    {"ribbon-32.nay", {.kind = NAY_RIBBON, .fpr = BITS(32), CALLER}, .nmembers = 300},
    {"ribbon-two-layers.nay", {.kind = NAY_RIBBON, .fpr = 0.1}, .nmembers = 7800},
    {"ribbon-retried.nay", {.kind = NAY_RIBBON, .fpr = 0.3, CALLER}, .nmembers = 8459},
    {"ribbon-premixed.nay",
     {.kind = NAY_RIBBON, .fpr = 0.95, CALLER, .seed = 1},
     .nmembers = 330000},
};
#define NSPECIALS (sizeof specials / sizeof specials[0])

/* Calls `each` for every golden file: four of each family, then the special ones. */
static void golden_each(void (*each)(const golden *, void *), void *ctx) {
  static const uint32_t sizes[] = {0, 1, 2, 1000};
  for (int kind = 1; kind < 256; kind++) {
    if (nay_kind_name((nay_kind)kind) == NULL ||
        (nay_kind_traits((nay_kind)kind) & (NAY_CAN_GET | NAY_CAN_RANGE)) != 0)
      continue;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      golden g = {.params = {.kind = (nay_kind)kind, .fpr = 0.01}, .nmembers = sizes[i]};
      snprintf(g.name, sizeof g.name, "%s-n%u.nay", nay_kind_name((nay_kind)kind),
               (unsigned)sizes[i]);
      each(&g, ctx);
    }
  }
  for (size_t i = 0; i < NSPECIALS; i++) each(&specials[i], ctx);
}

/* ---- bytes and texts ---- */

typedef struct text {
  char *at;
  size_t len;
} text;

static void text_add(text *t, const char *bytes, size_t len) {
  t->at = realloc(t->at, t->len + len + 1);
  if (t->at == NULL) die("memory", "text", NAY_ENOMEM);
  memcpy(t->at + t->len, bytes, len);
  t->len += len;
  t->at[t->len] = '\0';
}

static text golden_bytes(const nay_filter *f, const char *name) {
  text t = {malloc(nay_filter_encoded_size(f)), nay_filter_encoded_size(f)};
  nay_status status = nay_filter_encode(f, t.at, t.len, &t.len);
  if (status != NAY_OK) die("encode", name, status);
  return t;
}

/* "name key first-member members absent maybes: i i i ..." */
static void answers_add(const golden *g, void *ctx) {
  text *t = ctx;
  char line[256];
  nay_filter *f = golden_make(g);
  const char *key = g->params.hash == NAY_HASH_SIPHASH ? "000102030405060708090a0b0c0d0e0f" : "-";
  int n = snprintf(line, sizeof line, "%s %s %u %u %u:", g->name, key, (unsigned)g->first,
                   (unsigned)(g->nmembers - g->first), NABSENT);
  text_add(t, line, (size_t)n);
  for (uint32_t i = 1; i <= NABSENT; i++) {
    if (!golden_test(f, g, false, i)) continue;
    text_add(t, line, (size_t)snprintf(line, sizeof line, " %u", (unsigned)i));
  }
  text_add(t, "\n", 1);
  nay_filter_free(f);
}

static text answers_text(void) {
  static const char head[] =
      "# file, secret key or -, first member, members, absent keys: those of them that are "
      "maybes\n";
  text t = {NULL, 0};
  text_add(&t, head, sizeof head - 1);
  golden_each(answers_add, &t);
  return t;
}

/* One line of hashes.txt: the hash of bytes 0, 7, 14, ... (i * 7 mod 251) of each length. */
static void hashes_add(text *t, const char *title, const nay_params *params) {
  static const uint32_t longer[] = {512,  513,  639,  640,  768,  1023, 1024,
                                    1025, 1088, 2047, 2048, 2049, 4999, 5000};
  char line[128];
  uint8_t bytes[5000];
  nay_filter *f;
  for (uint32_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 % 251);
  nay_status status = nay_filter_new(params, NULL, NULL, &f);
  if (status != NAY_OK) die("hashes", title, status);
  for (uint32_t i = 0; i < 260 + sizeof longer / sizeof longer[0]; i++) {
    uint32_t len = i < 260 ? i : longer[i - 260];
    nay_hash hash;
    status = filter_hash(f, bytes, len, &hash);
    if (status != NAY_OK) die("hash", title, status);
    int n = snprintf(line, sizeof line, "%s %u %016llx\n", title, (unsigned)len,
                     (unsigned long long)hash.lo);
    text_add(t, line, (size_t)n);
  }
  nay_filter_free(f);
}

static text hashes_text(void) {
  static const char head[] =
      "# function and seed or key, length, hash: of the bytes i * 7 % 251 for i = 0, 1, ...\n";
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .nbits = 64, .k = 1};
  text t = {NULL, 0};
  text_add(&t, head, sizeof head - 1);
  hashes_add(&t, "xxh3 0", &p);
  p.seed = 0x0123456789abcdefu;
  hashes_add(&t, "xxh3 0123456789abcdef", &p);
  p.seed = UINT64_MAX;
  hashes_add(&t, "xxh3 ffffffffffffffff", &p);
  p = (nay_params){.size = sizeof(nay_params),
                   .kind = NAY_BLOOM,
                   .nbits = 64,
                   .k = 1,
                   .hash = NAY_HASH_SIPHASH,
                   .key = GOLDEN_KEY};
  hashes_add(&t, "siphash13 000102030405060708090a0b0c0d0e0f", &p);
  return t;
}

/* ---- write and check ---- */

typedef struct run {
  const char *directory;
  bool write;
  unsigned n, nfailed, nfiles;
} run;

static void run_report(run *r, bool ok, const char *name, const char *what) {
  printf("%s %u - %s: %s\n", ok ? "ok" : "not ok", ++r->n, name, what);
  if (!ok) r->nfailed++;
}

static text read_all(const char *path) {
  char buffer[4096];
  text t = {NULL, 0};
  FILE *file = fopen(path, "rb");
  if (file == NULL) return t;
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) text_add(&t, buffer, n);
  fclose(file);
  return t;
}

static text run_read(const run *r, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", r->directory, name);
  return read_all(path);
}

static void run_write(const run *r, const char *name, text t) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", r->directory, name);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(t.at, 1, t.len, file) != t.len || fclose(file) != 0) {
    perror(path);
    exit(2);
  }
}

/* Compares or writes; frees t. */
static void run_bytes(run *r, const char *name, text t) {
  if (r->write) {
    run_write(r, name, t);
  } else {
    text old = run_read(r, name);
    bool same = old.len == t.len && old.at != NULL && memcmp(old.at, t.at, t.len) == 0;
    run_report(r, same, name, "this build writes the same bytes");
    free(old.at);
  }
  free(t.at);
}

static bool run_members_ok(const golden *g, const nay_filter *f) {
  for (uint32_t i = g->first; i < g->nmembers; i++) {
    if (!golden_test(f, g, true, i)) return false;
  }
  return true;
}

/* The file in the directory, as it is, answers maybe for every member. */
static void run_reads(run *r, const golden *g) {
  text old = run_read(r, g->name);
  nay_filter *f = NULL;
  bool ok = nay_filter_decode(old.at, old.len, NULL, NULL, &f) == NAY_OK;
  nay_stats s = {.size = sizeof s};
  ok = ok && nay_filter_stats(f, &s) == NAY_OK && s.derived == (g->deed == INTERSECTED);
  if (ok && s.locked) ok = nay_filter_unlock(f, g->params.key) == NAY_OK;
  run_report(r, ok && run_members_ok(g, f), g->name, "is read, and its members are maybes");
  nay_filter_free(f);
  free(old.at);
}

static void run_golden(const golden *g, void *ctx) {
  run *r = ctx;
  nay_filter *f = golden_make(g);
  r->nfiles++;
  run_bytes(r, g->name, golden_bytes(f, g->name));
  if (!r->write) run_reads(r, g);
  nay_filter_free(f);
}

static unsigned run_count_files(const run *r) {
  unsigned n = 0;
  DIR *dir = opendir(r->directory);
  if (dir == NULL) return 0;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    size_t len = strlen(e->d_name);
    n += len > 4 && strcmp(e->d_name + len - 4, ".nay") == 0;
  }
  closedir(dir);
  return n;
}

/* What this library makes of any file, for a comparison with another reader. */
static void print_answers(const char *path) {
  static const golden any = {.params = {.hash = NAY_HASH_CALLER}};
  text t = read_all(path);
  nay_filter *f = NULL;
  nay_status status = nay_filter_decode(t.at, t.len, NULL, NULL, &f);
  printf("%s", nay_status_name(status));
  for (uint32_t i = 1; f != NULL && i <= NABSENT; i++) {
    if (golden_test(f, &any, false, i)) printf(" %u", (unsigned)i);
  }
  printf("\n");
  nay_filter_free(f);
  free(t.at);
}

/* A number that is not 0, as text: JSON has no 64 bits. */
static void list_number(const char *name, uint64_t value) {
  if (value != 0) printf(", \"%s\": \"%llu\"", name, (unsigned long long)value);
}

static void list_golden(const golden *g, void *ctx) {
  static const char *const deeds[] = {"as built", "intersected", "joined", "removed", "repeated",
                                      "in order", "advanced",    "folded", "shrunk"};
  const nay_params *p = &g->params;
  (void)ctx;
  printf("{\"name\": \"%s\", \"kind\": \"%s\", \"hash\": \"%s\", \"deed\": \"%s\"", g->name,
         nay_kind_name(p->kind), nay_hash_name(p->hash), deeds[g->deed]);
  printf(", \"fpr\": %.17g", p->fpr);
  list_number("nkeys", p->nkeys);
  list_number("nbytes", p->nbytes);
  list_number("nbits", p->nbits);
  list_number("k", p->k);
  list_number("flags", p->flags);
  list_number("seed", p->seed);
  list_number("tagBits", p->tag_bits);
  list_number("generations", p->generations);
  list_number("window", p->window);
  list_number("maxNkeys", p->max_nkeys);
  list_number("maxNbytes", p->max_nbytes);
  list_number("nmembers", g->nmembers);
  list_number("first", g->first);
  list_number("amount", g->amount);
  list_number("nmeta", g->nmeta);
  if (g->key_type != NULL) printf(", \"keyType\": \"%s\"", g->key_type);
  printf("}\n");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    golden_each(list_golden, NULL);
    return 0;
  }
  if (argc >= 2 && strcmp(argv[1], "answers") == 0) {
    for (int i = 2; i < argc; i++) print_answers(argv[i]);
    return 0;
  }
  if (argc != 3 || (strcmp(argv[1], "write") != 0 && strcmp(argv[1], "check") != 0)) {
    fprintf(stderr, "usage: make_native write|check DIR | answers FILE ... | list\n");
    return 2;
  }
  run r = {.directory = argv[2], .write = strcmp(argv[1], "write") == 0};
  golden_each(run_golden, &r);
  run_bytes(&r, "answers.txt", answers_text());
  run_bytes(&r, "hashes.txt", hashes_text());
  if (r.write) return 0;
  run_report(&r, run_count_files(&r) == r.nfiles, r.directory, "holds these files and no others");
  printf("1..%u\n", r.n);
  return r.nfailed == 0 ? 0 : 1;
}
