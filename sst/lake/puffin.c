/*
 * puffin.c - reads and writes Puffin files: see nay_sst_puffin.h.
 *
 *   | PFA1 | blobs ... | PFA1 | payload | its length i32le | flags u32le | PFA1 |
 *                      \______________________ footer ______________________/
 *
 * The payload is JSON, or with flag 1 one LZ4 frame of it. It is parsed twice, from first to last
 * byte and without recursion: the first pass checks everything, so that nothing of a damaged file
 * is shown, and the second delivers the blobs. Texts lose their escapes and therefore never grow:
 * both passes write them to memory of the payload's size.
 */
#include "nay_sst_puffin.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "io/table_file.h"
#include "struct_sizes.h"

#define PUFFIN_MAGIC 4u
#define PUFFIN_TAIL 12u /* length of the payload, flags, magic number */
#define PUFFIN_LZ4_FOOTER 1u
#define PUFFIN_MAX_BYTES ((uint64_t)1 << 30)
#define PUFFIN_DEPTH 64u  /* levels of a value that is skipped */
#define PUFFIN_ZSTD_ID 2u /* nay_sst_codec.id */
#define PUFFIN_LZ4_ID 4u
#define PUFFIN_ZSTD_RATIO 32768u /* a block of zstd makes at most 128 KiB from at least 4 bytes */
#define PUFFIN_LZ4_RATIO 256u

static const uint8_t puffin_magic[PUFFIN_MAGIC] = {'P', 'F', 'A', '1'};

/* ---- JSON ---- */

/* A parser of the payload. After a fault `bad` names the fault at `at`, and every later call does
 * nothing. */
typedef struct puffin_json {
  const uint8_t *from, *at, *end;
  char *text; /* the next text is written here */
  const char *bad;
} puffin_json;

static void json_fault(puffin_json *j, const char *what) {
  if (j->bad == NULL) j->bad = what;
}

static void json_space(puffin_json *j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r')) {
    j->at++;
  }
}

/* Skips white space and returns the next byte; 0: the end, or a fault. */
static uint8_t json_peek(puffin_json *j) {
  json_space(j);
  return j->bad == NULL && j->at < j->end ? *j->at : 0;
}

static bool json_take(puffin_json *j, uint8_t byte) {
  if (json_peek(j) != byte || byte == 0) return false;
  j->at++;
  return true;
}

static void json_expect(puffin_json *j, uint8_t byte, const char *what) {
  if (!json_take(j, byte)) json_fault(j, what);
}

/* Whether there is another element of an object or array; `first` is true before the first one. */
static bool json_more(puffin_json *j, bool *first, uint8_t close) {
  if (json_take(j, close) || j->bad != NULL) return false;
  if (!*first) json_expect(j, ',', "a comma is missing in the JSON");
  *first = false;
  return j->bad == NULL;
}

static unsigned json_hex4(puffin_json *j) {
  unsigned value = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned c = j->at < j->end ? *j->at : 0, digit = 16;
    if (c >= '0' && c <= '9') digit = c - '0';
    if ((c | 32) >= 'a' && (c | 32) <= 'f') digit = (c | 32) - 'a' + 10;
    if (digit == 16) {
      json_fault(j, "an escape of the JSON is none");
      return 0;
    }
    value = value << 4 | digit;
    j->at++;
  }
  return value;
}

static void json_put(puffin_json *j, uint32_t code) {
  if (code < 0x80) {
    *j->text++ = (char)code;
  } else if (code < 0x800) {
    *j->text++ = (char)(0xc0 | code >> 6);
    *j->text++ = (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *j->text++ = (char)(0xe0 | code >> 12);
    *j->text++ = (char)(0x80 | (code >> 6 & 63));
    *j->text++ = (char)(0x80 | (code & 63));
  } else {
    *j->text++ = (char)(0xf0 | code >> 18);
    *j->text++ = (char)(0x80 | (code >> 12 & 63));
    *j->text++ = (char)(0x80 | (code >> 6 & 63));
    *j->text++ = (char)(0x80 | (code & 63));
  }
}

/* Parses an escape; the backslash has been taken. */
static void json_escape(puffin_json *j) {
  static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
  uint8_t c = j->at < j->end ? *j->at++ : 0;
  for (unsigned i = 0; i < sizeof names - 1; i++) {
    if (c == (uint8_t)names[i]) {
      *j->text++ = codes[i];
      return;
    }
  }
  uint32_t code = c == 'u' ? json_hex4(j) : 0, low = 0;
  if (code >= 0xd800 && code < 0xdc00 && j->end - j->at >= 2 && j->at[0] == '\\' &&
      j->at[1] == 'u') {
    j->at += 2;
    low = json_hex4(j);
    if (low >= 0xdc00 && low < 0xe000) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  /* a C string ends at its first NUL, so a text must have none */
  if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
    json_fault(j, "an escape of the JSON is none");
    return;
  }
  json_put(j, code);
}

/* Returns the length of the UTF-8 character at p; 0: the bytes are not UTF-8. */
static size_t utf8_length(const uint8_t *p, const uint8_t *end) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
  if (n <= 1) return n;
  if ((size_t)(end - p) < n) return 0;
  uint32_t code = *p & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if (p[i] >> 6 != 2) return 0;
    code = code << 6 | (p[i] & 63);
  }
  bool ok = code >= least[n] && code < 0x110000 && (code < 0xd800 || code >= 0xe000);
  return ok ? n : 0;
}

