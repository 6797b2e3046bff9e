/* table_properties.c - see table_properties.h. */
#include "table_properties.h"

#include <string.h>

#include "numbers.h"
#include "output.h"
#include "tables.h"

static bool properties_of(const nay_sst *table, nay_sst_properties *p, bool *internal) {
  nay_sst_info info = {.size = sizeof info};
  *p = (nay_sst_properties){.size = sizeof *p};
  nay_sst_stats(table, &info);
  *internal = info.keys == NAY_SST_KEYS_INTERNAL;
  if (info.properties != NULL) *p = *info.properties;
  return info.properties != NULL;
}

void table_properties_text(const nay_sst *table) {
  nay_sst_properties p;
  bool internal;
  char count[NUMBER_TEXT], keys[NUMBER_TEXT], values[NUMBER_TEXT], low[80], high[80];
  if (!properties_of(table, &p, &internal)) return;
  out_text("  states   %s %s", count_text((double)p.nentries, count),
           p.nentries == 1 ? "entry" : "entries");
  if (internal) out_text(", of them %s", COUNTED(p.ndeletions, "deletion"));
  if (p.nmerges != 0) out_text(" and %s", COUNTED(p.nmerges, "merge operand"));
  out_text("; keys of %s, values of %s", size_text(p.key_bytes, keys),
           size_text(p.value_bytes, values));
  out_text("\n");
  if (p.nentries == 0) return;
  if (internal) {
    out_text("           sequence numbers %llu to %llu\n", (unsigned long long)p.smallest_sequence,
             (unsigned long long)p.largest_sequence);
  }
  out_text("           first key %s, last key %s\n",
           escape_text(p.smallest, p.smallest_len, low, sizeof low),
           escape_text(p.largest, p.largest_len, high, sizeof high));
}

void table_properties_json(const nay_sst *table) {
  nay_sst_properties p;
  bool internal;
  if (!properties_of(table, &p, &internal)) return;
  json_count("stated_nentries", p.nentries);
  json_count("stated_nbytes_keys", p.key_bytes);
  json_count("stated_nbytes_values", p.value_bytes);
  if (internal) {
    json_count("stated_ndeletions", p.ndeletions);
    json_count("stated_nmerges", p.nmerges);
    json_count("stated_sequence_low", p.smallest_sequence);
    json_count("stated_sequence_high", p.largest_sequence);
  }
  if (p.nentries == 0) return;
  json_bytes("stated_smallest", p.smallest, p.smallest_len);
  json_bytes("stated_largest", p.largest, p.largest_len);
}

/* ---- checking ---- */

typedef struct properties_walk {
  const nay_sst_properties *stated;
  nay_sst_properties seen; /* sums; the keys are compared as they pass */
  bool internal;
  bool first_key, last_key; /* are the stated ones */
} properties_walk;

static bool same_key(const void *a, size_t a_len, const void *b, size_t b_len) {
  return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static void walk_entry(properties_walk *w, const void *key, size_t len, size_t value_len) {
  nay_sst_properties *seen = &w->seen;
  nay_sst_entry v = {.size = sizeof v, .key = key, .len = len};
  seen->key_bytes += len;
  seen->value_bytes += value_len;
  if (w->internal && nay_sst_key_split(key, len, &v) == NAY_OK) {
    seen->ndeletions += v.type == NAY_SST_DELETE;
    seen->nmerges += v.type == NAY_SST_MERGE;
    if (seen->nentries == 0 || v.sequence < seen->smallest_sequence) {
      seen->smallest_sequence = v.sequence;
    }
    if (v.sequence > seen->largest_sequence) seen->largest_sequence = v.sequence;
  }
  if (seen->nentries++ == 0) {
    w->first_key = same_key(v.key, v.len, w->stated->smallest, w->stated->smallest_len);
  }
  w->last_key = same_key(v.key, v.len, w->stated->largest, w->stated->largest_len);
}

static nay_status walk_all(properties_walk *w, const nay_sst *table) {
  nay_sst_iter *it;
  nay_status status = nay_sst_iter_new(table, NULL, &it);
  if (status != NAY_OK) return status;
  for (status = nay_sst_iter_first(it); status == NAY_OK; status = nay_sst_iter_next(it)) {
    size_t len, value_len;
    const void *key = nay_sst_iter_key(it, &len);
    (void)nay_sst_iter_value(it, &value_len);
    walk_entry(w, key, len, value_len);
  }
  nay_sst_iter_free(it);
  return status == NAY_EEND ? NAY_OK : status;
}

void table_properties_verify(const char *path, const nay_sst *table) {
  nay_sst_properties p;
  properties_walk w = {.stated = &p, .first_key = true, .last_key = true};
  if (!properties_of(table, &p, &w.internal)) return;
  nay_status status = walk_all(&w, table);
  if (status != NAY_OK) table_die(path, status, NULL);
  const struct {
    const char *what;
    uint64_t stated, seen;
  } rows[] = {{"entries", p.nentries, w.seen.nentries},
              {"deletions", p.ndeletions, w.seen.ndeletions},
              {"merge operands", p.nmerges, w.seen.nmerges},
              {"bytes of keys", p.key_bytes, w.seen.key_bytes},
              {"bytes of values", p.value_bytes, w.seen.value_bytes},
              {"as smallest sequence number", p.smallest_sequence, w.seen.smallest_sequence},
              {"as largest sequence number", p.largest_sequence, w.seen.largest_sequence}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].stated == rows[i].seen) continue;
    die(EXIT_DAMAGED, "%s: states %llu %s, has %llu", path, (unsigned long long)rows[i].stated,
        rows[i].what, (unsigned long long)rows[i].seen);
  }
  if (!w.first_key || !w.last_key) {
    die(EXIT_DAMAGED, "%s: its %s key is not the one it states", path,
        w.first_key ? "last" : "first");
  }
}
