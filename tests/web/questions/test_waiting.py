from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.maintenance import inquiry_expiry
from jpweb.store.models import Workspace
from jpweb.stream.inquiry import CancellationReason, Cancelled
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World

DAY = 86_400


def page(world: World) -> ParsedPage:
    html_page = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/waiting"))
    assert (html_page.crossed, html_page.unclosed) == ([], [])
    return html_page


def find_checked(html_page: ParsedPage) -> str:
    (radio,) = [tag["value"] for tag in html_page.find_all(name="after") if "checked" in tag]
    return radio


def unit(html_page: ParsedPage) -> str:
    inside = html_page.find_one(name="unit")
    (option,) = [tag.text for tag in html_page if "selected" in tag and inside in tag.parents]
    return option


def choose(world: World, **data: Any) -> Any:
    return world.client("owner").post(
        f"/workspaces/{world.workspace.pk}/waiting/choose", data, follow=True
    )


def get_expiry(world: World) -> int | None:
    return Workspace.objects.get(pk=world.workspace.pk).expires_after


def test_questions_keep_waiting_unless_an_owner_says_otherwise(world: World):
    html_page = page(world)
    assert find_checked(html_page) == "never"
    assert get_expiry(world) is None
    assert "An expired question never counts as an answer or as consent" in html_page.text
    assert "Applies to new questions" in html_page.text


@pytest.mark.parametrize(
    ("after", "seconds", "message"),
    [
        ("never", None, "never expire"),
        ("900", 900, "expire after 15 minutes"),
        ("3600", 3_600, "expire after 1 hour"),
        ("28800", 28_800, "expire after 8 hours"),
        ("86400", DAY, "expire after 1 day"),
        ("259200", 3 * DAY, "expire after 3 days"),
    ],
)
def test_an_owner_chooses_one_of_the_usual_times(
    world: World, after: str, seconds: int | None, message: str
):
    inquiry_expiry.set_expiry(world.workspace, 7)
    answer = parse_page(choose(world, after=after))
    assert get_expiry(world) == seconds
    assert f"New unanswered questions in Garden {message}." in answer.text
    assert find_checked(answer) == after
    assert Workspace.objects.get(pk=world.other_workspace.pk).expires_after is None


@pytest.mark.parametrize(
    ("number", "of", "seconds", "expected"),
    [
        ("1", "60", 60, ("1", "minutes")),
        (" 20 ", "60", 1_200, ("20", "minutes")),
        ("120", "60", 7_200, ("2", "hours")),
        ("5", "3600", 18_000, ("5", "hours")),
        ("366", "86400", 366 * DAY, ("366", "days")),
    ],
)
def test_an_owner_chooses_another_time(
    world: World, number: str, of: str, seconds: int, expected: tuple[str, str]
):
    html_page = parse_page(choose(world, after="other", number=number, unit=of))
    assert get_expiry(world) == seconds
    assert find_checked(html_page) == "other"
    assert (html_page.find_one(name="number")["value"], unit(html_page)) == expected


def test_a_usual_time_is_shown_as_such_however_it_was_given(world: World):
    assert find_checked(parse_page(choose(world, after="other", number="60", unit="60"))) == "3600"


def test_a_time_that_the_page_would_not_offer_is_rounded_up(world: World):
    inquiry_expiry.set_expiry(world.workspace, 61)
    html_page = page(world)
    assert (html_page.find_one(name="number")["value"], unit(html_page)) == ("2", "minutes")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"after": ""},
        {"after": "60"},
        {"after": "-900", "number": "5", "unit": "60"},
        {"after": "other"},
        {"after": "other", "number": "5"},
        {"after": "other", "number": "5", "unit": "1"},
        *(
            {"after": "other", "number": number, "unit": "60"}
            for number in ("", "0", "-5", "1.5", "²", "٣", "five", "9" * 5000, "527041")
        ),
        {"after": "other", "number": "367", "unit": "86400"},
    ],
)
def test_expiry_form_refuses_invalid_times_and_keeps_the_input(world: World, data: dict[str, str]):
    inquiry_expiry.set_expiry(world.workspace, 900)
    answer = choose(world, **data)
    html_page = parse_page(answer)
    assert answer.status_code == 422
    assert html_page.find_one(role="alert").text
    assert get_expiry(world) == 900
    assert html_page.find_one(name="number")["value"] == data.get("number", "")
    if data.get("after") == "other":
        assert find_checked(html_page) == "other"


def test_refused_number_names_its_problem(world: World):
    html_page = parse_page(choose(world, after="other", number="five", unit="60"))
    field = html_page.find_one(name="number")
    assert field["aria-invalid"] == "true"
    assert "Enter a whole number" in html_page.find_one(id=field["aria-describedby"]).text


def test_the_number_that_was_not_asked_for_does_not_count(world: World):
    choose(world, after="never", number="5", unit="60")
    assert get_expiry(world) is None


@pytest.mark.parametrize("path", ["/settings", "/go"])
def test_owners_find_the_page_in_their_settings(world: World, path: str):
    link = f"/workspaces/{world.workspace.pk}/waiting"
    assert parse_page(world.client("owner").get(path)).find_all(href=link)
    assert not parse_page(world.client("auditor").get(path)).find_all(href=link)


def test_expired_question_is_shown_without_a_decider(world: World):
    making.settle(world.question, Cancelled(CancellationReason.EXPIRED))
    for person_name, path in (
        ("responder", "/questions"),
        ("reader", f"/conversations/{world.conversation.pk}"),
        ("auditor", "/audit?outcome=cancelled&reason=expired"),
    ):
        html_page = parse_page(world.client(person_name).get(path))
        states = [tag for tag in html_page.find_all(**{"data-reason": "expired"}) if "title" in tag]
        assert {(tag["title"], tag["data-outcome"]) for tag in states} == {
            ("expired", "cancelled")
        }, path
        assert all("expired before an answer" in tag.text for tag in states), path
    questions = parse_page(world.client("responder").get("/questions"))
    assert "the model was told that nothing was decided" in questions.text
    read_on = parse_page(world.client("reader").get(f"/conversations/{world.conversation.pk}"))
    assert "Closed without an answer." in read_on.text
    lost_page = parse_page(world.client("auditor").get("/audit?reason=lost"))
    assert not lost_page.find_all(**{"data-reason": "expired"})
