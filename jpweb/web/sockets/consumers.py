"""The socket of a page: hears what changed, and is sent what it lacks.

What a socket has still to be told is a few flags: signals coalesce in them, and a browser that
takes nothing costs nothing more. What many sockets have to be told is read and rendered once.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jpweb.runtime import presence, showing
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce, fanout
from jpweb.runtime.signals.codes import FAULT
from jpweb.runtime.signals.fanout import Signal
from jpweb.runtime.signals.line import SCOPE, Line
from jpweb.runtime.signals.rounds import Rounds
from jpweb.store.inquiries import Decider
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.people.sessions import hash_key
from jpweb.web import access, answering, cards, changes
from jpweb.web.answering import Reply, Typed
from jpweb.web.cards import Cards, Desk, News
from jpweb.web.changes import Shown
from jpweb.web.sockets import claims, pacing
from jpweb.web.sockets.claims import Hello, Seen, Sent, Word

logger = logging.getLogger(__name__)

#: Close codes that tell the browser not to come back.
SIGNED_OUT, FORBIDDEN, MALFORMED = 4401, 4404, 4400
#: Seconds that those who look on wait for what a turn puts on record in one go; who is asked does
#: not wait, nor what they answer.
GATHER = 0.01

#: The line of a socket whose server says nothing of it.
_FREE = Line()
#: Tasks that nobody waits for.
_tasks: set[asyncio.Task[None]] = set()


class PageConsumer(AsyncWebsocketConsumer):
    """One page. It joins its topics first, then gets what it lacks, then what changes."""

    #: There is no such layer: signals do not reach sockets one by one.
    channel_layer_alias = "none"

    person: int | None = None
    session: str | None = None
    word: Word | None = None
    #: What the page shows by now of its conversation, and of what waits.
    page = Shown()
    shown: Cards | None = None
    #: Where its person may answer, and read; the questions that it was given.
    answers_in: frozenset[int] = frozenset()
    reads_in: frozenset[int] = frozenset()
    topics: tuple[str, ...] = ()
    given: frozenset[int] = frozenset()
    #: What it has still to be told: that its conversation changed, the newest text that is being
    #: received (``late``: since that change), that something came to wait or waits no more.
    changed = late = asked = greets = False
    #: Whether its conversation could not be compared when it greeted.
    broken = False
    partial: Signal | None = None
    line = _FREE

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Deal with what comes; however that ends, the page is not told anything after."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.forget()

    async def connect(self) -> None:
        await self.accept()
        user = self.scope["user"]
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        self.person = user.pk
        opened: dict[str, Any] = dict(self.scope)
        self.session = opened.get("session")
        if self.session:
            self.join(announce.session_group(hash_key(self.session)))
        line = opened.get(SCOPE)
        if isinstance(line, Line):
            self.line = line
            line.freed = self.come

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take the page's word for what it shows, on every connection, or for what was seen."""
        if self.person is None:
            return
        try:
            said = claims.read(self.person, text_data or "")
        except claims.MALFORMED:
            await self.leave(MALFORMED)
            return
        if not isinstance(said, Seen) and said.person not in (None, self.person):
            # Somebody else has signed in with this browser since the page was loaded.
            await self.leave(SIGNED_OUT)
            return
        match said:
            case Seen():
                showing.noted(self.person, said.cards)
            case Sent():
                await self.answer(said)
            case Hello():
                if await self.is_signed_in():
                    self.greet(said)

    async def is_signed_in(self) -> bool:
        """Tell whether the page's sign-in lasts; close the page where it has ended."""
        if self.session and not await in_store(access.lasts, self.session):
            await self.leave(SIGNED_OUT)
        return self.person is not None

    def greet(self, said: Hello) -> None:
        """Hear of what the page shows by now, and be told what it lacks."""
        word = said.word
        if self.word is not None and self.word.conversation not in (None, word.conversation):
            self.part(announce.conversation_group(self.word.conversation or 0))
        self.word, self.page, self.shown = word, said.page, word.shown
        self.given, self.partial, self.broken = frozenset(), None, False
        self.greets = self.changed = word.conversation is not None
        self.asked = not self.greets
        if word.conversation is not None:
            self.join(announce.conversation_group(word.conversation))
        self.come()

    async def answer(self, sent: Sent) -> None:
        """Settle a question as its form would; where that cannot be, reply in the form's codes."""
        try:
            told = await self._answered(sent)
        except access.NotSignedIn:
            await self.leave(SIGNED_OUT)
        except Http404:
            await self._reply(sent, 404)
        except PermissionDenied:
            await self._reply(sent, 403)
        except DATABASE_GONE as problem:
            logger.warning("An answer cannot be taken: %s", problem)
            await self._reply(sent, 503)
        else:
            if told is None:
                await self.leave(MALFORMED)
            else:
                await self._reply(sent, told.status, html=await told.html())

    async def _answered(self, sent: Sent) -> Reply | None:
        """Return what comes of an answer; None where it is to a secret, which keeps to its form."""
        person, row = await in_store(access.answering, self.session, sent.question)
        if row.answer_type == "secret":
            return None
        by = Decider("person", person.display_name, person.pk)
        return await answering.answer(row, by, Typed(sent.answer, sent.remember))

    async def _reply(self, sent: Sent, status: int, **more: str) -> None:
        await self.send(json.dumps({"reply": sent.number, "status": status} | more))

    async def disconnect(self, code: int) -> None:
        await self.forget()

    def hear(self, signal: Signal) -> None:
        """Note what changed; it is told as soon as the browser takes it."""
        match signal["kind"]:
            case "conversation":
                self.changed, self.late = True, False
            case "partial":
                self.partial, self.late = signal, True
            case "questions":
                self.asked = True
            case "session":
                soon(self.leave(SIGNED_OUT))
            case "roles" if cards.find_places(signal["roles"]) != (self.answers_in, self.reads_in):
                self.changed = self.asked = self.word is not None
            case _:
                pass
        self.come()

    def come(self) -> None:
        """Be told in the next round what there is to tell, unless the browser takes nothing."""
        if self.word is None or self.line.held:
            return
        if self.word.conversation is not None and (self.changed or self.partial):
            talks.due(self.word.conversation, self)
        if self.asked:
            desks.due(None, self)

    async def show(self, news: News) -> None:
        """Tell what came to wait or waits no more."""
        if self.word is not None and self.word.shown is not None:
            self.shown = news.cards
            new = news.cards.questions - self.given
            if new:
                showing.delivered(self.word.person, new)
            self.given = news.cards.questions
        await self.send(news.html)

    def stand(self, answers_in: frozenset[int], reads_in: frozenset[int]) -> None:
        """Hear of what waits in the workspaces where answers are given, and in no other."""
        for key in answers_in - self.answers_in:
            self.join(announce.workspace_group(key))
        for key in self.answers_in - answers_in:
            self.part(announce.workspace_group(key))
        self.answers_in, self.reads_in = answers_in, reads_in

    def join(self, topic: str) -> None:
        """Hear what is told to a topic."""
        if topic not in self.topics:
            self.topics = (*self.topics, topic)
        fanout.join(topic, self)

    def part(self, topic: str) -> None:
        """Hear it no more."""
        self.topics = tuple(each for each in self.topics if each != topic)
        fanout.leave(topic, self)

    async def leave(self, code: int) -> None:
        """Close, and send nothing more; a page that cannot be closed is forgotten all the same."""
        try:
            await self.close(code)
        finally:
            await self.forget()

    async def forget(self) -> None:
        """Stand for nobody any more, and hear nothing."""
        self.person = self.word = None
        for topic in self.topics:
            fanout.leave(topic, self)
        self.topics = ()
        if self.answers_in:
            self.answers_in = frozenset()
            await presence.leave(self)


