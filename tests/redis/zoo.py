"""One filter of each kind the module knows, with the items that are in it; a replica that only listens."""
from server import Client, Server, has_command

NAY_KINDS = ("blocked", "counting", "scalable", "cuckoo", "window")


def items(n, word="item"):
    return [f"{word}:{i}" for i in range(n)]


def makers(client):
    """(key, command that creates it, add command, test command)."""
    yield "bf:default", None, "BF.MADD", "BF.MEXISTS"
    yield "bf:chain", ("BF.RESERVE", "bf:chain", 0.001, 10, "EXPANSION", 2), "BF.MADD", "BF.MEXISTS"
    yield "bf:fixed", ("BF.RESERVE", "bf:fixed", 0.01, 5000, "NONSCALING"), "BF.MADD", "BF.MEXISTS"
    if has_command(client, "CF.ADD"):
        yield "cf:default", None, "CF.INSERT", "CF.MEXISTS"
        yield "cf:chain", ("CF.RESERVE", "cf:chain", 64, "BUCKETSIZE", 4), "CF.INSERT", "CF.MEXISTS"
    if has_command(client, "NAY.RESERVE"):
        for kind in NAY_KINDS:
            key = "nay:" + kind
            yield key, ("NAY.RESERVE", key, 0.01, 5000, "KIND", kind), "NAY.MADD", "NAY.MTEST"


def fill(client, n=600):
    """Makes the filters and returns {key: (test command, items)}."""
    zoo = {}
    for key, create, add, look in makers(client):
        if create:
            client(*create)
        words = [key, "ITEMS"] if add == "CF.INSERT" else [key]
        answers = client(add, *words, *items(n))
        assert all(answer in (0, 1) for answer in answers), answers
        zoo[key] = (look, items(n))
    return zoo


def holds(client, zoo):
    """Every item of every filter is answered with yes."""
    for key, (look, known) in zoo.items():
        answers = client(look, key, *known)
        assert all(answers), f"{key}: {answers.count(0)} of {len(known)} items lost"


def digests(client):
    keys = sorted(client("KEYS", "*"))
    return dict(zip(keys, client("DEBUG", "DIGEST-VALUE", *keys))), client("DEBUG", "DIGEST")


class Listener(Client):
    """Asks for replication as a replica would, and reads the commands that a master sends."""

    def __init__(self, address):
        super().__init__(address)
        self("REPLCONF", "listening-port", 1)
        self("REPLCONF", "capa", "psync2")
        self("PSYNC", "?", -1)
        line = self.file.readline()
        while line == b"\n":  # sent every second until the copy is ready
            line = self.file.readline()
        self.file.read(int(line[1:]))  # the RDB: what was there before

    def commands(self, client):
        """What was sent since the last call; `client` writes to the same server."""
        client("SET", "mark-of-the-listener", 1)
        heard = []
        while True:
            words = [word.decode("latin-1") for word in self.read()[1]]
            if words[:2] == ["SET", "mark-of-the-listener"]:
                return heard
            if words[0].upper() not in ("PING", "SELECT", "REPLCONF"):
                heard.append(words)


def replica_of(master, *options, **more):
    """A running replica that has everything its master had when this was called."""
    replica = Server("--replicaof", "127.0.0.1", master.port, "--repl-diskless-sync-delay", 0, *options,
                     port=True, **more)
    catch_up(master, replica)
    return replica


def catch_up(master, replica):
    here, there = master.client(), replica.client()

    def same():
        info = there.info("replication")
        return (info.get("master_link_status") == "up"
                and info["slave_repl_offset"] == here.info("replication")["master_repl_offset"])

    Server.wait_until(same, 60, "the replica did not catch up")
