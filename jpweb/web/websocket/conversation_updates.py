"""Conversation updates: HTML fragments that htmx swaps in by id.

A page sends the state that it shows; the update is the difference to the present state, so that
connections, reconnections and signals share one code path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse

from jpweb.runtime import wiring
from jpweb.store import conversations, inquiries, runs
from jpweb.store.choices import Role, RunState
from jpweb.store.errors import UnknownConversation
from jpweb.store.inbox import queue
from jpweb.store.jp_files import attachments, metadata_file
from jpweb.store.workspace_config import stored_config
from jpweb.web import annotation_blocks, converters, event_filter
from jpweb.web.transcript import TranscriptQuery
from jpweb.web.websocket.item_updates import ItemUpdates

if TYPE_CHECKING:
    from jpweb.runtime.wiring import ModelStatus
    from jpweb.store.models import Conversation, Run

#: Characters of a tool call's arguments that are shown while the model streams them.
MAX_PARTIAL_CHARS = 4_000


class RenderedState(NamedTuple):
    """The state of a conversation that a page shows: entry count, revision, run and metadata.

    ``first`` and ``last`` are the positions of the first and last item of its window, filtered by
    ``show``; ``last`` is None for a window that reaches the end, where new items are added.
    ``search`` is the search query of its URL; ``run_status`` is None for pages without
    ``#run-status``, ``approvals`` for those without ``#approval-state``.
    """

    entry_count: int = 0
    revision: int = 0
    run: str = ""
    metadata: str = ""
    first: int = 0
    last: int | None = None
    show: tuple[str, ...] = ()
    search: str = ""
    run_status: str | None = None
    approvals: str | None = None

    def has_item(self, item_position: int) -> bool:
        """Tell whether an item's position is within the range that the page shows."""
        return self.first <= item_position and (self.last is None or item_position <= self.last)


@dataclass(frozen=True, slots=True)
class ConversationUpdate:
    """HTML fragments, the state of the page after they are swapped in, and their workspace."""

    html: str
    page: RenderedState
    workspace_id: int


#: Entries that a page may lack in the shared batch; with more, its update is costly.
MAX_BATCHED_ENTRIES = 50
#: Different states of pages that the shared batch renders. A composer takes 18 ms, and a page may
#: name any state.
MAX_BATCHED_STATES = 10


