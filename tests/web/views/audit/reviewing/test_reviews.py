"""Reviewing on pages by forms alone: from a queue, of a question and of a conversation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from jpweb.store.annotations import threads
from jpweb.store.choices import Role, Verdict
from jpweb.store.models import Inquiry, Person, Review, ReviewTask, Workspace
from jpweb.store.reviews import inquiry_pages
from jpweb.stream.inquiry import CancellationReason, Cancelled
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in

HIDDEN_FIELD = re.compile(r'<input type="hidden" name="(version|seen|queue)" value="([^"]*)"')
DECLINED = Cancelled(CancellationReason.USER)


class Desk:
    """Two auditors who did not take part, and questions that another person declined."""

    def __init__(self, world: World, count: int = 1) -> None:
        self.world = world
        self.ada = making.person("ada", Role.AUDITOR, world.workspace)
        self.ben = making.person("ben", Role.AUDITOR, world.workspace)
        making.settle(world.question, making.ANSWER, making.decider(world.people["owner"]))
        decider = making.decider(world.people["responder"])
        self.rows = [
            making.settle(making.question(world.run, text=f"Question {number}?"), DECLINED, decider)
            for number in range(count)
        ][::-1]

    @property
    def path(self) -> str:
        return f"/questions/{self.rows[0].pk}"


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world)


def read(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return str(response.content.decode())


def follow(client: Client, path: str, data: dict[str, str] | None = None) -> tuple[str, str]:
    """Send a form; return the address to which it leads, and the page there."""
    response: Any = client.post(path, data or {}, follow=True)
    assert response.status_code == 200
    return response.redirect_chain[-1][0].partition("#")[0], response.content.decode()


def fill(page: str, verdict: str, note: str = "") -> dict[str, str]:
    """Return the form of a page as a browser sends it."""
    return dict(HIDDEN_FIELD.findall(page)) | {"verdict": verdict, "note": note}


def start(person: Person, path: str) -> tuple[Client, str]:
    """Reserve a question or conversation; return the client, and the page with the form."""
    client = signed_in(person)
    return client, follow(client, f"{path}/review/start")[1]


def test_queue_leads_through_its_questions_to_its_end(world: World):
    desk = Desk(world, count=3)
    client = signed_in(desk.ada)
    page = read(client, "/audit/reviews")
    assert re.search(r'data-queue="cancelled".*?0 of 3.*?data-left="3"', page, re.DOTALL)
    address, page = follow(client, "/audit/reviews/cancelled/next")
    assert address == f"{desk.path}?queue=cancelled"
    assert "Question 2?" in page
    address, page = follow(client, f"{desk.path}/review", fill(page, "wrong", "Ask Ada first."))
    assert address == f"/questions/{desk.rows[1].pk}?queue=cancelled"
    assert "1 of 3 reviewed, 2 left for you" in page
    after = re.search(r'name="after" value="([^"]+)"', page)
    assert after
    address, page = follow(client, "/audit/reviews/cancelled/next", {"after": after[1]})
    assert address == f"/questions/{desk.rows[2].pk}?queue=cancelled"
    assert ReviewTask.objects.get(anchor=desk.rows[1].anchor).holder is None
    path = f"/questions/{desk.rows[2].pk}/review"
    address, page = follow(client, path, fill(page, "fine"))
    path = f"/questions/{desk.rows[1].pk}"
    assert address == f"{path}?queue=cancelled"
    assert "2 of 3 reviewed, 1 left for you" in page
    address, page = follow(client, f"{path}/review", fill(page, "fine"))
    assert address == "/audit/reviews/cancelled"
    assert "Nothing is left for you in “Cancelled”." in page
    assert 'data-review-state="done">Reviewed' in page


def test_question_page_shows_reviews_to_auditors_alone(desk: Desk):
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "wrong", "<b>Not</b> his call"))
    page = read(signed_in(desk.ben), desk.path)
    assert 'Review by <b>Ada</b>: <b class="verdict">Wrong</b>' in page
    assert "&lt;b&gt;Not&lt;/b&gt; his call" in page
    assert 'data-kind="tool_call_request"' in page
    assert 'id="reviews"' not in read(desk.world.client("reader"), desk.path)


def test_person_who_closed_it_gets_no_form(desk: Desk):
    row = making.settle(
        making.question(desk.world.run), DECLINED, making.decider(desk.world.people["auditor"])
    )
    page = read(desk.world.client("auditor"), f"/questions/{row.pk}")
    assert "You closed this question, so someone else has to review it." in page
    assert "data-review-start" not in page


def test_reservation_names_who_is_reviewing_and_until_when(desk: Desk):
    start(desk.ada, desk.path)
    client = signed_in(desk.ben)
    page = read(client, desk.path)
    assert re.search(
        r"<b>Ada</b> is reviewing this. Available again at <time[^>]*>\d\d:\d\d UTC", page
    )
    assert "data-review-start" not in page
    _, page = follow(client, f"{desk.path}/review/start")
    assert "Ada is reviewing this until" in page


@pytest.mark.parametrize(
    ("verdict", "note", "problem", "tag"),
    [
        ("", "My note", "Choose a verdict.", "fieldset"),
        ("wrong", "  ", "Write a note: say why it isn't fine.", "textarea"),
        ("dance", "My note", "Choose a verdict.", "fieldset"),
    ],
)
def test_incomplete_review_keeps_its_note_beside_its_problem(
    desk: Desk, verdict: str, note: str, problem: str, tag: str
):
    client, page = start(desk.ada, desk.path)
    response = client.post(f"{desk.path}/review", fill(page, verdict, note))
    assert response.status_code == 422
    form = parse_page(response)
    (field,) = [field for field in form.tags if field.tag == tag]
    assert form.find_one(id=field["aria-describedby"]).text == problem
    assert form.find_one(name="note").text.strip() == note.strip()
    assert not Review.objects.exists()


def test_review_that_came_second_keeps_its_text_and_can_be_sent_again(desk: Desk):
    client, page = start(desk.ada, desk.path)
    ReviewTask.objects.update(held_until="2000-01-01T00:00:00Z")
    other, other_page = start(desk.ben, desk.path)
    follow(other, f"{desk.path}/review", fill(other_page, "fine"))
    response = client.post(f"{desk.path}/review", fill(page, "wrong", "Mine"))
    text = response.content.decode()
    assert response.status_code == 409
    assert "Ben reviewed this while you were writing, and their review stands." in text
    assert ">Mine</textarea>" in text
    _, page = follow(client, f"{desk.path}/review", fill(text, "wrong", "Mine"))
    assert "Reviewers disagree" in page
    assert list(Review.objects.values_list("reviewer_name", "round")) == [("Ben", 1), ("Ada", 2)]


def test_review_that_can_no_longer_be_given_is_shown_to_copy(desk: Desk):
    client, page = start(desk.ada, desk.path)
    Inquiry.objects.filter(pk=desk.rows[0].pk).update(decider=desk.ada)
    response = client.post(f"{desk.path}/review", fill(page, "wrong", "Mine"))
    text = response.content.decode()
    assert response.status_code == 409
    assert "readonly>Mine</textarea>" in text


def test_owner_who_decides_is_not_offered_to_escalate(desk: Desk):
    client, page = start(desk.ada, desk.path)
    assert 'value="escalate"' in page
    follow(client, f"{desk.path}/review", fill(page, "escalate", "Look"))
    owner, page = start(making.person("olga", Role.OWNER, desk.world.workspace), desk.path)
    assert re.findall('name="verdict" value="([a-z]+)"', page) == ["fine", "questionable", "wrong"]
    assert "<kbd>3</kbd> choose" in page
    response = owner.post(f"{desk.path}/review", fill(page, "escalate", "Mine"))
    text = response.content.decode()
    assert response.status_code == 409
    assert "You decide this as an owner" in text
    assert ">Mine</textarea>" in text


def test_second_reviewer_sees_nothing_of_the_first_review(desk: Desk):
    Workspace.objects.update(reviews_required=2)
    client, page = start(desk.ada, desk.path)
    assert "2 reviews needed" in page
    follow(client, f"{desk.path}/review", fill(page, "escalate", "My secret thought"))
    other, page = start(desk.ben, desk.path)
    assert "First review by <b>Ada</b>" in page
    assert "My secret thought" not in page
    assert 'data-verdict="escalate"' not in page
    for path in ("/audit/reviews/second", "/audit/ledger", "/audit/ledger.jsonl"):
        response = other.get(path)
        body = b"".join(response) if response.streaming else response.content
        assert response.status_code == 200, path
        assert b"escalate" not in body.lower(), path
    _, page = follow(other, f"{desk.path}/review", fill(page, "fine"))
    assert "<b>Escalated to the owners</b>" in page
    assert "My secret thought" in page


def test_conversation_is_reviewed_from_its_page(desk: Desk):
    conversation = f"/conversations/{desk.world.conversation.pk}"
    assert f'href="{conversation}/reviews"' in read(signed_in(desk.ada), conversation)
    assert f'href="{conversation}/reviews"' not in read(desk.world.client("reader"), conversation)
    client, page = start(desk.ada, conversation)
    _, page = follow(client, f"{conversation}/review", fill(page, "questionable", "Why so late?"))
    assert "Questionable" in page
    assert Review.objects.get().anchor == ""


def list_tabs(page: str) -> dict[str, str]:
    """Return the links of a conversation's views, by their labels."""
    parsed_page = parse_page(page)
    tabs = parsed_page.find_one(**{"aria-label": "Conversation views"})
    return {tag.text: tag["href"] for tag in parsed_page if tabs in tag.parents}


