"""What ``jp`` added to a native conversation that was written into its workspace."""

from __future__ import annotations

from django.db import transaction

from jpweb.store import inquiries, journal, plain
from jpweb.store.disk import workspace
from jpweb.store.disk.reading import MAX_ELEMENTS
from jpweb.store.disk.workspace import FoundConversation
from jpweb.store.errors import StoreError
from jpweb.store.models import Conversation, Run
from jpweb.store.terms import UNFINISHED
from jpweb.stream import identity, wire
from jpweb.stream.errors import NotAStream
from jpweb.stream.events import Element
from jpweb.stream.outline import outline

#: Elements that are taken in at once, in one transaction.
MAX_ADDED_ELEMENTS = 10_000


class Diverged(StoreError):
    """What is on disk does not begin with what was run here, or the other way round."""


def take_in(conversation: Conversation, folder: FoundConversation) -> int:
    """Append to the journal what stands on disk beyond it; returns how many elements did.

    Raises Diverged, and changes nothing but what the conversation says of itself.
    """
    try:
        read = _read(folder)
    except (OSError, NotAStream) as error:
        raise _diverged(conversation, folder, f"its file can't be read: {error}") from error
    if len(read) - conversation.length > MAX_ADDED_ELEMENTS:
        why = f"jp added more than {MAX_ADDED_ELEMENTS:,} events at once"
        raise _diverged(conversation, folder, why)
    with transaction.atomic():
        held = journal.held(conversation.pk)
        if Run.objects.filter(conversation=held, state__in=UNFINISHED).exists():
            return 0  # the run writes; whoever comes after it looks again
        ours = journal.elements(held.pk)
        here, there = identity.anchors(ours), identity.anchors(read)
        common = min(len(here), len(there))
        if common and here[:common] == there[:common]:
            return _append(held, folder, [*ours, *read[len(ours) :]], len(ours))
    raise _diverged(conversation, folder, "jp changed events that were run here")


def _read(folder: FoundConversation) -> list[Element]:
    """Read the elements on disk. Raises OSError, NotAStream."""
    data = workspace.events(folder)
    if wire.has_more(data, MAX_ELEMENTS):
        raise NotAStream(f"it has more than {MAX_ELEMENTS:,} events")
    return [wire.read(text) for text in wire.split(data)]


def _append(held: Conversation, folder: FoundConversation, whole: list[Element], known: int) -> int:
    if len(whole) > known:
        shown = outline(whole)
        journal.replace(held, whole, shown.anchors)
        inquiries.derive(held, shown)
    about = workspace.metadata(folder)
    if not about.problem:  # as somebody left it with jp, or with us
        held.title, held.labels = plain.text(about.title)[:500], plain.deep(about.labels)
        held.pinned_at, held.expires_at = about.pinned_at, about.expires_at
        held.archived, held.unindexed = folder.archived, True
    held.fingerprint, held.problem = folder.fingerprint, ""
    held.save()
    return len(whole) - known


def _diverged(conversation: Conversation, folder: FoundConversation, why: str) -> Diverged:
    problem = f"The copy in the workspace differs: {why}. This page shows the version run here"
    Conversation.objects.filter(pk=conversation.pk).update(
        problem=problem[:500], fingerprint=folder.fingerprint
    )
    return Diverged(problem)
