/* puffinfile.c - see puffinfile.h. */
#include "puffinfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nay_codecs.h>
#include <nay_format.h>

#include "numbers.h"
#include "outfile.h"

bool puffinfile_is(const char *path) {
  char head[4];
  struct stat st;
  if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, head, sizeof head);
  close(fd);
  return n == sizeof head && memcmp(head, "PFA1", 4) == 0;
}

nay_sst_puffin_options puffinfile_codecs(void) {
  static const nay_sst_codec *codecs[2];
  static const nay_codec_kind kinds[] = {NAY_CODEC_ZSTD, NAY_CODEC_LZ4_FRAME};
  nay_sst_puffin_options o = {.size = sizeof o, .codecs = codecs};
  for (unsigned i = 0; i < 2; i++) {
    const nay_sst_codec *codec = nay_codec_find(kinds[i]);
    if (codec != NULL) codecs[o.ncodecs++] = codec;
  }
  return o;
}

static nay_status puffin_try(const char *path, nay_sst_puffin_visitor visitor, void *ctx,
                             char why[DIAG_TEXT]) {
  nay_diag diag = {.what = NULL};
  nay_sst_file file = {.size = sizeof file};
  nay_sst_puffin_options o = puffinfile_codecs();
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die(EXIT_TROUBLE, "cannot open %s: %s", path, strerror(errno));
  nay_status status = nay_sst_file_descriptor(fd, &diag, &file);
  if (status == NAY_OK) status = nay_sst_puffin_visit(&file, &o, visitor, ctx, NULL, &diag);
  if (status != NAY_OK) diag_text(status, &diag, why);
  close(fd);
  return status;
}

void puffinfile_visit(const char *path, nay_sst_puffin_visitor visitor, void *ctx) {
  char why[DIAG_TEXT];
  nay_status status = puffin_try(path, visitor, ctx, why);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, why);
}

/* ---- filters ---- */

static const struct {
  const char *type, *format;
} puffin_types[] = {{NAY_SST_PUFFIN_NAY, "nay"}, {NAY_SST_PUFFIN_SBBF, "sbbf"}};

const char *puffinfile_type(const nay_format *format) {
  for (size_t i = 0; i < sizeof puffin_types / sizeof puffin_types[0]; i++) {
    if (strcmp(nay_format_name(format), puffin_types[i].format) == 0) return puffin_types[i].type;
  }
  return NULL;
}

const nay_format *puffinfile_format(const char *type) {
  for (size_t i = 0; i < sizeof puffin_types / sizeof puffin_types[0]; i++) {
    if (strcmp(type, puffin_types[i].type) == 0) return nay_format_find(puffin_types[i].format);
  }
  return NULL;
}

bool puffinfile_foreign(const char *type) {
  return strcmp(type, "apache-datasketches-theta-v1") == 0 ||
         strcmp(type, "deletion-vector-v1") == 0;
}

typedef struct puffin_search {
  const char *path;
  uint64_t blob, nfilters, nblobs;
  nay_filter *filter;
} puffin_search;

static nay_status search_visit(void *ctx, const nay_sst_puffin_info *info,
                               const nay_sst_puffin_blob *blob, bool *wanted) {
  puffin_search *s = ctx;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  if (blob == NULL) {
    s->nblobs = info->nblobs;
    return NAY_OK;
  }
  const nay_format *format = puffinfile_format(blob->type);
  bool named = blob->index == s->blob;
  if (named && format == NULL) {
    die(EXIT_TROUBLE, "%s: blob %llu is of type %s, which is no filter", s->path,
        (unsigned long long)blob->index, blob->type);
  }
  if (blob->bytes == NULL && blob->status == NAY_OK) {
    s->nfilters += format != NULL;
    *wanted = named || (s->blob == PUFFINFILE_ONLY && format != NULL && s->filter == NULL);
    return NAY_OK;
  }
  nay_status status = blob->status;
  if (status == NAY_OK) {
    status = nay_format_decode(format, blob->bytes, blob->len, NAY_FORMAT_CERTAIN, NULL, &diag,
                               &s->filter);
  }
  if (status != NAY_OK) {
    die(exit_of(status), "%s: blob %llu: %s", s->path, (unsigned long long)blob->index,
        diag_text(status, &diag, why));
  }
  return NAY_OK;
}

nay_filter *puffinfile_filter(const char *path, uint64_t blob) {
  puffin_search s = {.path = path, .blob = blob};
  puffinfile_visit(path, search_visit, &s);
  if (blob != PUFFINFILE_ONLY && s.filter == NULL) {
    die(EXIT_TROUBLE, "%s has %s: no number %llu, they count from 0", path,
        COUNTED(s.nblobs, "blob"), (unsigned long long)blob);
  }
  if (blob == PUFFINFILE_ONLY && s.nfilters != 1) {
    die(EXIT_TROUBLE, "%s has %s: --blob N names one", path, COUNTED(s.nfilters, "filter"));
  }
  return s.filter;
}

/* ---- info ---- */

typedef struct puffin_shown {
  const char *path;
  bool as_json;
  uint64_t nfaults;
} puffin_shown;

