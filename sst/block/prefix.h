/* prefix.h - names that end in a number. */
#ifndef NAY_SST_BLOCK_PREFIX_H
#define NAY_SST_BLOCK_PREFIX_H

#include "nay_sst.h"

/* nay_sst__name_number: writes `kind` ("nay.fixed.", for instance) and the number in decimal.
 * `name` must have room for strlen(kind) + 21 bytes. */
void nay_sst__name_number(char *name, const char *kind, size_t number);

/* nay_sst__number_of_name: parses the decimal number after `kind`, up to the end of the name.
 * False: there is no number, or it is above `most`. */
bool nay_sst__number_of_name(const char *name, const char *kind, size_t most, size_t *number);

#endif /* NAY_SST_BLOCK_PREFIX_H */
