/*
 * conformance.c - the runner of the conformance kit for C, and what fills in its answers.
 *
 *   conformance DIR                  runs DIR/vectors.jsonl, prints TAP: one line for each case
 *   conformance DIR --answer <CASES  writes the cases with the answers of this library, and
 * DIR/files
 *
 * README.md of this directory says what the operations are.
 */
#include <inttypes.h>
#include <nay_format.h>
#include <nay_key.h>
#include <nay_map.h>
#include <nay_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dir;
static struct { char *name, *value; } fields[40];
static size_t nfields;

typedef struct bytes {
  uint8_t *at;
  size_t len;
} bytes;

/* ---- a case: one object of strings without escapes ---- */

static void parse(char *line) {
  char *part[160];
  size_t n = 0;
  for (char *p = line; n < 160 && p != NULL; p = strchr(p, '"')) {
    if (n > 0) *p++ = '\0';
    part[n++] = p;
  }
  nfields = 0;
  for (size_t i = 1; i + 2 < n; i += 4) {
    fields[nfields].name = part[i];
    fields[nfields++].value = part[i + 2];
  }
}

static const char *get(const char *name) {
  for (size_t i = 0; i < nfields; i++) {
    if (strcmp(fields[i].name, name) == 0) return fields[i].value;
  }
  return "";
}
static bool has(const char *name) { return *get(name) != '\0'; }
static uint64_t number(const char *name) { return strtoull(get(name), NULL, 10); }
static double real(const char *name) { return has(name) ? strtod(get(name), NULL) : 0; }

static bytes unhex(const char *hex) {
  bytes b = {malloc(strlen(hex) / 2 + 1), strlen(hex) / 2};
  for (size_t i = 0; i < b.len; i++) {
    char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
    b.at[i] = (uint8_t)strtoul(two, NULL, 16);
  }
  return b;
}

static bytes hex(const uint8_t *at, size_t len) {
  bytes b = {malloc(2 * len + 1), 2 * len};
  for (size_t i = 0; i < len; i++) snprintf((char *)b.at + 2 * i, 3, "%02x", at[i]);
  return b;
}

static bytes text(const char *s) {
  bytes b = {malloc(strlen(s) + 1), strlen(s)};
  memcpy(b.at, s, b.len + 1);
  return b;
}

