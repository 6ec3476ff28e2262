"""Sections of a person's data: the rows that name a person, and their values in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jpweb.store.choices import Role
from jpweb.store.models import (
    AnswerLink,
    Approval,
    ApprovalClaim,
    Bookmark,
    Comment,
    CommentThread,
    Conversation,
    DisplayReceipt,
    Group,
    GroupMember,
    Identity,
    Inquiry,
    Invitation,
    Membership,
    Mention,
    NotificationDelivery,
    NotificationDestination,
    Passkey,
    Person,
    Presence,
    PushDelivery,
    PushSubscription,
    QuestionClaim,
    QuestionSnooze,
    ReadMark,
    Redaction,
    Review,
    ReviewTask,
    Run,
    RunInterrupt,
    SavedSearch,
    SecondFactor,
    SignIn,
    SignInLink,
    SuspectedSecret,
    Trust,
)
from jpweb.store.people import second_factors, sessions


@dataclass(frozen=True)
class Reader:
    """The person whose data it is, and the workspaces in which they may read."""

    person: Person
    workspace_ids: frozenset[int]
    #: Returns a destination's address without its keys.
    redact_address: Callable[[str], str]

    def describe_conversation(self, conversation: Conversation) -> dict[str, Any]:
        may_read = conversation.workspace_id in self.workspace_ids
        return {"id": conversation.pk} | ({"title": conversation.title} if may_read else {})


class Section(NamedTuple):
    """A list of the file: its rows by the columns that name the person, and their columns.

    ``describe`` adds values to a row. ``related`` are the relations that it follows.
    """

    name: str
    model: Any
    person_columns: tuple[str, ...]
    columns: tuple[str, ...] = ()
    describe: Callable[[Any, Reader], Mapping[str, Any]] = lambda _row, _reader: {}
    related: tuple[str, ...] = ()


def _describe_workspace(row: Any, _reader: Reader) -> dict[str, Any]:
    return {"workspace": {"id": row.workspace_id, "name": row.workspace.name}}


def _describe_conversation(row: Any, reader: Reader) -> dict[str, Any]:
    return {"conversation": reader.describe_conversation(row.conversation)}


def _describe_answer(row: Inquiry, reader: Reader) -> dict[str, Any]:
    may_read = row.conversation.workspace_id in reader.workspace_ids
    question = {"asker": row.asker, "question": row.question} if may_read else {}
    return _describe_conversation(row, reader) | question


def _describe_comment(row: Comment, reader: Reader) -> dict[str, Any]:
    return {"anchor": row.thread.anchor} | _describe_conversation(row.thread, reader)


def _describe_mention(row: Mention, reader: Reader) -> dict[str, Any]:
    return _describe_comment(row.comment, reader)


def _describe_membership(row: Membership, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"role": Role(row.role).label}


def _describe_invitation(row: Invitation, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"role": Role(row.role).label}


def _describe_destination(row: NotificationDestination, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"address": reader.redact_address(row.url)}


SECTIONS = (
    Section("memberships", Membership, ("person",), (), _describe_membership, ("workspace",)),
    Section(
        "groups",
        GroupMember,
        ("person",),
        ("accepted_at",),
        lambda row, _reader: {"group": row.group.name},
        ("group",),
    ),
    Section(
        "people_added_to_groups",
        GroupMember,
        ("inviter",),
        (),
        lambda row, _reader: {"group": row.group.name},
        ("group",),
    ),
    Section("question_claims", QuestionClaim, ("person",), ("inquiry_id", "claimed_at", "until")),
    Section("approval_claims", ApprovalClaim, ("person",), ("approval_id", "claimed_at", "until")),
    Section("question_snoozes", QuestionSnooze, ("person",), ("inquiry_id", "until")),
    Section("groups_made", Group, ("maker",), ("name", "made_at")),
    Section(
        "sign_ins",
        SignIn,
        ("person",),
        ("began_at", "seen_at", "expires_at"),
        lambda row, _reader: {"browser": sessions.read_browser(row)},
    ),
    Section(
        "identities",
        Identity,
        ("person",),
        ("issuer", "subject", "email", "connected_at", "used_at"),
    ),
    Section("passkeys", Passkey, ("person",), ("name", "added_at", "used_at")),
    Section(
        "second_factor",
        SecondFactor,
        ("person",),
        ("confirmed_at", "failure_count", "locked_until"),
        lambda row, _reader: {"recovery_codes": second_factors.count_recovery_codes(row)},
    ),
    Section(
        "sign_in_links",
        SignInLink,
        ("person", "maker"),
        ("created_at", "expires_at", "used_at"),
        lambda row, reader: {
            "is_for_me": row.person_id == reader.person.pk,
            "is_made_by_me": row.maker_id == reader.person.pk,
        },
    ),
    Section(
        "invitations_made",
        Invitation,
        ("inviter",),
        ("name", "created_at", "expires_at"),
        _describe_invitation,
        ("workspace",),
    ),
    Section(
        "conversations_started",
        Conversation,
        ("started_by",),
        (),
        lambda row, reader: reader.describe_conversation(row),
    ),
    Section(
        "turns_started",
        Run,
        ("started_by",),
        ("started_at", "ended_at", "state"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "interrupts",
        RunInterrupt,
        ("person",),
        ("kind", "text", "sent_at"),
        lambda row, reader: _describe_conversation(row.run, reader),
        ("run__conversation",),
    ),
    Section(
        "redactions",
        Redaction,
        ("person",),
        ("anchor", "reason", "at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "suspected_secrets_decided",
        SuspectedSecret,
        ("decided_by",),
        ("anchor", "kind", "state", "note", "decided_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "answers",
        Inquiry,
        ("decider",),
        ("state", "reason", "answer", "note", "asked_at", "settled_at"),
        _describe_answer,
        ("conversation",),
    ),
    Section(
        "approvals",
        Approval,
        ("decider",),
        ("kind", "tool_name", "decision", "asked_at", "settled_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "reviews",
        Review,
        ("reviewer",),
        ("anchor", "round", "verdict", "note", "reviewed_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "review_tasks",
        ReviewTask,
        ("first_reviewer", "assignee", "holder"),
        ("anchor",),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "comments",
        Comment,
        ("author",),
        ("text", "made_at", "edited_at"),
        _describe_comment,
        ("thread__conversation",),
    ),
    Section(
        "comments_resolved",
        CommentThread,
        ("resolver",),
        ("anchor", "resolved_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "mentions",
        Mention,
        ("person",),
        ("made_at", "seen_at"),
        _describe_mention,
        ("comment__thread__conversation",),
    ),
    Section(
        "bookmarks",
        Bookmark,
        ("person",),
        ("anchor", "made_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "receipts",
        DisplayReceipt,
        ("person",),
        ("inquiry_id", "delivered_at", "visible_at", "focused_at", "draft_at"),
    ),
    Section(
        "conversations_read",
        ReadMark,
        ("person",),
        ("entry_count", "at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section("open_pages", Presence, ("person",), ("seen_at",), _describe_workspace, ("workspace",)),
    Section("saved_searches", SavedSearch, ("person",), ("page", "name", "query", "made_at")),
    Section(
        "notification_destinations",
        NotificationDestination,
        ("person",),
        ("delay", "problem", "added_at"),
        _describe_destination,
        ("workspace",),
    ),
    Section(
        "notifications",
        NotificationDelivery,
        ("destination__person",),
        ("inquiry_id", "approval_id", "mention_id", "return_number", "sent_at", "problem"),
    ),
    Section(
        "push_subscriptions",
        PushSubscription,
        ("person",),
        ("browser", "delay", "problem", "added_at"),
    ),
    Section(
        "push_messages",
        PushDelivery,
        ("person",),
        ("inquiry_id", "approval_id", "mention_id", "return_number", "sent_at", "problem"),
    ),
    Section(
        "answer_links",
        AnswerLink,
        ("person",),
        ("inquiry_id", "created_at", "expires_at", "used_at"),
    ),
    Section(
        "commands_trusted",
        Trust,
        ("trusted_by",),
        ("kind", "name", "trusted_at"),
        _describe_workspace,
        ("workspace",),
    ),
)
