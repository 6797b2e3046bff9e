/* tables.c - see tables.h. */
#include "tables.h"

#include <math.h>
#include <nay_sst.h>
#include <nay_sst_cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "outfile.h"
#include "range_form.h"

#define TABLE_CACHE ((size_t)32 << 20) /* bytes of blocks, and as many of filters */
#define TABLE_BLOCK_MOST (1u << 30)    /* bytes of a block */

/* ---- opening ---- */

void table_die(const char *path, nay_status status, const nay_diag *diag) {
  char why[DIAG_TEXT];
  die(exit_of(status), "%s: %s", path, diag_text(status, diag, why));
}

/* The extractor of that name, when it is the library's. */
static bool table_prefix_of(const char *name, nay_sst_prefix *prefix) {
  *prefix = (nay_sst_prefix){.size = sizeof *prefix};
  return nay_sst_prefix_find(name, prefix) == NAY_OK;
}

/* One for all tables of the command: blocks that are read or uncompressed, partitions of filters.
 */
static nay_sst_cache *table_cache(void) {
  static nay_sst_cache *cache;
  const nay_sst_cache_options both = {sizeof both, TABLE_CACHE, TABLE_CACHE, .shared = false};
  if (cache == NULL && nay_sst_cache_new(&both, NULL, NULL, &cache) != NAY_OK) {
    die(EXIT_TROUBLE, "out of memory");
  }
  return cache;
}

static struct {
  nay_sst_comparator comparator;
  const nay_sst_comparator *chosen; /* NULL: bytewise, */
  bool stated;                      /* or what the table names, if the option is not given */
} table_order;

void table_set_comparator(const sst_options *o) {
  char name[NAY_SST_COMPARATOR_NAME + 8];
  const char *given = o->comparator;
  table_order.comparator.size = sizeof table_order.comparator;
  table_order.stated = given != NULL;
  if (given == NULL || strcmp(given, "bytewise") == 0) return;
  bool reverse = strcmp(given, "reverse") == 0;
  snprintf(name, sizeof name, "nay.%s", given);
  if (nay_sst_comparator_find(given, &table_order.comparator) != NAY_OK &&
      nay_sst_comparator_find(reverse ? "rocksdb.ReverseBytewiseComparator" : name,
                              &table_order.comparator) != NAY_OK) {
    die(EXIT_TROUBLE,
        "--comparator: no comparator '%s'; there are bytewise, reverse, decimal, "
        "and prefix.N for N from 1 to 65535",
        given);
  }
  table_order.chosen = &table_order.comparator;
}

/* A table in another order: both names. */
_Noreturn static void table_die_of_order(const char *path, const char *stored) {
  die(EXIT_TROUBLE, "%s: the keys are in the order of the comparator '%s', not of '%s'", path,
      stored[0] != '\0' ? stored : "leveldb.BytewiseComparator",
      table_order.chosen != NULL ? table_order.chosen->name : "leveldb.BytewiseComparator");
}

static nay_sst *table_open_with(const char *path, const char *layout,
                                const nay_sst_prefix *prefix) {
  static nay_policy leveldb = {.size = sizeof leveldb},
                    small = {.size = sizeof small}; /* how many bits does not matter to a reader */
  static const nay_policy *const policies[] = {&leveldb, &small};
  char stored[NAY_SST_COMPARATOR_NAME];
  (void)nay_policy_find(NAY_POLICY_LEVELDB, 10, &leveldb);
  (void)nay_policy_find(NAY_POLICY_SMALL, 10, &small);
  nay_sst_read_options how = {.size = sizeof how,
                              .policies = policies,
                              .npolicies = 2,
                              .prefix = prefix,
                              .cache = table_cache(),
                              .flags = table_order.stated ? 0 : NAY_SST_STORED_COMPARATOR,
                              .comparator = table_order.chosen,
                              .stored_comparator = stored,
                              .layout = layout};
  how.codecs = nay_codecs(&how.ncodecs);
  nay_diag diag = {.what = NULL};
  nay_sst *table;
  nay_status status = nay_sst_open(path, &how, NULL, &diag, &table);
  if (status == NAY_EMISMATCH) table_die_of_order(path, stored);
  if (status != NAY_OK) table_die(path, status, &diag);
  return table;
}

nay_sst *table_open(const char *path, const char *layout, nay_sst_prefix *prefix) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst *table = table_open_with(path, layout, NULL);
  nay_sst_stats(table, &info);
  if (!table_prefix_of(info.prefix, prefix)) return table;
  nay_sst_free(table);
  return table_open_with(path, layout, prefix);
}

