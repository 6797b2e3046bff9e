#!/usr/bin/env python3
"""Writes what the conformance kit says into the documents: doc/conformance.md (language x feature x pass) and doc/lab.md.

    pages.py          writes them anew
    pages.py check    compares, and prints TAP: each language passes, and the pages say so

NAY_BUILD and NAY_SOURCE name the build and the sources. A language whose tools are not here is left as the page has it.
"""
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.setdefault("NAY_SOURCE", str(HERE.parent.parent)))
os.environ["KIT"] = str(HERE)
CASES = [json.loads(line) for line in (HERE / "vectors.jsonl").read_text().splitlines()]
WANT = {c["name"]: c["want"] for c in CASES}
RESULT = re.compile(r"(not )?ok \d+ - (\S+)(?: # SKIP (.*))?")


def runners():
    for line in (HERE / "runners").read_text().splitlines():
        if line and not line.startswith("#"):
            language, command = line.split("|", 1)
            yield language.strip(), command.strip()


def run(command):
    """{case: "ok", "fails", or why it is left out}; None: the language cannot be run here."""
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, text=True)
    lines = [RESULT.match(line) for line in done.stdout.splitlines()]
    found = {m[2]: "fails" if m[1] else m[3] or "ok" for m in lines if m}
    return found if len(found) > 10 else None


def cell(found, names):
    count = collections.Counter(found.get(name, "fails") for name in names)
    if count["fails"]:
        return f"**{count['fails']} fail**"
    return str(count["ok"]) if count["ok"] else "-"


def table(results):
    features = {}
    for c in CASES:
        features.setdefault(c["name"].split("/")[0], []).append(c["name"])
    yield "| feature | cases | " + " | ".join(results) + " |"
    yield "|---|---|" + "---|" * len(results)
    for feature, names in features.items():
        yield f"| {feature} | {len(names)} | " + " | ".join(cell(found, names) for found in results.values()) + " |"
    every = list(WANT)
    yield f"| all | {len(every)} | " + " | ".join(cell(found, every) for found in results.values()) + " |"


def left_out(results):
    """The cases that a language with an interface of its own leaves out, and why."""
    for language, found in results.items():
        reasons = collections.defaultdict(list)
        for name, result in found.items():
            if result not in ("ok", "fails", "not for readers"):
                reasons[result].append(name)
        for reason, names in reasons.items():
            shown = names[0].split("/")[0] if len(names) > 4 else ", ".join(f"`{name}`" for name in names)
            yield f"| {language} | {len(names)} | {shown} | {reason} |"


# ---- the lab ----

def maybes(name):
    return bin(int.from_bytes(bytes.fromhex(WANT["lab/" + name]), "little")).count("1")


def share(x):
    return f"{100 * x:.2f}%" if x >= 1e-4 else f"{100 * x:.4f}%"


def formula(m, n, k):
    return (1 - math.exp(-k * n / m)) ** k


def bloom_header(name):
    data = (HERE / "files" / f"lab-{name}.bin").read_bytes()
    return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:12], "little")


def experiment_build():
    data = (HERE / "files" / "lab-1-at-10.bin").read_bytes()
    yield "```text"
    for part, what in ((data[:4], "k = 7"), (data[4:12], "m = 10 bits"), (data[12:], "bits 0 to 9: `key0` sets them")):
        yield f"{part.hex(' '):<24} {what}".replace("`", "")
    yield "```"


def experiment_fpr():
    yield "| bits per key | k | formula | lab's layout | nay's bloom |"
    yield "|---|---|---|---|---|"
    for b in (4, 6, 8, 10, 12, 16):
        k, m = bloom_header(f"fpr-{b}")
        lab, native = maybes(f"fpr-{b}-absent"), maybes(f"native-fpr-{b}-absent")
        yield f"| {b} | {k} | {share(formula(m, 1000, k))} | {lab}: {share(lab / 4000)} | {native}: {share(native / 4000)} |"


