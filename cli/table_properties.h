/* table_properties.h - what a table states of its entries (nay_sst.h), shown and checked. */
#ifndef NAY_TABLE_PROPERTIES_H
#define NAY_TABLE_PROPERTIES_H

#include <nay_sst.h>

/* The lines and members of nay sst info; nothing if the table states none. */
void table_properties_text(const nay_sst *table);
void table_properties_json(const nay_sst *table);

/* table_properties_verify: walks the table and exits when it has other entries than it states. */
void table_properties_verify(const char *path, const nay_sst *table);

#endif /* NAY_TABLE_PROPERTIES_H */
