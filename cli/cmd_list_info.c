/* cmd_list_info.c - nay list info and verify: what a list is, and whether it answers a universe
 * right. */
#include <stdio.h>
#include <string.h>

#include "bads.h"
#include "described.h"
#include "exact.h"
#include "hashers.h"
#include "lists.h"
#include "numbers.h"
#include "select.h"

/* ---- info ---- */

#define LIST_ID 17
static const char *list_id(uint64_t id, char text[LIST_ID]) {
  snprintf(text, LIST_ID, "%016llx", (unsigned long long)id);
  return text;
}

static void info_json(const char *path, const nay_filter *list, const nay_stats *s) {
  char text[LIST_ID];
  size_t len;
  const uint8_t *meta = nay_filter_meta(list, &len);
  json_begin("nay.list.info/1");
  json_text("file", path);
  json_count("ndistinct", s->nkeys);
  json_count("nlisted", s->nlisted);
  json_count("npartitions", s->npartitions);
  json_count("nexceptions", s->nexceptions);
  json_count("check_bits", s->check_bits);
  json_count("nbytes", nay_filter_encoded_size(list));
  json_count("nbits", s->nbits);
  json_count("nbits_bound", s->list_bound);
  json_real("bits_per_listed", list_bits_per_listed(s, s->nbits));
  json_real("bits_per_listed_bound", list_bits_per_listed(s, s->list_bound));
  json_text("id", list_id(s->list_id, text));
  if (s->list_base != 0) json_text("base", list_id(s->list_base, text));
  json_text("hash", nay_hash_name(s->hash));
  json_described(nay_filter_key(list));
  json_bool("locked", s->locked);
  if (meta != NULL) json_bytes("meta", meta, len);
  json_text("checksum", "ok");
  json_end();
}

static void info_partitions(const nay_stats *s) {
  const char *count = COUNTED(s->npartitions, "partition");
  if (s->list_prefix != 0) {
    out_text("  parts    %s: the first %s of a key\n", count, COUNTED(s->list_prefix, "byte"));
  } else if (s->list_delimiter == LIST_TAB) {
    out_text("  parts    %s: what a key has before its first tab\n", count);
  } else if (s->list_delimiter != 0) {
    char text[8];
    uint8_t byte = (uint8_t)s->list_delimiter;
    out_text("  parts    %s: what a key has before its first '%s'\n", count,
             escape_text(&byte, 1, text, sizeof text));
  }
}

static void info_text(const char *path, const nay_filter *list, const nay_stats *s) {
  char a[NUMBER_TEXT], text[LIST_ID], meta_text[200];
  size_t len;
  const uint8_t *meta = nay_filter_meta(list, &len);
  const char *outside = s->check_bits == 0 ? LIST_WARNING : "";
  out_text("%s: an exact list%s%s%s\n", path, s->list_base != 0 ? ", a delta" : "",
           s->check_bits == 0 ? "; " : "", outside);
  out_text("  universe %s\n", COUNTED(s->nkeys, "key"));
  out_text("  %s  %s\n", s->list_base != 0 ? "changed" : "listed ",
           count_text((double)s->nlisted, a));
  info_partitions(s);
  if (s->check_bits != 0) {
    out_text("  check    %s: a key outside the universe is unknown, but for %s of them\n",
             COUNTED(s->check_bits, "bit"), fpr_text(s->fpr_now, a));
  }
  out_text("  size     %s\n", size_text(nay_filter_encoded_size(list), a));
  out_text("  payload  %s, %.4g per listed key\n", COUNTED(s->nbits, "bit"),
           list_bits_per_listed(s, s->nbits));
  out_text("  bound    %s, %.4g per listed key\n", COUNTED(s->list_bound, "bit"),
           list_bits_per_listed(s, s->list_bound));
  if (s->nexceptions != 0) {
    out_text("  apart    %s whose hashes collide\n", COUNTED(s->nexceptions, "key"));
  }
  out_text("  hash     %s%s\n", nay_hash_name(s->hash), s->locked ? ", the key is not given" : "");
  if (!nay_key_description_same(nay_filter_key(list), "text")) {
    out_text("  key type %s\n", nay_filter_key(list));
  }
  out_text("  id       %s\n", list_id(s->list_id, text));
  if (s->list_base != 0) out_text("  base     %s\n", list_id(s->list_base, text));
  if (meta != NULL)
    out_text("  note     %s\n", escape_text(meta, len, meta_text, sizeof meta_text));
}

