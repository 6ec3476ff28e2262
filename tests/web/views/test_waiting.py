from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.maintenance import inquiry_expiry
from jpweb.store.models import Workspace
from jpweb.stream.inquiry import CancellationReason, Cancelled
from tests.store import making
from tests.web.reading import Page, read
from tests.web.world import World

DAY = 86_400


def page(world: World) -> Page:
    found = read(world.client("owner").get(f"/workspaces/{world.home.pk}/waiting"))
    assert (found.crossed, found.unclosed) == ([], [])
    return found


def chosen(found: Page) -> str:
    (radio,) = [tag["value"] for tag in found.all(name="after") if "checked" in tag]
    return radio


def unit(found: Page) -> str:
    inside = found.one(name="unit")
    (option,) = [tag.text for tag in found if "selected" in tag and inside in tag.parents]
    return option


def choose(world: World, **data: Any) -> Any:
    return world.client("owner").post(
        f"/workspaces/{world.home.pk}/waiting/choose", data, follow=True
    )


def kept(world: World) -> int | None:
    return Workspace.objects.get(pk=world.home.pk).expires_after


def test_questions_keep_waiting_unless_an_owner_says_otherwise(world: World):
    found = page(world)
    assert chosen(found) == "never"
    assert kept(world) is None
    assert "An expired question never counts as an answer or as consent" in found.text
    assert "Applies to new questions" in found.text


@pytest.mark.parametrize(
    ("after", "seconds", "said"),
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
    world: World, after: str, seconds: int | None, said: str
):
    inquiry_expiry.set_expiry(world.home, 7)
    answer = read(choose(world, after=after))
    assert kept(world) == seconds
    assert f"New unanswered questions in Garden {said}." in answer.text
    assert chosen(answer) == after
    assert Workspace.objects.get(pk=world.elsewhere.pk).expires_after is None


@pytest.mark.parametrize(
    ("number", "of", "seconds", "shown"),
    [
        ("1", "60", 60, ("1", "minutes")),
        (" 20 ", "60", 1_200, ("20", "minutes")),
        ("120", "60", 7_200, ("2", "hours")),
        ("5", "3600", 18_000, ("5", "hours")),
        ("366", "86400", 366 * DAY, ("366", "days")),
    ],
)
def test_an_owner_chooses_another_time(
    world: World, number: str, of: str, seconds: int, shown: tuple[str, str]
):
    found = read(choose(world, after="other", number=number, unit=of))
    assert kept(world) == seconds
    assert chosen(found) == "other"
    assert (found.one(name="number")["value"], unit(found)) == shown


def test_a_usual_time_is_shown_as_such_however_it_was_given(world: World):
    assert chosen(read(choose(world, after="other", number="60", unit="60"))) == "3600"


def test_a_time_that_the_page_would_not_offer_is_rounded_up(world: World):
    inquiry_expiry.set_expiry(world.home, 61)
    found = page(world)
    assert (found.one(name="number")["value"], unit(found)) == ("2", "minutes")


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
def test_what_is_no_time_is_refused_and_comes_back_as_typed(world: World, data: dict[str, str]):
    inquiry_expiry.set_expiry(world.home, 900)
    answer = choose(world, **data)
    found = read(answer)
    assert answer.status_code == 422
    assert found.one(role="alert").text
    assert kept(world) == 900
    assert found.one(name="number")["value"] == data.get("number", "")
    if data.get("after") == "other":
        assert chosen(found) == "other"


def test_refused_number_names_its_problem(world: World):
    found = read(choose(world, after="other", number="five", unit="60"))
    field = found.one(name="number")
    assert field["aria-invalid"] == "true"
    assert "Enter a whole number" in found.one(id=field["aria-describedby"]).text


def test_the_number_that_was_not_asked_for_does_not_count(world: World):
    choose(world, after="never", number="5", unit="60")
    assert kept(world) is None


def test_owners_find_the_page_in_their_menu(world: World):
    link = f"/workspaces/{world.home.pk}/waiting"
    assert read(world.client("owner").get("/")).all(href=link)
    assert not read(world.client("auditor").get("/")).all(href=link)


def test_what_expired_is_shown_as_decided_by_nobody(world: World):
    making.settle(world.question, Cancelled(CancellationReason.EXPIRED))
    for who, path in (
        ("responder", "/questions"),
        ("reader", f"/conversations/{world.talk.pk}"),
        ("auditor", "/audit?outcome=cancelled&reason=expired"),
    ):
        found = read(world.client(who).get(path))
        states = [tag for tag in found.all(**{"data-reason": "expired"}) if "title" in tag]
        assert {(tag["title"], tag["data-outcome"]) for tag in states} == {
            ("expired", "cancelled")
        }, path
        assert all("expired before an answer" in tag.text for tag in states), path
    questions = read(world.client("responder").get("/questions"))
    assert "the model was told that nothing was decided" in questions.text
    read_on = read(world.client("reader").get(f"/conversations/{world.talk.pk}"))
    assert "Closed without an answer." in read_on.text
    other = read(world.client("auditor").get("/audit?reason=lost"))
    assert not other.all(**{"data-reason": "expired"})
