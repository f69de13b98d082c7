"""Compiles and runs the Java of the documentation.

The statements of a page's blocks are one program, in their order; a line
`System.out.println(...); // text` must print that text.  The package is the jar that
SMDEBUG_JAR names, or that Maven left in bindings/java/target.
"""

import os
import re
from pathlib import Path

import pytest
from test_snippets import ROOT, blocks, bucket, name_of, pages_with, run  # noqa: F401

JAR = Path(os.environ.get("SMDEBUG_JAR", ROOT / "bindings/java/target/smdebug-1.0.0.jar"))
PRINTED = re.compile(r"^(\s*)System\.out\.println\((.+)\); // (.+)$", re.MULTILINE)
IMPORT = re.compile(r"^import [\w.*]+;$", re.MULTILINE)
PROGRAM = """{imports}
final class {name} {{
  private static void expect(String expected, Object printed) {{
    if (!expected.equals(String.valueOf(printed))) {{
      throw new AssertionError("prints " + printed + " where the page says " + expected);
    }}
  }}

  public static void main(String[] arguments) throws Exception {{
{statements}
  }}
}}
"""
PAGES = pages_with("java")


def class_of(page):
    return "Page_" + re.sub(r"\W", "_", name_of(page))


def program_of(page):
    imports, statements = [], []
    for _, text in blocks(page, "java"):
        imports += IMPORT.findall(text)
        text = PRINTED.sub(r'\1expect("\3", \2);', IMPORT.sub("", text))
        # Blocks may use the same names.
        statements.append("{\n" + text + "}")
    return PROGRAM.format(
        name=class_of(page),
        imports="\n".join(sorted(set(imports))),
        statements="\n".join(statements),
    )


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """All pages, compiled at once."""
    assert JAR.exists(), f"there is no {JAR}; tools/test_java.sh makes it"
    folder = tmp_path_factory.mktemp("java")
    sources = []
    for page in (parameter.values[0] for parameter in PAGES):
        sources.append(folder / f"{class_of(page)}.java")
        sources[-1].write_text(program_of(page), encoding="utf-8")
    run(["javac", "-encoding", "UTF-8", "-cp", JAR, "-d", folder, *sources], folder)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_java(page, classes, tmp_path, request):
    shows_s3 = any("s3://my-bucket" in text for _, text in blocks(page, "java"))
    environment = request.getfixturevalue("bucket") if shows_s3 else {}
    run(["java", "-Xcheck:jni", "-cp", f"{JAR}:{classes}", class_of(page)], tmp_path, **environment)
