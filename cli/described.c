/* described.c - see described.h. */
#include "described.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

/* A type and two transformations, as often as it is asked for. */
static char described_texts[NAY_KEY_ORDERED_TIMESTAMP + 2][4][NAY_KEY_DESCRIPTION_MAX + 1];

const char *described_key(const keys_options *keys) {
  bool binary = keys->type == KEY_U64LE;
  unsigned type = binary ? NAY_KEY_ORDERED_TIMESTAMP + 1u : keys->type;
  char *text = described_texts[type][2 * keys->trim + keys->ignore_case];
  snprintf(text, sizeof described_texts[0][0], "%s%s%s",
           binary ? "int" : nay_key_type_name((nay_key_type)type), keys->trim ? ",trim" : "",
           keys->ignore_case ? ",ascii-lower" : "");
  return text;
}

static const char *described_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* What --key says, against what a file states. */
static void described_check_type(const keys_options *keys, const char *path, const char *stated) {
  static const nay_key_description none = {.size = sizeof none};
  keys_options bare = *keys;
  bare.trim = bare.ignore_case = false;
  nay_key_description how = none;
  bool known = nay_key_description_parse(stated, NULL, &how) == NAY_OK;
  const char *type = nay_key_type_name(how.type);
  if (known && nay_key_description_same(type, described_key(&bare))) return;
  die(EXIT_TROUBLE, "%s: its keys are of type %s, and --key says %s: omit --key",
      described_name(path), stated,
      keys->type == KEY_U64LE ? "u64le" : nay_key_type_name((nay_key_type)keys->type));
}

static void described_check_option(bool given, bool states, const char *option, const char *path,
                                   const char *stated) {
  if (!given || states) return;
  die(EXIT_TROUBLE, "%s: its keys are of type %s, made without %s: omit %s", described_name(path),
      stated, option, option);
}

/* Keys are read as the file states. */
static void described_adopt(keys_options *keys, const char *path, const char *stated) {
  nay_key_description how = {.size = sizeof how};
  nay_diag diag = {.what = NULL};
  if (nay_key_description_parse(stated, &diag, &how) != NAY_OK) {
    die(EXIT_TROUBLE, "%s: its keys are of type %s: %s", described_name(path), stated, diag.what);
  }
  bool trim = (how.transformations & NAY_KEY_TRIM) != 0;
  bool ignore_case = (how.transformations & NAY_KEY_ASCII_LOWER) != 0;
  described_check_option(keys->trim, trim, "--trim", path, stated);
  described_check_option(keys->ignore_case, ignore_case, "--ignore-case", path, stated);
  keys->adopted = trim != keys->trim || ignore_case != keys->ignore_case ||
                  (!keys->type_given && how.type != NAY_KEY_TEXT);
  if (!keys->type_given) keys->type = how.type;
  keys->trim = trim;
  keys->ignore_case = ignore_case;
  keys->stated_by = path;
}

/* A layout without a place for a description, beside a file that has one: one of them would be
 * probed with keys of the wrong type. */
static void described_check_silent(const keys_options *keys) {
  if (keys->silent == NULL || !keys->adopted) return;
  die(EXIT_TROUBLE,
      "the keys of %s are of type %s, and %s does not say of which its are: give --key%s%s",
      described_name(keys->stated_by), described_key(keys), described_name(keys->silent),
      keys->trim ? " --trim" : "", keys->ignore_case ? " --ignore-case" : "");
}

void described_form(const keys_options *keys, const nay_format *format) {
  const char *name = nay_format_name(format);
  bool sql = strncmp(name, "spark-sql", 9) == 0, native = strcmp(name, "nay") == 0;
  if (keys->form != 0 && native) described_own();
  if (!sql || keys->form != 0 || !keys->type_given) return;
  if (keys->type != NAY_KEY_DATE && keys->type != NAY_KEY_BOOL) return;
  const char *type = nay_key_type_name((nay_key_type)keys->type);
  die(EXIT_TROUBLE, "--key=%s: %s hashes 4 bytes of it: --key=%s32", type, name, type);
}

_Noreturn void described_own(void) {
  die(EXIT_TROUBLE,
      "--key: int32, date32, bool32 and utf16 are bytes that other systems hash: native filters "
      "and tables have int, date, bool and text");
}

void described_by(keys_options *keys, const char *path, const char *stated) {
  if (keys->form != 0 && stated != NULL) described_own();
  if (keys->type_given && stated != NULL) described_check_type(keys, path, stated);
  if (stated == NULL) {
    keys->silent = path;
  } else if (keys->stated_by == NULL) {
    described_adopt(keys, path, stated);
  } else if (!nay_key_description_same(stated, described_key(keys))) {
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
  described_form(keys, nay_filter_format(f));
  described_by(keys, path, filter_states(f));
}

void describe_not(const char *key, const char *layout) {
  if (nay_key_description_same(key, "text")) return;
  nay_key_description how = {.size = sizeof how};
  bool known = nay_key_description_parse(key, NULL, &how) == NAY_OK;
  message("%s has no place for the type of the keys: give --key=%s%s%s wherever the file is used",
          layout, known ? nay_key_type_name(how.type) : key,
          (how.transformations & NAY_KEY_TRIM) != 0 ? " --trim" : "",
          (how.transformations & NAY_KEY_ASCII_LOWER) != 0 ? " --ignore-case" : "");
}

void describe_filter(const keys_options *keys, nay_filter *f) {
  const char *key = described_key(keys);
  described_form(keys, nay_filter_format(f));
  nay_status status = nay_filter_set_key(f, key);
  if (status == NAY_OK) return;
  if (status != NAY_ENOTSUP) die(EXIT_TROUBLE, "cannot store --key: %s", nay_status_text(status));
  describe_not(key, nay_format_name(nay_filter_format(f)));
}

void json_described(const char *stated) {
  if (stated != NULL) json_text("key_description", stated);
  if (stated == NULL) json_null("key_description");
}
