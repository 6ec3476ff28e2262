"""The socket of a page: hears what changed, and is sent what it lacks.

What a socket has still to be told is a few flags: signals coalesce in them, and a browser that
takes nothing costs nothing more. What many sockets have to be told is read and rendered once.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jpweb.runtime import presence, showing
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce, fanout, receiving
from jpweb.runtime.signals.allowance import TokenBucket
from jpweb.runtime.signals.codes import FAULT, MALFORMED, SIGNED_OUT, TOO_MANY, TOO_MUCH
from jpweb.runtime.signals.fanout import Signal
from jpweb.runtime.signals.line import SCOPE, Line
from jpweb.store.inquiries import Decider
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.people.sessions import hash_key
from jpweb.web import access, answering, cards
from jpweb.web.answering import Reply, Typed
from jpweb.web.cards import Cards, News
from jpweb.web.changes import Shown
from jpweb.web.sockets import bounds, claims, telling
from jpweb.web.sockets.claims import Hello, Message, Seen, Sent, Word

logger = logging.getLogger(__name__)


#: The line of a socket whose server says nothing of it.
_FREE = Line()


class PageConsumer(AsyncWebsocketConsumer):
    """One page. It joins its topics first, then gets what it lacks, then what changes."""

    #: There is no such layer: signals do not reach sockets one by one.
    channel_layer_alias = "none"

    person: int | None = None
    hellos: TokenBucket
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
    #: Whether it is being told in a round of its own what it lacks of the conversation, of cards.
    talk_apart = desk_apart = False
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
        self.hellos = TokenBucket(bounds.HELLOS_AT_ONCE, bounds.HELLOS_PER_SECOND)
        displaced = bounds.enter(user.pk, self)
        if displaced is not None:
            telling.soon(displaced.leave(TOO_MANY))
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
        refusal = self._refusal(self.person, said)
        if refusal is not None:
            await self.leave(refusal)
            return
        match said:
            case Seen():
                showing.noted(self.person, said.cards)
            case Sent():
                await self.answer(said)
            case Hello():
                if await self.is_signed_in():
                    self.greet(said)

    def _refusal(self, person: int, said: Message) -> int | None:
        """Return the code with which a message closes the page, None where it is taken."""
        if not isinstance(said, Seen) and said.person not in (None, person):
            # Somebody else has signed in with this browser since the page was loaded.
            return SIGNED_OUT
        is_hello = isinstance(said, Hello)
        if not bounds.admit(person, self, said) or (is_hello and not self.hellos.take()):
            return TOO_MUCH
        return None

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
            topic = announce.conversation_group(word.conversation)
            self.join(topic)
            self.partial, self.late = receiving.find_text(topic), True
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
                telling.soon(self.leave(SIGNED_OUT))
            case "roles" if cards.find_places(signal["roles"]) != (self.answers_in, self.reads_in):
                self.changed = self.asked = self.word is not None
            case _:
                pass
        self.come()

    def come(self) -> None:
        """Be told in the next round what there is to tell, unless the browser takes nothing."""
        if self.word is None or self.line.held:
            return
        talk = self.word.conversation
        if talk is not None and (self.changed or self.partial) and not self.talk_apart:
            telling.talks.due(talk, self)
        if self.asked and not self.desk_apart:
            telling.desks.due(None, self)

    def fail(self, problem: BaseException) -> None:
        """Let the page come back that could not be told what changed.

        One that has just come back, with its conversation as broken as before, stays and is told of
        what waits: it would come back for ever, and hear of no question.
        """
        if isinstance(problem, DATABASE_GONE) or not (self.broken or self.greets):
            self.come_back()
            return
        self.asked = self.asked or self.greets
        self.broken, self.greets = True, False
        self.come()

    def come_back(self) -> None:
        """Drop the connection, so that the page connects again by itself."""
        if self.person is not None:
            telling.soon(self.leave(FAULT))

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
        if self.person is not None:
            bounds.leave(self.person, self)
        self.person = self.word = None
        for topic in self.topics:
            fanout.leave(topic, self)
        self.topics = ()
        if self.answers_in:
            self.answers_in = frozenset()
            await presence.leave(self)
