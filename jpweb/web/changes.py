"""What a socket sends: fragments that htmx swaps in by id.

A page says what it shows already; the answer is what has changed since, so that a first
connection, a reconnection and a signal all take this one path.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string

from jpweb.runtime import wiring
from jpweb.store import conversations, journal, runs
from jpweb.store.errors import UnknownConversation
from jpweb.store.telling import standing
from jpweb.store.terms import Origin, Role, RunState
from jpweb.stream.layout.items import Entry, Item, StrayInquiry, ToolCall
from jpweb.stream.outline import Outline, OutlineTurn, outline
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.runtime.wiring import Player
    from jpweb.store.models import Conversation, Run
    from jpweb.stream.events import Element

#: Characters of a tool call's arguments that are shown while they are being received.
CLIP = 4_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows of a conversation: so many entries, of which revision, which run."""

    length: int = 0
    revision: int = 0
    run: str = ""
    facts: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Fragments, and what the page shows once it has them."""

    html: str
    page: Shown


class _Now:
    """A conversation as it stands now, read once for all pages that show it."""

    def __init__(self, found: Conversation) -> None:
        self.found = found
        self._sent: dict[tuple[Shown, bool], Changes] = {}

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        return journal.elements(self.found.pk)

    @cached_property
    def outline(self) -> Outline:
        return outline(self.elements)

    @cached_property
    def run(self) -> Run | None:
        return runs.latest(self.found.pk)

    @cached_property
    def player(self) -> Player | None:
        return _player(self.found)

    def since(self, page: Shown, *, may_run: bool) -> Changes:
        """Return what changed since a page was made; pages that are alike get the same."""
        like = (page, may_run)
        if like not in self._sent:
            self._sent[like] = self._changes(page, may_run=may_run)
        return self._sent[like]

    def _changes(self, page: Shown, *, may_run: bool) -> Changes:
        found, length = self.found, len(self.elements)
        parts: list[str] = []
        if found.revision != page.revision:
            parts = [_whole(self.outline, found)]
        elif length > page.length:
            parts = _turns(self.outline, page.length, found)
        if parts:
            # What was being received is on record; the next piece of text shows itself again.
            parts.append(render_to_string("conversations/_partial.html", {"text": ""}))
            context = {"outline": self.outline, "conversation": found, "oob": True}
            parts.append(render_to_string("conversations/_counts.html", context))
        now = Shown(length, found.revision, _run_key(self.run), facts_key(found))
        if now.run != page.run:
            context = _foot(found, self.run, may_run=may_run, oob=True)
            context["player"] = self.player if may_run else None
            parts.append(render_to_string("conversations/_composer.html", context))
        if now.facts != page.facts:
            context = {"conversation": found, "oob": True}
            parts.append(render_to_string("conversations/_facts.html", context))
        return Changes("".join(parts), now)


def conversation(
    conversation_id: int, pages: Collection[tuple[int, Shown | None]]
) -> dict[tuple[int, Shown | None], Changes | None]:
    """Return what changed in a conversation since pages were made, by person and page.

    None for those who may not read it; a page None asks that alone. Where entries were replaced
    the whole transcript is sent. As many queries for many pages as for one.
    """
    try:
        found = conversations.get(conversation_id)
    except UnknownConversation:
        return dict.fromkeys(pages)
    roles = standing.roles_in(found.workspace_id, {person for person, _ in pages})
    now = _Now(found)
    nothing = Changes("", Shown())
    told: dict[tuple[int, Shown | None], Changes | None] = {}
    for person, page in pages:
        role = roles.get(person)
        if role is None:
            told[person, page] = None
        elif page is None:
            told[person, page] = nothing
        else:
            told[person, page] = now.since(page, may_run=role >= Role.RESPONDER)
    return told


def partial(variant: str, text: str) -> str:
    """Render text that is being received: of a tool call its name and the end of its arguments."""
    context: dict[str, object] = {"variant": variant, "text": text}
    if variant == "tool_call":
        name, _, arguments = text.partition(" ")
        size = len(arguments) if len(arguments) > CLIP else 0
        context |= {"name": name, "text": arguments[-CLIP:], "size": size}
    return render_to_string("conversations/_partial.html", context)


def facts_key(found: Conversation) -> str:
    """Return what may change of the facts above a transcript, as a page remembers it."""
    there = "gone" if found.gone_at else "archived" if found.archived else "there"
    return f"{there} {found.expires_at:%Y-%m-%dT%H:%M}" if found.expires_at else there


def composer(person_id: int, found: Conversation) -> dict[str, object]:
    """Return what the foot of a conversation needs."""
    may_run = access.may(person_id, found.workspace_id, Role.RESPONDER)
    context = _foot(found, runs.latest(found.pk), may_run=may_run)
    return context | {"player": _player(found) if may_run else None}


def _foot(found: Conversation, run: Run | None, *, may_run: bool, **more: object) -> dict[str, Any]:
    shown = {"conversation": found, "run": run, "run_key": _run_key(run), "may_run": may_run}
    return shown | more


def _player(found: Conversation) -> Player | None:
    return wiring.player(found.workspace) if found.origin == Origin.NATIVE else None


def _run_key(run: Run | None) -> str:
    """Return what changes with what the foot says of a run.

    Not with being put down and taken up again: somebody may be writing in the foot.
    """
    if run is None:
        return ""
    begun = run.unfinished and (run.fence or run.state != RunState.QUEUED)
    state = RunState.RUNNING if begun else run.state
    return f"{run.pk}-{state}" + (f"-{run.resumed}" if run.resumed else "")


def _whole(shown: Outline, found: Conversation) -> str:
    context = {"outline": shown, "conversation": found}
    return render_to_string("conversations/_replace_all.html", context)


def _turns(shown: Outline, after: int, found: Conversation) -> list[str]:
    """Render new turns whole, and of the turns before what came or changed.

    The turn that a new one ends changes without an event: what waited there is unanswered now.
    """
    parts: list[str] = []
    over = next((turn.index - 1 for turn in shown.turns if turn.first >= after), None)
    for turn in shown.turns:
        if turn.first >= after:
            parts.append(_fragment("conversations/_append_turn.html", turn, found))
        elif turn.index == over or any(item.last >= after for item in turn.items):
            parts += _items(turn, after, found, over=turn.index == over)
    return parts


def _items(turn: OutlineTurn, after: int, found: Conversation, *, over: bool) -> list[str]:
    parts: list[str] = []
    for item in turn.items:
        if item.last >= after or (over and _unanswered(item)):
            name = "_append_item" if item.first >= after else "_replace_item"
            context = {"turn": turn, "item": item, "conversation": found}
            parts.append(render_to_string(f"conversations/{name}.html", context))
    return parts


def _unanswered(item: Item) -> bool:
    """Tell whether the turn went on without an answer: what the page shows as waiting still."""
    match item:
        case ToolCall():
            return any(inquiry.state == "unanswered" for inquiry in item.inquiries)
        case StrayInquiry():
            return item.inquiry.state == "unanswered"
        case Entry():
            return False


def _fragment(name: str, turn: OutlineTurn, found: Conversation) -> str:
    return render_to_string(name, {"turn": turn, "conversation": found})