/* Parses a text. Returns it unescaped and NUL-terminated; "" after a fault. */
static const char *json_string(puffin_json *j) {
  char *start = j->text;
  json_expect(j, '"', "a text of the JSON is missing");
  while (j->bad == NULL) {
    size_t n = j->at < j->end ? utf8_length(j->at, j->end) : 0;
    if (n == 0 || *j->at < 0x20) {
      json_fault(j, "a text of the JSON has no end, a control character, or is not UTF-8");
    } else if (*j->at == '"') {
      j->at++;
      *j->text++ = '\0';
      return start;
    } else if (*j->at == '\\') {
      j->at++;
      json_escape(j);
    } else {
      memcpy(j->text, j->at, n);
      j->text += n;
      j->at += n;
    }
  }
  return "";
}

/* Parses an integer of 64 bits; a fraction or an exponent is a fault. */
static int64_t json_integer(puffin_json *j) {
  bool minus = json_peek(j) == '-';
  j->at += minus;
  const uint8_t *first = j->at;
  uint64_t value = 0, most = (uint64_t)INT64_MAX + minus;
  for (; j->bad == NULL && j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
    unsigned digit = *j->at - '0';
    if (value > (most - digit) / 10) json_fault(j, "a number of the JSON is above 64 bits");
    value = value * 10 + digit;
  }
  bool fraction = j->at < j->end && (*j->at == '.' || (*j->at | 32) == 'e');
  if (j->at == first || (*first == '0' && j->at != first + 1) || fraction) {
    json_fault(j, "a number of the JSON is not a whole one");
  }
  if (j->bad != NULL) return 0;
  return minus ? (int64_t)(0 - value) : (int64_t)value;
}

/* Skips a number, true, false or null. */
static void json_skip_atom(puffin_json *j) {
  static const char *const words[] = {"true", "false", "null"};
  size_t left = (size_t)(j->end - j->at);
  for (unsigned i = 0; i < 3; i++) {
    size_t n = strlen(words[i]);
    if (left < n || memcmp(j->at, words[i], n) != 0) continue;
    j->at += n;
    return;
  }
  const uint8_t *first = j->at;
  while (j->at < j->end && ((*j->at >= '0' && *j->at <= '9') || *j->at == '-' || *j->at == '+' ||
                            *j->at == '.' || (*j->at | 32) == 'e')) {
    j->at++;
  }
  if (j->at == first) json_fault(j, "a value of the JSON is missing");
}

/* Skips a value of any type. `closers` has the closing bracket of each open level. */
static void json_skip(puffin_json *j) {
  uint8_t closers[PUFFIN_DEPTH];
  char *text = j->text;
  unsigned depth = 0;
  do {
    uint8_t c = json_peek(j);
    bool opened = c == '{' || c == '[';
    if (opened && depth == PUFFIN_DEPTH) {
      json_fault(j, "values of the JSON are nested more than 64 deep");
      return;
    }
    if (opened) {
      closers[depth++] = c == '{' ? '}' : ']';
      j->at++;
    } else if (c == '"') {
      (void)json_string(j);
    } else {
      json_skip_atom(j);
    }
    j->text = text;
    while (j->bad == NULL && depth != 0 && json_take(j, closers[depth - 1])) {
      depth--;
      opened = false;
    }
    if (depth == 0 || j->bad != NULL) return;
    if (!opened) json_expect(j, ',', "a comma is missing in the JSON");
    if (closers[depth - 1] == '}') {
      (void)json_string(j);
      json_expect(j, ':', "a colon is missing in the JSON");
      j->text = text;
    }
  } while (j->bad == NULL);
}

/* ---- the footer ---- */

