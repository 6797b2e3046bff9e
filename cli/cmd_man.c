/* cmd_man.c - nay man: the manual pages, from the tables of commands and options, as roff or
 * Markdown. */
#include <stdio.h>
#include <string.h>

#include "help.h"

typedef struct man_options {
  options common;
  bool markdown;
} man_options;

/* ---- the two ways to write ---- */

typedef struct manual {
  bool markdown;
} manual;

/* roff reads \, - and a dot at the start of a line in its own way. */
static void man_text(const manual *m, const char *text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    bool line_start = i == 0 || text[i - 1] == '\n';
    if (m->markdown) {
      if (strchr("*<|", text[i]) != NULL) out_bytes("\\", 1);
      out_bytes(text + i, 1);
      continue;
    }
    if (line_start && (text[i] == '.' || text[i] == '\'')) out_text("\\&");
    if (text[i] == '\\') {
      out_text("\\e");
    } else if (text[i] == '-') {
      out_text("\\-");
    } else {
      out_bytes(text + i, 1);
    }
  }
}

static void man_section(const manual *m, const char *title) {
  out_text(m->markdown ? "\n## %s\n" : ".SH %s\n", title);
}

static void man_paragraphs(const manual *m, const char *text) {
  while (*text != '\0') {
    const char *end = strstr(text, "\n\n");
    size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
    out_text(m->markdown ? "\n" : ".PP\n");
    if (m->markdown) {
      help_wrap(text, len, 0, 100);
    } else {
      man_text(m, text, len);
      out_text("\n");
    }
    text += len + (end != NULL ? 2 : 0);
  }
}

static void man_examples(const manual *m, const char *text) {
  if (m->markdown) {
    out_text("\n```console\n%s```\n", text);
    return;
  }
  out_text(".PP\n.nf\n.RS 4\n");
  man_text(m, text, strlen(text));
  out_text(".RE\n.fi\n");
}

/* A name, and below it what it is. */
static void man_item(const manual *m, const char *name, const char *about) {
  out_text(m->markdown ? "\n`%s`  \n" : ".TP\n\\fB", name);
  if (!m->markdown) {
    man_text(m, name, strlen(name));
    out_text("\\fR\n");
  }
  man_text(m, about, strlen(about));
  out_text("\n");
}

/* The layouts stand in nay(1), each with what it is, and not in every page. */
static void man_row(const manual *m, const option_row *row) {
  char title[ROW_TITLE], text[OPTION_HELP];
  bool layouts = option_is_layout(row);
  options_row_title(row, title);
  option_help(row, !layouts, text);
  size_t used = strlen(text);
  if (layouts) snprintf(text + used, sizeof text - used, "; LAYOUTS in nay(1) lists them");
  man_item(m, title, text);
}

static void man_top(const manual *m, const char *name, const char *summary) {
  if (m->markdown) {
    out_text("# %s(1)\n\n## NAME\n\n%s - %s\n", name, name, summary);
    return;
  }
  out_text(".TH %s 1 \"\" \"nay %s\" \"User Commands\"\n.SH NAME\n", name, nay_version());
  man_text(m, name, strlen(name));
  out_text(" \\- ");
  man_text(m, summary, strlen(summary));
  out_text("\n");
}

static void man_synopsis(const manual *m, const char *text) {
  man_section(m, "SYNOPSIS");
  if (m->markdown) {
    out_text("\n`%s`\n", text);
  } else {
    man_text(m, text, strlen(text));
    out_text("\n");
  }
}

static void man_alias(const manual *m, const command *c) {
  char text[256];
  snprintf(text, sizeof text, "nay %s is another name of nay %s.", c->alias, c->name);
  man_paragraphs(m, text);
}

/* ---- the pages ---- */

static void man_command(const manual *m, const command *c) {
  char text[256];
  snprintf(text, sizeof text, "nay-%s", c->name);
  man_top(m, text, c->summary);
  snprintf(text, sizeof text, "nay %s [options]%s%s", c->name, *c->operands ? " " : "",
           c->operands);
  man_synopsis(m, text);
  if (c->alias != NULL) man_alias(m, c);
  man_section(m, "DESCRIPTION");
  man_paragraphs(m, c->about);
  man_section(m, "OPTIONS");
  option_table t;
  option_table_make(c, &t);
  for (size_t i = 0; i < t.n; i++) man_row(m, &t.rows[i]);
  if (c->examples != NULL) {
    man_section(m, "EXAMPLES");
    man_examples(m, c->examples);
  }
  man_section(m, "SEE ALSO");
  out_text(m->markdown ? "\n`nay(1)`\n" : ".BR nay (1)\n");
}

static const char man_about[] =
    "A membership filter answers whether a key is in a set, in a few bits per key. It has two "
    "answers: nay, which is certain, and maybe, which is wrong with a chosen probability, the "
    "false-positive rate (FPR). nay builds such filters from files and pipes, probes, merges and "
    "describes them; it also reads and writes the layouts of other systems.\n"
    "\n"
    "Counts are written 1000, 1e6, 10M or 1B (k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of "
    "1024; B is a billion), sizes likewise, but there B is an optional byte, FPRs 0.01, 1% or "
    "1/256. Keys are lines by default: the "
    "newline is not part of the key, and an empty line is the empty key. --key gives them a type, "
    "-F, "
    "--csv and -k take them from fields and columns, -e gives them as arguments. Files that start "
    "with "
    "the magic number of gzip, zstd, xz, bzip2 or lz4 are decompressed; other codecs are "
    "refused. So are binary files where keys are lines or rows: databases and columnar files by "
    "their magic numbers, UTF-16, and any other at its first zero byte, which no text has. "
    "--no-decompress reads the bytes of all of these as keys. A UTF-8 byte order mark at the start "
    "of lines or rows is skipped.\n"
    "\n"
    "Data goes to standard output, messages to standard error. With --json data are documents on "
    "one "
    "line each, whose members have the same names in every command: see doc/json.md. Files are "
    "written atomically, and "
    "an existing file is overwritten only with -f, and an input never, unless it is the filter "
    "that the command changes. Colours and progress appear on terminals; "
    "NO_COLOR and CLICOLOR_FORCE are obeyed, and SIGUSR1 prints one line of progress.";

