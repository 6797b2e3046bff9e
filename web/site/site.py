#!/usr/bin/env python3
"""The documents as a site: site.py OUT renders them, site.py --check OUT follows every link,
site.py --install fetches what typesets the formulas.

Every Markdown file of the tree becomes a page at its own path, README.md the index of its directory; the home page is
doc/home.md with the playground, the systems that nay works with and the numbers of the README. NAY_SITE, if it is set, is
the address where the site will be: link previews need one. A link to
a source file leads to a page that shows it, a link to a directory to its README or a list of its files. So a link
that works in the tree works on the site; --check says which do not, anchors included. The playground is not made
here: `make site` puts it beside the pages.
"""
import fcntl
import html
import html.parser
import json
import os
import pathlib
import posixpath
import re
import shutil
import struct
import subprocess
import sys
import urllib.parse

from documents import Document, HtmlFormatter, code

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BASE = os.environ.get("NAY_SITE", "").rstrip("/")
AS_IS = {".png", ".svg", ".json", ".yml"}
PLAYGROUND = "playground.html"
HOME, README = "doc/home.md", "README.md"
LESSONS = "doc/learn/"
VIEW = re.compile(r"(start|work|compare|overfill|lsm|plan|inside)(\?|$)")  # a permalink, not a heading of the README

# The table of the home page: a heading, and the pages whose rows stand below it, if no heading before has them.
SYSTEMS = [("SQL", r"plugins/(duckdb|postgres|sqlite)/README\.md"), ("Servers and storage engines", r"plugins/[a-z]+/README\.md"),
           ("Languages, beside C", r"(bindings/[a-z]+|web/libnay)/README\.md")]