class _ConversationSnapshot:
    """A conversation's present state, read once for all pages that show it."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._updates: dict[tuple[RenderedState, Role], ConversationUpdate] = {}
        self._items = ItemUpdates(conversation)

    @cached_property
    def run(self) -> Run | None:
        return runs.get_newest(self.conversation.pk)

    @cached_property
    def model_status(self) -> ModelStatus | None:
        return _find_model_status(self.conversation)

    def is_costly(self, page: RenderedState, max_entries: float) -> bool:
        """Tell whether a page lacks more entries than this; after a new revision it lacks all.

        A page whose approvals are those of an earlier turn lacks the calls since then as well:
        finding them takes 0.13 s among 30,000 events.
        """
        conversation = self.conversation
        if conversation.revision != page.revision:
            return conversation.entry_count > max_entries
        if conversation.entry_count - page.entry_count > max_entries:
            return True
        first_turn = _find_first_turn(page.approvals, self._find_approval_key(page))
        return first_turn is not None and first_turn < conversation.turns - 1

    def has_room(self, page: RenderedState, role: Role) -> bool:
        """Tell whether the shared batch renders another state, or has rendered this one."""
        return _make_update_key(page, role) in self._updates or (
            len(self._updates) < MAX_BATCHED_STATES
        )

    def get_update(self, page: RenderedState, role: Role) -> ConversationUpdate:
        """Return the update of a page; pages in the same state with the same composer share one."""
        key = _make_update_key(page, role)
        if key not in self._updates:
            self._updates[key] = self._render_update(*key)
        return self._updates[key]

    def _render_update(self, page: RenderedState, role: Role) -> ConversationUpdate:
        new_page = self._find_state(page, role)
        parts = self._render_items(page, new_page)
        if (new_page.run, new_page.run_status) != (page.run, page.run_status):
            parts.append(self._render_run(role, has_changed=new_page.run != page.run))
        if new_page.approvals != page.approvals:
            context = {"approval_key": new_page.approvals, "oob": True}
            parts.append(render_to_string("conversations/_approval_state.html", context))
        if new_page.metadata != page.metadata:
            parts += self._render_metadata(role)
        return ConversationUpdate("".join(parts), new_page, self.conversation.workspace_id)

    def _find_state(self, page: RenderedState, role: Role) -> RenderedState:
        """Return the state of a page once it is updated."""
        conversation, run = self.conversation, self.run
        return page._replace(
            entry_count=conversation.entry_count,
            revision=conversation.revision,
            run=_make_run_key(conversation, run, role),
            metadata=make_metadata_key(conversation),
            run_status=None if page.run_status is None else _get_run_status(run),
            approvals=self._find_approval_key(page),
        )

    def _find_approval_key(self, page: RenderedState) -> str | None:
        """Return the key of the approvals, None for a page that shows none."""
        if page.approvals is None:
            return None
        return _make_approval_key(self.run, self.conversation.turns)

    def _render_items(self, page: RenderedState, new_page: RenderedState) -> list[str]:
        """Render the items that a page lacks, and the counts of all."""
        if new_page.revision != page.revision:
            return self._items.render_revision(page) + self._render_counts(page)
        turn_number = _find_first_turn(page.approvals, new_page.approvals)
        if new_page.entry_count > page.entry_count:
            return self._items.render_added(page, turn_number) + self._render_counts(page)
        return [] if turn_number is None else self._items.render_added(page, turn_number)

    def _render_counts(self, page: RenderedState) -> list[str]:
        conversation = self.conversation
        context = {"conversation": conversation, "state_counts": self.inquiry_counts, "oob": True}
        query = TranscriptQuery(show=page.show, words=page.search)
        filter_context = event_filter.build_filter_context(conversation, query) | {"oob": True}
        return [
            # The streamed text is stored now; the next partial signal shows the text after it.
            render_to_string("conversations/_partial_text.html", {"text": ""}),
            render_to_string("conversations/_counts.html", context),
            render_to_string("conversations/_event_filter.html", filter_context),
            render_to_string("conversations/_filter_summary.html", filter_context),
        ]

    def _render_metadata(self, role: Role) -> list[str]:
        conversation = self.conversation
        context = {"conversation": conversation, "oob": True}
        parts: list[str] = [
            render_to_string("conversations/_metadata.html", context),
            render_to_string("conversations/_heading.html", context),
            render_to_string("conversations/_problem.html", context),
        ]
        context["comment_status"] = self.comment_status
        parts.append(render_to_string("annotations/_status.html", context))
        if role >= Role.RESPONDER:
            context["page_url"] = reverse("conversation", args=[conversation.pk])
            parts.append(render_to_string("conversations/_edit_menu_body.html", context))
        return parts

    def _render_run(self, role: Role, *, has_changed: bool) -> str:
        """Render the composer if its run has changed, else the status above it."""
        context = _build_run_context(self.conversation, self.run, role, oob=True)
        if not has_changed:
            return render_to_string("conversations/_run_status.html", context)
        context["model_status"] = self.model_status if context["may_run"] else None
        return render_to_string("conversations/_composer.html", context)

    @cached_property
    def comment_status(self) -> dict[str, Any]:
        return annotation_blocks.build_status(self.conversation.pk)

    @cached_property
    def inquiry_counts(self) -> dict[str, int]:
        return inquiries.count_by_state([self.conversation.pk]).get(self.conversation.pk, {})


def find_conversation_updates(
    conversation_id: int,
    pages: Collection[tuple[int, RenderedState | None]],
    max_entries: float = math.inf,
) -> dict[tuple[int, RenderedState | None], ConversationUpdate | None]:
    """Return the updates of pages of a conversation, by person and page.

    An update is None for a person who may not read the conversation; a page of None only checks
    that. After a new revision the update is the whole window. The number of queries does not depend
    on the number of pages. With ``max_entries`` costly pages are omitted, and those in further
    states than MAX_BATCHED_STATES.
    """
    try:
        row = conversations.get_conversation(conversation_id)
    except UnknownConversation:
        return dict.fromkeys(pages)
    roles = queue.get_roles_in(row.workspace_id, {person_id for person_id, _ in pages})
    snapshot = _ConversationSnapshot(row)
    empty_update = ConversationUpdate("", RenderedState(), row.workspace_id)
    updates: dict[tuple[int, RenderedState | None], ConversationUpdate | None] = {}
    for person_id, page in pages:
        if (role := roles.get(person_id)) is None:
            updates[person_id, page] = None
        elif page is None:
            updates[person_id, page] = empty_update
        elif max_entries == math.inf or (
            snapshot.has_room(page, role) and not snapshot.is_costly(page, max_entries)
        ):
            updates[person_id, page] = snapshot.get_update(page, role)
    return updates


def _make_update_key(page: RenderedState, role: Role) -> tuple[RenderedState, Role]:
    """Return the key of an update: a composer differs by whether its person may run turns."""
    return page, min(role, Role.RESPONDER)


def render_partial_text(variant: str, text: str) -> str:
    """Render text that the model streams; of a tool call its name and the end of its arguments.

    Between two requests, what failed and when the next one is sent.
    """
    context: dict[str, object] = {"variant": variant, "text": text}
    if variant == "tool_call":
        name, _, arguments = text.partition(" ")
        size = len(arguments) if len(arguments) > MAX_PARTIAL_CHARS else 0
        context |= {"name": name, "text": arguments[-MAX_PARTIAL_CHARS:], "size": size}
    elif variant == "retry" and text:
        seconds, number, limit, problem = text.split(" ", 3)
        context |= {"seconds": int(seconds), "number": number, "limit": limit, "text": problem}
    return render_to_string("conversations/_partial_text.html", context)


def join_partial_text(
    text_signal: Mapping[str, str] | None,
    html: str,
    html_by_text: dict[str, str],
    *,
    is_text_newer: bool,
) -> str:
    """Return an update and the newest partial text, joined in their order of arrival.

    ``html_by_text`` caches rendered texts, which many pages share.
    """
    if text_signal is None:
        return html
    variant, text = text_signal["variant"], text_signal["text"]
    if (key := f"{variant} {text}") not in html_by_text:
        html_by_text[key] = render_partial_text(variant, text)
    return html + html_by_text[key] if is_text_newer else html_by_text[key] + html


def make_metadata_key(conversation: Conversation) -> str:
    """Return the key of a conversation's metadata, by which a page detects that it changed."""
    status = (
        "removed" if conversation.removed_at else "archived" if conversation.archived else "current"
    )
    until = f" {conversation.expires_at:%Y-%m-%dT%H:%M}" if conversation.expires_at else ""
    comment_revisions = [conversation.comment_revision] if conversation.comment_revision else []
    problems = [conversation.problem, conversation.entry_count > 0] if conversation.problem else []
    facts = [
        conversation.title,
        conversation.labels,
        conversation.pinned_at is None,
        conversation.origin,
        metadata_file.get_obstacle(conversation),
    ]
    details = json.dumps([*facts, *comment_revisions, *problems], sort_keys=True)
    return f"{status}{until} {sha256(details.encode()).hexdigest()[:12]}"