static const char man_layouts[] =
    "A layout is the bytes of a filter: nay's own, or those of another system, with that system's "
    "hash. A file with a magic number is recognised; any other layout is named by --format. "
    "doc/formats has a page for each.";

static const char man_files[] =
    "A file is replaced atomically: the bytes go to a temporary file in the same directory, which "
    "is synced and renamed. A reader, or a crash, sees the old file or the new one. Mode, owner "
    "and group are kept where the system allows it; a symbolic link stays a link, and its target "
    "is replaced or created. A new file that stores a secret key has mode 0600. Devices and pipes "
    "are written, not replaced.\n"
    "\n"
    "kill -9 and a power cut can leave a temporary file, .NAME.nay-PID-N in the same directory: "
    "where the file system has unnamed files, only in the moment before the "
    "rename, and then it is complete; elsewhere at any time, and it may be cut. No command reads "
    "it or takes its place: remove it when no process PID runs.\n"
    "\n"
    "Commands that change or replace the same file wait for each other, and say so. add, remove, "
    "fold, merge, convert, sst compact and uniq --state lock their output before they read "
    "anything; build, extract, plot and sst build lock it when they replace it, so that a running "
    "add ends first. Commands that only read never wait. The lock is an flock(2) on "
    ".NAME.nay-lock in the same directory, which is removed afterwards; one that kill -9 leaves "
    "behind is harmless and is reused. On a network file system it works between machines as far "
    "as flock does there; where locks are not supported, a warning says so.";

static const char man_status[] =
    "0: success; for check, diff and common, a key was selected. 1: none was; for verify, merge "
    "and remove, the condition does not hold. 2: trouble: wrong usage, a file that cannot be "
    "read or written. 3: a filter or a compressed key file is corrupt, or a filter is not "
    "recognised or has another layout than --format says. 4: only with --strict: done, but the "
    "expected FPR is more than 10% above what was asked or planned.\n"
    "\n"
    "A key file that is missing, unreadable, corrupt or has a malformed record is named on "
    "standard error. check, uniq, verify, sst get, and diff and common for B, continue with the "
    "next file, as grep does, and end with status 2 or 3. build, add, remove, convert, sst build, "
    "and diff and common for A, stop and write nothing: a filter that lacks keys would answer nay "
    "for them.\n"
    "\n"
    "An FPR above the promise is reported on standard error even without --strict and with -q, by "
    "every command that builds, changes or probes a filter, with both figures; --json then has "
    "\"overfilled\": true beside fpr_now and fpr_promised. The promise of a file is the FPR "
    "of its plan, which is at most -p, and at most 50%; --max-fpr and --expect-fpr replace it. "
    "Where no file states a plan it is -p, which is one in a million for uniq, diff and common.";

static void man_overview(const manual *m) {
  const command *c;
  man_top(m, "nay", "build, probe and convert membership filters");
  man_synopsis(m, "nay COMMAND [options] [operands]");
  man_section(m, "DESCRIPTION");
  man_paragraphs(m, man_about);
  man_section(m, "COMMANDS");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    char name[64];
    snprintf(name, sizeof name, "nay %s", c->name);
    man_item(m, name, c->summary);
  }
  man_section(m, "LAYOUTS");
  man_paragraphs(m, man_layouts);
  const nay_format *format;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    man_item(m, nay_format_name(format), nay_format_about(format));
  }
  man_section(m, "FILES");
  man_paragraphs(m, man_files);
  man_section(m, "EXIT STATUS");
  man_paragraphs(m, man_status);
  man_section(m, "SEE ALSO");
  out_text(m->markdown ? "\n" : "");
  for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
    const char *comma = command_at(i + 1) != NULL ? "," : "";
    out_text(m->markdown ? "`nay-%s(1)`%s\n" : ".BR nay\\-%s (1)%s\n", c->name, comma);
  }
}

static int man_run(options *common) {
  man_options *o = (man_options *)common;
  manual m = {o->markdown};
  if (o->common.noperands == 0) {
    man_overview(&m);
    return EXIT_FOUND;
  }
  man_command(&m, command_must_find(o->common.operands[0]));
  return EXIT_FOUND;
}

static const option_row man_rows[] = {
    {"markdown", 0, NULL, FLAG_AT(man_options, markdown), .help = "write Markdown instead of roff"},
    {0},
};

const command command_man = {
    .name = "man",
    .run = man_run,
    .size = sizeof(man_options),
    .summary = "write a manual page",
    .operands = "[COMMAND]",
    .max_operands = 1,
    .own = man_rows,
    .about =
        "Writes the manual page of a command, or of nay itself, as roff, or with --markdown as "
        "Markdown. To read one: nay man check | man -l -",
};
