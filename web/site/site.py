#!/usr/bin/env python3
"""The documents as a site: site.py OUT renders them, site.py --check OUT follows every link.

Every Markdown file of the tree becomes a page at its own path, README.md the index of its directory. A link to
a source file leads to a page that shows it, a link to a directory to its README or a list of its files. So a link
that works in the tree works on the site; --check says which do not, anchors included. The playground is not made
here: `make site` puts it beside the pages.
"""
import html
import html.parser
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

from markdown import Document

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
AS_IS = {".png", ".svg", ".json", ".yml"}
PLAYGROUND = "playground.html"
VIEW = re.compile(r"(work|overfill|lsm|plan|inside)\?")  # a permalink, not a heading of the README

# What the reader chooses from, in this order. A pattern stands for all its pages that are not named before.
MENU = [
    ("", ["README.md"]),
    ("Learn", [f"doc/learn/{page}.md" for page in ("README", "bits", "sizing", "probes", "double-hashing", "blocked",
                                                  "counting", "fuse", "ribbon", "lsm", "*")]),
    ("Use", ["doc/cookbook.md", "doc/families/README.md", "doc/families/*.md", "doc/map.md", "doc/keys.md",
             "doc/explain.md", "doc/plots.md", "doc/lsm-planning.md", "doc/sst.md", "doc/policy.md", "doc/inline.md",
             "doc/hashing.md", "doc/status.md", "doc/json.md", "doc/*.md"]),
    ("Plug-ins", ["plugins/leveldb/README.md", "plugins/rocksdb/README.md", "plugins/redis/*.md",
                  "web/libnay/README.md", "examples/kv/README.md"]),
    ("Manuals", ["doc/man/nay.1.md", "doc/man/*.md"]),
    ("Formats", ["doc/formats/README.md", "doc/formats/*.md"]),
    ("Inside", ["ARCHITECTURE.md", "src/README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
                "tests/README.md", "bench/README.md", "web/*.md", "web/*/README.md", "doc/design/README.md",
                "doc/design/*.md"]),
]


