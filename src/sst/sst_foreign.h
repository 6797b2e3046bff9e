/* sst_foreign.h - a table of nori or mini-lsm as a nay_sst: what sst_open.c, sst_read.c and
 * sst_iter.c call. */
#ifndef NAY_SST_SST_FOREIGN_H
#define NAY_SST_SST_FOREIGN_H

#include "sst/sst.h"

/* nay__sst_open_foreign: opens a foreign table whose file is open already. */
nay_status nay__sst_open_foreign(nay_sst *sst, const nay_foreign_engine *engine, nay_diag *diag);

/* nay__sst_read_foreign: reads a block and translates it into hold->plain, terms included. */
nay_status nay__sst_read_foreign(const nay_sst *sst, nay_handle handle, nay_hold *hold,
                                 nay_diag *diag, nay_bytes *contents);

/* nay__sst_foreign_term: the term of the entry at this offset of a translated block. */
uint64_t nay__sst_foreign_term(const nay_block *block, uint32_t entry_at);

/* nay__sst_note_checks: allocates the bits that record which data blocks are checked.
 * NAY_ENOMEM. */
nay_status nay__sst_note_checks(nay_sst *sst);

#endif /* NAY_SST_SST_FOREIGN_H */
