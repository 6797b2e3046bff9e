/* lists.c - see lists.h. */
#include "lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "filterfile.h"
#include "numbers.h"

/* ---- keys ---- */

keys_options list_style(const list_options *o) {
  keys_options style = o->keys;
  if (o->partition == NULL) return style;
  bool columns = style.csv || style.tsv || style.jsonl || style.separator != NULL;
  if (style.args.n > 0) die(EXIT_TROUBLE, "--partition names a column of files: it excludes -e");
  if (!columns && style.column == NULL) {
    die(EXIT_TROUBLE, "--partition names a column: give --csv, --tsv, --jsonl, -F or -k, too");
  }
  if (style.on_bad == ON_BAD_LINE) {
    die(EXIT_TROUBLE, "--on-bad=line: a record has a partition, too");
  }
  if (strcmp(described_key(&o->keys), "text") != 0) {
    die(EXIT_TROUBLE, "--partition is for keys of type text");
  }
  style.values = style.value_is_partition = true;
  style.value = o->partition;
  return style;
}

/* Memory for all keys, so that it does not move. */
static void list_keys_room(list_keys *keys, const key_batch *b) {
  size_t need = 1;
  for (size_t i = 0; i < b->n; i++) need += b->value_lens[i] + b->lens[i] + 1;
  if (need <= keys->cap) return;
  keys->cap = need + need / 2;
  keys->bytes = must_grow(keys->bytes, keys->cap);
}

void list_keys_of(list_keys *keys, const list_options *o, const key_batch *b) {
  keys->at = b->keys;
  keys->lens = b->lens;
  if (o->partition == NULL) return;
  list_keys_room(keys, b);
  uint8_t *to = keys->bytes;
  for (size_t i = 0; i < b->n; i++) {
    const uint8_t *part = b->values[i];
    size_t part_len = b->value_lens[i];
    keys->made[i] = to;
    keys->made_lens[i] = part_len + 1 + b->lens[i];
    if (part_len != 0) memcpy(to, part, part_len);
    to[part_len] = LIST_TAB;
    if (b->lens[i] != 0) memcpy(to + part_len + 1, b->keys[i], b->lens[i]);
    to += keys->made_lens[i];
  }
  keys->at = keys->made;
  keys->lens = keys->made_lens;
}

int list_read(const list_options *o, const text_list *files, bool answers, list_each *each,
              void *ctx) {
  keys_options style = list_style(o);
  style.line_number = true;
  if (o->again) bads_mute();
  if (o->again && style.on_bad == ON_BAD_REPORT) style.on_bad = ON_BAD_SKIP;
  list_keys *keys = must_alloc(sizeof *keys);
  keys->bytes = NULL;
  keys->cap = 0;
  const char *const *paths = (const char *const *)files->at;
  key_stream *s =
      answers ? stream_open_to_answer(&o->common, &style, paths, files->n, NULL, ON_BAD_REPORT)
              : stream_open(&o->common, &style, paths, files->n, NULL);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    list_keys_of(keys, o, b);
    each(ctx, b, keys);
  }
  int status = stream_status(s);
  stream_close(s);
  free(keys->bytes);
  free(keys);
  return status;
}

/* ---- lists ---- */

/* A pipe is read once, as keys. A native file that is no list, or damaged, holds no keys. */
bool list_is_file(const char *path, const char *secret) {
  if (!filterfile_is_regular(path)) return false;
  map_file file = map_try(path, NAY_LIST, secret);
  nay_filter_free(file.map);
  if (file.map != NULL) return true;
  filter_options any = {.format = NULL};
  filter_file other = filterfile_try(path, &any);
  nay_filter_free(other.filter);
  if (other.format == NULL || other.likely) return false;
  die(file.status, "%s: %s", path, file.why);
}

static void list_must_follow(const char *path, const nay_stats *s, const char *before,
                             const nay_stats *last) {
  if (before == NULL && s->list_base != 0) {
    die(EXIT_TROUBLE, "%s is a delta: give the list that it changes before it", path);
  }
  if (before != NULL && s->list_base != last->list_id) {
    die(EXIT_TROUBLE,
        s->list_base == 0 ? "%s is a list, not a delta of %s"
                          : "%s is a delta of another list than %s",
        path, before);
  }
}

list_chain list_open(list_options *o, const char *const *paths, size_t n) {
  list_chain c = {.paths = paths, .n = n, .lists = must_alloc(n * sizeof *c.lists)};
  for (size_t i = 0; i < n; i++) {
    nay_stats s = {.size = sizeof s};
    c.lists[i] = map_open(paths[i], NAY_LIST, o->secret);
    nay_filter_stats(c.lists[i], &s);
    list_must_follow(paths[i], &s, i > 0 ? paths[i - 1] : NULL, &c.last);
    c.last = s;
    if (i == 0) c.first = s;
    described_by(&o->keys, paths[i], nay_filter_key(c.lists[i]));
  }
  if (o->partition != NULL && c.first.list_delimiter != LIST_TAB) {
    die(EXIT_TROUBLE, "%s was built without --partition", paths[0]);
  }
  return c;
}

void list_close(list_chain *c) {
  for (size_t i = 0; i < c->n; i++) nay_filter_free(c->lists[i]);
  free(c->lists);
}

void list_answer(const list_chain *c, const void *const *keys, const size_t *lens, size_t n,
                 uint64_t *listed, uint64_t *known) {
  static uint64_t values[BATCH_KEYS];
  memset(listed, 0, (n + 63) / 64 * sizeof *listed);
  for (size_t k = 0; k < c->n; k++) {
    nay_status status = nay_filter_get_many(c->lists[k], keys, lens, n, values, known);
    if (status != NAY_OK) die(exit_of(status), "%s: %s", c->paths[k], nay_status_text(status));
    for (size_t i = 0; i < n; i++) listed[i / 64] ^= values[i] << i % 64;
    for (size_t w = 0; w < (n + 63) / 64; w++) {
      known[w] &= word_mask(n, w);
      listed[w] &= known[w]; /* an unknown key is not listed, also for the next list */
    }
  }
}
