#!/usr/bin/env python3
"""Takes the permitted growth of structs out of an ABI, so that abidiff sees what is left.

    tools/abi_shrink.py old.abi new.abi        writes new.abi on standard output, shrunk

A struct that starts with `size_t size` is passed with its size: the library reads and writes no more of it than the
caller has. It may grow by fields behind the size that it has in old.abi; these are removed here, and the size is set
back. A field in what was padding at the end stays: old callers count these bytes, but do not set them.
"""
import sys
import xml.etree.ElementTree as ElementTree

OFFSET = "layout-offset-in-bits"


def sized_structs(tree):
    """name -> element, of the structs that start with `size_t size`."""
    size_t = {typedef.get("id") for typedef in tree.iter("typedef-decl") if typedef.get("name") == "size_t"}
    found = {}
    for struct in tree.iter("class-decl"):
        first = struct.find(f"data-member[@{OFFSET}='0']/var-decl")
        if first is not None and first.get("name") == "size" and first.get("type-id") in size_t:
            found[struct.get("name")] = struct
    return found


def main():
    old, new = (ElementTree.parse(path) for path in sys.argv[1:3])
    before = sized_structs(old)
    for name, struct in sized_structs(new).items():
        size = int(before[name].get("size-in-bits")) if name in before else None
        if size is None or int(struct.get("size-in-bits")) <= size:
            continue
        struct.set("size-in-bits", str(size))
        for member in struct.findall("data-member"):
            if int(member.get(OFFSET)) >= size:
                struct.remove(member)
    new.write(sys.stdout, encoding="unicode")


if __name__ == "__main__":
    sys.exit(main())
