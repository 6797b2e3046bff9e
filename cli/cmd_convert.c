/* cmd_convert.c - nay convert: from one layout to another, when the hash allows it. */
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "filterfile.h"
#include "maker.h"
#include "outfile.h"

typedef struct convert_options {
  options common;
  filter_options filter;
  keys_options keys;
  output_options output;
  const nay_format *to;
} convert_options;

/* Of RocksDB's layouts any name writes all, each as it is: then it is not converted. */
static bool convert_is(const nay_format *to, const uint8_t *bytes, size_t len) {
  nay_filter *made;
  if (nay_format_decode(to, bytes, len, 0, NULL, NULL, &made) != NAY_OK) return false;
  bool is = nay_filter_format(made) == to;
  nay_filter_free(made);
  return is;
}

/* Layouts with the same hash may still place bits differently: only the library knows. */
static bool convert_bytes(const nay_format *to, const nay_filter *f, const char *out) {
  size_t size = nay_format_encoded_size(to, f), len = 0;
  if (nay_filter_format(f) == to) {
    filterfile_save(f, out);
    return true;
  }
  if (size == 0) return false;
  uint8_t *bytes = must_alloc(size);
  nay_status status = nay_format_encode(to, f, bytes, size, &len);
  bool done = status == NAY_OK && convert_is(to, bytes, len);
  if (done) outfile_save(bytes, len, out);
  free(bytes);
  return done;
}

/*
 * Takes hash, seed and secret key of the old filter, so that a keyed filter stays keyed. A static
 * filter has no nay_params: its secret comes from the options.
 */
static void convert_hash(const convert_options *o, const nay_filter *f, nay_params *p) {
  nay_params old = {.size = sizeof old};
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  if (s.stores_key) p->flags |= NAY_STORE_KEY;
  if (nay_filter_params(f, &old) == NAY_OK) {
    p->hash = old.hash;
    p->seed = old.seed;
    memcpy(p->key, old.key, sizeof p->key);
  } else if (s.hash == NAY_HASH_SIPHASH) {
    p->hash = s.hash;
    if (!filterfile_secret(o->filter.secret, p->key))
      die(EXIT_TROUBLE, "a keyed filter: give its --secret");
  }
}

/* The old family, where it is sized by bits per key, or the one that auto picks. */
static nay_kind convert_kind(const nay_filter *f) {
  nay_params p = {sizeof p, .kind = nay_filter_kind(f), .nkeys = 1000000, .bits_per_key = 16};
  nay_plan plan = {.size = sizeof plan};
  bool sized = p.kind != NAY_WINDOW && nay_params_plan(&p, NULL, &plan) == NAY_OK;
  return sized ? p.kind : NAY_AUTO;
}

/* The old number of bits per key, in the terms of the new layout; the keys are yet to be read. */
static nay_params convert_params(const convert_options *o, const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  nay_params p = {.size = sizeof p};
  double bits = stats_bits_per_key(&s);
  if (!(bits > 0)) bits = 10; /* an empty filter without a plan */
  bool native = strcmp(nay_format_name(o->to), "nay") == 0;
  if (native) p.kind = convert_kind(f);
  if (native && nay_filter_format(f) == o->to) convert_hash(o, f, &p);
  p.bits_per_key = native ? bits : (double)(uint64_t)(bits + 0.5);
  if (p.bits_per_key < 1) p.bits_per_key = 1;
  double most = native && s.nkeys != 0 ? 4096 : 40;
  if (p.bits_per_key > most) p.bits_per_key = most;
  return p;
}

/* The filter is unchanged, in another layout. */
static void convert_report(const convert_options *o, const nay_filter *f, const char *out,
                           const promise *p) {
  if (!o->common.json) {
    message("wrote %s as %s", out, nay_format_name(o->to));
    return;
  }
  json_begin("nay.convert/1");
  json_text("file", out);
  json_text("from", nay_format_name(nay_filter_format(f)));
  json_filter(f, o->to, nay_format_encoded_size(o->to, f), p);
  json_end();
}

