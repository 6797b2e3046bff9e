#!/usr/bin/env python3
"""Six nodes on the loopback address: three masters, three replicas. The steps of plugins/redis/cluster.md.

Adds under load, slots moved (DUMP and RESTORE between masters), a master killed with kill -9, failover:
every key answers, and every add that two nodes acknowledged is there.

    test_cluster.py [--long]    more keys, slots moved there and back, every master killed once
"""
import re
import subprocess
import threading
import time

from server import CLI, LONG, SOURCE, Client, Error, Server, equal, has_command, main, test

PAGE = SOURCE / "plugins/redis/cluster.md"
NODES = 6
KEYS = 400 if LONG else 90
SLOTS_MOVED = 5000 if LONG else 1500
TIMEOUT = 2000  # of a node, ms
MOVED = re.compile(r"(MOVED|ASK) \d+ [^ ]*?:(\d+)$")


def documented(task, ports, **values):
    """Runs the line `redis-cli --cluster <task> ...` of cluster.md, with our ports for 7001 and up."""
    line = re.search(rf"^redis-cli (--cluster {task} .*)$", PAGE.read_text(), re.M)[1]
    words = re.sub(r":700(\d)\b", lambda found: f":{ports[int(found[1]) - 1]}", line)
    for name, value in values.items():
        words = words.replace(f"${name}", str(value))
    return subprocess.run([*CLI, *words.split()], capture_output=True, text=True, timeout=1500)


def done(run):
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-500:]


class Cluster:
    def __init__(self):
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", TIMEOUT, "--appendonly", "yes",
                   "--appendfsync", "always", "--cluster-replica-validity-factor", 0, "--repl-diskless-sync-delay", 0]
        self.nodes = [Server(*options, port=True) for _ in range(NODES)]
        done(documented("create", self.ports()))
        self.wait_until_ok()

    def ports(self):
        return [node.port for node in self.living()]

    def living(self):
        return [node for node in self.nodes if node.alive()]

    def wait_until_ok(self):
        Server.wait_until(lambda: all(self.node_is_ok(node) for node in self.living()), 60, "the cluster is not whole")

    def node_is_ok(self, node):
        client = node.client()
        info = dict(line.split(":") for line in client("CLUSTER", "INFO").decode().split())
        replication = client.info("replication")
        client.close()
        linked = replication["role"] == "master" or replication["master_link_status"] == "up"
        return info["cluster_state"] == "ok" and info["cluster_slots_ok"] == "16384" and linked

    def masters(self):
        return [node for node in self.living() if node.client().info("replication")["role"] == "master"]

    def id_of(self, node):
        return node.client()("CLUSTER", "MYID").decode()


class ClusterClient:
    """Follows MOVED and ASK; tries again while a failover is under way."""

    def __init__(self, cluster, patience=150):
        self.cluster, self.patience, self.links = cluster, patience, {}

    def link(self, port):
        if port not in self.links:
            self.links[port] = Client(("127.0.0.1", port), timeout=5)
        return self.links[port]

    def once(self, port, words, asking=False):
        try:
            if asking:
                self.link(port)("ASKING")
            return self.link(port).ask(*words)
        except OSError:
            self.links.pop(port, None)
            return Error("TRYAGAIN connection lost")

    def __call__(self, *words):
        end = time.monotonic() + self.patience
        port = self.cluster.living()[0].port
        asking = False
        while True:
            reply = self.once(port, words, asking)
            if not isinstance(reply, Error):
                return reply
            elsewhere = MOVED.match(str(reply))
            if elsewhere:
                port, asking = int(elsewhere[2]), elsewhere[1] == "ASK"
            elif not str(reply).startswith(("TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY")):
                raise reply
            else:
                time.sleep(0.05)
                port, asking = self.cluster.living()[0].port, False
            assert time.monotonic() < end, f"{words[:2]}: {reply}"


def kinds(client):
    found = [("BF.ADD", "BF.EXISTS")]
    found += [("CF.ADD", "CF.EXISTS")] if has_command(client, "CF.ADD") else []
    return found + ([("NAY.ADD", "NAY.TEST")] if has_command(client, "NAY.ADD") else [])


class Load(threading.Thread):
    """Adds to all keys, round after round. An add is kept once a replica has it too (WAIT 1)."""

    def __init__(self, cluster, commands):
        super().__init__(daemon=True)
        self.client, self.commands = ClusterClient(cluster), commands
        self.known, self.stopping, self.failure = {}, threading.Event(), None

    def add(self, key, command, item):
        self.client(command, key, item)
        for link in list(self.client.links.values()):
            try:
                if link.ask("WAIT", 1, 100) == 0:
                    return  # no replica has it, or it was written elsewhere: not promised
            except OSError:
                return
        self.known.setdefault(key, set()).add(item)

    def run(self):
        number = 0
        try:
            while not self.stopping.is_set():
                i = number % KEYS
                self.add(f"key{i}", self.commands[i % len(self.commands)][0], f"item{number}")
                number += 1
        except Exception as failure:
            self.failure = failure

    def stop(self):
        self.stopping.set()
        self.join(60)
        if self.failure:
            raise self.failure


def look(cluster, commands, known):
    client = ClusterClient(cluster)
    for key, items in known.items():
        command = commands[int(key[3:]) % len(commands)][1]
        for item in items:
            equal(client(command, key, item), 1, f"{key} {item}")


def move_slots(cluster, source, target):
    values = {"from": cluster.id_of(source), "to": cluster.id_of(target), "slots": SLOTS_MOVED}
    done(documented("reshard", cluster.ports(), **values))
    cluster.wait_until_ok()
    # nodes tell each other of the move; until all have heard of it they disagree
    Server.wait_until(lambda: documented("check", cluster.ports()).returncode == 0, 30, "nodes disagree")


def kill_and_fail_over(cluster):
    cluster.masters()[0].kill()
    Server.wait_until(lambda: len(cluster.masters()) == NODES // 2, 60, "no failover")
    cluster.wait_until_ok()


@test("create, add under load, move slots, kill -9 a master, fail over: no key and no add is lost")
def cluster(client):
    commands = kinds(client)
    cluster = Cluster()
    load = Load(cluster, commands)
    load.start()
    time.sleep(0.3)
    first, second, *_ = cluster.masters()
    move_slots(cluster, first, second)
    if LONG:
        move_slots(cluster, second, first)
    kill_and_fail_over(cluster)
    Server.wait_until(lambda: len(load.known) == KEYS or load.failure, 150, "an add to each key")
    load.stop()
    look(cluster, commands, load.known)
    print(f"# {sum(map(len, load.known.values()))} adds in {len(load.known)} keys, all there")
    assert any("cmdstat_restore-asking" in node.client().info("commandstats") for node in cluster.living()), \
        "no key was moved"
    for node in cluster.nodes:
        node.close()


main()
