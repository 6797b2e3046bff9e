/* sbbf.h - the split-block Bloom filter: what its format needs of the family. */
#ifndef NAY_SBBF_H
#define NAY_SBBF_H

#include "base/split_block.h"
#include "family/family.h"

#define NAY_SBBF_MAX_BLOCKS (UINT64_C(1) << 31)

extern const nay_family nay__family_sbbf;

#endif /* NAY_SBBF_H */
