from __future__ import annotations

import asyncio
import io
import threading
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

from jpweb.cli import request_handler
from jpweb.cli.request_handler import RequestHandler
from jpweb.runtime import db_threads

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 30

_gate = threading.Event()
_entered = threading.Semaphore(0)


def show_thread(_request: HttpRequest) -> HttpResponse:
    connection.ensure_connection()
    return HttpResponse(f"{threading.get_ident()} {id(connection.connection)}")


def wait_at_gate(request: HttpRequest) -> HttpResponse:
    _entered.release()
    assert _gate.wait(PATIENCE_SECONDS)
    return show_thread(request)


async def show_loop(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(threading.get_ident()))


urlpatterns = [
    path("thread", show_thread),
    path("gate", wait_at_gate),
    path("loop", show_loop),
]


@pytest.fixture
def handler(settings: Any) -> RequestHandler:
    settings.ROOT_URLCONF = __name__
    _gate.clear()
    return RequestHandler()


async def _get(handler: RequestHandler, name: str, *leaving: asyncio.Event) -> str:
    """Return the body of a response; the browser leaves when ``leaving`` is set."""
    scope = {"type": "http", "method": "GET", "path": f"/{name}", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost")]
    messages: list[dict[str, Any]] = []
    has_asked = False

    async def receive() -> dict[str, Any]:
        nonlocal has_asked
        if not has_asked:
            has_asked = True
            return {"type": "http.request"}
        await (leaving[0] if leaving else asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await handler(scope, receive, send)
    return b"".join(message.get("body", b"") for message in messages).decode()


def _list_thread_idents() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate()}


async def _read_no_body(receive: Any) -> io.BytesIO:
    await receive()
    return io.BytesIO()


async def _wait_until_entered() -> None:
    assert await asyncio.to_thread(_entered.acquire, timeout=PATIENCE_SECONDS)


async def test_requests_one_after_the_other_share_a_thread_and_its_connection(
    handler: RequestHandler,
):
    assert await _get(handler, "thread") == await _get(handler, "thread")


async def test_requests_at_once_have_a_thread_and_a_connection_each(handler: RequestHandler):
    requests = [asyncio.create_task(_get(handler, "gate")) for _ in range(2)]
    for _ in requests:
        await _wait_until_entered()
    _gate.set()
    first, second = await asyncio.gather(*requests)
    assert not set(first.split()) & set(second.split())


async def test_a_synchronous_view_does_not_block_others(handler: RequestHandler):
    gate_request = asyncio.create_task(_get(handler, "gate"))
    await _wait_until_entered()
    assert await _get(handler, "loop") == str(threading.get_ident())
    assert not gate_request.done()
    _gate.set()
    await gate_request


async def test_a_request_whose_browser_leaves_frees_its_thread_after_its_view(
    handler: RequestHandler,
):
    leaving = asyncio.Event()
    request = asyncio.create_task(_get(handler, "gate", leaving))
    await _wait_until_entered()
    leaving.set()
    other = await _get(handler, "thread")
    _gate.set()
    assert await request == ""
    again = {await _get(handler, "thread") for _ in range(2)}
    assert len(again | {other}) == 2, "the thread that became idle last is used"


async def test_a_cancelled_request_does_not_give_back_a_thread_that_still_works(
    handler: RequestHandler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(handler, "read_body", _read_no_body)  # Django would leave it open
    request = asyncio.create_task(_get(handler, "gate"))
    await _wait_until_entered()
    request.cancel()
    await asyncio.wait([request])
    assert request.cancelled()
    assert await _get(handler, "thread"), "it would wait for the gate"
    _gate.set()


async def test_a_thread_that_is_not_kept_closes_its_connection_and_ends(
    handler: RequestHandler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(request_handler, "MAX_IDLE_THREADS", 0)
    closed_idents: list[int] = []

    class Connections:
        def close_all(self) -> None:
            closed_idents.append(threading.get_ident())

    monkeypatch.setattr(db_threads, "connections", Connections())
    ident = int((await _get(handler, "thread")).split()[0])
    async with asyncio.timeout(PATIENCE_SECONDS):
        while ident in _list_thread_idents():  # noqa: ASYNC110  a thread's end rings no bell
            await asyncio.sleep(0.01)
    assert closed_idents == [ident]


async def test_a_path_without_a_view_is_not_found(handler: RequestHandler):
    assert "Not Found" in await _get(handler, "nowhere")
