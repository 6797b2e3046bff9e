/*
 * families.h - the native families, one line each. CMakeLists.txt compiles family/<name>.c for each
 * line here, and that file defines nay__family_<name>. Its number: while you develop,
 * `.kind = (nay_kind)31`, which nay_kind leaves free; before a release, and before files of this
 * family are kept, a number in nay_kind and a page doc/families/<name>.md.
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
