/* help.h - the texts of --help, the manual and the completions, from the two tables. */
#ifndef NAY_HELP_H
#define NAY_HELP_H

#include "options.h"

/* help_overview: all commands. help_command: one of them. */
void help_overview(void);
void help_command(const command *c);

/* help_wrap: text in lines of at most `width`, each after `indent` spaces but the first. */
void help_wrap(const char *text, size_t len, unsigned indent, unsigned width);

#endif /* NAY_HELP_H */
