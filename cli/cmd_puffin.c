/* cmd_puffin.c - nay puffin: filters as blobs of a Puffin file, the container of Apache Iceberg. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <nay_format.h>

#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"
#include "puffinfile.h"

typedef struct puffin_options {
  options common;
  filter_options filter;
  output_options output;
  text_list fields, properties;
  const char *type;
  uint64_t snapshot, sequence; /* UINT64_MAX: not given */
  unsigned codec;
  bool compress_footer;
} puffin_options;

static const char *const puffin_codecs[] = {"none", "zstd", "lz4", NULL};

/* What is written: the blobs, and all memory that they point to. */
typedef struct puffin_blobs {
  nay_sst_puffin_blob *at;
  size_t n, cap;
  void **memory;
  size_t nmemory, memory_cap;
  int32_t *fields; /* of the options, as are these */
  nay_sst_puffin_property *properties;
} puffin_blobs;

static void *blobs_keep(puffin_blobs *b, const void *bytes, size_t len) {
  if (b->nmemory == b->memory_cap) {
    b->memory_cap = 2 * b->memory_cap + 16;
    b->memory = must_grow(b->memory, b->memory_cap * sizeof *b->memory);
  }
  void *copy = must_alloc(len + 1);
  if (len != 0) memcpy(copy, bytes, len);
  b->memory[b->nmemory++] = copy;
  return copy;
}

static const char *blobs_keep_text(puffin_blobs *b, const char *text) {
  return text != NULL ? blobs_keep(b, text, strlen(text) + 1) : NULL;
}

static void blobs_add(puffin_blobs *b, const nay_sst_puffin_blob *blob) {
  if (b->n == b->cap) {
    b->cap = 2 * b->cap + 16;
    b->at = must_grow(b->at, b->cap * sizeof *b->at);
  }
  b->at[b->n++] = *blob;
}

static void blobs_free(puffin_blobs *b) {
  for (size_t i = 0; i < b->nmemory; i++) free(b->memory[i]);
  free(b->memory);
  free(b->at);
}

/* ---- options ---- */

static void options_fields(const puffin_options *o, puffin_blobs *b) {
  b->fields = must_alloc((o->fields.n + 1) * sizeof *b->fields);
  for (size_t i = 0; i < o->fields.n; i++) {
    char *end;
    long id = strtol(o->fields.at[i], &end, 10);
    if (*o->fields.at[i] == '\0' || *end != '\0' || id < INT32_MIN || id > INT32_MAX) {
      die(EXIT_TROUBLE, "--field %s: not the id of a field, a number of 32 bits", o->fields.at[i]);
    }
    b->fields[i] = (int32_t)id;
  }
}

static void options_properties(const puffin_options *o, puffin_blobs *b) {
  b->properties = must_alloc((o->properties.n + 1) * sizeof *b->properties);
  for (size_t i = 0; i < o->properties.n; i++) {
    const char *equals = strchr(o->properties.at[i], '=');
    if (equals == NULL || equals == o->properties.at[i]) {
      die(EXIT_TROUBLE, "--property %s: not NAME=VALUE", o->properties.at[i]);
    }
    char *name = blobs_keep(b, o->properties.at[i], strlen(o->properties.at[i]) + 1);
    name[equals - o->properties.at[i]] = '\0';
    for (size_t j = 0; j < i; j++) {
      if (strcmp(b->properties[j].name, name) == 0) {
        die(EXIT_TROUBLE, "--property %s: the name stands twice", o->properties.at[i]);
      }
    }
    b->properties[i] = (nay_sst_puffin_property){name, name + strlen(name) + 1};
  }
}

static int64_t options_number(uint64_t value) { return value <= INT64_MAX ? (int64_t)value : -1; }

/* ---- operands ---- */

/* A type that readers know, for bytes of another layout, would make a blob that none can read. */
static void operand_check_type(const char *path, const nay_format *format, const char *type) {
  const nay_format *known = puffinfile_format(type);
  if (known == format || (known == NULL && !puffinfile_foreign(type))) return;
  die(EXIT_TROUBLE, "%s is %s, and a blob of type %s is %s: omit --type, or name one of your own",
      path, nay_format_name(format), type,
      known != NULL ? nay_format_name(known) : "one of Iceberg's own");
}

