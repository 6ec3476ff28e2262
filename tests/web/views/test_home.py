"""The start page: what needs the person who looks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.store import journal
from jpweb.store import runs as runs_in_store
from jpweb.store.choices import Role, RunState
from jpweb.store.conversation_list import dashboard
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    Membership,
    QuestionSnooze,
    ReadMark,
    Run,
)
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)


def start(world: World, person_name: str = "responder") -> ParsedPage:
    response = world.client(person_name).get("/")
    assert response.status_code == 200
    return parse_page(response)


def part(page: ParsedPage, title: str) -> list[str]:
    """Return the texts of the rows below a heading; an empty list where it is not there."""
    return [
        " ".join(tag.text.split())
        for tag in page
        if tag.tag == "li" and tag.inside(**{"aria-labelledby": f"{title}-title"})
    ]


def test_start_page_lists_open_questions_oldest_first(world: World):
    rows = [world.question, world.prompt]
    rows += [making.question(world.run, text=f"Question {n}?\nmore") for n in range(5)]
    for n, row in enumerate(rows):
        kind: Any = type(row)
        kind.objects.filter(pk=row.pk).update(asked_at=START + timedelta(days=n))
    page = start(world)
    texts = part(page, "waiting")
    assert [re.split(" waiting", text)[0] for text in texts] == [
        "Go on?", "Approve running vault?", "Question 0?", "Question 1?", "Question 2?"
    ]  # fmt: skip
    links = [t["href"] for t in page if t.get("class") == "row-link" and t.inside(
        **{"aria-labelledby": "waiting-title"})]  # fmt: skip
    assert links[:2] == [f"/questions/{world.question.pk}", f"/prompts/{world.prompt.pk}"]
    assert "View all 7" in page.text


def test_start_page_lists_no_questions_without_the_role(world: World):
    assert "Go on?" not in start(world, "reader").text
    assert part(start(world, "rival"), "waiting") == []
    Inquiry.objects.all().delete()
    assert "You're all caught up" in start(world).text


def test_snoozed_question_is_not_listed_for_who_snoozed_it(world: World):
    Approval.objects.filter(pk=world.prompt.pk).update(asked_at=START)
    QuestionSnooze.objects.create(
        inquiry=world.question,
        person=world.people["responder"],
        until=timezone.now() + timedelta(hours=1),
    )
    texts = part(start(world), "waiting")
    assert [re.split(" waiting", text)[0] for text in texts] == ["Approve running vault?"]
    assert "Go on?" in " ".join(part(start(world, "owner"), "waiting"))
    QuestionSnooze.objects.update(until=timezone.now())
    assert "Go on?" in " ".join(part(start(world), "waiting"))


def test_runs_that_go_on_or_failed_are_shown_until_something_follows(world: World):
    for state in RunState:
        conversation = making.conversation(world.workspace, f"talk that is {state}")
        run = making.start_run(conversation)
        Run.objects.filter(pk=run.pk).update(
            state=state, problem=f"because {state}", ended_at=timezone.now()
        )
    old = making.start_run(making.conversation(world.workspace, "failed long ago"))
    runs_in_store.end_run(old, RunState.FAILED)
    Run.objects.filter(pk=old.pk).update(ended_at=timezone.now() - timedelta(days=8))
    conversation = making.conversation(world.workspace, "failed and begun again")
    runs_in_store.end_run(making.start_run(conversation), RunState.FAILED)
    runs_in_store.end_run(making.start_run(conversation), RunState.DONE)
    other_run = making.start_run(making.conversation(world.other_workspace, "of others"))
    runs_in_store.end_run(other_run, RunState.FAILED)
    Run.objects.filter(pk=world.run.pk).update(state=RunState.DONE)
    texts = part(start(world, "reader"), "runs")
    words = [text.split(" ")[3] for text in texts]
    assert words == ["lost", "failed", "running", "queued"]
    assert "because failed" in texts[1]


def test_active_run_counts_how_long_it_has_run(world: World):
    started_at = timezone.now() - timedelta(minutes=5)
    Run.objects.filter(pk=world.run.pk).update(started_at=started_at)
    page = start(world, "reader")
    assert "Running for 5 min" in part(page, "runs")[0]
    assert [t.tag for t in page if "data-waiting-seconds" in t] == ["time"]


def test_start_page_lists_conversations_with_unread_events(world: World):
    for name, ago in (("one", 3), ("two", 2), ("same", 1)):
        conversation = making.conversation(world.workspace, name)
        journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Hi"))] * 2)
        Conversation.objects.filter(pk=conversation.pk).update(
            last_activity=timezone.now() - timedelta(hours=ago)
        )
        ReadMark.objects.create(
            person=world.people["reader"], conversation=conversation, at=START,
            entry_count=2 if name == "same" else 1,
        )  # fmt: skip
    texts = part(start(world, "reader"), "unread")
    assert [text.split(" ")[0] for text in texts] == ["two", "one"]
    assert all("1 new" in text for text in texts)
    assert part(start(world, "responder"), "unread") == []
    Membership.objects.filter(person=world.people["reader"]).delete()
    assert "not in any workspace" in start(world, "reader").text


def test_start_page_checks_only_recently_read_conversations(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(dashboard, "READ_CONVERSATIONS", 1)
    for n, name in enumerate(("early", "late")):
        conversation = making.conversation(world.workspace, name)
        journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Hi"))])
        ReadMark.objects.create(
            person=world.people["reader"],
            conversation=conversation,
            entry_count=0,
            at=START + timedelta(days=n),
        )
    assert [text.split(" ")[0] for text in part(start(world, "reader"), "unread")] == ["late"]


def test_pinned_ones_and_the_newest_are_at_hand(world: World):
    for n in range(7):
        conversation = making.conversation(world.workspace, f"talk {n}")
        Conversation.objects.filter(pk=conversation.pk).update(
            last_activity=START + timedelta(days=n),
            pinned_at=START if n == 1 else None,
            archived=n == 6,
        )
    Conversation.objects.filter(pk=world.conversation.pk).update(last_activity=START)
    page = start(world, "reader")
    assert ["talk 1" in text for text in part(page, "pinned")] == [True]
    assert [text[:6] for text in part(page, "newest")] == [
        *("talk 5", "talk 4", "talk 3", "talk 2", "talk 0")
    ]
    ids = [tag["id"] for tag in page if "id" in tag]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("role", "message"),
    [
        (Role.RESPONDER, "Start one"),
        (Role.READER, "once someone starts one"),
        (None, "Ask an owner of one to invite you"),
    ],
)
def test_start_page_of_a_new_person_shows_next_steps(world: World, role: Role | None, message: str):
    world.people["newcomer"] = making.person("newcomer", role, making.workspace("New"))
    page = start(world, "newcomer")
    assert message in page.text
    assert not [tag for tag in page if tag.get("class") == "row-link"]
