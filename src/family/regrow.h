/*
 * regrow.h - a payload that becomes larger or smaller: make a new one, fill it, then take it.
 *
 *   nay_memory fresh;
 *   NAY_TRY(nay__payload_new(f, nbytes, &fresh));     may fail: f is as it was
 *   ... write fresh.at, reading f->bits.bytes ...
 *   nay__payload_take(f, &fresh, nbytes);             cannot fail
 */
#ifndef NAY_REGROW_H
#define NAY_REGROW_H

#include "family/family.h"

nay_status nay__payload_new(nay_filter *f, uint64_t nbytes, nay_memory *fresh);
void nay__payload_take(nay_filter *f, nay_memory *fresh, size_t nbytes);

#endif /* NAY_REGROW_H */
