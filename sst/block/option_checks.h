/* option_checks.h - checks of the options to which a table keeps pointers. */
#ifndef NAY_SST_BLOCK_OPTION_CHECKS_H
#define NAY_SST_BLOCK_OPTION_CHECKS_H

#include "struct_sizes.h"

/* nay_sst__check_lists: checks a reader's lists: each codec must uncompress, each policy must
   probe. */
nay_status nay_sst__check_lists(const nay_sst_codec *const *codecs, size_t ncodecs,
                                const nay_policy *const *policies, size_t npolicies,
                                nay_diag *diag);

/* nay_sst__policy_folds: whether a policy hashes keys alike that the comparator of this name calls
   equal. The library's own policies never do, whatever their field says: they hash the bytes. */
bool nay_sst__policy_folds(const nay_policy *policy, const char *comparator);

/* nay_sst__check_prefix: checks that a prefix extractor has a name and a call. NULL passes. */
nay_status nay_sst__check_prefix(const nay_sst_prefix *prefix, nay_diag *diag);

/* nay_sst__check_comparator: checks that a comparator has a call, and a name other than the
 * bytewise one's. NULL passes. */
nay_status nay_sst__check_comparator(const nay_sst_comparator *comparator, nay_diag *diag);

/* nay_sst__check_writes: checks a writer's codec, which must compress, and its policy, which must
   build filters. Either may be NULL. */
nay_status nay_sst__check_writes(const nay_sst_codec *codec, const nay_policy *policy,
                                 nay_diag *diag);

#endif /* NAY_SST_BLOCK_OPTION_CHECKS_H */