def soon(work: Coroutine[Any, Any, None]) -> None:
    """Do something that nobody waits for."""
    task = asyncio.create_task(work, context=contextvars.Context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _fail(socket: PageConsumer, problem: BaseException) -> None:
    """Let a page come back that could not be told what changed.

    One that has just come back, with its conversation as broken as before, stays and is told of
    what waits: it would come back for ever, and hear of no question.
    """
    if isinstance(problem, DATABASE_GONE) or not (socket.broken or socket.greets):
        _come_back(socket, problem)
        return
    socket.asked = socket.asked or socket.greets
    socket.broken, socket.greets = True, False
    socket.come()


def _come_back(socket: PageConsumer, _problem: BaseException) -> None:
    if socket.person is not None:
        soon(socket.leave(FAULT))


@dataclass(slots=True, eq=False)
class _Due:
    """What a socket is to be told in one round."""

    socket: PageConsumer
    word: Word

    @property
    def stands(self) -> bool:
        """Whether the socket is still there, and its page has not said something else since."""
        return self.socket.word is self.word


@dataclass(slots=True, eq=False)
class _Talk(_Due):
    """What changed since a page, and the newest text."""

    page: Shown | None
    partial: Signal | None
    late: bool


@dataclass(slots=True, eq=False)
class _Queue(_Due):
    """What waits."""

    desk: Desk


async def _tell_talk(conversation_id: int, sockets: list[PageConsumer]) -> None:
    """Tell pages what changed in the conversation that they show, or send them away."""
    due: list[_Talk] = []
    for socket in sockets:
        word = socket.word
        if word is not None and word.conversation == conversation_id:
            page = socket.page if socket.changed else None
            due.append(_Talk(socket, word, page, socket.partial, socket.late))
            socket.changed, socket.partial = False, None
    pages = {(each.word.person, each.page) for each in due}
    told = await in_store(changes.conversation, conversation_id, pages)
    texts: dict[str, str] = {}
    async for each in pacing.yield_between(due):
        socket = each.socket
        new = told[each.word.person, each.page]
        if new is None:
            await socket.leave(FORBIDDEN)
        elif socket.line.held:
            _put_back(each)
        else:
            socket.page = socket.page if each.page is None else new.page
            if html := changes.joined(each.partial, new.html, texts, late=each.late):
                await socket.send(html)
            if socket.greets:
                socket.greets, socket.asked = False, True
                socket.come()


def _put_back(due: _Talk) -> None:
    """Let a socket be told later what its browser does not take now."""
    socket = due.socket
    if not (socket.changed or socket.partial):
        socket.late = due.late
    socket.changed = socket.changed or due.page is not None
    socket.partial = socket.partial or due.partial


async def _tell_desks(_everybody: None, sockets: list[PageConsumer]) -> None:
    """Tell pages what came to wait for their people, and what waits no more."""
    asking = [(socket, socket.word) for socket in sockets if socket.word is not None]
    for socket, _ in asking:
        socket.asked = False
    due, told = await _news(asking)
    async for each in pacing.yield_between(due):
        if each.socket.line.held:
            each.socket.asked = True
        else:
            await each.socket.show(told[each.desk])


async def _news(
    asking: list[tuple[PageConsumer, Word]],
) -> tuple[list[_Queue], dict[Desk, News]]:
    """Return what each page lacks, by the roles that its person has now.

    A page whose person's roles have changed hears of the workspaces first in which they may answer
    by now, and is present there; only then is read what waits, so that nothing is missed.
    """
    due: list[_Queue] = []
    told: dict[Desk, News] = {}
    while asking:
        pages = [(word.person, _desk(socket, word)) for socket, word in asking]
        places, new = await in_store(cards.current, pages)
        told |= new
        moved: list[tuple[PageConsumer, Word]] = []
        for (socket, word), (person, desk) in zip(asking, pages, strict=True):
            if socket.word is not word:
                continue
            if places[person] == (desk.answers_in, desk.reads_in):
                due.append(_Queue(socket, word, desk))
            else:
                socket.stand(*places[person])
                moved.append((socket, word))
        if moved:
            await presence.arrive((page, word.person, page.answers_in) for page, word in moved)
        asking = moved
    return due, told


def _desk(socket: PageConsumer, word: Word) -> Desk:
    here = word.conversation if socket.shown is not None else None
    return Desk(socket.answers_in, socket.reads_in, here, socket.shown)


#: Each conversation has its rounds; what waits is told to everybody at once, since a desk may hold
#: cards of many workspaces.
talks: Rounds[int, PageConsumer] = Rounds(_tell_talk, _fail, GATHER)
desks: Rounds[None, PageConsumer] = Rounds(_tell_desks, _come_back)
