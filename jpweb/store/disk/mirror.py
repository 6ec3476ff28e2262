"""Mirrors: conversations of a JP workspace, copied and read-only. JP's files stay untouched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.db import IntegrityError, transaction

from jpweb.store import journal, plain
from jpweb.store.database import clock
from jpweb.store.disk import binding, copying, directory, upstream, workers, workspace
from jpweb.store.disk.reading import Reading
from jpweb.store.disk.workspace import FoundConversation, FoundWorkspace
from jpweb.store.errors import BadName, NoWorkspace
from jpweb.store.models import Conversation, Workspace
from jpweb.store.people import names
from jpweb.store.terms import Origin, Writing
from jpweb.stream.census import Census, census

DEMO = Path(__file__).parent / "demo"
_DEMO = directory.resolve(DEMO)
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
    """Copy what is new in the workspace at or above ``path``. Raises NoWorkspace, BadName.

    ``progress`` is told (done, total, folder name) before each conversation. A conversation that
    cannot be read keeps what was read of it before, and says why.
    """
    report = Report()
    found = workspace.find(path)
    known = next(iter(Workspace.objects.filter(root=_root(found))[:1]), None)
    bound_id = known.copies_id if known else found.jp_id if binding.can_bind(found) else ""
    found = workspace.find(path, bound_id)
    report.problems += filter(None, (*found.notes, plain.text(binding.describe(found))))
    folders = _read_folders(found, report)
    # What is new and small is written at one go: each commit costs as much as thirty elements.
    with transaction.atomic() if known is None and workers.little(folders) else nullcontext():
        home, made = _workspace(found, name, known, bound_id)
        _mirror(home, folders, report, progress, made=made)
        return home, report


def _read_folders(found: FoundWorkspace, report: Report) -> list[FoundConversation]:
    """Return the folders of conversations; those that are refused are reported."""
    refused: list[str] = []
    folders = list(workspace.conversations(found, refused))
    report.problems += map(plain.text, refused)
    return folders


def _mirror(
    home: Workspace,
    folders: list[FoundConversation],
    report: Report,
    progress: Callable[[int, int, str], None],
    *,
    made: bool,
) -> None:
    """Copy what is new in these folders; ``made`` where the workspace itself is."""
    own = Conversation.objects.filter(workspace=home)
    rows = () if made else own.values_list("jp_id", "origin", "gone_at", *_SEEN)
    there = {key: origin for key, origin, *_ in rows}
    if Origin.NATIVE in there.values():
        folders = _take_in(home, folders, report)
    known = {
        key: tuple(seen)
        for key, origin, gone_at, *seen in rows
        if origin == Origin.MIRRORED and gone_at is None
    }
    report.conversations = len(folders)
    new = {folder.jp_id for folder in folders if known.get(folder.jp_id) != _seen(folder)}
    report.unchanged = len(folders) - len(new)
    with workers.readings([folder for folder in folders if folder.jp_id in new]) as readings:
        for done, folder in enumerate(folders):
            progress(done, len(folders), folder.folder.name)
            if folder.jp_id in new:
                _take(home, folder, next(readings), report, fresh=folder.jp_id not in there)
    here = {folder.jp_id for folder in folders}
    missing = [key for key in known if key not in here]
    if missing:
        gone = own.filter(origin=Origin.MIRRORED, jp_id__in=missing)
        report.gone = gone.update(gone_at=clock.now())
    progress(len(folders), len(folders), "")


def _seen(folder: FoundConversation) -> tuple[str, bool, str]:
    """Return the folder as the columns of ``_SEEN`` have it."""
    return folder.fingerprint, folder.archived, plain.text(folder.folder.name)


def _root(found: FoundWorkspace) -> str:
    return DEMO_ROOT if found.root == _DEMO else str(found.root)


def _workspace(
    found: FoundWorkspace, name: str, home: Workspace | None, bound_id: str
) -> tuple[Workspace, bool]:
    """Return the row of a workspace, and whether it was made; written only where it says more."""
    root = _root(found)
    says = {"jp_id": found.jp_id}
    if home is None or name:  # a name that was given stays
        says["name"] = name or found.root.name or str(found.root)
    same = Workspace.objects.filter(root=root)
    if home is None:
        _check_name(says["name"])
        with suppress(IntegrityError), transaction.atomic():  # another pass may come first
            return Workspace.objects.create(root=root, copies_id=bound_id, **says), True
    elif (home.jp_id, home.name) == (says["jp_id"], says.get("name", home.name)):
        return home, False
    same.update(**says)
    return same.get(), False


def _check_name(name: str) -> None:
    """Refuse a new workspace that would pass for another one. Raises BadName."""
    known = Workspace.objects.exclude(name=name).values_list("name", flat=True)
    try:
        names.check_unlike(names.check_name(name), known)
    except BadName as problem:
        raise BadName(
            f"“{ascii(name)[1:-1]}” cannot be a workspace's name. {problem} Give it another one: "
            "manage.py mirror PATH --name NAME"
        ) from problem


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
    return [Path(root) for root in known if _is_there(Path(root))]


def _is_there(root: Path) -> bool:
    try:
        return directory.is_directory(root / ".jp")
    except OSError:
        return False


def watchable(root: Path) -> list[Path]:
    """Return the folders in which the conversations of a workspace change, each by itself."""
    home = Workspace.objects.filter(root=str(root)).first()
    try:
        return workspace.folders(workspace.find(root, home.copies_id if home else ""))
    except NoWorkspace:
        return []


def _take(
    home: Workspace, folder: FoundConversation, reading: Reading, report: Report, *, fresh: bool
) -> None:
    """Write what was read of a conversation, and report it."""
    if reading.problem:
        report.problems.append(f"{plain.text(folder.folder.name)}: {reading.problem}")
    try:
        copied = copying.copy(home, folder, reading, fresh=fresh)
    except IntegrityError:
        if not fresh:
            raise
        copied = copying.copy(home, folder, reading, fresh=False)  # another pass came first
    except copying.ChangedMeanwhile as problem:
        report.problems.append(f"{plain.text(folder.folder.name)}: {problem}")
        return
    report.changed.append(copied.key)
    report.events += copied.events
    report.inquiries += copied.inquiries
    if reading.stream is not None:
        report.unknown += reading.stream.unknown
        report.broken += reading.stream.broken
