"""Ways between the audit table, the page of a question and its fold in a transcript."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from jpweb.store.choices import Role
from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.store.jp_files import mirror
from jpweb.store.models import Inquiry, Membership
from jpweb.stream.inquiry import CancellationReason, Cancelled
from jpweb.web import transcript
from tests.store import making
from tests.web.reading import Tag, parse_page
from tests.web.world import World

SITE = "http://testserver"


def find_back_link(response: Any) -> str:
    """Return the address of the first link above a page's heading."""
    assert response.status_code == 200
    page = parse_page(response)
    back = page.find_one(**{"class": "back"})
    return next(tag["href"] for tag in page if back in tag.parents)


def list_rows(response: Any) -> list[Tag]:
    assert response.status_code == 200
    return [tag for tag in parse_page(response) if tag.tag == "tr" and "data-outcome" in tag]


@pytest.mark.parametrize("query", ["", "outcome=open&sort=-waited", "words=Go+on%3F&before=99"])
@pytest.mark.parametrize("person_name", ["owner", "auditor", "auditor only"])
def test_question_leads_back_to_the_table_with_its_filters(
    world: World, person_name: str, query: str
):
    client, path = world.client(person_name), f"/questions/{world.question.pk}"
    address = f"/audit?{query}" if query else "/audit"
    link = find_back_link(client.get(path, headers={"Referer": f"{SITE}{address}"}))
    assert link == f"{address}#inquiry-{world.question.pk}"
    assert [row["id"] for row in list_rows(client.get("/audit"))] == [link.partition("#")[2]]


@pytest.mark.parametrize(
    "referrer",
    [
        "https://elsewhere.example/audit?outcome=open",
        f"{SITE}/audit/charts?outcome=open",
        f"{SITE}/questions",
        "http://[",
        "",
    ],
)
def test_question_from_another_page_leads_to_the_queue(world: World, referrer: str):
    path = f"/questions/{world.question.pk}"
    client = world.client("owner")
    assert find_back_link(client.get(path, headers={"Referer": referrer})) == "/questions"


def test_way_back_has_parameters_of_the_table_alone(world: World):
    path = f"/questions/{world.question.pk}"
    query = urlencode({"audit": "//elsewhere.example?outcome=open&next=//elsewhere.example#x"})
    response = world.client("owner").get(f"{path}?{query}")
    assert find_back_link(response) == f"/audit#inquiry-{world.question.pk}"


def test_way_back_is_for_those_who_audit(world: World):
    path, headers = f"/questions/{world.question.pk}", {"Referer": f"{SITE}/audit"}
    response = world.client("responder").get(path, headers=headers)
    assert find_back_link(response) == "/questions"


def test_way_back_outlasts_the_forms_of_a_review(world: World):
    row = making.settle(
        making.question(world.run),
        Cancelled(CancellationReason.USER),
        making.decider(world.people["responder"]),
    )
    client, path = world.client("auditor"), f"/questions/{row.pk}"
    address = f"{SITE}/audit?reason=user"
    response: Any = client.get(path, headers={"Referer": address})
    for form_name in ("start", "assign", "review"):
        page = parse_page(response)
        (action,) = {
            tag["action"].partition("#")[0]
            for tag in page
            if tag.get("action", "").partition("?")[0].endswith(f"/{form_name}")
        }
        fields = {tag["name"]: tag["value"] for tag in page.find_all(type="hidden")}
        response = client.post(action, fields | {"verdict": "fine", "assignee": ""}, follow=True)
        assert find_back_link(response) == f"/audit?reason=user#inquiry-{row.pk}"


@pytest.mark.parametrize("state", INQUIRY_STATES)
def test_fold_leads_to_its_row_in_the_table(world: World, state: str):
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(person=world.people["auditor"], workspace=demo, role=Role.AUDITOR)
    client = world.client("auditor")
    row = Inquiry.objects.filter(state=state).order_by("asked_at").first()
    assert row is not None
    page = parse_page(client.get(transcript.make_event_url(row.conversation_id, row.anchor)))
    links = [tag for tag in page if tag.text == "Show in Audit" and tag.inside(id=row.anchor)]
    assert [tag["class"] for tag in links] == ["audit-link"]
    assert links[0].inside(**{"data-may-audit": ""})
    address, _, target = links[0]["href"].partition("#")
    response = client.get(address)
    assert list_rows(response)[0]["id"] == target == f"inquiry-{row.pk}"
    links = [tag for tag in parse_page(response) if tag.tag == "a"]
    (newest,) = [tag for tag in links if tag.text == "Newest questions"]
    rows = list_rows(client.get(f"/audit{newest['href']}"))
    assert len(rows) == Inquiry.objects.filter(conversation_id=row.conversation_id).count()
