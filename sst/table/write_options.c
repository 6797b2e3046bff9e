/* write_options.c - checks the options of a table writer, and fills in the defaults; see
 * write_options.h. */
#include "table/write_options.h"

#include "block/block.h"
#include "block/option_checks.h"

#define WRITE_BLOCK_BYTES 4096u /* LevelDB's default, as is the restart interval */
#define WRITE_INTERVAL 16u
#define WRITE_PARTITION 8192u /* 10 KiB of filter at 10 bits per key */

/* Refuses filters that hash the bytes of keys for a comparator under which keys with different
 * bytes may be equal: such a filter would exclude keys that are present. */
static nay_status write_check_equal(const nay_sst_write_options *o, nay_diag *diag) {
  if (o->comparator == NULL || !o->comparator->equal_may_differ) return NAY_OK;
  if (o->prefix != NULL) {
    return nay__fail(diag, NAY_EINVAL,
                     "a prefix filter needs a comparator without equal_may_differ", 0);
  }
  if (o->filter == NAY_SST_NO_FILTER || nay_sst__policy_folds(o->policy, o->comparator->name)) {
    return NAY_OK;
  }
  return nay__fail(diag, NAY_EINVAL,
                   "the comparator sets equal_may_differ: a filter needs a policy that names it "
                   "and has no hash",
                   0);
}

static nay_status write_check(const nay_sst_write_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL) {
    return nay__fail(diag, NAY_EINVAL, "unknown kind of keys", 0);
  }
  if ((unsigned)o->filter > NAY_SST_PARTITIONED_FILTER) {
    return nay__fail(diag, NAY_EINVAL, "unknown kind of filter", 0);
  }
  if (o->filter == NAY_SST_BLOCK_FILTER && o->policy == NULL) {
    return nay__fail(diag, NAY_EINVAL, "a block filter needs a policy", 0);
  }
  NAY_TRY(nay_sst__check_writes(o->codec, o->policy, diag));
  NAY_TRY(nay_sst__check_prefix(o->prefix, diag));
  NAY_TRY(nay_sst__check_comparator(o->comparator, diag));
  NAY_TRY(write_check_equal(o, diag));
  if (o->block_bytes > NAY_SST_ENTRY_MAX || o->partition_keys > NAY_SST_ENTRY_MAX) {
    return nay__fail(diag, NAY_EINVAL, "block_bytes or partition_keys is above 2^30", 0);
  }
  return NAY_OK;
}

static nay_status write_params(const nay_sst_write_options *o, nay_diag *diag, nay_params *p) {
  *p = (nay_params){.size = sizeof *p};
  if (o->params != NULL) NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, o->params, diag, p));
  if (p->nkeys != 0 && (o->filter != NAY_SST_FULL_FILTER || o->policy != NULL)) {
    return nay__fail(diag, NAY_EINVAL, "params->nkeys is only for a native full filter", 0);
  }
  if (p->hash == NAY_HASH_CALLER) {
    return nay__fail(diag, NAY_EINVAL, "params->hash: the writer hashes the keys", 0);
  }
  if (p->kind == NAY_RANGE || (nay_kind_traits(p->kind) & NAY_CAN_GET) != 0) {
    return nay__fail(diag, NAY_EINVAL, "params->kind: a family of whole keys (see `range`)", 0);
  }
  bool sized = p->fpr != 0 || p->bits_per_key != 0 || p->nbytes != 0 || p->nbits != 0;
  if (!sized) p->bits_per_key = 10;
  if (p->kind == NAY_AUTO) p->kind = NAY_BLOCKED;
  return NAY_OK;
}

/* The params of the range filter; kind NAY_AUTO: none. A builder checks the rest of them. */
static nay_status write_range(const nay_sst_write_options *o, nay_diag *diag, nay_params *p) {
  *p = (nay_params){.size = sizeof *p};
  if (o->range == NULL) return NAY_OK;
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, o->range, diag, p));
  if (p->kind != NAY_AUTO && p->kind != NAY_RANGE) {
    return nay__fail(diag, NAY_EINVAL, "range->kind: NAY_RANGE, or 0", 0);
  }
  if (o->comparator != NULL) {
    return nay__fail(diag, NAY_EINVAL, "a range filter needs keys in the order of their bytes", 0);
  }
  p->kind = NAY_RANGE;
  return NAY_OK;
}

static void write_defaults(nay_sst_write_options *o) {
  if (o->block_bytes == 0) o->block_bytes = WRITE_BLOCK_BYTES;
  if (o->restart_interval == 0) o->restart_interval = WRITE_INTERVAL;
  if (o->partition_keys == 0) o->partition_keys = WRITE_PARTITION;
  o->params = o->range = NULL; /* owned by the caller, as is `key`; the writer has copies */
  o->key = NULL;
}

nay_status nay_sst__write_options_read(const nay_sst_write_options *from, nay_diag *diag,
                                       nay_sst_write_options *o, nay_params params[2],
                                       nay_table_key key_text) {
  *o = (nay_sst_write_options){.size = sizeof *o};
  if (from != NULL) NAY_TRY(nay__abi_read(NAY_ABI_SST_WRITE, from, diag, o));
  NAY_TRY(write_check(o, diag));
  NAY_TRY(write_params(o, diag, &params[0]));
  NAY_TRY(write_range(o, diag, &params[1]));
  const char *key = o->key != NULL ? o->key : "text";
  NAY_TRY(nay_sst__table_key_of(key, strlen(key), diag, key_text));
  write_defaults(o);
  return NAY_OK;
}
