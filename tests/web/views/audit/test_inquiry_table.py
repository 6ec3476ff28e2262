from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Role
from jpweb.store.evidence import csv_rows
from jpweb.store.jp_files import mirror
from jpweb.store.models import DisplayReceipt, Inquiry, Membership
from jpweb.store.reviews import inquiry_pages
from jpweb.stream.answer_type import Text
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, Redacted
from tests.builders import make_inquiry
from tests.machine.sizes import choose_size
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, clear_limits


@pytest.fixture
def reviewed_world(world: World) -> World:
    """Return a world in which the auditor also reviews the demo."""
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(person=world.people["auditor"], workspace=demo, role=Role.AUDITOR)
    making.settle(making.question(world.run), Answered(True), making.decider(world.people["owner"]))
    return world


def get(world: World, path: str = "/audit", **filters: Any) -> Any:
    return world.client("auditor").get(f"{path}?{urlencode({'demo': 1} | filters)}")


def table(response: Any) -> list[str]:
    """Return the links of the rows, which name their events."""
    assert response.status_code == 200
    page = parse_page(response)
    rows = [tag for tag in page if tag.tag == "tr" and "data-outcome" in tag]
    return [tag["href"] for tag in page if "#e-" in tag.get("href", "") and tag.parents[-2] in rows]


def lines(response: Any) -> list[dict[str, str]]:
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))


FILTERS: list[dict[str, str]] = [
    {},
    *({"outcome": state} for state in ("open", "answered", "redacted", "cancelled", "unanswered")),
    {"reason": "user"},
    {"source": "assistant"},
    {"tool": "git_tag"},
    {"words": "tag"},
    {"person": "Owner"},
    {"since": "2026-10-10"},
    {"until": "2026-10-08"},
    {"since": "2026-10-05", "until": "2026-10-08", "outcome": "cancelled", "source": "tool"},
]


def test_page_and_file_show_the_same_rows(reviewed_world: World):
    for filters in FILTERS:
        clear_limits()
        table_links = table(get(reviewed_world, **filters))
        file_links = [
            urlsplit(line["link"]) for line in lines(get(reviewed_world, "/audit.csv", **filters))
        ]
        paths = [f"{link.path}?{link.query}#{link.fragment}" for link in file_links]
        assert paths == table_links, filters
        assert len(table_links) == count_matches(filters), filters
        assert len(table_links) > 0, "a filter that matches nothing proves nothing"


def count_matches(filters: dict[str, str]) -> int:
    """Return how many questions have the values of filters."""
    queryset = Inquiry.objects.all()
    plain = {"outcome": "state", "reason": "reason", "source": "source", "person": "decider_name"}
    plain |= {"tool": "asker", "words": "question__text__icontains"}
    queryset = queryset.filter(**{plain[key]: filters[key] for key in filters if key in plain})
    if "since" in filters:
        queryset = queryset.filter(asked_at__date__gte=filters["since"])
    if "until" in filters:
        queryset = queryset.filter(asked_at__date__lte=filters["until"])
    return queryset.count()


def test_audit_row_and_csv_have_question_answer_decider_and_wait(reviewed_world: World):
    Inquiry.objects.filter(state="answered", decider_name="Owner").update(
        settled_at=datetime(2026, 1, 2, 3, 5, 6, tzinfo=UTC)
    )
    page = parse_page(get(reviewed_world, person="Owner"))
    (row,) = [tag for tag in page if tag.tag == "tr" and "data-outcome" in tag]
    assert (row["data-kind"], row["data-outcome"]) == ("inquiry_request", "answered")
    assert (row["data-source"], row["data-answer-type"]) == ("tool", "boolean")
    for part in ("Go on?", "fs_modify_file", "Answered", "Yes", "Owner", "1 min 1 s", "A talk"):
        assert part in row.text
    (line,) = lines(get(reviewed_world, "/audit.csv", person="Owner"))
    assert line["waited_seconds"] == "61.000"
    assert (line["answer"], line["decider"], line["workspace"]) == ("Yes", "Owner", "Garden")
    assert line["conversation"] == f"jp-c{reviewed_world.conversation.jp_id}"


def test_reason_of_a_decline_is_on_the_page_and_in_the_file(reviewed_world: World):
    Inquiry.objects.filter(reason="user").update(note="Too risky today")
    assert "Too risky today" in parse_page(get(reviewed_world, reason="user")).text
    notes = [line["comment"] for line in lines(get(reviewed_world, "/audit.csv", reason="user"))]
    assert set(notes) == {"Too risky today"}


