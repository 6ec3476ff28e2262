"""The table of decisions: what a row says, and where it leads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jpweb.store import accounts, approvals
from jpweb.store.choices import Act, ApprovalKind, Role, Verdict
from jpweb.store.jp_files import mirror
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, Membership, Person
from jpweb.store.people import groups
from jpweb.store.reviews import decisions
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, EventKind, ToolCallRequest, TurnStart
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_element, make_inquiry
from tests.store import making
from tests.store.redaction import canary
from tests.store.reviews import desk
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


def get(world: World, query: str = "") -> Any:
    return world.client("auditor").get(f"/audit/decisions{query}")


def test_decision_row_has_decider_decision_and_reason(world: World):
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
    assert f"/conversations/{world.conversation.pk}?at={world.anchor}#{world.anchor}" in links
    address = f"/prompts/{world.prompt.pk}/call"
    assert address in links
    call = world.conversation.journal.get(category="call")
    response = world.client("auditor").get(address)
    location = f"/conversations/{world.conversation.pk}?at={call.anchor}#{call.anchor}"
    assert response["Location"] == location


def test_call_fold_says_who_decided_after_how_long_and_leads_to_the_row(world: World):
    decision = {"allow": False, "reason": "Not on a <b>Friday</b>"}
    approvals.decide_approval(world.prompt.pk, decision, making.decider(world.people["owner"]))
    call = world.conversation.journal.get(category="call")
    event = wire.read_element(call.text).kind
    assert isinstance(event, ToolCallRequest)
    called_at = Approval.objects.get().asked_at
    Approval.objects.update(
        tool_call_id=event.id, asked_at=called_at, settled_at=called_at + timedelta(seconds=90)
    )
    page = parse_page(world.client("auditor").get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("id") == call.anchor]
    for part in ("Denied", "by Owner after 1 min 30 s", "Not on a <b>Friday</b>"):
        assert part in fold.text
    address = f"/audit/decisions?conversation={world.conversation.pk}&at=approval-{world.prompt.pk}"
    assert f"{address}#approval-{world.prompt.pk}" in [tag.get("href") for tag in page]


def test_call_row_shows_its_decisions(world: World):
    call = world.conversation.journal.get(category="call")
    event = wire.read_element(call.text).kind
    assert isinstance(event, ToolCallRequest)
    result_prompt = making.prompt(world.run, kind=ApprovalKind.DELIVER)
    for prompt, allow in ((world.prompt, True), (result_prompt, False)):
        approvals.decide_approval(
            prompt.pk, {"allow": allow}, making.decider(world.people["owner"])
        )
    Approval.objects.update(tool_call_id=event.id)
    page = parse_page(world.client("auditor").get(f"/conversations/{world.conversation.pk}"))
    (summary, *_) = [t for t in page if t.tag == "summary" and t.inside(id=call.anchor)]
    assert "✓ Allowed ⊘ Not sent to the model" in " ".join(summary.text.split())
    headings = [tag.text for tag in page if tag.tag == "h4" and tag.inside(id=call.anchor)]
    assert "Result for the model" in headings


def test_permission_that_nobody_decided_is_a_row_and_in_its_fold(world: World):
    call = world.conversation.journal.get(category="call")
    event = wire.read_element(call.text).kind
    assert isinstance(event, ToolCallRequest)
    approvals.withdraw_approval(world.prompt.pk)
    asked_at = Approval.objects.get().asked_at
    Approval.objects.update(tool_call_id=event.id, settled_at=asked_at + timedelta(seconds=90))
    (row,) = [tag for tag in parse_page(get(world)) if tag.get("data-decision") == "run"]
    for part in ("vault", "Withdrawn", "jpweb", "1 min 30 s", "A talk"):
        assert part in row.text
    timeline = parse_page(get(world, "?view=timeline"))
    (item,) = [tag for tag in timeline if tag.get("data-decision") == "run"]
    assert "Withdrawn by jpweb after 1 min 30 s" in " ".join(item.text.split())
    page = parse_page(world.client("auditor").get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("data-call-decision") == "run"]
    assert "Withdrawn by jpweb after 1 min 30 s" in " ".join(fold.text.split())
    (summary, *_) = [t for t in page if t.tag == "summary" and t.inside(id=call.anchor)]
    assert "Withdrawn" in summary.text
    address = f"/audit/decisions?conversation={world.conversation.pk}&at=approval-{world.prompt.pk}"
    assert f"{address}#approval-{world.prompt.pk}" in [tag.get("href") for tag in page]


def test_outcome_of_a_question_says_after_how_long_and_leads_to_the_row(world: World):
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    page = parse_page(world.client("auditor").get(f"/conversations/{world.conversation.pk}"))
    (outcome,) = [tag for tag in page if tag.get("data-kind") == "inquiry_response"]
    assert "by Owner after" in outcome.text
    name = f"question-{world.question.pk}"
    address = f"/audit/decisions?conversation={world.conversation.pk}&at={name}#{name}"
    assert address in [tag.get("href") for tag in page]


def test_address_of_a_row_lists_the_row_and_older_ones(world: World):
    owner = making.decider(world.people["owner"])
    for allow in (True, False, True):
        approval = making.prompt(world.run)
        approvals.decide_approval(approval.pk, {"allow": allow}, owner)
    keys = sorted(Approval.objects.values_list("pk", flat=True))

    def list_rows(query: str) -> list[str]:
        rows = [tag for tag in parse_page(get(world, query)) if "data-decision" in tag]
        return [row.get("id", "") for row in rows]

    names = [f"approval-{key}" for key in reversed(keys)]
    query = f"?conversation={world.conversation.pk}"
    assert list_rows(f"{query}&at={names[1]}") == names[1:]
    for unknown in ("approval-0", "question", "nothing-1", "approval-99999999999999999999"):
        assert list_rows(f"{query}&at={unknown}") == names


def test_change_of_a_role_is_a_row_that_leads_to_the_ledger(world: World):
    actor = Actor.from_person(world.people["owner"])
    accounts.change_role(world.member("reader"), Role.RESPONDER, actor)
    page = parse_page(get(world, "?kind=rights"))
    (row,) = [tag for tag in page if "data-decision" in tag]
    for part in ("Role changed", "role Responder", "Owner", "Garden"):
        assert part in row.text
    assert any("act=role_changed" in tag.get("href", "") for tag in page)


def test_invalid_filter_and_place_are_refused_or_ignored(world: World):
    response = get(world, "?kind=nonsense")
    assert response.status_code == 422
    assert "Unknown kind “nonsense”" in response.content.decode()
    for place in ("x", "1.2", "9.9.x", f"{10**18}.0.1", f"-{10**18}.0.1", "--1.0.1", "1.0.1"):
        assert get(world, f"?after={place}").status_code == 200


def test_change_of_a_role_names_the_person_and_both_roles(world: World):
    actor = Actor.from_person(world.people["owner"])
    accounts.change_role(world.member("reader"), Role.RESPONDER, actor)
    accounts.remove_member(world.member("responder"), actor)
    for path in ("decisions?kind=rights", "decisions?kind=rights&view=timeline", "ledger"):
        rows = list_entry_rows(world, path)
        for person, parts in (
            ("reader", ("Role changed", "role Responder", "role before Reader")),
            ("responder", ("Member removed", "role before Responder")),
        ):
            (row,) = [text for text in rows if f"person {person.capitalize()}," in text]
            assert all(part in row for part in parts), (path, row)


def test_older_entry_of_a_role_names_the_person_who_is_still_there(world: World):
    reader, owner = world.people["reader"], Actor.from_person(world.people["owner"])
    place = Place(world.workspace.pk, subject=f"person:{reader.pk}")
    record_act(Act.MEMBER_REMOVED, owner, place)
    record_act(Act.MEMBER_REMOVED, owner, place._replace(subject="person:987654"))
    for path in ("decisions?kind=rights", "decisions?kind=rights&view=timeline", "ledger"):
        rows = [row for row in list_entry_rows(world, path) if "Member removed" in row]
        assert [row.count("person Reader") for row in rows] == [0, 1], path


def test_change_of_a_group_names_group_person_and_kind(world: World):
    owner = world.people["owner"]
    actor, group = Actor.from_person(owner), groups.create_group("Night shift", owner)
    groups.give_role(group, world.workspace, Role.READER, actor)
    texts = list_entry_rows(world, "decisions?kind=rights")
    (row,) = [text for text in texts if "Group changed" in text]
    for part in ("Night shift", "change role given", "role Reader"):
        assert part in row
    groups.take_role(group, world.workspace, actor)
    assert "change role removed" in list_entry_rows(world, "decisions?kind=rights")[0]


@pytest.mark.parametrize(
    ("act", "details", "text"),
    [
        (Act.REVIEWED, {"round": 3, "verdict": "escalate"}, "Owner's decision, verdict Escalate"),
        (Act.REVIEWED, {"first_verdict": "fine"}, "verdict of the first review Fine"),
        (Act.READ, {"view": "live-updates"}, "page Live updates"),
        (Act.READ, {"view": "answer-link"}, "page Answer link"),
        (Act.GROUP_CHANGED, {"kind": "made"}, "change created"),
        (Act.GROUP_CHANGED, {"kind": "accepted"}, "change joined"),
        (Act.INQUIRY_ANSWERED, {"channel": "link"}, "via an answer link"),
    ],
)
def test_ledger_shows_the_labels_of_details(
    world: World, act: Act, details: dict[str, object], text: str
):
    actor = Actor.from_person(world.people["owner"])
    record_act(act, actor, Place(world.workspace.pk, world.conversation.pk), **details)
    assert text in list_entry_rows(world, "ledger")[0]


def list_entry_rows(world: World, path: str) -> list[str]:
    """Return the texts of the rows of a page of entries."""
    page = parse_page(world.client("auditor").get(f"/audit/{path}"))
    rows = [tag for tag in page if "data-decision" in tag or "data-act" in tag]
    return [" ".join(row.text.split()) for row in rows]


def test_review_and_redaction_rows_name_their_subject(world: World):
    call = world.conversation.journal.get(category="call")
    for act, subject, text in (
        (Act.REVIEWED, f"inquiry:{world.question.pk}", "Go on? Reviewed, reason Leak"),
        (Act.REVIEWED, f"conversation:{world.conversation.pk}", "Whole conversation Reviewed"),
        (Act.REDACTED, f"event:{world.anchor}", "Go on? Event redacted, reason Leak"),
        (Act.REDACTED, f"event:{call.anchor}", "Tool call Event redacted"),
        (Act.REDACTED, "event:e-gone", "Event redacted"),
    ):
        check_subject(world, act, subject, text)
    address = f"/audit/decisions?conversation={world.conversation.pk}"
    assert [tag.get("href") for tag in parse_page(get(world))].count(address) == 5


def check_subject(world: World, act: Act, subject: str, text: str) -> None:
    """Record an act; its newest row has the text, and those about its conversation."""
    place = Place(world.workspace.pk, world.conversation.pk, subject)
    record_act(act, Actor.from_person(world.people["owner"]), place, reason="Leak", round=1)
    row, *_ = list_entry_rows(world, "decisions")
    line, *_ = list_entry_rows(world, "decisions?view=timeline")
    assert text in row
    assert row.endswith("A talk Garden Only this conversation")
    assert text in line
    assert line.endswith("in A talk")


def test_decision_of_a_deleted_conversation_has_no_link_to_it(world: World):
    actor = Actor.from_person(world.people["owner"])
    record_act(Act.REDACTED, actor, Place(world.workspace.pk, 10**6))
    (row,) = list_entry_rows(world, "decisions?kind=redaction")
    assert "Event redacted" in row
    assert "conversation" not in row


def test_redaction_leads_to_its_event(world: World):
    conversation = making.mirrored_conversation(world.workspace, ChatRequest("Use key 123"))
    anchor = canary.anchor_at(conversation, 0)
    canary.redact(conversation, world.people["owner"], anchor, "123")
    for view in ("", "&view=timeline"):
        links = [tag.get("href") for tag in parse_page(get(world, f"?kind=redaction{view}"))]
        assert f"/conversations/{conversation.pk}?at={anchor}#{anchor}" in links


def test_review_row_has_its_note_and_a_link_to_the_question(world: World):
    review_question(world, world.people["auditor"])
    for view in ("", "&view=timeline"):
        page = parse_page(get(world, f"?kind=review{view}"))
        (row,) = [tag for tag in page if "data-decision" in tag]
        assert "Too <b>soon</b>" in row.text
        assert f"/questions/{world.question.pk}" in [tag.get("href") for tag in page]


def test_blind_review_is_shown_to_its_reviewer_alone(world: World):
    world.workspace.reviews_required = 2
    world.workspace.save()
    ada = making.person("ada", Role.AUDITOR, world.workspace)
    review_question(world, ada)
    own_page = signed_in(ada).get("/audit/decisions?kind=review").content.decode()
    assert "verdict</span> Wrong" in own_page
    assert "verdict</span>" not in get(world, "?kind=review").content.decode()
    desk.send(desk.load(world.question), world.people["auditor"])
    assert "verdict</span> Wrong" in get(world, "?kind=review").content.decode()


def test_decisions_of_a_removed_member_can_be_filtered(world: World):
    responder = world.people["responder"]
    making.settle(world.question, Answered(True), making.decider(responder))
    accounts.remove_member(world.member("responder"))
    page = parse_page(get(world))
    assert str(responder.pk) in [tag.get("value") for tag in page if tag.tag == "option"]
    assert str(world.people["rival"].pk) not in [tag.get("value") for tag in page]
    (row,) = [
        tag
        for tag in parse_page(get(world, f"?person={responder.pk}"))
        if "id" in tag and "data-decision" in tag
    ]
    assert row["id"] == f"question-{world.question.pk}"


def test_demo_is_left_out_until_it_is_included(world: World):
    assert "Include the demo" not in get(world).content.decode()
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    auditor = world.people["auditor"]
    Membership.objects.create(person=auditor, workspace=demo, role=Role.AUDITOR)
    record_act(Act.TRUST_GIVEN, Actor.from_person(auditor), Place(demo.pk), name="demo command")
    page = get(world).content.decode()
    assert "Include the demo" in page
    assert "demo command" not in page
    assert "demo command" in get(world, "?demo=1").content.decode()


def review_question(world: World, person: Person) -> None:
    """Have an auditor review the world's question, which the owner answers."""
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    desk.send(desk.load(world.question), person, Verdict.WRONG, "Too <b>soon</b>")


def test_next_page_after_a_decision_of_the_year_1_has_the_older_one(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", 1)
    kinds: list[EventKind] = [
        TurnStart(),
        *(make_inquiry("a", "First?"), InquiryResponse("a", Answered(True))),
        *(make_inquiry("b", "Second?"), InquiryResponse("b", Answered(True))),
    ]
    elements = [
        make_element(kind, at=f"0001-01-01 00:00:0{second}.0") for second, kind in enumerate(kinds)
    ]
    conversation = making.mirrored_conversation(world.workspace, *elements)
    page = parse_page(get(world, f"?conversation={conversation.pk}"))
    assert "Second?" in page.text
    (link,) = [tag["href"] for tag in page if "after=" in tag.get("href", "")]
    next_page = parse_page(get(world, "?" + link.partition("?")[2]))
    assert "First?" in next_page.text
    assert "Second?" not in next_page.text
