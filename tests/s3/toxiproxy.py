"""Runs toxiproxy, which simulates a bad network between the library and a server."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from typing import Iterator

from servers import SERVERS, free_port

PROGRAM = SERVERS / "toxiproxy"


class BadNetwork:
    """A network to the server at `target` ("http://host:port"); clients connect to `endpoint`."""

    def __init__(self, target: str) -> None:
        assert PROGRAM.exists(), "run the tests through `make test`, which builds the proxy"
        self._api = f"http://127.0.0.1:{free_port()}"
        port = self._api.rpartition(":")[2]
        command = [str(PROGRAM), "-host", "127.0.0.1", "-port", port, "-seed", "1"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        near = free_port()
        self.endpoint = f"http://127.0.0.1:{near}"
        self._await()
        upstream = target.partition("//")[2]
        listen = f"127.0.0.1:{near}"
        self._ask("POST", "/proxies", {"name": "s3", "listen": listen, "upstream": upstream})

    def _await(self) -> None:
        end = time.monotonic() + 20
        while True:
            assert self._process.poll() is None, "toxiproxy exited at once"
            try:
                self._ask("GET", "/version")
                return
            except OSError:
                assert time.monotonic() < end, "toxiproxy did not start"
                time.sleep(0.02)

    def _ask(self, method: str, path: str, body: dict | None = None) -> None:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._api + path, data, method=method)
        # This proxy ignores the proxies of the environment.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(request, timeout=10).close()

    def spoil(
        self, kind: str, stream: str = "downstream", toxicity: float = 1, **attributes: int
    ) -> None:
        """Adds a toxic: "reset_peer", "limit_data", ..., which also affects open connections.

        Downstream data comes from the server.
        """
        toxic = {"type": kind, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        self._ask("POST", "/proxies/s3/toxics", toxic)

    def heal(self) -> None:
        """Removes all toxics."""
        self._ask("POST", "/reset")

    @contextmanager
    def bad(self, kind: str, **settings) -> Iterator[None]:
        self.spoil(kind, **settings)
        try:
            yield
        finally:
            self.heal()

    def cut_off(self) -> None:
        """Refuses new connections, and closes open ones."""
        self._ask("POST", "/proxies/s3", {"enabled": False})

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)
