"""Noting how far somebody has read never makes a page wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from django.db import connections, transaction

from jpweb.store.models import Conversation, ReadMark
from jpweb.store.transcript import read_marks
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
