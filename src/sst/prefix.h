/* prefix.h - prefix extractors by the name that a table stores. */
#ifndef NAY_SST_PREFIX_H
#define NAY_SST_PREFIX_H

#include "nay_sst.h"

/* nay__prefix_by_name: nay's own extractors and RocksDB's FixedPrefix and CappedPrefix; false when
 * the name is of none of them. */
bool nay__prefix_by_name(const char *name, nay_sst_prefix *prefix);

/* nay__name_number: "nay.fixed." and the like, followed by a number in decimal. The room is enough.
 */
void nay__name_number(char *name, const char *kind, size_t number);

/* nay__number_of_name: the number that follows `kind` to the end of the name; false when there is
 * none, or it is above `most`. */
bool nay__number_of_name(const char *name, const char *kind, size_t most, size_t *number);

#endif /* NAY_SST_PREFIX_H */
