"""The Node.js package of a release, which brings the library: `npm install` alone."""

from __future__ import annotations

import json
import shutil

import pytest
from installing import first_block
from roots import run
from systems import NODE_ARCHITECTURE

PRINTED = "gradient/layer1.weight"


@pytest.fixture(scope="module")
def project_for(node_package, tmp_path_factory):
    """Makes a user's project for an architecture."""

    def make(architecture):
        folder = tmp_path_factory.mktemp(architecture)
        (folder / "package.json").write_text(json.dumps({"name": "user", "private": True, "type": "module"}))
        platform = ["--os=linux", f"--cpu={NODE_ARCHITECTURE[architecture]}", "--libc=glibc"]
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *platform, node_package], cwd=folder)
        (folder / "first.mjs").write_text(first_block("docs/node.md", "javascript"))
        return folder

    return make


def test_install_and_run(project_for, tried):
    assert PRINTED in run(["node", "first.mjs"], cwd=project_for("x86_64"))
    tried("Debian 12", "npm", "x86_64", "ran")


def test_debian_13(project_for, debian_13, tried):
    with debian_13.folder() as work:
        shutil.copytree(project_for("x86_64"), work, symlinks=True, dirs_exist_ok=True)
        assert PRINTED in debian_13.run(["node", "first.mjs"])
    tried("Debian 13", "npm", "x86_64", "ran")


def test_debian_13_for_arm(project_for, debian_13_arm, tried):
    folder = project_for("aarch64")
    printed = debian_13_arm.emulated(debian_13_arm.path / "usr/bin/node", "first.mjs", cwd=folder)
    assert PRINTED in printed
    tried("Debian 13", "npm", "aarch64", "ran")
