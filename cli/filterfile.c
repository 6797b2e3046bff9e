/* filterfile.c - see filterfile.h. */
#include "filterfile.h"

#include <errno.h>
#include <fcntl.h>
#include <nay_explain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bads.h"
#include "binary.h"
#include "described.h"
#include "descriptors.h"
#include "numbers.h"
#include "outfile.h"
#include "parquetfile.h"
#include "source.h"
#include "sstable_name.h"
#include "tablefile.h"

/* Bytes from which a layout is recognised: small filters are all there. */
#define FILTER_HEAD 65536u

/* ---- reading ---- */

typedef struct file_bytes {
  uint8_t *at;
  size_t len;
} file_bytes;

static const char *filter_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* -1 when it cannot be opened, with the reason in `why`. */
static int filter_fd(const char *path, char why[DIAG_TEXT]) {
  int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0) snprintf(why, DIAG_TEXT, "cannot be opened: %s", strerror(errno));
  if (fd < 0 || fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode)) return fd;
  snprintf(why, DIAG_TEXT, "is a directory");
  if (fd != STDIN_FILENO) close(fd);
  return -1;
}

/* At most `most` bytes, from the start. */
static file_bytes filter_read(int fd, const char *path, size_t most) {
  file_bytes b = {NULL, 0};
  size_t cap = 0;
  for (ssize_t n = 1; n > 0 && b.len < most;) {
    if (b.len == cap) b.at = must_grow(b.at, cap = cap == 0 ? 65536 : cap * 2);
    size_t room = cap - b.len < most - b.len ? cap - b.len : most - b.len;
    do n = read(fd, b.at + b.len, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
      die(EXIT_TROUBLE, "cannot read %s: %s", filter_name(path), descriptor_error(fd, errno));
    b.len += (size_t)n;
  }
  return b;
}

static void filter_unrecognised(filter_file *file, const char *path, const file_bytes *b) {
  table_file table = tablefile_try(path, NULL);
  bool likely;
  const nay_format *guess = nay_format_recognise(b->at, b->len, file->nbytes, &likely);
  file->status = NAY_EFORMAT;
  if (table.is_table) {
    snprintf(file->why, sizeof file->why,
             "a table, not a filter: nay extract extracts its filters");
    tablefile_close(&table);
    return;
  }
  if (b->len >= 4 && parquetfile_magic(b->at)) {
    snprintf(file->why, sizeof file->why,
             "a Parquet file, not a filter: nay prune and nay check --in probe its filters, nay "
             "extract extracts them");
    return;
  }
  if (b->len >= 4 && memcmp(b->at, "PFA1", 4) == 0) {
    snprintf(
        file->why, sizeof file->why,
        "a Puffin file, not a filter: nay check probes its filters, nay extract extracts them");
    return;
  }
  static const char *const orc[] = {
      [ORC_FILE] = "an ORC file, not a filter: ORC's Bloom filters are not read here",
      [ORC_STREAM] = "probably a stream of ORC's Bloom filters, which are not read here",
      [ORC_PRERELEASE] =
          "probably Bloom filters of a pre-release writer of ORC: readers of today "
          "deny their members, so they are not read",
  };
  char why[DIAG_TEXT];
  int fd = filter_fd(path, why);
  orc_kind kind = binary_orc(fd, b->at, b->len, file->nbytes);
  if (fd >= 0 && fd != STDIN_FILENO) close(fd);
  if (kind != ORC_NONE && guess == NULL) {
    snprintf(file->why, sizeof file->why, "%s", orc[kind]);
    return;
  }
  if (guess != NULL) {
    snprintf(file->why, sizeof file->why,
             "probably %s, by the numbers that it starts with: --format=%s takes it for that",
             nay_format_name(guess), nay_format_name(guess));
    return;
  }
  char names[2 * DIAG_TEXT - 80] = "";
  const nay_format *format;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    if ((nay_format_traits(format) & NAY_FORMAT_MAGIC) != 0) continue;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
             nay_format_name(format));
  }
  snprintf(file->why, sizeof file->why,
           "not a known filter; layouts without a magic number need --format (%s)", names);
}

