"""Our Markdown as HTML, by markdown-it (CommonMark and tables, no HTML of a document), with code coloured by Pygments
and formulas typeset by KaTeX. What is ours here: anchors as GitHub makes them, links through `resolve`, transcripts
with their prompts, `math` fences and $`...`$, answers of exercises folded away.
"""
import html
import os
import re
import sys

try:
    from markdown_it import MarkdownIt
    import pygments
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
except ImportError:  # Debian's modules belong to Debian's Python, and another one may be first in the path
    if os.environ.get("NAY_DEBIAN_PYTHON") or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("web/site needs python3-markdown-it and python3-pygments: make deps TIER=test")
    os.environ["NAY_DEBIAN_PYTHON"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

COLOURED = {"c", "cpp", "js", "python", "go", "rust", "sql", "html", "json", "yaml"}
SECTION_OF_ANSWERS = re.compile(r'(<h3 id="answers[^"]*">.*?</h3>\n)(.*?)(?=<h[123] |\Z)', re.S)


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", text)
    text = re.sub(r"\\(.)", r"\1", text)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Document:
    """html: the page; title: its first heading; anchors: of all headings; headings: (level, html, anchor); sections:
    (anchor, heading, text), for the search; about: the first paragraph as text; formulas: TeX that `html` has marks for.
    picture(target) says of an image how large it is, and what its description has beside the alternative text."""

    def __init__(self, text, resolve, picture=lambda target: None):
        self.picture = picture
        self.resolve, self.anchors, self.headings, self.sections, self.formulas = resolve, {}, [], [], []
        self.title, self.about = None, ""
        self.md = MarkdownIt("commonmark", {"html": False}).enable("table")
        for name in ("heading_open", "heading_close", "link_open", "image", "table_open", "table_close", "th_open", "td_open", "fence",
                     "code_block", "code_inline"):
            self.md.add_render_rule(name, self.rule(name))
        tokens = self.md.parse(text)
        self.read(tokens)
        self.html = self.md.renderer.render(tokens, self.md.options, {})
        self.html = re.sub(r"\$(<math-inline [0-9]+>)\$", r"\1", self.html)
        self.html = SECTION_OF_ANSWERS.sub(r"<details><summary>Answers</summary>\n\2</details>\n", self.html)

    def rule(self, name):
        method = getattr(self, name)
        return lambda renderer, tokens, i, options, env: method(tokens, i)

    # ---- before rendering: headings, texts for the search ----

    def read(self, tokens):
        section = ["", "", []]
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                inline = tokens[i + 1]
                token.meta["anchor"] = self.anchor(inline.content)
                plain = self.plain(inline)
                self.title = self.title or html.escape(plain)
                self.keep(section)
                section = [token.meta["anchor"], plain, []]
                shown = self.md.renderer.renderInline(inline.children, self.md.options, {})
                self.headings.append((int(token.tag[1]), shown, token.meta["anchor"]))
                token.meta["link"] = "<a " not in shown
                tokens[i + 2].meta["link"] = token.meta["link"]
            elif token.type == "inline":
                section[2].append(self.plain(token))
                if not self.about and tokens[i - 1].type == "paragraph_open":
                    self.about = self.plain(token)
        self.keep(section)

    def keep(self, section):
        anchor, heading, texts = section
        if heading or texts:
            self.sections.append((anchor, heading, " ".join(texts)))

    def anchor(self, content):
        anchor = slug(content)
        count = self.anchors.get(anchor, 0)
        self.anchors[anchor] = count + 1
        anchor = f"{anchor}-{count}" if count else anchor
        self.anchors.setdefault(anchor, 1)
        return anchor

    def plain(self, inline):
        return "".join(" " if c.type in ("softbreak", "hardbreak") else c.content for c in inline.children or []).strip()

    # ---- rendering ----

    def heading_open(self, tokens, i):
        token = tokens[i]
        anchor = html.escape(token.meta["anchor"])
        link = f'<a class="anchor" href="#{anchor}">' if token.meta["link"] else ""
        return f'<{token.tag} id="{anchor}">{link}'

    def heading_close(self, tokens, i):
        return f"{'</a>' if tokens[i].meta['link'] else ''}</{tokens[i].tag}>\n"

    def link_open(self, tokens, i):
        tokens[i].attrs["href"] = self.resolve(tokens[i].attrs["href"])
        return self.md.renderer.renderToken(tokens, i, self.md.options, {})

    def image(self, tokens, i):
        target = tokens[i].attrs["src"]
        source, alt, size = html.escape(self.resolve(target)), self.plain(tokens[i]) or tokens[i].content, ""
        found = self.picture(target)
        if found:  # with its size the text below stays where it is when the picture comes
            width, height, about = found
            alt, size = f"{alt}. {about}" if about else alt, f' width="{width}" height="{height}"'
        image = f'<img src="{source}" alt="{html.escape(alt)}"{size} loading="lazy">'
        return f'<span class="wide" tabindex="0">{image}</span>' if source.endswith(".svg") else image

    def table_open(self, tokens, i):
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, tokens, i):
        return "</table></div>\n"

    def th_open(self, tokens, i):
        return self.cell("th", tokens, i)

    def td_open(self, tokens, i):
        return self.cell("td", tokens, i)

    def cell(self, tag, tokens, i):
        right = "right" in str(tokens[i].attrs.get("style", ""))
        if tag == "th" and not self.plain(tokens[i + 1]):
            return '<th><span class="hidden">what</span>'  # a heading without words
        return f'<{tag} class="right">' if right else f"<{tag}>"

    def code_inline(self, tokens, i):
        before = tokens[i - 1].content if i > 0 and tokens[i - 1].type == "text" else ""
        after = tokens[i + 1].content if i + 1 < len(tokens) and tokens[i + 1].type == "text" else ""
        if before.endswith("$") and after.startswith("$"):
            return self.formula(tokens[i].content, False)
        return f"<code>{html.escape(tokens[i].content)}</code>"

    def formula(self, tex, display):
        self.formulas.append((tex, display))
        return f"<math-{'display' if display else 'inline'} {len(self.formulas) - 1}>"

    def fence(self, tokens, i):
        language = tokens[i].info.split(" ")[0]
        if language == "math":
            return f'<div class="wide" tabindex="0">{self.formula(tokens[i].content.strip(), True)}</div>\n'
        return code(tokens[i].content, language)

    def code_block(self, tokens, i):
        return code(tokens[i].content, "")

    def typeset(self, rendered):
        """The page with its formulas: rendered[i] is the HTML of formulas[i]."""
        return re.sub(r"<math-(?:inline|display) ([0-9]+)>", lambda m: rendered[int(m.group(1))], self.html)


def code(text, language):
    """A block of code: transcripts with their prompts, languages in colours."""
    head = '<pre tabindex="0"><code>'
    if language in ("console", "sh") or re.search(r"^(\$|>) ", text, re.M) and language in ("", "redis"):
        shown = []
        for line in text.splitlines():
            found = re.match(r"([$>] )(.*)", line)
            shown.append(f'<span class="prompt">{html.escape(found.group(1))}</span><b>{html.escape(found.group(2), False)}</b>' if found
                         else html.escape(line, False))
        return head + "\n".join(shown) + "\n</code></pre>\n"
    if language in COLOURED:
        lexer = get_lexer_by_name(language, stripnl=False)
        return head + pygments.highlight(text, lexer, HtmlFormatter(nowrap=True)) + "</code></pre>\n"
    return f"{head}{html.escape(text, False)}</code></pre>\n"
