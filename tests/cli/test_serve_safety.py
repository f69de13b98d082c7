"""Tests that smdebug serve gives nothing to those who must not have it, and stays up."""

import json
import os
import random
import re
import socket
import ssl
import stat
import subprocess
import time
import urllib.request

import pytest
from cli_program import PROGRAM
from served import Events, Served, until

IDLE_SECONDS = 30  # docs/live.md


@pytest.fixture(scope="module")
def served(trials):
    with Served(trials, ".") as server:
        until(lambda: len(server.rows()) == 3)
        yield server
        assert server.process.poll() is None


def cookie_of(served):
    _, headers, _ = served.ask(f"/?token={served.token}", token=False)
    return headers["set-cookie"].split(";")[0]


def test_the_token_is_random_and_long(trials):
    tokens = set()
    for _ in range(3):
        with Served(trials, ".") as served:
            assert re.fullmatch("[0-9a-f]{32}", served.token)
            tokens.add(served.token)
    assert len(tokens) == 3


@pytest.mark.parametrize("path", ["/", "/runs/0123456789abcdef", "/icon.svg", "/api/runs", "/events", "/metrics", "/findings.json", "/nothing"])
def test_nothing_without_the_token(served, path):
    for headers in ({}, {"Authorization": "Bearer " + "0" * 32}, {"Authorization": served.token}, {"Cookie": f"token={served.token}"}):
        status, got, body = served.ask(path, headers=headers, token=False)
        assert status == 401 and b"token" in body and b"run" not in body and "set-cookie" not in got


def test_the_token_moves_from_the_url_into_a_strict_cookie(served):
    status, headers, _ = served.ask(f"/?token={served.token}", token=False)
    assert (status, headers["location"]) == (303, "/")
    name, *attributes = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    status, _, body = served.ask("/", token=False, headers={"Cookie": name})
    assert status == 200 and served.token.encode() not in body
    # A link in another site's page: the cookie would not survive a redirect.
    status, headers, body = served.ask(f"/?token={served.token}", token=False, headers={"Sec-Fetch-Site": "cross-site"})
    assert status == 200 and b'content="0;url=/"' in body and served.token.encode() not in body
    _, headers, _ = served.ask(f"/runs/12,34?token={served.token}", token=False)
    assert headers["location"] == "/runs/12,34"
    _, headers, _ = served.ask(f"//example.org/%0d%0aX:%20y?token={served.token}", token=False)
    assert headers["location"].startswith("/example.org") and "x" not in headers


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[::1", "127.0.0.1.evil.example:80", "a" * 500])
def test_other_hosts_are_refused(served, host):
    assert served.ask("/api/runs", headers={"Host": host})[0] in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]:8080"])
def test_this_machine_is_known(served, host):
    assert served.ask("/api/runs", headers={"Host": host})[0] == 200


def test_hosts_can_be_allowed(trials):
    with Served(trials, ".", "--host", "runs.example") as served:
        assert served.ask("/", headers={"Host": "runs.example:8080"})[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "GETS"])
def test_only_get_and_head(served, method):
    assert served.ask("/api/runs", method=method)[0] in (400, 405)
    assert served.ask("/api/runs")[0] == 200


