"""Comments on events: who may do what, what the ledger keeps, and where pages show them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jpweb.store import journal
from jpweb.store.annotations import threads
from jpweb.store.choices import Act
from jpweb.store.models import (
    Comment,
    CommentThread,
    Conversation,
    JournalEntry,
    LedgerEntry,
    Membership,
    Mention,
    Person,
)
from jpweb.stream.events import ChatRequest
from tests.store import making
from tests.web.world import SECRET, World


def make_url(world: World, action: str = "", anchor: str = "") -> str:
    page = reverse("comments", args=[world.conversation.pk, anchor or world.anchor])
    return f"{page}/{action}" if action else page


def comment(world: World, name: str, text: str, anchor: str = "") -> Comment:
    client = world.client(name)
    response = client.post(make_url(world, "add", anchor), {"text": text})
    assert response.status_code == 302
    return Comment.objects.latest("pk")


def read(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def list_details(act: Act) -> list[dict[str, Any]]:
    rows = LedgerEntry.objects.filter(act=act).order_by("pk")
    return [json.loads(row.text)["details"] for row in rows]


def test_comment_is_shown_at_its_event_as_safe_markdown(world: World):
    comment(world, "reader", "Is **this** right? <script>alert(1)</script>")
    page = read(world.client("owner"), reverse("conversation", args=[world.conversation.pk]))
    assert "Is <strong>this</strong> right?" in page
    assert "<script>alert" not in page
    assert page.index(f'id="{world.anchor}"') < page.index("Is <strong>this")


def test_comment_leaves_the_journal_as_it_was(world: World):
    before = list(JournalEntry.objects.values_list("text", "anchor"))
    comment(world, "reader", "Hm")
    assert list(JournalEntry.objects.values_list("text", "anchor")) == before


@pytest.mark.parametrize("text", ["", "  \n", "x" * (threads.MAX_COMMENT_CHARS + 1)])
def test_comment_that_is_empty_or_too_long_is_refused(world: World, text: str):
    response = world.client("reader").post(make_url(world, "add"), {"text": text})
    assert response.status_code == 422
    assert not Comment.objects.exists()


def test_comment_on_an_unknown_event_is_not_found(world: World):
    response = world.client("reader").post(make_url(world, "add", "e-none"), {"text": "Hm"})
    assert response.status_code == 404
    assert not CommentThread.objects.exists()


def test_refused_edit_keeps_the_comment_and_names_the_reason(world: World):
    row = comment(world, "reader", "First")
    data = {"comment": row.pk, "text": "Other words"}
    response = world.client("owner").post(make_url(world, "edit"), data)
    assert response.status_code == 422
    page = response.content.decode()
    assert "Only its author can edit" in page
    assert f"readonly>{data['text']}</textarea>" in page
    row.refresh_from_db()
    assert row.text == "First"


def test_author_edits_and_the_ledger_has_another_hash_and_no_text(world: World):
    row = comment(world, "reader", "First words")
    data = {"comment": row.pk, "text": "Second words"}
    assert world.client("reader").post(make_url(world, "edit"), data).status_code == 302
    row.refresh_from_db()
    assert (row.text, row.edited_at is not None) == ("Second words", True)
    (added_details,), (edited_details,) = (
        list_details(Act.COMMENT_ADDED),
        list_details(Act.COMMENT_EDITED),
    )
    assert (
        edited_details["comment_hash"] == threads.hash_comment(row) != added_details["comment_hash"]
    )
    assert not LedgerEntry.objects.filter(text__contains="words").exists()


@pytest.mark.parametrize(
    ("name", "is_deleted"),
    [("reader", True), ("responder", False), ("auditor", True), ("auditor only", True)],
)
def test_comment_is_deleted_by_its_author_or_an_auditor(world: World, name: str, is_deleted: bool):
    row = comment(world, "reader", "Leaked")
    data = {"comment": row.pk}
    response = world.client(name).post(make_url(world, "delete"), data)
    assert response.status_code == (302 if is_deleted else 422)
    assert Comment.objects.exists() is CommentThread.objects.exists() is not is_deleted
    assert len(list_details(Act.COMMENT_DELETED)) == int(is_deleted)


def test_comment_thread_is_resolved_and_reopened_by_a_reply(world: World):
    comment(world, "reader", "Why?")
    world.client("owner").post(make_url(world, "resolve"), {"resolved": "1"})
    page_url = reverse("conversation", args=[world.conversation.pk])
    page = read(world.client("reader"), page_url)
    assert f"Resolved by {world.people['owner'].display_name}" in page
    assert 'data-count="comments"' not in page
    comment(world, "reader", "Still?")
    assert CommentThread.objects.get().resolved_at is None
    assert '<b data-count="comments">2</b> comments' in read(world.client("reader"), page_url)
    acts = (Act.COMMENTS_RESOLVED, Act.COMMENTS_REOPENED)
    assert [len(list_details(act)) for act in acts] == [1, 1]


def test_list_and_header_count_open_comments_and_lead_to_the_next(world: World):
    other = making.question(world.run).anchor
    comment(world, "reader", "One")
    comment(world, "reader", "Two", other)
    assert '<b data-count="comments">2</b>' in read(world.client("owner"), "/conversations")
    client, url = world.client("owner"), reverse("comment-next", args=[world.conversation.pk])
    steps = [
        client.get(url, {"from": origin}).headers["Location"].partition("#")[2]
        for origin in ("", world.anchor, other)
    ]
    assert steps == [world.anchor, other, world.anchor]


def test_comments_of_a_missing_event_are_at_the_end(world: World):
    comment(world, "reader", "Kept words")
    JournalEntry.objects.filter(anchor=world.anchor).update(anchor="e-other")
    page = read(world.client("owner"), reverse("conversation", args=[world.conversation.pk]))
    assert "Comments on events that are gone" in page
    assert "Kept words" in page
    assert "no longer in the conversation" in read(world.client("owner"), make_url(world))


def test_comments_stay_when_the_conversation_is_copied_again(world: World):
    conversation: Conversation = making.mirrored_conversation(world.workspace, ChatRequest("Hello"))
    anchor = journal.find_anchor(conversation.pk, 0)
    threads.add_comment(conversation, anchor, world.people["reader"], "Kept")
    elements = journal.read_elements(conversation.pk)
    JournalEntry.objects.filter(conversation=conversation).delete()
    conversation.refresh_from_db()
    journal.replace_elements(conversation, list(elements), [anchor])
    assert "Kept" in read(world.client("owner"), reverse("conversation", args=[conversation.pk]))


def test_comments_end_with_their_conversation(world: World):
    comment(world, "reader", "Hm @owner")
    world.conversation.runs.all().delete()
    Conversation.objects.filter(pk=world.conversation.pk).delete()
    assert Comment.objects.count() == Mention.objects.count() == 0


def test_secret_that_is_masked_in_the_event_is_masked_in_its_comments(world: World):
    suggestion = world.suggestion
    conversation = suggestion.conversation
    threads.add_comment(
        conversation, suggestion.anchor, world.people["reader"], f"Is {SECRET} real?"
    )
    page = read(world.client("owner"), reverse("conversation", args=[conversation.pk]))
    assert SECRET not in page
    assert "real?" in page


def count_unseen(world: World, name: str) -> int:
    return Person.objects.get(pk=world.people[name].pk).unseen_mention_count


def test_mention_is_new_until_it_is_opened(world: World):
    other = making.question(world.run).anchor
    owner = world.people["owner"]
    comment(world, "reader", f"@{owner.username}, look. Also @nobody and a@b.example.")
    comment(world, "reader", f"@{owner.username}, and here", other)
    assert count_unseen(world, "owner") == 2
    client = world.client("owner")
    assert "New mentions" in read(client, "/help")
    for _ in range(2):
        page = read(client, "/mentions")
        assert ("look. Also" in page, page.count("New</span>")) == (True, 2)
    assert "New mentions" in read(client, make_url(world))
    assert count_unseen(world, "owner") == 1
    assert "New mentions" not in read(client, make_url(world, anchor=other))
    assert "New</span>" not in read(client, "/mentions")


def test_mentions_on_a_conversation_page_are_seen_by_their_person(world: World):
    comment(
        world, "reader", f"@{world.people['owner'].username} @{world.people['auditor'].username}"
    )
    url = reverse("conversation", args=[world.conversation.pk])
    client = world.client("owner")
    client.get(url, headers={"Sec-Fetch-Dest": "empty"})
    client.get(make_url(world), headers={"HX-Request": "true"})
    assert count_unseen(world, "owner") == 1
    assert "New mentions" not in read(client, url)
    assert (count_unseen(world, "owner"), count_unseen(world, "auditor")) == (0, 1)


def test_mark_mentions_read_covers_only_those_listed_on_the_page(world: World):
    owner = world.people["owner"]
    for text in ("first", "second"):
        comment(world, "reader", f"@{owner.username} {text}")
    client = world.client("owner")
    page = read(client, "/mentions")
    newest = Mention.objects.latest("pk").pk
    assert f'name="newest" value="{newest}"' in page
    comment(world, "reader", f"@{owner.username} third")
    assert client.post("/mentions/seen", {"newest": newest}).status_code == 302
    assert count_unseen(world, "owner") == 1
    assert list(Mention.objects.filter(seen_at=None)) == [Mention.objects.latest("pk")]


@pytest.mark.parametrize("name", ["outsider", "rival", "reader"])
def test_outsiders_and_the_author_are_not_mentioned(world: World, name: str):
    comment(world, "reader", f"@{world.people[name].username} look")
    assert not Mention.objects.exists()


@pytest.mark.parametrize(
    ("shown_name", "text"),
    [
        ("Bo", "@Bo, look"),
        ("Bo", "@bo."),
        ("Bo", "look @bo and @nobody"),
        ("Bo Tree", "@Owner look"),
        ("Bo Tree", "Is @bo tree. right"),
    ],
    ids=["name", "case", "words", "account", "two words"],
)
def test_mention_by_the_name_that_pages_show_reaches_its_person(
    world: World, shown_name: str, text: str
):
    Person.objects.filter(pk=world.people["owner"].pk).update(first_name=shown_name)
    Person.objects.filter(pk=world.people["rival"].pk).update(first_name="Bo")
    other_name = "Bo" if shown_name != "Bo" else "Ada"
    Person.objects.filter(pk=world.people["auditor"].pk).update(first_name=other_name)
    comment(world, "reader", text)
    assert list(Mention.objects.values_list("person_id", flat=True)) == [world.people["owner"].pk]
    page = read(world.client("reader"), make_url(world))
    assert f"<code>@{shown_name}</code>" in page


def test_edit_takes_a_mention_back(world: World):
    owner = world.people["owner"]
    row = comment(world, "reader", f"@{owner.username}")
    data = {"comment": row.pk, "text": "nobody"}
    world.client("reader").post(make_url(world, "edit"), data)
    assert (Mention.objects.count(), count_unseen(world, "owner")) == (0, 0)


def test_mention_is_hidden_from_people_without_access(world: World):
    comment(world, "owner", f"@{world.people['reader'].username} look")
    Membership.objects.filter(person=world.people["reader"]).delete()
    assert "look" not in read(world.client("reader"), "/mentions")


def test_fragment_of_an_event_has_forms_on_request_alone(world: World):
    comment(world, "reader", "Hm")
    client = world.client("reader")
    plain = client.get(make_url(world), headers={"HX-Request": "true"}).content.decode()
    form = client.get(f"{make_url(world)}?form=1", headers={"HX-Request": "true"}).content.decode()
    assert ("<form" in plain, "<form" in form) == (False, True)
    assert all(text.startswith('<section class="annotations"') for text in (plain, form))


def test_annotations_of_an_event_are_a_group_and_no_landmark(world: World):
    comment(world, "reader", "Hm")
    page = read(world.client("reader"), reverse("conversation", args=[world.conversation.pk]))
    assert ' role="group" aria-label="Annotations">' in page
