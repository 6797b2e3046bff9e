/*
 * families.h - the native families, one line each. CMakeLists.txt compiles family/<name>.c for each
 * line here, and that file defines nay__family_<name>. Its number is a line of nay_kind in nay.h as
 * soon as its files shall last; until then it casts 31, which nay_kind leaves free.
 */
#ifndef NAY_FAMILIES_H
#define NAY_FAMILIES_H

/* clang-format off */
#define NAY_FAMILIES(X) \
  X(bloom)              \
  X(blocked)            \
  X(counting)           \
  X(scalable)           \
  X(window)             \
  X(cuckoo)             \
  X(xor)                \
  X(fuse)               \
  X(ribbon)
/* clang-format on */

#endif /* NAY_FAMILIES_H */
