#!/usr/bin/env python3
"""Writes a page of section 3 as roff from its Markdown, on standard output.

    tools/man3.py libnay | libnaysst

Knows the Markdown that stands in doc/man/NAME.3.md: headings, paragraphs, code blocks, tables of two columns, bold,
code and links."""
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def inline(text):
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    parts = re.split(r"(\*\*[^*]+\*\*|`[^`]+`|\*[^*]+\*)", text)
    out = []
    for part in parts:
        if part.startswith("**") or part.startswith("`"):
            out.append("\\fB" + escaped(part.strip("*`")) + "\\fR")
        elif part.startswith("*") and len(part) > 2:
            out.append("\\fI" + escaped(part.strip("*")) + "\\fR")
        else:
            out.append(escaped(part))
    return guarded("".join(out))


def guarded(line):
    """A line must not begin as a request of roff."""
    return "\\&" + line if line.startswith((".", "'")) else line


def version():
    header = (SOURCE / "include/nay.h").read_text()
    return ".".join(re.findall(r"#define NAY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def block(text):
    lines = text.split("\n")
    if lines[0].startswith("# "):
        return [f'.TH {lines[0][2:-3]} 3 "" "nay {version()}" "Library Functions"']
    if lines[0].startswith("## "):
        return [".SH " + lines[0][3:]]
    if lines[0].startswith("```"):
        return [".PP", ".nf", ".RS 2"] + [guarded(escaped(line)) for line in lines[1:-1]] + [".RE", ".fi"]
    if lines[0].startswith("|"):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
        return [line for name, about in rows for line in (".TP", inline(name), inline(about))]
    return [".PP", inline(" ".join(lines))]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = (SOURCE / f"doc/man/{sys.argv[1]}.3.md").read_text()
    blocks = re.findall(r"```.*?\n```|[^\n]+(?:\n[^\n`|#][^\n]*|\n\|[^\n]*|\n`(?!``)[^\n]*)*", text, re.S)
    out = [line for part in blocks for line in block(part)]
    # the name stands on the line below its heading
    name = out.index(".SH NAME")
    out[name + 1:name + 3] = [out[name + 2]]
    print("\n".join(out))


if __name__ == "__main__":
    sys.exit(main())
