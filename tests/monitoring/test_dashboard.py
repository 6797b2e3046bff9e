#!/usr/bin/env python3
"""The dashboard and the rules in a real Prometheus.

It scrapes what `nay info --prom`, `nay sst info --prom`, `nay sst get --prom` and NAY.PROM of a real server say
of a filter that is being filled, of tables, and of keys. Then every query of doc/grafana-dashboard.json returns
data, and the alerts of doc/prometheus-rules.yml see the damaged and the overfilled file. Nothing depends on
time: each check is repeated until it holds.
"""
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "redis"))
from server import BUILD, SOURCE, Server, equal, free_port, tell  # noqa: E402

NAY = str(BUILD / "cli/nay")


def nay(*words, text="", directory):
    """What it writes. Exit statuses other than trouble (2) are answers."""
    done = subprocess.run([NAY, *words], input=text, capture_output=True, text=True, cwd=directory)
    if done.returncode == 2 and "--prom" not in words:
        raise RuntimeError(f"nay {words}: {done.stderr}")
    return done.stdout


class Files:
    """Filters and tables in a directory, and what is scraped of them."""

    def __init__(self, directory, redis):
        self.directory, self.redis, self.sum = directory, redis, 0
        keys = "".join(f"{i:06}\n" for i in range(2000))
        self.run("build", "-q", "-n", "1000", "-p", "1%", "-o", "live.nay", text="0\n")
        self.run("build", "-q", "-t", "fuse", "-o", "static.nay", text=keys)
        self.run("build", "-q", "-t", "scalable", "-n", "100", "-p", "1%", "-o", "grows.nay", text="0\n")
        self.run("build", "-q", "-t", "window", "-n", "1000", "-p", "1%", "-o", "recent.nay", text="0\n")
        self.written = 4e9  # of the file of metrics, in the future: the test does not depend on time
        self.run("sst", "build", "-q", "--filter=full", "-o", "a.ldb", text=keys)
        redis("NAY.RESERVE", "week", 0.01, 100, "KIND", "blocked")
        redis("BF.RESERVE", "chain", 0.01, 100)
        redis("CF.RESERVE", "kicks", 100)
        self.fill(0)

    def run(self, *words, text=""):
        return nay(*words, text=text, directory=self.directory)

    def fill(self, step):
        for name in ("live.nay", "grows.nay", "recent.nay"):
            self.run("add", "-q", name, text="".join(f"{step}.{i}\n" for i in range(200)))
        for i in range(30):
            self.redis("NAY.ADD", "week", f"{step}.{i}")
            self.redis("BF.ADD", "chain", f"{step}.{i}")
            self.redis("CF.ADD", "kicks", f"{step}.{i}")
        self.text = self.metrics()

    def metrics(self):
        asked = "".join(f"{i:06}\n" for i in range(0, 2000, 2)) + "".join(f"{i:06}x\n" for i in range(1500))
        parts = [self.run("info", "--prom", "live.nay", "static.nay", "grows.nay", "recent.nay"),
                 self.run("sst", "info", "--prom", "a.ldb"),
                 self.run("sst", "get", "--prom", "a.ldb", text=asked),
                 self.redis("NAY.PROM", "week", "chain", "kicks").decode(),
                 "# TYPE node_textfile_mtime_seconds gauge\n"
                 f'node_textfile_mtime_seconds{{file="nay.prom"}} {self.written}\n']
        return merge(parts)


def merge(parts):
    """Several texts as one: a metric's samples stand together, the same sample only once."""
    heads, samples = {}, {}
    for line in "".join(parts).splitlines():
        if line.startswith("#"):
            heads.setdefault(line.split()[2], []).append(line)
        else:
            labels, value = line.rsplit(" ", 1)
            samples.setdefault(labels.split("{")[0], {})[labels] = value
    lines = []
    for name, of_name in samples.items():
        lines += dict.fromkeys(heads[name])
        lines += [f"{labels} {value}" for labels, value in of_name.items()]
    return "\n".join(lines) + "\n"


