#!/usr/bin/env python3
"""append_footer.py LIBRARY EXTENSION PLATFORM VERSION: a shared object with the footer by which DuckDB knows an extension.

The footer has 534 bytes: the header of a WebAssembly custom section named duckdb_signature, eight fields of 32 bytes, last
one first (1 the number 4, 2 the platform, 3 the version of the C API, 4 that of the extension, 5 the kind of interface),
and 256 bytes for a signature, which stay zero: the extension is unsigned.
"""
import sys

library, extension, platform, version = sys.argv[1:]
fields = ["4", platform, "v1.2.0", version, "C_STRUCT", "", "", ""]
with open(library, "rb") as file:
    code = file.read()
head = b"\0\x93\x04\x10duckdb_signature\x80\x04"
with open(extension, "wb") as file:
    file.write(code + head + b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields)) + bytes(256))
