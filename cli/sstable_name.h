/*
 * sstable_name.h - the layout of Cassandra's Filter.db from the name of the file, which has the
 * version that the bytes lack.
 */
#ifndef NAY_SSTABLE_NAME_H
#define NAY_SSTABLE_NAME_H

#include "cli.h"

/* sstable_name_format: NULL when path is no name of a Filter.db, or of a version not known here. */
const nay_format *sstable_name_format(const char *path);

#endif /* NAY_SSTABLE_NAME_H */
