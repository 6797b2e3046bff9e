#!/usr/bin/env python3
"""The documents as a site: every link and anchor leads somewhere, Markdown becomes what it says, and no document
can bring HTML of its own into a page."""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "web/site"))
from markdown import Document, slug  # noqa: E402

CASES = [
    ("a `<b>` & <i>\n", "<p>a <code>&lt;b&gt;</code> &amp; &lt;i&gt;</p>"),
    ("**bold** and *it*, 2 * 3 * 4, a_b_c\n", "<p><strong>bold</strong> and <em>it</em>, 2 * 3 * 4, a_b_c</p>"),
    ("- one\n  more\n- two\n\nend\n", "<ul><li>one\nmore</li><li>two</li></ul>\n<p>end</p>"),
    ("- a\n  - b\n- c\n", "<ul><li>a\n<ul><li>b</li></ul></li><li>c</li></ul>"),
    ("1. a\n2. b\n", "<ol><li>a</li><li>b</li></ol>"),
    ("    code <\n", '<pre tabindex="0"><code>code &lt;\n</code></pre>'),
    ("```console\n$ nay\nout\n```\n", '<pre tabindex="0"><code><span class="prompt">$ </span><b>nay</b>\nout\n</code></pre>'),
    ("| a | b |\n|---|--:|\n| `x\\|y` | 2 |\n", '<div class="wide" tabindex="0"><table><thead><tr><th>a</th><th class="right">b</th></tr>'
     '</thead><tbody><tr><td><code>x|y</code></td><td class="right">2</td></tr></tbody></table></div>'),
    ("[t](u.md#a \"x\")\n", "<p>[t](u.md#a \"x\")</p>"),
    ("[`t`](u.md) ![p](i.png)\n", '<p><a href="u.md"><code>t</code></a> <img src="i.png" alt="p" loading="lazy"></p>'),
    ("[x](javascript:alert(1))\n", None),  # whatever it is, no script: below
    ("BF.\\* \\_a\\_\n", "<p>BF.* _a_</p>"),
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
        got = Document(text, lambda target: target).html
        report(got == wanted if wanted is not None else "<script" not in got, f"Markdown: {text!r}", f"got {got!r}\nwanted {wanted!r}")
    report(slug("9. `scalable`: BF.\\*, a_b") == "9-scalable-bf-a_b", "anchors as GitHub makes them", slug("9. `scalable`: BF.\\*, a_b"))
    with tempfile.TemporaryDirectory() as out:
        program = [sys.executable, str(SOURCE / "web/site/site.py")]
        made = subprocess.run([*program, out], capture_output=True, text=True)
        report(made.returncode == 0, "all documents become pages", made.stdout + made.stderr)
        pathlib.Path(out, "playground.html").write_text("made by make playground")
        check = subprocess.run([*program, "--check", out], capture_output=True, text=True)
        report(check.returncode == 0, "every link leads to a page, every anchor to a heading", check.stdout + check.stderr)
        page = pathlib.Path(out, "doc/learn/bits.html")
        page.write_text(page.read_text().replace('href="sizing.html"', 'href="gone.html"'))
        check = subprocess.run([*program, "--check", out], capture_output=True, text=True)
        report(check.returncode == 1 and "gone.html" in check.stdout, "a broken link is found", check.stdout)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
