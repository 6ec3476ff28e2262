"""Stand-in for a browser and for its vendor's push service, which speaks https."""

from __future__ import annotations

import json
import ssl
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import http_ece
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

from tests.machine.ports import LOOPBACK


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class PushMessage:
    """What the service was sent for a browser."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class PushService:
    """A push service, and the keys of the one browser that subscribed to it."""

    port: int = 0
    status: int = 201
    messages: list[PushMessage] = field(default_factory=list)
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    auth_secret: bytes = b"sixteen bytes 16"

    @property
    def origin(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    def make_subscription(self, path: str = "/push/a-browser") -> dict[str, str]:
        """Return what the browser says of its subscription."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {
            "endpoint": self.origin + path,
            "public_key": encode(point),
            "auth_secret": encode(self.auth_secret),
        }

    def decrypt(self, message: PushMessage) -> dict[str, Any]:
        """Return what the browser reads of a message."""
        content = http_ece.decrypt(
            message.body,
            private_key=self.key,
            auth_secret=self.auth_secret,
            version="aes128gcm",
        )
        payload: dict[str, Any] = json.loads(content)
        return payload

    @property
    def read_messages(self) -> list[dict[str, Any]]:
        return [self.decrypt(message) for message in self.messages]


@contextmanager
def run_push_service(folder: Path) -> Iterator[tuple[PushService, Path]]:
    """Run a service; yield it and the file of its certificate."""
    certificate = _write_certificate(folder)
    service = PushService()

    class Handler(_PushHandler):
        of = service

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    service.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield service, certificate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _PushHandler(BaseHTTPRequestHandler):
    of: PushService

    def log_message(self, format: str, *_args: object) -> None:  # noqa: A002  the base class names it
        """Print nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.of.messages.append(PushMessage(self.path, headers, body))
        self.send_response(self.of.status)
        if self.of.status == 307:
            self.send_header("location", f"{self.of.origin}/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()


def _write_certificate(folder: Path) -> Path:
    """Write a certificate for the loopback address and its key into one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "push service")])
    begin = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=3))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    path = folder / "push-service.pem"
    path.write_bytes(
        certificate.public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return path
