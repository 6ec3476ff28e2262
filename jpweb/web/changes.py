"""What a socket sends: fragments that htmx swaps in by id.

A page says what it shows already; the answer is what has changed since, so that a first
connection, a reconnection and a signal all take this one path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse

from jpweb.runtime import wiring
from jpweb.store import conversations, inquiries, runs
from jpweb.store.browsing import turns, windows
from jpweb.store.errors import UnknownConversation
from jpweb.store.telling import standing
from jpweb.store.terms import Origin, Role, RunState
from jpweb.web import access, insertions, kinds, transcript
from jpweb.web.transcript import Choice, Line

if TYPE_CHECKING:
    from jpweb.runtime.wiring import Player
    from jpweb.store.browsing.contents import Contents
    from jpweb.store.models import Conversation, Run

#: Characters of a tool call's arguments that are shown while they are being received.
CLIP = 4_000


class Shown(NamedTuple):
    """What a page shows of a conversation: so many entries, of which revision, which run.

    ``first`` and ``last`` are the heads of the items between which it shows all that ``show``
    chooses; without a last one it shows the end, and what comes is added there. ``words`` are
    those that its address is looked through for.
    """

    length: int = 0
    revision: int = 0
    run: str = ""
    facts: str = ""
    first: int = 0
    last: int | None = None
    show: tuple[str, ...] = ()
    words: str = ""

    def has(self, head: int) -> bool:
        """Tell whether an item that is older than the page is on it."""
        return self.first <= head and (self.last is None or head <= self.last)


@dataclass(frozen=True, slots=True)
class Changes:
    """Fragments, and what the page shows once it has them."""

    html: str
    page: Shown


#: Entries that a page may lack and still be told together with all others.
FEW_ENTRIES = 50


class _Now:
    """A conversation as it stands now, read once for all pages that show it."""

    def __init__(self, found: Conversation) -> None:
        self.found = found
        self._sent: dict[tuple[Shown, bool], Changes] = {}
        self._grown: dict[int, list[Line] | None] = {}

    @cached_property
    def run(self) -> Run | None:
        return runs.latest(self.found.pk)

    @cached_property
    def player(self) -> Player | None:
        return _player(self.found)

    def is_costly(self, page: Shown, entries: float) -> bool:
        """Tell whether a page lacks more than so many entries; shown anew, it lacks all."""
        is_anew = self.found.revision != page.revision
        return (self.found.length if is_anew else self.found.length - page.length) > entries

    def since(self, page: Shown, *, may_run: bool) -> Changes:
        """Return what changed since a page was made; pages that are alike get the same."""
        like = (page, may_run)
        if like not in self._sent:
            self._sent[like] = self._changes(page, may_run=may_run)
        return self._sent[like]

    def _changes(self, page: Shown, *, may_run: bool) -> Changes:
        found = self.found
        parts: list[str] = []
        if found.revision != page.revision:
            parts = [self._anew(page)]
        elif found.length > page.length:
            parts = self._since(page)
        if found.revision != page.revision or found.length > page.length:
            # What was being received is on record; the next piece of text shows itself again.
            parts.append(render_to_string("conversations/_partial.html", {"text": ""}))
            context = {"conversation": found, "states": self.states, "oob": True}
            parts.append(render_to_string("conversations/_counts.html", context))
            choice = Choice(show=page.show, words=page.words)
            context = kinds.context(found, choice) | {"oob": True}
            parts.append(render_to_string("conversations/_kinds.html", context))
        now = page._replace(
            length=found.length,
            revision=found.revision,
            run=_run_key(self.run),
            facts=facts_key(found),
        )
        if now.run != page.run:
            context = _foot(found, self.run, may_run=may_run, oob=True)
            context["player"] = self.player if may_run else None
            parts.append(render_to_string("conversations/_composer.html", context))
        if now.facts != page.facts:
            context = {"conversation": found, "oob": True}
            parts.append(render_to_string("conversations/_facts.html", context))
            parts.append(render_to_string("conversations/_heading.html", context))
            if may_run:
                context["here"] = reverse("conversation", args=[found.pk])
                parts.append(render_to_string("conversations/_changing.html", context))
        return Changes("".join(parts), now)

    @cached_property
    def states(self) -> dict[str, int]:
        return inquiries.counts([self.found.pk]).get(self.found.pk, {})

    def _since(self, page: Shown) -> list[str]:
        """Render the items that came since a page was made, and those that changed."""
        if page.length not in self._grown:
            self._grown[page.length] = _grown(self.found, page.length)
        grown = self._grown[page.length]
        if grown is None and page.last is None:
            return [self._anew(page)]
        if grown is None:
            grown = _continued(self.found, page.length)
        here = [line for line in grown if page.has(line.item.first)]
        facets = transcript.facets(page.show)
        parts: list[str] = [] if page.length else ['<div id="nothing" hx-swap-oob="delete"></div>']
        there = [line for line in here if transcript.chosen(line.item, facets, page.length)]
        parts += [_fragment("_changed_item", self.found, line) for line in there]
        new = [line for line in here if not transcript.chosen(line.item, facets, page.length)]
        added = [line for line in new if transcript.chosen(line.item, facets)]
        if facets is None:
            put = insertions.at_end(self.found, added)
        else:
            put = insertions.among(self.found, added, facets)
        return parts + [_fragment("_new_line", self.found, *each) for each in put]

    def _anew(self, page: Shown) -> str:
        """Render the window of a page again, as it is now; of what is gone, what is last."""
        last = max(self.found.length - 1, 0)
        place = "end" if page.last is None else str(min(page.first, last))
        choice = Choice(at=place, show=page.show)
        part = transcript.part(self.found, choice, read=None)
        context = transcript.context(self.found, choice, part)
        return render_to_string("conversations/_again.html", context)


def _grown(found: Conversation, length: int) -> list[Line] | None:
    """Return the items that entries from a position on are part of; None where they are many.

    With those of which such an entry changes how a question stands: the turn that a new one ends.
    """
    heads = windows.changed(found.pk, length)
    if heads is None:
        return None
    shown = windows.of(found.pk, heads)
    begun = [turn.position for turn in shown.turns.values() if turn.position >= length]
    if begun and (left := turns.left_open(found.pk, min(begun))):
        shown = windows.of(found.pk, {*heads, *left})
    return _lines(found, shown)


def _continued(found: Conversation, length: int) -> list[Line]:
    """Return the items before a position that changed since, where too much came to tell all."""
    heads = windows.continued(found.pk, length)
    begun = turns.next_start(found.pk, length)
    left = [] if begun is None else turns.left_open(found.pk, begun)
    return _lines(found, windows.of(found.pk, {*heads, *left}))


def _lines(found: Conversation, shown: Contents) -> list[Line]:
    found.question_keys = shown.questions  # type: ignore[attr-defined]  # for the tag
    return transcript.lines(shown, found.length, whole=False)


def conversation(
    conversation_id: int,
    pages: Collection[tuple[int, Shown | None]],
    entries: float = math.inf,
) -> dict[tuple[int, Shown | None], Changes | None]:
    """Return what changed in a conversation since pages were made, by person and page.

    None for those who may not read it; a page None asks that alone. Where entries were replaced
    the whole transcript is sent. As many queries for many pages as for one.
    Pages that lack more than so many ``entries`` are costly, and left out.
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
        elif not now.is_costly(page, entries):
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


def joined(
    received: Mapping[str, str] | None, html: str, texts: dict[str, str], *, late: bool
) -> str:
    """Return a change and the newest text that is received in the order in which they came.

    ``texts`` keeps what was rendered of texts, for pages that are told the same.
    """
    if received is None:
        return html
    variant, text = received["variant"], received["text"]
    if (key := f"{variant} {text}") not in texts:
        texts[key] = partial(variant, text)
    return html + texts[key] if late else texts[key] + html


def facts_key(found: Conversation) -> str:
    """Return what may change of the facts above a transcript, as a page remembers it."""
    there = "gone" if found.gone_at else "archived" if found.archived else "there"
    until = f" {found.expires_at:%Y-%m-%dT%H:%M}" if found.expires_at else ""
    called = json.dumps([found.title, found.labels, found.pinned_at is None], sort_keys=True)
    return f"{there}{until} {sha256(called.encode()).hexdigest()[:12]}"


def composer(person_id: int, found: Conversation) -> dict[str, Any]:
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


def _fragment(name: str, found: Conversation, line: Line, where: str = "") -> str:
    here = reverse("conversation", args=[found.pk])
    context = {"line": line, "conversation": found, "here": here, "where": where}
    return render_to_string(f"conversations/{name}.html", context)
