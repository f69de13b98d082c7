"""Those who hand out credentials, on loopback: a container's server, a machine's, STS.

What they hand out is known to a fault server from then on, which so sees who asks it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from fault_server import FaultServer

SECRET_OF = "SENTINELsecret/of-{}"
TOKEN_OF = "SENTINELtoken-of-{}=="
START_URL = "https://corp.awsapps.com/start"


@dataclass
class Minted:
    """Credentials, and when (seconds since 1970) they expire."""

    access_key: str
    expires_at: float

    @property
    def secret_key(self) -> str:
        return SECRET_OF.format(self.access_key)

    @property
    def token(self) -> str:
        return TOKEN_OF.format(self.access_key)

    @property
    def expiration(self) -> str:
        at = datetime.fromtimestamp(self.expires_at, timezone.utc)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Mint:
    """Makes credentials by number: <name>0, <name>1, ...; the service knows them at once."""

    def __init__(self, service: FaultServer, name: str, lifetime: float = 3600) -> None:
        self.service = service
        self.name = name
        self.lifetime = lifetime
        self.made: list[Minted] = []

    def next(self) -> Minted:
        # Dates have no fractions of seconds.
        expires_at = float(int(time.time() + self.lifetime))
        minted = Minted(f"{self.name}{len(self.made)}", expires_at)
        self.made.append(minted)
        self.service.tokens[minted.access_key] = minted.token
        return minted

    def document(self, token_key: str = "Token") -> str:
        """The next ones as containers, machines and programs print them."""
        minted = self.next()
        return json.dumps(
            {
                "Version": 1,
                "Code": "Success",
                "AccessKeyId": minted.access_key,
                "SecretAccessKey": minted.secret_key,
                token_key: minted.token,
                "Expiration": minted.expiration,
            }
        )


@dataclass
class Asked:
    verb: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: str

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body))


@dataclass
class Reply:
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class Loopback:
    """A server that remembers what it was asked; `replies`, if any, come before its own."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: list[Reply] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *unused: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        return self.replies.pop(0) if self.replies else self.reply(asked)

    def reply(self, asked: Asked) -> Reply:
        return Reply(404)


class Container(Loopback):
    """AWS_CONTAINER_CREDENTIALS_FULL_URI leads here; `token` is what one must show."""

    def __init__(self, mint: Mint, token: str = "") -> None:
        super().__init__()
        self.mint = mint
        self.token = token

    @property
    def uri(self) -> str:
        return f"{self.address}/role/credentials"

    def reply(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization", "") != self.token:
            return Reply(401, '{"code": "AccessDenied"}')
        return Reply(200, self.mint.document())


class Machine(Loopback):
    """IMDS version 2: refuses requests without a session token."""

    def __init__(self, mint: Mint) -> None:
        super().__init__()
        self.mint = mint

    def reply(self, asked: Asked) -> Reply:
        if asked.verb == "PUT" and asked.path == "/latest/api/token":
            lifetime = asked.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "0")
            is_fit = 0 < int(lifetime) <= 21600
            return Reply(200, "session of the machine") if is_fit else Reply(400)
        if asked.headers.get("x-aws-ec2-metadata-token") != "session of the machine":
            return Reply(401)
        folder = "/latest/meta-data/iam/security-credentials/"
        if asked.path == folder:
            return Reply(200, "the-role\n")
        if asked.path == folder + "the-role":
            return Reply(200, self.mint.document())
        return Reply(404)


class Sts(Loopback):
    """Assumes any role; for AssumeRole the caller's signature must be right."""

    def __init__(self, mint: Mint, callers: dict[str, str] | None = None) -> None:
        super().__init__()
        self.mint = mint
        self.callers = callers or {}  # secrets by access key
        self.tokens: dict[str, str] = {}  # session tokens by access key

    def reply(self, asked: Asked) -> Reply:
        action = asked.form.get("Action", "")
        if action == "AssumeRole" and not self.is_signed(asked):
            return Reply(403, self._error("SignatureDoesNotMatch"))
        minted = self.mint.next()
        return Reply(
            200,
            f"<{action}Response><{action}Result><Credentials>"
            f"<AccessKeyId>{minted.access_key}</AccessKeyId>"
            f"<SecretAccessKey>{minted.secret_key}</SecretAccessKey>"
            f"<SessionToken>{minted.token}</SessionToken>"
            f"<Expiration>{minted.expiration}</Expiration>"
            f"</Credentials></{action}Result></{action}Response>",
        )

    @staticmethod
    def _error(code: str) -> str:
        return f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>"

    def is_signed(self, asked: Asked) -> bool:
        """As botocore signs the same request."""
        given = asked.headers.get("authorization", "")
        access_key = given.partition("Credential=")[2].partition("/")[0]
        if access_key not in self.callers:
            return False
        names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        url = f"http://{asked.headers['host']}{asked.path}"
        headers = {name: asked.headers[name] for name in names if name != "host"}
        request = AWSRequest("POST", url, headers, asked.body)
        request.context["timestamp"] = asked.headers["x-amz-date"]
        region = given.partition("Credential=")[2].split("/")[2]
        keys = Credentials(access_key, self.callers[access_key])
        signer = SigV4Auth(keys, "sts", region)
        text = signer.string_to_sign(request, signer.canonical_request(request))
        return given.endswith("Signature=" + signer.signature(text, request))