static bool filter_is_gzip(const uint8_t *p, size_t len) {
  return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* DCSO's command writes its filters compressed, too. */
static file_bytes filter_unpack(const char *path) {
  source_use use = {.wanted = "a filter", .decompress = true};
  source_failure fail;
  source *s;
  file_bytes b = {NULL, 0};
  ssize_t n = source_open(path, &use, &s, &fail) ? 1 : -1;
  for (size_t cap = 0; n > 0; b.len += (size_t)(n > 0 ? n : 0)) {
    if (cap - b.len < 65536) b.at = must_grow(b.at, cap = cap == 0 ? 131072 : cap * 2);
    n = source_read(s, b.at + b.len, cap - b.len, &fail);
  }
  if (n < 0) die(fail.status, "%s", fail.text);
  source_close(s);
  return b;
}

/* A table of LevelDB or RocksDB has its magic number at its end. */
static bool filter_is_table(const char *path, const file_bytes *b, bool whole) {
  if (whole) return nay_sst_filters_recognise(b->at, b->len);
  table_file table = tablefile_try(path, NULL);
  bool is_table = table.is_table;
  if (is_table) tablefile_close(&table);
  return is_table;
}

/* Whether --format contradicts a magic number, which is then right: says what the file is. */
static bool filter_named_wrong(filter_file *file, const char *path, const file_bytes *b,
                               bool whole) {
  const nay_format *named = file->format, *is = nay_format_recognise(b->at, b->len, b->len, NULL);
  if (named == NULL || is == named) return false;
  if (is != NULL) {
    snprintf(file->why, sizeof file->why,
             "the layout is %s by its magic number, not %s: omit --format", nay_format_name(is),
             nay_format_name(named));
  } else if (filter_is_table(path, b, whole)) {
    snprintf(file->why, sizeof file->why,
             "the file is a table by its magic number, not %s: nay extract extracts its filters",
             nay_format_name(named));
  } else {
    return false;
  }
  file->status = NAY_EFORMAT;
  file->format = is;
  return true;
}

/* The version in the name of one of Cassandra's files decides nothing that a magic number or
 * --format says. */
static const nay_format *filter_by_name(const char *path, const nay_format *named) {
  if (named != NULL && (nay_format_traits(named) & NAY_FORMAT_MAGIC) != 0) return named;
  const nay_format *by_name = sstable_name_format(path);
  if (by_name != NULL && named != NULL && by_name != named) {
    message_error("warning: %s is %s by the version in its name, not %s", path,
                  nay_format_name(by_name), nay_format_name(named));
  }
  return named != NULL ? named : by_name;
}

/* mini-lsm's filters and tables have no magic number, and its short name is that of both. */
static void filter_hint_table(filter_file *file, const char *path) {
  if (strcmp(nay_format_name(file->format), "mini-lsm") != 0) return;
  table_file table = tablefile_try(path, "mini-lsm-sst");
  size_t used = strlen(file->why);
  if (table.status == NAY_OK) {
    snprintf(file->why + used, sizeof file->why - used,
             "; it may be a table, which --format=mini-lsm-sst reads");
  }
  tablefile_close(&table);
}

filter_file filterfile_try(const char *path, const filter_options *filter) {
  filter_file file = {.format = filter->format};
  nay_diag diag = {.what = NULL};
  int fd = filter_fd(path, file.why);
  if (fd < 0) {
    file.status = NAY_EIO;
    return file;
  }
  struct stat st;
  bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fd != STDIN_FILENO;
  file_bytes b = filter_read(fd, path, regular ? FILTER_HEAD : SIZE_MAX);
  if (regular && filter_is_gzip(b.at, b.len)) {
    free(b.at);
    b = filter_unpack(path);
    regular = false;
  }
  file.nbytes = regular ? (uint64_t)st.st_size : b.len;
  bool refused = filter_named_wrong(&file, path, &b, !regular);
  if (file.format == NULL) file.format = nay_format_recognise(b.at, b.len, file.nbytes, NULL);
  if (!refused) file.format = filter_by_name(path, file.format);
  if (file.format == NULL && !refused && filter->guesses) {
    file.format = nay_format_recognise(b.at, b.len, file.nbytes, &file.likely);
    file.likely = file.likely && file.format != NULL;
  }
  if (file.format == NULL && !refused) filter_unrecognised(&file, path, &b);
  if (file.status != NAY_OK) {
    /* why is told already */
  } else if (regular && strcmp(nay_format_name(file.format), "nay") == 0) {
    file.status = nay_filter_open(path, NULL, &diag, &file.filter); /* no second copy */
  } else {
    if (regular) {
      free(b.at);
      if (lseek(fd, 0, SEEK_SET) != 0) die(EXIT_TROUBLE, "%s: %s", path, strerror(errno));
      b = filter_read(fd, path, SIZE_MAX);
    }
    file.status = nay_format_decode(file.format, b.at, b.len, 0, NULL, &diag, &file.filter);
    if (file.status == NAY_OK)
      file.format = nay_filter_format(file.filter); /* of RocksDB's: which */
  }
  if (file.status == NAY_OK && !is_filter_kind(nay_filter_kind(file.filter)) &&
      nay_filter_kind(file.filter) != NAY_AUTO) {
    bool map = nay_filter_kind(file.filter) == NAY_MAP;
    nay_filter_free(file.filter);
    file.filter = NULL;
    file.status = NAY_EFORMAT;
    diag = (nay_diag){.what = map ? "a static map, not a filter" : "an exact list, not a filter"};
  }
  if (file.status != NAY_OK && file.why[0] == '\0') {
    diag_text(file.status, &diag, file.why);
    if (regular && file.nbytes != 0) filter_hint_table(&file, path);
  }
  free(b.at);
  if (fd != STDIN_FILENO) close(fd);
  return file;
}

nay_filter *filterfile_read_as(const char *path, const nay_format *format) {
  char why[DIAG_TEXT];
  uint8_t *bytes;
  size_t len;
  if (!filterfile_bytes(path, &bytes, &len, why)) return NULL;
  nay_filter *f = NULL;
  nay_status status = nay_format_decode(format, bytes, len, 0, NULL, NULL, &f);
  free(bytes);
  return status == NAY_OK ? f : NULL;
}

bool filterfile_is_regular(const char *path) {
  struct stat st;
  return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool filterfile_bytes(const char *path, uint8_t **bytes, size_t *len, char why[DIAG_TEXT]) {
  int fd = filter_fd(path, why);
  if (fd < 0) return false;
  file_bytes b = filter_read(fd, path, SIZE_MAX);
  if (fd != STDIN_FILENO) close(fd);
  *bytes = b.at;
  *len = b.len;
  return true;
}

bool filterfile_secret(const char *path, uint8_t key[16]) {
  if (path == NULL) return false;
  char why[DIAG_TEXT];
  int fd = filter_fd(path, why);
  if (fd < 0) die(EXIT_TROUBLE, "%s %s", path, why);
  file_bytes b = filter_read(fd, path, 64);
  if (fd != STDIN_FILENO) close(fd);
  size_t len = b.len;
  while (len > 16 && (b.at[len - 1] == '\n' || b.at[len - 1] == '\r')) len--;
  bool ok = len == 16;
  if (len == 32) {
    char hex[33];
    memcpy(hex, b.at, 32);
    hex[32] = '\0';
    ok = strspn(hex, "0123456789abcdefABCDEF") == 32;
    for (unsigned i = 0; ok && i < 16; i++) {
      unsigned byte;
      ok = sscanf(hex + 2 * i, "%2x", &byte) == 1;
      key[i] = (uint8_t)byte;
    }
  } else if (ok) {
    memcpy(key, b.at, 16);
  }
  free(b.at);
  if (!ok) die(EXIT_TROUBLE, "%s: a secret is 16 bytes or 32 hex digits", path);
  return true;
}

void filterfile_unlock(nay_filter *f, const char *path, const char *secret) {
  uint8_t key[16];
  nay_stats stats = {.size = sizeof stats};
  nay_filter_stats(f, &stats);
  if (filterfile_secret(secret, key)) {
    if (stats.hash != NAY_HASH_SIPHASH && !stats.locked)
      die(EXIT_TROUBLE, "%s is not keyed: omit --secret", path);
    nay_status status = nay_filter_unlock(f, key);
    if (status == NAY_EKEY) die(EXIT_TROUBLE, "%s: --secret is not the key of this filter", path);
  } else if (stats.locked) {
    die(EXIT_TROUBLE, "%s is keyed: give its key with --secret", path);
  }
}

/* FILTER and KEYFILE in the wrong order: the one of the other operands that is a filter, or NULL.
 */
static const char *filter_swapped(const options *o, const filter_options *filter,
                                  const char *path) {
  bool takes_files = strncmp(o->command->operands, "FILTER [KEYFILE", 15) == 0;
  if (!takes_files || filter->format != NULL || path != o->operands[0]) return NULL;
  for (int i = 1; i < o->noperands; i++) {
    if (!filterfile_is_regular(o->operands[i])) continue;
    filter_file other = filterfile_try(o->operands[i], filter);
    nay_filter_free(other.filter);
    if (other.status == NAY_OK) return o->operands[i];
  }
  return NULL;
}

nay_filter *filterfile_open(const options *o, const filter_options *filter, const char *path) {
  filter_file file = filterfile_try(path, filter);
  const char *swapped = file.status == NAY_EFORMAT ? filter_swapped(o, filter, path) : NULL;
  if (swapped != NULL) {
    die(EXIT_TROUBLE, "%s is not a filter, but %s is: did you mean 'nay %s %s %s'?", path, swapped,
        o->command->name, swapped, path);
  }
  if (file.status != NAY_OK) {
    die(exit_of(file.status), "%s: %s", filter_name(path), file.why);
  }
  filterfile_unlock(file.filter, path, filter->secret);
  return file.filter;
}

/* ---- writing ---- */

typedef struct filter_content {
  const nay_filter *filter;
} filter_content;

static nay_status filter_produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const filter_content *c = ctx;
  const nay_format *format = nay_filter_format(c->filter);
  if (strcmp(nay_format_name(format), "nay") == 0) {
    return nay_filter_encode_stream(c->filter, sink, sink_ctx);
  }
  size_t size = nay_format_encoded_size(format, c->filter), len = 0;
  uint8_t *bytes = must_alloc(size);
  nay_status status = nay_format_encode(format, c->filter, bytes, size, &len);
  if (status == NAY_OK) status = sink(sink_ctx, bytes, len);
  free(bytes);
  return status;
}

void filterfile_save(const nay_filter *f, const char *path) {
  nay_stats s = {.size = sizeof s};
  bool secret = nay_filter_stats(f, &s) == NAY_OK && s.stores_key;
  filter_content c = {f};
  outfile_write(path, secret ? NAY_FILE_PRIVATE : 0, filter_produce, &c);
}

/* ---- changing in place ---- */

const char *filterfile_target(const options *o, const output_options *output) {
  const char *path = o->operands[0];
  if (output->path != NULL) {
    outfile_may_write(output->path, output->force);
    outfile_lock(output->path);
    return output->path;
  }
  if (path[0] == '-' && path[1] == '\0')
    die(EXIT_TROUBLE, "a filter from standard input needs -o FILE");
  char why[DIAG_TEXT];
  int fd = filter_fd(path, why);
  if (fd >= 0) {
    file_bytes b = filter_read(fd, path, 2);
    bool packed = filter_is_gzip(b.at, b.len);
    free(b.at);
    close(fd);
    if (packed) die(EXIT_TROUBLE, "%s is compressed by gzip: -o FILE writes it unpacked", path);
  }
  outfile_lock(path);
  return path;
}

const char *filterfile_kind(const nay_filter *f, unsigned *traits) {
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  *traits = nay_kind_traits(s.kind);
  return nay_kind_name(s.kind) != NULL ? nay_kind_name(s.kind) : "this";
}

const char *filterfile_kind_name(const nay_format *format, nay_kind kind) {
  const char *name = nay_kind_name(kind);
  return name != NULL ? name : nay_format_name(format);
}

/* ---- reports ---- */

bool filterfile_seed(const nay_filter *f, uint64_t *seed) {
  nay_explanation why = {.size = sizeof why};
  if (nay_filter_kind(f) == NAY_AUTO) return false; /* another system's layout */
  if (nay_filter_explain(f, "", 0, NULL, NULL, &why) != NAY_OK) return false;
  *seed = why.seed;
  return why.hash_kind == NAY_HASH_XXH3;
}

void json_filter_caveats(const nay_filter *f) {
  if (nay_filter_caveat(f) == NULL) return;
  json_open("caveats", '[');
  json_text(NULL, nay_filter_caveat(f));
  json_close();
}

void json_filter(const nay_filter *f, const nay_format *format, uint64_t nbytes, const promise *p) {
  const nay_stats s = p->stats;
  json_text("format", nay_format_name(format));
  json_text("kind", filterfile_kind_name(format, s.kind));
  json_text("hash", nay_hash_name(s.hash));
  uint64_t seed;
  if (filterfile_seed(f, &seed)) json_count("seed", seed);
  json_described(strcmp(nay_format_name(format), "nay") == 0 ? filter_states(f) : NULL);
  if (s.nkeys != 0) json_count("nkeys_planned", s.nkeys);
  if (s.nkeys == 0) json_null("nkeys_planned");
  json_real("nkeys_estimated", s.nkeys_estimated);
  json_real("utilisation", promise_utilisation(p));
  json_count("nbytes", nbytes);
  json_count("nbits", s.nbits);
  json_real("bits_per_key", stats_bits_per_key(&s));
  json_count("k", s.k);
  json_real("fill", s.fill);
  json_real("fpr_now", s.fpr_now);
  if (s.nkeys != 0) json_real("fpr_planned", s.fpr_planned);
  if (s.nkeys == 0) json_null("fpr_planned");
  promise_json(p);
  if (s.range_length != 0) {
    json_count("range_length", s.range_length);
    json_bool("range_exact", s.range_exact != 0);
    json_count("range_shift", s.range_shift);
  }
  json_bool("derived", s.derived);
  json_bool("saturated", s.saturated);
  json_bool("locked", s.locked);
}

static uint64_t encoded_size(const nay_filter *f) {
  return nay_format_encoded_size(nay_filter_format(f), f);
}

static void report_text(const char *done, const char *path, const nay_filter *f, const nay_stats *s,
                        uint64_t nkeys) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT];
  const nay_format *format = nay_filter_format(f);
  bool native = strcmp(nay_format_name(format), "nay") == 0;
  bool known = nkeys != ESTIMATED;
  /* the FPR of another system's layout is an approximation: see nay_format_plan */
  message("%s %s: %s%s%s, %s, %s%s%s", done, path, known ? "" : promise_about(s), known ? "" : " ",
          COUNTED(known ? (double)nkeys : s->nkeys_estimated, "key"),
          native ? nay_kind_name(s->kind) : nay_format_name(format),
          size_text(encoded_size(f), size), native ? ", FPR " : "",
          native ? fpr_text(s->fpr_now, rate) : "");
}

