"""Sockets at a real server: every sort of frame that a browser can send, by size and by rate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Opcode
from websockets.sync.client import ClientConnection

from jpweb.cli import websocket_limits
from jpweb.runtime.broadcast.close_codes import MALFORMED_MESSAGE, RATE_LIMITED, TOO_MANY_SOCKETS
from jpweb.web.websocket.socket_limits import MAX_SOCKETS
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor

SOON = 20
MANY = websocket_limits.FRAMES_AT_ONCE * 3
#: Taken by the server, and answered by nothing.
QUIET = json.dumps({"receipts": []})

#: How to send one frame of each sort that a browser, or a program in its place, can send.
FRAMES: dict[Opcode, Callable[[ClientConnection], object]] = {
    Opcode.TEXT: lambda line: line.send(QUIET),
    Opcode.BINARY: lambda line: line.send(b"{}"),
    Opcode.CONT: lambda line: line.send([QUIET[:5], *[""] * MANY, QUIET[5:]]),
    Opcode.PING: lambda line: line.ping(),
    Opcode.PONG: lambda line: line.pong(),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_server(tmp_path_factory.mktemp("sockets") / "data") as running_server:
        yield running_server


@pytest.fixture(scope="module")
def ada(server: Server) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in(server.link).status == 200
    return visitor


def exchange_hello(line: ClientConnection) -> str:
    """Return the counter that follows a hello."""
    line.send(json.dumps({"questions": []}))
    return str(line.recv(timeout=SOON))


def closes(line: ClientConnection) -> int | None:
    """Return the code with which the server closes, None where it says none."""
    with suppress(ConnectionClosed):
        while True:
            line.recv(timeout=SOON)
    return line.close_code


def flood(line: ClientConnection, send: Callable[[ClientConnection], object]) -> None:
    with suppress(ConnectionClosed):
        for _ in range(MANY):
            send(line)


def test_websocket_frames_of_all_opcodes_are_tested():
    assert FRAMES.keys() == set(Opcode) - {Opcode.CLOSE}


def test_frames_beyond_the_rate_close_their_socket_with_a_code(server: Server, ada: Visitor):
    codes = {}
    with ada.socket() as neighbor:
        assert exchange_hello(neighbor)
        for sort, send in FRAMES.items():
            with ada.socket() as line:
                assert exchange_hello(line)
                flood(line, send)
                codes[sort] = closes(line)
        assert exchange_hello(neighbor)
    # A binary message is refused as what it is, unless too many came before that was seen.
    assert codes.pop(Opcode.BINARY) in (MALFORMED_MESSAGE, RATE_LIMITED)
    assert set(codes.values()) == {RATE_LIMITED}
    assert "Traceback" not in server.log_text()


@pytest.mark.parametrize("parts", [1, 50])
def test_a_message_above_the_size_closes_its_socket_with_a_code(ada: Visitor, parts: int):
    text = json.dumps({"receipts": [], "more": "x" * websocket_limits.MAX_MESSAGE_BYTES})
    size = len(text) // parts
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    with ada.socket() as line:
        assert exchange_hello(line)
        with suppress(ConnectionClosed):
            line.send(pieces if parts > 1 else text)
        assert closes(line) == MALFORMED_MESSAGE


def test_the_longest_answer_of_a_page_is_taken(ada: Visitor):
    message = {"number": 1, "question": 2**40, "answer": "\u0001" * 100_000}
    text = json.dumps(message)
    assert len(text) > 600_000
    with ada.socket() as line:
        line.send(text)
        assert json.loads(line.recv(timeout=SOON)) == {"reply": 1, "status": 404}


def test_hellos_that_name_too_many_cards_close_their_socket_and_no_other(
    server: Server, ada: Visitor
):
    """Three sockets that named 20,000 cards a second made an answer of others take 5.9 s."""
    flooding = json.dumps({"inbox": True, "questions": list(range(10**6, 10**6 + 20_000))})
    with ada.socket() as neighbor:
        for _ in range(3):
            with ada.socket() as line:
                line.send(flooding)
                assert closes(line) == MALFORMED_MESSAGE
        assert exchange_hello(neighbor)


def test_a_person_with_too_many_sockets_loses_the_one_silent_for_longest(ada: Visitor):
    with ExitStack() as stack:
        lines = [stack.enter_context(ada.socket()) for _ in range(MAX_SOCKETS)]
        assert exchange_hello(lines[0])
        last = stack.enter_context(ada.socket())
        assert closes(lines[1]) == TOO_MANY_SOCKETS
        assert exchange_hello(last)
        assert exchange_hello(lines[0])
