/*
 * cmd_complete.c - nay complete: completions for three shells. What can follow a command line is
 * decided in candidates.c, by `nay complete list`, which the shells run at every TAB; what they get
 * here only passes the words there and the answers back, and asks the shell for names of files.
 */
#include "candidates.h"
#include "options.h"

/*
 * bash takes words apart at = and :, and replaces only what stands behind the last of them ($2):
 * words that no space separates are joined again, and that part is cut from the candidates.
 */
static const char complete_bash[] =
    "# bash completion for nay; made by 'nay complete bash'\n"
    "_nay() {\n"
    "  local rest=${COMP_LINE:0:COMP_POINT} space word line before files=\n"
    "  local -a words=()\n"
    "  COMPREPLY=()\n"
    "  for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
    "    space=${rest%%[![:space:]]*}\n"
    "    rest=${rest#\"$space\"}\n"
    "    [[ $rest == \"$word\"* ]] || word=$rest # the cursor is inside it\n"
    "    rest=${rest#\"$word\"}\n"
    "    if [[ $space || ${#words[@]} -eq 0 ]]; then words+=(\"$word\")\n"
    "    else words[${#words[@]}-1]+=$word; fi\n"
    "  done\n"
    "  before=${words[${#words[@]}-1]%\"$2\"}\n"
    "  while IFS= read -r line; do\n"
    "    case $line in\n"
    "      :files*) files=yes ;;\n"
    "      *) line=${line%%$'\\t'*}; COMPREPLY+=(\"${line#\"$before\"}\") ;;\n"
    "    esac\n"
    "  done < <(\"${words[0]/#\\~\\//$HOME/}\" complete list -- \"${words[@]:1}\" 2>/dev/null)\n"
    "  [[ $files ]] && compopt -o default\n"
    "  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
    "  return 0\n"
    "}\n"
    "complete -F _nay nay\n";

static const char complete_zsh[] =
    "#compdef nay\n"
    "# zsh completion for nay; made by 'nay complete zsh'\n"
    "_nay() {\n"
    "  local line name files=no\n"
    "  local -a whole open\n"
    "  for line in \"${(@f)$(${(Q)words[1]/#\\~\\//$HOME/} complete list -- \\\n"
    "      \"${(@Q)words[2,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)}\"; do\n"
    "    name=${${line%%$'\\t'*}//:/\\\\:}\n"
    "    case $line in\n"
    "      '') ;;\n"
    "      :files*) files=yes ;;\n"
    "      *=$'\\t'*) open+=(\"$name:${line#*$'\\t'}\") ;;\n"
    "      *) whole+=(\"$name:${line#*$'\\t'}\") ;;\n"
    "    esac\n"
    "  done\n"
    "  (( $#open )) && _describe -t options option open -S ''\n"
    "  (( $#whole )) && _describe -t values value whole\n"
    "  [[ $files = yes ]] && { compset -P 1 '--*='; _files }\n"
    "}\n"
    "if [[ $funcstack[1] = _nay ]]; then _nay \"$@\"; else compdef _nay nay; fi\n";

static const char complete_fish[] =
    "# fish completion for nay; made by 'nay complete fish'\n"
    "function __nay_candidates\n"
    "  set -l words (commandline -opc)\n"
    "  set -l word (commandline -ct)\n"
    "  set -l program (string replace -r '^~/' \"$HOME/\" -- $words[1])\n"
    "  for line in ($program complete list -- $words[2..] \"$word\" 2>/dev/null)\n"
    "    if string match -q ':files*' -- $line\n"
    "      set -l before (string replace ':files' '' -- $line)\n"
    "      set -l path (string sub -s (math 1 + (string length -- \"$before\")) -- \"$word\")\n"
    "      for file in (__fish_complete_path \"$path\")\n"
    "        echo -- $before$file\n"
    "      end\n"
    "    else\n"
    "      echo -- $line\n"
    "    end\n"
    "  end\n"
    "end\n"
    "complete -c nay -f -a '(__nay_candidates)'\n";

static int complete_run(options *o) {
  static const char *const shells[] = {complete_bash, complete_zsh, complete_fish};
  if (o->verb < sizeof shells / sizeof shells[0]) {
    if (o->noperands > 1) die(EXIT_TROUBLE, "one operand too many: '%s'", o->operands[1]);
    out_text("%s", shells[o->verb]);
  } else if (o->noperands > 1) {
    candidates_write(o->operands + 1, (size_t)o->noperands - 1);
  }
  return EXIT_FOUND;
}

const command command_complete = {
    .name = "complete",
    .run = complete_run,
    .summary = "write completions for bash, zsh or fish",
    .operands = "bash|zsh|fish | list -- WORD...",
    .min_operands = 1,
    .max_operands = ANY_NUMBER,
    .verbs = "bash zsh fish list",
    .about =
        "Writes the completions of this program for a shell. Installing nay installs them; to "
        "try them in bash: eval \"$(nay complete bash)\".\n"
        "\n"
        "list tells what they offer: the words that the last WORD can become, after the others, "
        "which stand for a command line without nay. Each line has a candidate, a tab and what it "
        "means; a candidate that ends in = still lacks a value. A line that starts with :files "
        "says that the name of a file can follow.",
    .examples =
        "$ nay complete list -- build --type=blo | cut -f 1\n"
        "--type=bloom\n"
        "--type=blocked\n"
        "$ nay complete list -- sst co | cut -f 1\n"
        "compact\n",
};
