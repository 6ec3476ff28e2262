"""What a socket sends: fragments that htmx swaps in by id.

A page says what it shows already; the answer is what has changed since, so that a first
connection, a reconnection and a signal all take this one path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from django.template.loader import render_to_string

from jpweb.runtime import wiring
from jpweb.store import inquiries, journal, prompts, runs
from jpweb.store.errors import UnknownInquiry, UnknownPrompt
from jpweb.store.terms import Origin, PromptState, Role
from jpweb.stream.outline import (
    Entry,
    Item,
    Outline,
    OutlineTurn,
    StrayInquiry,
    ToolCall,
    outline,
)
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Inquiry, Prompt, Run

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
class Cards:
    """The keys of open cards: of questions, and of permission and delivery prompts."""

    questions: frozenset[int] = frozenset()
    prompts: frozenset[int] = frozenset()

    @classmethod
    def of(cls, rows: Iterable[Inquiry | Prompt]) -> Self:
        """Return the keys of what waits."""
        kinds: dict[bool, set[int]] = {True: set(), False: set()}
        for row in rows:
            kinds[prompts.is_one(row)].add(row.pk)
        return cls(frozenset(kinds[False]), frozenset(kinds[True]))

    def like(self, row: Inquiry | Prompt) -> frozenset[int]:
        """Return the keys of the cards of the same kind."""
        return self.prompts if prompts.is_one(row) else self.questions


@dataclass(frozen=True, slots=True)
class Changes:
    """Fragments, and what the page shows once it has them."""

    html: str
    page: Shown


def conversation(person_id: int, conversation_id: int, page: Shown) -> Changes:
    """Return what changed in a conversation since the page was made.

    Where entries were replaced the whole transcript is sent. Raises Http404, PermissionDenied.
    """
    found = access.readable(person_id, conversation_id)
    read = journal.elements(conversation_id)
    shown = outline(read)
    now = run_key(conversation_id)
    parts: list[str] = []
    if found.revision != page.revision:
        parts = [_whole(shown, found)]
    elif len(read) > page.length:
        parts = _turns(shown, page.length, found)
    if parts:
        # What was being received is on record; the next piece of text shows itself again.
        parts.append(render_to_string("conversations/_partial.html", {"text": ""}))
        parts.append(
            render_to_string(
                "conversations/_counts.html", {"outline": shown, "conversation": found, "oob": True}
            )
        )
    if now != page.run:
        context = composer(person_id, found) | {"oob": True}
        parts.append(render_to_string("conversations/_composer.html", context))
    facts = facts_key(found)
    if facts != page.facts:
        parts.append(
            render_to_string("conversations/_facts.html", {"conversation": found, "oob": True})
        )
    return Changes("".join(parts), Shown(len(read), found.revision, now, facts))


def desk(person_id: int, conversation_id: int | None, shown: Cards | None) -> tuple[str, Cards]:
    """Return fragments for what came to wait or waits no more, and the cards now open.

    ``shown`` are the page's open cards, None where it has no desk and only counts. On a
    conversation's page only its own are on the desk.
    """
    if shown is None:
        return _count(prompts.waiting_count(person_id)), Cards()
    waiting = prompts.queue(person_id)
    here = [row for row in waiting if conversation_id in (None, row.conversation_id)]
    now = Cards.of(here)
    parts = [_count(len(waiting))]
    for position, row in enumerate(here, 1):
        if row.pk not in shown.like(row):
            place = {"position": position, "waiting": len(here), "elsewhere": not conversation_id}
            parts.append(render_to_string("questions/_append.html", {"row": row} | place))
    parts += [_settled(person_id, key) for key in sorted(shown.questions - now.questions)]
    parts += [_decided(person_id, key) for key in sorted(shown.prompts - now.prompts)]
    return "".join(parts), now


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


def run_key(conversation_id: int) -> str:
    """Return the state of the newest run, as a page remembers it."""
    return _run_key(runs.latest(conversation_id))


def composer(person_id: int, found: Conversation) -> dict[str, object]:
    """Return what the foot of a conversation needs."""
    run = runs.latest(found.pk)
    may_run = access.may(person_id, found.workspace_id, Role.RESPONDER)
    runs_here = may_run and found.origin == Origin.NATIVE
    return {
        "conversation": found,
        "run": run,
        "run_key": _run_key(run),
        "may_run": may_run,
        "player": wiring.player(found.workspace) if runs_here else None,
    }


def _run_key(run: Run | None) -> str:
    """Return what changes with what the foot says of a run."""
    if run is None:
        return ""
    return f"{run.pk}-{run.state}" + (f"-{run.resumed}" if run.resumed else "")


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


def _count(waiting: int) -> str:
    return render_to_string("_waiting.html", {"waiting_count": waiting, "oob": True})


def _decided(person_id: int, key: int) -> str:
    """Render what became of a prompt; as with questions, the row may be anybody's."""
    gone = render_to_string("prompts/_gone.html", {"key": key})
    try:
        row = prompts.get(key)
    except UnknownPrompt:
        return gone
    may_decide = access.may(person_id, row.conversation.workspace_id, Role.RESPONDER)
    if row.state == PromptState.OPEN or not may_decide:
        return gone
    return render_to_string("prompts/_settled.html", {"row": row, "oob": True})


def _settled(person_id: int, key: int) -> str:
    """Render what became of a card. The page names the key, so the row may be anybody's."""
    gone = render_to_string("questions/_gone.html", {"key": key})
    try:
        row = inquiries.get(key)
    except UnknownInquiry:
        return gone
    may_read = access.may(person_id, row.conversation.workspace_id, Role.READER)
    if row.state == inquiries.OPEN or not may_read:
        return gone
    return render_to_string("questions/_settled.html", {"row": row, "oob": True})
