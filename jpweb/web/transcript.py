"""What a page shows of a conversation: a window of it, chosen by its address.

An address says where (``at``, ``turn``, ``after``, ``before``), what (``show``), which folds are
open (``open``) and which of those that are open by themselves are not (``shut``), so that a copied
one shows the same to somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from jpweb.store.browsing import turns, windows
from jpweb.store.browsing.contents import Contents
from jpweb.store.browsing.windows import Window
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent
from jpweb.stream.layout.facets import GROUPS, PROBLEMS, facet
from jpweb.stream.layout.items import Entry, Item
from jpweb.web import numbers

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Turn

#: Folds that an address names at most, of either sort.
FOLDS = 50
#: Characters of what it looks for.
WORDS = 200
#: Seconds without an event that a reader is told of.
GAP = 15 * 60
#: What a reader can choose: groups of facets, and what went wrong.
CHOICES = GROUPS | {"problems": PROBLEMS}


@dataclass(frozen=True, slots=True)
class Choice:
    """What an address asks for. Positions and heads that are no numbers count as not said."""

    at: str = ""
    turn: int | None = None
    after: int | None = None
    before: int | None = None
    show: tuple[str, ...] = ()
    opened: frozenset[str] = frozenset()
    words: str = ""
    shut: frozenset[str] = frozenset()

    @classmethod
    def read(cls, says: Mapping[str, str]) -> Choice:
        """Read the parameters of an address; what nobody knows is left out.

        A fold that is named both open and shut is shut.
        """
        shut = _anchors(says.get("shut", ""))
        return cls(
            says.get("at", "")[:80],
            numbers.read(says.get("turn")),
            numbers.read(says.get("after")),
            numbers.read(says.get("before")),
            groups(says.get("show", "")),
            _anchors(says.get("open", "")) - shut,
            says.get("q", "").strip()[:WORDS],
            shut,
        )

    @property
    def facets(self) -> frozenset[str] | None:
        """The facets to show, or None for all."""
        return facets(self.show)

    def kept(self, **more: Any) -> str:
        """Return the query of an address elsewhere that shows the same kinds and words."""
        says = {"show": ",".join(self.show), "q": self.words} | more
        return urlencode({k: v for k, v in says.items() if v not in ("", None)}, safe=",")


@dataclass(frozen=True, slots=True)
class Line:
    """An item with what stands before it: its turn's heading, a gap in time, where news begin."""

    item: Item
    turn: Turn | None = None
    continued: bool = False
    gap: int = 0
    news: bool = False
    more: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A window as a page shows it."""

    window: Window = field(default_factory=Window)
    lines: list[Line] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The head of its first item, -1 where there is none."""
        return self.window.heads[0] if self.window.heads else -1

    @property
    def last(self) -> int:
        """The head of its last item, -1 where there is none."""
        return self.window.heads[-1] if self.window.heads else -1


def groups(text: str) -> tuple[str, ...]:
    """Return the groups that a text names, each once, in their order."""
    said = set(text.split(","))
    return tuple(name for name in CHOICES if name in said)


def facets(show: Iterable[str]) -> frozenset[str] | None:
    """Return the facets of some groups, or None for all where there is no group."""
    return frozenset(facet for name in show for facet in CHOICES[name]) or None


def chosen(item: Item, facets: frozenset[str] | None, length: int | None = None) -> bool:
    """Tell whether an item is shown where these facets are; or was, among so many entries."""
    own = [each for each in item.elements if length is None or each.position < length]
    return bool(own) and (facets is None or any(facet(each.element) in facets for each in own))


def part(found: Conversation, choice: Choice, *, read: int | None, live: bool = False) -> Part:
    """Return the window that an address asks for.

    ``read`` is how many entries its reader has seen, ``live`` whether it goes on. Raises
    UnknownEvent for a permalink to nothing.
    """
    window = _window(found, choice, read, live=live)
    if read is not None and window.previous is not None and window.previous >= read:
        read = None  # the news begin further up
    before = None if window.previous is None else windows.ended(found.pk, window.previous)
    made = lines(window.contents, found.length, read=read, top=not window.earlier, before=before)
    return Part(window, made)


