#!/usr/bin/env python3
"""nay explain against its own parts, for every family and layout: answers are those of nay check, the rule
about groups holds, and the keys that --keys names are those whose own explanations read the same bits."""
import json
import subprocess
import sys

NKEYS = 400
READ_ONLY = {"redisbloom-cf", "redis-dump-cf"}  # layouts that are read, not made
READS = ("bit", "fingerprint", "slot")


def nay(*words, stdin=b"", statuses=(0, 1)):
    done = subprocess.run(["nay", *words], input=stdin, capture_output=True)
    assert done.returncode in statuses, (words, done.returncode, done.stderr)
    return done.stdout


def explained(path, flags, keys):
    """The explanation of each key, which come from standard input."""
    text = nay("explain", "--json", *flags, path, stdin="".join(key + "\n" for key in keys).encode())
    return {one["key"]: one for one in map(json.loads, text.splitlines())}


def groups(one):
    found = {}
    for step in one["steps"]:
        found.setdefault(step["group"], []).append(step)
    return found


def matching(one):
    return [steps for steps in groups(one).values() if all(step["match"] for step in steps)]


def slots(step):
    """The bits of a column that a key uses, as positions."""
    first = range(step["bit"], step["bit"] + step["nbits"])
    return set(first) | set(range(step["bit2"], step["bit2"] + step["nbits2"]))


def meets(step, other):
    if step["step"] == "column":
        return other["step"] == "column" and bool(slots(step) & slots(other))
    return other["step"] in READS and step["bit"] == other["bit"]


def expected_keys(step, members, keys):
    """The keys behind a step, in the order of the file."""
    return [key for key in keys
            if any(meets(step, other) for steps in matching(members[key]) for other in steps)]


def check(path, flags, name):
    keys = [f"key-{i}" for i in range(NKEYS)]
    others = [f"other-{i}" for i in range(300)]
    asked = nay("check", "-a", *flags, path, stdin="".join(key + "\n" for key in keys + others).encode())
    answers = dict(reversed(line.split("\t")) for line in asked.decode().splitlines())
    members = explained(path, flags, keys)
    all_of = dict(members, **explained(path, flags, others))
    for key, one in all_of.items():
        assert one["maybe"] == (answers[key] == "maybe"), (name, key)
        assert one["maybe"] == bool(matching(one)), (name, key)
        assert one["ngroups"] == len(groups(one)), (name, key)
    wrong = [key for key in others if answers[key] == "maybe"][:2]
    sample = wrong + [others[0], keys[7]]
    text = nay("explain", "--json", *flags, "--keys", "keys", path, *sample)
    for one in map(json.loads, text.splitlines()):
        key = one["key"]
        assert one["false_positive"] == (key in wrong) and one["is_member"] == (key in keys), (name, key)
        assert one["nkeys"] == NKEYS
        for step in one["steps"]:
            if step["step"] not in READS and not (step["step"] == "column" and "nmembers" in step):
                continue
            behind = expected_keys(step, members, keys)
            assert step["nmembers"] == len(behind) and step["members"] == behind[:3], (name, key, step, behind)
            if step["step"] == "bit":
                assert (step["found"] == 1) == bool(behind), (name, key, step)
    return len(wrong)


def main():
    with open("keys", "w") as file:
        file.writelines(f"key-{i}\n" for i in range(NKEYS))
    with open("secret", "wb") as file:
        file.write(bytes(range(16)))
    nwrong = 0
    for kind in json.loads(nay("--version", "--json"))["kinds"]:
        if kind == "range":  # it is not asked with hashes, and explains that it cannot exclude them
            continue
        extra = ["-n", "40"] if kind == "scalable" else []
        nay("build", "-q", "-f", "-t", kind, "-p", "10%", *extra, "-o", "f.nay", "keys")
        nwrong += check("f.nay", [], kind)
    layouts = json.loads(nay("--version", "--json"))["formats"]
    assert READ_ONLY < set(layouts)
    for layout in layouts:
        if layout == "nay" or layout in READ_ONLY:
            continue
        if layout.startswith(("xor", "binary-fuse")):  # keys are numbers: test_explain.c
            continue
        size = ["-p", "10%"] if "bf" in layout else [] if layout == "bip158" else ["-b", "4"]
        secret = ["--secret", "secret"] if layout == "bip158" else []
        nay("build", "-q", "-f", "--format", layout, *size, *secret, "-o", "f.bin", "keys")
        nwrong += check("f.bin", ["--format", layout, *secret], layout)
    assert nwrong >= 30, nwrong  # false positives that were explained
    return 0


if __name__ == "__main__":
    sys.exit(main())
