"""What comes of an answer or a decline, whether a form brought it or the socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import NobodyWaits
from jpweb.store import inquiries
from jpweb.store.errors import AlreadySettled, ReadOnly
from jpweb.stream.errors import Unfit

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Inquiry

#: As in HTTP: it is settled; somebody was first; it is open still, and why.
SETTLED, LATE, OPEN = 200, 409, 422
NOBODY = (
    "The tool call isn't waiting for this secret right now. Your input was discarded, not "
    "stored. If it is still needed, you will be asked again."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is shown in the card's place: a template, and what it needs."""

    status: int
    row: Inquiry
    name: str
    context: dict[str, Any]

    async def html(self) -> str:
        """Return it as htmx and the socket show it, without a form's token."""
        if self.status == SETTLED:  # all of it is read
            return render_to_string(self.name, self.context)
        return await in_store(render_to_string, self.name, self.context)


@dataclass(frozen=True, slots=True)
class Typed:
    """What stood in a card's forms, to be given back. Of a secret nothing is."""

    answer: str = ""
    remember: bool = False
    note: str = ""


@sensitive_variables("typed", "kept")
async def answer(row: Inquiry, by: Decider, typed: Typed) -> Reply:
    """Settle a question with what was typed, or say why it is not."""
    kept = "" if row.answer_type == "secret" else typed.answer
    try:
        settled = await desk.answer(row, typed.answer, by, remember=typed.remember)
    except AlreadySettled:
        return await _late(row, by, kept)
    except (Unfit, ReadOnly) as problem:
        return _open(row, Typed(kept, typed.remember, typed.note), str(problem))
    except NobodyWaits:
        return _open(row, Typed("", typed.remember, typed.note), NOBODY)
    return _settled(settled)


async def decline(row: Inquiry, by: Decider, note: str) -> Reply:
    """Close a question without an answer, or say why it is not."""
    try:
        settled = await desk.decline(row, by, note)
    except AlreadySettled:
        return await _late(row, by, note)
    except ReadOnly as problem:
        return _open(row, Typed(note=note), str(problem))
    return _settled(settled)


def _settled(row: Inquiry) -> Reply:
    return Reply(SETTLED, row, "questions/_settled.html", {"row": row})


async def _late(row: Inquiry, by: Decider, typed: str) -> Reply:
    """Tell the second person who was first, and give them their text back."""
    row = await in_store(inquiries.get, row.pk)
    # Whoever was first may be who sends again, since no reply had come.
    context = {"row": row, "late": True, "typed": typed, "own": row.decider_id == by.person_id}
    return Reply(LATE, row, "questions/_settled.html", context)


def _open(row: Inquiry, typed: Typed, problem: str) -> Reply:
    context = {"row": row, "typed": typed.answer, "problem": problem, "elsewhere": True}
    context |= {"remember": typed.remember, "note": typed.note}
    return Reply(OPEN, row, "questions/_card.html", context)
