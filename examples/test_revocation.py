#!/usr/bin/env python3
"""Makes certificates with the openssl command and asks examples/revocation about them. Prints TAP.

    test_revocation.py PROGRAM

The clubcards are written here, byte by byte as doc/formats/clubcard.md has them: each lists what its exceptions are.
"""
import hashlib
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

LOG, OTHER_LOG = b"\7" * 32, b"\x08" * 32
SERIALS = {"plain": "0x0102030405", "high": "0x80aa55", "other": "0x11"}  # of the second DER has a leading zero byte


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def der_length(n):
    return bytes([n]) if n < 128 else b"\x82" + struct.pack(">H", n)


def scts_extension(pairs):
    """The value of the extension: an OCTET STRING in DER of a list as TLS has it."""
    scts = b""
    for log, timestamp in pairs:
        sct = b"\0" + log + struct.pack(">Q", timestamp) + b"\0\0" + b"\4\3" + struct.pack(">H", 8) + b"\x30\6\2\1\1\2\1\1"
        scts += struct.pack(">H", len(sct)) + sct
    scts = struct.pack(">H", len(scts)) + scts
    return "1.3.6.1.4.1.11129.2.4.2=DER:" + (b"\4" + der_length(len(scts)) + scts).hex(":")


def new_key(path):
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)


def make_issuer(name):
    new_key(f"{name}.key")
    openssl("req", "-x509", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-days", "30", "-out", f"{name}.pem")
    public = subprocess.run(["openssl", "x509", "-in", f"{name}.pem", "-noout", "-pubkey"], check=True, capture_output=True)
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=public.stdout, check=True, capture_output=True)
    return hashlib.sha256(der.stdout).digest()


def make_chain(name, issuer, serial, pairs, extension=None):
    new_key("leaf.key")
    openssl("req", "-new", "-key", "leaf.key", "-subj", f"/CN={name}", "-out", "leaf.csr")
    lines = extension or (scts_extension(pairs) if pairs else "")
    pathlib.Path("leaf.cnf").write_text("basicConstraints=CA:FALSE\n" + lines + "\n")
    openssl("x509", "-req", "-in", "leaf.csr", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-set_serial", serial,
            "-days", "30", "-extfile", "leaf.cnf", "-out", "leaf.pem")
    pathlib.Path(f"{name}.pem").write_text(pathlib.Path("leaf.pem").read_text() + pathlib.Path(f"{issuer}.pem").read_text())


def clubcard(low, high, listed):
    """Empty filters let all pass; inverted, so the exceptions are the revoked."""
    data = b"\4\0\0\1" + LOG + struct.pack(">QQI", low, high, len(listed))
    for issuer, serials in sorted(listed.items()):
        data += issuer + struct.pack(">IBIIIBH", 1, 0, 0, 1, 0, 1, len(serials))
        data += b"".join(bytes([len(s)]) + s for s in serials)
    return data + b"\0" + b"\0\0\0\0"


def index(files):
    place = 14 + 32 * len(files) + 42
    data = b"upkiidx1" + struct.pack(">HI", len(files), 1) + b"".join(name.encode().ljust(32, b"\0") for name, _, _ in files)
    data += LOG + struct.pack(">QH", place, len(files))
    return data + b"".join(struct.pack(">HQQ", i, low, high) for i, (_, low, high) in enumerate(files))


def make_directory(issuer):
    files = {"20261101-0.filter": (100, 200, {issuer: [bytes.fromhex("0102030405")]}),
             "20261102-0.delta": (150, 300, {issuer: [bytes.fromhex("0080aa55")]})}
    pathlib.Path("cache").mkdir()
    for name, what in files.items():
        pathlib.Path("cache", name).write_bytes(clubcard(*what))
    pathlib.Path("cache/index.bin").write_bytes(index([(name, low, high) for name, (low, high, _) in files.items()]))


class Asker:
    def __init__(self, program):
        self.program, self.n, self.failed = program, 0, False

    def expect(self, what, chain, status, out, err="", directory="cache"):
        run = subprocess.run([self.program, directory, f"{chain}.pem"], capture_output=True, text=True)
        good = (run.returncode, run.stdout.strip()) == (status, out) and err in run.stderr and bool(run.stderr) == bool(err)
        self.n += 1
        self.failed = self.failed or not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {what}")
        if not good:
            print(f"# {run.returncode}: {run.stdout!r} {run.stderr!r}")


def check_answers(asker):
    chains = {"revoked": ("ca", SERIALS["plain"], [(LOG, 120)]), "good": ("ca", SERIALS["other"], [(LOG, 120)]),
              "in_delta": ("ca", SERIALS["high"], [(OTHER_LOG, 5), (LOG, 160)]), "before": ("ca", SERIALS["high"], [(LOG, 120)]),
              "stranger": ("other", SERIALS["plain"], [(LOG, 120)]), "late": ("ca", SERIALS["plain"], [(LOG, 301)]),
              "elsewhere": ("ca", SERIALS["plain"], [(OTHER_LOG, 120)]), "without": ("ca", SERIALS["plain"], [])}
    for name, what in chains.items():
        make_chain(name, *what)
    asker.expect("a revoked certificate", "revoked", 1, "revoked")
    asker.expect("another serial of its issuer", "good", 0, "not revoked")
    asker.expect("a later file of the directory, a serial with a leading zero byte", "in_delta", 1, "revoked")
    asker.expect("a certificate that only the first file covers", "before", 0, "not revoked")
    asker.expect("another issuer", "stranger", 0, "not enrolled")
    asker.expect("a timestamp after the last", "late", 0, "not covered")
    asker.expect("another log", "elsewhere", 0, "not covered")
    asker.expect("a certificate without SCTs", "without", 0, "not covered")


def check_errors(asker):
    make_chain("broken", "ca", SERIALS["plain"], [], "1.3.6.1.4.1.11129.2.4.2=DER:04:03:00:05:01")
    leaf, issuer = pathlib.Path("good.pem").read_text(), pathlib.Path("other.pem").read_text()
    pathlib.Path("wrong.pem").write_text(leaf[:leaf.index("-----END")] + "-----END CERTIFICATE-----\n" + issuer)
    asker.expect("SCTs that cannot be parsed", "broken", 2, "", "the list of SCTs cannot be parsed")
    asker.expect("an issuer that did not sign", "wrong", 2, "", "the second did not sign the first")
    asker.expect("no certificate", "cache/index", 2, "", "no certificate with that of its issuer")
    asker.expect("no directory", "good", 2, "", "nowhere/index.bin: cannot be read", "nowhere")
    path = pathlib.Path("cache/20261101-0.filter")
    data = path.read_bytes()
    path.write_bytes(data + b"\0")
    asker.expect("a file with a byte behind its end", "good", 2, "", "20261101-0.filter: bytes follow the end")
    path.write_bytes(clubcard(1, 2, {}))
    asker.expect("files that do not cover what the index says", "good", 2, "", "do not cover what the index says")
    path.unlink()
    asker.expect("a missing file", "good", 2, "", "a file that the index names is missing")
    pathlib.Path("cache/index.bin").write_bytes(data)
    asker.expect("a clubcard as index.bin", "good", 2, "", "cache/index.bin: ")


def main():
    asker = Asker(str(pathlib.Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        make_directory(make_issuer("ca"))
        make_issuer("other")
        check_answers(asker)
        check_errors(asker)
    print(f"1..{asker.n}")
    return asker.failed


if __name__ == "__main__":
    sys.exit(main())