def test_quick_range_keeps_the_other_filters(reviewed_world: World):
    page = parse_page(get(reviewed_world, source="assistant", since="2026-01-01"))
    links = [
        tag["href"]
        for tag in page
        if tag.get("href", "").startswith("?") and "since=" in tag["href"]
    ]
    queries = [
        parse_qs(link.lstrip("?"))
        for link in links
        if not {"outcome=", "sort="} & {*re.findall("[a-z]+=", link)}
    ]
    assert [query["source"] for query in queries] == [["assistant"]] * 5
    assert all(query["since"] != ["2026-01-01"] for query in queries)


def test_audit_table_links_lead_to_the_event(reviewed_world: World):
    client = reviewed_world.client("auditor")
    for link in table(get(reviewed_world))[:: choose_size(4, 1)]:
        path, _, anchor = link.partition("#")
        assert parse_page(client.get(path)).find_one(id=anchor)["data-kind"] == "inquiry_request"


def test_invalid_audit_filter_is_refused_in_one_line(world: World):
    for name, value, message in (
        ("outcome", "lost", "Unknown outcome “lost”"),
        ("since", "yesterday", "“since” must be a date"),
        ("until", "2026-02-30", "“until” must be a date"),
    ):
        response = get(world, **{name: value})
        assert response.status_code == 422, value
        assert message in parse_page(response).find_one(role="alert").text
        file = get(world, "/audit.csv", **{name: value})
        assert (file.status_code, file["Content-Type"]) == (422, "text/plain; charset=utf-8")
        assert message in file.content.decode()
        assert len(file.content.decode().splitlines()) == 1, value


def test_odd_page_key_or_date_hides_no_question(world: World):
    keys = ("9" * 5000, "x", str(2**70), "0", "٣")
    dates = ({"until": "9999-12-31"}, {"since": "0001-01-01"})
    for filters in (*dates, *({"before": key} for key in keys)):
        assert len(table(get(world, **filters))) == 1, filters


def test_audit_filter_by_an_unused_value_is_empty(world: World):
    for filters in ({"reason": "\0"}, {"person": "'--"}, {"source": "%"}):
        assert table(get(world, **filters)) == [], filters
        assert lines(get(world, "/audit.csv", **filters)) == [], filters


FORMULA_STARTS = (
    *"=+-@\t\r\n",
    *"\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b",
    *(" =", "\n=", "\u00a0=", "\ufeff=", "\u200b=", "\u2060\u3000\uff20"),
)


def test_audit_csv_escapes_formulas(world: World):
    hostile_texts = [f"{start}HYPERLINK(1)" for start in FORMULA_STARTS]
    for text in hostile_texts:
        run = making.start_run(making.conversation(world.workspace, text, world.people["owner"]))
        making.settle(making.question(run, Text(), text), Answered(text))
    rows = [line for line in lines(get(world, "/audit.csv")) if line["outcome"] == "answered"]
    escaped_texts = sorted(f"'{text}".replace("\n=", "\n'=") for text in hostile_texts)
    for column in ("question", "answer", "conversation_title"):
        assert sorted(row[column] for row in rows) == escaped_texts, column
    assert not [v for line in rows for v in line.values() if csv_rows._is_formula(v)]


def test_audit_csv_has_answers_as_pages_show_them(world: World):
    cells = [
        (True, "Yes"),
        (-5, "'-5"),
        ({"a": [None, True]}, '{"a": [null, true]}'),
        ("a\nb", "a\nb"),
        ("  ", "  "),
        (" a=b", " a=b"),
    ]
    for number, (answer, _) in enumerate(cells):
        making.settle(making.question(world.run, text=f"No. {number}"), Answered(answer))
    answers = {line["question"]: line["answer"] for line in lines(get(world, "/audit.csv"))}
    assert [answers[f"No. {number}"] for number in range(len(cells))] == [cell for _, cell in cells]


def test_audit_csv_of_a_redacted_question_has_an_empty_answer(world: World):
    making.settle(world.question, Redacted())
    (line,) = lines(get(world, "/audit.csv"))
    assert (line["outcome"], line["answer"]) == ("redacted", "")


