/* table_codecs.h - the codecs of tables that this program was built with. */
#ifndef NAY_TABLE_CODECS_H
#define NAY_TABLE_CODECS_H

#include <nay_sst.h>

/* The ids that tables ask for; LevelDB stores its own, nori's are mapped (nay_sst_foreign.h). */
enum { TABLE_CODEC_SNAPPY = 1, TABLE_CODEC_ZSTD = 2, TABLE_CODEC_LZ4 = 4 };

/* table_codec_list: all of them. */
const nay_sst_codec *const *table_codec_list(size_t *n);

/* table_codec_find: by id; NULL: not in this program. */
const nay_sst_codec *table_codec_find(uint8_t id);

#endif /* NAY_TABLE_CODECS_H */
