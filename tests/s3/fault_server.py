"""An S3 service in this process that fails on request, and records all requests.

It does not verify signatures, which versitygw does.  It checks the access key, the region, the
time and the session token.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable, Iterator
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

import numpy as np
from listing import listing

import smdebug as smd
from smdebug.exceptions import SMDebugError

ACCESS, SECRET, TOKEN = "AKIDFAULTS", "SENTINELsecret/key", "SENTINELtoken=="
BUCKET = "bucket"
URL = f"s3://{BUCKET}/run"

_SIGNED_BY = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]*)/s3/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=[0-9a-f]{64}$"
)


@dataclass
class Request:
    """A request, with its time, and the access key and region of its signature."""

    verb: str
    operation: str  # "GetObject", ...
    key: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    body: bytes
    at: float
    access_key: str = ""
    region: str = ""

    @property
    def signed_at(self) -> float:
        date = datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
        return date.replace(tzinfo=timezone.utc).timestamp()


@dataclass
class Answer:
    """An answer, and how it is sent."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None  # closes the connection after this many bytes of the body
    piece: int = 0  # bytes sent at a time, with a pause after each
    pause: float = 0
    delay: float = 0  # seconds before the first byte
    how: str = ""  # "reset": only a RST; "silence": no bytes; "head": half a head


Fault = Callable[[Request, Callable[[], Answer]], Answer]


# ---- faults ---------------------------------------------------------------------------


def error(status: int, code: str = "", message: str = "sorry", extra: str = "", **headers) -> Fault:
    """Returns a fault with an <Error>, or with an empty body if `code` is empty."""
    body = f"<Error><Code>{code}</Code><Message>{message}</Message>{extra}</Error>" if code else ""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request, serve: Answer(status, body.encode(), named)


def text(body: str, status: int = 200) -> Fault:
    """Returns a fault that sends another body."""
    return lambda request, serve: Answer(status, body.encode(), {"Content-Type": "application/xml"})


def reset(request: Request, serve: Callable[[], Answer]) -> Answer:
    """Resets the connection without executing the request."""
    return Answer(how="reset")


def lost(request: Request, serve: Callable[[], Answer]) -> Answer:
    """Executes the request, but sends no answer."""
    serve()
    return Answer(how="reset")


def silence(request: Request, serve: Callable[[], Answer]) -> Answer:
    """Sends no answer, and keeps the connection open."""
    return Answer(how="silence")


def half_a_head(request: Request, serve: Callable[[], Answer]) -> Answer:
    """Closes the connection after the status and some headers."""
    answer = serve()
    return Answer(answer.status, how="head")


def altered(change: Callable[[Answer], None]) -> Fault:
    """Returns a fault that changes the correct answer."""

    def fault(request: Request, serve: Callable[[], Answer]) -> Answer:
        answer = serve()
        change(answer)
        return answer

    return fault


def cut(sent: int) -> Fault:
    """Returns a fault with a body that is shorter than announced."""
    return altered(lambda answer: setattr(answer, "sent", sent))


def slow(piece: int, pause: float) -> Fault:
    """Returns a fault that sends the body in small pieces."""
    return altered(lambda answer: answer.__dict__.update(piece=piece, pause=pause))


def late(delay: float) -> Fault:
    return altered(lambda answer: setattr(answer, "delay", delay))


# ---- the service ----------------------------------------------------------------------


@dataclass
class _Rule:
    fault: Fault
    operation: str
    key: re.Pattern[str]
    skip: int
    times: float


