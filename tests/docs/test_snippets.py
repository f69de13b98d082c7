"""Runs the code blocks of the documentation, and follows its links.

The language of a block decides how it is tested.  Each program runs alone, in an empty folder:
  python      run; a line `print(...)  # text` must print that text.  Those of a page on a framework
              are run by tests/frameworks, in the environment of that framework; those of the tutorial,
              one after the other, by test_tutorial.py
  c, cpp      compiled against the headers, linked with the library, run
  go, java    test_go_snippets.py, test_java_snippets.py
  rust, javascript  tests/embed
  cmake       the CMakeLists.txt of a user, built with the page's first program in C or C++
  sh          `make <target>` must be a target of the Makefile
  json        must be valid JSON
  text, xml   shown only: output, commands, excerpts of files
If a page uses s3://my-bucket, the test starts a server with that bucket.
SMDEBUG_BUILD names the build folder; the default is build/.  PYTHONPATH may name the Python
package.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from snippets import FENCE, ROOT, blocks, name_of, run, run_python

sys.path.insert(0, str(ROOT / "tests/s3"))

from servers import ACCESS, SECRET, run_versitygw  # noqa: E402

BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
PACKAGE = os.environ.get("PYTHONPATH") or str(BUILD / "python")
PAGES = sorted(
    [*ROOT.glob("*.md"), ROOT / "cpp_impl/README.md"]
    + [page for folder in ("docs", "examples") for page in (ROOT / folder).rglob("*.md")]
)
KNOWN_FENCES = {"python", "c", "cpp", "cmake", "sh", "json", "text", "java", "javascript", "rust", "xml", "go"}


def pages_with(language):
    return [pytest.param(page, id=name_of(page)) for page in PAGES if blocks(page, language)]


def programs_in(language):
    """Returns the (page, line, text) of each block in a language."""
    return [
        pytest.param(page, line, text, id=f"{name_of(page)}:{line}")
        for page in PAGES
        for line, text in blocks(page, language)
    ]


def environment_for(text, request):
    """Returns the environment of a program.  Starts a server if the program uses s3://my-bucket."""
    return request.getfixturevalue("bucket") if "s3://my-bucket" in text else {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_are_known(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0, "a fence is not closed"
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        assert match["language"] in KNOWN_FENCES, f"line {line}: unknown language; use one of the languages listed above"


@pytest.mark.parametrize("page", pages_with("json"))
def test_json(page):
    for _, text in blocks(page, "json"):
        json.loads(text)


@pytest.fixture
def bucket(tmp_path):
    """Starts a server with my-bucket, and returns the environment of its clients."""
    for server in run_versitygw(tmp_path / "server"):
        server.client().create_bucket(Bucket="my-bucket")
        yield {
            "AWS_ENDPOINT_URL": server.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }


def runs_elsewhere(page):
    """Returns true if another test runs the Python of a page."""
    # The tests of keras2 run docs/keras.md, those of notebook docs/notebooks.md.
    frameworks = ROOT / "tests/frameworks"
    of_framework = [frameworks / page.stem, *frameworks.glob(f"{page.stem}[0-9]")]
    return page.stem in ("tutorial", "llm_rules", "notebooks") or any(each.is_dir() for each in of_framework)


@pytest.mark.parametrize(
    ("page", "line", "text"),
    [
        program
        for program in programs_in("python")
        # README.md has programs with PyTorch.
        if not runs_elsewhere(program.values[0]) and "\nimport torch\n" not in f"\n{program.values[2]}"
    ],
)
def test_python(page, line, text, tmp_path, request):
    environment = environment_for(text, request)
    run_python(sys.executable, page, line, text, tmp_path / "work", PYTHONPATH=PACKAGE, **environment)


WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {
    "c": (".c", ["cc", "-std=c11"]),
    "cpp": (".cc", ["c++", "-std=c++17", "-Wshadow", "-Wconversion", "-Wsign-conversion"]),
}


def compile_and_run(language, text, folder):
    suffix, compiler = COMPILERS[language]
    source, program = folder / f"page{suffix}", folder / "page"
    source.write_text(text, encoding="utf-8")
    run(
        [*compiler, *WARNINGS, f"-I{ROOT / 'capi/include'}", source, "-o", program]
        + [f"-L{BUILD / 'lib'}", "-lsmdebug", f"-Wl,-rpath,{BUILD / 'lib'}"],
        folder,
    )
    return run([program], folder, LD_LIBRARY_PATH=str(BUILD / "lib"))


COMPILED_BLOCKS = [
    pytest.param(language, text, id=f"{name_of(page)}:{line}")
    for page in PAGES
    for language in COMPILERS
    for line, text in blocks(page, language)
]


@pytest.mark.parametrize(("language", "text"), COMPILED_BLOCKS)
def test_compiled(language, text, tmp_path):
    assert re.search(r"\bint main\(", text), "a block of C or C++ must be a whole program; mark excerpts as `text`"
    printed = compile_and_run(language, text, tmp_path)
    for expected in re.findall(r"^// prints: (.+)$", text, re.MULTILINE):
        assert expected in printed


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists() or not (BUILD / "smdebug.pc").exists():
        pytest.skip("no configured build of the whole project")
    prefix = tmp_path_factory.mktemp("prefix")
    run(["cmake", "--install", BUILD, "--prefix", prefix], prefix)
    return prefix


@pytest.mark.parametrize("page", pages_with("cmake"))
def test_cmake(page, installed, tmp_path):
    [(_, lists)] = blocks(page, "cmake")
    source = re.search(r"add_executable\(\w+ (\S+\.(?:c|cc))\)", lists).group(1)
    language = "c" if source.endswith(".c") else "cpp"
    (tmp_path / "CMakeLists.txt").write_text(lists, encoding="utf-8")
    (tmp_path / source).write_text(blocks(page, language)[0][1], encoding="utf-8")
    run(["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={installed}"], tmp_path)
    run(["cmake", "--build", "b"], tmp_path)


def test_pkg_config(installed, tmp_path):
    [folder] = installed.glob("lib*/**/pkgconfig")
    command = ["pkg-config", "--cflags", "--libs", "smdebug"]
    found = run(command, tmp_path, PKG_CONFIG_PATH=str(folder))
    (tmp_path / "a.c").write_text(
        "#include <smdebug.h>\nint main(void) { return smd_abi_level() != SMD_ABI_LEVEL; }\n"
    )
    run(["cc", "a.c", "-o", "a", *found.split()], tmp_path)
    run(["./a"], tmp_path, LD_LIBRARY_PATH=str(folder.parent))


MAKE_COMMANDS = [
    pytest.param(target, id=f"{name_of(page)}-{target}")
    for page in PAGES
    for target in sorted(
        {
            word
            for _, text in blocks(page, "sh")
            for command in re.findall(r"^(?:\w+=\S+ )*make\b(.*)$", text, re.MULTILINE)
            for word in command.split("#")[0].split()
            if "=" not in word and not word.startswith("-")
        }
    )
]


@pytest.mark.parametrize("target", MAKE_COMMANDS)
def test_make_targets_exist(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    targets = set()
    for match in re.finditer(r"^(?:\.PHONY: )?([a-z][\w .-]*):", makefile, re.MULTILINE):
        targets.update(match.group(1).split())
    for match in re.finditer(r"^\.PHONY:(.*)$", makefile, re.MULTILINE):
        targets.update(match.group(1).split())
    assert target in targets


def anchors(page):
    """Returns the link targets of the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower()
        yield plain.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in set(anchors(target)), f"{link}: no such heading"


def sources(*folders):
    return "\n".join(
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".cc", ".h", ".py", ".c"}
    )


def test_environment_variables_are_read_somewhere():
    read = sources("cpp_impl", "capi", "bindings")
    # docs/compatibility.md also names variables that are not read.
    for page in (ROOT / "docs/python.md", ROOT / "docs/c.md", ROOT / "README.md"):
        for name in re.findall(r"\bSMDEBUG_[A-Z_]+\b", page.read_text(encoding="utf-8")):
            assert name in read, f"{name_of(page)} names {name}"


def test_every_error_code_is_explained():
    header = (ROOT / "capi/include/smdebug/error.h").read_text(encoding="utf-8")
    codes = re.findall(r"^  SMD_([A-Z_]+) = (\d+)", header, re.MULTILINE)
    assert len(codes) > 20
    page = (ROOT / "docs/error-handling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    assert rows == codes


def test_every_option_is_explained():
    for header, name_of_page in (
        ("hook_options.h", "docs/c.md"),
        ("trial_options.h", "docs/c.md"),
        ("store.h", "docs/s3.md"),
    ):
        page = (ROOT / name_of_page).read_text(encoding="utf-8")
        text = (ROOT / "capi/include/smdebug" / header).read_text(encoding="utf-8")
        begin = "Options of a hook" if header == "store.h" else "Sets one option by its name"
        comment = re.search(begin + r".*?\*/", text, re.DOTALL).group(0)
        names = re.findall(r"^ \*   ([a-z0-9_]+(?:, [a-z0-9_]+)*)(?:  |$)", comment, re.MULTILINE)
        assert names
        for name in ", ".join(names).split(", "):
            assert f"`{name}`" in page, f"{name_of_page} does not explain the option {name}"


def test_required_programs_are_installed():
    assert shutil.which("cc"), "a C compiler is needed to test the documentation"


def test_the_bytes_of_the_example_record(tmp_path):
    page = ROOT / "docs/formats.md"
    [example] = [text for _, text in blocks(page, "text") if "Value.tag" in text]
    lines = re.findall(r"^(?:[0-9a-f]{2} )*[0-9a-f]{2}(?=  |$)", example, re.MULTILINE)
    documented = bytes.fromhex("".join(lines))
    program = (
        "import numpy as np, smdebug as smd\n"
        "from smdebug.core.writer import FileWriter\n"
        "with FileWriter('t', 'worker_0', 3) as writer:\n"
        "    writer.write_tensor(np.array([1, 2], np.float32), 'w', mode=smd.modes.TRAIN,\n"
        "                        mode_step=3, timestamp=1600000000.25)\n"
        "    writer.write_shape('v', (4, 3), mode=smd.modes.TRAIN, mode_step=3)\n"
    )
    run([sys.executable, "-c", program], tmp_path, PYTHONPATH=PACKAGE)
    [events] = tmp_path.glob("t/events/*/*.tfevents")
    assert events.read_bytes() == documented
    [index] = tmp_path.glob("t/index/*/*.json")
    [shown] = [text for _, text in blocks(page, "text") if text.startswith('{"meta"')]
    assert index.read_text() == re.sub(r"\n +", " ", shown.strip())


def test_every_layer_of_the_engine_is_described():
    layers = {path.name for path in (ROOT / "cpp_impl").iterdir() if path.is_dir()}
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `cpp_impl/(\w+)` \|", contributing, re.MULTILINE)) == layers
    readme = (ROOT / "cpp_impl/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", readme, re.MULTILINE)
    assert {layer for layer, _ in rows} == layers
    for layer, headers in rows:
        for header in re.findall(r"`(\w+\.h)`", headers):
            assert (ROOT / "cpp_impl" / layer / header).exists(), f"{layer}/{header}"
