#!/usr/bin/env python3
"""An SPDX 2.3 document of a release: its tarball, and what its programs are linked with.

sbom.py VERSION TARBALL writes JSON to standard output. SOURCE_DATE_EPOCH is the date; nothing else but the bytes of the
tarball goes into it, so that the same tarball has the same document.
"""
import datetime
import hashlib
import json
import os
import sys

# (name, licence, who uses it); nothing of them is in the tarball
DEPENDENCIES = [
    ("xxHash", "BSD-2-Clause", "libnay: the header, compiled in"),
    ("zlib", "Zlib", "nay: compressed input; libnaysst's codecs"),
    ("zstd", "BSD-3-Clause", "nay: compressed input; libnaysst's codecs"),
    ("xz-utils liblzma", "0BSD", "nay: compressed input"),
    ("bzip2", "bzip2-1.0.6", "nay: compressed input"),
    ("lz4", "BSD-2-Clause", "nay: compressed input; libnaysst's codecs"),
    ("snappy", "BSD-3-Clause", "libnaysst's codecs"),
    ("leveldb", "BSD-3-Clause", "the LevelDB plug-in"),
    ("rocksdb", "GPL-2.0-only OR Apache-2.0", "the RocksDB plug-in"),
]


def package(spdx, name, licence, **members):
    return {"SPDXID": spdx, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **members}


def main():
    version, path = sys.argv[1:]
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    nay = package("SPDXRef-nay", "nay", "MIT", versionInfo=version, packageFileName=os.path.basename(path),
                  checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    others = [package(f"SPDXRef-dependency-{i}", name, licence, comment=use)
              for i, (name, licence, use) in enumerate(DEPENDENCIES, 1)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-nay"}]
    relations += [{"spdxElementId": other["SPDXID"], "relationshipType": "OPTIONAL_DEPENDENCY_OF" if i else "BUILD_DEPENDENCY_OF",
                   "relatedSpdxElement": "SPDXRef-nay"} for i, other in enumerate(others)]
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"nay-{version}",
                "documentNamespace": f"urn:sha256:{digest}",
                "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: nay tools/sbom.py"]},
                "packages": [nay] + others, "relationships": relations}
    print(json.dumps(document, indent=1))


main()
