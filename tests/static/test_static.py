"""The static library as its users get it: installed, then linked by pkg-config and by CMake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("embed", "packages")]
from environments import new_environment  # noqa: E402
from installing import ROOT, compile_library, copy_of_sources, first_block, run  # noqa: E402
from main_build import in_groups  # noqa: E402
from rust_projects import packed_crates, project  # noqa: E402

PROGRAMS = {
    "c": ("README.md", "c", "C", "4 x 3, 1 finding(s)"),
    "cc": ("docs/cpp.md", "cpp", "CXX", "loss at step 8: 0.111"),
}
OPTIONS = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_SHARED_LIBS=OFF",
           "-DSMDEBUG_CLI=OFF", "-DSMDEBUG_DEVELOPER=ON", f"-D{in_groups()}"]  # fmt: skip


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("static")
    sources = copy_of_sources(folder / "sources")
    build = sources / "build-static"  # `build` is that of pip
    run(["cmake", "-S", sources, "-B", build, *OPTIONS], folder)
    compile_library(build, sources)
    run(["cmake", "--install", build, "--prefix", folder / "prefix"], folder)
    return folder / "prefix"


def write_program(language, folder):
    page, fence, _, expected = PROGRAMS[language]
    (folder / f"first.{language}").write_text(first_block(page, fence), encoding="utf-8")
    return expected


def check_program(program, expected, folder):
    assert expected in run([program], folder)
    needed = run(["readelf", "-d", program], folder)
    assert "libcurl" in needed
    assert "libsmdebug" not in needed


def test_no_shared_library_is_installed(prefix):
    assert [path.name for path in prefix.rglob("libsmdebug*")] == ["libsmdebug.a"]


@pytest.mark.parametrize("language", PROGRAMS)
def test_pkg_config(language, prefix, tmp_path):
    expected = write_program(language, tmp_path)
    [folder] = prefix.glob("lib/**/pkgconfig")
    command = ["pkg-config", "--static", "--cflags", "--libs", "smdebug"]
    flags = run(command, tmp_path, PKG_CONFIG_PATH=folder).split()
    compiler = {"c": "cc", "cc": "c++"}[language]
    run([compiler, f"first.{language}", "-o", "first", *flags], tmp_path)
    check_program(tmp_path / "first", expected, tmp_path)


@pytest.mark.parametrize("language", PROGRAMS)
def test_cmake(language, prefix, tmp_path):
    expected = write_program(language, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.23)\n"
        f"project(first LANGUAGES {PROGRAMS[language][2]})\n"
        "find_package(smdebug 1.0 REQUIRED)\n"
        f"add_executable(first first.{language})\n"
        "target_link_libraries(first PRIVATE smdebug::smdebug)\n",
        encoding="utf-8",
    )
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    check_program(tmp_path / "build/first", expected, tmp_path)


def test_a_subproject(prefix, tmp_path):
    """A project that includes the sources, and wants all its libraries static.  Compiling would
    only repeat what `prefix` has compiled: the command to link shows whether the rest is found."""
    write_program("c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(first LANGUAGES C CXX)\n"
        "set(BUILD_SHARED_LIBS OFF)\n"
        f"add_subdirectory({prefix.parent / 'sources'} smdebug)\n"
        "add_executable(first first.c)\n"
        "target_link_libraries(first PRIVATE smdebug::smdebug)\n",
        encoding="utf-8",
    )
    run(["cmake", "-S", ".", "-B", "build", *OPTIONS[:3]], tmp_path)
    commands = run(["ninja", "-C", "build", "-t", "commands", "first"], tmp_path)
    link = commands.strip().splitlines()[-1]
    for library in ("libsmdebug.a", "libcjson", "libpcre2-8", "libhwy", "libcurl", "libcrypto"):
        assert library in link


# ---- a build without S3, of libraries that the including project has ----

WITHOUT_S3 = r"""
#include <smdebug.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", smd_error_message(error));
  exit(1);
}

static void expect(smd_error *error, const char *message) {
  if (smd_error_code(error) != SMD_UNSUPPORTED || strcmp(smd_error_message(error), message) != 0) {
    fprintf(stderr, "%s\n", smd_error_message(error));
    exit(1);
  }
  smd_error_free(error);
}

static const char kMessage[] =
    "s3://bucket/run: this library was built without S3; build it with -DSMDEBUG_S3=ON, which "
    "needs libcurl and OpenSSL, or give a folder";

