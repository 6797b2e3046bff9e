/* write_options.h - the options of a table writer, checked and with defaults filled in. */
#ifndef NAY_SST_TABLE_WRITE_OPTIONS_H
#define NAY_SST_TABLE_WRITE_OPTIONS_H

#include "block/key_text.h"
#include "nay_sst.h"

/* nay_sst__write_options_read: reads the caller's options (NULL: none) and replaces zeros by
 * defaults. Sets params[0] to the parameters of native filters, params[1] to those of the range
 * filter (kind NAY_AUTO: none) and key_text to the key description; options->params, options->range
 * and options->key become NULL. NAY_EINVAL: diag says which option is wrong. */
nay_status nay_sst__write_options_read(const nay_sst_write_options *from, nay_diag *diag,
                                       nay_sst_write_options *options, nay_params params[2],
                                       nay_table_key key_text);

/* nay_sst__writer_bytes: length of the file so far, without the block that is being filled. */
uint64_t nay_sst__writer_bytes(const nay_sst_writer *writer);

/* nay_sst__writer_count: entries added. */
uint64_t nay_sst__writer_count(const nay_sst_writer *writer);

#endif /* NAY_SST_TABLE_WRITE_OPTIONS_H */
