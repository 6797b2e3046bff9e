/* cmd_add.c - nay add and nay remove: change a filter in place, all at once. */
#include "filterfile.h"
#include "maker.h"
#include "numbers.h"
#include "outfile.h"

/* What was asked for: another file, or the filter itself. Locked before the filter is read. */
static const char *change_target(const options *o) {
  const char *path = o->operands[0];
  if (o->out != NULL) {
    outfile_may_write(o->out, o->force);
    outfile_lock(o->out);
    return o->out;
  }
  if (path[0] == '-' && path[1] == '\0') die(EXIT_TROUBLE, "a filter from a pipe needs -o FILE");
  outfile_lock(path);
  return path;
}

static const char *change_kind(const nay_filter *f, unsigned *traits) {
  nay_stats s;
  nay_filter_stats(f, &s);
  *traits = nay_kind_traits(s.kind);
  return nay_kind_name(s.kind) != NULL ? nay_kind_name(s.kind) : "this";
}

static int add_run(options *o) {
  const char *out = change_target(o);
  nay_filter *f = filterfile_open(o->operands[0], o);
  unsigned traits;
  const char *kind = change_kind(f, &traits);
  if ((traits & NAY_CAN_ADD) == 0) {
    die(EXIT_TROUBLE, "a %s filter takes no adds: build it again from all keys", kind);
  }
  key_stream *s = stream_open(o, (const char *const *)o->operands + 1, (size_t)o->noperands - 1, f);
  add_all(f, s);
  uint64_t nkeys = stream_nkeys(s);
  stream_close(s);
  filterfile_save(f, out);
  int status = filterfile_report(o, "added to", out, f, nkeys, 0);
  nay_filter_free(f);
  return status;
}

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

static int remove_run(options *o) {
  const char *out = change_target(o);
  nay_filter *f = filterfile_open(o->operands[0], o);
  unsigned traits;
  const char *kind = change_kind(f, &traits);
  if ((traits & NAY_CAN_REMOVE) == 0) {
    die(EXIT_TROUBLE,
        "a %s filter cannot remove keys; 'nay plan --need delete' lists families that can", kind);
  }
  key_stream *s =
      stream_open(o, (const char *const *)o->operands + 1, (size_t)o->noperands - 1, NULL);
  uint64_t nabsent = remove_all(f, s), nkeys = stream_nkeys(s);
  stream_close(s);
  filterfile_save(f, out);
  int status = filterfile_report_removal(o, out, f, nkeys, nabsent);
  nay_filter_free(f);
  if (nabsent > 0) words("not in the filter: %s", COUNTED(nabsent, "key"));
  return status == EXIT_FOUND && nabsent > 0 ? EXIT_NONE : status;
}

const command command_add = {
    .name = "add",
    .bit = CMD_ADD,
    .run = add_run,
    .summary = "add keys to a filter, in place",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .about =
        "Adds keys to a filter and replaces its file at the end, all at once: a reader, or a "
        "crash, "
        "sees the old filter or the new one. Commands that change one file wait for each other: "
        "see "
        "FILES in nay(1). With -o the result goes to another file. When more keys are in than were "
        "planned, a warning says "
        "what rate of false positives was promised and what it is now; with --strict the exit "
        "status is then 4.",
    .examples =
        "$ seq 10 | nay build -q -n 20 -p 1e-6 -o f.nay\n"
        "$ seq 11 12 | nay add -q f.nay\n"
        "$ seq 9 14 | nay check f.nay\n"
        "9\n10\n11\n12\n",
};

const command command_remove = {
    .name = "remove",
    .bit = CMD_REMOVE,
    .run = remove_run,
    .summary = "take keys out of a filter that can remove, in place",
    .operands = "FILTER [KEYFILE...]",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .about =
        "Takes keys out again, in families that can (see 'nay plan --need delete'), and replaces "
        "the file as nay add does. Remove only keys that were added: a key that was not, but tests "
        "maybe, takes a part of other keys with it, and they may then be denied.\n"
        "\n"
        "Exit status: 0 when all keys were removed, 1 when some were not in the filter.",
};
