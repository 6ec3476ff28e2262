"""The names of files that auditors download: by filters, names and days."""

from __future__ import annotations

import pytest

from jpweb.store.database import clock
from jpweb.store.models import Conversation
from jpweb.web.security import file_names
from tests.web.views.audit.test_exports import get, get_name
from tests.web.world import World


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (
            "outcome=cancelled&since=2026-10-01&until=2026-10-31",
            "questions-cancelled-2026-10-01-to-2026-10-31.csv",
        ),
        (
            "since=2026-10-01&tool=git_tag&workspace={workspace}",
            "questions-garden-git-tag-from-2026-10-01.csv",
        ),
        ("until=2026-10-31&workspace={other}", "questions-workspace-{other}-until-2026-10-31.csv"),
        (
            "until=2026-10-31&conversation={talk}&demo=1",
            "questions-a-talk-with-demo-until-2026-10-31.csv",
        ),
        ("until=2026-10-31&conversation=987", "questions-conversation-987-until-2026-10-31.csv"),
        ("until=2026-10-31&words=%E6%97%A5%E6%9C%AC", "questions-words-until-2026-10-31.csv"),
        (
            "until=2026-10-31&person=Owner&account={owner}",
            "questions-owner-owner-until-2026-10-31.csv",
        ),
        ("until=2026-10-31&identifier=call_1.q", "questions-call-1-q-until-2026-10-31.csv"),
        ("until=2026-10-31&person=J%C3%B6rg+M.", "questions-jorg-m-until-2026-10-31.csv"),
        ("until=2026-10-31&words=%22%0d%0a../../x", "questions-x-until-2026-10-31.csv"),
    ],
)
def test_file_is_named_by_its_filters_and_days(world: World, query: str, name: str):
    keys = {
        "workspace": world.workspace.pk,
        "other": world.other_workspace.pk,
        "talk": world.conversation.pk,
        "owner": world.people["owner"].pk,
    }
    response = world.client("auditor").get(f"/audit.csv?{query.format(**keys)}")
    assert get_name(response) == name.format(**keys)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("person={owner}", "decisions-owner-until-2026-10-31.csv"),
        ("person={rival}", "decisions-person-{rival}-until-2026-10-31.csv"),
        ("kind=run&unattended=1", "decisions-run-with-unattended-until-2026-10-31.csv"),
        ("workspace={workspace}", "decisions-garden-until-2026-10-31.csv"),
    ],
)
def test_file_of_decisions_names_people_and_workspaces(world: World, query: str, name: str):
    keys = {person_name: person.pk for person_name, person in world.people.items()}
    keys["workspace"] = world.workspace.pk
    query = query.format(**keys)
    response = world.client("auditor").get(f"/audit/decisions.csv?{query}&until=2026-10-31")
    assert get_name(response) == name.format(**keys)


def test_untitled_conversation_names_its_files_by_its_id(world: World):
    Conversation.objects.filter(pk=world.conversation.pk).update(title="")
    name = get_name(get(world, "/audit.csv", conversation=world.conversation.pk))
    assert name.startswith(f"questions-jp-c{world.conversation.jp_id}-")


def test_whole_ledger_file_is_named_by_today(world: World):
    page = get(world, "/audit/ledger").content.decode()
    name = get_name(get(world, "/audit/ledger.jsonl"))
    assert name == f"ledger-whole-{clock.now().date().isoformat()}.jsonl"
    assert name in page


def test_file_without_days_is_named_by_today(world: World):
    assert get_name(get(world, "/audit.csv", words="x" * 200, tool="y" * 200)).startswith(
        f"questions-{'y' * 60}-x"
    )
    assert len(get_name(get(world, "/audit.csv", words="x" * 200, tool="y" * 200))) < 150


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Über: 50% off/../x", "uber-50-off-x"), ("日本語", "jp-c{jp_id}"), ("t" * 500, "t" * 60)],
)
def test_conversation_file_is_named_by_title_and_day(world: World, title: str, expected: str):
    Conversation.objects.filter(pk=world.conversation.pk).update(title=title)
    conversation = Conversation.objects.get(pk=world.conversation.pk)
    day = conversation.last_activity.date().isoformat()
    name = file_names.name_conversation_file(conversation, ".md")
    assert name == f"{expected.format(jp_id=conversation.jp_id)}-{day}.md"
    response = world.client("auditor").get(f"/conversations/{conversation.pk}/export/markdown")
    assert get_name(response) == name
