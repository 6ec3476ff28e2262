"""What is asked for many pages at once: who may, what waits where, what changed.

Each function takes the same number of queries however many people and pages there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery

from jpweb.store.inquiries import OPEN
from jpweb.store.models import Conversation, Inquiry, Membership, Prompt, Run
from jpweb.store.terms import UNFINISHED, PromptState, Role

#: Keys that one query names at most; every database takes as many.
KEYS = 10_000


class Waiting(NamedTuple):
    """An open question, or an open prompt, of a run that has not ended."""

    asked_at: datetime
    prompt: bool
    key: int
    workspace_id: int
    conversation_id: int


def roles(person_ids: Collection[int]) -> dict[int, dict[int, Role]]:
    """Return the roles of people by workspace; who has none has an empty one."""
    found: dict[int, dict[int, Role]] = {key: {} for key in person_ids}
    for keys in _parts(person_ids):
        rows = Membership.objects.filter(person_id__in=keys)
        for person_id, workspace_id, role in rows.values_list("person_id", "workspace_id", "role"):
            found[person_id][workspace_id] = Role(role)
    return found


def roles_in(workspace_id: int, person_ids: Collection[int]) -> dict[int, Role]:
    """Return the roles that people have in one workspace; outsiders are left out."""
    found: dict[int, Role] = {}
    for keys in _parts(person_ids):
        rows = Membership.objects.filter(workspace_id=workspace_id, person_id__in=keys)
        found |= {key: Role(role) for key, role in rows.values_list("person_id", "role")}
    return found


def waiting(workspace_ids: Collection[int]) -> list[Waiting]:
    """Return all that waits for people in these workspaces, in the order in which it was asked."""
    found: list[Waiting] = []
    columns = ("asked_at", "pk", "conversation__workspace_id", "conversation_id")
    for keys in _parts(workspace_ids):
        there = {"conversation__workspace_id__in": keys, "run__state__in": UNFINISHED}
        questions = Inquiry.objects.filter(state=OPEN, **there)
        prompts = Prompt.objects.filter(state=PromptState.OPEN, **there)
        for is_prompt, rows in ((False, questions), (True, prompts)):
            for asked_at, key, workspace_id, conversation_id in rows.values_list(*columns):
                found.append(Waiting(asked_at, is_prompt, key, workspace_id, conversation_id))
    return sorted(found)


def questions(keys: Collection[int]) -> dict[int, Inquiry]:
    """Return the rows of questions, with what a card shows; those that are gone are left out."""
    return _rows(Inquiry, keys)


def prompts(keys: Collection[int]) -> dict[int, Prompt]:
    """Return the rows of prompts, with what a card shows; those that are gone are left out."""
    return _rows(Prompt, keys)


def conversations(keys: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return what differs once a conversation has changed."""
    found: dict[int, tuple[Any, ...]] = {}
    of_run = ("run", "state", "resumed")
    newest = Run.objects.filter(conversation_id=OuterRef("pk")).order_by("-id")
    for part in _parts(keys):
        rows = Conversation.objects.filter(pk__in=part).annotate(
            run=Subquery(newest.values("pk")[:1]),
            state=Subquery(newest.values("state")[:1]),
            resumed=Subquery(newest.values("resumed")[:1]),
        )
        columns = ("length", "revision", "archived", "gone_at", "expires_at")
        found |= {row[0]: row[1:] for row in rows.values_list("pk", *columns, *of_run)}
    return found


def desks(workspace_ids: Collection[int]) -> dict[int, tuple[Waiting, ...]]:
    """Return what differs once something came to wait in a workspace, or waits no more."""
    found: dict[int, list[Waiting]] = defaultdict(list)
    for row in waiting(workspace_ids):
        found[row.workspace_id].append(row)
    return {key: tuple(found[key]) for key in workspace_ids}


def _rows(model: Any, keys: Collection[int]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for part in _parts(keys):
        rows = model.objects.select_related("conversation__workspace", "run", "decider")
        found |= {row.pk: row for row in rows.filter(pk__in=part)}
    return found


def _parts(keys: Collection[int]) -> Iterator[list[int]]:
    every = sorted(keys)
    for start in range(0, len(every), KEYS):
        yield every[start : start + KEYS]
