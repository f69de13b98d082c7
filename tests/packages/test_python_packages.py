"""The source package and the editable install, as users get them; wheels are in tests/release."""

import re
import sys
import tomllib

import pytest
from environments import HERE, ROOT, interpreters, run

pytestmark = pytest.mark.timeout(1600)  # the first test builds the library

MEGABYTE = 10**6


def needed(path):
    """The libraries that one asks the dynamic linker for."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", path)))


def test_running_python_is_among_them():
    assert sys.version_info[:2] in interpreters()


def test_source_package(sources, source_package, environment, tmp_path):
    """As `pip install` does it, with the libraries of the system."""
    assert source_package.stat().st_size < 1.5 * MEGABYTE
    environment.build(sources)
    printed = environment.run(HERE / "smoke.py", tmp_path / "run")
    [package] = environment.folder.glob("lib/*/site-packages/smdebug")
    assert printed.startswith(str(package))
    assert {"libcurl.so.4", "libcrypto.so.3"} <= needed(package / "libsmdebug.so.1")


def test_editable(sources, environment, tmp_path):
    environment.build("-e", sources)
    printed = environment.run(HERE / "smoke.py", tmp_path / "run")
    package = sources / "bindings/python/src/smdebug"
    assert printed.startswith(str(package))
    with (package / "doctor.py").open("a", encoding="utf-8") as edited:
        edited.write("\nEDITED = True\n")
    script = tmp_path / "edited.py"
    script.write_text("import smdebug\nprint(smdebug.doctor.EDITED)\n")
    assert environment.run(script) == "True\n"


def test_pins_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = (ROOT / "bindings/requirements.txt").read_text(encoding="utf-8")
    [swig] = re.findall(r"^swig==.+$", pins, re.MULTILINE)
    assert swig in project["build-system"]["requires"]
