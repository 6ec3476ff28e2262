"""Where items go that come to be shown on a live page: at its end, or among those of some kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jpweb.store.browsing import steps, turns, windows
from jpweb.web import transcript
from jpweb.web.transcript import Line

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Behind all that is there.
END = "beforeend:#tail"


class Insertion(NamedTuple):
    """An item, and where it goes as htmx is told."""

    line: Line
    where: str = END


def at_end(found: Conversation, added: Sequence[Line]) -> list[Insertion]:
    """Return where new items go, in stream order, on a page that shows all and its end."""
    made: list[Insertion] = []
    ended = windows.happened(found.pk, added[0].item.first - 1) if added else None
    for line in added:
        made.append(Insertion(replace(line, gap=transcript.gap(line.item, ended))))
        ended = transcript.ended(line.item) or ended
    return made


def among(found: Conversation, added: Sequence[Line], facets: frozenset[str]) -> list[Insertion]:
    """Return where items go, in stream order, on a page that shows some kinds.

    An older item may come to be among them, for what has come of it since. Each is put behind the
    one before it, which is there by then.
    """
    new = {line.item.first for line in added}
    return [_among(found, line, facets, new) for line in added]


def _among(found: Conversation, line: Line, facets: frozenset[str], new: set[int]) -> Insertion:
    before, later = windows.beside(found.pk, line.item.first, facets, 1 + len(new))
    after = next((head for head in later if head not in new), None)
    turn = turns.at(found.pk, line.item.first)
    if before is not None:
        line = replace(line, gap=transcript.gap(line.item, windows.ended(found.pk, before)))
    if turn and (before is None or before < turn.position):
        if after is not None and turn == turns.at(found.pk, after):
            # What is shown of the turn already stands under its heading.
            return Insertion(line, f"beforebegin:#{steps.anchor(found.pk, after)}")
        line = replace(line, turn=turn)
    if before is not None:
        return Insertion(line, f"afterend:#{steps.anchor(found.pk, before)}")
    other = None if after is None else turns.at(found.pk, after)
    return Insertion(line, f"beforebegin:#turn-{other.number}" if other else END)