class Portal(Loopback):
    """IAM Identity Center: its portal and its OIDC service, which takes a refresh token once."""

    def __init__(self, mint: Mint) -> None:
        super().__init__()
        self.mint = mint
        self.token = "SENTINEL-access-0"
        self.refresh_token = "SENTINEL-refresh-0"
        self.renewals = 0
        self._lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL_SSO": self.address, "AWS_ENDPOINT_URL_SSO_OIDC": self.address}

    def reply(self, asked: Asked) -> Reply:
        with self._lock:
            return self._renewal(asked) if asked.path == "/token" else self._credentials(asked)

    def _renewal(self, asked: Asked) -> Reply:
        wanted = json.loads(asked.body)
        if wanted != {
            "grantType": "refresh_token",
            "clientId": "SENTINEL-client",
            "clientSecret": "SENTINEL-client-secret",
            "refreshToken": self.refresh_token,
        }:
            headers = {"x-amzn-ErrorType": "InvalidGrantException"}
            return Reply(400, '{"error": "invalid_grant"}', headers)
        self.renewals += 1
        self.token = f"SENTINEL-access-{self.renewals}"
        self.refresh_token = f"SENTINEL-refresh-{self.renewals}"
        answer = {"accessToken": self.token, "expiresIn": 28800, "tokenType": "Bearer"}
        return Reply(200, json.dumps({**answer, "refreshToken": self.refresh_token}))

    def _credentials(self, asked: Asked) -> Reply:
        if asked.headers.get("x-amz-sso_bearer_token") != self.token:
            return Reply(401, "{}", {"x-amzn-ErrorType": "UnauthorizedException:http://x/"})
        minted = self.mint.next()
        keys = {
            "accessKeyId": minted.access_key,
            "secretAccessKey": minted.secret_key,
            "sessionToken": minted.token,
            "expiration": int(minted.expires_at * 1000),
        }
        return Reply(200, json.dumps({"roleCredentials": keys}))

    def cached_token(self, left: float, registered_for: float = 1e6) -> str:
        """The file of `aws sso login`; the token has so many seconds left."""
        at = [
            datetime.fromtimestamp(time.time() + seconds, timezone.utc).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            for seconds in (left, registered_for)
        ]
        return json.dumps(
            {
                "startUrl": START_URL,
                "region": "eu-west-1",
                "accessToken": self.token,
                "expiresAt": at[0],
                "clientId": "SENTINEL-client",
                "clientSecret": "SENTINEL-client-secret",
                "registrationExpiresAt": at[1],
                "refreshToken": self.refresh_token,
            }
        )


def write_sso_token(home: Path, name: str, text: str) -> Path:
    """The cache's file for a session's name or a start URL."""
    folder = home / ".aws" / "sso" / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha1(name.encode()).hexdigest()}.json"
    path.write_text(text)
    return path


def _handler_of(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *unused: object) -> None:
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.answer(Asked(self.command, self.path, headers, body))
            self.send_response_only(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body.encode())))
            self.end_headers()
            self.wfile.write(reply.body.encode())

        do_GET = do_PUT = do_POST = _answer

    return Handler


def write_profiles(home: Path, credentials: str = "", config: str = "") -> None:
    """The files that the AWS command line reads."""
    folder = home / ".aws"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "credentials").write_text(credentials)
    (folder / "config").write_text(config)


def write_program(path: Path, mint: Mint, times: int = 9) -> Path:
    """A program for credential_process: prints the next credentials each time it is run.

    It appends its arguments to <path>.runs, and a secret to its error output.
    """
    documents = [mint.document("SessionToken") for _ in range(times)]
    for number, document in enumerate(documents, 1):
        Path(f"{path}.{number}").write_text(document)
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> "{path}.runs"\n'
        "echo SENTINELsecret/on-stderr >&2\n"
        f'cat "{path}.$(wc -l < "{path}.runs")"\n'
    )
    path.chmod(0o700)
    return path
