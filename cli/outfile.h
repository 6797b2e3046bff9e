/*
 * outfile.h - the files that commands write. All of them, here: whether it may be written, its
 * lock, and replacing it atomically.
 *
 * One protocol for every command. A command that reads a file and then replaces it locks it before
 * it reads (add, remove, fold, merge, convert, uniq --state); one that only replaces it locks it
 * for that moment (build, extract, plot, sst). Readers take no lock. A process holds one lock at a
 * time, that of its output, so processes cannot wait for each other in a circle.
 */
#ifndef NAY_OUTFILE_H
#define NAY_OUTFILE_H

#include <nay_file.h>

#include "cli.h"

/* outfile_is_stdout: "-", or another name of standard output such as /dev/stdout. */
bool outfile_is_stdout(const char *path);

/*
 * outfile_may_write: exits early when `path` exists and force is not set, or when it is a terminal.
 * Without force, outfile_lock and outfile_write look again: another command may make it meanwhile.
 */
void outfile_may_write(const char *path, bool force);

/*
 * outfile_lock: waits until no other nay changes the file, and keeps others waiting until
 * outfile_unlock or the end of the process. The file need not exist. Nothing for standard output,
 * devices and pipes, which are written, not replaced.
 */
void outfile_lock(const char *path);
void outfile_unlock(void);

/*
 * outfile_write: what `produce` writes becomes the file, all at once, under its lock, which is then
 * released; or the program ends and the file is as it was. flags as for nay_file_replace. A signal
 * stops it before the file is replaced, unless signals_stop_gently was called: see signals.c.
 */
void outfile_write(const char *path, uint32_t flags, nay_producer produce, void *ctx);

/* outfile_save: the same for bytes. */
void outfile_save(const void *bytes, size_t len, const char *path);

/* outfile_remove: a file that this command has made, when it fails after all. */
void outfile_remove(const char *path);

#endif /* NAY_OUTFILE_H */
