"""``manage.py index``."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from jpweb.store import journal
from jpweb.store.models import Conversation, Passage
from jpweb.stream.events import ChatResponse
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


def run_index(*options: str) -> str:
    out = StringIO()
    call_command("index", *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def conversation() -> Conversation:
    conversation: Conversation = making.conversation(making.workspace())
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "pear"))])
    making.conversation(conversation.workspace)
    return conversation


def test_index_command_indexes_pending_conversations(conversation: Conversation):
    assert run_index() == "2 conversations indexed.\n"
    assert Passage.objects.filter(body="pear").count() == 1
    assert run_index() == "0 conversations indexed.\n"
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "fig"))])
    assert run_index() == "1 conversation indexed.\n"


def test_index_all_rebuilds_every_passage(conversation: Conversation):
    run_index()
    Passage.objects.filter(body="pear").update(body="plum")
    assert run_index("--all") == "2 conversations indexed.\n"
    assert Passage.objects.filter(body="pear").count() == 1
    assert not Passage.objects.filter(body="plum").exists()
