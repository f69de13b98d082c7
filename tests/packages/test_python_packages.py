"""The wheel, the source package and the editable install, as users get them."""

import re
import sys
import tomllib

import pytest
from environments import CACHE, HERE, ROOT, interpreters, new_environment, run

pytestmark = pytest.mark.timeout(1600)  # the first test builds the packages

MEGABYTE = 10**6
RUNTIME = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"}
LIBRARY, MODULE = "smdebug/libsmdebug.so.1", "smdebug/_raw.abi3.so"
PROGRAM = "smdebug/bin/smdebug"


def tool(name):
    return CACHE / "packages/bin" / name


def needed(path):
    """The libraries that one asks the dynamic linker for."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", path)))


def exported(path):
    symbols = [line.split() for line in run("nm", "-D", "--defined-only", path).splitlines()]
    return {name.split("@")[0] for _, kind, name in symbols if kind != "A"}


@pytest.mark.parametrize("interpreter", interpreters(), ids=lambda v: ".".join(map(str, v)))
def test_wheel_in_each_python(interpreter, wheel, tmp_path):
    environment = new_environment(tmp_path / "venv", interpreters()[interpreter])
    environment.install("--no-index", wheel)
    printed = environment.run(HERE / "smoke.py", tmp_path / "run")
    assert printed.startswith(str(environment.folder)) and "without numpy" in printed
    environment.install("numpy")
    assert "with numpy" in environment.run(HERE / "smoke.py", tmp_path / "run_with_numpy")


def test_command_line(wheel, environment):
    """The script, and the module, are the program in the wheel."""
    environment.install("--no-index", wheel)
    told = run(environment.folder / "bin/smdebug", "doctor")
    assert "features" in told
    assert environment.run("-m", "smdebug", "doctor") == told


def test_running_python_is_among_them():
    assert sys.version_info[:2] in interpreters()


def test_what_is_in_the_wheel(unpacked, version):
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    native = {name for name in files if ".so" in name}
    assert native == {LIBRARY, MODULE}
    native.add(PROGRAM)
    assert PROGRAM in files
    assert {"smdebug/py.typed", "smdebug/_raw.pyi"} <= files
    rest = {name for name in files - native if not name.endswith((".py", ".pyi", "py.typed"))}
    information = f"libsmdebug-{version}.dist-info"
    assert all(name.startswith(information) for name in rest), "only what users need"
    licenses = {name for name in rest if name.startswith(f"{information}/licenses")}
    assert {"LICENSE", "copyright", "libssl.txt", "libcurl4-openssl.txt"} <= {
        name.rpartition("/")[2] for name in licenses
    }
    sources = ROOT / "bindings/python/src"
    python = {str(path.relative_to(sources)) for path in sources.rglob("*.py")}
    assert python == {name for name in files if name.endswith(".py")}


def test_metadata(unpacked, version):
    text = (unpacked / f"libsmdebug-{version}.dist-info/METADATA").read_text(encoding="utf-8")
    for line in (
        "Name: libsmdebug",
        f"Version: {version}",
        "License-Expression: Apache-2.0",
        "Requires-Python: >=3.11",
        "Description-Content-Type: text/markdown",
    ):
        assert f"\n{line}\n" in text, line
    assert "# libsmdebug" in text
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["numpy"] == ["numpy>=1.24"]
    assert re.findall(r"\nRequires-Dist: (.+)", text) == [
        f'{needed}; extra == "{extra}"' for extra, all_needed in extras.items() for needed in all_needed
    ], "nothing is needed but by extras"


def test_wheel_is_small(wheel, unpacked):
    # The program posts findings over https, so it holds OpenSSL once more than the library, which is
    # half OpenSSL; rules over tensors and profiles are 2 MB of it.
    assert wheel.stat().st_size < 9 * MEGABYTE
    assert (unpacked / LIBRARY).stat().st_size < 12 * MEGABYTE


def test_wheel_needs_only_the_runtime(unpacked):
    assert needed(unpacked / LIBRARY) <= RUNTIME
    assert needed(unpacked / MODULE) <= RUNTIME | {"libsmdebug.so.1"}
    assert "[$ORIGIN]" in run("readelf", "-d", unpacked / MODULE)
    assert needed(unpacked / PROGRAM) <= RUNTIME | {"libsmdebug.so.1"}
    assert "[$ORIGIN/..]" in run("readelf", "-d", unpacked / PROGRAM)


def test_wheel_exports_only_its_own(unpacked):
    symbols = exported(unpacked / LIBRARY)
    assert symbols and all(name.startswith("smd_") for name in symbols)
    assert exported(unpacked / MODULE) == {"PyInit__raw"}


def test_wheel_tells_nothing_of_its_build(unpacked):
    for path in (unpacked / LIBRARY, unpacked / MODULE, unpacked / PROGRAM):
        data = path.read_bytes()
        for folder in (ROOT, CACHE, CACHE.parent):
            assert str(folder).encode() not in data, f"{path.name} holds {folder}"


def test_auditwheel(wheel):
    assert re.fullmatch(r"libsmdebug-[0-9.]+-cp311-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)
    platform = re.search(r"manylinux_2_\d+_x86_64", wheel.name).group()
    shown = " ".join(run(tool("auditwheel"), "show", wheel).split())
    assert f'platform tag: "{platform}"' in shown


def test_stable_abi(wheel):
    run(tool("abi3audit"), "--strict", wheel)


def test_source_package(sources, source_package, environment, tmp_path):
    """As `pip install` does it, with the libraries of the system."""
    assert source_package.stat().st_size < 1.5 * MEGABYTE
    environment.build(sources)
    printed = environment.run(HERE / "smoke.py", tmp_path / "run")
    [package] = environment.folder.glob("lib/*/site-packages/smdebug")
    assert printed.startswith(str(package))
    assert {"libcurl.so.4", "libcrypto.so.3"} <= needed(package / "libsmdebug.so.1")


def test_editable(sources, environment, tmp_path):
    environment.build("-e", sources)
    printed = environment.run(HERE / "smoke.py", tmp_path / "run")
    package = sources / "bindings/python/src/smdebug"
    assert printed.startswith(str(package))
    with (package / "doctor.py").open("a", encoding="utf-8") as edited:
        edited.write("\nEDITED = True\n")
    script = tmp_path / "edited.py"
    script.write_text("import smdebug\nprint(smdebug.doctor.EDITED)\n")
    assert environment.run(script) == "True\n"


def test_beside_another_openssl(wheel, environment, tmp_path):
    """S3 over TLS by the OpenSSL in the wheel, and https by Python's, in one process."""
    from servers import ACCESS, SECRET, new_bucket, run_versitygw

    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", key, "-out", certificate)  # fmt: skip
    environment.install("--no-index", wheel)
    tls = ("--cert", str(certificate), "--key", str(key))
    for server in run_versitygw(tmp_path / "server", *tls, scheme="https"):
        server.ca_bundle = str(certificate)
        bucket = new_bucket(server, "wheel")
        for variable in ("AWS_CA_BUNDLE", "SSL_CERT_FILE"):
            trial = f"s3://{bucket}/{variable}"
            printed = environment.run(
                HERE / "two_tls.py", trial, server.endpoint, certificate,
                AWS_ENDPOINT_URL=server.endpoint, AWS_ACCESS_KEY_ID=ACCESS,
                AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1",
                SMDEBUG_TRAINING_END_DELAY_REFRESH="0", **{variable: str(certificate)},
            )  # fmt: skip
            assert printed == "both\n"


def test_pins_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = (ROOT / "bindings/requirements.txt").read_text(encoding="utf-8")
    [swig] = re.findall(r"^swig==.+$", pins, re.MULTILINE)
    assert swig in project["build-system"]["requires"]