typedef struct puffin_reader {
  nay_sst_file file;
  nay_sst_puffin_options options;
  nay_allocator allocator;
  nay_memory footer, payload, texts; /* payload: uncompressed, if the footer is compressed */
  puffin_json json;
  nay_buffer fields, properties; /* those of the current blob */
  nay_buffer file_properties;
  nay_buffer starts, ends; /* first pass: a u64 for each blob that is not empty */
  char *blob_texts;        /* the texts of the current blob begin here */
  uint64_t index;          /* number of the current blob */
  uint64_t footer_at;
  bool out_of_memory;
  nay_sst_puffin_info info;
  nay_sst_puffin_visitor visitor; /* NULL: the first pass */
  void *ctx;
} puffin_reader;

static void puffin_append(puffin_reader *r, nay_buffer *buffer, const void *bytes, size_t len) {
  if (nay__buffer_append(buffer, bytes, len, &r->allocator) == NAY_OK) return;
  r->out_of_memory = true;
  json_fault(&r->json, "no memory for the footer");
}

static void puffin_properties(puffin_reader *r, nay_buffer *to) {
  puffin_json *j = &r->json;
  bool first = true;
  json_expect(j, '{', "properties are not an object");
  while (json_more(j, &first, '}')) {
    nay_sst_puffin_property property = {.name = json_string(j)};
    json_expect(j, ':', "a colon is missing in the JSON");
    property.value = json_string(j);
    if (j->bad == NULL) puffin_append(r, to, &property, sizeof property);
  }
}

static void puffin_fields(puffin_reader *r) {
  puffin_json *j = &r->json;
  bool first = true;
  json_expect(j, '[', "fields are not a list");
  while (json_more(j, &first, ']')) {
    int64_t id = json_integer(j);
    int32_t narrow = (int32_t)id;
    if (narrow != id) json_fault(j, "the id of a field is above 32 bits");
    if (j->bad == NULL) puffin_append(r, &r->fields, &narrow, sizeof narrow);
  }
}

/* The members of a blob. The first six are required. */
static const char *const puffin_members[] = {
    "type",   "fields", "snapshot-id",       "sequence-number",
    "offset", "length", "compression-codec", "properties"};
#define PUFFIN_NMEMBERS (sizeof puffin_members / sizeof puffin_members[0])
#define PUFFIN_REQUIRED 0x3fu

static uint64_t puffin_unsigned(puffin_json *j) {
  int64_t value = json_integer(j);
  if (value < 0) json_fault(j, "an offset or length is negative");
  return (uint64_t)value;
}

static void puffin_member(puffin_reader *r, unsigned member, nay_sst_puffin_blob *blob) {
  puffin_json *j = &r->json;
  if (member >= 6 && json_peek(j) == 'n')
    member = PUFFIN_NMEMBERS; /* null means that the member is absent */
  switch (member) {
    case 0: blob->type = json_string(j); break;
    case 1: puffin_fields(r); break;
    case 2: blob->snapshot_id = json_integer(j); break;
    case 3: blob->sequence_number = json_integer(j); break;
    case 4: blob->offset = puffin_unsigned(j); break;
    case 5: blob->nbytes = puffin_unsigned(j); break;
    case 6: blob->codec = json_string(j); break;
    case 7: puffin_properties(r, &r->properties); break;
    default: json_skip(j); break;
  }
}

static void puffin_blob_lies(puffin_reader *r, const nay_sst_puffin_blob *blob) {
  uint64_t end =
      blob->offset + blob->nbytes; /* both were parsed as int64, so the sum does not overflow */
  if (blob->offset < PUFFIN_MAGIC || end > r->footer_at) {
    json_fault(&r->json, "a blob lies outside of the file");
  } else if (r->visitor == NULL && blob->nbytes != 0) {
    puffin_append(r, &r->starts, &blob->offset, sizeof end);
    puffin_append(r, &r->ends, &end, sizeof end);
  }
}

static void puffin_blob(puffin_reader *r, nay_sst_puffin_blob *blob) {
  puffin_json *j = &r->json;
  unsigned seen = 0;
  bool first = true;
  j->text = r->blob_texts;
  r->fields.len = r->properties.len = 0;
  *blob = (nay_sst_puffin_blob){.size = sizeof *blob, .type = "", .index = r->index};
  json_expect(j, '{', "a blob is not an object");
  while (json_more(j, &first, '}')) {
    char *text = j->text;
    const char *name = json_string(j);
    unsigned member = 0;
    while (member < PUFFIN_NMEMBERS && strcmp(name, puffin_members[member]) != 0) member++;
    j->text = text;
    json_expect(j, ':', "a colon is missing in the JSON");
    if (member < PUFFIN_NMEMBERS && (seen >> member & 1) != 0) {
      json_fault(j, "a member of a blob stands twice");
    }
    seen |= 1u << member;
    puffin_member(r, member, blob);
  }
  if ((seen & PUFFIN_REQUIRED) != PUFFIN_REQUIRED) json_fault(j, "a blob lacks a member");
  if (j->bad == NULL) puffin_blob_lies(r, blob);
  blob->fields = (const void *)r->fields.at;
  blob->nfields = r->fields.len / sizeof(int32_t);
  blob->properties = (const void *)r->properties.at;
  blob->nproperties = r->properties.len / sizeof(nay_sst_puffin_property);
}

