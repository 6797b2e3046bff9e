/* cmd_sst_build.c - nay sst build: rows of keys and values in, a table out. */
#include <string.h>

#include "described.h"
#include "numbers.h"
#include "outfile.h"
#include "promise.h"
#include "stream.h"
#include "table_foreign.h"
#include "tables.h"

#include <nay_range.h>

typedef struct build {
  const sst_options *o;
  const char *out;
  nay_sst_writer *writer;
  bool foreign;                    /* a table of another engine: --format */
  const nay_sst_comparator *order; /* of the keys; NULL: bytewise */
  bool whole_rows;                 /* the value is the row, not what follows the key in it */
  uint64_t nrows, noverwritten;
  const uint8_t *text; /* of the key, as it was given, while a batch is read; else NULL */
  size_t text_len;
  bool digits; /* of a range filter: keys end in them */
  size_t least_digits, most_digits;
} build;

/*
 * A row is a line: the key, a tab, the value. The reader of columns finds the key, decoded; with
 * --csv, -F or -k the value is the whole row, for the key may be anywhere in it.
 */
static keys_options build_style(const keys_options *keys) {
  keys_options style = *keys;
  bool columns = style.csv || style.tsv || style.separator != NULL;
  bool lines = !columns && !style.length_prefixed && style.type != KEY_U64LE;
  if (lines && style.null) style.separator = "\t";
  if (lines && !style.null) style.tsv = true;
  return style;
}

static table_row build_row(const build *b, const key_batch *batch, size_t i) {
  size_t len;
  const uint8_t *record = batch_record(batch, i, &len);
  table_row row = {.key = batch->keys[i], .len = batch->lens[i]};
  if (b->o->keys.length_prefixed || b->o->keys.type == KEY_U64LE) return row;
  len--; /* the terminator */
  if (b->o->keys.crlf && len > 0 && record[len - 1] == '\r') len--;
  const uint8_t *tab = b->whole_rows ? NULL : memchr(record, '\t', len);
  if (b->whole_rows) {
    row.value = record;
    row.value_len = len;
  } else if (tab != NULL) {
    row.value = tab + 1;
    row.value_len = (size_t)(record + len - row.value);
  }
  row.has_value = row.value != NULL;
  return row;
}

/* The key of a row as it was given; sorted rows have only its bytes. */
static const char *build_key_text(const build *b, const table_row *row, char text[80]) {
  return b->text != NULL ? escape_text(b->text, b->text_len, text, 80)
                         : escape_text(row->key, row->len, text, 80);
}

_Noreturn static void build_refused(const build *b, const table_row *row) {
  char key[80];
  die(EXIT_TROUBLE, "row %llu: the key '%s' is not greater than the previous one%s",
      (unsigned long long)b->nrows, build_key_text(b, row, key),
      b->o->keys.type == NAY_KEY_TEXT
          ? "; --sort sorts the rows, or 'LC_ALL=C sort' before"
          : " by the bytes that --key makes of it; --sort sorts the rows by them");
}

/* mini-lsm has no empty values: a row without one is a deletion. */
static void build_write_foreign(build *b, const table_row *row) {
  nay_diag diag = {.what = NULL};
  char key[80];
  bool given = b->o->sequence != NUMBER_NOT_GIVEN;
  bool deletes = given || !table_layout_is_nori(b->o->table_format);
  nay_sst_entry version = {sizeof version, .key = row->key, .len = row->len,
                           .sequence = given ? b->o->sequence : 0,
                           .type = deletes && !row->has_value ? NAY_SST_DELETE : NAY_SST_PUT};
  nay_status status =
      nay_sst_writer_add_entry(b->writer, &version, row->value, row->value_len, &diag);
  if (status == NAY_EINVAL) {
    die(EXIT_TROUBLE, "row %llu, key '%s': %s", (unsigned long long)b->nrows,
        build_key_text(b, row, key), diag.what);
  }
  if (status != NAY_OK) table_die(b->out, status, &diag);
}

static void build_count_digits(build *b, const table_row *row) {
  size_t n = 0;
  while (n < row->len && row->key[row->len - 1 - n] >= '0' && row->key[row->len - 1 - n] <= '9')
    n++;
  if (b->nrows == 1 || n < b->least_digits) b->least_digits = n;
  if (n > b->most_digits) b->most_digits = n;
}

static void build_write(build *b, const table_row *row) {
  nay_status status;
  nay_diag diag = {.what = NULL};
  b->nrows++;
  if (b->digits) build_count_digits(b, row);
  if (b->foreign) {
    build_write_foreign(b, row);
    return;
  }
  if (b->o->sequence == NUMBER_NOT_GIVEN) {
    status = nay_sst_writer_add(b->writer, row->key, row->len, row->value, row->value_len, &diag);
  } else {
    nay_sst_entry version = {sizeof version, .key = row->key, .len = row->len,
                             .sequence = b->o->sequence,
                             .type = row->has_value ? NAY_SST_PUT : NAY_SST_DELETE};
    status = nay_sst_writer_add_entry(b->writer, &version, row->value, row->value_len, &diag);
  }
  if (status == NAY_EINVAL) build_refused(b, row);
  if (status != NAY_OK) table_die(b->out, status, &diag);
}

