"""Cards of permission and delivery prompts, decided with htmx and by a plain form."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.store import approvals
from jpweb.store.choices import ApprovalKind
from jpweb.store.models import Approval, Inquiry
from tests.store import making
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import World, signed_in

HTMX = {"HX-Request": "true"}
DELIVER = ApprovalKind.DELIVER


def post(
    world: World, row: Approval, action: str, person_name: str = "responder", **fields: Any
) -> Any:
    headers = HTMX if fields.pop("htmx", False) else {}
    return world.client(person_name).post(f"/prompts/{row.pk}/{action}", fields, headers=headers)


def card(page: ParsedPage, row: Approval) -> Tag:
    return page.find_one(id=f"approval-{row.pk}")


def inside(page: ParsedPage, row: Approval, tag: str, **attributes: str) -> list[Tag]:
    within = [t for t in page.find_all(**attributes) if t.tag == tag]
    return [t for t in within if t.inside(id=f"approval-{row.pk}")]


def questions(world: World, person_name: str = "responder") -> ParsedPage:
    return parse_page(world.client(person_name).get("/questions"))


def conversation(world: World, person_name: str = "responder") -> ParsedPage:
    return parse_page(world.client(person_name).get(f"/conversations/{world.conversation.pk}"))


def test_approval_card_shows_tool_and_arguments(world: World):
    row = making.prompt(world.run, described="search (MCP server Web)")
    for page in (questions(world), conversation(world)):
        assert (card(page, row)["data-outcome"], card(page, row)["data-approval-kind"]) == (
            "open",
            "run",
        )
        assert inside(page, row, "p", **{"class": "question-title"})[0].text == (
            "search (MCP server Web)"
        )
        (arguments,) = inside(page, row, "pre")
        assert json.loads(arguments.text) == {"path": "a.md"}


def test_page_of_an_approval_fetches_its_decision_once_there_is_one(world: World):
    row = making.prompt(world.run)
    path = f"/prompts/{row.pk}"
    client = world.client("responder")
    assert parse_page(client.get(path)).find_one(id="page")["data-refresh"] == path
    assert client.get(path, headers=HTMX).status_code == 204
    post(world, row, "allow")
    settled_card = card(parse_page(client.get(path, headers=HTMX)), row)
    assert settled_card["hx-swap-oob"] == "true"
    assert "Allowed" in settled_card.text


def test_open_card_counts_how_long_it_has_waited(world: World):
    row = making.prompt(world.run)
    Approval.objects.filter(pk=row.pk).update(asked_at=timezone.now() - timedelta(minutes=5))
    for page in (questions(world), conversation(world)):
        (wait_time,) = inside(page, row, "time")
        assert wait_time.text == "5 min"
        assert int(wait_time["data-waiting-seconds"]) >= 300


def test_approval_card_shows_formatter_text_instead_of_arguments(world: World):
    row = making.prompt(world.run, text="diff <b>\n-a\n+b")
    page = questions(world)
    assert inside(page, row, "pre")[0].text.strip() == "diff <b>\n-a\n+b"
    assert json.loads(inside(page, row, "textarea")[0].text) == {"path": "a.md"}


def test_a_call_without_arguments_says_so(world: World):
    row = making.prompt(world.run, arguments={})
    assert "No arguments" in card(questions(world), row).text


def test_a_result_is_shown_and_an_error_is_called_one(world: World):
    fine = making.prompt(world.run, DELIVER, content="All <b>done</b>.")
    failed_prompt = making.prompt(world.run, DELIVER, content="It broke.", is_error=True)
    empty = making.prompt(world.run, DELIVER, content="")
    page = questions(world)
    assert inside(page, fine, "pre")[0].text.strip() == "All <b>done</b>."
    assert "Send this result to the model?" in card(page, fine).text
    assert "Send this error to the model?" in card(page, failed_prompt).text
    assert inside(page, failed_prompt, "textarea")[0].text.strip() == ""
    assert "No content" in card(page, empty).text


def test_nul_is_shown_as_a_sign_where_a_person_decides(world: World):
    call = making.prompt(world.run, arguments={"text": "0\0"})
    result = making.prompt(world.run, DELIVER, content="0\0")
    for page in (questions(world), conversation(world)):
        assert json.loads(inside(page, call, "pre")[0].text) == {"text": "0␀"}
        assert inside(page, result, "pre")[0].text.strip() == "0␀"


def test_hidden_characters_are_spelled_out_where_a_person_decides(world: World):
    hidden = "safe\u202eevil\U000e0041"
    rows = [
        making.prompt(world.run, described=hidden, arguments={"path": hidden}),
        making.prompt(world.run, text=hidden),
        making.prompt(world.run, DELIVER, content=hidden),
    ]
    client = world.client("responder")
    details = [parse_page(client.get(f"/prompts/{row.pk}")) for row in rows]
    for page in (questions(world), *details):
        fields = [tag.text for tag in page if tag.tag == "textarea"]
        shown_text = page.text
        for text in fields:  # what is edited and sent stays as it is
            shown_text = shown_text.replace(text, "")
        assert "safe⟨U+202E⟩evil⟨hidden: A⟩" in shown_text
        assert not {"\u202e", "\U000e0041"} & set(shown_text)


def test_a_field_holds_the_text_whole_its_first_line_ends_included(world: World):
    row = making.prompt(world.run, DELIVER, content="\n\n<one>")
    # HTML drops the first line end of a field; this one is the template's.
    assert inside(questions(world), row, "textarea")[0].text == "\n\n\n<one>"


@pytest.mark.parametrize("kind", [ApprovalKind.RUN, DELIVER])
@pytest.mark.parametrize("edit", [True, False])
def test_approval_card_in_edit_mode_opens_its_field(world: World, kind: ApprovalKind, edit: bool):
    row = making.prompt(world.run, kind, edit=edit)
    folds = inside(questions(world), row, "details")
    (details,) = [fold for fold in folds if fold["class"] == "disclosure"]
    assert ("open" in details) is edit


def test_a_long_text_is_cut_says_its_size_and_leads_to_the_whole(world: World):
    row = making.prompt(world.run, DELIVER, content="x" * 50_000)
    page = questions(world)
    assert len(inside(page, row, "pre")[0].text) < 13_000
    assert "total: 50,000 characters" in card(page, row).text
    (link,) = inside(page, row, "a", href=f"/prompts/{row.pk}")
    whole_page = parse_page(world.client("responder").get(link["href"]))
    assert len(inside(whole_page, row, "pre")[0].text.strip()) == 50_000


def test_approval_of_a_result_too_long_to_edit_can_be_allowed(world: World):
    row = making.prompt(world.run, DELIVER, content="x" * 200_000)
    page = questions(world)
    assert inside(page, row, "textarea") == []
    assert "Too long to edit here." in card(page, row).text
    assert post(world, row, "allow").status_code == 302
    assert approvals.get_approval(row.pk).decision == {"allow": True}


@dataclass(frozen=True)
class Press:
    """A button that is pressed, what it decides and what is said of that."""

    kind: ApprovalKind
    how: str
    decision: dict[str, Any]
    said: str
    fields: dict[str, str] = field(default_factory=dict)


RUN, TURN = ApprovalKind.RUN, {"remember": "turn"}
ONCE, ALWAYS = {"allow": True, "remember": False}, {"allow": True, "remember": True}
PRESSES = [
    Press(RUN, "allow", ONCE, "Allowed"),
    Press(RUN, "allow", ALWAYS, "Allowed, for this turn", TURN),
    Press(
        RUN,
        "allow",
        ONCE | {"arguments": {"path": "b"}},
        "Allowed, edited",
        {"text": '{"path": "b"}'},
    ),
    Press(
        RUN,
        "refuse",
        {"allow": False, "remember": False, "reason": "Too <b>"},
        "Denied",
        {"reason": "Too <b>"},
    ),
    Press(
        RUN,
        "refuse",
        {"allow": False, "remember": True, "reason": ""},
        "Denied, for this turn",
        TURN,
    ),
    Press(DELIVER, "allow", {"allow": True}, "Sent to the model", {"text": "All done."}),
    Press(
        DELIVER,
        "allow",
        {"allow": True, "content": "Nearly."},
        "Sent to the model, edited",
        {"text": "Nearly."},
    ),
    Press(DELIVER, "refuse", {"allow": False}, "Not sent to the model"),
]


@pytest.mark.parametrize("press", PRESSES)
@pytest.mark.parametrize("htmx", [True, False])
def test_approval_buttons_make_their_decisions(world: World, press: Press, htmx: bool):
    row = making.prompt(world.run, press.kind)
    response = post(world, row, press.how, htmx=htmx, **press.fields)
    settled_approval = approvals.get_approval(row.pk)
    assert (settled_approval.state, settled_approval.decision) == ("decided", press.decision)
    assert settled_approval.decider == world.people["responder"]
    if htmx:
        page = parse_page(response)
        assert press.said in card(page, row).text
        assert "by Responder" in page.text
        assert not page.find_all(id="main")
    else:
        target_url = f"/conversations/{world.conversation.pk}"
        assert (response.status_code, response["Location"]) == (302, target_url)


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("input_text", ['{"path": <b>', "[]", ""])
def test_arguments_that_cannot_be_used_come_back_as_typed(
    world: World, input_text: str, htmx: bool
):
    row = making.prompt(world.run)
    response = post(world, row, "allow", text=input_text, htmx=htmx)
    page = parse_page(response)
    assert response.status_code == 422
    (problem,) = inside(page, row, "p", role="alert")
    (area,) = inside(page, row, "textarea")
    assert area["aria-describedby"] == problem["id"]
    assert area.text == f"\n{input_text}"
    assert "open" in inside(page, row, "details")[0]
    assert approvals.get_approval(row.pk).state == "open"
    assert bool(page.find_all(id="main")) is not htmx


def test_approval_with_edited_arguments_cannot_be_remembered(world: World):
    row = making.prompt(world.run)
    response = post(world, row, "allow", text="{}", remember="turn", htmx=True)
    assert response.status_code == 422
    assert "only be allowed once" in inside(parse_page(response), row, "p", role="alert")[0].text


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("action", ["allow", "refuse"])
def test_approval_that_loses_a_race_names_the_first_person(world: World, action: str, htmx: bool):
    row = making.prompt(world.run)
    approvals.decide_approval(row.pk, {"allow": True}, making.decider(world.people["owner"]))
    response = post(world, row, action, text='{"a": "<b>"}', reason="<i>", htmx=htmx)
    page = parse_page(response)
    assert response.status_code == 409
    assert "Already decided by Owner" in page.find_one(role="alert").text
    assert inside(page, row, "textarea")[0].text.strip() == (
        '{"a": "<b>"}' if action == "allow" else "<i>"
    )


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("action", ["allow", "refuse"])
def test_repeated_approval_is_reported_as_already_decided(world: World, action: str, htmx: bool):
    row = making.prompt(world.run)
    assert post(world, row, action, htmx=htmx).status_code in (200, 302)
    response = post(world, row, action, htmx=htmx)
    assert response.status_code == 409
    assert "You already decided this" in parse_page(response).find_one(role="alert").text
    assert "wasn't used" not in parse_page(response).text


def test_approval_of_an_ended_call_is_reported_as_withdrawn(world: World):
    row = making.prompt(world.run)
    approvals.withdraw_approval(row.pk)
    page = parse_page(post(world, row, "allow", htmx=True))
    assert "The tool call ended" in page.find_one(role="alert").text
    assert "Withdrawn" in page.text


@pytest.mark.parametrize("settle", [None, "decide", "withdraw"])
def test_approval_page_shows_the_card_or_its_outcome(world: World, settle: str | None):
    row = making.prompt(world.run)
    if settle == "decide":
        approvals.decide_approval(row.pk, {"allow": False}, making.decider(world.people["owner"]))
    elif settle:
        approvals.withdraw_approval(row.pk)
    page = parse_page(world.client("responder").get(f"/prompts/{row.pk}"))
    outcome = {"decide": "decided", "withdraw": "withdrawn", None: "open"}[settle]
    assert card(page, row)["data-outcome"] == outcome


def test_questions_page_lists_questions_and_approvals_by_position(world: World):
    first, second = making.prompt(world.run), making.prompt(world.run, DELIVER)
    last = making.question(world.run)
    Inquiry.objects.filter(pk=last.pk).update(asked_at=timezone.now())
    page = questions(world)
    cards = [t for t in page if t.tag == "article" and t["data-outcome"] == "open"]
    assert [t["id"] for t in cards] == [
        f"question-{world.question.pk}",
        f"approval-{first.pk}",
        f"approval-{second.pk}",
        f"question-{last.pk}",
    ]
    places = [t.text for t in page if "data-position" in t]
    assert places == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert page.find_one(id="question-count")["data-count"] == "4"


def test_approval_card_alone_in_the_queue_has_no_position(world: World):
    assert [t.text for t in questions(world) if "data-position" in t] == [""]


def test_a_reader_sees_no_card_and_others_nothing(world: World):
    row = making.prompt(world.run)
    assert not conversation(world, "reader").find_all(id=f"approval-{row.pk}")
    assert not questions(world, "rival").find_all(id=f"approval-{row.pk}")


def test_approval_forms_have_csrf_tokens_and_a_harmless_enter_key(world: World):
    """Enter in a field sends the form it stands in: in the field of a reason, that skips."""
    row = making.prompt(world.run)
    page = questions(world)
    forms = inside(page, row, "form")
    assert [form["action"].rpartition("/")[2] for form in forms] == ["allow", "refuse"]
    assert all(form["method"] == "post" for form in forms)
    tokens = inside(page, row, "input", name="csrfmiddlewaretoken")
    assert len(tokens) == 2
    assert all(token["value"] for token in tokens)
    (reason,) = inside(page, row, "input", name="reason")
    assert forms[1] in reason.parents
    assert all(button["type"] == "submit" for button in inside(page, row, "button"))


def test_a_form_of_our_own_page_is_taken_and_one_of_another_is_not(world: World):
    row, client = making.prompt(world.run), signed_in(world.people["owner"], csrf=True)
    assert client.post(f"/prompts/{row.pk}/allow").status_code == 403
    token = str(client.get("/questions").context["csrf_token"])
    response = client.post(f"/prompts/{row.pk}/allow", {"csrfmiddlewaretoken": token})
    assert response.status_code == 302


def test_remember_checkbox_is_offered_for_boolean_questions_only(world: World):
    page = questions(world)
    assert [t["type"] for t in page.find_all(name="remember") if t.tag == "input"] == ["checkbox"]
    response = world.client("responder").post(
        f"/questions/{world.question.pk}/answer", {"answer": "perhaps", "remember": "turn"}
    )
    (box,) = [t for t in parse_page(response).find_all(name="remember") if t.tag == "input"]
    assert "checked" in box


def test_remembered_answer_is_marked_in_the_transcript(world: World):
    client = world.client("responder")
    client.post(f"/questions/{world.question.pk}/answer", {"answer": "true", "remember": "turn"})
    question = making.question(world.run)
    client.post(f"/questions/{question.pk}/answer", {"answer": "true"})
    tags = [t for t in conversation(world) if "data-remembered" in t]
    assert [t.text for t in tags] == ["remembered for this turn"]
    assert tags[0].inside(id=world.anchor)


def test_result_with_lines_in_its_json_is_shown_field_by_field(world: World):
    content = json.dumps({"code": 101, "stderr": "error[E0432]\n  unresolved import"})
    row = making.prompt(world.run, DELIVER, content=content, is_error=True)
    texts = [tag.text for tag in questions(world) if tag.inside(id=f"approval-{row.pk}")]
    assert any("error[E0432]\n  unresolved import" in text for text in texts)
    assert not any("E0432]\\n" in text for text in texts)
