/* cmd_version.c - nay version: the version, and what this program was built with. */
#include "codecs.h"
#include "nay_sst.h"
#include "options.h"

static void version_names(const char *name, const char *const *list) {
  json_open(name, '[');
  for (; *list != NULL; list++) json_text(NULL, *list);
  json_close();
}

static int version_run(options *o) {
  const char *kinds[OPTION_VALUES], *formats[OPTION_VALUES], *codecs[CODEC_NAMES];
  if (!o->json) {
    out_text("nay %s\n", nay_version());
    return EXIT_FOUND;
  }
  kind_names(kinds);
  format_names(formats);
  codec_names(codecs);
  json_begin("nay.version/1");
  json_text("version", nay_version());
  json_text("sst_version", nay_sst_version());
  version_names("kinds", kinds + 1); /* the first is auto */
  version_names("formats", formats);
  version_names("codecs", codecs);
  json_end();
  return EXIT_FOUND;
}

static const option_use version_uses[] = {REPORTS(REPORT_JSON), {0}};

const command command_version = {
    .name = "version",
    .run = version_run,
    .summary = "print the version; with --json also families, layouts and codecs",
    .operands = "",
    .uses = version_uses,
    .about =
        "Prints the version of the program, as nay --version does. --json adds the families and "
        "layouts of the library and the codecs that key files may be compressed with.",
    .examples =
        "$ nay version --json | jq -r '.kinds[0]'\n"
        "bloom\n",
};