static void operand_filter(const puffin_options *o, const char *path, puffin_blobs *b) {
  nay_filter *f = filterfile_open(&o->common, &o->filter, path);
  const nay_format *format = nay_filter_format(f);
  const char *type = o->type != NULL ? o->type : puffinfile_type(format);
  if (type == NULL) {
    die(EXIT_TROUBLE, "%s is %s, which no type of blob stands for: name one of your own, --type",
        path, nay_format_name(format));
  }
  operand_check_type(path, format, type);
  nay_sst_puffin_blob blob = {.size = sizeof blob,
                              .type = type,
                              .codec = o->codec != 0 ? puffin_codecs[o->codec] : NULL,
                              .fields = b->fields,
                              .nfields = o->fields.n,
                              .snapshot_id = options_number(o->snapshot),
                              .sequence_number = options_number(o->sequence),
                              .properties = b->properties,
                              .nproperties = o->properties.n,
                              .len = nay_format_encoded_size(format, f)};
  uint8_t *bytes = must_alloc(blob.len + 1);
  nay_status status = nay_format_encode(format, f, bytes, blob.len, &blob.len);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, nay_status_text(status));
  blob.bytes = blobs_keep(b, bytes, blob.len);
  free(bytes);
  nay_filter_free(f);
  blobs_add(b, &blob);
}

typedef struct operand_copy {
  const char *path;
  puffin_blobs *blobs;
} operand_copy;

static nay_status copy_visit(void *ctx, const nay_sst_puffin_info *info,
                             const nay_sst_puffin_blob *blob, bool *wanted) {
  const operand_copy *c = ctx;
  puffin_blobs *b = c->blobs;
  (void)info;
  if (blob == NULL) return NAY_OK;
  if (blob->bytes == NULL && blob->status == NAY_OK) {
    *wanted = true;
    return NAY_OK;
  }
  if (blob->status != NAY_OK) {
    die(exit_of(blob->status), "%s: blob %llu: %s", c->path, (unsigned long long)blob->index,
        nay_status_text(blob->status));
  }
  nay_sst_puffin_blob copy = *blob;
  nay_sst_puffin_property *properties =
      blobs_keep(b, blob->properties, blob->nproperties * sizeof *blob->properties);
  for (size_t i = 0; i < blob->nproperties; i++) {
    properties[i].name = blobs_keep_text(b, blob->properties[i].name);
    properties[i].value = blobs_keep_text(b, blob->properties[i].value);
  }
  copy.properties = properties;
  copy.type = blobs_keep_text(b, blob->type);
  copy.codec = blobs_keep_text(b, blob->codec);
  copy.fields = blobs_keep(b, blob->fields, blob->nfields * sizeof *blob->fields);
  copy.bytes = blobs_keep(b, blob->bytes, blob->len);
  blobs_add(b, &copy);
  return NAY_OK;
}

/* ---- the command ---- */

/* What is said of filters, where all operands are Puffin files, would be said of nothing. */
static void puffin_check_options(const puffin_options *o) {
  bool told = o->fields.n != 0 || o->properties.n != 0 || o->type != NULL || o->codec != 0 ||
              o->snapshot != UINT64_MAX || o->sequence != UINT64_MAX || o->filter.format != NULL ||
              o->filter.secret != NULL;
  if (o->type != NULL && o->type[0] == '\0') die(EXIT_TROUBLE, "--type: an empty name");
  for (int i = 0; told && i < o->common.noperands; i++) {
    if (!puffinfile_is(o->common.operands[i])) return;
  }
  if (told) {
    die(EXIT_TROUBLE,
        "all operands are Puffin files, whose blobs are copied as they are: only -o, -f and "
        "--compress-footer are for them");
  }
}

static void puffin_save(const puffin_options *o, const puffin_blobs *b) {
  static const nay_sst_puffin_property by = {"created-by", "nay"};
  nay_sst_puffin_options how = puffinfile_codecs();
  nay_sst_target target = {.size = sizeof target};
  nay_sst_memory *memory;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  how.properties = &by;
  how.nproperties = 1;
  how.compress_footer = o->compress_footer;
  nay_status status = nay_sst_memory_new(NULL, &memory);
  if (status == NAY_OK) status = nay_sst_memory_target(memory, &target);
  if (status == NAY_OK) status = nay_sst_puffin_write(&target, b->at, b->n, &how, NULL, &diag);
  if (status != NAY_OK) {
    die(exit_of(status), "%s: %s", o->output.path, diag_text(status, &diag, why));
  }
  size_t len;
  const void *bytes = nay_sst_memory_bytes(memory, &len);
  outfile_save(bytes, len, o->output.path);
  nay_sst_memory_free(memory);
}