def tracked():
    """The files of the tree: git's, or without git all but those of builds."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=SOURCE, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted(p for p in listed.stdout.split("\n") if p and (SOURCE / p).is_file())
    skip = {"build", ".git", "node_modules"}
    return sorted(str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*")
                  if p.is_file() and not skip & set(p.relative_to(SOURCE).parts))


class Site:
    def __init__(self, out):
        self.out, self.files = out, tracked()
        self.known = set(self.files)
        self.directories = {posixpath.dirname(f) for f in self.files}
        for directory in list(self.directories):
            while directory:
                directory = posixpath.dirname(directory)
                self.directories.add(directory)
        self.wanted = []  # files and directories that a page links to and that have no page yet
        self.titles = {}

    def page_of(self, path):
        """Where a file or directory of the tree is on the site."""
        if path in self.directories:
            return posixpath.join(path, "index.html")
        name = posixpath.basename(path)
        if name == "README.md":
            return posixpath.join(posixpath.dirname(path), "index.html")
        if path.endswith(".md"):
            return path[:-3] + ".html"
        return path if pathlib.Path(path).suffix in AS_IS else path + ".html"

    def resolver(self, source):
        page = self.page_of(source)

        def resolve(target):
            if re.match(r"[a-z]+:", target):
                return target
            path, _, anchor = target.partition("#")
            if not path:
                return target
            full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)).replace("./", "")
            full = "" if full == "." else full
            if full == "web/playground/README.md" and VIEW.match(anchor):
                to = PLAYGROUND  # in the tree the link leads to the page that says how to make it
            elif full in self.known or full in self.directories:
                if not full.endswith(".md"):
                    self.wanted.append(full)
                to = self.page_of(full)
            else:
                return target  # --check reports it
            return posixpath.relpath(to, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

        return resolve

    # ---- pages ----

    def write(self, page, title, body, contents=""):
        root = posixpath.relpath(".", posixpath.dirname(page) or ".")
        text = (HERE / "page.html").read_text()
        for key, value in (("TITLE", html.escape(title)), ("ROOT", root), ("MENU", self.menu(page)),
                           ("CONTENTS", contents), ("BODY", body)):
            text = text.replace("{{" + key + "}}", value)
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def menu(self, page):
        parts, base = [], posixpath.dirname(page) or "."
        for heading, sources in self.chosen:
            rows = []
            for source in sources:
                to = self.page_of(source)
                here = ' aria-current="page"' if to == page else ""
                title = "nay" if source == "README.md" else self.titles[source]
                rows.append(f'<li><a href="{posixpath.relpath(to, base)}"{here}>{title}</a></li>')
            if heading == "":
                rows.append(f'<li><a href="{posixpath.relpath(PLAYGROUND, base)}">Playground</a></li>')
                parts.append(f"<ul>{''.join(rows)}</ul>")
                continue
            open_ = " open" if any("aria-current" in row for row in rows) or heading == "Learn" else ""
            parts.append(f"<details{open_}><summary>{heading}</summary><ul>{''.join(rows)}</ul></details>")
        return "".join(parts)

    def choose(self, sources):
        taken, self.chosen = set(), []
        for heading, patterns in MENU:
            rows = []
            for pattern in patterns:
                for source in sources:
                    if source not in taken and re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), source):
                        taken.add(source)
                        rows.append(source)
            self.chosen.append((heading, rows))

    def render(self):
        sources = [f for f in self.files if f.endswith(".md")]
        documents = {s: Document((SOURCE / s).read_text(), self.resolver(s)) for s in sources}
        self.titles = {s: d.title or s for s, d in documents.items()}
        self.choose(sources)
        for source, document in documents.items():
            rows = [f'<li><a href="#{html.escape(a)}">{text}</a></li>' for level, text, a in document.headings if level == 2
                    and "<a " not in text]
            contents = f"<ul>{''.join(rows)}</ul>" if len(rows) > 2 else ""
            body = document.html + self.live(source, document)
            self.write(self.page_of(source), re.sub(r"<[^>]*>", "", self.titles[source]), body, contents)
        done = set()
        while self.wanted:
            path = self.wanted.pop()
            if path not in done:
                done.add(path)
                self.show(path)
        shutil.copyfile(HERE / "site.css", self.out / "site.css")
        return len(documents), len(done)

    @staticmethod
    def live(source, document):
        """Below a lesson: the view of the playground that it links to first, live."""
        found = re.search(rf'<a href="([^"]*{PLAYGROUND}#[^"]*)">(.*?)</a>', document.html)
        if not source.startswith("doc/learn/") or not found:
            return ""
        return (f'<figure><iframe src="{found.group(1)}" title="{found.group(2)}" loading="lazy"></iframe>'
                f"<figcaption>The library itself, in this page.</figcaption></figure>")

    def show(self, path):
        """A page for a source file or a directory."""
        page = self.page_of(path)
        if path in self.directories:
            if not (self.out / page).exists():
                self.list(path, page)
        elif page == path:
            (self.out / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SOURCE / path, self.out / page)
        else:
            text = (SOURCE / path).read_text(errors="replace")
            self.write(page, path, f"<h1>{html.escape(path)}</h1><pre tabindex=\"0\"><code>{html.escape(text, False)}</code></pre>")

    def list(self, path, page):
        rows = []
        for name in sorted({f[len(path) + 1:].split("/")[0] for f in self.files if f.startswith(path + "/")}):
            full = posixpath.join(path, name)
            self.wanted.append(full) if not full.endswith(".md") else None
            rows.append(f'<li><a href="{posixpath.relpath(self.page_of(full), path)}">{html.escape(name)}</a></li>')
        self.write(page, path, f"<h1>{html.escape(path)}</h1><ul>{''.join(rows)}</ul>")


# ---- links ----

class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, _, attributes):
        for name, value in attributes:
            if name in ("href", "src"):
                self.targets.append(value)
            elif name == "id":
                self.anchors.add(value)


def check(out):
    pages = {}
    for path in sorted(out.rglob("*.html")):
        links = Links()
        if path.name != PLAYGROUND:
            links.feed(path.read_text())
        pages[path.resolve()] = links
    faults, count = [], 0
    for path, links in pages.items():
        for target in links.targets:
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            where, _, anchor = target.partition("#")
            to = (path.parent / urllib.parse.unquote(where)).resolve() if where else path
            if not to.is_file():
                faults.append(f"{path.relative_to(out.resolve())}: {target}: there is no such page")
            elif anchor and to.name != PLAYGROUND and urllib.parse.unquote(anchor) not in pages[to].anchors:
                faults.append(f"{path.relative_to(out.resolve())}: {target}: the page has no such heading")
    return count, faults


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        count, faults = check(pathlib.Path(sys.argv[2]))
        print("\n".join(faults + [f"{count} links, {len(faults)} broken"]))
        return 1 if faults else 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    documents, others = Site(out).render()
    print(f"{documents} documents and {others} files they link to, in {os.path.relpath(out)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
