#!/usr/bin/env python3
"""Fails if an include leads upward or sideways between the folders, or if a file uses a
library that is reserved for another file."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each folder of cpp_impl, and the other folders that it may include.
ALLOWED = {
    "base": set(),
    "tensor": {"base"},
    "format": {"base", "tensor"},
    "net": {"base"},
    "aws": {"base", "net"},
    "storage": {"base", "net", "aws"},
    "config": {"base", "tensor"},
    "rules": {"base", "tensor", "config"},
    "diagnose": {"base", "tensor", "config", "rules"},
    "profile": {"base", "storage", "config"},
    "record": {"base", "tensor", "format", "storage", "config", "rules"},
    "analyze": {"base", "tensor", "format", "storage", "config", "rules"},
    "tables": {"base", "tensor", "format", "storage", "config", "rules", "profile", "analyze"},
    "profile_rules": {"base", "tensor", "storage", "config", "rules", "profile"},
}

# Rules inside a layer: the files of its own layer that a subfolder may not include.
RULES = {
    "rules/support": r"rules/(builtin/|rule_set|evaluation|registry)",
    "rules/builtin": r"rules/(rule_set|evaluation|registry)",
    "rules": r"rules/builtin/(?!builtin_rules\.h)",
}

# Headers of other projects, and the files that may include them.
OWNERS = {
    r"cJSON\.h|cjson/": r"cpp_impl/base/json\.cc",
    r"pcre2\.h": r"cpp_impl/base/regex\.cc",
    r"hwy/": r"cpp_impl/tensor/\w+_kernels\.cc",
    r"curl/": r"cpp_impl/net/curl_\w+\.cc",
    r"openssl/": r"cpp_impl/aws/digest\.cc",
    r"rapidjson/": r"cpp_impl/format/index_json\w*\.(cc|h)",
    r"protobuf-c|.*\.pb-c\.h": r"tests/.*",
    r"CLI/": r"cli/arguments\.cc",
    r"microhttpd\.h": r"cli/serve/http_server\.cc",
    r"zlib\.h": r"cli/serve/gzip\.cc",
    r"sys/inotify\.h|linux/openat2\.h": r"cpp_impl/storage/local_\w+\.cc",
}

# Files that use a layer of the engine that no interface offers: webhooks need its HTTP client.
EXCEPTIONS = {"cli/serve/alert_web.cc": {"net"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def faults(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    found = []
    for header in INCLUDE.findall(path.read_text()):
        layer = header.split("/")[0]
        parts = name.split("/")
        if parts[0] == "cpp_impl":
            if header.startswith("smdebug"):
                found.append(f"{name}: the engine does not know the C interface ({header})")
            if layer in ALLOWED and layer != parts[1] and layer not in ALLOWED[parts[1]]:
                found.append(f"{name}: {parts[1]} may not include {header}")
            if re.match(RULES.get("/".join(parts[1:-1]), "$"), header):
                found.append(f"{name}: {'/'.join(parts[1:-1])} may not include {header}")
        elif parts[0] in ("examples", "cli", "bindings") and layer in ALLOWED:
            if layer in EXCEPTIONS.get(name, set()):
                continue
            found.append(f"{name}: only the C interface is known here, not {header}")
        elif name.startswith("capi/include") and not re.match(r"smdebug/|std(def|int)\.h", header):
            found.append(f"{name}: a public header may not include {header}")
        for library, owner in OWNERS.items():
            if re.match(library, header) and not re.fullmatch(owner, name):
                found.append(f"{name}: only {owner} may include {header}")
    return found


def main() -> int:
    folders = ("cpp_impl", "capi", "bindings", "examples", "cli")
    files = [p for f in folders for p in (ROOT / f).rglob("*") if p.suffix in (".h", ".cc", ".c")]
    found = [fault for path in sorted(files) for fault in faults(path)]
    print("\n".join(found) or f"{len(files)} files include downward only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