def test_views_and_comments_of_a_conversation_keep_its_queue(desk: Desk):
    conversation, client = desk.world.conversation, signed_in(desk.ada)
    path = f"/conversations/{conversation.pk}"
    assert list_tabs(read(client, path))["Review"] == f"{path}/reviews"
    follow(client, f"{path}/review/assign", {"assignee": str(desk.ada.pk)})
    address, page = follow(client, "/audit/reviews/assigned/next")
    assert address == f"{path}/reviews?queue=assigned"
    assert "comment" not in page
    tabs = list_tabs(page)
    assert len(tabs) == 7
    assert {list_tabs(read(client, tab))["Review"] for tab in tabs.values()} == {address}
    resolved_anchor, anchor = desk.world.anchor, desk.rows[0].anchor
    for comment_anchor in (resolved_anchor, anchor, anchor):
        threads.add_comment(conversation, comment_anchor, desk.ben, "Why?")
    threads.set_resolved(conversation, resolved_anchor, desk.ben, is_resolved=True)
    links = [tag for tag in parse_page(read(client, address)) if "unresolved" in tag.text]
    assert links[-1].text == "2 unresolved comments"
    response: Any = client.get(links[-1]["href"], follow=True)
    assert f"at={anchor}" in response.redirect_chain[-1][0]
    assert list_tabs(response.content.decode())["Review"] == address


