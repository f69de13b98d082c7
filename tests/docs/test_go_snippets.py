"""Builds and runs the Go of the documentation.

The blocks of a page are one program, in their order: a block that begins with `type` or
`func` is a declaration, any other belongs to `func run(ctx context.Context) error`.  A line
`fmt.Println(...) // text` must print that text.
"""

import re

import pytest
from test_snippets import (  # noqa: F401
    BUILD,
    ROOT,
    blocks,
    bucket,
    name_of,
    pages_with,
    run,
)

MODULE = "github.com/libsmdebug/libsmdebug/bindings/go"
PACKAGES = ["errors", "io/fs", "log", "log/slog", "math", "time", f"{MODULE}/smdebug"]
PRINTED = re.compile(r"^(\s*)fmt\.Println\((.+)\) // (.+)$", re.MULTILINE)
PROGRAM = """package main

import (
"context"
"fmt"
"os"
"strings"
{imports}
)

func expect(expected string) func(values ...any) {{
	return func(values ...any) {{
		if printed := strings.TrimSpace(fmt.Sprintln(values...)); printed != expected {{
			fmt.Fprintf(os.Stderr, "prints %q where the page says %q\\n", printed, expected)
			os.Exit(1)
		}}
	}}
}}

func main() {{
	if err := run(context.Background()); err != nil {{
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}}
}}

{declarations}
func run(ctx context.Context) error {{
{statements}
	return nil
}}
"""
PAGES = pages_with("go")


def program_of(page):
    declarations, statements = "", ""
    for line, text in blocks(page, "go"):
        # What the compiler says then names the page and its line.
        text = f"//line {page}:{line}\n" + PRINTED.sub(r"\1expect(`\3`)(\2)", text)
        if re.match(r"(type|func) ", text.split("\n", 1)[1]):
            declarations += text
        else:
            statements += text
    used = [p for p in PACKAGES if f"{p.split('/')[-1]}." in declarations + statements]
    return PROGRAM.format(
        imports="\n".join(f'"{package}"' for package in used),
        declarations=declarations,
        statements=statements,
    )


def folder_of(page):
    return re.sub(r"\W", "_", name_of(page))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder with the programs of all pages, built at once."""
    module = tmp_path_factory.mktemp("go")
    (module / "go.mod").write_text(
        f"module page\n\ngo 1.24\n\nrequire {MODULE} v1.0.0\n\n"
        f"replace {MODULE} => {ROOT / 'bindings/go'}\n"
    )
    for page in (parameter.values[0] for parameter in PAGES):
        (module / folder_of(page)).mkdir()
        source = module / folder_of(page) / "main.go"
        source.write_text(program_of(page), encoding="utf-8")
    build = '. "$here/tools/go_env.sh" && "$go" vet ./... && "$go" build -o bin/ ./...'
    run(["sh", "-ec", build], module, here=str(ROOT), build=str(BUILD))
    return module / "bin"


@pytest.mark.parametrize("page", PAGES)
def test_go(page, programs, tmp_path, request):
    shows_s3 = any("s3://my-bucket" in text for _, text in blocks(page, "go"))
    environment = request.getfixturevalue("bucket") if shows_s3 else {}
    run([programs / folder_of(page)], tmp_path, **environment)
