"""Creates a Go module proxy in a folder: go_proxy.py PROXY MODULE_FOLDER VERSION.

The proxy serves this one module to `go get`; use it with GOPROXY=file://PROXY.
"""

import json
import re
import sys
import zipfile
from pathlib import Path


def main(proxy: str, folder: str, version: str) -> None:
    root = Path(folder)
    go_mod = (root / "go.mod").read_text(encoding="utf-8")
    [module] = re.findall(r"^module (\S+)$", go_mod, re.MULTILINE)
    versions = Path(proxy, module, "@v")
    versions.mkdir(parents=True)
    (versions / "list").write_text(f"{version}\n", encoding="utf-8")
    (versions / f"{version}.mod").write_text(go_mod, encoding="utf-8")
    info = {"Version": version, "Time": "2026-01-01T00:00:00Z"}
    (versions / f"{version}.info").write_text(json.dumps(info), encoding="utf-8")
    with zipfile.ZipFile(versions / f"{version}.zip", "w") as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                # The same time in each zip, so that equal modules are equal files.
                member = zipfile.ZipInfo(f"{module}@{version}/{path.relative_to(root)}")
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, path.read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
