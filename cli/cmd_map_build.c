/* cmd_map_build.c - nay map build: rows of keys and values in, a static map out. */
#include <stdlib.h>
#include <string.h>

#include "bads.h"
#include "described.h"
#include "filterfile.h"
#include "maps.h"
#include "numbers.h"
#include "outfile.h"
#include "places.h"

typedef struct build {
  const map_options *o;
  nay_builder *builder;
  uint64_t all; /* every bit that a value has */
  row_places places;
  const char *unit; /* of their lines */
} build;

static nay_params build_params(const map_options *o) {
  nay_params p = size_params(&o->size, NULL, 0.01); /* for the seed */
  nay_params params = {
      .size = sizeof params, .kind = NAY_MAP, .seed = p.seed, .threads = keys_threads(&o->keys)};
  if (o->value_bits > 64) die(EXIT_TROUBLE, "-r: at most 64 bits");
  if (o->check_bits + (o->value_bits != 0 ? o->value_bits : 1) > 64) {
    die(EXIT_TROUBLE, "--check: at most 64 bits together with those of the value");
  }
  params.value_bits = (uint32_t)o->value_bits;
  params.check_bits = (uint32_t)o->check_bits;
  if (filterfile_secret(o->secret, params.key)) params.hash = NAY_HASH_SIPHASH;
  if (o->secret != NULL && o->size.seed != NULL) {
    die(EXIT_TROUBLE, "--seed is for the hash without a key: --secret excludes it");
  }
  if (o->store_key && o->secret == NULL) die(EXIT_TROUBLE, "--store-key needs --secret");
  if (o->store_key) params.flags |= NAY_STORE_KEY;
  return params;
}

/* ---- rows ---- */

static void build_add(void *ctx, const map_row *row) {
  build *b = ctx;
  uint64_t bits = b->o->value_bits;
  if (bits != 0 && bits < 64 && row->value >> bits != 0) {
    die(EXIT_TROUBLE, ROW_PLACE ": %llu needs more than the %llu bits of -r", ROW_PLACE_OF(row),
        (unsigned long long)row->value, (unsigned long long)bits);
  }
  if (nay_builder_add_value(b->builder, row->key, row->len, row->value) != NAY_OK) {
    die(EXIT_TROUBLE, "out of memory");
  }
  places_add(&b->places, row->file, row->line);
  b->unit = row->unit;
  b->all |= row->value;
}

/* ---- the map ---- */

static void build_check_bits(const build *b) {
  uint64_t bits = b->o->value_bits;
  for (uint64_t all = b->all; bits < 64 && b->o->value_bits == 0 && all != 0; all >>= 1) bits++;
  if (b->o->check_bits + bits <= 64) return;
  die(EXIT_TROUBLE, "--check: at most %llu bits, since the values have %llu",
      (unsigned long long)(64 - bits), (unsigned long long)bits);
}

static nay_filter *build_finish(build *b) {
  nay_filter *map;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  build_check_bits(b);
  nay_status status = nay_builder_finish(b->builder, &diag, &map);
  if (status == NAY_EINVAL) { /* the options are checked: it names a pair */
    row_place at = places_of(&b->places, diag.offset);
    die(EXIT_TROUBLE, ROW_PLACE ": an earlier row has the same key and another value", at.file,
        b->unit, (unsigned long long)at.line);
  }
  if (status != NAY_OK) {
    die(EXIT_TROUBLE, "cannot build this map: %s", diag_text(status, &diag, why));
  }
  return map;
}

static nay_status build_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  nay_filter *const *map = ctx;
  return nay_filter_encode_stream(*map, sink, sink_ctx);
}

static void build_report(const map_options *o, const char *out, const nay_filter *map,
                         uint64_t nrows) {
  char size[NUMBER_TEXT];
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(map, &s);
  if (o->common.json) {
    json_begin("nay.map.build/1");
    json_text("file", out);
    json_count("nkeys", nrows);
    json_count("nbad", bads_count());
    json_count("ndistinct", s.nkeys);
    json_count("value_bits", s.value_bits);
    json_count("check_bits", s.check_bits);
    json_count("nbytes", nay_filter_encoded_size(map));
    json_real("bits_per_key", map_bits_per_key(&s));
    json_end();
    return;
  }
  message("built %s: %s, values of %s, check %s, %s",
          strcmp(out, "-") == 0 ? "standard output" : out, COUNTED(s.nkeys, "key"),
          COUNTED(s.value_bits, "bit"), COUNTED(s.check_bits, "bit"),
          size_text(nay_filter_encoded_size(map), size));
}

int map_build(map_options *o) {
  const char *out = o->output.path != NULL ? o->output.path : "-";
  outfile_may_write(out, o->output.force);
  nay_params params = build_params(o);
  build b = {.o = o};
  if (nay_builder_new(&params, NULL, NULL, &b.builder) != NAY_OK) {
    die(EXIT_TROUBLE, "out of memory");
  }
  map_rows(&o->common, &o->keys, (const char *const *)o->common.operands + 1,
           (size_t)o->common.noperands - 1, false, build_add, &b);
  nay_filter *map = build_finish(&b);
  nay_builder_free(b.builder);
  free(b.places.runs);
  if (o->keys.form != 0) described_own();
  if (nay_filter_set_key(map, described_key(&o->keys)) != NAY_OK) {
    die(EXIT_TROUBLE, "cannot store --key");
  }
  if (o->meta != NULL && nay_filter_set_meta(map, o->meta, strlen(o->meta)) != NAY_OK) {
    die(EXIT_TROUBLE, "cannot store --meta");
  }
  outfile_write(out, o->store_key ? NAY_FILE_PRIVATE : 0, build_produce, &map);
  build_report(o, out, map, b.places.nrows);
  nay_filter_free(map);
  return EXIT_FOUND;
}
