/* puffinfile.h - Puffin files: what info and extract tell of their blobs, and the filters in them.
 */
#ifndef NAY_PUFFINFILE_H
#define NAY_PUFFINFILE_H

#include <nay_sst_puffin.h>

#include "options.h"

/* puffinfile_is: a regular file that starts as one. */
bool puffinfile_is(const char *path);

/* puffinfile_codecs: the codecs of this program, as options; to be given to puffinfile_visit. */
nay_sst_puffin_options puffinfile_codecs(void);

/* puffinfile_visit: visits a file; exits when it cannot be read. */
void puffinfile_visit(const char *path, nay_sst_puffin_visitor visitor, void *ctx);

/* puffinfile_info: what nay info tells; returns the exit status. */
int puffinfile_info(const char *path, bool as_json);

/* puffinfile_extract: what nay extract does; `to` NULL: it only lists. */
int puffinfile_extract(const options *o, const char *path, const output_options *to);

/* puffinfile_filter: the filter in a blob, or with PUFFINFILE_ONLY in the only blob that has one;
   exits when there is none. */
#define PUFFINFILE_ONLY UINT64_MAX
nay_filter *puffinfile_filter(const char *path, uint64_t blob);

/* puffinfile_type: the type of a blob for a filter of this format; NULL: blobs have none. */
const char *puffinfile_type(const nay_format *format);

/* puffinfile_format: the format of the filter in a blob of this type; NULL: it is no filter.
   puffinfile_foreign: whether Iceberg's specification has the type, for bytes that are none. */
const nay_format *puffinfile_format(const char *type);
bool puffinfile_foreign(const char *type);

#endif /* NAY_PUFFINFILE_H */
