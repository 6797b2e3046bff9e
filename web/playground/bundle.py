#!/usr/bin/env python3
"""Makes the playground one file: bundle.py LIBNAY_JS WASM OUT.

The page must work from file://, where a browser loads neither modules nor wasm, so everything is put
into page.html: the style, the modules in the order of their imports, and the wasm, gzip in base64. A module
becomes a function that returns its exports; the modules use only named imports and exported
declarations, which is all this understands. It refuses what it does not understand.
"""
import base64
import gzip
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*'([^']+)';[ \t]*\n", re.M)
EXPORT = re.compile(r"^export\s+(?=(async\s+function|function|const|let|class)\b\s*\*?\s*([A-Za-z_$][\w$]*))", re.M)
EXPORT_LIST = re.compile(r"^export\s*\{([^}]*)\};[ \t]*\n", re.M)
LIMIT = 600 * 1000
SAMPLES = {"sample.ldb": "tests/golden/leveldb-tables/table_str_n1000_b10_none_bs512.ldb",
           "sample.dump": "tests/golden/redisbloom/bf_1pct_1000.dump",
           "list.nay": "tests/golden/list/list-few.nay"}


def names_of(clause, where):
    """a, b as c -> [("a", "a"), ("b", "c")]."""
    names = []
    for part in (p.strip() for p in clause.split(",")):
        if part:
            words = part.split()
            if len(words) not in (1, 3):
                sys.exit(f"{where}: cannot bundle: {part}")
            names.append((words[0], words[-1]))
    return names


class Bundle:
    def __init__(self, libnay):
        self.libnay = libnay
        self.order, self.exports, self.open = [], {}, []

    def resolve(self, name, importer):
        if name == "libnay":
            return self.libnay
        if not name.startswith("."):
            sys.exit(f"{importer}: cannot bundle the import of {name}")
        return (importer.parent / name).resolve()

    def add(self, path):
        """Puts the module and what it imports into order; returns its variable."""
        variable = "m_" + re.sub(r"\W", "_", path.stem) + ("_" + path.parent.name if path.parent != HERE else "")
        variable = re.sub(r"\W", "_", variable)
        if path in self.exports:
            return variable
        if path in self.open:
            sys.exit(f"{path}: modules import each other in a circle")
        self.open.append(path)
        text = path.read_text(encoding="utf-8")
        head = []

        def replace(match):
            target = self.resolve(match.group(2), path)
            source = self.add(target)
            names = names_of(match.group(1), path)
            for name, _ in names:
                if name not in self.exports[target]:
                    sys.exit(f"{path}: {target.name} exports no {name}")
            head.append("const { %s } = %s;" % (", ".join(a if a == b else f"{a}: {b}" for a, b in names), source))
            return ""

        text = IMPORT.sub(replace, text)
        exported = [(m.group(2), m.group(2)) for m in EXPORT.finditer(text)]
        text = EXPORT.sub("", text)
        for match in EXPORT_LIST.finditer(text):
            exported += names_of(match.group(1), path)
        text = EXPORT_LIST.sub("", text)
        text = text.replace("import.meta.url", "''")
        for line in text.splitlines():
            if re.match(r"(import|export)\b(?!\()", line):
                sys.exit(f"{path}: cannot bundle: {line}")
        self.exports[path] = [b for _, b in exported]
        result = ", ".join(a if a == b else f"{b}: {a}" for a, b in exported)
        self.order.append("const %s = (() => {\n%s\n%s\nreturn { %s };\n})();\n" % (variable, "\n".join(head), text, result))
        self.open.pop()
        return variable


def strip_comments(text):
    """Block comments that stand on lines of their own: they are for readers of the sources."""
    return re.sub(r"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", "", text, flags=re.M)


def outdent(text, where):
    """Without the indentation of lines, which is for readers too; a template literal of several lines would change."""
    for line in text.splitlines():
        if line.count("`") % 2:
            sys.exit(f"{where}: cannot bundle a template literal of several lines: {line.strip()[:60]}")
    return re.sub(r"^[ \t]+", "", text, flags=re.M)


def encoded(data):
    return base64.b64encode(data).decode()


def main():
    libnay, wasm, out = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    bundle = Bundle(libnay)
    bundle.add(HERE / "main.js")
    script = "'use strict';\n" + outdent(strip_comments("\n".join(bundle.order)), "playground")
    if "</script" in script.lower():
        sys.exit("a module contains the end of a script element")
    page = (HERE / "page.html").read_text(encoding="utf-8")
    samples = {name: encoded((ROOT / path).read_bytes()) for name, path in SAMPLES.items()}
    script = script.replace("/*SAMPLES*/ {}", json.dumps(samples))
    for mark, text in (("/*STYLE*/", strip_comments((HERE / "style.css").read_text(encoding="utf-8"))),
                       ("/*WASM*/", encoded(gzip.compress(wasm.read_bytes(), 9, mtime=0))), ("/*SCRIPT*/", script)):
        if page.count(mark) != 1:
            sys.exit(f"page.html: {mark} must be there once")
        page = page.replace(mark, text)
    data = page.encode("utf-8")
    if len(data) > LIMIT:
        sys.exit(f"the page has {len(data)} bytes, more than {LIMIT}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(data)
    print(f"{out.name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
