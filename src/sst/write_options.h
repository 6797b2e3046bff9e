/* write_options.h - the options of a writer of tables, checked and completed. */
#ifndef NAY_SST_WRITE_OPTIONS_H
#define NAY_SST_WRITE_OPTIONS_H

#include "nay_sst.h"
#include "sst/key_text.h"

/* nay__write_options_read: the caller's options (NULL: none) with the defaults in place of zeros.
 * params are those of native filters, key_text is the description of the keys; o->params and o->key
 * become NULL. NAY_EINVAL: diag says which. */
nay_status nay__write_options_read(const nay_sst_write_options *from, nay_diag *diag,
                                   nay_sst_write_options *options, nay_params *params,
                                   nay_table_key key_text);

#endif /* NAY_SST_WRITE_OPTIONS_H */