def build_composer_context(conversation: Conversation, role: Role) -> dict[str, Any]:
    """Return the context of a conversation's composer for a person with a role."""
    context = _build_run_context(conversation, runs.get_newest(conversation.pk), role)
    may_run = context["may_run"]
    return context | {"model_status": _find_model_status(conversation) if may_run else None}


def _build_run_context(
    conversation: Conversation, run: Run | None, role: Role, **extra_context: object
) -> dict[str, Any]:
    return {
        "conversation": conversation,
        "run": run,
        "run_key": _make_run_key(conversation, run, role),
        "run_status": _get_run_status(run),
        "approval_key": _make_approval_key(run, conversation.turns),
        "can_be_retried": run is not None and run.can_be_retried(conversation.turns),
        "may_run": role >= Role.RESPONDER,
        "is_auditor_only": role == Role.AUDITOR_ONLY,
        "turn_obstacle": attachments.get_turn_obstacle(conversation),
        **extra_context,
    }


def _find_model_status(conversation: Conversation) -> ModelStatus | None:
    if attachments.get_turn_obstacle(conversation):
        return None
    if stored_config.has_changes(conversation) or stored_config.has_files(conversation):
        return wiring.get_conversation_model(conversation)
    return wiring.get_model_status(conversation.workspace)


def _get_run_status(run: Run | None) -> str:
    """Return the state of an unfinished run that has no process, as the status names it, or ""."""
    if run is None:
        return ""
    if run.state == RunState.PARKED:
        return "parked"
    return "queued" if run.is_waiting_for_worker else ""


def _make_run_key(conversation: Conversation, run: Run | None, role: Role) -> str:
    """Return the key of a run's state as the composer shows it to people with a role.

    Without a run it is "" for responders. Of a run that failed it has whether another turn
    followed, and of a conversation that cannot be continued, such as an archived one, the digest of
    the reason. Parking and resuming change ``run_status`` instead: a person may be typing in the
    composer.
    """
    suffix = {Role.READER: "-read", Role.AUDITOR_ONLY: "-audit"}.get(role, "")
    if obstacle := attachments.get_turn_obstacle(conversation):
        suffix += f"-closed-{sha256(obstacle.encode()).hexdigest()[:8]}"
    if run is None:
        return suffix
    has_begun = run.is_unfinished and (run.fence or run.state != RunState.QUEUED)
    state = RunState.RUNNING if has_begun else run.state
    resume_suffix = f"-{run.resume_count}" if run.resume_count else ""
    overtaken_suffix = (
        "-overtaken" if run.has_failed and run.is_overtaken(conversation.turns) else ""
    )
    return f"{run.pk}-{state}{resume_suffix}{overtaken_suffix}{suffix}"


def _make_approval_key(run: Run | None, turn_count: int) -> str:
    """Return the key of the approvals of the newest run, "" without any.

    It begins with the number of the turn. An approval that is no longer open is not opened again,
    so that the newest one and the number of open ones tell two states apart.
    """
    newest_approval_id = getattr(run, "newest_approval_id", None)
    if newest_approval_id is None:
        return ""
    return f"{turn_count - 1}-{newest_approval_id}-{getattr(run, 'open_approval_count', 0) or 0}"


def _find_first_turn(*approval_keys: str | None) -> int | None:
    """Return the number of the first turn whose calls wait for others; None for equal keys."""
    if len(set(approval_keys)) == 1:
        return None
    numbers = [converters.parse_number((key or "").partition("-")[0]) for key in approval_keys]
    return min((number for number in numbers if number is not None), default=None)
