/*
 * progress.h - one line on stderr that says how far a long job is: only on a terminal, and only
 * after half a second. SIGUSR1 shows it once, terminal or not.
 */
#ifndef NAY_PROGRESS_H
#define NAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } progress_mode;

/* progress_begin: total is the number of input bytes, 0 when it is not known. */
void progress_begin(progress_mode mode, uint64_t total);

/* progress_update: call as often as you like. */
void progress_update(uint64_t bytes, uint64_t keys);

/* progress_clear: removes the line, before messages or at the end. */
void progress_clear(void);

/* progress_make_way: removes it when standard output goes to the same terminal. */
void progress_make_way(void);

/* now_seconds: a clock that only goes forward. */
double now_seconds(void);

#endif /* NAY_PROGRESS_H */
