/*
 * native_item.c - items as keys: an argument is a text, and the filter states how keys are made of
 * texts (nay_key.h). A file that `nay build --key=int` made is asked for 7 as for 007.
 */
#include <string.h>

#include "native.h"
#include "reply.h"

bool native_takes_text(const nay_filter *filter) {
  return strcmp(nay_filter_key(filter), "text") == 0;
}

/*
 * The work for an item is in proportion to its text. Only a numeric with an exponent can have a key
 * that is much longer: 1e131071 has 8 bytes, and its key 131,072.
 */
enum { KEY_FREE = 1024, KEY_LONGER = 8 };

static nay_status native_item_bounded(size_t len, size_t key_len, nay_diag *diag) {
  if (key_len <= KEY_FREE || key_len <= len + KEY_LONGER) return NAY_OK;
  *diag = (nay_diag){.what =
                         "an exponent that makes a key of more than 1,024 bytes: write the "
                         "digits out"};
  return NAY_ENOTSUP;
}

nay_status native_item_read(const nay_filter *filter, const redis_string *argument,
                            native_item *item, nay_diag *diag) {
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  *item = (native_item){.key = text, .len = len};
  if (native_takes_text(filter)) return NAY_OK;
  nay_key_description how = {.size = sizeof how};
  nay_status status = nay_key_description_parse(nay_filter_key(filter), diag, &how);
  if (status != NAY_OK) return status;
  status = nay_key_convert(&how, text, len, diag, NULL, 0, &item->len);
  if (status != NAY_OK) return status;
  status = native_item_bounded(len, item->len, diag);
  if (status != NAY_OK) return status;
  uint8_t *key = item->room;
  if (item->len > sizeof item->room) {
    key = item->more = redis.TryAlloc(item->len);
    if (key == NULL) return NAY_ENOMEM;
  }
  item->key = key;
  return nay_key_convert(&how, text, len, diag, key, item->len, &item->len);
}

void native_item_free(native_item *item) {
  if (item->more != NULL) redis.Free(item->more);
  item->more = NULL;
}

int native_item_refused(redis_ctx *ctx, const nay_filter *filter, nay_status status,
                        const nay_diag *diag) {
  if (status == NAY_ENOTSUP) return reply_errorf(ctx, "ERR %s", diag->what);
  if (status != NAY_EINVAL) return native_reply_status(ctx, status, diag);
  return reply_errorf(ctx, "ERR the item is not of type %s: %s (at byte %llu)",
                      nay_filter_key(filter), diag->what, (unsigned long long)diag->offset);
}
