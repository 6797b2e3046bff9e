#!/usr/bin/env python3
"""ACL rules against every command: which keys it reads and writes, tried with every combination of rights.

FORMS has a row for each form of each command that the module registers; a command without one fails the
first test. Every expectation follows from the row alone: R, W and RW stand for a key that is read, written,
or both.
"""
import itertools
import os
import subprocess

from server import BUILD, Client, Error, equal, main, refuses, tell, test


class Key:
    """A key among the words of a form: the rights it takes, and whether it is there before."""

    def __init__(self, rights, exists=True):
        self.rights, self.exists = set(rights), exists


R, W, RW, NEW = Key("R"), Key("W"), Key("RW"), Key("W", exists=False)
HEADER = object()  # bytes that begin a dump of this family's filter

FORMS = [
    ("bf.reserve", NEW, 0.01, 10), ("bf.add", W, "y"), ("bf.add", NEW, "y"), ("bf.madd", W, "y", "z"),
    ("bf.insert", W, "ITEMS", "y"), ("bf.insert", NEW, "CAPACITY", 10, "ITEMS", "y"), ("bf.exists", R, "x"),
    ("bf.mexists", R, "x", "y"), ("bf.info", R), ("bf.info", R, "ITEMS"), ("bf.card", R), ("bf.debug", R),
    ("bf.scandump", R, 0), ("bf.loadchunk", NEW, 1, HEADER),
    ("cf.reserve", NEW, 10), ("cf.add", W, "y"), ("cf.add", NEW, "y"), ("cf.addnx", W, "y"),
    ("cf.insert", W, "ITEMS", "y"), ("cf.insert", NEW, "CAPACITY", 10, "ITEMS", "y"),
    ("cf.insertnx", W, "ITEMS", "y"), ("cf.exists", R, "x"), ("cf.mexists", R, "x", "y"), ("cf.count", R, "x"),
    ("cf.del", W, "x"), ("cf.compact", W), ("cf.info", R), ("cf.debug", R), ("cf.scandump", R, 0),
    ("cf.loadchunk", NEW, 1, HEADER),
    ("nay.reserve", NEW, 0.01, 10), ("nay.reserve", NEW, "LIKE", R), ("nay.reserve", NEW, 0, 0, "LIKE", R),
    ("nay.reserve", NEW, 0, 0, "MEMORY", 100000, "like", R), ("nay.add", W, "y"), ("nay.add", NEW, "y"),
    ("nay.madd", W, "y", "z"), ("nay.test", R, "x"), ("nay.mtest", R, "x", "y"), ("nay.range", R, "1", "2"), ("nay.del", W, "x"),
    ("nay.count", R, "x"), ("nay.merge", RW, R), ("nay.merge", RW, R, R), ("nay.merge", Key("RW", False), R),
    ("nay.advance", W, 5), ("nay.load", NEW, 0, HEADER), ("nay.load", W, 0, HEADER, "REPLACE"),
    ("nay.dump", R, 0), ("nay.info", R), ("nay.info", R, "kind"),
    ("nay.prom", R), ("nay.prom", R, R),
]

NAY = os.environ.get("NAY_COMMAND", str(BUILD / "cli/nay"))
RANGES = subprocess.run([NAY, "build", "-q", "-t", "range", "--key=int", "--range-length", "9"], input=b"1\n99\n",
                        check=True, capture_output=True).stdout

MAKERS = {"bf": [("BF.ADD", "{}", "x")], "cf": [("CF.ADD", "{}", "x")],
          "nay": [("NAY.RESERVE", "{}", 0.01, 100, "KIND", "counting", "SEED", 1), ("NAY.ADD", "{}", "x")],
          "nay.range": [("NAY.LOAD", "{}", 0, RANGES)],
          "nay.advance": [("NAY.RESERVE", "{}", 0.01, 100, "WINDOW", 10, "TICKS", "SEED", 1)]}
DUMPS = {"bf": ("BF.SCANDUMP", "{}", 0), "cf": ("CF.SCANDUMP", "{}", 0), "nay": ("NAY.DUMP", "{}", 0)}
GRANTS = {"": "~other{}", "R": "%R~{}", "W": "%W~{}", "RW": "~{}"}


