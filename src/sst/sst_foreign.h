/* sst_foreign.h - what sst_open.c, sst_read.c and sst_iter.c call for a foreign table. */
#ifndef NAY_SST_SST_FOREIGN_H
#define NAY_SST_SST_FOREIGN_H

#include "sst/sst.h"

/* nay__sst_open_foreign: everything that nay_sst_open does behind opening the file. */
nay_status nay__sst_open_foreign(nay_sst *sst, const nay_foreign_engine *engine, nay_diag *diag);

/* nay__sst_read_foreign: a block, translated into hold->plain, terms included. */
nay_status nay__sst_read_foreign(const nay_sst *sst, nay_handle handle, nay_hold *hold,
                                 nay_diag *diag, nay_bytes *contents);

/* nay__sst_foreign_term: of the entry at this offset of a translated block. */
uint64_t nay__sst_foreign_term(const nay_block *block, uint32_t entry_at);

/* nay__sst_note_checks: makes room to note which blocks were checked. NAY_ENOMEM. */
nay_status nay__sst_note_checks(nay_sst *sst);

#endif /* NAY_SST_SST_FOREIGN_H */
