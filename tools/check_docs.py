#!/usr/bin/env python3
"""Fails when the documents are out of step with the tree.

  - links between documents lead somewhere, to a file and to a heading in it
  - each public function has a comment; a comment that opens with a name stands above that name
  - each family and each format in the registries has its page
  - doc/status.md has the numbers and texts of NAY_STATUS_MAP
  - the version of include/nay.h is the one of the manual, of CHANGELOG.md and wherever a file says which nay it means
  - no file names a place on somebody's machine, leaves a note to self or an unresolved conflict
  - no function of src, cli and plugins is over 60 lines
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_FUNCTION = 60
C_FILES = (".c", ".h", ".cc", ".cpp")

LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE = re.compile(
    r"/(?:work|root|workspace)/|/home/\w|/tmp/\w|/Users/\w"
    r"|https?://[\w.-]*(?:registry|mirror|artifact|npmjs|pythonhosted|pypi|deb\.debian)"
    r"|https?://(?!127\.)\d+\.\d+")
CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7}) ")
NOTE = re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b")


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    paths = [ROOT / name for name in out.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_of(path):
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return None  # a golden file, an image


def line_of(text, at):
    return text.count("\n", 0, at) + 1


# ---- documents ----

def without_code(text):
    """Code blocks and code spans blanked out, line breaks kept."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])
    return re.sub(r"`[^`\n]*`", blank, re.sub(r"^ *```.*?^ *```", blank, text, flags=re.M | re.S))


def anchors(path):
    """GitHub's names for the headings of a document."""
    names = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S), re.M):
        kept = re.sub(r"[^\w\- ]", "", heading.lower())
        names.add(kept.strip().replace(" ", "-"))
    return names


PERMALINK = re.compile(r"web/playground/README\.md#\w+\?")  # a view on the site, whose own check opens it


def link_faults(path):
    text = without_code(path.read_text())
    for found in LINK.finditer(text):
        target, _, anchor = found[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        if PERMALINK.search(found[1]):
            anchor = ""
        goal = (path.parent / target).resolve() if target else path
        if not goal.exists():
            yield line_of(text, found.start()), f"link to {found[1]}: no such file"
        elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
            yield line_of(text, found.start()), f"link to {found[1]}: no such heading"


# ---- headers ----

def paragraphs(text):
    """(line, comment, code) of each run of lines between blank ones; a comment stays in one piece."""
    joined = re.sub(r"/\*.*?\*/", lambda found: found[0].replace("\n\n", "\n *\n"), text, flags=re.S)
    at = 1
    for chunk in re.split(r"(\n{2,})", joined):
        found = re.match(r"\s*/\*(.*?)\*/(.*)", chunk, re.S)
        comment, code = (found[1], found[2]) if found else ("", chunk)
        if chunk.strip():
            yield at, re.sub(r"^[\s*]+", "", comment), code
        at += chunk.count("\n")


def declared(code):
    """Functions, and types and macros, in the order in which a paragraph declares them."""
    functions = re.findall(r"\b(nay_\w+)\s*\((?!\*)", re.sub(r"typedef[^;]*;|^#.*", "", code, flags=re.M))
    types = re.findall(r"typedef (?:struct|enum) (nay_\w+)|\(\*(nay_\w+)\)\(|#define (NAY_\w+)|^} (nay_\w+);", code, re.M)
    return functions, [name for names in types for name in names if name]


def header_faults(path):
    last_types = []
    for line, comment, code in paragraphs(path.read_text()):
        functions, types = declared(code)
        opening = re.match(r"(nay_\w+|NAY_\w+):", comment)
        if opening and (functions or types) and opening[1] not in functions[:1] + types:
            yield line, f"the comment opens with {opening[1]} but stands above {(functions + types)[0]}"
        public = [name for name in functions if re.search(rf"NAY_API[^;]*\b{name}\(", code)]
        if public and not comment and not any(public[0].startswith(name + "_") for name in last_types):
            yield line, f"{public[0]} has no comment"
        last_types = types if comment else []


# ---- registries and pages ----

def registered(registry, word):
    """The .name of every object that the lines X(name) or X(file, name) list, by the object's C name."""
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.c")))
    for name in re.findall(r"^  X\((?:\w+, )?(\w+)\)", (ROOT / registry).read_text(), re.M):
        symbol = f"{word.replace('nay_', 'nay__')}_{name}"
        found = re.search(rf"{word} {symbol} = \{{.*?\.name = \"([^\"]+)\"", sources, re.S)
        yield symbol, found[1] if found else None


def has_page(directory, name):
    """A page of its name, or another that the directory's README.md gives in the row of that name."""
    readme = directory / "README.md"
    rows = re.findall(rf"^\| `{name}` \|.*$", readme.read_text(), re.M) if readme.exists() else []
    shared = [target for row in rows for target in LINK.findall(row)]
    return any((directory / page).is_file() for page in [f"{name}.md", *shared])


def page_faults(registry, word, directory):
    objects = list(registered(registry, word))
    if not objects:
        yield 1, "no line X(name) found"
    for symbol, name in objects:
        if name is None:
            yield 1, f"{symbol} is listed, but its name was not found in src/"
        elif not has_page(ROOT / directory, name):
            yield 1, f"{name} has no page {directory}/{name}.md, and none in the table of {directory}/README.md"


def status_faults(path):
    header = (ROOT / "include/nay.h").read_text()
    wanted = [(f"`NAY_{name}`", value, text) for name, value, text in
              re.findall(r'X\((\w+), (-?\d+), "([^"]+)"\)', header)]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|"))
            for line in path.read_text().splitlines() if line.startswith("| `NAY_")]
    for row, want in zip(rows, wanted):
        if row[:3] != want:
            yield 1, f"has {row[:3]} where NAY_STATUS_MAP has {want}"
        elif len(row) != 4 or not row[3]:
            yield 1, f"does not say what to do about {row[0]}"
    if len(rows) != len(wanted):
        yield 1, f"has {len(rows)} statuses, NAY_STATUS_MAP {len(wanted)}"