def lines(
    shown: Contents,
    length: int,
    *,
    read: int | None = None,
    whole: bool = True,
    top: bool = False,
    before: datetime | None = None,
) -> list[Line]:
    """Return items as a page shows them; without ``whole`` they need not stand in a row.

    A turn's heading stands above the first item that is shown of it: above the first of all, where
    ``top`` says that none is before that. ``before`` is when what stands before them ended.
    """
    starts = {turn.position: turn for turn in shown.turns.values()}
    made: list[Line] = []
    known = read is None or read >= length
    for number, (turn, item) in enumerate(shown.items):
        begun = starts.get(item.first)
        if begun is None and whole and (turn != shown.items[number - 1][0] if number else top):
            begun = shown.turns.get(turn)
        continued = whole and number == 0 and begun is None
        news = not known and read is not None and item.first >= read
        known = known or news
        made.append(
            Line(
                item,
                begun or (shown.turns.get(turn) if continued else None),
                continued,
                gap(item, before) if whole else 0,
                news and item.first > 0,
                shown.more.get(item.first, 0),
            )
        )
        before = ended(item) or before
    return made


def gap(item: Item, before: datetime | None) -> int:
    """Return the seconds that passed before an item, where a reader is told of so many; else 0."""
    begun = next(iter(_times(item)), None)
    passed = int((begun - before).total_seconds()) if begun and before else 0
    return passed if passed >= GAP else 0


def ended(item: Item) -> datetime | None:
    """Return when the last event of an item happened; None where none of them says."""
    return max(_times(item), default=None)


def context(found: Conversation, choice: Choice, part: Part) -> dict[str, Any]:
    """Return what the template of a window needs."""
    here = reverse("conversation", args=[found.pk])
    found.question_keys = part.window.contents.questions  # type: ignore[attr-defined]  # for the tag
    return {
        "conversation": found,
        "part": part,
        "here": here,
        "kept": choice.kept(),
        "opened": choice.opened,
        "shut": choice.shut,
        "earlier": part.window.earlier and f"{here}?{choice.kept(before=part.first)}",
        "later": part.window.later and f"{here}?{choice.kept(after=part.last)}",
    }


def aside(found: Conversation, here: Part) -> dict[str, Any]:
    """Return what the outline shows: the turns around the window, and of one turn what is in it."""
    numbers = sorted(here.window.contents.turns)
    current = numbers[0] if numbers else 0
    inside: dict[int, list[Item]] = {}
    for turn, item in here.window.contents.items:
        if not isinstance(item, Entry):
            inside.setdefault(turn, []).append(item)
    return {
        "stretch": turns.around(found.pk, current, found.turns),
        "current": current,
        "inside": inside.get(current, []),
        "partly": bool(numbers) and not _holds(here, current),
    }


def _holds(here: Part, number: int) -> bool:
    """Tell whether all of a turn is in a window."""
    turns = here.window.contents.turns
    begins = turns[number].position >= here.first or not here.window.earlier
    return begins and (number + 1 in turns or not here.window.later)


def _window(found: Conversation, choice: Choice, read: int | None, *, live: bool) -> Window:
    key, facets = found.pk, choice.facets
    if choice.after is not None:
        return windows.after(key, choice.after, facets)
    if choice.before is not None:
        return windows.before(key, choice.before, facets)
    place = _place(found, choice, read)
    if place is not None:
        return windows.around(key, place, facets)
    ends = choice.at in ("end", "new") or (live and not choice.at)
    return windows.end(key, facets) if ends else windows.start(key, facets)


def _place(found: Conversation, choice: Choice, read: int | None) -> int | None:
    """Return the position that an address names, or None where it names none."""
    if choice.turn is not None:
        return turns.begins(found.pk, choice.turn) or 0
    if choice.at == "new":
        return read if read is not None and read < found.length else None
    if choice.at in ("", "end"):
        return None
    number = numbers.read(choice.at)
    return windows.position(found.pk, choice.at) if number is None else number


def _times(item: Item) -> list[datetime]:
    bodies = [each.element.body for each in item.elements]
    said = [body.timestamp for body in bodies if isinstance(body, ConversationEvent)]
    return [at for at in map(timestamps.parse, said) if at]


def _anchors(text: str) -> frozenset[str]:
    return frozenset([anchor for anchor in text.split(",") if anchor][:FOLDS])