int main(void) {
  smd_trial *trial;
  expect(smd_trial_open("s3://bucket/run", NULL, &trial), kMessage);
  smd_hook_options *options;
  must(smd_hook_options_new(&options));
  must(smd_hook_options_set(options, "out_dir", "s3://bucket/run"));
  smd_hook *hook;
  expect(smd_hook_new(options, &hook), kMessage);
  smd_store_report *report;
  must(smd_store_check("s3://bucket/run", NULL, &report));
  if (smd_store_report_count(report) != 1 || smd_store_report_code(report, 0) != SMD_UNSUPPORTED) return 1;
  smd_store_report_free(report);
  must(smd_hook_options_set(options, "out_dir", "run"));
  must(smd_hook_new(options, &hook));
  const double loss = 0.5;
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = &loss;
  view.dtype = SMD_FLOAT64;
  must(smd_hook_begin_step(hook, NULL));
  must(smd_hook_save(hook, "loss", &view));
  must(smd_hook_end_step(hook));
  must(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_hook_options_free(options);
  must(smd_trial_open("run", NULL, &trial));
  smd_tensor *tensor;
  must(smd_trial_tensor(trial, "loss", &tensor));
  smd_value *value;
  must(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, &value));
  double read = 0;
  must(smd_value_to_double(value, &read));
  printf("local %d, s3 %d, loss %g\n", smd_has_feature("local"), smd_has_feature("s3"), read);
  smd_value_free(value);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
  return 0;
}
"""


def project_without_s3(sources, folder, libraries):
    """A project with targets of its own for the libraries that libsmdebug needs."""
    (folder / "main.c").write_text(WITHOUT_S3, encoding="utf-8")
    own = "".join(
        f"add_library({target} INTERFACE)\ntarget_link_libraries({target} INTERFACE {library})\n"
        for target, library in libraries.items()
    )
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C CXX)\n"
        f"set(SMDEBUG_S3 OFF)\n{own}include(FetchContent)\n"
        f'FetchContent_Declare(smdebug SOURCE_DIR "{sources}")\nFetchContent_MakeAvailable(smdebug)\n'
        "add_executable(user main.c)\ntarget_link_libraries(user PRIVATE smdebug::smdebug)\n",
        encoding="utf-8",
    )


def library_of(module):
    [folder] = run(["pkg-config", "--variable=libdir", module], ROOT).split()
    return f"{folder}/{module if module.startswith('lib') else 'lib' + module}.so"


def test_without_s3_and_without_packages(prefix, tmp_path):
    sources = prefix.parent / "sources"
    libraries = {"cjson": library_of("libcjson"), "pcre2-8-static": library_of("libpcre2-8"), "hwy": library_of("libhwy")}
    project_without_s3(sources, tmp_path, libraries)
    # Where `prefix` was built, so that the objects are the same.
    build = sources / "build-without-s3"
    nothing = {"PKG_CONFIG_LIBDIR": tmp_path, "PKG_CONFIG_PATH": ""}
    options = [each for each in OPTIONS if "SHARED" not in each]
    run(["cmake", "-S", ".", "-B", build, *options], tmp_path, **nothing)
    compile_library(build, sources)
    assert run([build / "user"], tmp_path) == "local 1, s3 0, loss 0.5\n"
    [library] = build.rglob("libsmdebug.so.1")
    needed = run(["readelf", "-d", library], tmp_path)
    assert "libcjson" in needed and "libcurl" not in needed and "libcrypto" not in needed


@pytest.mark.timeout(2700)
def test_pip_without_s3(prefix, tmp_path):
    """A package without the program, which says so."""
    environment = new_environment(tmp_path / "venv")
    environment.build("-Ccmake.define.SMDEBUG_S3=OFF", prefix.parent / "sources")
    assert "without numpy" in environment.run(ROOT / "tests/packages/smoke.py", tmp_path / "run")
    # Not the package of the main build, which has the program.
    said = run(["sh", "-c", f"{tmp_path}/venv/bin/smdebug --version 2>&1 || true"], tmp_path, PYTHONPATH="")
    assert "build the package with S3, which the program needs" in said
    [library] = (tmp_path / "venv").rglob("libsmdebug.so.1")
    assert "libcurl" not in run(["readelf", "-d", library], tmp_path)


def test_rust(prefix, tmp_path):
    """A crate that links the static library, by the variable that the page names."""
    user = project(tmp_path / "user", packed_crates(tmp_path), {"first": first_block("docs/rust.md", "rust")})
    target = {"CARGO_TARGET_DIR": tmp_path / "target"}
    run(["cargo", "build", "--quiet", "--bin", "first"], user, 600, SMDEBUG_DIR=prefix, SMDEBUG_STATIC=1, **target)
    check_program(tmp_path / "target/debug/first", "gradient/layer1.weight 70", tmp_path)


def test_all_that_is_missing_is_named(prefix, tmp_path):
    command = ["cmake", "-S", prefix.parent / "sources", "-B", tmp_path / "build", "-DSMDEBUG_CLI=OFF",
               "-DSMDEBUG_TESTS=OFF", "-DRAPIDJSON_INCLUDE_DIR=RAPIDJSON_INCLUDE_DIR-NOTFOUND",
               "-DCMAKE_SYSTEM_IGNORE_PATH=/usr/include;/usr/local/include"]  # fmt: skip
    with pytest.raises(AssertionError) as failed:
        run(command, tmp_path, PKG_CONFIG_LIBDIR=tmp_path, PKG_CONFIG_PATH="")
    said = " ".join(str(failed.value).split())
    assert (
        "libsmdebug needs these, which were not found: rapidjson/reader.h, libcjson >= 1.7.13, libhwy >= 1.0, libpcre2-8 >= 10.40, "
        "libcrypto >= 3.0, libcurl >= 7.84. On Debian, run apt install rapidjson-dev "
        "libcjson-dev libhwy-dev libpcre2-dev libssl-dev libcurl4-openssl-dev"
    ) in said
    assert "with pip: -Ccmake.define.SMDEBUG_S3=OFF" in said
