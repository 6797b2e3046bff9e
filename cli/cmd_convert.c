/* cmd_convert.c - nay convert: from one layout to another, when the hash allows it. */
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "filterfile.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"

typedef struct convert_options {
  options common;
  filter_options filter;
  keys_options keys;
  output_options output;
  const nay_format *to;
  bool explain;
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

#define CONVERT_BITS 24 /* enough for every layout of one size, which then takes its own */

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
  nay_plan plan = {.size = sizeof plan};
  nay_params one = p;
  one.nkeys = 1000;
  bool fits = nay_format_plan(o->to, &one, NULL, &plan) == NAY_OK;
  if (!fits && !native) p.bits_per_key = CONVERT_BITS;
  return p;
}

/* Whether filters of the new layout can be built from keys; false: `why` says why not. */
static bool convert_builds(const convert_options *o, const nay_filter *f, char why[DIAG_TEXT]) {
  nay_params p = convert_params(o, f);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  nay_builder *b = NULL;
  p.nkeys = 1000;
  p.flags = 0;
  nay_status status = nay_format_plan(o->to, &p, &diag, &plan);
  if (status != NAY_OK && status != NAY_ENOTSUP) return true; /* not in this size */
  if (status == NAY_OK) status = nay_format_builder_new(o->to, &p, NULL, &diag, &b);
  nay_builder_free(b);
  if (status == NAY_OK) return true;
  diag_text(status, &diag, why);
  return false;
}