static void info_failed(const char *path, const map_file *file, const char *schema, bool verify) {
  json_begin(schema);
  json_text("file", path);
  json_text("checksum", file->why);
  if (verify) json_bool("ok", false);
  json_end();
}

/* Goes on after a file that cannot be read, as nay info does. */
int list_info(list_options *o) {
  int worst = EXIT_FOUND;
  if (o->common.noperands < 2) die(EXIT_TROUBLE, "missing operand: a list");
  for (int i = 1; i < o->common.noperands; i++) {
    const char *path = o->common.operands[i];
    map_file file = map_try(path, NAY_LIST, o->secret);
    worst = exit_worse(worst, file.status);
    if (file.map == NULL) {
      if (o->common.json) info_failed(path, &file, "nay.list.info/1", false);
      map_tell(path, &file);
      continue;
    }
    if (o->common.json) info_json(path, file.map, &file.stats);
    if (!o->common.json) info_text(path, file.map, &file.stats);
    nay_filter_free(file.map);
  }
  out_flush();
  return worst;
}

/* ---- verify ---- */

typedef struct verify {
  const list_options *o;
  list_chain chain;
  exact_set *listed, *universe; /* universe: NULL unless distinct keys are to be counted */
  nay_hasher hasher;
  uint64_t nkeys, nwrong,
      nlisted; /* of the universe; nlisted: distinct keys that are answered so */
  int reading;
} verify;

static uint64_t verify_hash(const verify *v, const void *key, size_t len) {
  nay_hash hash = {0, 0};
  nay_hasher_hash(&v->hasher, key, len, &hash);
  return hash.lo;
}

static void verify_wrong(verify *v, const key_batch *b, size_t i, const char *is) {
  char text[80];
  size_t len;
  if (v->nwrong++ >= 5) return;
  const uint8_t *key = batch_text(b, i, &len);
  message_error("%s: line %llu: '%s' is %s", map_name(b->path), (unsigned long long)b->lines[i],
                escape_text(key, len, text, sizeof text), is);
}

static void verify_listed(void *ctx, const key_batch *b, const list_keys *keys) {
  verify *v = ctx;
  for (size_t i = 0; i < b->n; i++) {
    uint64_t hash = verify_hash(v, keys->at[i], keys->lens[i]);
    exact_add(v->listed, keys->at[i], keys->lens[i], hash);
  }
}

static void verify_universe(void *ctx, const key_batch *b, const list_keys *keys) {
  verify *v = ctx;
  uint64_t listed[BATCH_WORDS], known[BATCH_WORDS];
  list_answer(&v->chain, keys->at, keys->lens, b->n, listed, known);
  for (size_t i = 0; i < b->n; i++) {
    bool yea = is_selected(listed, i);
    uint64_t hash = verify_hash(v, keys->at[i], keys->lens[i]);
    v->nkeys++;
    if (exact_add(v->universe, keys->at[i], keys->lens[i], hash)) v->nlisted += yea;
    if (!is_selected(known, i)) {
      verify_wrong(v, b, i, "unknown");
    } else if (v->listed != NULL && exact_see(v->listed, keys->at[i], keys->lens[i], hash) != yea) {
      verify_wrong(v, b, i, yea ? "answered as listed" : "answered as not listed");
    }
  }
}

/* Without the listed keys the numbers are compared: those of the last list know of all keys. */
static bool verify_counts(const verify *v) {
  const nay_stats *s = &v->chain.last;
  uint64_t n = exact_count(v->universe);
  if (n != s->nkeys) {
    message_error("%s distinct in these files, and the list was built of %s", COUNTED(n, "key"),
                  COUNTED(s->nkeys, "key"));
    return false;
  }
  if (v->listed != NULL || v->chain.n > 1 || v->nlisted == s->nlisted) return true;
  message_error("%s listed, and the list was built with %s", COUNTED(v->nlisted, "key"),
                COUNTED(s->nlisted, "key"));
  return false;
}