static nay_status puffin_deliver(puffin_reader *r, nay_sst_puffin_blob *blob);

static nay_status puffin_blobs(puffin_reader *r) {
  puffin_json *j = &r->json;
  bool first = true;
  r->index = 0;
  json_expect(j, '[', "blobs are not a list");
  while (json_more(j, &first, ']')) {
    nay_sst_puffin_blob blob;
    puffin_blob(r, &blob);
    if (r->visitor != NULL && j->bad == NULL) NAY_TRY(puffin_deliver(r, &blob));
    r->index++;
  }
  return NAY_OK;
}

/* Makes one pass over the payload. The texts of the file stay; the texts of a blob are overwritten
 * by the next blob. */
static nay_status puffin_pass(puffin_reader *r, const uint8_t *payload, size_t len) {
  puffin_json *j = &r->json;
  unsigned seen = 0;
  bool first = true;
  char *file_texts = (char *)r->texts.at;
  r->blob_texts = file_texts + len + 1;
  r->file_properties.len = 0;
  *j = (puffin_json){payload, payload, payload + len, file_texts, NULL};
  json_expect(j, '{', "the footer is not a JSON object");
  while (json_more(j, &first, '}')) {
    char *text = j->text;
    const char *name = json_string(j);
    unsigned member = strcmp(name, "blobs") == 0 ? 1 : strcmp(name, "properties") == 0 ? 2 : 0;
    j->text = text;
    json_expect(j, ':', "a colon is missing in the JSON");
    if ((seen & member) != 0) json_fault(j, "a member of the footer stands twice");
    seen |= member;
    if (member == 1) NAY_TRY(puffin_blobs(r));
    if (member == 1) j->text = text;
    if (member == 2) puffin_properties(r, &r->file_properties);
    if (member == 0) json_skip(j);
  }
  if (json_peek(j) != 0 || j->at != j->end) json_fault(j, "bytes follow the JSON of the footer");
  if ((seen & 1) == 0) json_fault(j, "the footer has no blobs");
  return NAY_OK;
}

/* Whether two blobs share a byte: starts and ends are sorted separately, and alternate if no two
 * ranges overlap. */
static bool puffin_overlaps(puffin_reader *r) {
  uint64_t *starts = (void *)r->starts.at, *ends = (void *)r->ends.at;
  size_t n = r->starts.len / sizeof *starts;
  if (n < 2) return false;
  nay__sort_u64(starts, n);
  nay__sort_u64(ends, n);
  for (size_t i = 0; i + 1 < n; i++) {
    if (starts[i + 1] < ends[i]) return true;
  }
  return false;
}

/* ---- contents ---- */

static const nay_sst_codec *puffin_codec(const nay_sst_puffin_options *o, const char *name) {
  uint8_t id = strcmp(name, "zstd") == 0  ? PUFFIN_ZSTD_ID
               : strcmp(name, "lz4") == 0 ? PUFFIN_LZ4_ID
                                          : 0;
  for (size_t i = 0; id != 0 && i < o->ncodecs; i++) {
    if (o->codecs[i]->id == id) return o->codecs[i];
  }
  return NULL;
}

static nay_status puffin_codec_failed(nay_status status, uint64_t at, nay_diag *diag) {
  if (status == NAY_ENOMEM) return nay__fail(diag, status, "the codec has no memory", at);
  return nay__fail(diag, NAY_ECORRUPT, "a blob or footer cannot be uncompressed", at);
}

