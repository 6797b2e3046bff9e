/*
 * key_order.c - see key_order.h. Separators equal LevelDB's byte for byte, so that the same entries
 * make the same file.
 */
#include "block/key_order.h"

#include "struct_sizes.h"

static uint64_t comparator_trailer(const uint8_t *key, size_t len) {
  return len < NAY_KEY_TRAILER ? 0 : nay__load64le(key + len - NAY_KEY_TRAILER);
}

int nay_sst__compare_custom(const nay_sst_comparator *user, const uint8_t *a, size_t a_len,
                            const uint8_t *b, size_t b_len) {
  return user->compare(user->ctx, a_len != 0 ? a : (const void *)"", a_len,
                       b_len != 0 ? b : (const void *)"", b_len);
}

int nay_sst__compare_target(nay_order order, const uint8_t *key, size_t len,
                            const nay_target *target) {
  int users =
      nay_sst__compare_users(order, key, nay_sst__user_len(order, len), target->user, target->len);
  if (users != 0 || !order.internal) return users;
  uint64_t trailer = comparator_trailer(key, len);
  return (trailer < target->trailer) - (trailer > target->trailer);
}

int nay_sst__compare(nay_order order, const uint8_t *a, size_t a_len, const uint8_t *b,
                     size_t b_len) {
  nay_target target = {b, nay_sst__user_len(order, b_len), comparator_trailer(b, b_len)};
  return nay_sst__compare_target(order, a, a_len, &target);
}

/* The successor and the separator of a key are a prefix of it whose last byte is incremented. Both
 * functions return the position of that byte, or `len` if there is no such prefix. */
static size_t comparator_successor(const uint8_t *key, size_t len) {
  size_t i = 0;
  while (i < len && key[i] == 0xff) i++;
  return i;
}

static size_t comparator_between(const uint8_t *key, size_t len, const uint8_t *next,
                                 size_t next_len) {
  size_t least = len < next_len ? len : next_len, same = nay_sst__common(key, next, least);
  bool room = same < least && key[same] != 0xff && key[same] + 1 < next[same];
  return room ? same : len;
}

void nay_sst__separator(nay_order order, nay_buffer *key, const uint8_t *next, size_t next_len) {
  size_t user_len = nay_sst__user_len(order, key->len), last;
  if (next == NULL) {
    last = comparator_successor(key->at, user_len);
  } else {
    last = comparator_between(key->at, user_len, next, nay_sst__user_len(order, next_len));
  }
  if (last == user_len) return;
  if (!order.internal) {
    key->at[last]++;
    key->len = last + 1;
  } else if (last + 1 < user_len) { /* LevelDB keeps a key that would not become shorter */
    key->at[last]++;
    /* No entry has this user key. The trailer sorts the separator before any version of it. */
    nay__store64le(key->at + last + 1, NAY_KEY_TRAILER_NEWEST);
    key->len = last + 1 + NAY_KEY_TRAILER;
  }
}

nay_status nay_sst__separator_custom(nay_order order, nay_buffer *key, const uint8_t *next,
                                     size_t next_len, nay_buffer *scratch, const nay_allocator *a) {
  const nay_sst_comparator *user = order.user;
  size_t user_len = nay_sst__user_len(order, key->len),
         next_user = nay_sst__user_len(order, next_len);
  if (user->separator == NULL || user_len == 0) return NAY_OK;
  scratch->len = 0;
  NAY_TRY(nay__buffer_append(scratch, key->at, user_len, a));
  size_t len = user->separator(user->ctx, scratch->at, user_len, next, next_user);
  if (len > user_len || (order.internal && len == user_len)) return NAY_OK;
  int above = nay_sst__compare_custom(user, scratch->at, len, key->at, user_len);
  if (above < 0 || (order.internal && above == 0)) return NAY_OK;
  if (next != NULL && nay_sst__compare_custom(user, scratch->at, len, next, next_user) >= 0) {
    return NAY_OK;
  }
  if (len != 0) memcpy(key->at, scratch->at, len);
  if (order.internal) nay__store64le(key->at + len, NAY_KEY_TRAILER_NEWEST);
  key->len = len + (order.internal ? NAY_KEY_TRAILER : 0);
  return NAY_OK;
}

nay_status nay_sst_key_join(const nay_sst_entry *entry, void *dst, size_t cap, size_t *written) {
  nay_sst_entry v;
  if (entry == NULL || (dst == NULL && cap != 0)) return NAY_EINVAL;
  NAY_TRY(nay__abi_read(NAY_ABI_SST_ENTRY, entry, NULL, &v));
  if ((v.key == NULL && v.len != 0) || v.sequence > NAY_SST_MAX_SEQUENCE ||
      (unsigned)v.type > NAY_SST_MERGE) {
    return NAY_EINVAL;
  }
  if (written != NULL) *written = v.len + NAY_KEY_TRAILER;
  if (cap < NAY_KEY_TRAILER || cap - NAY_KEY_TRAILER < v.len) return NAY_EBUFFER;
  if (v.len != 0) memmove(dst, v.key, v.len);
  nay__store64le((uint8_t *)dst + v.len, nay_sst__trailer(v.sequence, v.type));
  return NAY_OK;
}

nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_entry *entry) {
  nay_sst_entry v = {.size = sizeof v};
  if (key == NULL || entry == NULL) return NAY_EINVAL;
  NAY_TRY(nay__abi_check(NAY_ABI_SST_ENTRY, entry, NULL));
  if (!nay_sst__key_parts(key, len, &v)) return NAY_EINVAL;
  nay__abi_write(NAY_ABI_SST_ENTRY, &v, entry);
  return NAY_OK;
}
