/*
 * cli.h - what every file of the command knows: exit statuses, the shape of a command, words.
 *
 * Data goes to stdout, words go to stderr. A command is one file, cmd_<name>.c, that ends in a
 * const command; main.c lists them. The rest is one noun per file: options, numbers, source (bytes
 * of input files), stream (keys in batches), output, json, outfile, filterfile, progress, plots.
 */
#ifndef NAY_CLI_H
#define NAY_CLI_H

#include <nay.h>
#include <nay_file.h>
#include <nay_format.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As grep, 3 for bytes that cannot be trusted, 4 for a rate above the promise: see promise.h. */
enum { EXIT_FOUND = 0, EXIT_NONE = 1, EXIT_TROUBLE = 2, EXIT_DAMAGED = 3, EXIT_OVERFILLED = 4 };

/* Nobody reads our output any more, and SIGPIPE is ignored: end as quietly as it would have. */
enum { EXIT_PIPE = 141 };

typedef struct options options;

typedef struct command {
  const char *name;
  unsigned bit; /* CMD_..., for the option table */
  int (*run)(options *o);
  const char *summary;  /* one line, in lists */
  const char *operands; /* as in a synopsis */
  int min_operands, max_operands;
  const char *verbs;    /* what the first operand may be, separated by spaces; NULL: a file */
  const char *about;    /* paragraphs for help and the manual, separated by an empty line */
  const char *examples; /* transcripts: "$ command" lines, each followed by its exact output */
} command;

#define CMD_PLAN 0x00001u
#define CMD_BUILD 0x00002u
#define CMD_ADD 0x00004u
#define CMD_REMOVE 0x00008u
#define CMD_CHECK 0x00010u
#define CMD_INFO 0x00020u
#define CMD_VERIFY 0x00040u
#define CMD_MERGE 0x00080u
#define CMD_FOLD 0x00100u
#define CMD_CONVERT 0x00200u
#define CMD_UNIQ 0x00400u
#define CMD_DIFF 0x00800u
#define CMD_COMMON 0x01000u
#define CMD_BENCH 0x02000u
#define CMD_PLOT 0x04000u
#define CMD_COMPLETE 0x08000u
#define CMD_MAN 0x10000u
#define CMD_HELP 0x20000u
#define CMD_EXTRACT 0x40000u
#define CMD_SST 0x80000u
#define CMD_ANY 0xfffffu

#define ANY_NUMBER 1000000

/* command_at: the i-th command, NULL past the last. */
const command *command_at(size_t i);

/* command_find: by name, or NULL. command_must_find: by name, or death with what was meant. */
const command *command_find(const char *name);
const command *command_must_find(const char *name);

/* ---- words.c ---- */

/* words_begin: every line on stderr starts with "nay <name>: "; quiet drops all but errors. */
void words_begin(const char *name, bool quiet);

/* words: one line for people. words_error: the same, also when quiet. */
void words(const char *format, ...) __attribute__((format(printf, 1, 2)));
void words_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* die: an error line, then exit(status). The lock is released on the way. */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* words_nearest: the candidate a typing slip away from `word`, or NULL. The list ends in NULL. */
const char *words_nearest(const char *word, const char *const *candidates);

/* exit_of: the exit status for a library error: 3 when the bytes are to blame, else 2. */
int exit_of(nay_status status);

/* exit_worse: of two, for commands that go over several files; a broken promise is the mildest. */
int exit_worse(int a, int b);

/* diag_text: what went wrong, in `text`: the library's reason, the offset, the system's error. */
#define DIAG_TEXT 256
const char *diag_text(nay_status status, const nay_diag *diag, char text[DIAG_TEXT]);

/* must_alloc: malloc or die. must_grow: realloc or die. */
void *must_alloc(size_t size);
void *must_grow(void *p, size_t size);

/* ---- signals.c ---- */

/* signals_begin: SIGINT, SIGTERM and SIGHUP release the lock and end the program. */
void signals_begin(void);

/* signals_release: the lock that they release, or NULL. */
void signals_release(nay_filelock *lock);

/*
 * signals_defer: while a file is replaced they only set signals_abort. Switched off again, it ends
 * the program when one came.
 */
void signals_defer(bool defer);
bool signals_abort(void);

/* signals_stop_gently: from now on they only ask reading to stop, so that work can be saved. */
void signals_stop_gently(void);
bool stop_requested(void);
bool stop_insisted(void); /* by a second one */

/* signals_finish: after a gentle stop, die of the signal as the shell expects; else return. */
void signals_finish(void);

#endif /* NAY_CLI_H */
