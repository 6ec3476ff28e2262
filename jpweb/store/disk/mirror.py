"""Mirrors: conversations of a JP workspace, copied and read-only. JP's files stay untouched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from jpweb.store import inquiries, journal, plain
from jpweb.store.disk import upstream, workspace
from jpweb.store.disk.workspace import FoundConversation, FoundWorkspace, Metadata
from jpweb.store.errors import NoWorkspace
from jpweb.store.models import Conversation, Workspace
from jpweb.store.terms import Origin, Writing
from jpweb.stream import timestamps, wire
from jpweb.stream.census import Census, census
from jpweb.stream.errors import NotAStream
from jpweb.stream.events import BrokenEvent, ConversationEvent, Element, UnknownEvent
from jpweb.stream.outline import outline

DEMO = Path(__file__).parent / "demo"
#: The demo's root in the database, wherever jpweb is installed.
DEMO_ROOT = "demo"
#: The columns that tell whether a conversation has to be read anew.
_SEEN = ("fingerprint", "archived", "source")


@dataclass(slots=True)
class Report:
    """What a pass over a workspace found; ``problems`` are lines for people."""

    conversations: int = 0
    unchanged: int = 0
    events: int = 0
    inquiries: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    broken: int = 0
    gone: int = 0
    problems: list[str] = field(default_factory=list)
    #: The keys of the conversations that were read anew.
    changed: list[int] = field(default_factory=list)

    def line(self) -> str:
        """Return one line for people."""
        parts = [f"{self.conversations} conversations"]
        if self.unchanged:
            parts.append(f"{self.unchanged} unchanged")
        if self.events:
            parts.append(f"{self.events} new events")
        if self.inquiries:
            states = ", ".join(f"{n} {tag}" for tag, n in sorted(self.inquiries.items()))
            parts.append(f"{self.inquiries.total()} inquiries ({states})")
        if self.unknown or self.broken:
            parts.append(f"{self.unknown} unknown and {self.broken} broken elements, shown raw")
        if self.gone:
            parts.append(f"{self.gone} removed by jp and kept here")
        if self.problems:
            parts.append(f"{len(self.problems)} with problems")
        return "; ".join(parts)


def _silent(_done: int, _total: int, _folder: str) -> None:
    """Report progress to nobody."""


def mirror(
    path: Path,
    name: str = "",
    progress: Callable[[int, int, str], None] = _silent,
) -> tuple[Workspace, Report]:
    """Copy what is new in the workspace at or above ``path``. Raises NoWorkspace.

    ``progress`` is told (done, total, folder name) before each conversation. A conversation that
    cannot be read keeps what was read of it before, and says why.
    """
    found = workspace.find(path)
    home, _ = Workspace.objects.update_or_create(
        root=_root(found),
        defaults={"jp_id": found.jp_id, "name": name or found.root.name or str(found.root)},
    )
    report = Report()
    folders = list(workspace.conversations(found))
    own = Conversation.objects.filter(workspace=home)
    native = {c.jp_id: c for c in own.filter(origin=Origin.NATIVE)}
    if home.writing != Writing.OFF:
        _take_in([(native[f.jp_id], f) for f in folders if f.jp_id in native], report)
    folders = [folder for folder in folders if folder.jp_id not in native]
    mirrored = own.filter(origin=Origin.MIRRORED)
    there = mirrored.filter(gone_at=None)
    known = {key: tuple(seen) for key, *seen in there.values_list("jp_id", *_SEEN)}
    for done, folder in enumerate(folders):
        progress(done, len(folders), folder.folder.name)
        report.conversations += 1
        seen = (folder.fingerprint, folder.archived, plain.text(folder.folder.name))
        if known.get(folder.jp_id) == seen:
            report.unchanged += 1
        else:
            _read(home, folder, report)
    here = {folder.jp_id for folder in folders}
    missing = [key for key in known if key not in here]
    report.gone = mirrored.filter(jp_id__in=missing).update(gone_at=timezone.now())
    progress(len(folders), len(folders), "")
    return home, report


def _root(found: FoundWorkspace) -> str:
    return DEMO_ROOT if found.root == DEMO.resolve() else str(found.root)


def _take_in(found: list[tuple[Conversation, FoundConversation]], report: Report) -> None:
    """Follow what ``jp`` does with native conversations that were written for it."""
    for conversation, folder in found:
        if conversation.fingerprint == folder.fingerprint:
            continue
        try:
            if upstream.take_in(conversation, folder):
                report.changed.append(conversation.pk)
        except upstream.Diverged as problem:
            report.problems.append(f"jp-c{conversation.jp_id}: {problem}")


def counted(home: Workspace) -> Iterator[tuple[Conversation, Census]]:
    """Yield the mirrored conversations of a workspace with what they hold, one at a time."""
    mirrored = Conversation.objects.filter(workspace=home, origin=Origin.MIRRORED)
    for conversation in mirrored.order_by("jp_id").iterator():
        yield conversation, census(journal.elements(conversation.pk))


def roots() -> list[Path]:
    """Return the roots of the mirrored workspaces that are still there, the demo left out."""
    known = Workspace.objects.exclude(root=DEMO_ROOT).values_list("root", flat=True)
    return [Path(root) for root in known if (Path(root) / ".jp").is_dir()]


def watchable(root: Path) -> list[Path]:
    """Return the folders in which the conversations of a workspace change."""
    try:
        return [home for home in workspace.find(root).homes if home.is_dir()]
    except NoWorkspace:
        return []


def _read(home: Workspace, folder: FoundConversation, report: Report) -> None:
    about = workspace.metadata(folder)
    read, framing, problem = _elements(folder)
    problem = problem or about.problem
    if problem:
        report.problems.append(f"{plain.text(folder.folder.name)}: {problem}")
    with transaction.atomic():
        conversation = _conversation(home, folder, about)
        conversation.problem = problem[:500]
        if read is not None:
            shown = outline(read)
            conversation.turns = len(shown.turns)
            conversation.length = len(read)
            conversation.framing = framing
            conversation.last_activity = _last_activity(read, about, folder)
            report.events += journal.replace(conversation, read, shown.anchors)
            report.inquiries += inquiries.derive(conversation, shown)
            report.unknown += sum(isinstance(e.body, UnknownEvent) for e in read)
            report.broken += sum(isinstance(e.body, BrokenEvent) for e in read)
        conversation.save()
        report.changed.append(conversation.pk)


def _elements(folder: FoundConversation) -> tuple[list[Element] | None, str, str]:
    """Return the elements and what stands between them, or None and the reason."""
    name = workspace.stream_file(folder.folder).name
    try:
        texts, framing = wire.split_framed(workspace.events(folder))
    except OSError as error:
        return None, "", f"{name}: {error.strerror}"
    except NotAStream as error:
        return None, "", f"{name} cannot be read: {error}"
    return [wire.read(text) for text in texts], framing, ""


def _conversation(home: Workspace, folder: FoundConversation, about: Metadata) -> Conversation:
    conversation, _ = Conversation.objects.get_or_create(
        workspace=home,
        jp_id=folder.jp_id,
        defaults={
            "origin": Origin.MIRRORED,
            "last_activity": about.last_activated_at or workspace.created_at(folder.jp_id),
        },
    )
    if not about.problem:
        conversation.title = plain.text(about.title)[:500]
        conversation.pinned_at = about.pinned_at
        conversation.labels = plain.deep(about.labels)
        conversation.expires_at = about.expires_at
    conversation.archived = folder.archived
    conversation.gone_at = None
    conversation.source = plain.text(folder.folder.name)
    conversation.fingerprint = folder.fingerprint
    return conversation


def _last_activity(read: list[Element], about: Metadata, folder: FoundConversation) -> datetime:
    """Return the time of the last element that has one, as JP lists it."""
    for element in reversed(read):
        if isinstance(element.body, ConversationEvent):
            moment = timestamps.parse(element.body.timestamp)
            if moment is not None:
                return moment
    return about.last_activated_at or workspace.created_at(folder.jp_id)
