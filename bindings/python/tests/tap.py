"""Runs pytest and prints TAP, which scripts/test counts."""
import sys

import hypothesis
import pytest

# No test may depend on time: an example may take as long as the machine needs.
hypothesis.settings.register_profile("nay", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("nay")


class Tap:
    def __init__(self):
        self.n = 0

    @staticmethod
    def pytest_addoption(parser):
        parser.addoption("--verbose", dest="verbose", type=int, default=0)  # which the terminal's plugin has

    def line(self, ok, name, note=""):
        self.n += 1
        print(f"{'ok' if ok else 'not ok'} {self.n} - {name}{note}", flush=True)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.replace("::", ": ")
        if report.skipped:
            self.line(True, name, f" # SKIP {report.longrepr[2] if isinstance(report.longrepr, tuple) else ''}")
        elif report.when == "call" or report.failed:
            self.line(report.passed, name)
        if report.failed:
            self.show(report.longreprtext)

    def pytest_collectreport(self, report):
        if report.failed:
            self.line(False, f"collect {report.nodeid}")
            self.show(str(report.longrepr))

    @staticmethod
    def show(text):
        for line in text.splitlines()[-60:]:
            print(f"# {line}", flush=True)


def main():
    tap = Tap()
    arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:cov", "-s", *sys.argv[1:]]
    status = pytest.main(arguments, plugins=[tap])
    print(f"1..{tap.n}")
    return int(status) if tap.n else 1


if __name__ == "__main__":
    sys.exit(main())