def experiment_k():
    yield "| k | formula | maybes of 4,000 |"
    yield "|---|---|---|"
    for k in (1, 2, 4, 7, 10, 14, 20, 30, 60):
        found = maybes(f"k-{k}-absent")
        yield f"| {k} | {share(formula(10000, 1000, k))} | {found}: {share(found / 4000)} |"


def experiment_sets():
    if (HERE / "files/lab-union.bin").read_bytes() != (HERE / "files/lab-set-all.bin").read_bytes():
        raise SystemExit("doc/lab.md says that a union is the filter of all keys")
    yield "| filter | maybes of the 600 keys of either | of 4,000 others |"
    yield "|---|---|---|"
    for name, what in (("union", "the union: OR of the bits"), ("intersection", "the intersection: AND of the bits"),
                       ("a-and-b", "built from the 200 keys of both")):
        yield f"| {what} | {maybes(name + '-members')} | {maybes(name + '-absent')} |"


def experiment_delete():
    wrong = [c["name"] for c in CASES if re.fullmatch(r"lab/counting-wrong-\d+", c["name"])]
    yield "| a counting filter of 100 keys, planned for an FPR of 25% | |"
    yield "|---|---|"
    yield f"| it removes 50 of them: maybes of the other 50 | {maybes('counting-right-rest')} |"
    yield f"| maybes of the 50 that are gone | {maybes('counting-right-gone')} |"
    yield f"| it removes a key that was never added and tests nay | {WANT['lab/counting-nobody']}: nothing changes |"
    yield (f"| it removes {len(wrong)} keys that were never added and test maybe: maybes of the 100 members "
           f"| {maybes('counting-wrong-members')}: {100 - maybes('counting-wrong-members')} false nays |")
    yield f"| a Bloom filter removes a key | {WANT['lab/remove-from-bloom']} |"
    yield f"| a counting filter counts `key7`, and a key that is not there | {WANT['removing/count']}, {WANT['removing/count-absent']} |"


def experiment_languages(results):
    names = [name for name in WANT if name.startswith("lab/")]
    yield "| language | experiments with these answers |"
    yield "|---|---|"
    for language, found in results.items():
        if any(found.get(name) == "ok" for name in names):
            yield f"| {language} | {cell(found, names)} of {len(names)} |"


def pages(results):
    yield "doc/conformance.md", "table", table(results)
    yield "doc/conformance.md", "left out", ["| language | cases | | why |", "|---|---|---|---|", *left_out(results)]
    yield "doc/lab.md", "languages", experiment_languages(results)
    for name, lines in (("build", experiment_build()), ("fpr", experiment_fpr()), ("k", experiment_k()),
                        ("sets", experiment_sets()), ("delete", experiment_delete())):
        yield "doc/lab.md", name, lines


def replaced(text, name, lines):
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1]


def main():
    check = sys.argv[1:] == ["check"]
    results = {language: run(command) for language, command in runners()}
    here = {language: found for language, found in results.items() if found is not None}
    texts = {}
    for page, name, lines in pages(here):
        text = texts.get(page) or (SOURCE / page).read_text()
        texts[page] = replaced(text, name, lines)
    if not check:
        if len(here) < len(results):
            sys.exit(f"not here: {', '.join(set(results) - set(here))}")
        for page, text in texts.items():
            (SOURCE / page).write_text(text)
        return 0
    n = failed = 0
    for language, found in results.items():
        n += 1
        good = found is None or "fails" not in found.values() and set(found) == set(WANT)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {n} - {language}" + (" # SKIP its tools are not here" if found is None else ""))
    for page, text in texts.items():
        n += 1
        same = text == (SOURCE / page).read_text()
        why = "" if same else "\n# tests/conformance/pages.py writes it anew"
        if len(here) < len(results):
            print(f"ok {n} - {page} # SKIP not every language is here")
            continue
        failed += not same
        print(f"{'ok' if same else 'not ok'} {n} - {page} says what the languages answer{why}")
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