# What the reader chooses from, in this order. A pattern stands for all its pages that are not named before.
MENU = [
    ("", ["doc/home.md", "README.md"]),
    ("Learn", [f"doc/learn/{page}.md" for page in ("README", "bits", "sizing", "probes", "double-hashing", "blocked",
                                                  "counting", "intersection", "fuse", "ribbon", "lsm", "prefixes",
                                                  "compaction", "redis", "mathematics", "*")]),
    ("Use", ["doc/cookbook.md", "doc/families/README.md", "doc/families/*.md", "doc/map.md", "doc/keys.md",
             "doc/explain.md", "doc/plots.md", "doc/lsm-planning.md", "doc/sst.md", "doc/policy.md", "doc/inline.md",
             "doc/hashing.md", "doc/status.md", "doc/json.md", "doc/*.md"]),
    ("Plug-ins and languages", ["plugins/leveldb/README.md", "plugins/rocksdb/README.md", "plugins/redis/*.md",
                  "plugins/*/README.md", "web/libnay/README.md", "bindings/*/README.md", "examples/kv/README.md"]),
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
        if path == HOME:
            return "index.html"
        if path == README:
            return "readme.html"
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
            full = README if full == "." else full
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

    def pictures(self, source):
        """Of an image of the tree: width, height, and the description of a drawing."""
        def picture(target):
            path = SOURCE / posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            if path.suffix == ".png" and path.is_file():
                return (*struct.unpack(">II", path.read_bytes()[16:24]), "")
            if path.suffix != ".svg" or not path.is_file():
                return None
            text = path.read_text()
            size = re.search(r'<svg [^>]*?width="([0-9]+)" height="([0-9]+)"', text)
            about = re.search(r"<desc[^>]*>(.*?)</desc>", text, re.S)
            return (*size.groups(), html.unescape(about.group(1)) if about else "") if size else None
        return picture

    # ---- pages ----

    def write(self, page, title, body, contents="", about=""):
        root = posixpath.relpath(".", posixpath.dirname(page) or ".")
        about = about or f"{title}: a page of nay, membership filters in C."
        address = ""
        if BASE:
            address = f'\n<meta property="og:url" content="{html.escape(BASE)}/{page}">'
            address += f'\n<meta property="og:image" content="{html.escape(BASE)}/doc/img/playground.png">'
        text = (HERE / "page.html").read_text()
        for key, value in (("TITLE", html.escape(title)), ("ROOT", root), ("ABOUT", html.escape(shortened(about))),
                           ("ADDRESS", address), ("MENU", self.menu(page)),
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
                title = {HOME: "Home", README: "README"}.get(source, self.titles[source])
                rows.append(f'<li><a href="{posixpath.relpath(to, base)}"{here}>{title}</a></li>')
            if heading == "":
                rows.insert(1, f'<li><a href="{posixpath.relpath(PLAYGROUND, base)}">Playground</a></li>')
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
        texts = {s: (SOURCE / s).read_text() for s in sources if (SOURCE / s).exists()}  # not a file that a test removed meanwhile
        documents = {s: Document(text, self.resolver(s), self.pictures(s)) for s, text in texts.items()}
        sources = list(documents)
        self.titles = {s: d.title or s for s, d in documents.items()}
        self.choose(sources)
        bodies = typeset(documents)
        self.documents = documents
        for source, document in documents.items():
            rows = [f'<li><a href="#{html.escape(a)}">{text}</a></li>' for level, text, a in document.headings if level == 2
                    and "<a " not in text]
            contents = f"<ul>{''.join(rows)}</ul>" if len(rows) > 2 else ""
            body = self.home(bodies) if source == HOME else self.live(source, bodies[source]) + self.beside(source)
            title = html.unescape(self.titles[source])
            title = {HOME: "nay: membership filters in C", README: "README of nay"}.get(source, f"{title} \u00b7 nay")
            self.write(self.page_of(source), title, body, contents, document.about)
        done = set()
        while self.wanted:
            path = self.wanted.pop()
            if path not in done:
                done.add(path)
                self.show(path)
        for name in ("site.css", "find.js", "favicon.svg"):
            shutil.copyfile(HERE / name, self.out / name)
        with open(self.out / "site.css", "a") as style:
            style.write(colours())
        self.index()
        self.link_playground()
        return len(documents), len(done)

    def home(self, bodies):
        """The home page: its text, the playground on top, the systems and the numbers below their headings."""
        body = bodies[HOME]
        frame = (f'<figure><iframe class="top" src="{PLAYGROUND}?embed=start" title="What is a membership filter? The library '
                 f'itself, in nine steps"></iframe><noscript>{picture("doc/img/playground.png", "A false positive, explained")}'
                 f'</noscript><figcaption>The library itself, in this page. <a href="{PLAYGROUND}">The whole playground</a></figcaption></figure>')
        body = body.replace('<h2 id="three-commands">', frame + '<h2 id="three-commands">', 1)
        for heading, text in (("where-it-works", self.systems()), ("numbers", self.numbers(bodies))):
            body = re.sub(rf'(<h2 id="{heading}">.*?</h2>\n)', lambda m: m.group(1) + text, body, count=1)
        return body

    def systems(self):
        """A row for each plug-in, language and layout that has a page: what is added to the tree appears here."""
        made, taken = [], set()
        for group, pattern in SYSTEMS:
            rows = []
            for source in sorted(self.documents):
                if source in taken or not re.fullmatch(pattern, source):
                    continue
                taken.add(source)
                title = {"web/libnay/README.md": "libnay for JavaScript"}.get(source, self.titles[source])
                rows.append(f'<tr><th scope="row"><a href="{self.page_of(source)}">{title}</a></th><td>{html.escape(self.how(source))}</td></tr>')
            made.append(f'<tr><th scope="rowgroup" colspan="2" class="group">{group}</th></tr>{"".join(rows)}')
        formats = [f'<a href="{self.page_of(s)}">{self.titles[s]}</a>' for s in sorted(self.documents)
                   if re.fullmatch(r"doc/formats/[a-z0-9]+\.md", s)]
        made.append('<tr><th scope="rowgroup" colspan="2" class="group">Formats</th></tr>')
        made.append(f'<tr><th scope="row"><a href="doc/formats/index.html">Files and bytes</a></th><td>{", ".join(formats)}</td></tr>')
        return (f'<div class="wide" tabindex="0"><table><thead><tr><th>with</th><th>how</th></tr></thead>'
                f'<tbody>{"".join(made)}</tbody></table></div>\n')

    def how(self, source):
        """What a page says first of its subject; of what membership filters are the home page has spoken."""
        sentences = re.split(r"(?<=[.?]) ", self.documents[source].about)
        if sentences[0].startswith("Membership filters"):
            sentences = [s for s in sentences if "libnay" in s] or sentences
        return sentences[0].rstrip(":").replace("This is libnay, a library", "libnay, the library")

    def numbers(self, bodies):
        """The table of the README, whose links lead from the home page to the same places."""
        found = re.search(r'<h2 id="numbers">.*?</h2>\n(.*?)(?=<h2 )', bodies[README], re.S)
        return found.group(1) if found else ""

    @staticmethod
    def live(source, body):
        """A lesson with the view of the playground that it links to first, live, where the link stands."""
        found = re.search(rf'<p>(?:(?!</p>).)*?<a href="([^"]*{PLAYGROUND})#([a-z]+)(?:\?([^"]*))?">(.*?)</a>.*?</p>\n', body, re.S)
        if not source.startswith(LESSONS) or not found:
            return body
        page, view, query, title = found.groups()
        title = re.sub(r"<[^>]*>", "", title)
        address = f"{page}?embed={view}{'&amp;' + query if query else ''}"
        still = re.search(r'<p>(<img [^>]*playground-[^>]*>)</p>\n', body)
        frame = (f'<figure><iframe src="{address}" title="{title}" loading="lazy"></iframe>'
                 f'<noscript>{still.group(1) if still else ""}</noscript>'
                 f"<figcaption>The library itself, in this page.</figcaption></figure>\n")
        body = body.replace(found.group(0), frame + found.group(0), 1)
        return body.replace(still.group(0), "", 1) if still else body

    def beside(self, source):
        """Below a lesson: the one before and the one after."""
        lessons = next(rows for heading, rows in self.chosen if heading == "Learn")
        if source not in lessons:
            return ""
        at, base = lessons.index(source), posixpath.dirname(self.page_of(source))
        parts = []
        for to, rel, sign in ((at - 1, "prev", "\u2039 {}"), (at + 1, "next", "{} \u203a")):
            if 0 <= to < len(lessons):
                text = sign.format(self.titles[lessons[to]])
                parts.append(f'<a rel="{rel}" href="{posixpath.relpath(self.page_of(lessons[to]), base)}">{text}</a>')
            else:
                parts.append("<span></span>")
        return f'<nav class="beside" aria-label="Lessons">{"".join(parts)}</nav>'

    def index(self):
        """The search index: a script, because a page of file:// can load nothing else."""
        rows = []
        for source, document in self.documents.items():
            title = html.unescape(re.sub(r"<[^>]*>", "", self.titles[source]))
            for anchor, heading, text in document.sections:
                rows.append([self.page_of(source), title, anchor, heading, text[:1500]])
        (self.out / "index.js").write_text("globalThis.nayIndex = " + json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + ";\n")

    def link_playground(self):
        """The playground beside the pages gets links to them; alone it has none."""
        path = self.out / PLAYGROUND
        if path.exists():
            links = ('<nav class="sitelinks" aria-label="Site"><a href="index.html">Home</a><a href="doc/learn/index.html">Lessons</a>'
                     '<a href="web/playground/index.html">Source</a></nav>')
            path.write_text(path.read_text().replace("<!--SITE-->", links))

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
            kind = {".c": "c", ".h": "c", ".hpp": "cpp", ".cc": "cpp", ".py": "python", ".js": "js", ".mjs": "js", ".go": "go",
                    ".rs": "rust", ".sql": "sql"}.get(pathlib.Path(path).suffix, "")
            kind = kind if len(text) < 200000 else ""
            self.write(page, path, f"<h1>{html.escape(path)}</h1>{code(text, kind)}")

    def list(self, path, page):
        rows = []
        for name in sorted({f[len(path) + 1:].split("/")[0] for f in self.files if f.startswith(path + "/")}):
            full = posixpath.join(path, name)
            self.wanted.append(full) if not full.endswith(".md") else None
            rows.append(f'<li><a href="{posixpath.relpath(self.page_of(full), path)}">{html.escape(name)}</a></li>')
        self.write(page, path, f"<h1>{html.escape(path)}</h1><ul>{''.join(rows)}</ul>")


def shortened(text, limit=200):
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + "\u2026"


def picture(source, alt):
    return f'<img src="{source}" alt="{html.escape(alt)}">'


def colours():
    """The colours of code, light and dark, by Pygments."""
    style = lambda name: HtmlFormatter(style=name).get_style_defs("pre")
    keep = lambda text: "\n".join(line for line in text.splitlines() if re.match(r"pre \.\w+ \{", line) and "background" not in line)
    return f"{keep(style('default'))}\n@media (prefers-color-scheme: dark) {{\n{keep(style('github-dark'))}\n}}\n"


def katex():
    """The directory of KaTeX from npm, below the build directory; None: npm cannot install it, formulas stay TeX.
    One process installs, others wait for it; what was installed in full is marked, with the versions it has."""
    home = pathlib.Path(os.environ.get("NAY_BUILD", SOURCE / "build/dev")) / "web"
    home.mkdir(parents=True, exist_ok=True)
    lock, mark = (HERE / "package-lock.json").read_text(), home / "installed"
    with open(home / "lock", "w") as only:
        fcntl.flock(only, fcntl.LOCK_EX)
        if not mark.exists() or mark.read_text() != lock:
            mark.unlink(missing_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(HERE / name, home / name)
            try:
                subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
                               cwd=home, check=True, capture_output=True, text=True)
            except (OSError, subprocess.CalledProcessError) as error:
                why = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[0]
                print(f"web/site: npm cannot install KaTeX, formulas stay TeX: {why}", file=sys.stderr)
                return None
            mark.write_text(lock)
    return home / "node_modules/katex"


def typeset(documents):
    """The HTML of all documents, their formulas typeset in one call of KaTeX."""
    formulas = [(tex, display) for d in documents.values() for tex, display in d.formulas]
    package = katex() if formulas else None
    if package:
        done = subprocess.run(["node", HERE / "math.mjs", package], input=json.dumps(formulas), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"KaTeX refuses a formula: {done.stderr.strip().splitlines()[-1] if done.stderr else ''}\n{done.stderr}")
        rendered = json.loads(done.stdout)
    else:
        rendered = [f"<code>{html.escape(tex)}</code>" for tex, _ in formulas]
    at, bodies = 0, {}
    for source, document in documents.items():
        bodies[source] = document.typeset(rendered[at:at + len(document.formulas)])
        at += len(document.formulas)
    return bodies


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
            where = where.partition("?")[0]
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
    if sys.argv[1:] == ["--install"]:
        return 0 if katex() else 1
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
