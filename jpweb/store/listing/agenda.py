"""What needs a person: what waits for them, how their runs stand, what came since they read.

Each is looked for among the newest of what the person may read, so that its cost does not grow with
what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, OuterRef, Subquery

from jpweb.store.database import clock
from jpweb.store.listing import orders, pages
from jpweb.store.listing.choice import Choice
from jpweb.store.listing.pages import Listed
from jpweb.store.listing.ranges import nearest
from jpweb.store.models import Inquiry, Prompt, Reading, Run
from jpweb.store.telling import standing
from jpweb.store.terms import Role, RunState

#: Of each thing that many are shown; among so many conversations, and so many that were read.
MOST, RECENT, READ = 5, 300, 500
#: For how long a run that failed is of interest, where nothing was done about it.
FAILED_FOR = timedelta(days=7)
_GOES_ON = (RunState.RUNNING, RunState.QUEUED)
_FAILED = (RunState.FAILED, RunState.LOST)


@dataclass(frozen=True, slots=True)
class Agenda:
    """What a person's start page shows; ``newest`` are others than changed and pinned ones."""

    waiting: list[Inquiry | Prompt]
    going_on: list[Run]
    failed: list[Run]
    changed: list[Listed]
    pinned: list[Listed]
    newest: list[Listed]

    @property
    def any(self) -> bool:
        """Whether there is anything to show at all."""
        return bool(self.waiting or self.changed or self.pinned or self.newest)


def agenda(person_id: int) -> Agenda:
    """Return what needs a person; as many queries for much as for little."""
    homes = pages.workspaces(person_id)
    recent = _recent(homes)
    runs = _runs(recent)
    changed, pinned = _changed(person_id, homes), pages.pinned(homes, most=MOST)
    newest = [key for key in recent if key not in {*changed, *pinned}][:MOST]
    rows = {
        row.conversation.pk: row for row in pages.listed(person_id, [*changed, *pinned, *newest])
    }
    return Agenda(
        waiting(pages.workspaces(person_id, Role.RESPONDER)),
        [run for run in runs if run.state in _GOES_ON][:MOST],
        [run for run in runs if run.state in _FAILED][:MOST],
        *([rows[key] for key in keys if key in rows] for keys in (changed, pinned, newest)),
    )


def waiting(homes: Sequence[int], most: int = MOST) -> list[Inquiry | Prompt]:
    """Return what has waited longest for people of these workspaces."""
    found = nearest(orders.of_open_rows(), homes, None, most, back=False).places
    ranks = [divmod(place.key.rank, 2) for place in found]
    questions = standing.questions([key for key, prompt in ranks if not prompt])
    prompts = standing.prompts([key for key, prompt in ranks if prompt])
    rows = ((prompts if prompt else questions).get(key) for key, prompt in ranks)
    return [row for row in rows if row is not None]


def _recent(homes: Sequence[int]) -> list[int]:
    """Return the conversations that were active last."""
    found = nearest(orders.ranges(Choice()), homes, None, RECENT, back=False)
    return [place.conversation_id for place in found.places]


def _runs(recent: Sequence[int]) -> list[Run]:
    """Return the newest runs of conversations that go on, or failed not long ago; newest first."""
    last = Run.objects.filter(conversation_id=OuterRef("conversation_id")).order_by("-id")
    runs = Run.objects.filter(
        conversation_id__in=recent,
        pk=Subquery(last.values("pk")[:1]),
        state__in=(*_GOES_ON, *_FAILED),
    ).exclude(ended_at__lt=clock.now() - FAILED_FOR)
    return list(runs.select_related("conversation__workspace").order_by("-id")[: 2 * RECENT])


def _changed(person_id: int, homes: Sequence[int]) -> list[int]:
    """Return the conversations that have more entries than the person has read, newest first."""
    last = Reading.objects.filter(person_id=person_id).order_by("-at")[:READ]
    longer = Reading.objects.filter(
        pk__in=list(last.values_list("pk", flat=True)), conversation__length__gt=F("length")
    ).filter(conversation__workspace_id__in=homes)
    newest = longer.order_by("-conversation__last_activity", "-conversation_id")
    return list(newest.values_list("conversation_id", flat=True)[:MOST])