def test_audit_csv_is_an_attachment_that_no_cache_stores(world: World):
    response = get(world, "/audit.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="questions-')
    assert response["Cache-Control"] == "private, no-store"


def test_the_pages_cover_every_row_once(reviewed_world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inquiry_pages, "PAGE_ROWS", 7)
    all_links, filters = [], {"since": "2026-01-01"}
    for _ in range(20):
        response = get(reviewed_world, **filters)
        all_links += table(response)
        older_links = [
            t["href"] for t in parse_page(response) if t.tag == "a" and t.text == "Older questions"
        ]
        if not older_links:
            break
        filters = {key: value[0] for key, value in parse_qs(older_links[0].lstrip("?")).items()}
        assert filters["since"] == "2026-01-01", "the filter stays"
    assert len(all_links) == len(set(all_links)) == Inquiry.objects.count()


def test_state_bars_count_matches_and_link_to_filters(reviewed_world: World):
    page = parse_page(get(reviewed_world, source="assistant", outcome="cancelled"))
    bars = {tag["data-outcome"]: tag for tag in page if tag.get("class") == "bar-row"}
    assert list(bars) == ["open", "answered", "redacted", "cancelled", "unanswered"]
    assert bars["cancelled"]["aria-current"] == "true"
    assert parse_qs(bars["open"]["href"].lstrip("?")) == {
        "source": ["assistant"],
        "outcome": ["open"],
        "demo": ["1"],
    }
    counts = {t["data-count"]: int(t.text) for t in page if t.tag == "b" and "data-count" in t}
    queryset = Inquiry.objects.filter(source="assistant", state="cancelled")
    assert counts == dict.fromkeys(bars, 0) | {"cancelled": queryset.count()}


def test_audit_filter_offers_only_reasons_that_occur(reviewed_world: World):
    making.settle(making.question(reviewed_world.run), Cancelled(CancellationReason.EXPIRED))
    page = parse_page(get(reviewed_world, reason="expired"))
    (select,) = page.find_all(name="reason")
    options = [tag for tag in page if select in tag.parents]
    (selected_option,) = [tag for tag in options if "selected" in tag]
    assert (selected_option["value"], selected_option.text) == (
        "expired",
        "expired before an answer",
    )
    reasons = set(Inquiry.objects.exclude(reason="").values_list("reason", flat=True))
    assert {tag["value"] for tag in options} == reasons | {""}


def test_an_auditor_of_one_workspace_sees_nothing_of_another(world: World):
    foreign = making.conversation(world.other_workspace, "Private", world.people["rival"])
    making.question(making.start_run(foreign), text="A private question")
    for path in ("/audit", "/audit.csv"):
        text = get(world, path).content.decode()
        assert "Go on?" in text
        assert "rivate" not in text
    assert "rivate" in world.client("rival").get("/audit").content.decode()


def test_headings_sort_and_the_order_survives_filters(world: World):
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    page = parse_page(world.client("auditor").get("/audit?sort=-waited"))
    (heading,) = [tag for tag in page if "aria-sort" in tag]
    assert (heading["aria-sort"], "Wait time" in heading.text) == ("descending", True)
    links = [tag["href"] for tag in page if "sort=" in tag.get("href", "")]
    assert {"?sort=waited", "?sort=asker"} <= set(links)
    assert any(tag.get("name") == "sort" and tag.get("value") == "-waited" for tag in page)
    assert world.client("auditor").get("/audit?sort=nonsense").status_code == 200


def test_row_says_attempt_override_and_who_saw_it(world: World):
    question = world.question
    making.settle(question, Answered(True), making.decider(world.people["owner"]))
    Inquiry.objects.update(inquiry_id="call_1.bees.3", decided_by="configuration")
    for name, seen_at in (("owner", question.asked_at), ("responder", None)):
        DisplayReceipt.objects.create(
            inquiry=question,
            person=world.people[name],
            delivered_at=question.asked_at,
            visible_at=seen_at,
        )
    page = parse_page(world.client("auditor").get("/audit"))
    cells = {tag["data-label"]: " ".join(tag.text.split()) for tag in page if "data-label" in tag}
    assert cells["Asked by"].endswith("attempt 3")
    assert cells["Decided by"].endswith("override")
    assert cells["Seen by"] == "1 of 2"
    (line,) = lines(get(world, "/audit.csv"))
    names = ("attempt", "override", "delivered_count", "seen_count")
    assert [line[name] for name in names] == ["3", "true", "2", "1"]
    (text,) = b"".join(get(world, "/audit.jsonl")).splitlines()
    assert [json.loads(text)[name] for name in names] == [3, True, 2, 1]


def test_audit_shows_accounts_of_people_with_one_name(world: World):
    twins = [making.person(name, Role.RESPONDER, world.workspace) for name in ("kim", "kim2")]
    for number, twin in enumerate(twins):
        twin.first_name = "Kim"
        twin.save()
        row = making.question(world.run, text=f"Question {number}?")
        making.settle(row, Answered(True), making.decider(twin))
    page = parse_page(get(world, person="Kim"))
    select = page.find_one(name="account")
    options = [tag.text for tag in page if tag.tag == "option" and select in tag.parents]
    assert options == ["All", *(f"{twin.username}, account {twin.pk}" for twin in twins)]
    for path in ("/audit", "/audit.csv", "/audit.jsonl"):
        text = get(world, path, person="Kim", account=str(twins[0].pk)).content.decode()
        assert ("Question 0?" in text, "Question 1?" in text) == (True, False), path
    both = lines(get(world, "/audit.csv", person="Kim"))
    assert {line["decider_id"] for line in both} == {str(twin.pk) for twin in twins}
    assert not parse_page(get(world, person="Owner")).find_all(name="account")


def test_account_counts_with_a_name_alone_and_is_shown_where_unlisted(world: World):
    unlisted = str(max(person.pk for person in world.people.values()) + 1)
    making.settle(making.question(world.run), Answered(True), making.decider(world.people["owner"]))
    assert "Go on?" in get(world, account=unlisted).content.decode()
    option = parse_page(get(world, person="Owner", account=unlisted)).find_one(value=unlisted)
    assert (option.text, "selected" in option) == (f"account {unlisted}", True)


@pytest.mark.parametrize("path", ["/audit", "/audit/charts", "/audit/decisions"])
def test_filter_of_a_conversation_is_a_chip_that_removes_it(world: World, path: str):
    foreign = making.conversation(world.other_workspace, "Private", world.people["rival"])
    labels = {
        world.conversation.pk: f"Only: {world.conversation.title}",
        foreign.pk: f"Only: conversation {foreign.pk}",
    }
    for key, label in labels.items():
        page = parse_page(get(world, path, conversation=key, since="2026-01-01", before=7))
        (chip,) = [tag for tag in page if tag.get("class") == "chip"]
        assert label in " ".join(chip.text.split())
        assert parse_qs(urlsplit(chip["href"]).query) == {"demo": ["1"], "since": ["2026-01-01"]}
        assert "Private" not in page.text
    assert [tag for tag in parse_page(get(world, path)) if tag.get("class") == "chip"] == []


def test_question_that_jp_asked_is_seen_in_jp(world: World):
    world.conversation.delete()
    making.mirrored_conversation(world.workspace, make_inquiry("call_1.q1"))
    client = world.client("auditor")
    page = parse_page(client.get("/audit"))
    assert page.find_one(**{"data-label": "Seen by"}).text == "Asked in jp"
    question = parse_page(client.get(f"/questions/{Inquiry.objects.get().pk}"))
    assert question.find_one(**{"data-receipt": "none"}).text.startswith("Asked in jp")


def test_questions_that_jp_asked_take_no_query_each(world: World):
    client = world.client("auditor")
    counts = set()
    for number in range(3):
        making.mirrored_conversation(world.workspace, make_inquiry(f"call_{number}.q1"))
        with CaptureQueriesContext(connection) as captured:
            client.get("/audit")
        counts.add(len(captured))
    assert len(counts) == 1


@pytest.mark.parametrize("path", ["/audit", "/audit/decisions", "/audit/decisions?view=timeline"])
def test_row_spells_out_direction_controls_of_question_answer_and_note(world: World, path: str):
    hidden = "\u202e"
    Inquiry.objects.filter(pk=world.question.pk).update(
        question={"text": f"Delete {hidden}gpj.exe?"},
        state="answered",
        answer=f"yes {hidden}on",
        note=f"since {hidden}then",
        settled_at=world.question.asked_at,
    )
    page = world.client("auditor").get(path).content.decode()
    cells = page.partition("<tbody>")[2] or page.partition("<main")[2]
    assert hidden not in cells
    for text in ("Delete ", "yes ", "since "):
        assert f"{text}⟨U+202E⟩" in cells
