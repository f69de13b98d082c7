"""The pages list the Debian packages that building from source needs: all of them, and no others."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPENDENCIES = (ROOT / "cmake/Dependencies.cmake").read_text()
# What a build without tests looks for.
NEEDED = re.sub(r"^if\(SMDEBUG_TESTS\).*?^endif\(\)", "", DEPENDENCIES, flags=re.DOTALL | re.MULTILINE)
TOOLS = {
    "python": {"g++", "pkg-config", "python3-dev", "python3-venv"},
    "java": {"cmake", "default-jdk-headless", "g++", "maven", "ninja-build", "pkg-config", "python3-venv"},
}


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def owner_of(path):
    return output_of("dpkg", "-S", path).split(":")[0]


@pytest.fixture(scope="module")
def libraries():
    modules = re.findall(r"find_module\(\w+ ([\w-]+) ", NEEDED)
    headers = re.findall(r"find_headers\(\w+ (\S+) ", NEEDED)
    assert len(modules) == 7 and len(headers) == 2
    files = [f"{output_of('pkg-config', '--variable=pcfiledir', name)}/{name}.pc" for name in modules]
    files += [f"/usr/include/{name}" for name in headers]
    return {owner_of(path) for path in files}


@pytest.mark.parametrize("page", TOOLS)
def test_the_page_lists_what_the_build_looks_for(page, libraries):
    text = (ROOT / f"docs/{page}.md").read_text()
    install = text[text.index("\n## Install") :]
    [listed] = re.findall(r"^```text\n(.*?rapidjson-dev.*?)^```", install, re.DOTALL | re.MULTILINE)
    assert set(listed.split()) == libraries | TOOLS[page]


@pytest.mark.parametrize("page", TOOLS)
def test_setup_installs_what_the_page_lists(page):
    setup = (ROOT / "tools/setup.sh").read_text()
    groups = re.findall(r'^(?:demo|build|java)="([^"]*)"', setup, re.MULTILINE)
    installed = " ".join(groups).split()
    text = (ROOT / f"docs/{page}.md").read_text()
    [listed] = re.findall(r"^```text\n([^`]*rapidjson-dev.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert set(listed.split()) <= set(installed)
