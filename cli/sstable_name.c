/*
 * sstable_name.c - see sstable_name.h. Names are
 *
 *   nb-1-big-Filter.db          VERSION-ID-FORMAT-Filter.db, since 2.2 (la)
 *   ks-table-ka-1-Filter.db     KEYSPACE-TABLE-VERSION-ID-Filter.db before
 *
 * and versions are two letters in the order of time. Those before jb are not known here.
 */
#include "sstable_name.h"

#include <string.h>

#define NAME_PARTS 4

static bool name_ends(const char *name, size_t len, const char *end) {
  size_t n = strlen(end);
  return len >= n && memcmp(name + len - n, end, n) == 0;
}

/* The last parts of the first len bytes, which "-" separates; the last one first. */
static size_t name_parts(const char *name, size_t len, const char *at[NAME_PARTS],
                         size_t lens[NAME_PARTS]) {
  size_t n = 0;
  for (size_t end = len, i = len; n < NAME_PARTS; i--) {
    if (i != 0 && name[i - 1] != '-') continue;
    at[n] = name + i;
    lens[n++] = end - i;
    if (i == 0) break;
    end = i - 1;
  }
  return n;
}

static bool name_is(const char *at, size_t len, const char *text) {
  return len == strlen(text) && memcmp(at, text, len) == 0;
}

const nay_format *sstable_name_format(const char *path) {
  static const char suffix[] = "-Filter.db";
  const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
  size_t len = strlen(name), lens[NAME_PARTS];
  const char *at[NAME_PARTS];
  if (!name_ends(name, len, suffix)) return NULL;
  size_t n = name_parts(name, len - strlen(suffix), at, lens);
  bool bti = name_is(at[0], lens[0], "bti"), states = bti || name_is(at[0], lens[0], "big");
  size_t version = states ? 2 : 1;
  if (states ? n != 3 : n != 4) return NULL; /* VERSION-ID-FORMAT; ..-TABLE-VERSION-ID */
  const char *v = at[version];
  for (size_t i = 0; i < 2; i++) {
    if (lens[version] != 2 || v[i] < 'a' || v[i] > 'z') return NULL;
  }
  if (bti) return nay_format_find("cassandra");
  if (memcmp(v, "jb", 2) < 0) return NULL;
  return nay_format_find(memcmp(v, "ma", 2) < 0   ? "cassandra-old-swapped"
                         : memcmp(v, "na", 2) < 0 ? "cassandra-old"
                                                  : "cassandra");
}
