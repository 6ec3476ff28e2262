"""Forms at a real server: what they hold stays in memory, or is refused; no file ever holds it."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from jpweb.cli.http_limits import MAX_ANONYMOUS_BYTES
from tests.machine.ports import LOOPBACK, wait_until
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor
from tests.security.opened import Opened

#: Above twisted's 100,000 bytes, from which on it would use a file; within the limit.
LARGE = 150_000
LIMIT = 1024 * 1024
_FORM = re.compile(r'action="(/questions/\d+/answer)')
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
NEW = "/conversations/new"
Send = Callable[[bytes], Iterator[bytes]]


def send_whole(body: bytes) -> Iterator[bytes]:
    yield b"Content-Length: %d\r\n\r\n" % len(body)
    yield body


def send_in_chunks(body: bytes) -> Iterator[bytes]:
    yield b"Transfer-Encoding: chunked\r\n\r\n"
    for start in range(0, len(body), 30_000):
        piece = body[start : start + 30_000]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


WAYS = pytest.mark.parametrize("send", [send_whole, send_in_chunks])


class SecretResponder:
    """Somebody signed in, who is asked for a secret."""

    def __init__(self, server: Server, visitor: Visitor) -> None:
        self._server, self._visitor = server, visitor
        form = self._visitor.get(NEW).text
        workspace = re.search(r'<option value="(\d+)"|name="workspace" value="(\d+)"', form)
        assert workspace
        key = workspace[1] or workspace[2]
        self.page = self._visitor.post(NEW, NEW, workspace=key, text="/call demo_vault {}").url
        self.form = ""
        wait_until(self._is_asked, "the secret is asked for")
        self.token = self._token

    def _is_asked(self) -> bool:
        text = self._visitor.get(self.page).text
        form, token = _FORM.search(text), _TOKEN.search(text)
        self.form, self._token = form[1] if form else "", token[1] if token else ""
        return bool(form)

    def post(self, kind: bytes, pieces: Iterator[bytes]) -> int:
        """Send the form of the secret as these pieces; return the status of the reply."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._visitor.cookies)
        head = f"POST {self.form} HTTP/1.1\r\nHost: {LOOPBACK}:{self._server.port}\r\n"
        head += f"Cookie: {cookies}\r\nOrigin: {self._server.url}\r\nConnection: close\r\n"
        with socket.create_connection((LOOPBACK, self._server.port), timeout=60) as line:
            line.sendall(head.encode() + b"Content-Type: " + kind + b"\r\n")
            for piece in pieces:
                line.sendall(piece)
            return int(line.recv(4096).split(b" ", 2)[1])


PLAIN = b"application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def opened_files(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return Opened(tmp_path_factory.mktemp("opened"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, opened_files: Opened) -> Iterator[Server]:
    settings = {
        "JPWEB_SCRIPT_PACE_SECONDS": "0",
        "JPWEB_PARK_AFTER_SECONDS": "600",
        **opened_files.settings,
    }
    with run_server(tmp_path_factory.mktemp("forms") / "data", **settings) as running_server:
        notes = opened_files.take()
        assert [line for line in notes if line.endswith("/server.lock")], notes
        yield running_server


@pytest.fixture(scope="module")
def visitor(server: Server) -> Visitor:
    owner = Visitor(server.url)
    assert owner.sign_in(server.link).status == 200
    return owner


@pytest.fixture
def person(server: Server, visitor: Visitor, opened_files: Opened) -> SecretResponder:
    responder = SecretResponder(server, visitor)
    opened_files.take()
    return responder


@WAYS
def test_the_form_of_a_large_secret_reaches_no_file(
    person: SecretResponder, opened_files: Opened, send: Send
):
    secret = "canary" * (LARGE // 6)
    body = f"csrfmiddlewaretoken={quote(person.token)}&answer={secret}".encode()
    assert person.post(PLAIN, send(body)) == 302
    assert opened_files.take() == []


@WAYS
def test_a_file_sent_in_place_of_a_secret_reaches_no_file(
    person: SecretResponder, opened_files: Opened, send: Send
):
    part = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    token = part % (b"csrfmiddlewaretoken", b"", person.token.encode())
    file = part % (b"answer", b'; filename="a.txt"', b"c" * (LIMIT - 10_000))
    status = person.post(b"multipart/form-data; boundary=x", send(token + file + b"--x--\r\n"))
    # Django reads no parts of a body whose length is not said, and so finds no token.
    assert status == (422 if send is send_whole else 403)
    assert opened_files.take() == []


@WAYS
def test_a_form_above_the_limit_is_refused_and_reaches_no_file(
    person: SecretResponder, opened_files: Opened, send: Send
):
    pieces = send(b"answer=" + b"c" * LIMIT)
    if send is send_in_chunks:  # without its end: what was refused is not read any more
        pieces = iter(list(pieces)[:-1])
    assert person.post(PLAIN, pieces) == 413
    assert opened_files.take() == []
    assert MAX_ANONYMOUS_BYTES < LARGE < LIMIT
