/* option_values.c - the words that options take: families, layouts, types of keys, choices. */
#include <stdio.h>
#include <string.h>

#include <nay_sst.h>

#include "options.h"

bool is_filter_kind(nay_kind kind) {
  return nay_kind_name(kind) != NULL && (nay_kind_traits(kind) & NAY_CAN_GET) == 0;
}

void kind_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  list[n++] = "auto";
  for (int kind = 1; kind < OPTION_VALUES - 1; kind++) {
    if (is_filter_kind((nay_kind)kind)) list[n++] = nay_kind_name((nay_kind)kind);
  }
  list[n] = NULL;
}

/* Those that take adds, and auto, which picks among them. */
static void adding_kind_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  kind_names(list);
  for (size_t i = 0; list[i] != NULL; i++) {
    nay_kind kind = NAY_AUTO;
    bool adds = nay_kind_parse(list[i], &kind) != NAY_OK || kind == NAY_AUTO ||
                (nay_kind_traits(kind) & NAY_CAN_ADD) != 0;
    if (adds) list[n++] = list[i];
  }
  list[n] = NULL;
}

void format_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  for (; n < OPTION_VALUES - 1 && nay_format_at(n) != NULL; n++) {
    list[n] = nay_format_name(nay_format_at(n));
  }
  list[n] = NULL;
}

/* Those of other systems: families stand for the native file. */
static void layout_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  format_names(list);
  for (size_t i = 0; list[i] != NULL; i++) {
    if (strcmp(list[i], "nay") != 0) list[n++] = list[i];
  }
  list[n] = NULL;
}

static void table_format_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  for (; n < OPTION_VALUES - 1 && nay_sst_layout_at(n) != NULL; n++) {
    list[n] = nay_sst_layout_at(n);
  }
  list[n] = NULL;
}

/* Those of the library, and words of this program: see option_key_form. */
static void key_type_names(const char *list[OPTION_VALUES]) {
  size_t n = 0;
  const char *name;
  static const char *const own[] = {"bytes", "u64le",  "string", "long",
                                    "int32", "date32", "bool32", "utf16"};
  size_t most = OPTION_VALUES - 1 - sizeof own / sizeof own[0];
  for (; n < most && (name = nay_key_type_name((nay_key_type)n)) != NULL; n++) list[n] = name;
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) list[n++] = own[i];
  list[n] = NULL;
}

void options_values(const option_row *row, const char *list[OPTION_VALUES]) {
  size_t n = 0;
  switch (row->type) {
    case OPTION_KIND:
    case OPTION_KINDS: kind_names(list); return;
    case OPTION_KIND_ADDS: adding_kind_names(list); return;
    case OPTION_FORMAT:
    case OPTION_FILE_FORMAT: format_names(list); return;
    case OPTION_FORMATS: layout_names(list); return;
    case OPTION_TABLE_FORMAT: table_format_names(list); return;
    case OPTION_KEY_TYPE: key_type_names(list); return;
    default: break;
  }
  for (; row->choices != NULL && row->choices[n] != NULL; n++) list[n] = row->choices[n];
  list[n] = NULL;
}

bool option_is_file(const option_row *row) {
  return row->type == OPTION_FILE || row->type == OPTION_FILES || row->type == OPTION_OUTPUT;
}

bool option_is_list(const option_row *row) {
  return row->type == OPTION_CHOICES || row->type == OPTION_KINDS || row->type == OPTION_FORMATS;
}

bool option_repeats(const option_row *row) {
  return row->type == OPTION_FILES || row->type == OPTION_TEXTS || row->type == OPTION_CHOICES;
}

bool option_is_layout(const option_row *row) {
  return row->type == OPTION_FORMAT || row->type == OPTION_FORMATS ||
         row->type == OPTION_FILE_FORMAT;
}

const nay_format *layout_at(uint64_t formats, size_t i) {
  const nay_format *format;
  for (size_t f = 0; (format = nay_format_at(f)) != NULL; f++) {
    if ((formats >> f & 1) != 0 && i-- == 0) break;
  }
  return format;
}
