"""Noting what somebody has read, or of their mentions seen, never makes a page wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from django.db import IntegrityError, connections, transaction

from jpweb.store import journal
from jpweb.store.annotations import mentions, threads
from jpweb.store.choices import Role
from jpweb.store.database import timeouts
from jpweb.store.models import Conversation, Mention, Person, ReadMark
from jpweb.store.transcript import read_marks
from jpweb.stream.events import ChatRequest
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def lock_conversation(conversation: Conversation) -> Iterator[None]:
    """Let another connection hold a conversation and what is noted of it."""
    hold_event, release = Event(), Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Conversation.objects.filter(pk=conversation.pk).update(title="Held")
                ReadMark.objects.filter(conversation=conversation).update(entry_count=0)
                Person.objects.update(is_active=True)
                list(Conversation.objects.select_for_update().filter(pk=conversation.pk))
                hold_event.set()
                release.wait(30)
        finally:
            hold_event.set()
            connections.close_all()

    thread = Thread(target=hold)
    thread.start()
    hold_event.wait(30)
    try:
        yield
    finally:
        release.set()
        thread.join()


@pytest.mark.parametrize("is_known", [False, True], ids=["first", "again"])
def test_read_of_a_locked_conversation_is_left_out(is_known: bool):
    person, conversation = making.person(), making.conversation(making.workspace())
    if is_known:
        assert read_marks.record_read(person.pk, conversation.pk, 0)
    with lock_conversation(conversation):
        assert not read_marks.record_read(person.pk, conversation.pk, 0)
    assert read_marks.record_read(person.pk, conversation.pk, 0)
    assert read_marks.get_read_count(person.pk, conversation.pk) == 0


def test_mention_of_a_locked_person_stays_new():
    workspace = making.workspace()
    person, author = (making.person(name, Role.READER, workspace) for name in ("ada", "grace"))
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    anchor = journal.find_anchor(conversation.pk, 0)
    threads.add_comment(conversation, anchor, author, "@ada, look")
    person.refresh_from_db()
    with lock_conversation(conversation):
        mentions.mark_threads_seen(person, conversation.pk, [anchor])
        assert Mention.objects.get().seen_at is None
    mentions.mark_threads_seen(person, conversation.pk, [anchor])
    assert Mention.objects.get().seen_at is not None
    assert person.unseen_mention_count == 0


def test_optional_change_that_fails_by_itself_raises():
    def change() -> None:
        raise IntegrityError("not unique")

    with pytest.raises(IntegrityError):
        timeouts.change_briefly(change)
