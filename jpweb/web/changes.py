"""What a socket sends: fragments that htmx swaps in by id.

A page says what it shows already; the answer is what has changed since, so that a first
connection, a reconnection and a signal all take this one path.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.template.loader import render_to_string

from jpweb.store import inquiries, journal, runs
from jpweb.store.errors import UnknownInquiry
from jpweb.store.terms import Role
from jpweb.stream.outline import Outline, OutlineTurn, outline
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Conversation


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows of a conversation: so many entries, of which revision, which run."""

    length: int = 0
    revision: int = 0
    run: str = ""


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
    return Changes("".join(parts), Shown(len(read), found.revision, now))


def desk(
    person_id: int, conversation_id: int | None, shown: Collection[int] | None
) -> tuple[str, set[int]]:
    """Return fragments for the questions that came or went, and the keys of those now open.

    ``shown`` are the keys of the page's open cards, None where it has no desk and only counts.
    On a conversation's page only its own questions are on the desk.
    """
    waiting = list(inquiries.waiting(person_id))
    parts: list[str] = [
        render_to_string("_waiting.html", {"waiting_count": len(waiting), "oob": True})
    ]
    if shown is None:
        return parts[0], set()
    here = [row for row in waiting if conversation_id in (None, row.conversation_id)]
    keys = {row.pk for row in here}
    parts += [
        render_to_string("questions/_append.html", {"row": row, "elsewhere": not conversation_id})
        for row in here
        if row.pk not in shown
    ]
    parts += [_settled(person_id, key) for key in sorted(set(shown) - keys)]
    return "".join(parts), keys


def run_key(conversation_id: int) -> str:
    """Return the state of the newest run, as a page remembers it."""
    run = runs.latest(conversation_id)
    return f"{run.pk}-{run.state}" if run else ""


def composer(person_id: int, found: Conversation) -> dict[str, object]:
    """Return what the foot of a conversation needs."""
    return {
        "conversation": found,
        "run": runs.latest(found.pk),
        "run_key": run_key(found.pk),
        "may_run": access.may(person_id, found.workspace_id, Role.RESPONDER),
    }


def _whole(shown: Outline, found: Conversation) -> str:
    context = {"outline": shown, "conversation": found}
    return render_to_string("conversations/_replace_all.html", context)


def _turns(shown: Outline, after: int, found: Conversation) -> list[str]:
    """Render new turns whole, and of the turn that goes on what came or changed."""
    parts: list[str] = []
    for turn in shown.turns:
        if turn.first >= after:
            parts.append(_fragment("conversations/_append_turn.html", turn, found))
        elif any(item.last >= after for item in turn.items):
            parts += _items(turn, after, found)
    return parts


def _items(turn: OutlineTurn, after: int, found: Conversation) -> list[str]:
    parts: list[str] = []
    for item in turn.items:
        if item.last >= after:
            name = "_append_item" if item.first >= after else "_replace_item"
            context = {"turn": turn, "item": item, "conversation": found}
            parts.append(render_to_string(f"conversations/{name}.html", context))
    return parts


def _fragment(name: str, turn: OutlineTurn, found: Conversation) -> str:
    return render_to_string(name, {"turn": turn, "conversation": found})


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