/* ---- making ---- */

const char *table_output(const sst_options *o) {
  if (o->output.path == NULL || strcmp(o->output.path, "-") == 0)
    die(EXIT_TROUBLE, "give the output file: -o FILE");
  outfile_may_write(o->output.path, o->output.force);
  return o->output.path;
}

static void plan_blocks(const sst_options *o, table_plan *plan) {
  double bits = o->size.bits_per_key != 0 ? o->size.bits_per_key : 10;
  options_refuse(&o->common, "nkeys", "sst --filter leveldb and small");
  if ((o->size.fpr != 0 && !o->range_filter) || o->size.kind != NAY_AUTO) {
    die(EXIT_TROUBLE, "-p and -t are for --filter full and partitioned; here -b says how large");
  }
  if (bits != floor(bits) || bits < 1 || bits > 4096) {
    die(EXIT_TROUBLE, "-b: a whole number from 1 to 4096 for this filter");
  }
  const char *name = o->table_filter == TABLE_SMALL ? NAY_POLICY_SMALL : NAY_POLICY_LEVELDB;
  (void)nay_policy_find(name, (uint32_t)bits, &plan->policy);
  plan->write.filter = NAY_SST_BLOCK_FILTER;
  plan->write.policy = &plan->policy;
}

static void plan_prefix(const sst_options *o, table_plan *plan) {
  char name[32];
  const char *delimiter = o->prefix_delimiter;
  if (o->prefix_length == 0 && delimiter == NULL) return;
  if (o->prefix_length != 0 && delimiter != NULL) {
    die(EXIT_TROUBLE, "--prefix-length and --prefix-delimiter are mutually exclusive");
  }
  if (delimiter != NULL) {
    if (strlen(delimiter) != 1) die(EXIT_TROUBLE, "--prefix-delimiter: one character");
    snprintf(name, sizeof name, "nay.delimiter.%u", (unsigned)(uint8_t)delimiter[0]);
  } else {
    snprintf(name, sizeof name, "nay.fixed.%llu", (unsigned long long)o->prefix_length);
  }
  if (!table_prefix_of(name, &plan->prefix)) die(EXIT_TROUBLE, "--prefix-length: from 1 to 65535");
  plan->write.prefix = &plan->prefix;
}

nay_codec_kind table_codec(const sst_options *o) {
#define CODEC_KIND(name, id, text) NAY_CODEC_##name,
  static const nay_codec_kind kinds[] = {0, NAY_CODECS(CODEC_KIND)};
#undef CODEC_KIND
  return kinds[o->compress];
}

const nay_sst_codec *table_codec_find(nay_codec_kind kind) {
  if (kind == 0) return NULL;
  const nay_sst_codec *codec = nay_codec_find(kind);
  if (codec != NULL) return codec;
  die(EXIT_TROUBLE, "this program was built without %s", nay_codec_name(kind & 0xff));
}

void table_set_filters(sst_options *o) {
  unsigned whole = o->filters & ~(1u << TABLE_RANGE);
  o->range_filter = whole != o->filters;
  o->table_filter = o->filters == 0 ? TABLE_DEFAULT : TABLE_NONE;
  if ((whole & (whole - 1)) != 0) {
    die(EXIT_TROUBLE, "--filter: one kind of filter, and range if you like");
  }
  for (unsigned i = 0; i < TABLE_RANGE; i++) {
    if (whole == 1u << i) o->table_filter = i;
  }
}

#define TABLE_RANGE_FPR 0.01

void table_plan_ranges(const sst_options *o, unsigned *type, table_plan *plan) {
  if (!o->range_filter) {
    options_refuse(&o->common, "range-length, range-keys, range-delimiter",
                   "sst without --filter range");
    return;
  }
  size_options size = o->size;
  size.kind = NAY_RANGE;
  size.bits_per_key = 0; /* of the other filter */
  size.nkeys = 0;
  plan->range = size_params(&size, NULL, TABLE_RANGE_FPR);
  range_form(&size, type, &plan->range);
  plan->write.range = &plan->range;
}

