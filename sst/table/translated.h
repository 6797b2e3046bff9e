/* translated.h - a table of nori or mini-lsm as a nay_sst: what open.c, read_block.c and
 * iterator.c call. */
#ifndef NAY_SST_TABLE_TRANSLATED_H
#define NAY_SST_TABLE_TRANSLATED_H

#include "table/table.h"

/* nay_sst__open_foreign: opens a foreign table whose file is open already. */
nay_status nay_sst__open_foreign(nay_sst *sst, const nay_foreign_engine *engine, nay_diag *diag);

/* nay_sst__read_foreign: reads a block and translates it into hold->plain, terms included. */
nay_status nay_sst__read_foreign(const nay_sst *sst, nay_handle handle, nay_hold *hold,
                                 nay_diag *diag, nay_bytes *contents);

/* nay_sst__foreign_term: the term of the entry at this offset of a translated block. */
uint64_t nay_sst__foreign_term(const nay_block *block, uint32_t entry_at);

/* nay_sst__note_checks: allocates the bits that record which data blocks are checked.
 * NAY_ENOMEM. */
nay_status nay_sst__note_checks(nay_sst *sst);

/* nay_sst__foreign_info: what a table of another engine says of itself. */
void nay_sst__foreign_info(const nay_sst *sst, nay_sst_foreign_info *info);

#endif /* NAY_SST_TABLE_TRANSLATED_H */
