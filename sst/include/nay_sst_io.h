/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_sst_io.h - where the bytes of a table are: in memory, behind a descriptor, or wherever your
 * own calls read and write them.
 *
 *   nay_sst_memory *memory;
 *   nay_sst_sink sink = {.size = sizeof sink};
 *   nay_sst_writer *w;
 *   size_t len;
 *   if (nay_sst_memory_new(NULL, &memory) != NAY_OK) return 1;
 *   if (nay_sst_memory_sink(memory, &sink) != NAY_OK) return 1;
 *   if (nay_sst_writer_new_sink(&sink, NULL, NULL, NULL, &w) != NAY_OK) return 1;
 *   nay_sst_writer_add(w, "foo", 3, "bar", 3);
 *   nay_sst_writer_finish(w, NULL);
 *   nay_sst_writer_free(w);
 *   const void *bytes = nay_sst_memory_bytes(memory, &len);   // nay_sst_view reads them
 *
 * Statuses of your calls: NAY_EIO, NAY_ENOMEM or NAY_ECORRUPT; any other than NAY_OK counts as
 * NAY_EIO, since NAY_ENOENT, for example, would say that a key is absent. Fill in diag if you can:
 * what, offset and os_error are passed on.
 */
#ifndef NAY_SST_IO_H
#define NAY_SST_IO_H

#include "nay_sst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading --------------------------------------------------------------------------------- */

/* nay_sst_file: bytes that do not change while a table is open over them. */
typedef struct nay_sst_file nay_sst_file;
struct nay_sst_file {
  size_t size;     /* sizeof the struct: see ABI in nay.h */
  uint64_t length; /* bytes */
  /* all len bytes from offset `at` on, which lie within length, or an error. From many threads at
     once */
  nay_status (*read_at)(const nay_sst_file *self, uint64_t at, void *dst, size_t len,
                        nay_diag *diag);
  void (*close)(const nay_sst_file *self); /* may be NULL */
  void *state;                             /* yours */
};

/*
 * nay_sst_open_file: nay_sst_open over a file of your own; the struct is copied. nay_sst_free
 * closes it; if the open fails it stays yours and is not closed. Every block is read by read_at:
 * NAY_SST_PREAD changes nothing.
 */
NAY_API nay_status nay_sst_open_file(const nay_sst_file *file, const nay_sst_read_options *options,
                                     const nay_allocator *allocator, nay_diag *diag, nay_sst **sst);

/* nay_sst_file_descriptor: the regular file behind an open descriptor, which stays yours: close it
 * after the table. NAY_EIO: it is none. */
NAY_API nay_status nay_sst_file_descriptor(int fd, nay_diag *diag, nay_sst_file *file);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * nay_sst_sink: takes the bytes of a table in order. Either finish is called, once and last, or
 * abort. After a call that failed, only abort is called; finish that fails is the last.
 */
typedef struct nay_sst_sink nay_sst_sink;
struct nay_sst_sink {
  size_t size; /* sizeof the struct: see ABI in nay.h */
  nay_status (*write)(const nay_sst_sink *self, const void *bytes, size_t len, nay_diag *diag);
  nay_status (*sync)(const nay_sst_sink *self, nay_diag *diag); /* all is written: make it durable;
                                                                   NULL, or no_sync: not called */
  nay_status (*finish)(const nay_sst_sink *self, nay_diag *diag); /* publish it; may be NULL */
  void (*abort)(const nay_sst_sink *self); /* as if there had been no table; may be NULL */
  void *state;                             /* yours */
};

/*
 * nay_sst_writer_new_sink: nay_sst_writer_new into a sink; the struct is copied. If it fails no
 * call of the sink was made. nay_sst_writer_finish calls write, sync and finish,
 * nay_sst_writer_free without a finish that succeeded calls abort.
 */
NAY_API nay_status nay_sst_writer_new_sink(const nay_sst_sink *sink,
                                           const nay_sst_write_options *options,
                                           const nay_allocator *allocator, nay_diag *diag,
                                           nay_sst_writer **writer);

/* nay_sst_sink_descriptor: writes to an open descriptor from where it stands, and syncs it. It
 * stays yours: a table that is not finished leaves bytes behind. Pipes cannot be synced: set
 * no_sync. */
NAY_API nay_status nay_sst_sink_descriptor(int fd, nay_sst_sink *sink);

/* ---- memory ---------------------------------------------------------------------------------- */

/* nay_sst_memory: a table in memory. */
typedef struct nay_sst_memory nay_sst_memory;
NAY_API nay_status nay_sst_memory_new(const nay_allocator *allocator, nay_sst_memory **memory);
NAY_API void nay_sst_memory_free(nay_sst_memory *memory);

/* nay_sst_memory_sink: a table that replaces what the memory has. */
NAY_API nay_status nay_sst_memory_sink(nay_sst_memory *memory, nay_sst_sink *sink);

/* nay_sst_memory_bytes: the finished table; NULL before that. Valid until the next sink or free. */
NAY_API const void *nay_sst_memory_bytes(const nay_sst_memory *memory, size_t *len);

#ifdef __cplusplus
}
#endif

#endif /* NAY_SST_IO_H */
