"""Mirrors: conversations of a JP workspace, copied and read-only. JP's files stay untouched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.db import IntegrityError, transaction
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
from jpweb.stream.outline import Outline, asked

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
    home = _workspace(found, name)
    report = Report()
    folders = list(workspace.conversations(found))
    own = Conversation.objects.filter(workspace=home)
    rows = own.values_list("jp_id", "origin", "gone_at", *_SEEN)
    there = {key: origin for key, origin, *_ in rows}
    if Origin.NATIVE in there.values():
        folders = _take_in(home, folders, report)
    mirrored = own.filter(origin=Origin.MIRRORED)
    known = {
        key: tuple(seen)
        for key, origin, gone_at, *seen in rows
        if origin == Origin.MIRRORED and gone_at is None
    }
    for done, folder in enumerate(folders):
        progress(done, len(folders), folder.folder.name)
        report.conversations += 1
        seen = (folder.fingerprint, folder.archived, plain.text(folder.folder.name))
        if known.get(folder.jp_id) == seen:
            report.unchanged += 1
        else:
            _read(home, folder, report, fresh=folder.jp_id not in there)
    here = {folder.jp_id for folder in folders}
    missing = [key for key in known if key not in here]
    report.gone = mirrored.filter(jp_id__in=missing).update(gone_at=timezone.now())
    progress(len(folders), len(folders), "")
    return home, report


def _root(found: FoundWorkspace) -> str:
    return DEMO_ROOT if found.root == DEMO.resolve() else str(found.root)


def _workspace(found: FoundWorkspace, name: str) -> Workspace:
    """Return the row of a workspace; written only where it says something new."""
    root = _root(found)
    says = {"jp_id": found.jp_id, "name": name or found.root.name or str(found.root)}
    home = Workspace.objects.filter(root=root, **says).first()
    return home or Workspace.objects.update_or_create(root=root, defaults=says)[0]


def _take_in(
    home: Workspace, folders: list[FoundConversation], report: Report
) -> list[FoundConversation]:
    """Follow what ``jp`` does with native conversations that were written for it.

    Returns the folders of the others.
    """
    native = {c.jp_id: c for c in Conversation.objects.filter(workspace=home, origin=Origin.NATIVE)}
    ours = [folder for folder in folders if folder.jp_id in native]
    for folder in ours if home.writing != Writing.OFF else ():
        conversation = native[folder.jp_id]
        if conversation.fingerprint == folder.fingerprint:
            continue
        try:
            if upstream.take_in(conversation, folder):
                report.changed.append(conversation.pk)
        except upstream.Diverged as problem:
            report.problems.append(f"jp-c{conversation.jp_id}: {problem}")
    return [folder for folder in folders if folder.jp_id not in native]


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


def _read(home: Workspace, folder: FoundConversation, report: Report, *, fresh: bool) -> None:
    about = workspace.metadata(folder)
    stream, problem = _stream(folder)
    problem = problem or about.problem
    if problem:
        report.problems.append(f"{plain.text(folder.folder.name)}: {problem}")
    found = _Found(folder, about, problem[:500], stream)
    try:
        copied = _copy(home, found, fresh=fresh)
    except IntegrityError:
        if not fresh:
            raise
        copied = _copy(home, found, fresh=False)  # another pass came first
    report.changed.append(copied.key)
    report.events += copied.events
    report.inquiries += copied.inquiries
    kinds = Counter(type(element.body) for element in (stream.elements if stream else ()))
    report.unknown += kinds[UnknownEvent]
    report.broken += kinds[BrokenEvent]


@dataclass(frozen=True, slots=True)
class _Stream:
    """What stands in a file: the elements, what is between them, and what is derived."""

    elements: list[Element]
    framing: str
    shown: Outline


@dataclass(frozen=True, slots=True)
class _Found:
    """A conversation as it is on disk; no stream where its file cannot be read."""

    folder: FoundConversation
    about: Metadata
    problem: str
    stream: _Stream | None


@dataclass(frozen=True, slots=True)
class _Copied:
    """The key of a conversation that was written, and what was new in it."""

    key: int
    events: int = 0
    inquiries: Counter[str] = field(default_factory=Counter)


def _stream(folder: FoundConversation) -> tuple[_Stream | None, str]:
    """Return the stream, or None and the reason."""
    name = workspace.stream_file(folder.folder).name
    try:
        texts, framing = wire.split_framed(workspace.events(folder))
    except OSError as error:
        return None, f"{name}: {error.strerror}"
    except NotAStream as error:
        return None, f"{name} cannot be read: {error}"
    elements = [wire.read(text) for text in texts]
    return _Stream(elements, framing, asked(elements)), ""


@transaction.atomic
def _copy(home: Workspace, found: _Found, *, fresh: bool) -> _Copied:
    """Write a conversation, all or nothing; ``fresh`` where it is not there yet."""
    stream = found.stream
    conversation = _conversation(home, found, fresh=fresh)
    if stream is None:
        conversation.save()
        return _Copied(conversation.pk)
    conversation.turns = len(stream.shown.turns)
    conversation.length = len(stream.elements)
    conversation.framing = stream.framing
    conversation.last_activity = _last_activity(stream.elements, found)
    revision = conversation.revision
    conversation.save()
    events = journal.replace(conversation, stream.elements, stream.shown.anchors, fresh=fresh)
    states = inquiries.derive(conversation, stream.shown, fresh=fresh)
    if conversation.revision != revision:
        conversation.save(update_fields=["revision"])
    return _Copied(conversation.pk, events, states)


def _conversation(home: Workspace, found: _Found, *, fresh: bool) -> Conversation:
    folder, about = found.folder, found.about
    first = {"origin": Origin.MIRRORED, "last_activity": _begun(found)}
    key = {"workspace": home, "jp_id": folder.jp_id}
    if fresh:
        conversation = Conversation(**key, **first)
    else:
        conversation, _ = Conversation.objects.get_or_create(**key, defaults=first)
    if not about.problem:
        conversation.title = plain.text(about.title)[:500]
        conversation.pinned_at = about.pinned_at
        conversation.labels = plain.deep(about.labels)
        conversation.expires_at = about.expires_at
    conversation.problem = found.problem
    conversation.archived = folder.archived
    conversation.gone_at = None
    conversation.source = plain.text(folder.folder.name)
    conversation.fingerprint = folder.fingerprint
    return conversation


def _last_activity(read: list[Element], found: _Found) -> datetime:
    """Return the time of the last element that has one, as JP lists it."""
    for element in reversed(read):
        if isinstance(element.body, ConversationEvent):
            moment = timestamps.parse(element.body.timestamp)
            if moment is not None:
                return moment
    return _begun(found)


def _begun(found: _Found) -> datetime:
    return found.about.last_activated_at or workspace.created_at(found.folder.jp_id)
