"""Runs smdebug serve, and asks it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from urllib.parse import quote, urlencode, urlsplit

from cli_program import PROGRAM

SECONDS = 60


class Served:
    """A running server: `url` is what it printed."""

    def __init__(self, folder, *words, variables=None):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *map(str, words)], cwd=folder, env={**os.environ, **(variables or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.communicate(timeout=SECONDS)
        parts = urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port
        self.token = parts.query.removeprefix("token=")

    def stop(self, number=signal.SIGTERM):
        """Returns the exit code and stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.process.stderr.close()

    def address(self, route):
        """Returns the address of a part of the page, as "runs/ID", with the token."""
        return self.url.replace("/?", f"/{route}?")

    # ---- requests ----

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def ask(self, path, method="GET", headers=None, token=True, **query):
        """Returns the status, the headers in lower case and the body."""
        given = {"Authorization": f"Bearer {self.token}"} if token else {}
        connection = self.connect()
        try:
            words = f"?{urlencode(query, doseq=True)}" if query else ""
            connection.request(method, path + words, headers={**given, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path, **query):
        """Returns the JSON of a successful request."""
        status, _, body = self.ask(path, **query)
        assert status == 200, body
        return json.loads(body)

    def rows(self, **query):
        return self.get("/api/runs", **query)["rows"]

    def id_of(self, name):
        return until(lambda: next((row["id"] for row in self.rows() if row["name"] == name), None))

    def raw(self, data, wait=SECONDS):
        """Sends bytes, and returns what comes back until the server closes."""
        with socket.create_connection((self.host, self.port), timeout=wait) as connection:
            connection.sendall(data)
            got = b""
            try:
                while part := connection.recv(65536):
                    got += part
            except (TimeoutError, ConnectionResetError):
                pass
            return got


class Events:
    """A client that watches."""

    def __init__(self, served, last_id=None, **query):
        self.connection = served.connect()
        words = "&".join(f"{name}={quote(value)}" for name, values in query.items() for value in values)
        headers = {"Authorization": f"Bearer {served.token}"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self.connection.request("GET", f"/events?{words}", headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.id = last_id

    def next(self):
        """Returns the data of the next event."""
        data = None
        while True:
            read = self.answer.readline()
            if not read:
                raise EOFError("the server has ended the events")
            line = read.decode().rstrip("\n")
            if line.startswith("id: "):
                self.id = line.removeprefix("id: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif line == "" and data is not None:
                return data

    def close(self):
        self.connection.close()


def until(get, seconds=SECONDS):
    """Returns the first true value of `get`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := get():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")