def serve(files):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = files.text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except BrokenPipeError:
                pass  # Prometheus did not wait; it asks again

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Prometheus:
    def __init__(self, directory, scraped):
        self.port = free_port()
        rules = (SOURCE / "doc/prometheus-rules.yml").read_text()
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "200ms"},
                  "rule_files": ["rules.yml"],
                  "scrape_configs": [{"job_name": "nay", "static_configs": [{"targets": [f"127.0.0.1:{scraped}"]}]}]}
        directory.joinpath("rules.yml").write_text(re.sub(r"for: \w+", "for: 0s", rules))
        directory.joinpath("prometheus.yml").write_text(json.dumps(config))
        self.log = open(directory / "log", "w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            stdout=self.log, stderr=self.log, cwd=directory)

    def ask(self, what, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]
        except OSError:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError("prometheus ended:\n" + self.log.read()) from None
            return {}

    def query(self, expression):
        return self.ask("query", query=expression).get("result", [])

    def firing(self):
        alerts = self.ask("alerts").get("alerts", [])
        return {(a["labels"]["alertname"], a["labels"].get("file", a["labels"].get("key")))
                for a in alerts if a["state"] == "firing"}

    def close(self):
        self.process.kill()
        self.process.wait()


def panels():
    dashboard = json.loads((SOURCE / "doc/grafana-dashboard.json").read_text())
    return [(p["title"], t["expr"]) for p in dashboard["panels"] for t in p.get("targets", [])]


def variables():
    dashboard = json.loads((SOURCE / "doc/grafana-dashboard.json").read_text())
    return {v["name"]: v["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"}


def check_panels(prometheus):
    for title, expression in panels():
        query = expression.replace("$__rate_interval", "10s")
        query = re.sub(r"\$\w+", ".+", query)  # all of a variable's values
        Server.wait_until(lambda: prometheus.query(query), 20, f"no data for '{title}': {query}")


def check_counters():
    """A counter starts again with each run of a command: its value says nothing, its rate does. Ratios of two do."""
    for title, expression in panels():
        if "_total" in expression and "/" not in expression and not expression.startswith("rate("):
            raise AssertionError(f"'{title}' draws a counter: {expression}")


def check_variables(prometheus):
    """label_values(metric, label): the values that a reader can choose from."""
    for name, query in variables().items():
        metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", query).groups()
        values = {row["metric"][label] for row in prometheus.query(metric)}
        wanted = {"file": {"live.nay", "static.nay", "grows.nay", "recent.nay"}, "table": {"a.ldb"}, "key": {"week", "chain", "kicks"}}
        equal(values, wanted[name], name)


def check_quiet(prometheus):
    """Half full: no alert, and there were evaluations."""
    Server.wait_until(lambda: any(r["lastEvaluation"] > "1" for g in prometheus.ask("rules").get("groups", [])
                                  for r in g["rules"]), 20, "no rule was evaluated")
    equal(prometheus.firing(), set())


def check_alerts(prometheus, files):
    wanted = {("NayOverfilled", "live.nay"), ("NayRedisOverfilled", "week"), ("NayRateAbovePlan", "live.nay"),
              ("NayRedisRateAbovePlan", "week"), ("NayDamaged", "static.nay"), ("NayDamaged", "a.ldb"),
              ("NayStale", "nay.prom")}
    for step in range(1, 12):
        files.fill(step)
    for name in ("static.nay", "a.ldb"):
        path = pathlib.Path(files.directory, name)
        data = bytearray(path.read_bytes())
        data[len(data) // 2 if name == "static.nay" else data.rindex(b"nay") - 200] ^= 1
        path.write_bytes(data)
    files.written = 0
    files.text = files.metrics()
    Server.wait_until(lambda: wanted <= prometheus.firing(), 20, f"alerts: not all of {wanted}")
    for name in ("grows.nay", "recent.nay"):  # one grows by itself, the other forgets
        equal({alert for alert, of in prometheus.firing() if of == name}, set(), name)


def main():
    if shutil.which("prometheus") is None:
        print("1..0 # SKIP prometheus is not installed (Debian: prometheus)")
        return 0
    with tempfile.TemporaryDirectory() as directory, Server() as redis:
        files = Files(directory, redis.client())
        prometheus = Prometheus(pathlib.Path(directory), serve(files))
        checks = [("every panel's query returns data", lambda: check_panels(prometheus)),
                  ("counters are drawn as rates", check_counters),
                  ("the variables list files, tables and keys", lambda: check_variables(prometheus)),
                  ("no alert for filters within their plan", lambda: check_quiet(prometheus)),
                  ("alerts for overfilled and damaged ones", lambda: check_alerts(prometheus, files))]
        failed = 0
        for number, (name, check) in enumerate(checks, 1):
            try:
                check()
                print(f"ok {number} - {name}", flush=True)
            except Exception as error:
                failed += 1
                print(f"not ok {number} - {name}")
                tell(f"{error}\nfiring: {prometheus.firing()}\n{files.text}")
        print(f"1..{len(checks)}")
        prometheus.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
