"""Comments: adds, edits and deletes them, and resolves the thread of an event.

Each change is in the ledger, with a hash instead of the text: that may be deleted later.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.db import transaction
from django.db.models import F

from jpweb.evidence import ledger_verifier
from jpweb.store import db_text, journal
from jpweb.store.annotations import mentions
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import CommentRefused, UnknownAnchor
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Comment, CommentThread, Conversation, JournalEntry, Person
from jpweb.stream import anchor_ids

MAX_COMMENT_CHARS = 10_000
#: Comments of one event, and events of one conversation that can have comments.
MAX_THREAD_COMMENTS, MAX_THREADS = 200, 1000
_NONCE_BYTES = 16


@transaction.atomic
def add_comment(conversation: Conversation, anchor: str, author: Person, text: str) -> Comment:
    """Add a comment to an event, which opens its thread again.

    Raises CommentRefused, UnknownConversation, and UnknownAnchor where neither the event nor a
    thread of it is there.
    """
    text = _clean_text(text)
    thread = _lock_thread(conversation, anchor) or _make_thread(conversation, anchor)
    if thread.comments.count() >= MAX_THREAD_COMMENTS:
        raise CommentRefused(f"An event can have at most {MAX_THREAD_COMMENTS} comments.")
    comment = Comment.objects.create(
        thread=thread,
        author=author,
        author_name=author.display_name[:200],
        text=text,
        nonce=secrets.token_hex(_NONCE_BYTES),
        made_at=clock.now(),
    )
    mentions.update_mentions(comment, conversation.workspace_id)
    was_resolved = thread.resolved_at is not None
    thread.resolved_at, thread.resolver, thread.resolver_name = None, None, ""
    _save_change(thread)
    _record(Act.COMMENT_ADDED, thread, author, comment)
    if was_resolved:
        _record(Act.COMMENTS_REOPENED, thread, author)
    return comment


@transaction.atomic
def edit_comment(
    conversation: Conversation, anchor: str, comment_id: int, person: Person, text: str
) -> None:
    """Replace the text of a person's own comment. Raises CommentRefused."""
    thread, comment = _get_comment(conversation, anchor, comment_id)
    if comment.author_id != person.pk:
        raise CommentRefused("Only its author can edit a comment.")
    text = _clean_text(text)
    if text == comment.text:
        return
    comment.text, comment.edited_at = text, clock.now()
    comment.nonce = secrets.token_hex(_NONCE_BYTES)
    comment.save(update_fields=["text", "edited_at", "nonce"])
    mentions.update_mentions(comment, conversation.workspace_id)
    _save_change(thread)
    _record(Act.COMMENT_EDITED, thread, person, comment)


@transaction.atomic
def delete_comment(
    conversation: Conversation, anchor: str, comment_id: int, person: Person, *, may_audit: bool
) -> None:
    """Delete a comment: one's own, or as an auditor anyone's. Raises CommentRefused."""
    thread, comment = _get_comment(conversation, anchor, comment_id)
    if comment.author_id != person.pk and not may_audit:
        raise CommentRefused("Only its author or an auditor can delete a comment.")
    _record(Act.COMMENT_DELETED, thread, person, comment, name=comment.author_name)
    mentioned_ids = mentions.list_mentioned(comment.pk)
    comment.delete()
    mentions.count_unseen(mentioned_ids)
    _save_change(thread)
    if not thread.comments.exists():
        thread.delete()


@transaction.atomic
def set_resolved(
    conversation: Conversation, anchor: str, person: Person, *, is_resolved: bool
) -> None:
    """Resolve the thread of an event, or open it again. Raises CommentRefused."""
    thread = _lock_thread(conversation, anchor)
    if thread is None:
        raise CommentRefused("There are no comments on this event any more.")
    if (thread.resolved_at is not None) == is_resolved:
        return
    thread.resolved_at = clock.now() if is_resolved else None
    thread.resolver = person if is_resolved else None
    thread.resolver_name = person.display_name[:200] if is_resolved else ""
    _save_change(thread)
    _record(Act.COMMENTS_RESOLVED if is_resolved else Act.COMMENTS_REOPENED, thread, person)


def _clean_text(text: str) -> str:
    if not db_text.has_visible_character(text):
        raise CommentRefused("Enter a comment.")
    text = db_text.clean_text(text.replace("\r\n", "\n")).strip()
    if len(text) > MAX_COMMENT_CHARS:
        raise CommentRefused(f"A comment can have at most {MAX_COMMENT_CHARS:,} characters.")
    return text


def _lock_thread(conversation: Conversation, anchor: str) -> CommentThread | None:
    """Return the thread of an event, locked after its conversation.

    A redaction locks the conversation first, too: it finds each text that was written before.
    """
    journal.lock_conversation(conversation.pk)
    rows = CommentThread.objects.select_for_update()
    return rows.filter(conversation=conversation, anchor=anchor).first()


def _make_thread(conversation: Conversation, anchor: str) -> CommentThread:
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    if not JournalEntry.objects.filter(conversation=conversation, anchor=element_anchor).exists():
        raise UnknownAnchor(f"There is no event {anchor} in this conversation.")
    if CommentThread.objects.filter(conversation=conversation).count() >= MAX_THREADS:
        raise CommentRefused(f"At most {MAX_THREADS:,} events of a conversation can have comments.")
    rows = CommentThread.objects.select_for_update()
    return rows.get_or_create(conversation=conversation, anchor=anchor)[0]


def _get_comment(
    conversation: Conversation, anchor: str, comment_id: int
) -> tuple[CommentThread, Comment]:
    thread = _lock_thread(conversation, anchor)
    comment = thread.comments.filter(pk=comment_id).first() if thread is not None else None
    if thread is None or comment is None:
        raise CommentRefused("This comment was deleted.")
    return thread, comment


def _save_change(thread: CommentThread) -> None:
    """Save a thread, and note the change, by which open pages detect it."""
    thread.version += 1
    thread.save()
    conversations = Conversation.objects.filter(pk=thread.conversation_id)
    conversations.update(comment_revision=F("comment_revision") + 1)


def _record(
    act: Act, thread: CommentThread, person: Person, comment: Comment | None = None, **details: Any
) -> None:
    if comment is not None:
        details |= {"comment": comment.pk, "comment_hash": hash_comment(comment)}
    workspace_id = thread.conversation.workspace_id
    place = Place(workspace_id, thread.conversation_id, f"event:{thread.anchor}")
    record_act(act, Actor.from_person(person), place, event=thread.anchor, **details)


def hash_comment(comment: Comment) -> str:
    """Return the SHA-256 that the ledger keeps of a comment's text."""
    values = {"text": comment.text, "nonce": comment.nonce}
    return ledger_verifier.hash_text(ledger_verifier.encode_canonical(values))