static void convert_must_build(const convert_options *o, const nay_filter *f, const char *in) {
  char why[DIAG_TEXT];
  if (convert_builds(o, f, why)) return;
  die(EXIT_TROUBLE, "cannot convert %s to %s, not even from the keys: %s", in,
      nay_format_name(o->to), why);
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

/* ---- --explain: what would be kept and lost ---- */

/* explained: the old filter, the new one or its plan, and what becomes of the parts. */
typedef struct explained {
  const nay_filter *from, *made; /* made NULL: it cannot be without the keys */
  const nay_format *to;
  nay_stats old, now; /* `now` has the plan where nothing was made */
  uint64_t nbytes_old, nbytes_now;
  bool same_bits, had_plan, has_plan; /* the files state for how many keys they were planned */
  bool only_numbers;                  /* the new layout takes keys of 8 bytes alone */
} explained;

/* The filter in the other layout, in memory; NULL: its hash or its bits are other ones. */
static nay_filter *explain_bits(const nay_filter *f, const nay_format *to) {
  size_t size = nay_format_encoded_size(to, f), len = 0;
  nay_filter *made = NULL;
  if (size == 0) return NULL;
  uint8_t *bytes = must_alloc(size);
  if (nay_format_encode(to, f, bytes, size, &len) == NAY_OK && convert_is(to, bytes, len)) {
    (void)nay_format_decode(to, bytes, len, 0, NULL, NULL, &made);
  }
  free(bytes);
  return made;
}

/* The plan of a filter that would be built from the keys: as many as the old one seems to have. */
static bool explain_plan(const convert_options *o, explained *e) {
  nay_params p = convert_params(o, e->from);
  nay_plan plan = {.size = sizeof plan};
  p.nkeys = e->old.nkeys_estimated >= 1 ? (uint64_t)(e->old.nkeys_estimated + 0.5) : 1;
  p.flags = 0;
  if (nay_format_plan(e->to, &p, NULL, &plan) != NAY_OK) return false;
  e->now.k = plan.k;
  e->now.fpr_now = plan.fpr;
  e->now.nbits = plan.nbits;
  e->nbytes_now = plan.nbytes_file;
  return true;
}

/* Whether the file of a filter states how many keys it was planned for. */
static bool explain_states(const nay_format *format, const nay_filter *f) {
  nay_plan plan = {.size = sizeof plan};
  size_t size = nay_format_encoded_size(format, f), len = 0;
  nay_filter *read = NULL;
  uint8_t *bytes = must_alloc(size + 1);
  bool states = size != 0 && nay_format_encode(format, f, bytes, size, &len) == NAY_OK &&
                nay_format_decode(format, bytes, len, 0, NULL, NULL, &read) == NAY_OK &&
                nay_filter_plan(read, 0, NULL, &plan) == NAY_OK && plan.nkeys != 0;
  nay_filter_free(read);
  free(bytes);
  return states;
}

/* The same of a layout, by a filter of one key. */
static bool explain_layout_states(const convert_options *o, const nay_filter *from) {
  nay_params p = convert_params(o, from);
  nay_builder *b;
  nay_filter *f = NULL;
  p.flags = 0;
  if (nay_format_builder_new(o->to, &p, NULL, NULL, &b) != NAY_OK) return false;
  bool states = nay_builder_add(b, "8 bytes!", 8) == NAY_OK &&
                nay_builder_finish(b, NULL, &f) == NAY_OK && explain_states(o->to, f);
  nay_filter_free(f);
  nay_builder_free(b);
  return states;
}

/* Whether the layout refuses keys of other lengths than 8. */
static bool explain_only_numbers(const convert_options *o, const nay_filter *from) {
  nay_params p = convert_params(o, from);
  nay_builder *b;
  p.flags = 0;
  if (nay_format_builder_new(o->to, &p, NULL, NULL, &b) != NAY_OK) return false;
  nay_filter *f = NULL;
  bool refuses =
      nay_builder_add(b, "7 bytes", 7) != NAY_OK || nay_builder_finish(b, NULL, &f) != NAY_OK;
  nay_filter_free(f);
  nay_builder_free(b);
  return refuses;
}

/* One part: whether the old file has it, and whether the new one will. */
typedef struct explained_part {
  const char *name, *kept, *lost;
  bool has, keeps;
} explained_part;

#define EXPLAINED_PARTS 7

static void explain_parts(const explained *e, explained_part part[EXPLAINED_PARTS]) {
  const nay_format *from = nay_filter_format(e->from);
  bool same = e->same_bits, native = strcmp(nay_format_name(e->to), "nay") == 0;
  uint32_t has = nay_format_traits(e->to);
  size_t note;
  uint64_t seed = 0, new_seed = 0;
  (void)nay_filter_meta(e->from, &note);
  bool seeded = filterfile_seed(e->from, &seed) && seed != 0;
  bool keeps_seed = e->made != NULL && filterfile_seed(e->made, &new_seed) && new_seed == seed;
  const char *key = filter_states(e->from);
  bool keyed = e->old.locked || e->old.hash == NAY_HASH_SIPHASH;
  explained_part parts[EXPLAINED_PARTS] = {
      {"bits", "as they are", "built again, from the keys alone (--keys)", true, same},
      {"hash", "the same", "another: filters of both layouts cannot be merged", true,
       e->made != NULL && e->now.hash == e->old.hash},
      {"capacity", "the number of planned keys stays",
       "the number of planned keys: the new file does not state it", e->had_plan, e->has_plan},
      {"seed", "the same", "the seed: the hash of the new layout has none", seeded,
       keeps_seed || (native && from == e->to)},
      {"secret", "the filter stays keyed", "the secret key: anyone can choose keys that collide",
       keyed, same || (native && from == e->to)},
      {"metadata", "the note stays", "the note: the new layout has no place for one", note != 0,
       (has & NAY_FORMAT_NOTE) != 0},
      {"type", "the type of the keys stays",
       "the type of the keys: every command needs --key from then on",
       key != NULL && !nay_key_description_same(key, "text"), native},
  };
  memcpy(part, parts, sizeof parts);
}

static const char *explain_checksum(const explained *e) {
  bool had = (nay_format_traits(nay_filter_format(e->from)) & NAY_FORMAT_CHECKSUM) != 0;
  bool has = (nay_format_traits(e->to) & NAY_FORMAT_CHECKSUM) != 0;
  if (had == has) return has ? "kept" : "none before, none after";
  return has ? "gained" : "lost: corruption goes undetected";
}

static void explain_text(const explained *e) {
  explained_part part[EXPLAINED_PARTS];
  char before[NUMBER_TEXT], after[NUMBER_TEXT];
  explain_parts(e, part);
  out_text("%s to %s: %s\n", nay_format_name(nay_filter_format(e->from)), nay_format_name(e->to),
           e->same_bits      ? "without the keys"
           : e->made != NULL ? "built from the keys"
                             : "only from the keys");
  for (size_t i = 0; i < EXPLAINED_PARTS; i++) {
    if (!part[i].has) continue;
    out_text("  %-5s %-9s %s\n", part[i].keeps ? "kept" : "lost", part[i].name,
             part[i].keeps ? part[i].kept : part[i].lost);
  }
  if (e->only_numbers) out_text("  keys      only numbers, 8 bytes each: --key=long\n");
  out_text("  checksum  %s\n", explain_checksum(e));
  fpr_text(e->old.fpr_now, before);
  if (e->nbytes_now == 0) {
    out_text("  FPR       %s before; the new layout cannot have this size\n", before);
    return;
  }
  out_text("  FPR       %s before, %s after%s\n", before, fpr_text(e->now.fpr_now, after),
           e->made != NULL ? "" : ", by the plan for as many keys as it seems to hold");
  size_text(e->nbytes_old, before);
  out_text("  size      %s before, %s after\n", before, size_text(e->nbytes_now, after));
}

static void explain_json(const explained *e, const char *in) {
  explained_part part[EXPLAINED_PARTS];
  explain_parts(e, part);
  json_begin("nay.convert.explain/1");
  json_text("file", in);
  json_text("from", nay_format_name(nay_filter_format(e->from)));
  json_text("to", nay_format_name(e->to));
  json_bool("needs_keys", !e->same_bits);
  for (int keeps = 1; keeps >= 0; keeps--) {
    json_open(keeps == 1 ? "kept" : "lost", '[');
    for (size_t i = 0; i < EXPLAINED_PARTS; i++) {
      if (part[i].has && part[i].keeps == (keeps == 1)) json_text(NULL, part[i].name);
    }
    json_close();
  }
  json_real("fpr_before", e->old.fpr_now);
  if (e->nbytes_now != 0) json_real("fpr_after", e->now.fpr_now);
  if (e->nbytes_now == 0) json_null("fpr_after");
  json_count("nbytes_before", e->nbytes_old);
  if (e->nbytes_now != 0) json_count("nbytes_after", e->nbytes_now);
  if (e->nbytes_now == 0) json_null("nbytes_after");
  json_end();
}

/* Writes no file. With --keys the new filter is built to be measured. */
static int explain_run(convert_options *o, nay_filter *f, const char *in) {
  explained e = {.from = f, .to = o->to};
  e.old.size = e.now.size = sizeof e.old;
  nay_filter_stats(f, &e.old);
  e.nbytes_old = nay_format_encoded_size(nay_filter_format(f), f);
  nay_filter *made = NULL;
  if (o->keys.files.n > 0) {
    uint64_t nkeys;
    nay_params p = convert_params(o, f);
    described_filter(&o->keys, in, f);
    made = make_filter(&o->common, &o->keys, o->to, &p, o->keys.files.at, o->keys.files.n, &nkeys);
  } else {
    made = explain_bits(f, o->to);
    e.same_bits = made != NULL;
  }
  if (made == NULL) {
    convert_must_build(o, f, in);
    e.only_numbers = explain_only_numbers(o, f);
  }
  e.made = made;
  e.had_plan = explain_states(nay_filter_format(f), f);
  e.has_plan = made != NULL ? explain_states(o->to, made) : explain_layout_states(o, f);
  if (made != NULL) {
    nay_filter_stats(made, &e.now);
    e.nbytes_now = nay_format_encoded_size(o->to, made);
  } else if (!explain_plan(o, &e)) {
    e.nbytes_now = 0;
  }
  if (o->common.json) {
    explain_json(&e, in);
  } else {
    explain_text(&e);
  }
  out_flush();
  nay_filter_free(made);
  nay_filter_free(f);
  return EXIT_FOUND;
}

static int convert_run(options *common) {
  convert_options *o = (convert_options *)common;
  if (o->to == NULL) die(EXIT_TROUBLE, "give the layout to write: --to NAME");
  const char *out = o->output.path != NULL ? o->output.path : "-", *in = o->common.operands[0];
  if (o->explain) {
    if (o->output.path != NULL) die(EXIT_TROUBLE, "--explain writes no file: omit -o");
    return explain_run(o, filterfile_open(&o->common, &o->filter, in), in);
  }
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
  convert_must_build(o, f, in);
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
    {"explain", 0, NULL, FLAG_AT(convert_options, explain),
     .help = "write nothing; say what would be kept and lost, and the FPR before and after"},
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
        "are read in the type that the old filter states.\n"
        "\n"
        "--explain says what a conversion keeps and what it loses: the bits, the number of planned "
        "keys, the seed, the secret key, the note, the type of the keys, the checksum; and the "
        "false-positive rate (FPR) and the size before and after, of the plan where only the keys "
        "could tell. It writes no file.",
    .examples =
        "$ seq 1000 > keys.txt\n"
        "$ nay build -q -b 10 -t bloom -o f.nay keys.txt\n"
        "$ nay convert -q --to leveldb --keys keys.txt f.nay -o f.leveldb\n"
        "$ nay check -c --format leveldb f.leveldb keys.txt\n"
        "1000\n"
        "$ nay convert --explain --to leveldb f.nay\n"
        "nay to leveldb: only from the keys\n"
        "  lost  bits      built again, from the keys alone (--keys)\n"
        "...\n",
};