def test_a_body_is_refused(served):
    def status(method, head, body=b"{}", token=served.token):
        host = f"{served.host}:{served.port}"
        lines = [f"{method} /api/runs HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}", *head, "", ""]
        return served.raw("\r\n".join(lines).encode() + body, wait=5).split(b" ")[1:2]

    assert status("GET", ["Content-Length: 2"]) == [b"413"]
    assert status("GET", ["Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n") == [b"413"]
    assert status("POST", ["Content-Length: 2"]) == [b"405"]
    assert status("POST", ["Content-Length: 99999999999"]) == [b"405"]  # most of it never comes
    assert status("GET", ["Content-Length: 2"], token="0" * 32) == [b"401"]
    assert status("GET", ["Content-Length: 0", "Connection: close"], b"") == [b"200"]
    assert served.ask("/api/runs")[0] == 200


def test_head_has_no_body(served):
    for path in ("/", "/api/runs", "/events"):
        status, _, body = served.ask(path, method="HEAD")
        assert (status, body) == (200, b"")


def test_headers_of_every_answer_are_safe(served):
    for path, token in (("/", True), ("/api/runs", True), ("/icon.svg", True), ("/", False), ("/nothing", True)):
        _, headers, _ = served.ask(path, token=token)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ") and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert not any(name.startswith("access-control") for name in headers)
    _, headers, _ = served.ask("/api/runs", headers={"Origin": "http://evil.example"})
    assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(("site", "policy"), [(None, "same-origin"), ("cross-site", "same-origin"), ("same-site", "same-origin"), ("x", "same-origin"), ("same-origin", None), ("none", None)])
def test_a_page_that_another_one_opened_is_cut_off(served, site, policy):
    """Not one whose address was typed: the browser would start another process."""
    for path in ("/", "/icon.svg", "/nothing"):
        _, headers, _ = served.ask(path, headers={"Sec-Fetch-Site": site} if site else None)
        assert headers.get("cross-origin-opener-policy") == policy


def test_no_script_is_in_the_page(served):
    """So the policy allows none.  The data of runs is in it, and cannot end its element."""
    run = served.id_of("run")
    served.get("/api/run", id=run)
    for path, count in (("/", 0), (f"/runs/{run}", 1), (f"/runs/{run}/", 1), (f"/runs/{run},{run}", 2), (f"/runs/{run},nobody", 0), (f"/runs/{','.join([run] * 17)}", 0)):
        status, headers, page = served.ask(path)
        assert status == 200 and "script-src" not in headers["content-security-policy"]
        kinds = re.findall(rb"<script ([^>]*)>([^<]*)</script>", page)
        assert len(kinds) == page.count(b"<script") == 2
        assert kinds[0][0].startswith(b"defer ") and b"src=" in kinds[0][0] and kinds[0][1] == b""
        assert kinds[1][0].startswith(b'type="application/json"') and len(json.loads(kinds[1][1])) == count


def test_requests_have_limits(served):
    head = f"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}\r\n".encode()
    for request in (
        head + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        head + b"".join(b"X%d: y\r\n" % i for i in range(20_000)) + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /?" + b"&".join(b"a=b" for _ in range(20_000)) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        head + b"Content-Length: 5\r\n\r\nhello",
        head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ):
        assert b" 200 " not in served.raw(request, wait=3).split(b"\r\n")[0]
    assert served.ask("/api/runs")[0] == 200


@pytest.mark.parametrize(
    "junk",
    [b"\0" * 100, b"\r\n" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" + b"x" * 200, b"GET / HTTP/1.1\r\nHost\r\n\r\n"],
)
def test_junk_does_not_stop_it(served, junk):
    assert b" 200 " not in served.raw(junk, wait=1).split(b"\r\n")[0]
    assert served.ask("/api/runs")[0] == 200


PARTS = [
    b"GET", b"HEAD", b"POST", b" ", b"/", b"/api/run", b"/api/series", b"/api/heat", b"/api/cell", b"/events", b"/findings.json", b"?", b"&", b"=",
    b"id", b"run", b"s", b"first", b"end", b"pixels", b"columns", b"tensor=loss", b"regex=(a*)*b", b"%00", b"%ff", b"%", b"-1", b"9223372036854775807",
    b"1e999", b"nan", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"\n", b"\r", b"\0", b":", b"Host: localhost", b"Last-Event-ID: list:3", b"Range: bytes=0-",
    b"Cookie: ", b"Accept-Encoding: gzip;q=0.0000", b"Content-Length: 7", b"Content-Length: -1", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
    b"Connection: upgrade", b"Upgrade: websocket", b"\xff\xfe", b"\t", b"a" * 300,
]  # fmt: skip


def exchange(served, data):
    """Sends bytes, says that none follow, and returns the beginning of what comes back."""
    with socket.create_connection((served.host, served.port), timeout=0.3) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(4096)
        except OSError:
            return b""


@pytest.mark.parametrize("seed", range(4))
def test_random_requests_do_not_stop_it(served, seed):
    """Parts of requests in any order, with and without the token; and requests with bytes changed, removed and repeated."""
    chance = random.Random(seed)
    head = b" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + served.token.encode() + b"\r\nConnection: close\r\n"
    run = served.id_of("run").encode()
    for _ in range(150):
        parts = b"".join(chance.choices(PARTS, k=chance.randrange(1, 30)))
        kind = chance.randrange(3)
        if kind == 0:
            data = parts
        else:
            target = re.sub(rb"[\s\0]", b"+", parts)
            data = b"GET /api/" + chance.choice([b"run", b"series", b"heat", b"cell", b"times", b"runs"]) + b"?id=" + run + b"&" + target + head + b"\r\n"
            if kind == 2:
                changed = bytearray(data)
                for _ in range(chance.randrange(1, 8)):
                    at = chance.randrange(len(changed))
                    changed[at : at + chance.randrange(3)] = bytes(chance.choices(range(256), k=chance.randrange(3)))
                    changed = changed or bytearray(b"x")
                data = bytes(changed)
        got = exchange(served, data)
        assert not got or got.startswith(b"HTTP/1."), got
        assert kind == 1 or served.token.encode() not in got
    assert served.ask("/api/runs")[0] == 200


def test_random_requests_without_the_token_read_nothing(served):
    chance = random.Random(0)
    for _ in range(300):
        data = b"GET /" + b"".join(chance.choices(PARTS, k=chance.randrange(1, 20))) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        status = exchange(served, data).split(b"\r\n")[0].split(b" ")
        assert len(status) < 2 or status[1] != b"200", data


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%2fetc%2fpasswd", "/style.css/..", "/api/run?id=%00", "/\\..\\x"])
def test_no_path_leaves_the_page(served, path):
    status, _, body = served.ask(path)
    assert status == 404 and b"root:" not in body


def watch_list(served, **query):
    """Watches the list, once one of the places is free."""

    def place():
        client = Events(served, list=["1"], **query)
        if client.status == 200:
            return client
        client.close()
        return None

    return until(place)


def test_many_clients_are_refused_beyond_a_limit(served):
    clients = [Events(served, list=["1"]) for _ in range(60)]
    try:
        assert [client.status for client in clients].count(200) == 50
        assert {client.status for client in clients[50:]} == {503}
        assert served.ask("/api/runs")[0] == 200
    finally:
        for client in clients:
            client.close()
    # The places of those that have gone are free again.
    watch_list(served).close()


def test_a_second_stream_of_a_client_replaces_the_first(served):
    first = watch_list(served, client=["me"])
    first.next()
    second = watch_list(served, client=["me"])
    first.answer.read()  # to its end
    second.close()


def script_of(served):
    """Returns the address of the page's script, the largest file."""
    _, _, page = served.ask("/")
    return re.search(r'src="(/page-[0-9a-f]+\.js)"', page.decode())[1]


def test_clients_that_do_not_read_cost_nothing(served):
    """Thirty clients ask for much and read nothing; another one is answered before they are dropped."""
    slow = []
    script = script_of(served)
    request = f"GET {script} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode()
    for _ in range(30):
        connection = socket.create_connection((served.host, served.port))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.sendall(request * 20)
        slow.append(connection)
    begin = time.monotonic()
    assert served.ask("/api/runs")[0] == 200
    assert time.monotonic() - begin < IDLE_SECONDS / 2
    with open(f"/proc/{served.process.pid}/status", encoding="ascii") as status:
        [resident] = re.findall(r"VmRSS:\s+(\d+)", status.read())
    assert int(resident) < 100_000
    for connection in slow:
        connection.close()


def test_clients_that_take_no_data_are_dropped(served):
    """One reads nothing of much that it has asked for, one sends half of a request; one watches, where nothing happens."""
    request = f"GET {script_of(served)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode()
    slow, half = socket.socket(), socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    begin = time.monotonic()
    for connection, data in ((slow, request * 200), (half, request[:40])):
        connection.connect((served.host, served.port))
        connection.settimeout(2 * IDLE_SECONDS)
        connection.sendall(data)
    watching = watch_list(served)
    assert half.recv(1) == b""
    assert IDLE_SECONDS - 5 < time.monotonic() - begin < IDLE_SECONDS + 15
    time.sleep(5)
    got = 0
    try:
        while part := slow.recv(65536):
            got += len(part)
    except ConnectionResetError:
        pass
    size = len(served.ask(script_of(served))[2])
    assert got < 200 * size
    watching.next()  # it was not dropped
    for connection in (slow, half, watching):
        connection.close()


def test_a_socket_file_is_only_for_its_user(trials, tmp_path):
    path = tmp_path / "socket"
    for _ in range(2):  # the second replaces the file of a killed server
        process = subprocess.Popen([PROGRAM, "serve", ".", "--unix", path], cwd=trials, stdout=subprocess.PIPE, text=True)
        token = process.stdout.readline().strip().partition("token=")[2]
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(f"GET /api/runs HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            assert connection.recv(100).split()[1] == b"200"
        process.kill()
        process.wait()
        process.stdout.close()
    with subprocess.Popen([PROGRAM, "serve", ".", "--unix", path], cwd=trials, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.terminate()
        assert process.wait(10) == 0 and not path.exists()


def test_tls(trials, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True,
    )  # fmt: skip
    with Served(trials, ".", "--tls-certificate", certificate, "--tls-key", key) as served:
        assert served.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=certificate)
        url = f"https://localhost:{served.port}/api/runs"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {served.token}"})
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            assert answer.status == 200
    (tmp_path / "empty.pem").touch()
    done = subprocess.run([PROGRAM, "serve", ".", "--tls-certificate", tmp_path / "empty.pem", "--tls-key", key],
                          cwd=trials, capture_output=True, text=True, timeout=20)  # fmt: skip
    assert done.returncode != 0 and "certificate" in done.stderr


def test_it_writes_nothing(trials, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in trials.rglob("*")}
    with Served(trials, ".", variables={"XDG_CACHE_HOME": str(tmp_path)}) as served:
        run = served.id_of("run")
        for path in ("/api/run", "/api/heat", "/api/configuration"):
            served.ask(path, id=run, group="weights", measure="l2")
    assert {path: path.stat().st_mtime_ns for path in trials.rglob("*")} == before
    assert os.listdir(trials)
