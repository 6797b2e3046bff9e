#!/usr/bin/env python3
"""doc/prometheus-rules.yml by promtool: it is well formed, and each alert fires when it should and not before."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("NAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
RULES = SOURCE / "doc/prometheus-rules.yml"
CASES = SOURCE / "tests/monitoring/rules_test.yml"


def alerts(path):
    return {line.split()[-1] for line in path.read_text().splitlines() if line.strip().startswith("- alert:")}


def firing(path):
    """Alerts that a case expects to fire."""
    lines = path.read_text().splitlines()
    return {line.split()[-1] for line in lines if line.strip().startswith("alertname:")}


def report(number, name, passed, output=""):
    print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    for line in output.splitlines() if not passed else ():
        print(f"# {line}")
    return passed


def main():
    if shutil.which("promtool") is None:
        print("1..0 # SKIP promtool is not installed (Debian: prometheus)")
        return 0
    good = True
    check = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    good &= report(1, "the rules are well formed", check.returncode == 0, check.stdout + check.stderr)
    with tempfile.TemporaryDirectory() as directory:
        cases = pathlib.Path(directory, "rules_test.yml")
        cases.write_text(CASES.read_text().replace("RULES", str(RULES)))
        run = subprocess.run(["promtool", "test", "rules", cases], capture_output=True, text=True)
    good &= report(2, "alerts fire when they should", run.returncode == 0, run.stdout + run.stderr)
    fires = firing(CASES)
    good &= report(3, "every alert has a case in which it fires", fires == alerts(RULES),
                   f"without: {sorted(alerts(RULES) - fires)}")
    print("1..3")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