/* Uncompresses into new memory. The size is checked before the memory is allocated. */
static nay_status puffin_unpack(puffin_reader *r, const nay_sst_codec *codec, const uint8_t *from,
                                size_t len, uint64_t at, nay_diag *diag, nay_memory *memory,
                                size_t *size) {
  uint64_t ratio = codec->id == PUFFIN_ZSTD_ID ? PUFFIN_ZSTD_RATIO : PUFFIN_LZ4_RATIO;
  nay_status status = codec->uncompressed_size(codec->ctx, from, len, size);
  if (status != NAY_OK) return puffin_codec_failed(status, at, diag);
  if (*size / ratio > len) {
    return nay__fail(diag, NAY_ECORRUPT, "a compressed size is one that the codec cannot produce",
                     at);
  }
  if (*size > r->options.max_bytes) {
    return nay__fail(diag, NAY_EFULL, "an uncompressed size is above max_bytes", at);
  }
  if (nay__memory_raw(&r->allocator, *size + 1, memory) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a blob or footer", at);
  }
  status = codec->uncompress(codec->ctx, from, len, memory->at, *size);
  if (status == NAY_OK) return NAY_OK;
  nay__memory_free(&r->allocator, memory);
  return puffin_codec_failed(status, at, diag);
}

/* Reads the stored bytes of a blob. */
static nay_status puffin_stored(puffin_reader *r, const nay_sst_puffin_blob *blob,
                                nay_memory *memory) {
  size_t len;
  if (!nay__size_ok(blob->nbytes, &len)) return NAY_ENOMEM;
  if (blob->codec == NULL && blob->nbytes > r->options.max_bytes) return NAY_EFULL;
  if (nay__memory_raw(&r->allocator, len + 1, memory) != NAY_OK) return NAY_ENOMEM;
  nay_status status = nay_sst__io_read(&r->file, blob->offset, memory->at, len, NULL);
  if (status != NAY_OK) nay__memory_free(&r->allocator, memory);
  return status;
}

static nay_status puffin_contents(puffin_reader *r, const nay_sst_puffin_blob *blob,
                                  nay_memory *memory, size_t *len) {
  const nay_sst_codec *codec = NULL;
  nay_memory stored;
  if (blob->codec != NULL) {
    codec = puffin_codec(&r->options, blob->codec);
    if (codec == NULL) return NAY_ENOTSUP;
  }
  NAY_TRY(puffin_stored(r, blob, &stored));
  *len = (size_t)blob->nbytes;
  if (codec == NULL) {
    *memory = stored;
    return NAY_OK;
  }
  nay_status status = puffin_unpack(r, codec, stored.at, *len, blob->offset, NULL, memory, len);
  nay__memory_free(&r->allocator, &stored);
  return status;
}

static nay_status puffin_deliver(puffin_reader *r, nay_sst_puffin_blob *blob) {
  bool wanted = false;
  nay_memory memory;
  NAY_TRY(r->visitor(r->ctx, &r->info, blob, &wanted));
  if (!wanted) return NAY_OK;
  blob->status = puffin_contents(r, blob, &memory, &blob->len);
  if (blob->status != NAY_OK) return r->visitor(r->ctx, &r->info, blob, &wanted);
  blob->bytes = memory.at;
  nay_status status = r->visitor(r->ctx, &r->info, blob, &wanted);
  nay__memory_free(&r->allocator, &memory);
  return status;
}

/* ---- reading ---- */

/* Reads the footer. Sets *payload to its JSON, uncompressed. */
static nay_status puffin_footer(puffin_reader *r, nay_diag *diag, const uint8_t **payload,
                                size_t *len) {
  uint8_t head[PUFFIN_MAGIC], tail[PUFFIN_TAIL];
  uint64_t length = r->file.length;
  if (length < 2 * PUFFIN_MAGIC + PUFFIN_TAIL) {
    return nay__fail(diag, NAY_EFORMAT, "not a Puffin file: too short", 0);
  }
  NAY_TRY(nay_sst__io_read(&r->file, 0, head, sizeof head, diag));
  if (memcmp(head, puffin_magic, PUFFIN_MAGIC) != 0) {
    return nay__fail(diag, NAY_EFORMAT, "not a Puffin file: it does not start with PFA1", 0);
  }
  NAY_TRY(nay_sst__io_read(&r->file, length - PUFFIN_TAIL, tail, sizeof tail, diag));
  if (memcmp(tail + 8, puffin_magic, PUFFIN_MAGIC) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "the end of the Puffin file is missing", length - 4);
  }
  uint64_t stored = nay__load32le(tail), flags = nay__load32le(tail + 4);
  if ((flags & ~(uint64_t)PUFFIN_LZ4_FOOTER) != 0) {
    return nay__fail(diag, NAY_EVERSION, "a flag of the Puffin file is unknown", length - 8);
  }
  if (stored == 0 || stored > length - 2 * PUFFIN_MAGIC - PUFFIN_TAIL) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the footer is not one", length - 12);
  }
  size_t size = PUFFIN_MAGIC + (size_t)stored;
  r->footer_at = length - PUFFIN_TAIL - size;
  r->info.nbytes_footer = size + PUFFIN_TAIL;
  r->info.compressed_footer = flags != 0;
  if (nay__memory_raw(&r->allocator, size, &r->footer) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the footer", r->footer_at);
  }
  NAY_TRY(nay_sst__io_read(&r->file, r->footer_at, r->footer.at, size, diag));
  if (memcmp(r->footer.at, puffin_magic, PUFFIN_MAGIC) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "no footer begins where its length says", r->footer_at);
  }
  *payload = r->footer.at + PUFFIN_MAGIC;
  *len = (size_t)stored;
  if (flags == 0) return NAY_OK;
  const nay_sst_codec *codec = puffin_codec(&r->options, "lz4");
  uint64_t at = r->footer_at + PUFFIN_MAGIC;
  if (codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "the footer is compressed with LZ4: no codec was given",
                     at);
  }
  NAY_TRY(puffin_unpack(r, codec, *payload, *len, at, diag, &r->payload, len));
  *payload = r->payload.at;
  return NAY_OK;
}

