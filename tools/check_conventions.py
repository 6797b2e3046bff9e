#!/usr/bin/env python3
"""Fails when a public header of libnay or libnaysst breaks a convention of its interface.

    stable or experimental   the first line of each header says which
    size                     every public struct begins with `size_t size`; SIZELESS lists the others
    diag                     `nay_diag *diag` is the last input: only outputs follow it
    ctx                      a callback takes `void *ctx` first; in a struct of callbacks ctx stands behind the last of them
    flags                    parameters and fields named flags are uint32_t
    describe                 statistics are `nay_x_stats`: no call is named describe
    prefix                   a function, type or constant of libnaysst begins with nay_sst_ or NAY_SST_
    status                   a callback returns a status: bool is for a question about one key (QUESTIONS); so does
                             a visitor, which may end what calls it
    names                    what a comment names with nay_ or NAY_ is declared in a public header
    number                   each library has at most MOST functions
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ["nay.h", "nay_advanced.h", "nay_map.h", "nay_key.h", "nay_format.h", "nay_column.h", "nay_range.h",
           "nay_policy.h", "nay_file.h", "nay_explain.h", "nay_inline.h", "nay_clubcard.h"]
LIBRARIES = {"libnay": ("include", HEADERS),
             "libnaysst": ("sst/include", sorted(path.name for path in (ROOT / "sst/include").glob("*.h")))}
MOST = 110
# nay_inline_*: the size is a parameter of nay_filter_inline
SIZELESS = {"nay_hash", "nay_probe", "nay_diag", "nay_allocator", "nay_inline_blocked", "nay_inline_sbbf", "nay_inline_fuse", "nay_inline_slots",
            "nay_sct", "nay_clubcard_log", "nay_clubcard_issuer", "nay_sst_puffin_property"}  # those: elements of arrays
FIRST = re.compile(r"/\* (Stable|Experimental): .*\*/\n")
FUNCTION = re.compile(r"NAY_API ([^;{(]*?)(nay_\w+)\(([^;{]*)\)\s*[;{]")
CALLBACK = re.compile(r"(\w+ \**)\(\*(\w+)\)\(([^;]*?)\)\s*;", re.S)
QUESTIONS = {"may_contain", "ask"}
STRUCT = re.compile(r"typedef struct (nay_\w+) \{\s*(.*?)\n\} \1;", re.S)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def is_output(parameter):
    """A pointer or array that is written to, or the capacity of a buffer."""
    writes = re.search(r"[*\[]", parameter) and not re.match(r"const \w+ (\*\w|\w+\[)", parameter)
    return parameter.startswith("size_t cap") or bool(writes)


def faults(name, text):
    if not FIRST.match(text):
        yield "the first line does not say Stable or Experimental"
    code = without_comments(text)
    for match in FUNCTION.finditer(code):
        function, parameters = match[2], [p.strip() for p in re.sub(r"\s+", " ", match[3]).split(",")]
        if "describe" in function:
            yield f"{function}: a call for statistics is named nay_x_stats"
        if "nay_diag *diag" in parameters:
            at = parameters.index("nay_diag *diag")
            earlier, later = parameters[1:at], parameters[at + 1:]
            yield from (f"{function}: the output `{p}` stands before diag" for p in earlier
                        if is_output(p) and p != "void *ctx")
            yield from (f"{function}: `{p}` stands behind diag and is no output" for p in later if not is_output(p))
        if any(re.fullmatch(r"(unsigned|int|unsigned int|uint64_t) flags", p) for p in parameters):
            yield f"{function}: flags are uint32_t"
    for match in CALLBACK.finditer(code):
        parameters = [p.strip() for p in match[3].split(",")]
        if parameters[0] != "void *ctx" and not parameters[0].startswith("const struct nay_bits"):
            yield f"{match[2]}: the first parameter of a callback is void *ctx"
        if match[2].endswith("_visitor") and match[1] != "nay_status ":
            yield f"{match[2]}: a visitor returns a nay_status"
        if match[1] == "bool " and match[2] not in QUESTIONS:
            yield f"{match[2]}: a callback returns a nay_status, or answers a question about one key"
    for match in STRUCT.finditer(code):
        fields = [f.strip() for f in match[2].split(";")]
        last = max((i for i, f in enumerate(fields) if "(void *ctx" in f), default=-1)
        if "void *ctx" in fields and fields.index("void *ctx") < last:
            yield f"struct {match[1]}: ctx stands before a callback"
        if match[1] not in SIZELESS and not match[2].lstrip().startswith("size_t size;"):
            yield f"struct {match[1]} does not begin with its size"


def unknown_names(text, known):
    """Names in comments that no public header declares."""
    for comment in re.findall(r"/\*.*?\*/", text, re.S):
        # nay_x.h is a file, and nay_x_new stands for several functions
        for name in set(re.findall(r"\b(?:nay|NAY)_(?!x_)\w+\b(?!\.h)", comment)) - known:
            yield f"a comment names {name}, which no public header declares"


def prefix_faults(code):
    names = [m[2] for m in FUNCTION.finditer(code)] + re.findall(r"^\} (\w+);", code, re.M)
    names += re.findall(r"^#define (\w+)", code, re.M) + re.findall(r"typedef struct (\w+) \w+;", code)
    for name in names:
        if not name.startswith(("nay_sst_", "NAY_SST_")) and name != "nay_sst":
            yield f"{name}: does not begin with nay_sst_"


def main():
    wrong, counts = [], {}
    texts = [(ROOT / folder / name).read_text() for folder, headers in LIBRARIES.values() for name in headers]
    known = {name for text in texts for name in re.findall(r"\b(?:nay|NAY)_\w+\b", without_comments(text))}
    known |= {f"NAY_{name}" for text in texts for name in re.findall(r"\bX\((E\w+),", text)}
    for library, (folder, headers) in LIBRARIES.items():
        functions = set()
        for name in headers:
            text = (ROOT / folder / name).read_text()
            wrong += [f"{folder}/{name}: {fault}" for fault in (*faults(name, text), *unknown_names(text, known))]
            functions |= {m[2] for m in FUNCTION.finditer(without_comments(text))}
            if library == "libnaysst":
                wrong += [f"{folder}/{name}: {fault}" for fault in prefix_faults(without_comments(text))]
        counts[library] = len(functions)
        if len(functions) < MOST // 2:
            wrong.append(f"only {len(functions)} functions of {library} were found: the headers cannot be read")
        if len(functions) > MOST:
            wrong.append(f"{library} has {len(functions)} functions, more than {MOST}")
    if sys.argv[1:] == ["--count"]:
        print(*counts.values())
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