static void verify_json(const verify *v, const char *path, bool ok) {
  json_begin("nay.list.verify/1");
  json_text("file", path);
  json_text("checksum", "ok");
  if (v->universe != NULL) {
    json_count("nkeys", v->nkeys);
    json_count("ndistinct", exact_count(v->universe));
    json_count("nlisted", v->nlisted);
    json_count("nwrong", v->nwrong);
    json_count("nbad", bads_count());
  }
  json_bool("ok", ok);
  json_end();
}

static void verify_text(const verify *v, bool ok) {
  char wrong[NUMBER_TEXT];
  if (v->o->common.quiet) return;
  for (size_t i = 0; i < v->chain.n; i++) {
    out_text("%s: intact, every checksum matches\n", v->chain.paths[i]);
  }
  if (v->universe == NULL) return;
  out_text("%s: %s, %s wrong%s\n", v->chain.paths[v->chain.n - 1], COUNTED(v->nkeys, "key"),
           count_text((double)v->nwrong, wrong),
           !ok && v->nwrong == 0 && v->reading == EXIT_FOUND ? "; another universe" : "");
}

/* Damage is reported before the lists are probed. */
static int verify_files(const list_options *o, const char *const *paths, size_t n) {
  for (size_t i = 0; i < n; i++) {
    map_file file = map_try(paths[i], NAY_LIST, o->secret);
    nay_filter_free(file.map);
    if (file.map != NULL) continue;
    if (o->common.json) info_failed(paths[i], &file, "nay.list.verify/1", true);
    map_tell(paths[i], &file);
    return file.status;
  }
  return EXIT_FOUND;
}

static bool verify_keys(verify *v, list_options *o) {
  v->universe = exact_new();
  v->hasher = filter_hasher(v->chain.lists[0]);
  if (o->keys.files.n > 0) {
    v->listed = exact_new();
    v->reading = list_read(o, &o->keys.files, true, verify_listed, v);
  }
  v->reading = exit_worse(v->reading, list_read(o, &o->universe, true, verify_universe, v));
  if (v->reading != EXIT_FOUND) return false;
  uint64_t outside = v->listed != NULL ? exact_count(v->listed) - exact_nseen(v->listed) : 0;
  if (outside != 0) message_error("%s not of the universe", COUNTED(outside, "listed key"));
  bool same = verify_counts(v);
  return same && outside == 0 && v->nwrong == 0;
}

int list_verify(list_options *o) {
  size_t n = (size_t)o->common.noperands - 1;
  const char *const *paths = (const char *const *)o->common.operands + 1;
  if (n == 0) die(EXIT_TROUBLE, "missing operand: a list");
  if (o->keys.files.n > 0 && o->universe.n == 0) {
    die(EXIT_TROUBLE, "--keys are the listed keys of a universe: give --universe FILE, too");
  }
  for (size_t i = 0; i < n && n > 1; i++) {
    if (strcmp(paths[i], "-") == 0)
      die(EXIT_TROUBLE, "standard input is one list: name the others");
  }
  int status = n > 1 || strcmp(paths[0], "-") != 0 ? verify_files(o, paths, n) : EXIT_FOUND;
  if (status != EXIT_FOUND) return status;
  verify v = {.o = o, .chain = list_open(o, paths, n), .reading = EXIT_FOUND};
  bool ok = o->universe.n == 0 || verify_keys(&v, o);
  if (o->common.json) verify_json(&v, paths[n - 1], ok);
  if (!o->common.json) verify_text(&v, ok);
  out_flush();
  if (v.universe != NULL) exact_free(v.universe);
  if (v.listed != NULL) exact_free(v.listed);
  list_close(&v.chain);
  return exit_worse(ok ? EXIT_FOUND : EXIT_NONE, v.reading);
}
