"""The archives in users' projects: found by CMake, linked by Zig and by Rust, and by C for ARM."""

from __future__ import annotations

import shutil

import pytest
from installing import first_block
from roots import CACHE, run
from rust_projects import project, unpack_crates

PRINTED = "4 x 3, 1 finding(s)"
ZIG_TARGETS = {"x86_64": "x86_64-linux-gnu.2.31", "aarch64": "aarch64-linux-gnu.2.31"}
ZIG_PROGRAM = """
extern fn smd_version_string() [*:0]const u8;
extern fn smd_has_feature([*:0]const u8) c_int;
extern fn smd_hook_options_new(*?*anyopaque) ?*anyopaque;
extern fn smd_hook_options_set(?*anyopaque, [*:0]const u8, [*:0]const u8) ?*anyopaque;
extern fn smd_hook_options_free(?*anyopaque) void;
extern fn smd_hook_new(?*anyopaque, *?*anyopaque) ?*anyopaque;
extern fn smd_hook_begin_step(?*anyopaque, ?*i64) ?*anyopaque;
extern fn smd_hook_end_step(?*anyopaque) ?*anyopaque;
extern fn smd_hook_close(?*anyopaque) ?*anyopaque;
extern fn smd_hook_free(?*anyopaque) void;
extern fn printf([*:0]const u8, ...) c_int;

fn must(failed: ?*anyopaque) void {
    if (failed != null) @panic("a call failed");
}

pub export fn main() c_int {
    var options: ?*anyopaque = null;
    must(smd_hook_options_new(&options));
    must(smd_hook_options_set(options, "out_dir", "zig_run"));
    must(smd_hook_options_set(options, "save_all", "true"));
    var hook: ?*anyopaque = null;
    must(smd_hook_new(options, &hook));
    smd_hook_options_free(options);
    must(smd_hook_begin_step(hook, null));
    must(smd_hook_end_step(hook));
    must(smd_hook_close(hook));
    smd_hook_free(hook);
    _ = printf("recorded by %s, S3 %d\\n", smd_version_string(), smd_has_feature("s3"));
    return 0;
}
"""


def needs_the_shared_library(program):
    return "libsmdebug.so.1" in run(["readelf", "-d", program])


@pytest.mark.parametrize("target", ["smdebug", "smdebug_static"])
def test_cmake_finds_an_unpacked_archive(target, archives, tmp_path):
    (tmp_path / "first.c").write_text(first_block("README.md", "c"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(first LANGUAGES C)\nfind_package(smdebug 1.0 REQUIRED)\n"
        f"add_executable(first first.c)\ntarget_link_libraries(first PRIVATE smdebug::{target})\n"
    )
    run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={archives['x86_64']}"], cwd=tmp_path)
    run(["cmake", "--build", "build"], cwd=tmp_path)
    assert PRINTED in run(["build/first"], cwd=tmp_path)
    assert needs_the_shared_library(tmp_path / "build/first") == (target == "smdebug")


@pytest.mark.parametrize("linked", ["shared", "static"])
def test_a_c_program_for_arm(linked, archives, debian_11_arm, tmp_path, tried):
    (tmp_path / "first.c").write_text(first_block("README.md", "c"))
    folder = archives["aarch64"]
    library = ["-lsmdebug"] if linked == "shared" else [folder / "lib/libsmdebug.a", "-lm", "-lpthread", "-ldl"]
    run([CACHE / "portable-aarch64/bin/clang", "first.c", "-o", "first", f"-I{folder / 'include'}", f"-L{folder / 'lib'}",
         f"-Wl,-rpath,{folder / 'lib'}", *library], cwd=tmp_path)  # fmt: skip
    assert PRINTED in debian_11_arm.emulated(tmp_path / "first", cwd=tmp_path)
    assert needs_the_shared_library(tmp_path / "first") == (linked == "shared")
    tried("Debian 11", "archive", "aarch64", "ran")


@pytest.mark.parametrize("architecture", ZIG_TARGETS)
def test_a_zig_program(architecture, archives, debian_11, debian_11_arm, version, tmp_path):
    [zig] = (CACHE / "portable/lib").glob("python3*/site-packages/ziglang/zig")
    (tmp_path / "first.zig").write_text(ZIG_PROGRAM)
    run([zig, "build-exe", "first.zig", "-target", ZIG_TARGETS[architecture], "-lc", "-L", archives[architecture] / "lib",
         "-lsmdebug", "-rpath", "$ORIGIN"], cwd=tmp_path, seconds=300)  # fmt: skip
    shutil.copy(archives[architecture] / "lib/libsmdebug.so.1", tmp_path)
    if architecture == "aarch64":
        printed = debian_11_arm.emulated(tmp_path / "first", cwd=tmp_path)
    else:
        with debian_11.folder() as work:
            for name in ("first", "libsmdebug.so.1"):
                shutil.copy(tmp_path / name, work)
            printed = debian_11.run(["./first"])
    assert printed == f"recorded by {version}, S3 1\n"


@pytest.mark.parametrize("linked", ["shared", "static"])
def test_a_rust_program_of_debian_11(linked, release, archives, debian_11, tmp_path, tried):
    """A user unpacks the archive and the crates of the release."""
    folder = tmp_path / "crates"
    folder.mkdir()
    user = project(tmp_path / "user", unpack_crates(release, folder), {"first": first_block("docs/rust.md", "rust")})
    linker = CACHE / "portable-x86_64/bin/clang"
    static = {"SMDEBUG_STATIC": "1"} if linked == "static" else {}
    run(["cargo", "build", "--quiet", "--bin", "first"], 600, cwd=user, SMDEBUG_DIR=archives["x86_64"],
        CARGO_TARGET_DIR=tmp_path / "target", CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=linker, **static)  # fmt: skip
    program = tmp_path / "target/debug/first"
    assert needs_the_shared_library(program) == (linked == "shared")
    with debian_11.folder() as work:
        shutil.copy(program, work)
        shutil.copytree(archives["x86_64"] / "lib", work / "lib", symlinks=True)
        printed = debian_11.run(["./first"], LD_LIBRARY_PATH="/test/lib" if linked == "shared" else "/nonexistent")
    assert "gradient/layer1.weight 70" in printed
    tried("Debian 11", "crate", "x86_64", "ran")
