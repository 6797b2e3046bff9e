"""The Markdown of our documents as HTML: headings, paragraphs, lists, tables, fenced and indented code, rules,
and inline code, links, pictures, bold, italics. It knows no more than the documents use; what it does not know
stays text, and nothing of a document becomes HTML by itself.
"""
import html
import re

FENCE = re.compile(r"^( *)```(\w*)[^`]*$")
HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")
ITEM = re.compile(r"^( *)([-*]|\d+\.) +(.*)$")
RULE = re.compile(r"^ *(-{3,}|\*{3,})$")
TABLE_LINE = re.compile(r"^\|?[ :|-]+\|[ :|-]*$")


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", text)
    text = re.sub(r"\\(.)", r"\1", text)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Document:
    """html: the page; title: its first heading; anchors: of all headings; targets: of all links and pictures."""

    def __init__(self, text, resolve):
        self.resolve, self.anchors, self.title = resolve, {}, None
        self.headings = []  # (level, text, anchor)
        self.html = self.blocks(text.split("\n"))

    # ---- blocks ----

    def blocks(self, lines):
        out, i = [], 0
        while i < len(lines):
            for parse in (self.blank, self.fence, self.heading, self.rule, self.table, self.list, self.indented):
                used = parse(lines, i, out)
                if used:
                    i += used
                    break
            else:
                i += self.paragraph(lines, i, out)
        return "\n".join(out)

    @staticmethod
    def blank(lines, i, _):
        return 0 if lines[i].strip() else 1

    def fence(self, lines, i, out):
        opening = FENCE.match(lines[i])
        if not opening:
            return 0
        indent, end = len(opening.group(1)), i + 1
        while end < len(lines) and lines[end].strip() != "```":
            end += 1
        out.append(code([line[indent:] for line in lines[i + 1:end]], opening.group(2)))
        return end - i + 1

    def heading(self, lines, i, out):
        found = HEADING.match(lines[i])
        if not found:
            return 0
        level, text = len(found.group(1)), found.group(2)
        anchor = slug(text)
        count = self.anchors.get(anchor, 0)
        self.anchors[anchor] = count + 1
        anchor = f"{anchor}-{count}" if count else anchor
        self.anchors.setdefault(anchor, 1)
        shown = self.inline(text)
        self.title = self.title or re.sub(r"<[^>]*>", "", shown)
        self.headings.append((level, shown, anchor))
        out.append(f'<h{level} id="{html.escape(anchor)}"><a class="anchor" href="#{html.escape(anchor)}">{shown}</a></h{level}>'
                   if "<a " not in shown else f'<h{level} id="{html.escape(anchor)}">{shown}</h{level}>')
        return 1

    @staticmethod
    def rule(lines, i, out):
        if not RULE.match(lines[i]):
            return 0
        out.append("<hr>")
        return 1

    def table(self, lines, i, out):
        if "|" not in lines[i] or i + 1 >= len(lines) or not TABLE_LINE.match(lines[i + 1]):
            return 0
        end = i + 2
        while end < len(lines) and "|" in lines[end] and lines[end].strip():
            end += 1
        aligns = ["right" if cell.endswith(":") else "" for cell in cells(lines[i + 1])]
        rows = [self.row(lines[i], aligns, "th")] if any(cells(lines[i])) else []
        body = "".join(self.row(line, aligns, "td") for line in lines[i + 2:end])
        head = f"<thead>{rows[0]}</thead>" if rows else ""
        out.append(f'<div class="wide" tabindex="0"><table>{head}<tbody>{body}</tbody></table></div>')
        return end - i

    def row(self, line, aligns, tag):
        parts = []
        for n, cell in enumerate(cells(line)):
            align = f' class="{aligns[n]}"' if n < len(aligns) and aligns[n] else ""
            parts.append(f"<{tag}{align}>{self.inline(cell)}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    def list(self, lines, i, out):
        first = ITEM.match(lines[i])
        if not first:
            return 0
        indent, ordered = len(first.group(1)), first.group(2)[0].isdigit()
        items, end = [], i
        while end < len(lines):
            item = ITEM.match(lines[end])
            if item and len(item.group(1)) == indent:
                items.append([" " * (len(lines[end]) - len(item.group(3))), item.group(3)])
            elif not lines[end].strip():
                if not belongs(lines, end, indent):
                    break
                items[-1].append("")
            elif leading(lines[end]) > indent or (lines[end - 1].strip() and not starts_block(lines[end])):
                items[-1].append(lines[end][min(len(items[-1][0]), leading(lines[end])):])
            else:
                break
            end += 1
        tag = "ol" if ordered else "ul"
        out.append(f"<{tag}>" + "".join(f"<li>{self.item(item[1:])}</li>" for item in items) + f"</{tag}>")
        return end - i

    def item(self, lines):
        shown = self.blocks(lines)
        alone = re.fullmatch(r"<p>(.*?)</p>", shown, re.S)
        return alone.group(1) if alone else re.sub(r"^<p>(.*?)</p>", r"\1", shown, count=1, flags=re.S)

    @staticmethod
    def indented(lines, i, out):
        if leading(lines[i]) < 4:
            return 0
        end = i
        while end < len(lines) and (leading(lines[end]) >= 4 or (not lines[end].strip() and end + 1 < len(lines)
                                                                 and leading(lines[end + 1]) >= 4)):
            end += 1
        out.append(code([line[4:] for line in lines[i:end]], ""))
        return end - i

    def paragraph(self, lines, i, out):
        end = i + 1
        while end < len(lines) and lines[end].strip() and not starts_block(lines[end]):
            end += 1
        text = [re.sub(r"  $", "\0", line.lstrip()) for line in lines[i:end]]  # two spaces: a break
        out.append("<p>" + self.inline("\n".join(text)).replace("\0", "<br>") + "</p>")
        return end - i

    # ---- what is inside a line ----

    def inline(self, text):
        kept = []

        def keep(shown):
            kept.append(shown)
            return f"\1{len(kept) - 1}\2"

        text = re.sub(r"(`+)(.+?)\1", lambda m: keep(f"<code>{html.escape(m.group(2).strip(), False)}</code>"), text, flags=re.S)
        text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>~-])", lambda m: keep(html.escape(m.group(1))), text)
        text = html.escape(text, False)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", lambda m: keep(self.picture(m.group(1), m.group(2))), text)
        text = re.sub(r"\[([^\[\]]+)\]\(([^)\s]+)\)", lambda m: self.link(m.group(1), m.group(2), keep), text)
        text = re.sub(r"&lt;(https?://[^\s&]+)&gt;", lambda m: keep(f'<a href="{m.group(1)}">{m.group(1)}</a>'), text)
        text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", text, flags=re.S)
        text = re.sub(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", text)
        text = re.sub(r"(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)", r"<em>\1</em>", text)
        while "\1" in text:
            text = re.sub("\1(\\d+)\2", lambda m: kept[int(m.group(1))], text)
        return text

    def link(self, text, target, keep):
        return keep(f'<a href="{html.escape(self.resolve(html.unescape(target)))}">') + text + keep("</a>")

    def picture(self, text, target):
        return f'<img src="{html.escape(self.resolve(html.unescape(target)))}" alt="{text}" loading="lazy">'


def code(lines, language):
    shown = []
    for line in lines:
        text = html.escape(line, False)
        prompt = language in ("console", "sh", "redis") and re.match(r"(\$ |&gt; )(.*)", text)
        shown.append(f'<span class="prompt">{prompt.group(1)}</span><b>{prompt.group(2)}</b>' if prompt else text)
    return '<pre tabindex="0"><code>' + "\n".join(shown) + "\n</code></pre>"


def cells(line):
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", line)]


def leading(line):
    return len(line) - len(line.lstrip(" ")) if line.strip() else 0


def starts_block(line):
    return bool(FENCE.match(line) or HEADING.match(line) or ITEM.match(line))


def belongs(lines, at, indent):
    """Whether the next line that is not blank goes on with the list."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at == len(lines):
        return False
    item = ITEM.match(lines[at])
    return leading(lines[at]) > indent or bool(item and len(item.group(1)) == indent)