static void build_rows(build *b, key_stream *s) {
  table_sorter *sorter = b->o->sort ? table_sorter_new(b->order) : NULL;
  for (key_batch *batch; (batch = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < batch->n; i++) {
      table_row row = build_row(b, batch, i);
      if (sorter == NULL) {
        b->text = batch_text(batch, i, &b->text_len);
        build_write(b, &row);
      } else {
        table_sorter_add(sorter, row.key, row.len, row.value, row.value_len, row.has_value);
      }
    }
  }
  if (sorter == NULL) return;
  for (table_row row; table_sorter_next(sorter, &row);) build_write(b, &row);
  b->noverwritten = stream_nkeys(s) - b->nrows;
  table_sorter_free(sorter);
}

static int build_report(const build *b) {
  char size[NUMBER_TEXT], filters[NUMBER_TEXT];
  nay_sst_prefix prefix = {.size = sizeof prefix};
  nay_sst *table = table_open(b->out, b->o->table_format, &prefix);
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(table, &info);
  /* a filter of -n keys may have got more of them; any other is as large as its keys need */
  const nay_filter *f = b->o->size.nkeys != 0 ? info.native : NULL;
  promise p = f != NULL ? promise_judge(f, b->o->size.fpr) : (promise){.fpr = 0};
  if (b->o->common.json) {
    json_begin("nay.sst.build/1");
    json_text("file", b->out);
    json_count("nkeys", b->nrows);
    json_count("nbad", bads_count());
    json_count("noverwritten", b->noverwritten);
    json_count("nbytes_table", info.nbytes);
    json_count("nblocks", info.nblocks);
    json_count("nbytes", info.filter_bytes + info.prefix_bytes + info.range_bytes);
    if (f != NULL) promise_json(&p);
    json_end();
  }
  message("wrote %s: %s, %s, filters of %s", b->out, COUNTED(b->nrows, "key"),
          size_text(info.nbytes, size),
          size_text(info.filter_bytes + info.prefix_bytes + info.range_bytes, filters));
  if (b->noverwritten != 0) {
    message("%s overwritten by a later row with the same key", COUNTED(b->noverwritten, "row"));
  }
  if (b->least_digits != b->most_digits) {
    message_error(
        "warning: keys end in %llu to %llu digits, in which the order of bytes is not that of the "
        "numbers: scans cannot ask the range filter; pad the numbers with zeros, or use --key=int",
        (unsigned long long)b->least_digits, (unsigned long long)b->most_digits);
  }
  int status = EXIT_FOUND;
  if (f != NULL) status = promise_tell(&b->o->common, b->out, &p, NULL, status);
  nay_sst_free(table);
  return status;
}

static void build_open(build *b, keys_options *keys, table_plan *plan) {
  const sst_options *o = b->o;
  nay_diag diag = {.what = NULL};
  bool given = o->sequence != NUMBER_NOT_GIVEN;
  if (given && o->sequence > NAY_SST_MAX_SEQUENCE) {
    die(EXIT_TROUBLE, "--sequence: at most 2^56 - 1");
  }
  if (o->table_format != NULL) {
    options_refuse(&o->common, "nkeys, range-length, range-keys, range-delimiter",
                   "sst build --format");
    describe_not(described_key(&o->keys), o->table_format);
    b->foreign = true;
    b->writer = table_foreign_writer(o, b->out);
    return;
  }
  if (keys->form != 0) described_own();
  table_plan_make(o, plan);
  b->order = plan->write.comparator;
  table_plan_ranges(o, &keys->type, plan);
  b->digits = plan->write.range != NULL && plan->range.range_keys == NAY_RANGE_DECIMAL;
  plan->write.key = described_key(keys);
  plan->write.keys = given ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  nay_status status = nay_sst_writer_new(b->out, &plan->write, NULL, &diag, &b->writer);
  if (status != NAY_OK) table_die(b->out, status, &diag);
}

int sst_build(sst_options *o) {
  build b = {.o = o,
             .out = table_output(o),
             .whole_rows = o->keys.csv || o->keys.column != NULL || o->keys.separator != NULL};
  table_plan plan; /* stays: the writer points into it */
  build_open(&b, &o->keys, &plan);
  keys_options style = build_style(&o->keys);
  key_stream *s = stream_open(&o->common, &style, (const char *const *)o->common.operands + 1,
                              (size_t)o->common.noperands - 1, NULL);
  build_rows(&b, s);
  stream_close(s);
  outfile_lock(b.out);
  signals_defer(true);
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_writer_finish(b.writer, &diag);
  outfile_unlock();
  signals_defer(false);
  if (status != NAY_OK) table_die(b.out, status, &diag);
  nay_sst_writer_free(b.writer);
  return build_report(&b);
}