static int puffin_run(options *common) {
  puffin_options *o = (puffin_options *)common;
  puffin_blobs b = {.n = 0};
  if (o->output.path == NULL) die(EXIT_TROUBLE, "give the file to write: -o FILE");
  puffin_check_options(o);
  outfile_may_write(o->output.path, o->output.force);
  options_fields(o, &b);
  options_properties(o, &b);
  for (int i = 0; i < o->common.noperands; i++) {
    operand_copy copy = {o->common.operands[i], &b};
    if (puffinfile_is(copy.path)) {
      puffinfile_visit(copy.path, copy_visit, &copy);
    } else {
      operand_filter(o, copy.path, &b);
    }
  }
  puffin_save(o, &b);
  if (o->common.json) {
    json_begin("nay.puffin/1");
    json_text("file", o->output.path);
    json_count("nblobs", b.n);
    json_end();
  } else {
    message("wrote %s to %s", COUNTED(b.n, "blob"), o->output.path);
  }
  out_flush();
  free(b.fields);
  free(b.properties);
  blobs_free(&b);
  return EXIT_FOUND;
}

static const option_row puffin_rows[] = {
    {"field", 0, "ID", TEXTS_AT(puffin_options, fields),
     .help = "id of the field that the filter is about; may be repeated"},
    {"property", 0, "NAME=VALUE", TEXTS_AT(puffin_options, properties),
     .help = "a property of the blob, such as referenced-data-file; may be repeated"},
    {"snapshot", 0, "ID", NUMBER_AT(puffin_options, snapshot), .preset = UINT64_MAX,
     .help = "id of the table's snapshot (default: -1, not known)"},
    {"sequence", 0, "N", NUMBER_AT(puffin_options, sequence), .preset = UINT64_MAX,
     .help = "sequence number of the snapshot (default: -1, not known)"},
    {"type", 0, "NAME", TEXT_AT(puffin_options, type),
     .help = "type of the blob (default: nay-v1, and sbbf-v1 of Parquet's filter)"},
    {"compress", 0, "CODEC", CHOICE_AT(puffin_options, codec), .choices = puffin_codecs,
     .help = "compress the blobs"},
    {"compress-footer", 0, NULL, FLAG_AT(puffin_options, compress_footer),
     .help = "compress the footer with LZ4, which Iceberg's own reader cannot read"},
    {0},
};
static const option_use puffin_uses[] = {
    TAKES(puffin_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(puffin_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON),
    {0},
};

const command command_puffin = {
    .name = "puffin",
    .run = puffin_run,
    .size = sizeof(puffin_options),
    .summary = "store filters in a Puffin file, the container of Apache Iceberg",
    .operands = "-o FILE FILTER...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .own = puffin_rows,
    .uses = puffin_uses,
    .about =
        "Writes a Puffin file with one blob for each filter: a native one is a blob of type "
        "nay-v1, "
        "Parquet's split-block filter (--format=sbbf) one of type sbbf-v1. Fields, properties and "
        "snapshot are those of every filter given here; they are refused when there is none. An "
        "operand that is a Puffin file gives its "
        "blobs as they are, so a file for a whole table is made of files for one data file each.\n"
        "\n"
        "nay info lists a Puffin file, nay extract writes its blobs as files, nay check --blob N "
        "probes the filter in one. doc/formats/puffin.md has the layout, and how an engine skips "
        "files with it.\n"
        "\n"
        "Exit status: 0, 2 for trouble, 3 when a filter or a Puffin file is corrupt.",
    .examples =
        "$ seq 1000 | nay build -q -p 1% -o ids.nay\n"
        "$ nay puffin -q --field 1 --property referenced-data-file=a.parquet -o ids.puffin "
        "ids.nay\n"
        "$ nay extract ids.puffin\n"
        "0\t4\t1408\tnay-v1\n"
        "$ nay check ids.puffin -e 500\n"
        "500\n",
};