/* The note of the old filter goes with it, where the new layout has room for one. */
static void convert_note(const nay_filter *from, nay_filter *made, const nay_format *to) {
  size_t len = 0;
  const void *note = nay_filter_meta(from, &len);
  if (len == 0 || (nay_format_traits(to) & NAY_FORMAT_NOTE) != 0) {
    if (len != 0 && made != NULL && nay_filter_set_meta(made, note, len) != NAY_OK)
      die(EXIT_TROUBLE, "cannot store the note of the filter");
    return;
  }
  message("the note of the filter is not kept: files of %s have no place for one",
          nay_format_name(to));
}

static int convert_run(options *common) {
  convert_options *o = (convert_options *)common;
  if (o->to == NULL) die(EXIT_TROUBLE, "give the layout to write: --to NAME");
  const char *out = o->output.path != NULL ? o->output.path : "-", *in = o->common.operands[0];
  outfile_may_write(out, o->output.force);
  outfile_lock(out);
  nay_filter *f = filterfile_open(&o->common, &o->filter, in);
  const nay_format *from = nay_filter_format(f);
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  if (o->keys.files.n > 0 || described_is_given(&o->keys)) described_filter(&o->keys, in, f);
  if (o->keys.files.n == 0 && convert_bytes(o->to, f, out)) {
    promise p = promise_judge(f, 0);
    convert_note(f, NULL, o->to);
    if (from != o->to) describe_not(nay_filter_key(f), nay_format_name(o->to));
    convert_report(o, f, out, &p);
    nay_filter_free(f);
    return promise_tell(&o->common, out, &p, NULL, EXIT_FOUND);
  }
  if (o->keys.files.n == 0) {
    die(EXIT_TROUBLE,
        "cannot convert %s (%s, hash %s) to %s, which uses another hash; "
        "it can be rebuilt from the keys: --keys FILE",
        in, nay_format_name(from), nay_hash_name(s.hash), nay_format_name(o->to));
  }
  nay_params p = convert_params(o, f);
  uint64_t nkeys;
  nay_filter *made =
      make_filter(&o->common, &o->keys, o->to, &p, o->keys.files.at, o->keys.files.n, &nkeys);
  convert_note(f, made, o->to);
  describe_filter(&o->keys, made);
  filterfile_save(made, out);
  int status = filterfile_report(&o->common, "rebuilt as", out, made, nkeys, 0);
  nay_filter_free(made);
  nay_filter_free(f);
  return status;
}

static const option_row convert_rows[] = {
    {"to", 0, "NAME", FORMAT_AT(convert_options, to), .help = "layout to write"},
    {0},
};
static const option_use convert_uses[] = {
    TAKES(convert_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(convert_options, keys, KEYS_FILES | KEYS_STYLE),
    TAKES(convert_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_convert = {
    .name = "convert",
    .run = convert_run,
    .size = sizeof(convert_options),
    .summary = "rewrite a filter in another layout",
    .operands = "--to NAME FILTER -o FILE",
    .min_operands = 1,
    .max_operands = 1,
    .changes = 1,
    .to_stdout = true,
    .own = convert_rows,
    .uses = convert_uses,
    .about =
        "A filter stores hashes, not keys. It can be rewritten only if the other layout uses the "
        "same hash in the same way. Most systems have a hash of their own; the command then says "
        "so and exits with status 2. With --keys it rebuilds the filter from these keys alone in "
        "the other layout, sized for them at the old number of bits per key. A note (--meta of nay "
        "build) is kept "
        "in native files, as is the type of the keys (--key): for any other "
        "layout a message names the option that the file needs from then on. The keys of --keys "
        "are read in the type that the old filter states.",
    .examples =
        "$ seq 1000 > keys.txt\n"
        "$ nay build -q -b 10 -t bloom -o f.nay keys.txt\n"
        "$ nay convert -q --to leveldb --keys keys.txt f.nay -o f.leveldb\n"
        "$ nay check -c --format leveldb f.leveldb keys.txt\n"
        "1000\n",
};
