"""Forms of people who lost their role: the page that refuses one repeats what they typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from jpweb.store.choices import Role
from jpweb.store.models import Membership, Person
from jpweb.stream.answer_type import Secret, Text
from tests.store import making
from tests.web.reading import Tag, parse_page
from tests.web.world import World, signed_in

TYPED_TEXT = "Cut the <b>hedge</b>\nfirst, and & last"


def demote(person: Person) -> None:
    Membership.objects.filter(person=person).update(role=Role.READER, direct_role=Role.READER)


def remove(person: Person) -> None:
    Membership.objects.filter(person=person).delete()


END_ROLE = pytest.mark.parametrize(
    ("end_role", "status"), [(demote, 403), (remove, 404)], ids=["demoted", "removed"]
)


def fill_form(client: Client, page_url: str, action: str, field: str) -> dict[str, str]:
    """Return what a page's form sends after a person typed into its field and pressed a button."""
    tags = [tag for tag in parse_page(client.get(page_url)) if tag.inside(action=action)]
    fields = {tag["name"]: tag.get("value", "") for tag in tags if is_field(tag)}
    assert field in fields
    return fields | {field: TYPED_TEXT}


def is_field(tag: Tag) -> bool:
    return tag.tag in ("input", "textarea", "button") and "name" in tag


def list_drafts(response: Any) -> list[str]:
    """Return the texts that a page shows in fields for copying."""
    return [
        tag.text.removeprefix("\n")
        for tag in parse_page(response)
        if tag.tag == "textarea" and "readonly" in tag
    ]


@END_ROLE
def test_form_of_a_former_responder_is_refused_with_the_typed_text(
    world: World, end_role: Callable[[Person], None], status: int
):
    person = world.people["responder"]
    question = f"/questions/{making.question(world.run, Text()).pk}"
    approval = f"/prompts/{making.prompt(world.run, edit=True).pk}"
    talk = f"/conversations/{making.conversation(world.workspace, 'Idle', person).pk}"
    client = signed_in(person)
    forms = {
        action: fill_form(client, page_url, action, field)
        for page_url, action, field in (
            (question, f"{question}/answer", "answer"),
            (question, f"{question}/decline", "note"),
            (approval, f"{approval}/allow", "text"),
            (approval, f"{approval}/refuse", "reason"),
            (talk, f"{talk}/turns", "text"),
            ("/conversations/new", "/conversations/new", "text"),
        )
    }
    end_role(person)
    for action, fields in forms.items():
        response = client.post(action, fields)
        expected_status = 403 if action == "/conversations/new" else status  # is of no workspace
        assert (action, response.status_code) == (action, expected_status)
        assert (action, list_drafts(response)) == (action, [TYPED_TEXT])


@END_ROLE
@pytest.mark.parametrize(("action", "field"), [("answer", "answer"), ("decline", "note")])
def test_refused_form_of_a_secret_repeats_no_text(
    world: World, end_role: Callable[[Person], None], status: int, action: str, field: str
):
    person = world.people["responder"]
    page_url = f"/questions/{making.question(world.run, Secret()).pk}"
    client = signed_in(person)
    fields = fill_form(client, page_url, f"{page_url}/{action}", field)
    end_role(person)
    response = client.post(f"{page_url}/{action}", fields)
    assert response.status_code == status
    assert list_drafts(response) == []
    assert "hedge" not in response.content.decode()


def test_refusal_tells_nobody_which_question_exists(world: World):
    key = making.question(world.run, Secret()).pk
    client = signed_in(world.people["outsider"])
    fields = {"draft": "answer", "answer": TYPED_TEXT}
    pages = [client.post(f"/questions/{number}/answer", fields) for number in (key, key + 1000)]
    assert [page.status_code for page in pages] == [404, 404]
    assert list_drafts(pages[0]) == list_drafts(pages[1]) == [TYPED_TEXT]


@pytest.mark.parametrize("path", ["/no/such/page", "/questions/1/notification/answer"])
def test_body_that_is_too_large_or_no_form_is_refused_as_without_one(
    world: World, settings: Any, path: str
):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    client = signed_in(world.people["outsider"])
    for content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        response = client.post(path, "draft=answer&answer=long", content_type=content_type)
        assert (content_type, response.status_code) == (content_type, 404)