class FaultServer:
    """An S3 service with one bucket.

    Attributes
    ----------
    objects : dict of str to bytes
        The objects by key.
    age : float
        How many seconds before the service's start all objects were written, as it says.
    requests : list of Request
        All requests, in order.
    strange : list of str
        Requests that are unsigned, or signed with an unknown key.
    tokens : dict of str to str
        The known access keys, and the session token of each ("": none).
    expired : set of str
        Access keys that are no longer valid.
    region : str
        Refuses requests for other regions; "" accepts all.
    clock : float
        The number of seconds that its clock is ahead.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.age = 0.0
        self._began = time.time()
        self.uploads: dict[str, tuple[str, dict[int, bytes]]] = {}
        self.requests: list[Request] = []
        self.strange: list[str] = []
        self.tokens = {ACCESS: ""}
        self.expired: set[str] = set()
        self.region = ""
        self.clock = 0.0
        self.page_size = 1000
        self._rules: list[_Rule] = []
        self._lock = threading.RLock()
        self._port = 0
        self._http: ThreadingHTTPServer | None = None
        self._connections: set[socket.socket] = set()
        self.start()

    # -- life --

    def start(self) -> None:
        """Starts the service; after stop(), at the same address."""
        self._http = _Http(("127.0.0.1", self._port), _handler_of(self))
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Resets connections, and refuses new ones."""
        if self._http is None:
            return
        self._http.shutdown()
        self._http.server_close()
        self._http = None
        with self._lock:
            open_ones, self._connections = self._connections, set()
        for connection in open_ones:
            _make_reset(connection)
            try:
                connection.shutdown(socket.SHUT_RD)
            except OSError:
                pass

    def __enter__(self) -> FaultServer:
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def options(self, **more: str) -> dict[str, str]:
        """Returns the options of a hook or trial for this service."""
        options = {
            "s3_endpoint": self.endpoint,
            "s3_access_key": ACCESS,
            "s3_secret_key": SECRET,
            "s3_region": "us-east-1",
            "s3_connect_seconds": "1",
            "s3_first_byte_seconds": "5",
        }
        if self.tokens.get(ACCESS):
            options["s3_session_token"] = self.tokens[ACCESS]
        return {**options, **more}

    # -- the script --

    def fail(
        self, fault: Fault, operation: str = "", key: str = "", times: float = 1, skip: int = 0
    ) -> None:
        """Fails the next `times` requests that match, after the first `skip` requests.

        `operation` and `key` are regular expressions.  A request that matches several rules
        follows the first rule with failures left.
        """
        with self._lock:
            self._rules.append(_Rule(fault, operation, re.compile(key), skip, times))

    def heal(self) -> None:
        with self._lock:
            self._rules.clear()

    def asked(self, operation: str = "", key: str = "") -> list[Request]:
        """Returns the requests that match."""
        with self._lock:
            return [
                request
                for request in self.requests
                if re.search(operation, request.operation) and re.search(key, request.key)
            ]

    def most_attempts(self) -> int:
        """Returns the largest number of requests for one operation on one key, part, page or range."""
        counts: dict[tuple, int] = {}
        for request in self.asked():
            place = tuple(sorted(request.query.items())) + (request.headers.get("range"),)
            name = (request.operation, request.key, place)
            counts[name] = counts.get(name, 0) + 1
        return max(counts.values())

    def _fault_for(self, request: Request) -> Fault | None:
        for rule in self._rules:
            if not re.search(rule.operation, request.operation) or not rule.key.search(request.key):
                continue
            if rule.skip > 0:
                rule.skip -= 1
            elif rule.times > 0:
                rule.times -= 1
                return rule.fault
        return None

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            fault = self._fault_for(request)

        def serve() -> Answer:
            return self._refusal(request) or self._serve(request)

        refusal = self._note_signer(request)
        return refusal or (fault(request, serve) if fault else serve())

    # -- authentication --

    def _note_signer(self, request: Request) -> Answer | None:
        found = _SIGNED_BY.match(request.headers.get("authorization", ""))
        problem = ""
        if not found:
            problem = "is not signed"
        else:
            request.access_key, request.region = found[1], found[3]
            signed = found[4].split(";")
            unsigned = [n for n in request.headers if n.startswith("x-amz-") and n not in signed]
            token = request.headers.get("x-amz-security-token", "")
            if found[1] not in self.tokens:
                problem = f"is signed by {found[1]}"
            elif token != self.tokens[found[1]]:
                problem = f"has the token of another than {found[1]}"
            elif unsigned or not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed):
                problem = f"does not sign {unsigned or 'what it must'}"
            elif request.verb == "PUT" and (
                request.headers["x-amz-content-sha256"] != hashlib.sha256(request.body).hexdigest()
            ):
                problem = "has the hash of another body"
        if not problem:
            return None
        self.strange.append(f"{request.verb} {request.key} {problem}")
        return error(403, "InvalidAccessKeyId")(request, Answer)

    def _refusal(self, request: Request) -> Answer | None:
        if abs(request.signed_at - (time.time() + self.clock)) > 900:
            return error(403, "RequestTimeTooSkewed")(request, Answer)
        if request.access_key in self.expired:
            return error(400, "ExpiredToken")(request, Answer)
        if self.region and request.region != self.region:
            hint = f"<Region>{self.region}</Region>"
            return error(400, "AuthorizationHeaderMalformed", extra=hint)(request, Answer)
        return None

    # -- operations of S3 --

    def _serve(self, request: Request) -> Answer:
        with self._lock:
            return getattr(self, "_" + request.operation)(request)

    def _GetObject(self, request: Request) -> Answer:
        if request.key not in self.objects:
            return error(404, "NoSuchKey")(request, Answer)
        whole = self.objects[request.key]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
        if not wanted:
            return Answer(200, whole)
        first, last = int(wanted[1]), min(int(wanted[2]), len(whole) - 1)
        if first >= len(whole):
            return error(416, "InvalidRange")(request, Answer)
        place = {"Content-Range": f"bytes {first}-{last}/{len(whole)}"}
        return Answer(206, whole[first : last + 1], place)

    def _HeadObject(self, request: Request) -> Answer:
        if request.key not in self.objects:
            return Answer(404)
        whole = self.objects[request.key]
        facts = {
            "Content-Length": str(len(whole)),
            "ETag": _etag(whole),
            "Last-Modified": formatdate(self._began - self.age, usegmt=True),
        }
        return Answer(200, b"", facts)

    def _PutObject(self, request: Request) -> Answer:
        self.objects[request.key] = request.body
        return Answer(200, b"", {"ETag": _etag(request.body)})

    def _DeleteObject(self, request: Request) -> Answer:
        self.objects.pop(request.key, None)
        return Answer(204)

    def _ListObjectsV2(self, request: Request) -> Answer:
        query = request.query
        token = query.get("continuation-token", "")
        after = base64.b64decode(token).decode() if token else query.get("start-after", "")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        names: dict[str, None] = {}  # keys, and prefixes up to a delimiter, in order
        for key in sorted(self.objects):
            if key.startswith(prefix):
                head, found, _ = key[len(prefix) :].partition(delimiter or "\0")
                names[f"{prefix}{head}{found}"] = None
        left = [name for name in names if name > after]
        size = min(int(query.get("max-keys", "1000")), self.page_size)
        page = left[:size]
        groups = [name for name in page if delimiter and name.endswith(delimiter)]
        keys = [name for name in page if name not in groups]
        written = datetime.fromtimestamp(self._began - self.age, timezone.utc)
        facts = {
            key: f"<ETag>{escape(_etag(self.objects[key]))}</ETag>"
            f"<LastModified>{written:%Y-%m-%dT%H:%M:%S}.000Z</LastModified>"
            f"<Size>{len(self.objects[key])}</Size>"
            for key in keys
        }
        next_after = page[-1] if len(left) > size else ""
        return Answer(200, listing(keys, next_after, groups=groups, facts=facts))

    def _CreateMultipartUpload(self, request: Request) -> Answer:
        number = f"upload-{len(self.uploads)}-{len(self.requests)}"
        self.uploads[number] = (request.key, {})
        answer = "<InitiateMultipartUploadResult>"
        answer += f"<UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
        return Answer(200, answer.encode())

    def _UploadPart(self, request: Request) -> Answer:
        if request.query["uploadId"] not in self.uploads:
            return error(404, "NoSuchUpload")(request, Answer)
        parts = self.uploads[request.query["uploadId"]][1]
        parts[int(request.query["partNumber"])] = request.body
        return Answer(200, b"", {"ETag": _etag(request.body)})

    def _CompleteMultipartUpload(self, request: Request) -> Answer:
        upload = self.uploads.pop(request.query["uploadId"], None)
        if upload is None:
            return error(404, "NoSuchUpload")(request, Answer)
        numbers = [int(n) for n in re.findall(rb"<PartNumber>(\d+)<", request.body)]
        self.objects[upload[0]] = b"".join(upload[1][number] for number in numbers)
        return Answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def _AbortMultipartUpload(self, request: Request) -> Answer:
        self.uploads.pop(request.query["uploadId"], None)
        return Answer(204)


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


