"""The wheels, as users get them: what is in them, and how they work in each Python of this machine."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from roots import ROOT
from systems import ARCHITECTURES

sys.path += [str(ROOT / "tests/packages"), str(ROOT / "tests/s3")]
from environments import CACHE, interpreters, new_environment, run  # noqa: E402

MEGABYTE = 10**6
HERE = Path(__file__).parent
SMOKE = ROOT / "tests/packages/smoke.py"
LIBRARY, MODULE = "smdebug/libsmdebug.so.1", "smdebug/_raw.abi3.so"
PROGRAM = "smdebug/bin/smdebug"


def tool(name):
    return CACHE / "packages/bin" / name


@pytest.fixture
def environment(tmp_path):
    return new_environment(tmp_path / "venv")


@pytest.fixture(scope="module")
def wheel(release):
    """That for this machine."""
    [path] = release.glob("*_x86_64.whl")
    return path


@pytest.fixture(params=ARCHITECTURES)
def unpacked(request, wheels):
    return wheels[request.param]


@pytest.mark.parametrize("interpreter", interpreters(), ids=lambda v: ".".join(map(str, v)))
def test_wheel_in_each_python(interpreter, wheel, tmp_path):
    environment = new_environment(tmp_path / "venv", interpreters()[interpreter])
    environment.install("--no-index", wheel)
    printed = environment.run(SMOKE, tmp_path / "run")
    assert printed.startswith(str(environment.folder)) and "without numpy" in printed
    environment.install("numpy")
    assert "with numpy" in environment.run(SMOKE, tmp_path / "run_with_numpy")


def test_command_line(wheel, environment):
    """The script, and the module, are the program in the wheel."""
    environment.install("--no-index", wheel)
    told = run(environment.folder / "bin/smdebug", "doctor")
    assert "features" in told
    assert environment.run("-m", "smdebug", "doctor") == told


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
    assert {"LICENSE", "copyright", "openssl.txt", "curl.txt", "libcxx.txt"} <= {
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


def test_the_search_path_is_the_wheel_itself(unpacked):
    assert "[$ORIGIN]" in run("readelf", "-d", unpacked / MODULE)
    assert "[$ORIGIN/..]" in run("readelf", "-d", unpacked / PROGRAM)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_wheels_are_small(architecture, release, wheels):
    # The program posts findings over https, so it holds OpenSSL once more than the library.
    [wheel] = release.glob(f"*_{architecture}.whl")
    assert wheel.stat().st_size < 9 * MEGABYTE
    assert (wheels[architecture] / LIBRARY).stat().st_size < 12 * MEGABYTE


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_auditwheel(architecture, release):
    [wheel] = release.glob(f"*_{architecture}.whl")
    shown = " ".join(run(tool("auditwheel"), "show", wheel).split())
    assert f'platform tag: "manylinux_2_17_{architecture}"' in shown


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_stable_abi(architecture, release):
    [wheel] = release.glob(f"*_{architecture}.whl")
    run(tool("abi3audit"), "--strict", wheel)
