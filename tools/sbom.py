#!/usr/bin/env python3
"""Writes the software bill of materials of the library as SPDX 2.3: sbom.py VERSION TIMESTAMP [PARTS].

Without PARTS it describes a build from source.  Versions come from pkg-config on this machine; those
of libraries that are headers only, from Debian's packages.  PARTS is the parts.txt of
tools/static_libraries.sh.  With it, it describes the packages that have everything linked in.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Part(NamedTuple):
    """Software that the library links or compiles in."""

    name: str
    license: str
    home: str
    link: str  # SPDX's relationship
    pkg_config: str = ""
    package: str = ""


STATIC, DYNAMIC = "STATIC_LINK", "DYNAMIC_LINK"
PARTS = [
    Part("pcre2", "BSD-3-Clause", "https://www.pcre.org", STATIC, pkg_config="libpcre2-8"),
    Part("rapidjson", "MIT", "https://rapidjson.org", STATIC, package="rapidjson-dev"),
    Part("cli11", "BSD-3-Clause", "https://github.com/CLIUtils/CLI11", STATIC, package="libcli11-dev"),
    Part("highway", "Apache-2.0", "https://github.com/google/highway", DYNAMIC, pkg_config="libhwy"),
    Part("cjson", "MIT", "https://github.com/DaveGamble/cJSON", DYNAMIC, pkg_config="libcjson"),
    Part("curl", "curl", "https://curl.se", DYNAMIC, pkg_config="libcurl"),
    Part("libmicrohttpd", "LGPL-2.1-or-later", "https://www.gnu.org/software/libmicrohttpd", DYNAMIC,
         pkg_config="libmicrohttpd"),
    Part("zlib", "Zlib", "https://zlib.net", DYNAMIC, pkg_config="zlib"),
    Part("openssl", "Apache-2.0", "https://www.openssl.org", DYNAMIC, pkg_config="libcrypto"),
]
# What the packages' compiler brings: the C++ library.
RUNTIME = Part("llvm-runtime", "Apache-2.0 WITH LLVM-exception", "https://libcxx.llvm.org", STATIC)


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def without_revision(version: str) -> str:
    return re.sub(r"^\d+:|[-+].*$", "", version)


def bundled(path: str) -> list[tuple[Part, str]]:
    """The parts of packages, with their versions."""
    versions = dict(line.split() for line in Path(path).read_text(encoding="utf-8").splitlines())
    parts = [part._replace(link=STATIC) for part in PARTS] + [RUNTIME]
    return [(part, without_revision(versions[part.name])) for part in parts]


def version_of(part: Part) -> str:
    if part.pkg_config:
        return output_of("pkg-config", "--modversion", part.pkg_config)
    version = output_of("dpkg-query", "--showformat=${Version}", "--show", part.package)
    return without_revision(version)


def package(name: str, version: str, license: str, home: str) -> dict[str, Any]:
    return {
        "SPDXID": f"SPDXRef-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": home,
        "licenseConcluded": license,
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
    }


def document(version: str, timestamp: str, parts: list[tuple[Part, str]], kind: str) -> dict[str, Any]:
    own = package("libsmdebug", version, "Apache-2.0", "NOASSERTION")
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], part.link, f"SPDXRef-{part.name}") for part, _ in parts]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"libsmdebug-{version}{kind}",
        "documentNamespace": f"https://spdx.org/spdxdocs/libsmdebug-{version}{kind}",
        "creationInfo": {"created": timestamp, "creators": ["Organization: libsmdebug developers"]},
        "packages": [own, *(package(part.name, its, part.license, part.home) for part, its in parts)],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


if __name__ == "__main__":
    if len(sys.argv) > 3:
        result = document(*sys.argv[1:3], bundled(sys.argv[3]), "-bundled")
    else:
        result = document(*sys.argv[1:3], [(part, version_of(part)) for part in PARTS], "")
    print(json.dumps(result, indent=2))
