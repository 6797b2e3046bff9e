/* file_replace.c - nay_file_replace: os/replace.c for callers outside the library. */
#include "nay_file.h"
#include "os/file.h"

typedef struct file_sink {
  nay_replacement *replacement;
  nay_diag *diag;
} file_sink;

static nay_status file_sink_write(void *ctx, const void *bytes, size_t len) {
  const file_sink *s = ctx;
  return nay__replacement_write(s->replacement, bytes, len, s->diag);
}

nay_status nay_file_replace(const char *path, uint32_t flags, nay_producer produce, void *ctx,
                            nay_diag *diag) {
  nay_allocator a;
  file_sink sink = {.diag = diag};
  if (path == NULL || produce == NULL || (flags & ~NAY_FILE_PRIVATE) != 0) {
    return nay__fail(diag, NAY_EINVAL, "path or produce is NULL, or a flag is unknown", 0);
  }
  NAY_TRY(nay__allocator_read(NULL, diag, &a));
  NAY_TRY(nay__replacement_new(path, flags, true, &a, diag, &sink.replacement));
  nay_status status = produce(ctx, file_sink_write, &sink);
  if (status == NAY_OK) status = nay__replacement_finish(sink.replacement, diag);
  nay__replacement_free(sink.replacement);
  return status;
}
