/* help.c - see help.h. */
#include "help.h"

#include <stdio.h>
#include <string.h>

#define HELP_WIDTH 80u
#define HELP_COLUMN 27u

void help_wrap(const char *text, size_t len, unsigned indent, unsigned width) {
  unsigned at = indent;
  for (size_t i = 0; i < len;) {
    size_t word = strcspn(text + i, " \n");
    if (word > len - i) word = len - i;
    if (at > indent && at + 1 + word > width) {
      out_text("\n%*s", (int)indent, "");
      at = indent;
    } else if (at > indent) {
      out_text(" ");
      at++;
    }
    out_bytes(text + i, word);
    at += (unsigned)word;
    i += word;
    while (i < len && text[i] == ' ') i++;
  }
  out_text("\n");
}

static void help_row(const option_row *row) {
  char title[ROW_TITLE], text[OPTION_HELP];
  option_help(row, true, text);
  options_row_title(row, title);
  unsigned used = (unsigned)(row->letter != 0 ? 2 : 6) + (unsigned)strlen(title);
  out_text("%*s%s%s%s", row->letter != 0 ? 2 : 6, "", paint(PAINT_KEY), title, paint(PAINT_PLAIN));
  if (used + 2 > HELP_COLUMN) {
    out_text("\n%*s", (int)HELP_COLUMN, "");
  } else {
    out_text("%*s", (int)(HELP_COLUMN - used), "");
  }
  help_wrap(text, strlen(text), HELP_COLUMN, HELP_WIDTH);
}

static void help_title(const char *text) {
  out_text("\n%s%s%s\n", paint(PAINT_BOLD), text, paint(PAINT_PLAIN));
}

static void help_paragraphs(const char *text) {
  while (*text != '\0') {
    const char *end = strstr(text, "\n\n");
    size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
    out_text("\n");
    help_wrap(text, len, 0, HELP_WIDTH);
    text += len + (end != NULL ? 2 : 0);
  }
}

static void help_examples(const char *text) {
  for (const char *line = text; *line != '\0';) {
    size_t len = strcspn(line, "\n");
    out_text("  %.*s\n", (int)len, line);
    line += len + 1;
  }
}

void help_command(const command *c) {
  char usage[256];
  snprintf(usage, sizeof usage, "nay %s [options]%s%s", c->name, *c->operands ? " " : "",
           c->operands);
  out_text("%snay %s%s - %s\n\nusage: ", paint(PAINT_BOLD), c->name, paint(PAINT_PLAIN),
           c->summary);
  help_wrap(usage, strlen(usage), 7, HELP_WIDTH);
  if (c->alias != NULL) out_text("       nay %s is the same\n", c->alias);
  help_paragraphs(c->about);
  help_title("Options");
  option_table t;
  option_table_make(c, &t);
  for (size_t i = 0; i < t.n; i++) help_row(&t.rows[i]);
  if (c->examples != NULL) {
    help_title("Examples");
    help_examples(c->examples);
  }
}

void help_overview(void) {
  out_text(
      "%snay%s %s - membership filters: is this key in the set? nay is certain, maybe is not.\n\n"
      "usage: nay COMMAND [options] [operands]\n\n",
      paint(PAINT_BOLD), paint(PAINT_PLAIN), nay_version());
  const command *c;
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    out_text("  %s%-9s%s ", paint(PAINT_KEY), c->name, paint(PAINT_PLAIN));
    help_wrap(c->summary, strlen(c->summary), 12, HELP_WIDTH);
  }
  const char *before = "\nOther names: ";
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    if (c->alias == NULL) continue;
    out_text("%s%s for %s", before, c->alias, c->name);
    before = ", ";
  }
  out_text(
      ".\n\n'nay help COMMAND' explains one, with examples. To start:\n\n"
      "  nay plan -n 1M -p 1%%                 which filter, how large?\n"
      "  nay build -p 1%% -o seen.nay FILE     build it from the lines of a file\n"
      "  nay check seen.nay < other           lines it may contain; -v: those it does not\n");
}
