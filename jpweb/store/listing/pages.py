"""A page of the list of conversations, by key, at the same cost wherever it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Count, QuerySet

from jpweb.store import inquiries
from jpweb.store.listing import keys, orders
from jpweb.store.listing.choice import Choice, Sort
from jpweb.store.listing.keys import Key
from jpweb.store.listing.ranges import Found, nearest
from jpweb.store.models import Conversation, Membership, Prompt, Reading
from jpweb.store.terms import PromptState, Role

PAGE = 100
#: Pinned conversations that stand above the others; more of them stand where they would.
PINS = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation with its inquiries by state, in the order of ``inquiries.STATES``.

    ``prompts`` are those that wait; ``new`` is how many entries came since the person read it.
    """

    conversation: Conversation
    inquiries: dict[str, int] = field(default_factory=dict)
    prompts: int = 0
    new: int = 0

    @property
    def asked(self) -> int:
        """How many inquiries there are."""
        return sum(self.inquiries.values())


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list.

    ``older`` and ``newer`` are the keys of the parts that follow and precede it, or empty.
    ``cut``: it was looked so far and no further for what the filters ask; the key goes on there.
    """

    rows: list[Listed]
    older: str = ""
    newer: str = ""
    cut: bool = False


def page(person_id: int, choice: Choice) -> Page:
    """Return the conversations of a choice that a person may read.

    By activity the pinned ones come first, at most ``PINS``. Who goes back to where nothing more
    precedes gets the beginning.
    """
    homes = workspaces(person_id, only=choice.workspace)
    instants = choice.sort != Sort.LENGTH
    start = keys.read(choice.before, instants=instants)
    back = keys.read(choice.after, instants=instants) if start is None else None
    top = _top(homes, choice)
    if back is not None:
        found, rest = _rest(homes, choice, back, top, back=True)
        more = len(rest) > PAGE
        if more or found.horizon is not None:
            rows = sorted(rest[:PAGE], reverse=choice.sort != Sort.WAITING)
            shown = _shown(person_id, choice, rows, newer=True, older=True)
            return shown if more else replace(shown, newer=str(found.horizon), cut=True)
        start = None
    found, rest = _rest(homes, choice, start, top, back=False)
    more = len(rest) > PAGE
    first = _chosen(top, choice) if start is None else []
    shown = _shown(person_id, choice, rest[:PAGE], newer=start is not None, older=more, first=first)
    if found.horizon is not None and not more:
        return replace(shown, older=str(found.horizon), cut=True)
    return shown


def workspaces(person_id: int, role: Role = Role.READER, only: int | None = None) -> list[int]:
    """Return the keys of the workspaces in which a person has at least this role."""
    own = Membership.objects.filter(person_id=person_id, role__gte=role)
    if only is not None:
        own = own.filter(workspace_id=only)
    return sorted(own.values_list("workspace_id", flat=True))


def pinned(homes: Sequence[int], *, archived: bool = False, most: int = PINS) -> list[int]:
    """Return the keys of the conversations that were pinned last."""
    found = nearest([orders.pinned(archived=archived)], homes, None, most, back=False)
    return [place.conversation_id for place in found.places]


def listed(person_id: int, wanted: Sequence[int]) -> list[Listed]:
    """Return conversations with what a row says of them, in the order of their keys here.

    As many queries for many as for one; those that are gone are left out.
    """
    rows = Conversation.objects.select_related("workspace").in_bulk(list(wanted))
    states = inquiries.counts(rows)
    waiting = _prompts(rows)
    read = Reading.objects.filter(person_id=person_id, conversation__in=list(rows))
    lengths = dict(read.values_list("conversation_id", "length"))
    return [
        Listed(
            rows[key],
            {s: states[key][s] for s in inquiries.STATES if s in states[key]}
            if key in states
            else {},
            waiting[key],
            max(rows[key].length - lengths.get(key, rows[key].length), 0),
        )
        for key in wanted
        if key in rows
    ]


def _rest(
    homes: Sequence[int], choice: Choice, start: Key | None, top: Collection[int], *, back: bool
) -> tuple[Found, list[tuple[Key, int]]]:
    """Return what was found from a key on, and of it what does not stand at the top."""
    need = PAGE + 1 + len(top)
    found = nearest(orders.ranges(choice), homes, start, need, back=back)
    rest = [(p.key, p.conversation_id) for p in found.places if p.conversation_id not in top]
    return found, rest


def _top(homes: Sequence[int], choice: Choice) -> list[int]:
    """Return what stands above the list, wherever the page begins."""
    if choice.sort != Sort.ACTIVITY:
        return []
    return pinned(homes, archived=choice.archived)


def _chosen(top: Sequence[int], choice: Choice) -> list[int]:
    """Return those of the top that the filters let through."""
    wanted = orders.ranges(choice)[0]
    rows: QuerySet[Conversation] = wanted.rows.filter(pk__in=top)
    if wanted.wanted is not None:
        rows = rows.filter(wanted.wanted)
    kept = set(rows.values_list("pk", flat=True)) if top else set()
    return [key for key in top if key in kept]


def _shown(
    person_id: int,
    choice: Choice,
    rest: Sequence[tuple[Key, int]],
    *,
    newer: bool,
    older: bool,
    first: Sequence[int] = (),
) -> Page:
    rows = listed(person_id, [*first, *(key for _, key in rest)])
    ends = (str(rest[0][0]), str(rest[-1][0])) if rest else (choice.before or choice.after,) * 2
    return Page(rows, older=ends[1] if older else "", newer=ends[0] if newer else "")


def _prompts(conversation_ids: Iterable[int]) -> Counter[int]:
    waiting = Prompt.objects.filter(
        inquiries.goes_on(), conversation_id__in=list(conversation_ids), state=PromptState.OPEN
    )
    counted = waiting.order_by().values_list("conversation_id").annotate(Count("pk"))
    return Counter(dict(counted))
