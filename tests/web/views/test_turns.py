"""Saying something to a turn that is under way, and trying again one that failed."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock

import pytest

from jpweb.runtime import runs
from jpweb.store.errors import NothingToRetry
from jpweb.store.models import Run
from jpweb.web import display_text
from tests.store import making
from tests.web.reading import Page, read
from tests.web.world import World


def foot(world: World, who: str = "responder") -> Page:
    return read(world.client(who).get(f"/conversations/{world.talk.pk}"))


def actions(page: Page) -> set[str]:
    forms = [t for t in page if t.tag == "form" and t.inside(id="composer")]
    return {form["action"].rpartition("/")[2] for form in forms}


def send(world: World, what: str, **fields: str) -> Page:
    client = world.client("responder")
    return read(client.post(f"/conversations/{world.talk.pk}/{what}", fields, follow=True))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> AsyncMock:
    heard = AsyncMock(return_value=True)
    monkeypatch.setattr(runs, "interrupt_run", heard)
    return heard


def test_a_turn_under_way_can_be_stopped_restarted_and_answered(world: World):
    assert actions(foot(world)) == {"stop", "restart", "respond"}
    assert actions(foot(world, "reader")) == set()


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ("failed", {"turns", "retry"}),
        ("lost", {"turns", "retry"}),
        ("stopped", {"turns"}),
        ("done", {"turns"}),
    ],
)
def test_what_failed_can_be_tried_again(world: World, state: str, offered: set[str]):
    Run.objects.update(state=state)
    assert actions(foot(world)) == offered
    assert actions(foot(world, "reader")) == set()


@pytest.mark.parametrize("kind", display_text.FAILURE_TEXTS)
def test_a_failure_says_what_it_means_and_what_the_provider_said(world: World, kind: str):
    Run.objects.update(state="failed", failure=kind, problem="429: <slow down>")
    shown = foot(world).one(**{"data-failure": kind})
    assert display_text.FAILURE_TEXTS[kind] in shown.text
    assert "429: <slow down>" in shown.text


def test_a_failure_of_no_known_kind_says_what_is_known(world: World):
    Run.objects.update(state="failed", failure="novel", problem="It broke.")
    shown = foot(world).one(**{"data-failure": "novel"})
    assert shown.text.strip() == "The last turn failed. It broke."


@pytest.mark.parametrize(
    ("what", "fields", "said"),
    [("restart", {}, ("restart",)), ("respond", {"text": " Use b. "}, ("respond", "Use b."))],
)
def test_what_is_said_reaches_the_turn(
    world: World, told: AsyncMock, what: str, fields: dict[str, str], said: tuple[str, ...]
):
    page = send(world, what, **fields)
    by = making.decider(world.people["responder"])
    told.assert_awaited_once_with(world.talk.pk, by, *said)
    assert not [t for t in page if "notice" in t.get("class", "").split()]


@pytest.mark.parametrize("what", ["restart", "respond"])
def test_what_nobody_hears_is_told(world: World, told: AsyncMock, what: str):
    told.return_value = False
    assert "running; nothing was" in send(world, what, text="Hello").text


def test_an_empty_answer_reaches_nobody(world: World, told: AsyncMock):
    assert "Enter a message." in send(world, "respond", text=" ").text
    told.assert_not_awaited()


@pytest.mark.parametrize("refused", [None, NothingToRetry("It did not fail.")])
def test_trying_again_starts_a_run_or_says_why_not(
    world: World, monkeypatch: pytest.MonkeyPatch, refused: Any
):
    retried = AsyncMock(side_effect=refused)
    monkeypatch.setattr(runs, "retry_turn", retried)
    page = send(world, "retry")
    retried.assert_awaited_once_with(world.talk, world.people["responder"])
    assert ("It did not fail." in page.text) is (refused is not None)
