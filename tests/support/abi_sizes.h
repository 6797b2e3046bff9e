/*
 * abi_sizes.h - structs with a size, as callers of every version have them: in heap blocks of
 * exactly that many bytes (AddressSanitizer sees what is read or written beyond), for every size
 * from 0 to 64 past the struct.
 */
#ifndef NAY_TEST_ABI_SIZES_H
#define NAY_TEST_ABI_SIZES_H

#include "base/abi.h"
#include "support/test.h"

#define BEYOND 64u
#define FILL 0xdd

/* first_size: the size of a struct when it was published. `name` begins with its type. */
static inline size_t first_size(const char *name, size_t size) {
  if (strncmp(name, "nay_params", 10) == 0) return NAY_ABI_PARAMS->first;
  if (strncmp(name, "nay_stats", 9) == 0) return NAY_ABI_STATS->first;
  return size;
}

/* output: a call that fills a struct. */
typedef struct output {
  const char *name;
  size_t size;
  nay_status (*call)(void *object);
} output;

/* A block of exactly `size` bytes (at least the size itself), full of FILL but for the size. */
static inline uint8_t *sized_block(size_t size, size_t *len) {
  *len = size < sizeof size ? sizeof size : size;
  uint8_t *block = malloc(*len);
  assert_non_null(block);
  memset(block, FILL, *len);
  memcpy(block, &size, sizeof size);
  return block;
}

static inline void assert_all(const uint8_t *at, size_t n, uint8_t byte, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (at[i] != byte) fail_msg("%s: byte %zu of %zu is 0x%02x", name, i, n, at[i]);
  }
}

static inline void outputs_of_every_size(void **state) {
  const output *o = *state;
  for (size_t size = 0; size <= o->size + BEYOND; size++) {
    size_t len, kept;
    uint8_t *block = sized_block(size, &len);
    nay_status status = o->call(block);
    memcpy(&kept, block, sizeof kept);
    assert_int_equal(kept, size);
    if (size < first_size(o->name, o->size)) {
      assert_status(status, NAY_EINVAL);
      assert_all(block + sizeof size, len - sizeof size, FILL, o->name);
    } else {
      assert_ok(status);
      if (size > o->size) assert_all(block + o->size, len - o->size, 0, o->name);
    }
    free(block);
  }
  size_t absurd[] = {NAY_ABI_MAX + 1, SIZE_MAX / 2, SIZE_MAX};
  for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
    assert_status(o->call(&absurd[i]), NAY_EINVAL);
  }
}

/* input: a call that reads one. */
typedef struct input {
  const char *name, *type; /* as the diag names it */
  size_t size;
  void (*fill)(void *full); /* a struct that is accepted, without its size */
  nay_status (*call)(const void *object, nay_diag *diag);
  bool no_diag; /* the call tells nothing but a status */
} input;

#define INPUT(type, fill, call) \
  { #type " in " #call, #type, sizeof(type), fill, call, false }
#define INPUT_WITHOUT_DIAG(type, fill, call) \
  { #type " in " #call, #type, sizeof(type), fill, call, true }

static inline void assert_named(const input *in, const nay_diag *diag) {
  if (in->no_diag) return;
  assert_non_null(diag->what);
  if (strncmp(diag->what, in->type, strlen(in->type)) != 0)
    fail_msg("%s: %s", in->name, diag->what);
}

static inline void inputs_of_every_size(void **state) {
  const input *in = *state;
  uint8_t full[1024] = {0};
  in->fill(full);
  for (size_t size = 0; size <= in->size + BEYOND; size++) {
    size_t len;
    uint8_t *block = sized_block(size, &len);
    memset(block + sizeof size, 0, len - sizeof size);
    if (size > sizeof size) {
      size_t n = size < in->size ? size : in->size;
      memcpy(block + sizeof size, full + sizeof size, n - sizeof size);
    }
    nay_diag diag = {.what = NULL};
    nay_status status = in->call(block, &diag);
    assert_status(status, size < first_size(in->type, in->size) ? NAY_EINVAL : NAY_OK);
    if (status != NAY_OK) assert_named(in, &diag);
    for (size_t i = in->size; i < size; i++) { /* a field that this library does not know is used */
      block[i] = 1;
      assert_status(in->call(block, &diag), NAY_EINVAL);
      assert_named(in, &diag);
      block[i] = 0;
    }
    free(block);
  }
  size_t absurd[] = {NAY_ABI_MAX + 1, SIZE_MAX / 2, SIZE_MAX};
  for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
    nay_diag diag = {.what = NULL};
    assert_status(in->call(&absurd[i], &diag), NAY_EINVAL);
    assert_named(in, &diag);
  }
}

#endif /* NAY_TEST_ABI_SIZES_H */
