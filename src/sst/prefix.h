/* prefix.h - prefix extractors by the name that a table stores. */
#ifndef NAY_SST_PREFIX_H
#define NAY_SST_PREFIX_H

#include "nay_sst.h"

/* nay__prefix_by_name: nay's own extractors and RocksDB's FixedPrefix and CappedPrefix; false when
 * the name is of none of them. */
bool nay__prefix_by_name(const char *name, nay_sst_prefix *prefix);

#endif /* NAY_SST_PREFIX_H */