def family(form):
    return form[0].split(".")[0]


def keys(form):
    return [word for word in form if isinstance(word, Key)]


def fill(words, key):
    return [word.format(key) if isinstance(word, str) else word for word in words]


def headers(client):
    """Bytes that a form can load, for each family."""
    made = {}
    for name, dump in DUMPS.items():
        client.many(fill(words, "k") for words in MAKERS[name])
        made[name] = client(*fill(dump, "k"))[1]
        client("DEL", "k")
    return made


def spell(form, dumps):
    """The words of a form, whose keys are k0, k1 and so on."""
    names = (f"k{i}" for i in itertools.count())
    return [next(names) if isinstance(word, Key) else dumps[family(form)] if word is HEADER else word
            for word in form]


def setup(form):
    """The commands that make the keys which are there."""
    maker = MAKERS.get(form[0], MAKERS[family(form)])
    for i, key in enumerate(keys(form)):
        if key.exists:
            yield from (fill(words, f"k{i}") for words in maker)


def grants(held, names):
    """The rules that give each key its rights."""
    return [GRANTS["".join(sorted(rights))].format(name) for rights, name in zip(held, names)]


def suffices(held, form):
    return all(key.rights <= set(rights) for rights, key in zip(held, keys(form)))


def cases(client, form):
    """(rules, whether they permit the form)."""
    name, wanted = form[0], keys(form)
    names = [f"k{i}" for i in range(len(wanted))]
    for held in itertools.product(GRANTS, repeat=len(wanted)):
        yield ["+@all", *grants(held, names)], suffices(held, form)
    for rights in ("R", "W", "RW"):
        held = [rights] * len(wanted)
        yield ["+@all", f"%{rights}~k*"], suffices(held, form)
        yield ["+@all", f"%{rights}~other*"], False
        yield ["+ping", f"({' '.join(['+@all', f'%{rights}~k*'])})"], suffices(held, form)
        yield ["-@all", f"%{rights}~k*", "(+@all ~other)"], False
    # rights of two selectors do not add up: one of them must permit all of the command
    halves = suffices(["R"] * len(wanted), form) or suffices(["W"] * len(wanted), form)
    yield ["+@all", "%R~k*", "(+@all %W~k*)"], halves
    yield ["+@all", "~*"], True
    yield [f"+{name}", "~*"], True
    yield ["+@all", f"-{name}", "~*"], False
    yield ["+@all", f"-{name}", "~*", f"(+{name} ~k*)"], True
    yield ["+ping", "~*"], False
    yield ["+@all"], False
    yield from category_cases(client, form)


def category_cases(client, form):
    """Before 7.2 the server puts no command of a module into a category."""
    is_write = any("W" in key.rights for key in keys(form))
    known = version(client) >= (7, 2)
    for category, is_in in (("read", not is_write), ("write", is_write)):
        yield [f"+@{category}", "~*"], known and is_in
        yield ["+@all", f"-@{category}", "~*"], not (known and is_in)
    own = {"bf": "bloom", "cf": "cuckoo", "nay": "nay"}
    for prefix, category in own.items():
        if category.encode() in client("ACL", "CAT"):
            yield [f"+@{category}", "~*"], prefix == family(form)


def version(client):
    return tuple(int(part) for part in client.info("server")["redis_version"].split(".")[:2])


def another(client):
    return Client(client("CONFIG", "GET", "unixsocket")[1].decode())


@test("every command of the module has a row, and every row is a command")
def complete(client):
    registered = client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")
    equal({form[0] for form in FORMS}, {name.decode() for name in registered})


def rights_of(flags):
    """The rights that the flags of a key ask for: %R~ is access, %W~ the other three."""
    rights = {b"access": "R", b"insert": "W", b"update": "W", b"delete": "W"}
    return {rights[flag] for flag in flags if flag in rights}


