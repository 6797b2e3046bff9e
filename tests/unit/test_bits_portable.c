/*
 * test_bits_portable.c - the same tests for the branches of base/bits.h that this compiler does not
 * take: with its extensions denied, once everything else that asks for them has been included.
 */
#include "base/base.h"
#include "support/test.h"

#undef __SIZEOF_INT128__
#undef __GNUC__
#undef __clang__
#include "test_bits.c"