/* nabsent: of the keys that were read, those that could not be removed; ESTIMATED: no removal. */
static int report_change(const options *o, const char *done, const char *path, const nay_filter *f,
                         uint64_t nkeys, uint64_t nabsent, promise p) {
  bool removal = nabsent != ESTIMATED;
  bool is_stdout = strcmp(path, "-") == 0;
  const char *shown = is_stdout ? "standard output" : path;
  if (o->json && !is_stdout) {
    char schema[32];
    snprintf(schema, sizeof schema, "nay.%s/1", o->command->name);
    json_begin(schema);
    json_text("file", path);
    if (nkeys != ESTIMATED) json_count("nkeys", nkeys);
    if (nkeys != ESTIMATED) json_count("nbad", bads_count());
    if (removal) json_count("nremoved", nkeys - nabsent);
    if (removal) json_count("nmissing", nabsent);
    json_filter(f, nay_filter_format(f), encoded_size(f), &p);
    json_end();
  } else {
    report_text(done, shown, f, &p.stats, removal ? nkeys - nabsent : nkeys);
  }
  return promise_tell(o, is_stdout ? "the filter" : path, &p, NULL, EXIT_FOUND);
}

int filterfile_report(const options *o, const char *done, const char *path, const nay_filter *f,
                      uint64_t nkeys, double asked) {
  return report_change(o, done, path, f, nkeys, ESTIMATED, promise_judge(f, asked));
}

int filterfile_report_new(const options *o, const char *done, const char *path, const nay_filter *f,
                          uint64_t nkeys, double asked) {
  return report_change(o, done, path, f, nkeys, ESTIMATED, promise_judge_new(f, asked));
}

int filterfile_report_removal(const options *o, const char *path, const nay_filter *f,
                              uint64_t nkeys, uint64_t nabsent) {
  return report_change(o, "removed from", path, f, nkeys, nabsent, promise_judge(f, 0));
}
