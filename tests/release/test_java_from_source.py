"""The Java package, built and tested by Maven in a Debian 12 that has the packages of docs/java.md and no others."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile

import pytest
from roots import CACHE, ROOT, run


@pytest.mark.timeout(2700)
def test_maven_builds_it_with_the_packages_of_the_page(release, version, debian_12_to_build_java, tmp_path):
    root = debian_12_to_build_java
    # The root has no network: it gets what Maven and pip fetch.
    wheels = ["pip", "download", "--quiet", "--dest", tmp_path / "wheels", "-r", ROOT / "bindings/requirements.txt"]
    run([sys.executable, "-m", *wheels], 300)
    with root.folder() as work:
        shutil.copytree(CACHE / "maven", work / "maven")
        shutil.copytree(tmp_path / "wheels", work / "wheels")
        with tarfile.open(release / f"libsmdebug-{version}-source.tar.gz") as sources:
            sources.extractall(work, filter="tar")
        install = ["mvn", "-B", "-q", "-o", "-f", f"libsmdebug-{version}/bindings/java", "-Dmaven.repo.local=/test/maven", "install"]
        root.run(install, 2400, PIP_NO_INDEX="1", PIP_FIND_LINKS="/test/wheels", CMAKE_BUILD_PARALLEL_LEVEL=str(os.cpu_count()))
        installed = work / f"maven/org/smdebug/smdebug/{version}"
        assert (installed / f"smdebug-{version}.jar").stat().st_size > 1_000_000
        reports = list(work.glob("libsmdebug-*/bindings/java/target/surefire-reports/*.xml"))
        assert len(reports) > 10 and not any("<failure" in each.read_text() or "<skipped" in each.read_text() for each in reports)