static void shown_properties(const puffin_shown *s, const nay_sst_puffin_property *p, size_t n) {
  char name[200], value[400];
  if (s->as_json) json_open("properties", '{');
  for (size_t i = 0; i < n; i++) {
    const uint8_t *bytes = (const uint8_t *)p[i].value;
    if (s->as_json) {
      json_bytes(p[i].name, bytes, strlen(p[i].value));
      continue;
    }
    escape_text((const uint8_t *)p[i].name, strlen(p[i].name), name, sizeof name);
    out_text("    %s: %s\n", name, escape_text(bytes, strlen(p[i].value), value, sizeof value));
  }
  if (s->as_json) json_close();
}

static void shown_file(const puffin_shown *s, const nay_sst_puffin_info *info) {
  char size[NUMBER_TEXT];
  if (s->as_json) {
    json_begin("nay.info/1");
    json_text("file", s->path);
    json_text("engine", "Puffin");
    json_count("nbytes", info->nbytes);
    json_count("nbytes_footer", info->nbytes_footer);
    json_bool("compressed_footer", info->compressed_footer);
    shown_properties(s, info->properties, info->nproperties);
    json_open("blobs", '[');
    return;
  }
  out_text("%s%s%s: Puffin, %s, %s%s\n", paint(PAINT_BOLD), s->path, paint(PAINT_PLAIN),
           COUNTED(info->nblobs, "blob"), size_text(info->nbytes, size),
           info->compressed_footer ? ", compressed footer" : "");
  shown_properties(s, info->properties, info->nproperties);
}

/* What a filter in a blob is, or why it cannot be read. */
static void shown_filter(puffin_shown *s, const nay_sst_puffin_blob *blob) {
  nay_filter *f = NULL;
  nay_stats stats = {.size = sizeof stats};
  nay_status status = blob->status;
  char keys[NUMBER_TEXT], rate[NUMBER_TEXT];
  if (status == NAY_OK) {
    status = nay_format_decode(puffinfile_format(blob->type), blob->bytes, blob->len,
                               NAY_FORMAT_CERTAIN, NULL, NULL, &f);
  }
  s->nfaults += status != NAY_OK;
  if (status == NAY_OK) nay_filter_stats(f, &stats);
  if (s->as_json && status == NAY_OK) {
    json_real("nkeys_estimated", stats.nkeys_estimated);
    json_real("fpr_now", stats.fpr_now);
  } else if (s->as_json) {
    json_text("fault", nay_status_text(status));
  } else if (status == NAY_OK) {
    out_text("    about %s keys, FPR %s\n", count_text(stats.nkeys_estimated, keys),
             fpr_text(stats.fpr_now, rate));
  } else {
    out_text("    cannot be read: %s\n", nay_status_text(status));
  }
  nay_filter_free(f);
}

/* As text: readers of JSON that take numbers for doubles would read another one. -1: not known. */
static void shown_id(const char *name, int64_t id) {
  char text[24];
  if (id == -1) return;
  snprintf(text, sizeof text, "%lld", (long long)id);
  json_text(name, text);
}

static void shown_blob(const puffin_shown *s, const nay_sst_puffin_blob *blob) {
  char type[200], size[NUMBER_TEXT];
  if (s->as_json) {
    json_open(NULL, '{');
    json_bytes("type", (const uint8_t *)blob->type, strlen(blob->type));
    json_open("fields", '[');
    for (size_t i = 0; i < blob->nfields; i++) json_real(NULL, blob->fields[i]);
    json_close();
    shown_id("snapshot_id", blob->snapshot_id);
    shown_id("sequence_number", blob->sequence_number);
    json_count("offset", blob->offset);
    json_count("nbytes", blob->nbytes);
    json_text("codec", blob->codec != NULL ? blob->codec : "none");
    shown_properties(s, blob->properties, blob->nproperties);
    return;
  }
  escape_text((const uint8_t *)blob->type, strlen(blob->type), type, sizeof type);
  out_text("  %-4llu %s, field", (unsigned long long)blob->index, type);
  if (blob->nfields != 1) out_text("s");
  for (size_t i = 0; i < blob->nfields; i++) {
    out_text("%s%d", i == 0 ? " " : ",", (int)blob->fields[i]);
  }
  out_text("%s, snapshot %lld, %s at %llu%s%s\n", blob->nfields == 0 ? " none" : "",
           (long long)blob->snapshot_id, size_text(blob->nbytes, size),
           (unsigned long long)blob->offset, blob->codec != NULL ? ", " : "",
           blob->codec != NULL ? blob->codec : "");
  shown_properties(s, blob->properties, blob->nproperties);
}

static nay_status info_visit(void *ctx, const nay_sst_puffin_info *info,
                             const nay_sst_puffin_blob *blob, bool *wanted) {
  puffin_shown *s = ctx;
  if (blob == NULL) {
    shown_file(s, info);
    return NAY_OK;
  }
  bool first = blob->bytes == NULL && blob->status == NAY_OK,
       filter = puffinfile_format(blob->type) != NULL;
  if (first) shown_blob(s, blob);
  if (first && filter) *wanted = true;
  if (!first) shown_filter(s, blob);
  if (s->as_json && first != filter) json_close();
  return NAY_OK;
}