void table_plan_make(const sst_options *o, table_plan *plan) {
  *plan = (table_plan){.write = {sizeof plan->write, .params = &plan->params},
                       .params = size_params(&o->size, NULL, 0),
                       .policy = {.size = sizeof plan->policy},
                       .prefix = {.size = sizeof plan->prefix}};
  plan->params.range_length = 0; /* of the range filter: table_plan_ranges */
  plan->params.range_keys = plan->params.range_delimiter = 0;
  switch ((table_filter)o->table_filter) {
    case TABLE_DEFAULT:
    case TABLE_FULL: plan->write.filter = NAY_SST_FULL_FILTER; break;
    case TABLE_PARTITIONED:
      options_refuse(&o->common, "nkeys", "sst --filter partitioned");
      plan->write.filter = NAY_SST_PARTITIONED_FILTER;
      break;
    case TABLE_LEVELDB:
    case TABLE_SMALL: plan_blocks(o, plan); break;
    case TABLE_NONE:
      options_refuse(&o->common, o->range_filter ? "type, nkeys, bits" : "type, nkeys, fpr, bits",
                     o->range_filter ? "sst --filter range alone" : "sst --filter none");
      break;
    case TABLE_RANGE: break; /* never by itself: table_set_filters */
    case TABLE_QUOTIENT: die(EXIT_TROUBLE, "--filter quotient is for --format nori");
  }
  plan_prefix(o, plan);
  plan->write.comparator = table_order.chosen;
  plan->write.properties = o->properties;
  if (o->block_bytes > TABLE_BLOCK_MOST) die(EXIT_TROUBLE, "--block: at most 1 GiB");
  plan->write.block_bytes = (uint32_t)o->block_bytes;
  plan->write.codec = table_codec_find(table_codec(o));
}

/* ---- sorting ---- */

typedef struct sorter_row {
  uint64_t at; /* in bytes: key, then value */
  uint32_t len, value_len;
  uint64_t number; /* in the input, doubled, + 1 if it has a value */
} sorter_row;

struct table_sorter {
  uint8_t *bytes;
  size_t len, cap;
  sorter_row *rows;
  size_t n, rows_cap, next;
  bool sorted;
  const nay_sst_comparator *order;
};

table_sorter *table_sorter_new(const nay_sst_comparator *order) {
  table_sorter *s = must_alloc(sizeof *s);
  *s = (table_sorter){.order = order};
  return s;
}

void table_sorter_add(table_sorter *s, const uint8_t *key, size_t len, const uint8_t *value,
                      size_t value_len, bool has_value) {
  if (len > UINT32_MAX || value_len > UINT32_MAX) die(EXIT_TROUBLE, "a row of 4 GiB or more");
  if (s->n == s->rows_cap) {
    s->rows_cap = s->rows_cap != 0 ? 2 * s->rows_cap : 4096;
    s->rows = must_grow(s->rows, s->rows_cap * sizeof *s->rows);
  }
  while (s->cap - s->len < len + value_len) {
    s->cap = s->cap != 0 ? 2 * s->cap : 1 << 20;
    s->bytes = must_grow(s->bytes, s->cap);
  }
  s->rows[s->n] =
      (sorter_row){s->len, (uint32_t)len, (uint32_t)value_len, 2 * (uint64_t)s->n + has_value};
  s->n++;
  if (len != 0) memcpy(s->bytes + s->len, key, len);
  if (value_len != 0) memcpy(s->bytes + s->len + len, value, value_len);
  s->len += len + value_len;
}

static int sorter_keys(const table_sorter *s, const sorter_row *a, const sorter_row *b) {
  if (s->order != NULL) {
    return s->order->compare(s->order->ctx, s->bytes + a->at, a->len, s->bytes + b->at, b->len);
  }
  uint32_t n = a->len < b->len ? a->len : b->len;
  int order = n != 0 ? memcmp(s->bytes + a->at, s->bytes + b->at, n) : 0;
  return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Of equal keys the last of the input comes first. */
static int sorter_compare(const void *x, const void *y, void *sorter) {
  const sorter_row *a = x, *b = y;
  int order = sorter_keys(sorter, a, b);
  return order != 0 ? order : (a->number < b->number) - (a->number > b->number);
}

bool table_sorter_next(table_sorter *s, table_row *row) {
  if (!s->sorted && s->n != 0) qsort_r(s->rows, s->n, sizeof *s->rows, sorter_compare, s);
  s->sorted = true;
  while (s->next > 0 && s->next < s->n &&
         sorter_keys(s, &s->rows[s->next - 1], &s->rows[s->next]) == 0) {
    s->next++;
  }
  if (s->next == s->n) return false;
  const sorter_row *r = &s->rows[s->next++];
  *row = (table_row){.key = s->bytes + r->at,
                     .value = s->bytes + r->at + r->len,
                     .len = r->len,
                     .value_len = r->value_len,
                     .has_value = r->number % 2 != 0};
  return true;
}

void table_sorter_free(table_sorter *s) {
  free(s->bytes);
  free(s->rows);
  free(s);
}