static uint64_t of_double(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static bytes read_file(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/files/%s", dir, name);
  FILE *f = fopen(path, "rb");
  bytes b = {malloc(1 << 20), 0};
  if (f == NULL) {
    fprintf(stderr, "conformance: no %s\n", path);
    exit(2);
  }
  b.len = fread(b.at, 1, 1 << 20, f);
  fclose(f);
  return b;
}

/* ---- parameters, keys, files ---- */

static nay_params params(void) {
  nay_params p = {.size = sizeof p};
  if (has("kind")) nay_kind_parse(get("kind"), &p.kind);
  if (strcmp(get("kind"), "map") == 0) p.kind = NAY_MAP;
  p.nkeys = number("nkeys");
  p.fpr = real("fpr");
  p.bits_per_key = real("bits_per_key");
  p.nbytes = number("nbytes");
  p.nbits = number("nbits");
  p.k = (uint32_t)number("k");
  p.fold = number("fold");
  p.seed = number("seed");
  p.tag_bits = (uint32_t)number("tag_bits");
  p.generations = (uint32_t)number("generations");
  p.max_nkeys = number("max_nkeys");
  p.value_bits = (uint32_t)number("value_bits");
  p.check_bits = (uint32_t)number("check_bits");
  p.range_length = number("range_length");
  p.range_keys = (uint32_t)number("range_keys");
  p.range_delimiter = (uint32_t)number("range_delimiter");
  if (has("secret")) {
    bytes secret = unhex(get("secret"));
    p.hash = NAY_HASH_SIPHASH;
    memcpy(p.key, secret.at, 16);
    free(secret.at);
  }
  if (has("store_key")) p.flags |= NAY_STORE_KEY;
  return p;
}

/* Key i of PREFIX:FIRST:COUNT, a field, is the text PREFIX and FIRST + i in decimal. Returns its
 * length; count: if not NULL. */
static size_t key_of(const char *field, uint64_t i, char key[80], uint64_t *count) {
  char prefix[64];
  uint64_t first = 0, n = 0;
  if (sscanf(get(field), "%63[^:]:%" SCNu64 ":%" SCNu64, prefix, &first, &n) != 3) exit(2);
  if (count != NULL) *count = n;
  return (size_t)snprintf(key, 80, "%s%" PRIu64, prefix, first + i);
}
static size_t key_at(uint64_t i, char key[80], uint64_t *count) {
  return key_of("keys", i, key, count);
}

/* The key of a text as a value of a description; in place. */
static nay_status typed(const char *description, char key[80], size_t *len) {
  nay_key_description d = {.size = sizeof d};
  uint8_t made[512];
  nay_status status = nay_key_description_parse(description, NULL, &d);
  if (status == NAY_OK) status = nay_key_convert(&d, key, *len, NULL, made, 80, len);
  if (status == NAY_OK) memcpy(key, made, *len);
  return status;
}

static nay_status open_as(const char *name, nay_filter **filter) {
  bytes b = read_file(name);
  if (has("flip")) b.at[number("flip") / 8] ^= (uint8_t)(1u << number("flip") % 8);
  if (has("cut")) b.len = (size_t)number("cut");
  if (has("append")) b.at[b.len++] = 0;
  nay_status status = has("format") ? nay_format_decode(nay_format_find(get("format")), b.at, b.len,
                                                        0, NULL, NULL, filter)
                                    : nay_filter_decode(b.at, b.len, NULL, NULL, filter);
  free(b.at);
  if (status == NAY_OK && has("unlock")) {
    bytes secret = unhex(get("unlock"));
    status = nay_filter_unlock(*filter, secret.at);
    free(secret.at);
  }
  return status;
}

static nay_status encode(nay_filter *f, bytes *out) {
  const nay_format *format = nay_filter_format(f);
  out->len = nay_format_encoded_size(format, f);
  out->at = malloc(out->len);
  return nay_format_encode(format, f, out->at, out->len, &out->len);
}

/* ---- operations ---- */

static nay_status op_hash(bytes *out) {
  nay_params p = params();
  nay_hasher hasher = {.size = sizeof hasher};
  nay_filter *f = NULL;
  nay_hash h;
  uint8_t big[8];
  bytes key = unhex(get("key"));
  p.nkeys = 1, p.fpr = 0.5;
  nay_status status = nay_filter_new(&p, NULL, NULL, &f);
  if (status == NAY_OK) status = nay_filter_hasher(f, &hasher);
  if (status == NAY_OK) status = nay_hasher_hash(&hasher, key.at, key.len, &h);
  for (int i = 0; status == NAY_OK && i < 8; i++) big[i] = (uint8_t)(h.lo >> (56 - 8 * i));
  if (status == NAY_OK) *out = hex(big, 8);
  nay_filter_free(f);
  free(key.at);
  return status;
}

static nay_status op_key(bytes *out) {
  static uint8_t key[NAY_KEY_NUMERIC_MAX];
  size_t len = 8;
  nay_status status = NAY_OK;
  if (has("int")) {
    nay_key_int((int64_t)strtoll(get("int"), NULL, 10), key);
  } else if (has("float")) {
    uint64_t u = strtoull(get("float"), NULL, 16);
    double x;
    memcpy(&x, &u, sizeof x);
    nay_key_float(x, key);
  } else {
    nay_key_description how = {.size = sizeof how};
    bytes t = unhex(get("text"));
    status = nay_key_description_parse(get("type"), NULL, &how);
    if (status == NAY_OK) {
      status = nay_key_parse(how.type, (char *)t.at, t.len, NULL, key, sizeof key, &len);
    }
    free(t.at);
  }
  if (status == NAY_OK) *out = hex(key, len);
  return status;
}

static nay_status op_plan(bytes *out) {
  nay_params p = params();
  nay_plan plan = {.size = sizeof plan};
  char line[256];
  nay_status status = nay_params_plan(&p, NULL, &plan);
  if (status != NAY_OK) return status;
  snprintf(line, sizeof line, "%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64,
           nay_kind_name(plan.kind), plan.k, plan.nbits, plan.nbytes, plan.nbytes_file,
           of_double(plan.fpr));
  *out = text(line);
  return NAY_OK;
}

static nay_status op_add(bytes *out) {
  nay_params p = params();
  nay_filter *f = NULL;
  char key[80];
  uint64_t n;
  key_at(0, key, &n);
  nay_status status = has("format")
                          ? nay_format_new(nay_format_find(get("format")), &p, NULL, NULL, &f)
                          : nay_filter_new(&p, NULL, NULL, &f);
  if (status == NAY_OK && has("key_type")) status = nay_filter_set_key(f, get("key_type"));
  for (uint64_t i = 0; status == NAY_OK && i < n; i++) {
    size_t len = key_at(i, key, NULL);
    status = nay_filter_add(f, key, len, NULL);
  }
  if (status == NAY_OK) status = encode(f, out);
  nay_filter_free(f);
  return status;
}

/* A build; with key_type of values of it. A map: value i is i * mul mod 2^value_bits. */
static nay_status op_build(bytes *out) {
  nay_params p = params();
  nay_builder *b = NULL;
  nay_filter *f = NULL;
  char key[80];
  uint64_t n, mask = p.value_bits == 64 ? UINT64_MAX : ((uint64_t)1 << p.value_bits) - 1;
  key_at(0, key, &n);
  nay_status status = nay_builder_new(&p, NULL, NULL, &b);
  for (uint64_t i = 0; status == NAY_OK && i < n; i++) {
    size_t len = key_at(i, key, NULL);
    if (has("key_type")) status = typed(get("key_type"), key, &len);
    if (status != NAY_OK) break;
    status = p.kind == NAY_MAP ? nay_builder_add_value(b, key, len, i * number("mul") & mask)
                               : nay_builder_add(b, key, len);
  }
  if (status == NAY_OK) status = nay_builder_finish(b, NULL, &f);
  if (status == NAY_OK && has("key_type")) status = nay_filter_set_key(f, get("key_type"));
  if (status == NAY_OK) status = encode(f, out);
  nay_builder_free(b);
  nay_filter_free(f);
  return status;
}

/* merge, intersect: files a and b; fold, remove: file a. */
static nay_status op_change(bytes *out) {
  nay_filter *a = NULL, *b = NULL;
  const char *op = get("op");
  char key[80];
  uint64_t n = 0;
  nay_status status = open_as(get("a"), &a);
  if (status == NAY_OK && has("b")) status = open_as(get("b"), &b);
  if (status == NAY_OK && strcmp(op, "merge") == 0) {
    status = nay_filter_merge(a, b, has("max_fpr") ? real("max_fpr") : 1, NULL);
  } else if (status == NAY_OK && strcmp(op, "intersect") == 0) {
    status = nay_filter_intersect(a, b, NULL);
  } else if (status == NAY_OK && strcmp(op, "fold") == 0) {
    status = nay_filter_fold(a, number("factor"), NULL);
  } else if (status == NAY_OK) {
    key_at(0, key, &n);
    for (uint64_t i = 0; status == NAY_OK && i < n; i++) {
      size_t len = key_at(i, key, NULL);
      status = nay_filter_remove(a, key, len);
    }
  }
  if (status == NAY_OK) status = encode(a, out);
  nay_filter_free(a);
  nay_filter_free(b);
  return status;
}

/* Range i is from text i of keys to text i of ends, as values of what the filter states. */
static nay_status ranges(nay_filter *f, bytes *out) {
  uint8_t map[512] = {0};
  char lo[80], hi[80];
  uint64_t n;
  nay_status status = NAY_OK;
  key_at(0, lo, &n);
  for (uint64_t i = 0; status == NAY_OK && i < n; i++) {
    bool maybe = true;
    size_t lo_len = key_at(i, lo, NULL), hi_len = key_of("ends", i, hi, NULL);
    status = typed(nay_filter_key(f), lo, &lo_len);
    if (status == NAY_OK) status = typed(nay_filter_key(f), hi, &hi_len);
    if (status == NAY_OK) status = nay_filter_may_contain_range(f, lo, lo_len, hi, hi_len, &maybe);
    if (maybe) map[i / 8] |= (uint8_t)(1u << i % 8);
  }
  if (status == NAY_OK) *out = hex(map, (size_t)(n + 7) / 8);
  return status;
}

/* open, stats, probe, ranges, count, get, ask: what a file answers. */
static nay_status op_file(bytes *out) {
  nay_filter *f = NULL;
  const char *op = get("op");
  char line[256] = "OK";
  uint64_t value = 0;
  bytes key = unhex(get("key"));
  nay_status status = open_as(get("a"), &f);
  if (status == NAY_OK && strcmp(op, "stats") == 0) {
    nay_stats s = {.size = sizeof s};
    status = nay_filter_stats(f, &s);
    snprintf(line, sizeof line, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 " %016" PRIx64,
             s.k, s.nkeys, s.nbits, s.nbits_set, of_double(s.nkeys_estimated),
             of_double(s.fpr_now));
  } else if (status == NAY_OK && strcmp(op, "probe") == 0) {
    uint8_t map[512] = {0};
    char k[80];
    uint64_t n;
    key_at(0, k, &n);
    for (uint64_t i = 0; i < n; i++) {
      size_t len = key_at(i, k, NULL);
      if (nay_filter_may_contain(f, k, len)) map[i / 8] |= (uint8_t)(1u << i % 8);
    }
    *out = hex(map, (size_t)(n + 7) / 8);
  } else if (status == NAY_OK && strcmp(op, "ranges") == 0) {
    status = ranges(f, out);
  } else if (status == NAY_OK && strcmp(op, "count") == 0) {
    status = nay_filter_count(f, key.at, key.len, &value);
    snprintf(line, sizeof line, "%" PRIu64, value);
  } else if (status == NAY_OK && strcmp(op, "get") == 0) {
    status = nay_filter_get(f, key.at, key.len, &value);
    snprintf(line, sizeof line, "%" PRIu64, value);
  } else if (status == NAY_OK && strcmp(op, "ask") == 0) {
    nay_key_description d = {.size = sizeof d};
    uint8_t made[512];
    size_t len = 0;
    status = nay_key_description_parse(nay_filter_key(f), NULL, &d);
    if (status == NAY_OK) {
      status = nay_key_convert(&d, (char *)key.at, key.len, NULL, made, sizeof made, &len);
    }
    snprintf(line, sizeof line, "%s %s", nay_filter_key(f),
             nay_filter_may_contain(f, made, len) ? "maybe" : "nay");
  }
  if (status == NAY_OK && out->at == NULL) *out = text(line);
  nay_filter_free(f);
  free(key.at);
  return status;
}

static nay_status op_status(bytes *out) {
  char line[256];
  nay_status status = (nay_status)atoi(get("number"));
  snprintf(line, sizeof line, "%s: %s", nay_status_name(status) + 4, nay_status_text(status));
  *out = text(line);
  return NAY_OK;
}

static const struct {
  const char *name;
  nay_status (*run)(bytes *out);
  bool file; /* the answer is the bytes of a file */
} ops[] = {{"hash", op_hash, false},       {"key", op_key, false},      {"plan", op_plan, false},
           {"add", op_add, true},          {"build", op_build, true},   {"merge", op_change, true},
           {"intersect", op_change, true}, {"fold", op_change, true},   {"remove", op_change, true},
           {"open", op_file, false},       {"stats", op_file, false},   {"probe", op_file, false},
           {"count", op_file, false},      {"get", op_file, false},     {"ask", op_file, false},
           {"ranges", op_file, false},     {"status", op_status, false}};

/* The answer, or the name of a status; whether it is a file. */
static bytes answer(bool *file) {
  bytes out = {NULL, 0};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (strcmp(ops[i].name, get("op")) != 0) continue;
    nay_status status = ops[i].run(&out);
    *file = ops[i].file && status == NAY_OK;
    if (status == NAY_OK) return out;
    free(out.at);
    return text(nay_status_name(status) + 4);
  }
  fprintf(stderr, "conformance: no operation '%s'\n", get("op"));
  exit(2);
}