def test_assignment_reaches_the_queue_of_the_person(desk: Desk):
    client = signed_in(desk.ada)
    _, page = follow(client, f"{desk.path}/review/assign", {"assignee": str(desk.ben.pk)})
    assert "Assigned to Ben." in page
    assert "Question 0?" in read(signed_in(desk.ben), "/audit/reviews/assigned")
    owner = str(desk.world.people["responder"].pk)
    _, page = follow(client, f"{desk.path}/review/assign", {"assignee": owner})
    assert "Choose an auditor of this workspace." in page
    _, page = follow(client, f"{desk.path}/review/assign", {"assignee": ""})
    assert "Unassigned." in page


@pytest.mark.parametrize(
    "data", [{}, {"assignee": "0"}, {"assignee": "Ben"}, {"assignee": "9" * 30}]
)
def test_assignment_to_an_unknown_choice_keeps_the_assignee(desk: Desk, data: dict[str, str]):
    client = signed_in(desk.ada)
    follow(client, f"{desk.path}/review/assign", {"assignee": str(desk.ben.pk)})
    _, page = follow(client, f"{desk.path}/review/assign", data)
    assert "Choose an auditor of this workspace." in page
    assert "Unassigned." not in page
    assert "Question 0?" in read(signed_in(desk.ben), "/audit/reviews/assigned")


def test_owner_chooses_how_many_reviews_are_needed(world: World):
    client, path = world.client("owner"), f"/workspaces/{world.workspace.pk}"
    _, page = follow(client, f"{path}/reviews", {"reviews_required": "2"})
    assert "Saved. Each question of Garden now needs two reviews by different people." in page
    world.workspace.refresh_from_db()
    assert world.workspace.reviews_required == 2
    _, page = follow(client, f"{path}/reviews", {"reviews_required": "3"})
    assert "Choose one of the options." in page


def change(row: Inquiry) -> None:
    entry = row.conversation.journal.get(position=row.response_position or 0)
    entry.text = entry.text.replace("user", "user ")
    entry.save()


def test_changed_question_says_so_on_its_page(desk: Desk):
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    change(desk.rows[0])
    page = read(client, desk.path)
    assert "Changed since it was reviewed." in page
    assert "Earlier version" in page


def test_hidden_review_of_an_earlier_version_is_tagged_and_blinds_no_one(desk: Desk):
    Workspace.objects.update(reviews_required=2)
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    other, page = start(desk.ben, desk.path)
    assert "The first review is hidden until yours is in." in page
    change(desk.rows[0])
    page = read(other, desk.path)
    assert "<h3>First review</h3>" in page
    assert "The first review is hidden" not in page
    assert re.search("until the present version is reviewed.*Earlier version", page, re.DOTALL)


