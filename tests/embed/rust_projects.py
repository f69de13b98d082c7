"""The Rust crates as their registry would have them, and projects that use them."""

from __future__ import annotations

from installing import ROOT, run


def packed_crates(folder):
    """The folders of the crates, unpacked into one."""
    run([ROOT / "tools/crates.sh", folder], ROOT)
    return unpack_crates(folder, folder)


def unpack_crates(packed, folder):
    for path in packed.glob("*.crate"):
        run(["tar", "-x", "-C", folder, "-f", path], folder)
    return folder


def project(folder, packages, programs):
    """A user's project, with a program for each text."""
    (folder / "src/bin").mkdir(parents=True)
    for name, text in programs.items():
        (folder / f"src/bin/{name}.rs").write_text(text, encoding="utf-8")
    patches = "".join(
        f'{path.name.rpartition("-")[0]} = {{ path = "{path}" }}\n' for path in packages.glob("smdebug-*") if path.is_dir()
    )
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\nsmdebug = "1.0"\n\n[patch.crates-io]\n{patches}'
    )
    return folder