# ---- the version ----

# Where a file says which version of nay it means: the manual's titles, the README, INFO of the Redis module, file names
# of the library, nodes of its version script. Two numbers stand for any third.
STATED = re.compile(
    r'(?:"nay |\bnay is at |\*\*Version\*\* |\bnay_version:|\blibnay\.so\.|find_package\(nay )(\d+\.\d+(?:\.\d+)?)\b')
SINCE = re.compile(r'\.since = "(\d+)\.(\d+)\.(\d+)"')
# of their time, or about another version than the current one on purpose
VERSION_FREE = ("CHANGELOG.md", "bench/results/", "tests/golden/", "src/libnay.map")


def version():
    header = (ROOT / "include/nay.h").read_text()
    return tuple(int(re.search(rf"#define NAY_VERSION_{part} (\d+)", header)[1]) for part in ("MAJOR", "MINOR", "PATCH"))


def version_faults(path, text):
    now = version()
    if str(path.relative_to(ROOT)).startswith(VERSION_FREE):
        return
    for found in STATED.finditer(text):
        stated = tuple(map(int, found[1].split(".")))
        if stated != now[:len(stated)]:
            yield line_of(text, found.start()), f"says version {found[1]}, include/nay.h {'.'.join(map(str, now))}"
    if path.relative_to(ROOT).parts[0] == "plugins":
        for found in SINCE.finditer(text):
            if tuple(map(int, found.groups())) > now:
                yield line_of(text, found.start()), f"{found[0]} is above the version of include/nay.h"


def changelog_faults(path):
    """The newest release is this version, with its date; what comes next may stand above it as Unreleased."""
    text = path.read_text()
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    releases = [heading for heading in headings if heading != "Unreleased"]
    for heading in releases:
        if not re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading):
            yield 1, f"heading '{heading}' is not VERSION (YYYY-MM-DD)"
    wanted = ".".join(map(str, version()))
    if not releases or releases[0].split(" ")[0] != wanted:
        yield 1, f"the first release is not {wanted}"
    if "Unreleased" in headings[1:]:
        yield 1, "Unreleased is not the first heading"


def map_faults(path):
    nodes = re.findall(r"^NAY_([\d.]+) {", path.read_text(), re.M)
    wanted = ".".join(map(str, version()[:2]))
    if not nodes or nodes[-1] != wanted:
        yield 1, f"the last node is not NAY_{wanted}"


# ---- every file ----

def text_faults(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = MACHINE.search(line)
        if found:
            yield number, f"names a place on a machine: {found[0]}"
        if CONFLICT.match(line):
            yield number, "an unresolved merge conflict"
        if NOTE.search(line):
            yield number, "a note to self: do it, or write an issue"


def length_faults(path, text):
    """Functions that are too long. One opens with a line that ends in ") {" and closes with "}"
    in the same column, as clang-format writes it; namespaces and classes do not end in a parenthesis."""
    lines = text.splitlines()
    if path.relative_to(ROOT).parts[0] not in ("src", "cli", "plugins"):
        return
    opened = 0
    for number, line in enumerate(lines, 1):
        if not opened and re.search(r"\)(?: const| noexcept| override| final)* \{$", line):
            opened, start = number, number
            while start > 1 and re.match(r"\s{4,}", lines[start - 1]) and not lines[start - 1].strip().startswith("}"):
                start -= 1
            close = re.match(r"\s*", lines[start - 1])[0] + "}"
        elif opened and line.startswith(close):
            if number - start + 1 > MAX_FUNCTION:
                yield start, f"a function of {number - start + 1} lines"
            opened = 0


def main():
    faults = []

    def collect(path, found):
        faults.extend((path.relative_to(ROOT), line, fault) for line, fault in found)

    for path in tracked():
        text = text_of(path)
        if text is None:
            continue
        collect(path, text_faults(path, text))
        collect(path, version_faults(path, text))
        if path.suffix in C_FILES:
            collect(path, length_faults(path, text))
        if path.suffix == ".md":
            collect(path, link_faults(path))
        if path.suffix == ".h" and path.relative_to(ROOT).parts[0] in ("include", "src"):
            collect(path, header_faults(path))
    families, formats = "src/family/families.h", "src/format/format.h"
    collect(ROOT / families, page_faults(families, "nay_family", "doc/families"))
    collect(ROOT / formats, page_faults(formats, "nay_format", "doc/formats"))
    collect(ROOT / "doc/status.md", status_faults(ROOT / "doc/status.md"))
    collect(ROOT / "CHANGELOG.md", changelog_faults(ROOT / "CHANGELOG.md"))
    collect(ROOT / "src/libnay.map", map_faults(ROOT / "src/libnay.map"))
    for path, line, fault in faults:
        print(f"{path}:{line}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
