/*
 * list_build.h - exact lists (nay_list.h) from keys: the builder of that kind. It is behind
 * nay_builder, which forwards to it.
 */
#ifndef NAY_LIST_BUILD_H
#define NAY_LIST_BUILD_H

#include "build/list_records.h"
#include "family/list.h"

typedef struct nay_list_builder nay_list_builder;

/* nay__list_builder_new: params are those of nay__list_params; with NAY_LOW_MEMORY keys wait in a
 * file in params->spill_dir. */
nay_status nay__list_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                 const nay_allocator *allocator, nay_diag *diag,
                                 nay_list_builder **builder);

/* nay__list_builder_add: status as list_records.h has it. A failed call adds nothing. NAY_EFULL:
 * more partitions than 2^24. NAY_EINVAL: a listed key after the first pass over a universe. */
nay_status nay__list_builder_add(nay_list_builder *builder, const void *key, size_t len,
                                 unsigned status);

uint64_t nay__list_builder_nkeys(const nay_list_builder *builder);

/* nay__list_builder_finish: the builder is then empty; a failed call keeps the keys. *list NULL:
 * with NAY_LIST_TWO_PASSES, the universe has to be added again. */
nay_status nay__list_builder_finish(nay_list_builder *builder, nay_diag *diag, nay_filter **list);
void nay__list_builder_free(nay_list_builder *builder);

#endif /* NAY_LIST_BUILD_H */
