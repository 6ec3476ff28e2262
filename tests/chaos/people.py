"""People who begin turns over HTTP, answer questions over sockets or HTTP, and try again."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

import httpx2
from websockets import Origin
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.chaos import stage
from tests.chaos.record import Deployment
from tests.machine.serving import ROOT

#: What breaks while servers are killed. People try again.
BROKEN = (httpx2.TransportError,)
#: What a page or form may be answered with, whatever is killed: 409 for who was not the first,
#: 503 where the database or Redis is away.
EXPECTED_STATUSES = {200, 302, 409, 503}
#: Seconds after which somebody's page sends a form for what its socket does not answer.
PATIENCE = 5.0
#: Seconds after which somebody gives up who has nothing but a socket.
SOCKET_PATIENCE = 60.0
_CARD = re.compile(r'data-question="(\d+)"[^>]*data-answer-type="(\w+)"')
_APPROVAL = re.compile(r'data-approval="(\d+)"')
_FIRST = re.compile(r"Already answered by (\S+)")
_TYPED = {"boolean": ("true", "false")}


class ServersInTurn(httpx2.AsyncHTTPTransport):
    """Brings each request to the next web server, as a proxy does; one that refuses is skipped."""

    def __init__(self, ports: Sequence[int]) -> None:
        # No connection is kept: the next request goes to another server.
        super().__init__(limits=httpx2.Limits(max_keepalive_connections=0), trust_env=False)
        self._port_count = len(ports)
        self._ports = cycle(ports)

    def choose_port(self) -> int:
        """Return the port of the next server."""
        return next(self._ports)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(self._port_count - 1):
            with suppress(httpx2.ConnectError):
                return await self._send_to_next(request)
        return await self._send_to_next(request)

    async def _send_to_next(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=self.choose_port())
        return await super().handle_async_request(request)


@dataclass(slots=True)
class CrowdPerson:
    """Somebody who is signed in; every request may meet another server."""

    client: httpx2.AsyncClient
    servers: ServersInTurn
    name: str
    #: What this person chooses; the same seed chooses the same again.
    dice: random.Random
    numbers: count[int] = field(default_factory=count)
    statuses: Counter[int] = field(default_factory=Counter)
    #: What was acknowledged: the text by the question's key.
    settled: dict[int, str] = field(default_factory=dict)
    #: Who was first, as the latest answer was told.
    winner_name: str = ""

    async def get(self, path: str) -> httpx2.Response:
        return self._note_status(await self.client.get(path))

    async def post(self, path: str, **fields: str) -> httpx2.Response:
        token = self.client.cookies.get("jpweb_csrf") or ""
        headers = {"X-CSRFToken": token, "HX-Request": "true"}
        return self._note_status(await self.client.post(path, data=fields, headers=headers))

    def _note_status(self, reply: httpx2.Response) -> httpx2.Response:
        self.statuses[reply.status_code] += 1
        return reply

    async def questions(self) -> list[tuple[int, str]]:
        """Return what waits, by key and type."""
        page = await self.get("/questions")
        return [(int(key), kind) for key, kind in _CARD.findall(page.text)]

    async def approvals(self) -> list[int]:
        """Return the keys of the calls that wait for permission."""
        page = await self.get("/questions")
        return [int(key) for key in _APPROVAL.findall(page.text)]

    async def allow(self, key: int) -> int:
        """Allow a call once; returns the status."""
        reply = await self.post(f"/prompts/{key}/allow")
        return reply.status_code

    async def answer(self, key: int, kind: str, by: str = "") -> int:
        """Answer a question with something that nobody else says; returns the status.

        ``by``: ``socket`` or ``form`` alone; else as a page does, which sends the form where no
        reply comes.
        """
        answer_text = self.dice.choice(
            _TYPED.get(kind, (f"{self.name} says {next(self.numbers)}",))
        )
        status, html = 0, ""
        if kind != "secret" and (by or self.dice.choice(("socket", "form"))) == "socket":
            patience = SOCKET_PATIENCE if by else PATIENCE
            status, html = await self._over_socket(key, answer_text, patience)
        if not status and by != "socket":
            reply = await self.post(f"/questions/{key}/answer", answer=answer_text)
            status, html = reply.status_code, reply.text
        if status == 200:
            self.settled[key] = answer_text
        first = _FIRST.search(html)
        self.winner_name = first[1] if first else ""
        return status

    async def _over_socket(self, key: int, answer_text: str, patience: float) -> tuple[int, str]:
        """Return the status and what is shown; 0 where no reply came."""
        url = str(self.client.base_url).rstrip("/")
        cookies = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        connection = connect(
            url.replace("http", "ws", 1) + "/ws",
            origin=Origin(url),
            additional_headers={"Cookie": cookies},
            port=self.servers.choose_port(),
            proxy=None,
            open_timeout=None,
        )
        try:
            async with asyncio.timeout(patience), connection as line:
                await line.send(json.dumps({"number": key, "question": key, "answer": answer_text}))
                while True:
                    frame = str(await line.recv())
                    if frame.startswith('{"reply"'):
                        reply = json.loads(frame)
                        return reply["status"], reply.get("html", "")
        except (WebSocketException, OSError):
            return 0, ""

    async def begin(self, workspace: int, text: str) -> int:
        """Begin a turn in a conversation of its own; returns the status."""
        reply = await self.post("/conversations/new", workspace=str(workspace), text=text)
        return reply.status_code


def make_people(place: Deployment, size: int, name: str) -> tuple[int, dict[str, str]]:
    """Return the workspace, and sign-in links of so many people; their names begin so."""
    print(f"JPWEB_CHAOS_SEED={stage.SEED}")
    result = subprocess.run(
        [sys.executable, "-m", "tests.chaos.cast", str(size), name],
        cwd=ROOT,
        env=place.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    return report["workspace"], {
        person_name: f"{place.url}/sign-in#{token}"
        for person_name, token in report["tokens"].items()
    }


async def signed_in(place: Deployment, link: str, name: str) -> CrowdPerson:
    """Return somebody who has used their link, and has a page's token for forms."""
    servers = ServersInTurn(place.ports)
    client = httpx2.AsyncClient(
        base_url=place.url, transport=servers, timeout=30, trust_env=False, follow_redirects=False
    )
    address, _, code = link.partition("#")
    assert (await client.get(address)).status_code == 200
    form = {"code": code, "csrfmiddlewaretoken": client.cookies.get("jpweb_csrf") or ""}
    assert (await client.post(address, data=form)).status_code == 302
    assert (await client.get("/conversations/new")).status_code == 200
    assert client.cookies.get("jpweb_csrf")
    dice = random.Random(f"{stage.SEED} {name}")  # noqa: S311  the same seed chooses the same again
    return CrowdPerson(client, servers, name, dice)


async def all_signed_in(place: Deployment, links: dict[str, str]) -> list[CrowdPerson]:
    """Let everybody sign in, by their names and links."""
    return list(await asyncio.gather(*(signed_in(place, links[name], name) for name in links)))


def list_unexpected_statuses(members: Iterable[CrowdPerson]) -> list[int]:
    """Return the statuses that nobody should have been answered with."""
    statuses = {status for person in members for status in person.statuses}
    return sorted(statuses - EXPECTED_STATUSES)


def list_lost_answers(members: Iterable[CrowdPerson], answers: Mapping[int, Any]) -> list[str]:
    """Return the acknowledged answers that the record has otherwise or not; ``answers`` by key."""
    typed = {"true": True, "false": False}
    return [
        f"question {key} was answered {text!r}, and on record is {answers.get(key)!r}"
        for person in members
        for key, text in person.settled.items()
        if answers.get(key) != typed.get(text, text)
    ]


async def first_question(person: CrowdPerson) -> tuple[int, str]:
    """Return the first thing that waits for somebody, once something does."""
    async with asyncio.timeout(60):
        while True:
            if questions := await person.questions():
                return questions[0]
            await asyncio.sleep(0.1)
