"""Rounds in which sockets are told what changed: read and rendered once for all that are alike.

A page that lacks much is costly to tell. It gets a round of its own, together with those that lack
the same, one such round at a time and on a thread that nothing else waits for: the rounds of all
others go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jpweb.runtime import presence
from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.signals.codes import FORBIDDEN
from jpweb.runtime.signals.fanout import Signal
from jpweb.runtime.signals.rounds import Rounds
from jpweb.web import cards, changes
from jpweb.web.cards import Desk, News
from jpweb.web.changes import Changes, Shown
from jpweb.web.sockets import pacing
from jpweb.web.sockets.claims import Word

if TYPE_CHECKING:
    from jpweb.web.sockets.consumers import PageConsumer

#: Seconds that those who look on wait for what a turn puts on record in one go; who is asked does
#: not wait, nor what they answer.
GATHER = 0.05
#: Cards of a desk that may change at once and still be told together with all other desks.
FEW_CARDS = 20

#: Tasks that nobody waits for.
_tasks: set[asyncio.Task[None]] = set()


def soon(work: Coroutine[Any, Any, None]) -> None:
    """Do something that nobody waits for."""
    task = asyncio.create_task(work, context=contextvars.Context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def is_busy() -> bool:
    """Tell whether a socket is being told something, or closed."""
    return any(each.busy for each in (talks, desks, costly_talks, costly_desks)) or bool(_tasks)


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

    @property
    def entries(self) -> int:
        """How many entries it may lack to be told with others; a page that greets lacks none."""
        return 0 if self.socket.greets else changes.FEW_ENTRIES


@dataclass(slots=True, eq=False)
class _Queue(_Due):
    """What waits."""

    desk: Desk


#: What is told of a conversation, by person and page; what is costly is left out.
_Told = dict[tuple[int, Shown | None], Changes | None]


async def _tell_talk(conversation_id: int, sockets: list[PageConsumer]) -> None:
    """Tell pages what changed in the conversation that they show, or send them away."""
    due = _take(conversation_id, (socket for socket in sockets if not socket.talk_apart))
    told: _Told = {}
    for entries in {each.entries for each in due}:
        pages = {(each.word.person, each.page) for each in due if each.entries == entries}
        told |= await in_store(changes.conversation, conversation_id, pages, entries)
    await _send_talk(due, told)


async def _tell_costly_talk(key: tuple[int, int], sockets: list[PageConsumer]) -> None:
    """Tell pages what changed that lack much."""
    conversation_id, _ = key
    try:
        due = _take(conversation_id, sockets)
        pages = {(each.word.person, each.page) for each in due}
        told = await in_background(changes.conversation, conversation_id, pages)
        await _send_talk(due, told)
    finally:
        for socket in sockets:
            socket.talk_apart = False
            socket.come()


def _take(conversation_id: int, sockets: Iterable[PageConsumer]) -> list[_Talk]:
    """Return what sockets are to be told of a conversation; they have nothing due from then on."""
    due: list[_Talk] = []
    for socket in sockets:
        word = socket.word
        if word is not None and word.conversation == conversation_id:
            page = socket.page if socket.changed else None
            due.append(_Talk(socket, word, page, socket.partial, socket.late))
            socket.changed, socket.partial = False, None
    return due


async def _send_talk(due: list[_Talk], told: _Told) -> None:
    texts: dict[str, str] = {}
    async for each in pacing.yield_between(due):
        socket, key = each.socket, (each.word.person, each.page)
        if key not in told:
            _put_back(each)
            socket.talk_apart = True
            costly_talks.due((each.word.conversation or 0, hash(each.page)), socket)
            continue
        new = told[key]
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
    due, told = await _news([each for each in sockets if not each.desk_apart], is_costly=False)
    await _send_desks(due, told)


async def _tell_costly_desks(_desk: int, sockets: list[PageConsumer]) -> None:
    """Tell pages of what waits on which much has changed."""
    try:
        await _send_desks(*await _news(sockets, is_costly=True))
    finally:
        for socket in sockets:
            socket.desk_apart = False
            socket.come()


async def _send_desks(due: list[_Queue], told: dict[Desk, News]) -> None:
    async for each in pacing.yield_between(due):
        if each.desk not in told:
            each.socket.asked = each.socket.desk_apart = True
            costly_desks.due(hash(each.desk), each.socket)
        elif each.socket.line.held:
            each.socket.asked = True
        else:
            await each.socket.show(told[each.desk])


async def _news(
    sockets: list[PageConsumer], *, is_costly: bool
) -> tuple[list[_Queue], dict[Desk, News]]:
    """Return what each page lacks, by the roles that its person has now.

    A page whose person's roles have changed hears of the workspaces first in which they may answer
    by now, and is present there; only then is read what waits, so that nothing is missed.
    """
    asking = [(socket, socket.word) for socket in sockets if socket.word is not None]
    for socket, _ in asking:
        socket.asked = False
    due: list[_Queue] = []
    told: dict[Desk, News] = {}
    while asking:
        pages = [(word.person, _desk(socket, word)) for socket, word in asking]
        if is_costly:
            places, new = await in_background(cards.current, pages)
        else:
            places, new = await in_store(cards.current, pages, FEW_CARDS)
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


def _fail(socket: PageConsumer, problem: BaseException) -> None:
    socket.fail(problem)


def _come_back(socket: PageConsumer, _problem: BaseException) -> None:
    socket.come_back()


#: Each conversation has its rounds; what waits is told to everybody at once, since a desk may hold
#: cards of many workspaces.
talks: Rounds[int, PageConsumer] = Rounds(_tell_talk, _fail, GATHER)
desks: Rounds[None, PageConsumer] = Rounds(_tell_desks, _come_back)
#: Rounds of their own, by what the pages show: those that are alike share one.
costly_talks: Rounds[tuple[int, int], PageConsumer] = Rounds(_tell_costly_talk, _fail, at_once=1)
costly_desks: Rounds[int, PageConsumer] = Rounds(_tell_costly_desks, _come_back, at_once=1)
