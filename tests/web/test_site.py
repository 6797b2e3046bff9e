#!/usr/bin/env python3
"""The documents as a site: every link and anchor leads somewhere, Markdown becomes what it says, and no document
can bring HTML of its own into a page."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "web/site"))
from documents import Document, slug  # noqa: E402

PRE = '<pre tabindex="0"><code>'
CASES = [
    ("a `<b>` & <i>\n", "<p>a <code>&lt;b&gt;</code> &amp; &lt;i&gt;</p>"),
    ("**bold** and *it*, 2 * 3 * 4, a_b_c\n", "<p><strong>bold</strong> and <em>it</em>, 2 * 3 * 4, a_b_c</p>"),
    ("- one\n  more\n- two\n\nend\n", "<ul>\n<li>one\nmore</li>\n<li>two</li>\n</ul>\n<p>end</p>"),
    ("1. a\n2. b\n", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
    ("    code <\n", PRE + "code &lt;\n</code></pre>"),
    ("```console\n$ nay <\nout\n```\n", PRE + '<span class="prompt">$ </span><b>nay &lt;</b>\nout\n</code></pre>'),
    ("```c\nint x;\n```\n", PRE + '<span class="kt">int</span><span class="w"> </span><span class="n">x</span>'
     '<span class="p">;</span>\n</code></pre>'),
    ("| a | b |\n|---|--:|\n| `x\\|y` | 2 |\n", '<div class="wide" tabindex="0"><table>\n<thead>\n<tr>\n<th>a</th>\n'
     '<th class="right">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>x|y</code></td>\n<td class="right">2</td>\n</tr>\n</tbody>\n</table></div>'),
    ("[t](u.md#a \"x\")\n", '<p><a href="u.md#a" title="x">t</a></p>'),
    ("[`t`](u.md) ![p](i.png)\n", '<p><a href="u.md"><code>t</code></a> <img src="i.png" alt="p" loading="lazy"></p>'),
    ("[x](javascript:alert(1))\n", "<p>[x](javascript:alert(1))</p>"),
    ("<script>alert(1)</script>\n", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ("BF.\\* \\_a\\_\n", "<p>BF.* _a_</p>"),
    ("from $`2^5`$ on, and `$x$` stays\n", "<p>from <math-inline 0> on, and <code>$x$</code> stays</p>"),
    ("```math\na^2\n```\n", '<div class="wide" tabindex="0"><math-display 0></div>'),
    ("## Exercises\n\n1. q\n\n### Answers\n\n1. a\n", '<h2 id="exercises"><a class="anchor" href="#exercises">Exercises</a></h2>\n<ol>\n<li>q</li>\n</ol>\n'
     '<details><summary>Answers</summary>\n<ol>\n<li>a</li>\n</ol>\n</details>'),
]


def main():
    number = failed = 0

    def report(good, name, text=""):
        nonlocal number, failed
        number += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        for line in text.splitlines() if not good else ():
            print(f"# {line}")

    for text, wanted in CASES:
        got = Document(text, lambda target: target).html.strip()
        report(got == wanted, f"Markdown: {text!r}", f"got {got!r}\nwanted {wanted!r}")
    report(slug("9. `scalable`: BF.\\*, a_b") == "9-scalable-bf-a_b", "anchors as GitHub makes them", slug("9. `scalable`: BF.\\*, a_b"))
    with tempfile.TemporaryDirectory() as out:
        program = [sys.executable, str(SOURCE / "web/site/site.py")]
        made = subprocess.run([*program, out], capture_output=True, text=True)
        report(made.returncode == 0, "all documents become pages", made.stdout + made.stderr)
        pathlib.Path(out, "playground.html").write_text("made by make playground")
        check = subprocess.run([*program, "--check", out], capture_output=True, text=True)
        report(check.returncode == 0, "every link leads to a page, every anchor to a heading", check.stdout + check.stderr)
        home = pathlib.Path(out, "index.html").read_text()
        report("<title>nay: membership filters in C</title>" in home and "og:url" not in home, "titles; no address is invented")
        report(all(f'href="{name}/README.html"' not in home and f'href="{name}/index.html"' in home for name in
                   sorted(str(p.parent.relative_to(SOURCE)) for d in ("plugins", "bindings") for p in SOURCE.glob(f"{d}/*/README.md"))),
               "the home page has every plug-in and language")
        page = pathlib.Path(out, "doc/learn/mathematics.html").read_text()
        if "npm cannot install KaTeX" in made.stderr:
            report("<math" not in page and "math-inline" not in page, "formulas are typeset # SKIP npm cannot install KaTeX")
        else:
            report(page.count("<math ") > 20 and all("<math-" not in p.read_text() for p in pathlib.Path(out, "doc").rglob("*.html")),
                   "formulas are typeset")
        lessons = sorted(pathlib.Path(out, "doc/learn").glob("*.html"))
        texts = {p.name: p.read_text() for p in lessons if p.name != "index.html"}
        report(all('class="beside"' in t for t in texts.values()), "every lesson leads to the one before and after")
        bare = [n for n, t in texts.items() if "<summary>Answers</summary>" not in t or re.search(r"<ol>(.*?)</ol>", t.split('id="exercises"')[-1], re.S)
                .group(1).count("<li>") != 3]
        report(not bare, "every lesson has three exercises and their answers", ", ".join(bare))
        report(not [n for n, t in texts.items() if "?embed=" not in t], "every lesson has a view of the playground in a frame",
               ", ".join(n for n, t in texts.items() if "?embed=" not in t))
        rows = re.findall(r'<tr><th scope="row"><a [^>]*>(.*?)</a></th><td>(.*?)</td></tr>', home)
        short = [title for title, how in rows if len(re.sub("<.*?>", "", how)) < 40]
        formats = [p.stem for p in SOURCE.glob("doc/formats/*.md") if p.stem != "README"]
        missing = [name for name in formats if f'href="doc/formats/{name}.html"' not in home]
        report(len(rows) > 12 and not short and not missing, "the home page says of each how, and has every format", f"{short} {missing}")
        page = pathlib.Path(out, "doc/learn/bits.html")
        page.write_text(page.read_text().replace('href="sizing.html"', 'href="gone.html"'))
        check = subprocess.run([*program, "--check", out], capture_output=True, text=True)
        report(check.returncode == 1 and "gone.html" in check.stdout, "a broken link is found", check.stdout)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
