/*
 * cli.h - what every file of the program knows: exit statuses, the shape of a command, messages.
 *
 * Data goes to stdout, messages go to stderr. A command is one file, cmd_<name>.c, that ends in a
 * const command, and a line in commands.h. The rest is one noun per file: options, numbers, source
 * (bytes of input files), stream (keys in batches), output, json, outfile, filterfile, progress,
 * plots.
 */
#ifndef NAY_CLI_H
#define NAY_CLI_H

#include <nay_advanced.h>
#include <nay_file.h>
#include <nay_format.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As grep; 3: corrupt bytes; 4: the FPR is above the promise (the target FPR), see promise.h. */
enum { EXIT_FOUND = 0, EXIT_NONE = 1, EXIT_TROUBLE = 2, EXIT_DAMAGED = 3, EXIT_OVERFILLED = 4 };

/* The reader closed the pipe and SIGPIPE is ignored: end as quietly as SIGPIPE would. */
enum { EXIT_PIPE = 141 };

typedef struct options options;
typedef struct option_row option_row;
typedef struct option_use option_use;

typedef struct command {
  const char *name;
  const char *alias;      /* another name that people type, or NULL */
  int (*run)(options *o); /* o is the first member of the command's own struct, of `size` bytes */
  size_t size;            /* 0: it has none, and o is all */
  const char *summary;    /* one line, in lists */
  const char *operands;   /* as in a synopsis */
  int min_operands, max_operands;
  const char *verbs;      /* what the first operand may be, separated by spaces; NULL: a file */
  bool to_stdout;         /* the result goes to standard output without -o */
  int changes;            /* -o may name one of so many first operands: the command changes them */
  const option_row *own;  /* its own options, or NULL; see options.h */
  const option_use *uses; /* those that it shares, or NULL */
  const char *about;      /* paragraphs for help and the manual, separated by an empty line */
  const char *examples;   /* transcripts: "$ command" lines, each followed by its exact output */
} command;

#define ANY_NUMBER 1000000

/* command_at: the i-th command, NULL past the last. */
const command *command_at(size_t i);

/* command_find: by name, or NULL. command_must_find: by name, or an error that says what was meant.
 */
const command *command_find(const char *name);
const command *command_must_find(const char *name);

/* ---- messages.c ---- */

/* messages_begin: every line on stderr starts with "nay <name>: "; quiet drops all but errors. */
void messages_begin(const char *name, bool quiet);

/* message: one line on stderr. message_error: the same, also when quiet. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* die: an error line, then exit(status). The lock is released on the way. */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* nearest_word: the candidate a typing slip away from `word`, or NULL. The list ends in NULL. */
const char *nearest_word(const char *word, const char *const *candidates);

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

/* signals_stop_gently: from now on a signal only ends reading, so that the result can be saved. */
void signals_stop_gently(void);
bool stop_requested(void);
bool stop_insisted(void); /* by a second one */

/* signals_finish: after a gentle stop, die of the signal as the shell expects; else return. */
void signals_finish(void);

#endif /* NAY_CLI_H */
