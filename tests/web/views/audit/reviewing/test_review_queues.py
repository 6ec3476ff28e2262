"""Pages of review queues: what is left, how far all are, and all items, a page at a time."""

from __future__ import annotations

import pytest
from django.test import Client

from jpweb.store.models import Inquiry
from jpweb.store.reviews import queues
from jpweb.store.reviews.queues import QUEUE_NAMES
from tests.web.reading import ParsedPage, parse_page
from tests.web.views.audit.reviewing.test_reviews import Desk, fill, follow, start
from tests.web.world import World, signed_in

#: Queues from which a review takes its item out.
WITHOUT_PROGRESS = ("assigned", "second", "disagreed", "escalated")


def open_queue(client: Client, name: str, query: str = "") -> ParsedPage:
    return parse_page(client.get(f"/audit/reviews/{name}{query}"))


def list_questions(page: ParsedPage) -> list[str]:
    return [tag.text.strip() for tag in page.find_all(**{"data-label": "Question"})]


def list_next_queries(page: ParsedPage) -> list[str]:
    return [tag["href"] for tag in page if tag.get("href", "").startswith("?after=")]


@pytest.fixture
def disputed_desk(world: World) -> Desk:
    """Return a desk whose question Ada and Ben reviewed differently; both can change it."""
    world.workspace.reviews_required = 2
    world.workspace.save()
    desk = Desk(world, 2)
    for person, verdict in ((desk.ada, "fine"), (desk.ben, "wrong")):
        client, page = start(person, desk.path)
        follow(client, f"{desk.path}/review", fill(page, verdict, "Because."))
    client, page = start(desk.ada, f"/questions/{desk.rows[1].pk}")
    follow(client, f"/questions/{desk.rows[1].pk}/review", fill(page, "fine"))
    assignment = {"assignee": str(desk.ben.pk)}
    follow(client, f"/questions/{desk.rows[1].pk}/review/assign", assignment)
    return desk


def test_queues_that_reviews_empty_say_what_is_left_without_a_bar(disputed_desk: Desk):
    client = signed_in(disputed_desk.ben)
    page = parse_page(client.get("/audit/reviews"))
    bars = {tag.parents[-3]["data-queue"] for tag in page if tag.tag == "progress"}
    assert bars
    assert bars.isdisjoint(WITHOUT_PROGRESS)
    for name in ("assigned", "second", "disagreed"):
        (row,) = page.find_all(**{"data-queue": name})
        assert "1 left for you" in row.text
        assert " of " not in row.text
        text = open_queue(client, name).text
        assert "1 left for you." in text
        assert "reviewed," not in text
    assert [name for name in QUEUE_NAMES if name not in WITHOUT_PROGRESS] == [*QUEUE_NAMES[4:]]


def test_queue_says_how_many_of_its_items_others_have_to_do(disputed_desk: Desk):
    auditor = disputed_desk.world.client("auditor")
    assert "0 of 1 left for you." in open_queue(auditor, "disagreed").text
    (row,) = parse_page(auditor.get("/audit/reviews")).find_all(**{"data-queue": "disagreed"})
    assert "0 of 1 left for you" in row.text


def test_queue_of_tasks_has_no_progress_of_people(disputed_desk: Desk):
    client = signed_in(disputed_desk.ben)
    assert "data-assignee" not in client.get("/audit/reviews/second").content.decode()
    assert "data-assignee" in client.get("/audit/reviews/cancelled").content.decode()


@pytest.mark.parametrize("name", ["cancelled", "assigned"])
def test_pages_of_a_queue_lead_to_all_its_items(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setattr(queues, "PAGE_ITEMS", 2)
    desk = Desk(world, 5)
    client = signed_in(desk.ada)
    for row in desk.rows[::-1]:
        follow(client, f"/questions/{row.pk}/review/assign", {"assignee": str(desk.ada.pk)})
    page, texts, pages = open_queue(client, name), [], 1
    while True:
        texts += list_questions(page)
        (*queries,) = list_next_queries(page)
        if not queries:
            break
        page = open_queue(client, name, queries[0])
        pages += 1
    assert (texts, pages) == ([f"Question {number}?" for number in range(4, -1, -1)], 3)
    assert page.find_all(href=f"/audit/reviews/{name}")


def test_page_of_a_queue_goes_on_where_its_last_item_was_reviewed(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queues, "PAGE_ITEMS", 2)
    desk = Desk(world, 4)
    client = signed_in(desk.ada)
    for row in desk.rows[::-1]:
        follow(client, f"/questions/{row.pk}/review/assign", {"assignee": str(desk.ada.pk)})
    (query,) = list_next_queries(open_queue(client, "assigned"))
    path = f"/questions/{desk.rows[1].pk}"
    client, form_page = start(desk.ada, path)
    follow(client, f"{path}/review", fill(form_page, "fine"))
    assert list_questions(open_queue(client, "assigned", query)) == ["Question 1?", "Question 0?"]


def test_page_behind_the_end_of_a_queue_leads_to_its_beginning(world: World):
    desk = Desk(world)
    row = Inquiry.objects.get(pk=desk.rows[0].pk)
    client = signed_in(desk.ada)
    page = open_queue(client, "cancelled", f"?after={row.conversation_id}-{row.anchor}")
    assert "No more items." in page.text
    assert page.find_all(href="/audit/reviews/cancelled")
    first_page = open_queue(client, "cancelled", "?after=a%00b")
    assert list_questions(first_page) == ["Question 0?"]