static void write_answer(const char *line) {
  bool file = false;
  bytes out = answer(&file);
  printf("%.*s", (int)strcspn(line, "}"), line);
  if (file) {
    char path[4096];
    snprintf(path, sizeof path, "%s/files/%s", dir, get("file"));
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(out.at, 1, out.len, f) != out.len || fclose(f) != 0) exit(2);
    printf(", \"want\": \"@%s\"}\n", get("file"));
  } else {
    printf(", \"want\": \"%.*s\"}\n", (int)out.len, (char *)out.at);
  }
  free(out.at);
}

static bool compare(void) {
  bool file = false;
  bytes out = answer(&file),
        want = *get("want") == '@' ? read_file(get("want") + 1) : text(get("want"));
  bool same = out.len == want.len && memcmp(out.at, want.at, out.len) == 0;
  if (!same && !file) printf("# got %.*s, not %s\n", (int)out.len, (char *)out.at, get("want"));
  free(out.at);
  free(want.at);
  return same;
}

int main(int argc, char **argv) {
  static char line[8192], copy[8192];
  if (argc < 2) return 2;
  dir = argv[1];
  bool write = argc > 2, failed = false;
  snprintf(copy, sizeof copy, "%s/vectors.jsonl", dir);
  FILE *in = write ? stdin : fopen(copy, "r");
  int n = 0;
  if (in == NULL) return 2;
  while (fgets(line, sizeof line, in) != NULL) {
    memcpy(copy, line, sizeof copy);
    parse(copy);
    if (write) {
      write_answer(line);
      continue;
    }
    bool same = compare();
    failed |= !same;
    printf("%sok %d - %s\n", same ? "" : "not ", ++n, get("name"));
  }
  if (!write) printf("1..%d\n", n);
  if (!write) fclose(in);
  return failed || (!write && n == 0);
}
