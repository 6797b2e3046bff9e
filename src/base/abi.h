/*
 * abi.h - public structs that can grow. ONE implementation of what the ABI section of nay.h
 * promises.
 *
 * A public struct that callers fill in or receive begins with `size_t size`, which the caller sets
 * to the sizeof that it was compiled with. Later versions of the library append fields, never
 * anywhere else, and never into padding at the end of the struct. So two structs of one type differ
 * only in length:
 *
 *     caller older than the library         caller newer than the library
 *     |size|a|b|                            |size|a|b|c|d|
 *     |size|a|b|c|  the library's           |size|a|b|c|    the library's
 *
 * Inputs: nay__abi_read copies what there is into a full struct, and fields that the caller does
 * not have are 0, which every field takes as "not used". Bytes that the library does not know must
 * be 0: a caller that uses a newer field is refused instead of ignored. Structs that the library
 * keeps a pointer to (policies, codecs, prefixes) are checked with nay__abi_check_input; a field
 * that was appended to one is read only if NAY_ABI_HAS says so.
 *
 * Outputs: nay__abi_check before the work is done, nay__abi_write after it. Nothing is written past
 * the caller's size, and what the caller has beyond the library's struct becomes 0.
 *
 * The least size is that of the first publication; one above NAY_ABI_MAX is garbage. Both are
 * NAY_EINVAL.
 */
#ifndef NAY_ABI_H
#define NAY_ABI_H

#include "base/base.h"

#define NAY_ABI_MAX 4096u

/* nay_abi: what is known of a type. */
typedef struct nay_abi {
  size_t first; /* sizeof when it was published */
  size_t known; /* sizeof now */
  const char *bad_size, *bad_tail;
} nay_abi;

/* NAY_ABI: of a type whose last field when it was published is `last`. */
#define NAY_ABI_END(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define NAY_ABI_FIRST(type, last) \
  ((NAY_ABI_END(type, last) + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))
#define NAY_ABI(type, last)                                                               \
  (&(const nay_abi){NAY_ABI_FIRST(type, last), sizeof(type),                              \
                    #type ": size is not one that this struct has had: set it to sizeof", \
                    #type ": fields that this library does not know are not 0"})

#define NAY_ABI_PARAMS NAY_ABI(nay_params, range_delimiter)
#define NAY_ABI_PLAN NAY_ABI(nay_plan, tag_bits)
#define NAY_ABI_STATS NAY_ABI(nay_stats, range_shift)
#define NAY_ABI_OVERLAP NAY_ABI(nay_overlap, jaccard)

/* NAY_ABI_HAS: whether the caller's struct, which has been checked, has a field. */
#define NAY_ABI_HAS(type, object, field) ((object)->size >= NAY_ABI_END(type, field))

/* nay__abi_check: whether object, which begins with its size, can be written. */
nay_status nay__abi_check(const nay_abi *abi, const void *object, nay_diag *diag);

/* nay__abi_check_input: whether it can be read; also looks at what lies beyond the known fields. */
nay_status nay__abi_check_input(const nay_abi *abi, const void *object, nay_diag *diag);

/* nay__abi_read: from a caller's struct into abi->known bytes, whose size becomes abi->known. */
nay_status nay__abi_read(const nay_abi *abi, const void *from, nay_diag *diag, void *to);

/* nay__abi_write: abi->known bytes into a caller's struct that passed nay__abi_check; its size
 * stays. */
void nay__abi_write(const nay_abi *abi, const void *from, void *to);

#endif /* NAY_ABI_H */
