"""Compiles and runs the Java of the documentation.

Every block is a source file with one class, whose name is unique; a line
`System.out.println(...); // text` must print that text.  SMDEBUG_JAR names the jar of the
package; the default is the jar in bindings/java/target.
"""

import os
import re
from pathlib import Path

import pytest
from main_build import VERSION
from snippets import ROOT, check_output, run
from test_snippets import bucket, environment_for, programs_in  # noqa: F401

JAR = Path(os.environ.get("SMDEBUG_JAR", ROOT / f"bindings/java/target/smdebug-{VERSION}.jar"))
PROGRAMS = programs_in("java")


def class_of(text):
    [name] = re.findall(r"^class (\w+) \{$", text, re.MULTILINE)
    return name


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Compiles all programs at once."""
    assert JAR.exists(), f"{JAR} does not exist; run tools/test_java.sh"
    folder = tmp_path_factory.mktemp("java")
    sources = []
    for text in (program.values[2] for program in PROGRAMS):
        sources.append(folder / f"{class_of(text)}.java")
        sources[-1].write_text(text, encoding="utf-8")
    run(["javac", "-encoding", "UTF-8", "-cp", JAR, "-d", folder, *sources], folder)
    return folder


@pytest.mark.parametrize(("page", "line", "text"), PROGRAMS)
def test_java(page, line, text, classes, tmp_path, request):
    environment = environment_for(text, request)
    command = ["java", "-Xcheck:jni", "-cp", f"{JAR}:{classes}", class_of(text)]
    check_output("java", text, run(command, tmp_path, **environment))
