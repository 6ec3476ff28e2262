"""``python -m tests.load.answers.asking PORT``: jpweb as ``serve`` runs it, and a bare socket.

A built-in tool asks when it is told to. ``GET /ask`` has it ask and says how long it took until the
tool was resumed with the answer. The floors do the same without jpweb:

- ``GET /echo``: a frame on the socket ``/bare`` and back;
- ``GET /durable``: a commit of one row, a frame on that socket and back, a commit;
- ``GET /form``: what anything in Django has to do that outlives a kill: a commit, a frame on that
  socket, a form of somebody who is signed in to ``/plain``, a commit.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import django

from jpweb.agent import tools
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import InquirySource


class _Round:
    """A question, or an echo, under way."""

    def __init__(self) -> None:
        self.ask_event = asyncio.Event()
        self.start_time = 0.0
        self.end_future: asyncio.Future[float] | None = None

    def begin(self) -> asyncio.Future[float]:
        """Return what will say when it is over."""
        self.end_future = asyncio.get_running_loop().create_future()
        return self.end_future

    def end(self) -> None:
        """Say that the answer is here."""
        if self.end_future is not None and not self.end_future.done():
            self.end_future.set_result(perf_counter())


round_trip = _Round()


class AskOnce:
    """Asks one question, when it is told to."""

    NAME = "ask_once"
    DESCRIPTION = "Ask the user whether to go on."
    PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
    QUESTIONS: Mapping[str, Any] = {}

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        if answers:
            round_trip.end()
            return Success("So be it.")
        await round_trip.ask_event.wait()
        round_trip.ask_event.clear()
        round_trip.start_time = perf_counter()
        return NeedsInput(Question("go_on", "Go on?", Boolean()))

    def make_inquiry_source(self, name: str) -> InquirySource:
        return InquirySource.for_tool(name)


# Before anything that offers the built-in tools is loaded.
tools.BUILTINS = (*tools.BUILTINS, AskOnce())
django.setup()

from asgiref.sync import sync_to_async  # noqa: E402  needs Django set up
from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402  needs Django set up
from django.contrib.sessions.models import Session  # noqa: E402  as above
from django.db import connection, transaction  # noqa: E402  as above
from django.http import HttpRequest, HttpResponse  # noqa: E402  as above
from django.urls import path as route  # noqa: E402  as above
from django.utils import timezone  # noqa: E402  as above

from jpweb import urls  # noqa: E402  as above
from jpweb.asgi import application as jpweb  # noqa: E402  as above
from jpweb.cli.daphne_server import exit_process, run_server  # noqa: E402  as above
from jpweb.cli.management.commands.serve import _release_all  # noqa: E402  as above
from jpweb.runtime.broadcast import channel_layer  # noqa: E402  as above
from jpweb.runtime.db_threads import run_in_db_thread  # noqa: E402  as above
from jpweb.runtime.execution import run_executor  # noqa: E402  as above
from jpweb.runtime.inquiries import presence, receipt_buffer  # noqa: E402  as above
from jpweb.runtime.periodic import scheduler  # noqa: E402  as above
from jpweb.web.websocket import consumers  # noqa: E402  as above

#: The frame that is sent after a commit, and whose return is committed.
DURABLE_FRAME = "Go on, and commit?"


class BareAskConsumer(AsyncWebsocketConsumer):
    """Is sent something, and has it back."""

    channel_layer_alias = "none"
    connections: list[AsyncWebsocketConsumer] = []  # noqa: RUF012  there is one list

    async def connect(self) -> None:
        await self.accept()
        self.connections.append(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data == DURABLE_FRAME:
            await sync_to_async(_insert_row)()
        round_trip.end()


@transaction.atomic
def _insert_row() -> None:
    """Commit one row through Django's connection, without a model."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO bench_floor (body) VALUES (%s)", ["Go on?"])


@transaction.atomic
def _commit() -> None:
    Session.objects.update_or_create(pk="bench", defaults={"expire_date": timezone.now()})


async def _plain(request: HttpRequest) -> HttpResponse:
    """Take a form as barely as Django can: from a person who is signed in, with their token."""
    person = await request.auser()
    if person.is_authenticated and request.POST.get("answer"):
        await run_in_db_thread(_commit)
        round_trip.end()
    return HttpResponse()


urls.urlpatterns.append(route("plain", _plain))


async def _formed() -> float:
    end_future = round_trip.begin()
    start_time = perf_counter()
    await run_in_db_thread(_commit)
    await BareAskConsumer.connections[-1].send("Go on?")
    return await end_future - start_time


async def _asked() -> float:
    end_future = round_trip.begin()
    round_trip.ask_event.set()
    return await end_future - round_trip.start_time


async def _echoed() -> float:
    end_future = round_trip.begin()
    start_time = perf_counter()
    await BareAskConsumer.connections[-1].send("Go on?")
    return await end_future - start_time


async def _committed() -> float:
    end_future = round_trip.begin()
    start_time = perf_counter()
    await sync_to_async(_insert_row)()
    await BareAskConsumer.connections[-1].send(DURABLE_FRAME)
    return await end_future - start_time


WAYS = {"/ask": _asked, "/echo": _echoed, "/durable": _committed, "/form": _formed}


async def _quiet() -> None:
    """Return once everybody has been told what there was to tell."""
    while consumers.is_busy():  # noqa: ASYNC110  they ring no bell
        await asyncio.sleep(0.001)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Choose by path."""
    path = scope["path"]
    if path == "/bare":
        await BareAskConsumer.as_asgi()(scope, receive, send)
    elif path not in WAYS:
        await jpweb(scope, receive, send)
    else:
        await _quiet()
        seconds = await WAYS[path]()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = json.dumps({"seconds": seconds}).encode()
        await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    background = [
        channel_layer.receive_signals(),
        presence.refresh_presence(),
        receipt_buffer.flush_periodically(),
        run_executor.maintain_leases(),
        scheduler.run_scheduler(),
    ]
    run_server(
        application, int(sys.argv[1]), lambda: print("ready", flush=True), background, _release_all
    )
    exit_process()
