/*
 * candidates.h - what can follow the words of a command line, from the tables of commands and
 * options: the completions of all shells ask this.
 */
#ifndef NAY_CANDIDATES_H
#define NAY_CANDIDATES_H

#include <stddef.h>

/*
 * candidates_write: the words that the last of n words can become, one on a line, each with a tab
 * and what it means. A candidate that ends in = is not the whole word yet. A line ":files" and a
 * prefix says that the name of a file can stand after that prefix. words[0] is the command.
 */
void candidates_write(char *const *words, size_t n);

#endif /* NAY_CANDIDATES_H */