def _operation_of(verb: str, key: str, query: dict[str, str]) -> str:
    if verb == "GET" and not key:
        return "ListObjectsV2"
    if verb == "POST":
        return "CreateMultipartUpload" if "uploads" in query else "CompleteMultipartUpload"
    if "uploadId" in query:
        return "UploadPart" if verb == "PUT" else "AbortMultipartUpload"
    return verb.capitalize() + "Object"


# ---- its connections ------------------------------------------------------------------


def _make_reset(connection: socket.socket) -> None:
    """Makes close() send a RST.  The connection's own thread may have closed it meanwhile."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 512

    def shutdown_request(self, request) -> None:
        # shutdown() would send a FIN before the RST.
        self.close_request(request)

    def handle_error(self, request, client_address) -> None:
        pass  # tests make clients disconnect


def _handler_of(server: FaultServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def setup(self) -> None:
            super().setup()
            with server._lock:
                server._connections.add(self.connection)

        def finish(self) -> None:
            with server._lock:
                server._connections.discard(self.connection)
            super().finish()

        def log_message(self, *unused: object) -> None:
            pass

        def _answer(self) -> None:
            path, _, query_text = self.path.partition("?")
            bucket, _, key = unquote(path).lstrip("/").partition("/")
            query = dict(parse_qsl(query_text, keep_blank_values=True))
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                # The client closed the connection, as it does if another part has failed.
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            operation = _operation_of(self.command, key, query)
            request = Request(
                self.command, operation, key, query, headers, body, time.monotonic()
            )
            if bucket != BUCKET:
                self._send(error(404, "NoSuchBucket")(request, Answer))
            else:
                self._send(server.answer(request))

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer

        def _send(self, answer: Answer) -> None:
            time.sleep(answer.delay)
            if answer.how == "silence":
                # Waits until the client closes the connection, or the server stops.
                select.select([self.connection], [], [], 60)
            if answer.how == "head":
                self.wfile.write(f"HTTP/1.1 {answer.status} Fine\r\nServer: half".encode())
                self.wfile.flush()
                self.close_connection = True
                return
            if answer.how:
                _make_reset(self.connection)
                self.close_connection = True
                return
            headers = {
                "Date": formatdate(time.time() + server.clock, usegmt=True),
                "x-amz-request-id": "REQUESTID",
                "Content-Length": str(len(answer.body)),
                **answer.headers,
            }
            self.send_response_only(answer.status)
            for name, value in headers.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self._send_body(answer)
            self.wfile.flush()

        def _send_body(self, answer: Answer) -> None:
            body = answer.body[: answer.sent]
            step = answer.piece or max(len(body), 1)
            for begin in range(0, len(body), step):
                self.wfile.write(body[begin : begin + step])
                if answer.pause:
                    self.wfile.flush()
                    time.sleep(answer.pause)
            if len(body) < len(answer.body):
                self.close_connection = True

    return Handler


# ---- helpers of tests -----------------------------------------------------


def hook_to(service, url: str = URL, **options: str) -> smd.Hook:
    """Returns a hook that saves every tensor at every step; `service` has options()."""
    return smd.Hook(
        url,
        save_all=True,
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(**options),
    )


def value_of(step: int, size: int = 1000) -> np.ndarray:
    """Returns the tensor "weight" of a step."""
    return np.arange(size, dtype=np.float32) + np.float32(step)


def save_step(hook: smd.Hook, size: int = 1000) -> SMDebugError | None:
    """Records the next step, and returns the error that was reported meanwhile."""
    reported = None
    try:
        step = hook.begin_step()
        hook.save("weight", value_of(step, size))
    except SMDebugError as failure:
        reported = failure
    try:
        hook.end_step()
    except SMDebugError as failure:
        reported = reported or failure
    return reported


def record(service, steps: int, url: str = URL, size: int = 1000, **options: str) -> None:
    """Records a finished trial with this number of steps."""
    with hook_to(service, url, **options) as hook:
        for _ in range(steps):
            save_step(hook, size)


def open_trial(service, url: str = URL, **options: str):
    return smd.create_trial(url, timeout=5, options=service.options(**options))


def running() -> Iterator[FaultServer]:
    """Runs a server for a fixture, and checks that all requests had valid signatures."""
    with FaultServer() as server:
        yield server
        assert server.strange == []
