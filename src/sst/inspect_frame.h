/*
 * inspect_frame.h - where the blocks of a table are and whether they are whole, for every footer
 * that LevelDB and RocksDB have had.
 *
 *   LevelDB, RocksDB 0   | handles to 40 | magic u64 |                                   48 bytes
 *   RocksDB 1 to 5       | checksum u8 | handles to 40 | version u32 | magic u64 |       53 bytes
 *   RocksDB 6, 7         | checksum u8 | 3e 00 7a 00 | sum u32 | context u32 |
 *                        | metaindex size u32 | 0 ... 24 | version u32 | magic u64 |     53 bytes
 *
 * From 6 on the metaindex stands right before the footer and knows where the index is; `sum` is of
 * the footer itself; and every checksum has a number added to it that depends on the context and on
 * the place of the block, so that a block that was moved is noticed.
 */
#ifndef NAY_SST_TABLE_FILTERS_FRAME_H
#define NAY_SST_TABLE_FILTERS_FRAME_H

#include "sst/footer.h"

typedef enum nay_checksum {
  NAY_CHECKSUM_NONE = 0,
  NAY_CHECKSUM_CRC32C = 1,
  NAY_CHECKSUM_XXH32 = 2,
  NAY_CHECKSUM_XXH64 = 3,
  NAY_CHECKSUM_XXH3 = 4
} nay_checksum;

typedef struct nay_frame {
  const uint8_t *bytes; /* the file */
  uint64_t end;         /* of its blocks: where the footer starts */
  bool rocksdb;         /* by the magic number; format 0 has LevelDB's */
  uint32_t format_version;
  nay_checksum checksum;
  uint32_t context;
  nay_footer footer; /* from format 6 on the index is not in it, and has size 0 */
} nay_frame;

/* nay__frame_magic: whether the bytes end in the magic number of a table. */
bool nay__frame_magic(const uint8_t *bytes, size_t len);

/* nay__frame_open: NAY_EFORMAT, NAY_EVERSION, NAY_ECORRUPT. */
nay_status nay__frame_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_frame *frame);

/* nay__frame_sound: whether a block that fits the file has its checksum. */
bool nay__frame_sound(const nay_frame *frame, nay_handle handle);

/* nay__frame_block: the contents of a block and its type. NAY_ECORRUPT: it leads out, or is bad. */
nay_status nay__frame_block(const nay_frame *frame, nay_handle handle, nay_diag *diag,
                            const uint8_t **contents, uint8_t *type);

#endif /* NAY_SST_TABLE_FILTERS_FRAME_H */