def test_unknown_queue_is_missing(world: World):
    client = world.client("auditor")
    assert client.get("/audit/reviews/dance").status_code == 404
    assert client.post("/audit/reviews/dance/next").status_code == 404


def test_odd_item_before_leads_to_the_first(desk: Desk):
    client, path = signed_in(desk.ada), "/audit/reviews/cancelled/next"
    for after in ("x", "-", "99999999999999999999-a", "7-\x00", "0-"):
        response = client.post(path, {"after": after})
        assert response["Location"].partition("#")[0] == f"{desk.path}?queue=cancelled", after
        ReviewTask.objects.update(holder=None)
        response = client.post("/audit/reviews/assigned/next", {"after": after})
        assert response["Location"] == "/audit/reviews/assigned", after


def test_states_of_reviews_are_there_for_the_audit_table(desk: Desk):
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    states = inquiry_pages.load_review_states([row.pk for row in desk.rows])
    assert states[desk.rows[0].pk].verdict == Verdict.FINE


def test_audit_table_and_queue_say_who_reviews_what_and_how_far(world: World):
    desk = Desk(world, 2)
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    for row, person in ((desk.rows[1], desk.ada), (desk.rows[1], desk.ben)):
        follow(client, f"/questions/{row.pk}/review/assign", {"assignee": str(person.pk)})
    table = parse_page(client.get("/audit"))
    cells = [tag.text for tag in table.find_all(**{"data-label": "Review"})]
    assert cells == ["Reviewed: Fine", "Not reviewed", "Not reviewed"]
    queue = parse_page(client.get("/audit/reviews/cancelled"))
    assignees = [tag.text for tag in queue.find_all(**{"data-label": "Assigned to"})]
    assert assignees == ["", "Ben"]
    progress = {
        tag["data-assignee"]: " ".join(tag.text.split()) for tag in queue if "data-assignee" in tag
    }
    assert progress == {"Ada": "Ada 1 of 1 reviewed", "Ben": "Ben 0 of 1 reviewed"}


def test_queue_says_whose_review_is_missing(world: World):
    world.workspace.reviews_required = 2
    world.workspace.save()
    desk = Desk(world)
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    queue = read(client, "/audit/reviews/cancelled")
    assert "1 of 2 reviews" in queue
    assert "You gave the first; someone else adds the second" in queue
    row = making.settle(making.question(world.run), DECLINED, making.decider(desk.ada))
    queue_page = parse_page(client.get("/audit/reviews/cancelled"))
    (cell, _) = queue_page.find_all(**{"data-label": "Review"})
    assert cell.text == "Not reviewed You took part: someone else has to review it", row


def test_assignment_offers_those_who_can_still_review(desk: Desk):
    conversation = f"/conversations/{desk.world.conversation.pk}/reviews"

    def list_offered(path: str) -> list[str]:
        page = parse_page(signed_in(desk.ada).get(path))
        return [tag.text for tag in page if tag.tag == "option"]

    # The owner started the turn and the conversation.
    names = ["Nobody", "Ada", "Auditor", "Auditor only", "Ben"]
    assert list_offered(desk.path) == list_offered(conversation) == names
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "fine"))
    assert "Ada" not in list_offered(desk.path)


def test_home_names_the_reviews_that_wait_for_the_person(desk: Desk):
    client = signed_in(desk.ada)
    follow(client, f"{desk.path}/review/assign", {"assignee": str(desk.ben.pk)})
    home = parse_page(signed_in(desk.ben).get("/"))
    (link,) = home.find_all(href="/audit/reviews/assigned")
    assert link.inside(**{"aria-labelledby": "reviews-title"})
    assert "1 left for you" in home.text
    assert "/audit/reviews/" not in read(client, "/")
    assert "/audit/reviews/" not in read(desk.world.client("responder"), "/")


def test_first_of_two_reviews_shows_when_its_escalation_reaches_owners(desk: Desk):
    Workspace.objects.update(reviews_required=2)
    client, page = start(desk.ada, desk.path)
    follow(client, f"{desk.path}/review", fill(page, "escalate", "Look at this."))
    text = "Your escalation reaches the owners once the second review is in."
    assert text in read(client, desk.path)
    other, page = start(desk.ben, desk.path)
    assert text not in page
    follow(other, f"{desk.path}/review", fill(page, "fine"))
    assert text not in read(client, desk.path)
