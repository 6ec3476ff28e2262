"""The table of decisions: what a row says, and where it leads."""

from __future__ import annotations

from typing import Any

from jpweb.store import accounts, approvals
from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Approval
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World


def get(world: World, query: str = "") -> Any:
    return world.client("auditor").get(f"/audit/decisions{query}")


def test_row_says_who_decided_what_with_which_words(world: World):
    decision = {"allow": False, "remember": True, "reason": "Not on a <b>Friday</b>"}
    approvals.decide_approval(world.prompt.pk, decision, making.decider(world.people["owner"]))
    (row,) = [tag for tag in parse_page(get(world)) if tag.get("data-decision") == "run"]
    for part in ("vault", "Denied, for this turn", "Not on a <b>Friday</b>", "Owner", "A talk"):
        assert part in row.text


def test_question_leads_to_its_event_and_call_to_its_fold(world: World):
    owner = making.decider(world.people["owner"])
    making.settle(world.question, Answered(True), owner)
    approvals.decide_approval(world.prompt.pk, {"allow": True}, owner)
    Approval.objects.update(tool_call_id="call_1")
    links = [tag.get("href", "") for tag in parse_page(get(world))]
    assert f"/conversations/{world.talk.pk}#{world.anchor}" in links
    address = f"/prompts/{world.prompt.pk}/call"
    assert address in links
    call = world.talk.journal.get(category="call")
    response = world.client("auditor").get(address)
    assert response["Location"] == f"/conversations/{world.talk.pk}#{call.anchor}"


def test_change_of_a_role_is_a_row_that_leads_to_the_ledger(world: World):
    actor = Actor.from_person(world.people["owner"])
    accounts.change_role(world.member("reader"), Role.RESPONDER, actor)
    page = parse_page(get(world, "?kind=rights"))
    (row,) = [tag for tag in page if "data-decision" in tag]
    for part in ("Role changed", "responder", "Owner", "Garden"):
        assert part in row.text
    assert any("act=role_changed" in tag.get("href", "") for tag in page)


def test_invalid_filter_and_place_are_refused_or_ignored(world: World):
    response = get(world, "?kind=nonsense")
    assert response.status_code == 422
    assert "Unknown kind “nonsense”" in response.content.decode()
    for place in ("x", "1.2", "9.9.x", f"{10**18}.0.1", "1.0.1"):
        assert get(world, f"?after={place}").status_code == 200