static nay_status puffin_fault(const puffin_reader *r, nay_diag *diag) {
  uint64_t at = r->footer_at + PUFFIN_MAGIC;
  if (!r->info.compressed_footer) at += (uint64_t)(r->json.at - r->json.from);
  return nay__fail(diag, r->out_of_memory ? NAY_ENOMEM : NAY_ECORRUPT, r->json.bad, at);
}

static nay_status puffin_read(puffin_reader *r, nay_sst_puffin_visitor visitor, nay_diag *diag) {
  const uint8_t *payload;
  size_t len, room;
  bool wanted = false;
  NAY_TRY(puffin_footer(r, diag, &payload, &len));
  /* the texts of the file, then the texts of a blob: neither is longer than the payload */
  if (!nay__mul_ok(len + 1, 2, &room) ||
      nay__memory_raw(&r->allocator, room, &r->texts) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the footer", r->footer_at);
  }
  (void)puffin_pass(r, payload, len);
  if (r->json.bad != NULL) return puffin_fault(r, diag);
  if (puffin_overlaps(r)) {
    return nay__fail(diag, NAY_ECORRUPT, "two blobs share bytes", r->footer_at);
  }
  r->info.nbytes = r->file.length;
  r->info.nblobs = r->index;
  r->info.properties = (const void *)r->file_properties.at;
  r->info.nproperties = r->file_properties.len / sizeof(nay_sst_puffin_property);
  NAY_TRY(visitor(r->ctx, &r->info, NULL, &wanted));
  r->visitor = visitor;
  NAY_TRY(puffin_pass(r, payload, len));
  return r->json.bad != NULL ? puffin_fault(r, diag) : NAY_OK;
}

static nay_status puffin_options_read(const nay_sst_puffin_options *from, nay_diag *diag,
                                      nay_sst_puffin_options *to) {
  *to = (nay_sst_puffin_options){.size = sizeof *to};
  if (from != NULL) NAY_TRY(nay__abi_read(NAY_ABI_PUFFIN_OPTIONS, from, diag, to));
  bool lacks =
      (to->codecs == NULL && to->ncodecs != 0) || (to->properties == NULL && to->nproperties != 0);
  if (lacks) return nay__fail(diag, NAY_EINVAL, "options: an array is NULL", 0);
  if (to->max_bytes == 0) to->max_bytes = PUFFIN_MAX_BYTES;
  return NAY_OK;
}