@test("COMMAND GETKEYSANDFLAGS finds the keys of every form, and what is done with them")
def get_keys(client):
    dumps, wrong = headers(client), []
    for form in FORMS:
        found = client("COMMAND", "GETKEYSANDFLAGS", *spell(form, dumps))
        wanted = {f"k{i}": key.rights for i, key in enumerate(keys(form))}
        got = {name.decode(): rights_of(flags) for name, flags in found}
        if got != wanted:
            wrong.append(f"{form[0]}: {got} instead of {wanted}")
    assert not wrong, "\n".join(wrong)


def dry_run(client, cases_of):
    """Asks the server about every case; yields what it gets wrong."""
    for words, rules, permitted in cases_of:
        set_user, reply = client.many([("ACL", "SETUSER", "u", "reset", "on", "nopass", *rules),
                                       ("ACL", "DRYRUN", "u", *words)])
        equal(set_user, b"OK", str(rules))
        if (reply == b"OK") != permitted:
            yield f"{words[0]} by {' '.join(rules)}: {reply}, permitted is {permitted}"


def execute(client, user, prepare, words, rules, permitted):
    """Runs one case as the user; None, or what is wrong. A command that is refused changes nothing."""
    client("FLUSHALL")
    client.many(prepare)
    before = client("DEBUG", "DIGEST")
    client("ACL", "SETUSER", "u", "reset", "on", "nopass", *rules)
    reply = user.many([("AUTH", "u", "any"), words])[1]
    if permitted and isinstance(reply, Error):
        return f"{words[0]} by {' '.join(rules)}: {reply}"
    if not permitted and not (isinstance(reply, Error) and str(reply).startswith("NOPERM")):
        return f"{words[0]} by {' '.join(rules)}: {reply!r} instead of NOPERM"
    if not permitted and client("DEBUG", "DIGEST") != before:
        return f"{words[0]} by {' '.join(rules)}: refused, but something has changed"
    return None


def report(wrong, ncases, what):
    tell(f"{ncases} {what}, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:40])


@test("ACL DRYRUN: every form by every rule")
def matrix_dry(client):
    dumps = headers(client)
    every = [(spell(form, dumps), rules, permitted) for form in FORMS for rules, permitted in cases(client, form)]
    report(list(dry_run(client, every)), len(every), f"cases of {len(FORMS)} forms")


@test("every form by every rule, run as that user; what is refused changes nothing")
def matrix_run(client):
    dumps, user, wrong, ncases = headers(client), another(client), [], 0
    for form in FORMS:
        for rules, permitted in cases(client, form):
            ncases += 1
            wrong.append(execute(client, user, list(setup(form)), spell(form, dumps), rules, permitted))
    report([text for text in wrong if text], ncases, f"cases of {len(FORMS)} forms")


@test("scripts and transactions: a user without the right gets an error, and nothing changes")
def scripts(client):
    dumps, user = headers(client), another(client)
    for form in FORMS:
        for held in "RW":
            if suffices([held] * len(keys(form)), form):
                continue
            client("FLUSHALL")
            client.many(setup(form))
            before, words = client("DEBUG", "DIGEST"), spell(form, dumps)
            client("ACL", "SETUSER", "u", "reset", "on", "nopass", "+@all", f"%{held}~k*")
            user("AUTH", "u", "any")
            assert isinstance(user.ask("EVAL", "return redis.call(unpack(ARGV))", 0, *words), Error), words
            user("MULTI")
            refuses(user, "NOPERM", *words)
            refuses(user, "EXECABORT", "EXEC")
            equal(client("DEBUG", "DIGEST"), before, form[0])


@test("NAY.RESERVE takes one LIKE: the server checks the rights to the first")
def like_twice(client):
    client.many(fill(words, key) for key in ("k1", "secret") for words in MAKERS["nay"])
    client("ACL", "SETUSER", "u", "reset", "on", "nopass", "+@all", "~k*")
    user = another(client)
    user("AUTH", "u", "any")
    for words in (("LIKE", "k1", "LIKE", "secret"), ("LIKE", "k1", "MEMORY", 100000, "like", "secret")):
        refuses(user, "ERR an option is given twice", "NAY.RESERVE", "k0", 0, 0, *words)
    refuses(user, "NOPERM", "NAY.RESERVE", "k0", 0, 0, "LIKE", "secret", "LIKE", "k1")
    equal(client("EXISTS", "k0"), 0)


main()
