/* described.c - see described.h. */
#include "described.h"

#include <string.h>

#include "output.h"

const char *described_key(const keys_options *keys) {
  return keys->type == KEY_U64LE ? "int" : nay_key_type_name((nay_key_type)keys->type);
}

static const char *described_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Keys are read as the file states. */
static void described_adopt(keys_options *keys, const char *path, const char *stated) {
  nay_key_description how = {.size = sizeof how};
  nay_diag diag = {.what = NULL};
  if (nay_key_description_parse(stated, &diag, &how) != NAY_OK) {
    die(EXIT_TROUBLE, "%s: its keys are of type %s: %s", described_name(path), stated, diag.what);
  }
  keys->type = how.type;
  keys->stated_by = path;
}

/* A layout without a place for a description, beside a file that has one: one of them would be
 * probed with keys of the wrong type. */
static void described_check_silent(const keys_options *keys) {
  if (keys->silent == NULL || keys->stated_by == NULL || keys->type == NAY_KEY_TEXT) return;
  die(EXIT_TROUBLE,
      "the keys of %s are of type %s, and %s does not say of which its are: give --key",
      described_name(keys->stated_by), described_key(keys), described_name(keys->silent));
}

void described_by(keys_options *keys, const char *path, const char *stated) {
  bool same = stated != NULL && nay_key_description_same(stated, described_key(keys));
  if (keys->type_given) {
    if (stated == NULL || same) return;
    die(EXIT_TROUBLE, "%s: its keys are of type %s, and --key says %s: omit --key",
        described_name(path), stated,
        keys->type == KEY_U64LE ? "u64le" : nay_key_type_name((nay_key_type)keys->type));
  }
  if (stated == NULL) {
    keys->silent = path;
  } else if (keys->stated_by == NULL) {
    described_adopt(keys, path, stated);
  } else if (!same) {
    die(EXIT_TROUBLE, "the keys of %s are of type %s, those of %s of type %s: ask one at a time",
        described_name(keys->stated_by), described_key(keys), described_name(path), stated);
  }
  described_check_silent(keys);
}

const char *filter_states(const nay_filter *f) {
  bool native = strcmp(nay_format_name(nay_filter_format(f)), "nay") == 0;
  return native ? nay_filter_key(f) : NULL;
}

void described_filter(keys_options *keys, const char *path, const nay_filter *f) {
  described_by(keys, path, filter_states(f));
}

void describe_not(const char *key, const char *layout) {
  if (nay_key_description_same(key, "text")) return;
  message("%s has no place for the type of the keys: give --key=%s wherever the file is used",
          layout, key);
}

void describe_filter(const keys_options *keys, nay_filter *f) {
  const char *key = described_key(keys);
  nay_status status = nay_filter_set_key(f, key);
  if (status == NAY_OK) return;
  if (status != NAY_ENOTSUP) die(EXIT_TROUBLE, "cannot store --key: %s", nay_status_text(status));
  describe_not(key, nay_format_name(nay_filter_format(f)));
}

void json_described(const char *stated) {
  if (stated != NULL) json_text("key_description", stated);
  if (stated == NULL) json_null("key_description");
}