int puffinfile_info(const char *path, bool as_json) {
  puffin_shown s = {.path = path, .as_json = as_json};
  char why[DIAG_TEXT];
  nay_status status = puffin_try(path, info_visit, &s, why);
  if (status != NAY_OK && as_json) {
    json_begin("nay.info/1");
    json_text("file", path);
    json_text("engine", "Puffin");
    json_text("checksum", why);
    json_end();
  } else if (as_json) {
    json_close();
    json_text("checksum", s.nfaults != 0 ? "a filter cannot be read" : "none");
    json_end();
  }
  out_flush();
  if (status != NAY_OK) message_error("%s: %s", path, why);
  if (status != NAY_OK) return exit_of(status);
  if (s.nfaults != 0) message_error("%s: %s cannot be read", path, COUNTED(s.nfaults, "filter"));
  return s.nfaults != 0 ? EXIT_DAMAGED : EXIT_FOUND;
}

/* ---- extract ---- */

typedef struct puffin_extract {
  const options *o;
  const output_options *to;
  const char *path;
  bool directory;
  uint64_t nblobs, written, nfaults;
} puffin_extract;

static void extract_begin(puffin_extract *e, uint64_t nblobs) {
  struct stat st;
  e->nblobs = nblobs;
  if (e->to == NULL) return;
  const char *path = e->to->path;
  e->directory = path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
  if (!e->directory && nblobs != 1) {
    die(EXIT_TROUBLE, "%s has %s: -o must be a directory, or end in /", e->path,
        COUNTED(nblobs, "blob"));
  }
  if (e->directory && mkdir(path, 0777) != 0 && errno != EEXIST) {
    die(EXIT_TROUBLE, "cannot create the directory %s: %s", path, strerror(errno));
  }
}

static void extract_list(const puffin_extract *e, const nay_sst_puffin_blob *blob) {
  char type[200];
  if (e->o->json) {
    json_open(NULL, '{');
    json_count("blob", blob->index);
    json_count("offset", blob->offset);
    json_count("nbytes", blob->nbytes);
    json_bytes("type", (const uint8_t *)blob->type, strlen(blob->type));
    json_text("codec", blob->codec != NULL ? blob->codec : "none");
    json_end();
    return;
  }
  escape_text((const uint8_t *)blob->type, strlen(blob->type), type, sizeof type);
  out_text("%llu\t%llu\t%llu\t%s\n", (unsigned long long)blob->index,
           (unsigned long long)blob->offset, (unsigned long long)blob->nbytes, type);
}

/* DIRECTORY/0003.TYPE; what a file name cannot have is replaced. */
static void extract_save(puffin_extract *e, const nay_sst_puffin_blob *blob) {
  char path[4096], type[128];
  size_t n = 0;
  for (; blob->type[n] != '\0' && n + 1 < sizeof type; n++) {
    char c = blob->type[n];
    type[n] = (char)(c > ' ' && c < 0x7f && c != '/' ? c : '_');
  }
  type[n] = '\0';
  int len = e->directory ? snprintf(path, sizeof path, "%s/%04llu.%s", e->to->path,
                                    (unsigned long long)blob->index, type)
                         : snprintf(path, sizeof path, "%s", e->to->path);
  if (len < 0 || (size_t)len >= sizeof path) {
    die(EXIT_TROUBLE, "%s: the path is too long", e->to->path);
  }
  outfile_may_write(path, e->to->force);
  outfile_save(blob->bytes, blob->len, path);
  e->written++;
}

static nay_status extract_visit(void *ctx, const nay_sst_puffin_info *info,
                                const nay_sst_puffin_blob *blob, bool *wanted) {
  puffin_extract *e = ctx;
  if (blob == NULL) {
    extract_begin(e, info->nblobs);
  } else if (e->to == NULL) {
    extract_list(e, blob);
  } else if (blob->bytes != NULL) {
    extract_save(e, blob);
  } else if (blob->status == NAY_OK) {
    *wanted = true;
  } else {
    message_error("%s: blob %llu: %s", e->path, (unsigned long long)blob->index,
                  blob->status == NAY_ENOTSUP ? "its codec is not in this program"
                                              : nay_status_text(blob->status));
    e->nfaults++;
  }
  return NAY_OK;
}

int puffinfile_extract(const options *o, const char *path, const output_options *to) {
  puffin_extract e = {.o = o, .to = to, .path = path};
  puffinfile_visit(path, extract_visit, &e);
  if (to != NULL && o->json) {
    json_begin("nay.extract/1");
    json_text("table", path);
    json_text("file", to->path);
    json_count("nwritten", e.written);
    json_end();
  } else if (to != NULL) {
    message("wrote %s to %s", COUNTED(e.written, "blob"), to->path);
  }
  out_flush();
  if (e.nblobs == 0) message("%s has no blob", path);
  return e.nfaults != 0 ? EXIT_DAMAGED : e.nblobs != 0 ? EXIT_FOUND : EXIT_NONE;
}
