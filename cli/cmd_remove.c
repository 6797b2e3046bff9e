/* cmd_remove.c - nay remove: keys out of a filter, in place. */
#include "described.h"
#include "filterfile.h"
#include "key_files.h"
#include "numbers.h"
#include "outfile.h"
#include "stream.h"

typedef struct remove_options {
  options common;
  filter_options filter;
  keys_options keys;
  output_options output;
} remove_options;

static uint64_t remove_all(nay_filter *f, key_stream *s) {
  uint64_t nabsent = 0;
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n; i++) {
      nay_status status = nay_filter_remove(f, b->keys[i], b->lens[i]);
      if (status == NAY_ENOENT) {
        nabsent++;
      } else if (status != NAY_OK) {
        die(EXIT_TROUBLE, "cannot remove: %s", nay_status_text(status));
      }
    }
  }
  return nabsent;
}

static int remove_run(options *common) {
  remove_options *o = (remove_options *)common;
  size_t npaths;
  const char *const *paths = keys_operands(&o->common, &o->keys, 1, &npaths);
  paths = key_files_list(&o->keys, paths, &npaths);
  const char *out = filterfile_target(&o->common, &o->output);
  nay_filter *f = filterfile_open(&o->common, &o->filter, o->common.operands[0]);
  unsigned traits;
  const char *kind = filterfile_kind(f, &traits);
  if ((traits & NAY_CAN_REMOVE) == 0) {
    die(EXIT_TROUBLE,
        "a %s filter does not support remove; 'nay plan --need delete' names one that does", kind);
  }
  described_filter(&o->keys, o->common.operands[0], f);
  key_stream *s = stream_open(&o->common, &o->keys, paths, npaths, NULL);
  uint64_t nabsent = remove_all(f, s), nkeys = stream_nkeys(s);
  stream_close(s);
  filterfile_save(f, out);
  int status = filterfile_report_removal(&o->common, out, f, nkeys, nabsent);
  nay_filter_free(f);
  if (nabsent > 0) message("not in the filter: %s", COUNTED(nabsent, "key"));
  return status == EXIT_FOUND && nabsent > 0 ? EXIT_NONE : status;
}

static const option_use remove_uses[] = {
    TAKES(remove_options, filter, FILTER_FORMAT | FILTER_SECRET),
    TAKES(remove_options, keys, KEYS_ARGS | KEYS_DIRS | KEYS_STYLE),
    TAKES(remove_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON | REPORT_STRICT | REPORT_PROGRESS),
    {0},
};

const command command_remove = {
    .name = "remove",
    .run = remove_run,
    .size = sizeof(remove_options),
    .summary = "remove keys from a filter that supports it, in place",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .changes = 1,
    .uses = remove_uses,
    .about =
        "Removes keys, in families that support it (see 'nay plan --need delete'), and replaces "
        "the file as nay add does. Remove only keys that were added: removing a key that was not, "
        "but answers maybe, damages other keys, which may then answer nay.\n"
        "\n"
        "Exit status: 0 when all keys were removed, 1 when some were not in the filter.",
};
