"""Case is ignored beyond ASCII as well, on both databases."""

from __future__ import annotations

import pytest

from jpweb.store import audit, journal
from jpweb.store.annotations import mentions, threads
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.conversation_list.filters import ListFilters
from jpweb.store.models import Conversation, Inquiry, Person, Workspace
from jpweb.store.search import engine
from jpweb.store.search.query_parser import parse_query
from jpweb.stream.events import ChatRequest
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("words", ["über", "ÜBER kräuter", "KRÄUT", "Über"])
def test_list_finds_titles_in_any_case(workspace: Workspace, words: str):
    making.conversation(workspace, "Über Kräuter")
    making.conversation(workspace, "Überblick")
    matching = Conversation.objects.filter(ListFilters(words=words).build_condition())
    assert "Über Kräuter" in matching.values_list("title", flat=True)


def test_mention_finds_members_in_any_case(workspace: Workspace):
    author = making.person("author", Role.READER, workspace)
    member = making.person("elodie", Role.READER, workspace)
    Person.objects.filter(pk=member.pk).update(first_name="Élodie")
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    comment = threads.add_comment(
        conversation, journal.find_anchor(conversation.pk, 0), author, "@élodie, look"
    )
    assert mentions.list_mentioned(comment.pk) == [member.pk]


@pytest.mark.parametrize("words", ["größe", "GRÖSSE"])
def test_audit_finds_questions_in_any_case(workspace: Workspace, words: str):
    auditor = making.person("auditor", Role.AUDITOR, workspace)
    run = making.start_run(making.conversation(workspace))
    for text in (words.lower(), words.title(), "Go on?"):
        making.question(run, text=text)
    assert audit.list_inquiries(auditor.pk, AuditFilters(words=words)).count() == 2
    assert Inquiry.objects.count() == 3


def test_search_finds_a_workspace_in_any_case():
    workspace = making.workspace("Überbau")
    reader = making.person("reader", Role.READER, workspace)
    search = engine.make_search(reader.pk, parse_query("in:überbau beam"))
    assert search.problems == ()