nay_status nay_sst_puffin_visit(const nay_sst_file *file, const nay_sst_puffin_options *options,
                                nay_sst_puffin_visitor visitor, void *ctx,
                                const nay_allocator *allocator, nay_diag *diag) {
  puffin_reader r = {.ctx = ctx, .info = {.size = sizeof r.info}};
  if (file == NULL || visitor == NULL) {
    return nay__fail(diag, NAY_EINVAL, "file or visitor is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_SST_FILE, file, diag, &r.file));
  if (r.file.read_at == NULL) return nay__fail(diag, NAY_EINVAL, "file->read_at is NULL", 0);
  NAY_TRY(puffin_options_read(options, diag, &r.options));
  NAY_TRY(nay__allocator_read(allocator, diag, &r.allocator));
  nay_status status = puffin_read(&r, visitor, diag);
  nay__memory_free(&r.allocator, &r.footer);
  nay__memory_free(&r.allocator, &r.payload);
  nay__memory_free(&r.allocator, &r.texts);
  nay_buffer *buffers[] = {&r.fields, &r.properties, &r.file_properties, &r.starts, &r.ends};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
    nay__buffer_free(buffers[i], &r.allocator);
  }
  return status;
}

/* ---- writing ---- */

/* The state of a file that is being written: the JSON so far, and the bytes written. */
typedef struct puffin_writer {
  const nay_sst_target *target;
  nay_sst_puffin_options options;
  nay_allocator allocator;
  nay_buffer json;
  uint64_t at;
  nay_status status; /* status of the JSON: NAY_ENOMEM, NAY_EINVAL */
} puffin_writer;

static void put_bytes(puffin_writer *w, const void *bytes, size_t len) {
  if (w->status == NAY_OK) w->status = nay__buffer_append(&w->json, bytes, len, &w->allocator);
}

static void put_text(puffin_writer *w, const char *text) { put_bytes(w, text, strlen(text)); }

static void put_integer(puffin_writer *w, int64_t value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + left % 10);
  while ((left /= 10) != 0);
  if (value < 0) *--at = '-';
  put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

static void put_character(puffin_writer *w, uint8_t c) {
  static const char escaped[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt",
                    digits[] = "0123456789ABCDEF";
  for (unsigned i = 0; i < sizeof escaped - 1; i++) {
    char pair[2] = {'\\', names[i]};
    if (c != (uint8_t)escaped[i]) continue;
    put_bytes(w, pair, sizeof pair);
    return;
  }
  char code[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
  if (c < 0x20) put_bytes(w, code, sizeof code);
  if (c >= 0x20) put_bytes(w, &c, 1);
}

static void put_string(puffin_writer *w, const char *text) {
  if (text == NULL) {
    w->status = NAY_EINVAL;
    return;
  }
  const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
  put_text(w, "\"");
  while (p < end && w->status == NAY_OK) {
    size_t n = utf8_length(p, end);
    if (n == 0) w->status = NAY_EINVAL;
    if (n == 1) put_character(w, *p);
    if (n > 1) put_bytes(w, p, n);
    p += n;
  }
  put_text(w, "\"");
}

/* Iceberg's writer leaves out empty properties. */
static void put_properties(puffin_writer *w, const nay_sst_puffin_property *properties, size_t n) {
  if (n == 0) return;
  put_text(w, ",\"properties\":{");
  for (size_t i = 0; i < n; i++) {
    if (i != 0) put_text(w, ",");
    put_string(w, properties[i].name);
    put_text(w, ":");
    put_string(w, properties[i].value);
  }
  put_text(w, "}");
}

static void put_blob(puffin_writer *w, const nay_sst_puffin_blob *blob, uint64_t nbytes) {
  put_text(w, "{\"type\":");
  put_string(w, blob->type);
  put_text(w, ",\"fields\":[");
  for (size_t i = 0; i < blob->nfields; i++) {
    if (i != 0) put_text(w, ",");
    put_integer(w, blob->fields[i]);
  }
  put_text(w, "],\"snapshot-id\":");
  put_integer(w, blob->snapshot_id);
  put_text(w, ",\"sequence-number\":");
  put_integer(w, blob->sequence_number);
  put_text(w, ",\"offset\":");
  put_integer(w, (int64_t)w->at);
  put_text(w, ",\"length\":");
  put_integer(w, (int64_t)nbytes);
  if (blob->codec != NULL) {
    put_text(w, ",\"compression-codec\":");
    put_string(w, blob->codec);
  }
  put_properties(w, blob->properties, blob->nproperties);
  put_text(w, "}");
}

static nay_status writer_status(const puffin_writer *w, nay_diag *diag) {
  if (w->status == NAY_EINVAL) {
    return nay__fail(diag, NAY_EINVAL, "a text is NULL or not UTF-8", 0);
  }
  if (w->status == NAY_ENOMEM) return nay__fail(diag, NAY_ENOMEM, "no memory for the footer", 0);
  return w->status;
}

static nay_status writer_write(puffin_writer *w, const void *bytes, size_t len, nay_diag *diag) {
  NAY_TRY(nay_sst__io_write(w->target, bytes, len, diag));
  w->at += len;
  return NAY_OK;
}

static nay_status puffin_compress(puffin_writer *w, const char *name, const void *bytes, size_t len,
                                  nay_diag *diag, nay_memory *packed, size_t *packed_len) {
  const nay_sst_codec *codec = puffin_codec(&w->options, name);
  if (codec == NULL) return nay__fail(diag, NAY_ENOTSUP, "a codec is missing", w->at);
  size_t cap = codec->bound(codec->ctx, len);
  if (nay__memory_raw(&w->allocator, cap + 1, packed) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a compressed blob", w->at);
  }
  if (codec->compress(codec->ctx, bytes, len, packed->at, cap, packed_len) == NAY_OK) return NAY_OK;
  nay__memory_free(&w->allocator, packed);
  return nay__fail(diag, NAY_EINVAL, "the codec cannot compress these bytes", w->at);
}

static nay_status writer_blob(puffin_writer *w, const nay_sst_puffin_blob *blob, nay_diag *diag) {
  nay_memory packed;
  size_t len = blob->len;
  const void *bytes = blob->bytes;
  if ((bytes == NULL && len != 0) || (blob->fields == NULL && blob->nfields != 0) ||
      (blob->properties == NULL && blob->nproperties != 0)) {
    return nay__fail(diag, NAY_EINVAL, "blob: an array is NULL", 0);
  }
  bool compresses = blob->codec != NULL;
  if (compresses && strcmp(blob->codec, "zstd") != 0 && strcmp(blob->codec, "lz4") != 0) {
    return nay__fail(diag, NAY_EINVAL, "codec: neither zstd nor lz4", 0);
  }
  if (compresses) {
    NAY_TRY(puffin_compress(w, blob->codec, bytes, len, diag, &packed, &len));
    bytes = packed.at;
  }
  put_blob(w, blob, len);
  nay_status status = writer_status(w, diag);
  if (status == NAY_OK && len != 0) status = writer_write(w, bytes, len, diag);
  if (compresses) nay__memory_free(&w->allocator, &packed);
  return status;
}

static nay_status writer_footer(puffin_writer *w, nay_diag *diag) {
  uint8_t tail[PUFFIN_TAIL] = {0};
  nay_memory packed;
  const uint8_t *payload = w->json.at;
  size_t len = w->json.len;
  bool compresses = w->options.compress_footer;
  if (compresses) {
    NAY_TRY(puffin_compress(w, "lz4", payload, len, diag, &packed, &len));
    payload = packed.at;
  }
  nay__store32le(tail, (uint32_t)len);
  nay__store32le(tail + 4, compresses ? PUFFIN_LZ4_FOOTER : 0);
  memcpy(tail + 8, puffin_magic, PUFFIN_MAGIC);
  nay_status status = len > INT32_MAX ? nay__fail(diag, NAY_EINVAL, "the footer is above 2 GiB", 0)
                                      : writer_write(w, puffin_magic, PUFFIN_MAGIC, diag);
  if (status == NAY_OK) status = writer_write(w, payload, len, diag);
  if (status == NAY_OK) status = writer_write(w, tail, sizeof tail, diag);
  if (compresses) nay__memory_free(&w->allocator, &packed);
  return status;
}

static nay_status writer_all(puffin_writer *w, const nay_sst_puffin_blob *blobs, size_t n,
                             nay_diag *diag) {
  NAY_TRY(writer_write(w, puffin_magic, PUFFIN_MAGIC, diag));
  put_text(w, "{\"blobs\":[");
  const char *stride =
      (const char *)blobs; /* the caller may have been compiled with a smaller or larger struct */
  for (size_t i = 0; i < n; i++) {
    nay_sst_puffin_blob blob;
    NAY_TRY(nay__abi_read(NAY_ABI_PUFFIN_BLOB, stride + i * blobs->size, diag, &blob));
    if (i != 0) put_text(w, ",");
    NAY_TRY(writer_blob(w, &blob, diag));
  }
  put_text(w, "]");
  put_properties(w, w->options.properties, w->options.nproperties);
  put_text(w, "}");
  NAY_TRY(writer_status(w, diag));
  NAY_TRY(writer_footer(w, diag));
  NAY_TRY(nay_sst__io_sync(w->target, diag));
  return NAY_OK;
}

nay_status nay_sst_puffin_write(const nay_sst_target *target, const nay_sst_puffin_blob *blobs,
                                size_t n, const nay_sst_puffin_options *options,
                                const nay_allocator *allocator, nay_diag *diag) {
  nay_sst_target to;
  puffin_writer w = {.target = &to};
  if (target == NULL || (blobs == NULL && n != 0)) {
    return nay__fail(diag, NAY_EINVAL, "target or blobs is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_SST_TARGET, target, diag, &to));
  if (to.write == NULL) return nay__fail(diag, NAY_EINVAL, "target->write is NULL", 0);
  nay_status status = puffin_options_read(options, diag, &w.options);
  if (status == NAY_OK) status = nay__allocator_read(allocator, diag, &w.allocator);
  if (status == NAY_OK) {
    status = writer_all(&w, blobs, n, diag);
    nay__buffer_free(&w.json, &w.allocator);
  }
  if (status != NAY_OK) {
    nay_sst__io_abort(&to);
    return status;
  }
  return nay_sst__io_finish(&to, diag);
}
