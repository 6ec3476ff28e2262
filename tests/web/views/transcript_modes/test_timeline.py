from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jpweb.store import runs
from jpweb.store.choices import Role, RunState
from jpweb.store.models import Conversation, Run
from jpweb.store.run_queue import token_usage
from jpweb.store.run_queue.token_usage import UsageReport
from jpweb.store.transcript import timeline
from jpweb.stream.events import ChatRequest, ConfigDelta, TurnStart
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result, raw
from tests.store import making
from tests.store.transcript.test_windows import mirror_conversation
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db


def at(kind: Any, clock_time: str) -> Any:
    return make_element(kind, at=f"2026-01-02 {clock_time}.0")


def mirror_turns() -> Conversation:
    return mirror_conversation(
        at(TurnStart(), "03:00:00"),
        at(ChatRequest("Plant <a> tree"), "03:00:00"),
        at(make_call("a"), "03:00:10"),
        at(make_inquiry("a.q"), "03:00:12"),
        at(make_answer("a.q"), "03:01:12"),
        at(make_result("a", is_error=True), "03:01:20"),
        at(TurnStart(), "05:00:00"),
        at(ChatRequest("And water it"), "05:00:00"),
    )


def sign_in(conversation: Conversation) -> Client:
    return signed_in(making.person("", Role.READER, conversation.workspace))


def open_timeline(conversation: Conversation, query: str = "", **headers: str) -> ParsedPage:
    response = sign_in(conversation).get(
        f"/conversations/{conversation.pk}/timeline{query}", headers=headers
    )
    assert response.status_code == 200
    return parse_page(response)


def list_rows(page: ParsedPage) -> list[list[str]]:
    rows = [tag for tag in page if tag.tag == "tr" and "data-turn" in tag]
    return [
        [" ".join(tag.text.split()) for tag in page if tag.tag == "td" and row in tag.parents]
        for row in rows
    ]


def list_bars(page: ParsedPage) -> list[Tag]:
    return [tag for tag in page if tag.tag == "rect" and tag.inside(id="time-strip")]


def test_timeline_table_splits_the_time_of_each_turn():
    assert list_rows(open_timeline(mirror_turns())) == [
        [
            *["1. Plant <a> tree", "2 Jan 2026, 03:00", "1 min 20 s"],
            *["10.0 s", "10.0 s", "1 min 0 s", "1"],
        ],
        ["2. And water it", "2 Jan 2026, 05:00", "0 ms", "", "", "", ""],
    ]


def test_the_strip_draws_the_same_and_leads_to_the_turn():
    page = open_timeline(mirror_turns(), **{"HX-Request": "true"})
    assert not [tag for tag in page if tag.tag in ("html", "table")]
    assert [bar["class"] for bar in list_bars(page)] == [
        *["time-model", "time-tool", "time-waiting", "time-problem"],
        "time-model",
    ]
    links = [tag["href"] for tag in page if tag.tag == "a"]
    assert [link.partition("?")[2] for link in links] == ["turn=0#turn-0", "turn=1#turn-1"]
    text = " ".join(page.text.split())
    assert "Turn 1: 1 min 20 s, waiting 1 min 0 s, 1 problem" in text
    assert "2 Jan 03:00\u201305:00 · 2 h 0 min · 1 problem" in text


def test_the_widths_of_a_bar_share_its_time():
    page = open_timeline(mirror_turns())
    model_width, tool_width, waiting_width = (float(bar["width"]) for bar in list_bars(page)[:3])
    assert model_width == pytest.approx(tool_width, abs=0.1)
    assert waiting_width == pytest.approx(6 * model_width, abs=1)


def test_a_page_holds_so_many_turns_and_leads_to_the_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timeline, "MAX_TURNS", 2)
    kinds = [kind for number in range(5) for kind in (TurnStart(), ChatRequest(f"Ask {number}"))]
    conversation = mirror_conversation(*kinds)
    last_page = open_timeline(conversation)
    assert [row[0] for row in list_rows(last_page)] == ["4. Ask 3", "5. Ask 4"]
    (earlier,) = [tag["href"] for tag in last_page if tag.get("rel") == "prev"]
    page = open_timeline(conversation, earlier)
    assert [row[0] for row in list_rows(page)] == ["2. Ask 1", "3. Ask 2"]
    assert [tag["href"] for tag in page if tag.get("rel") == "next"] == ["?from=3"]


def test_turns_beyond_the_entries_that_are_read_stay_without_times(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(timeline, "MAX_ENTRIES", 6)
    rows = list_rows(open_timeline(mirror_turns()))
    assert rows[0][2] == "1 min 20 s"
    assert rows[1][1:] == [""] * 6


def test_an_empty_conversation_and_a_turn_that_is_not_there_have_a_page():
    assert "No turns yet" in open_timeline(mirror_conversation()).text
    assert [row[0] for row in list_rows(open_timeline(mirror_turns(), "?from=99"))] == [
        "2. And water it"
    ]


def test_entries_with_an_odd_timestamp_count_in_no_time():
    conversation = mirror_conversation(
        at(TurnStart(), "03:00:00"), raw({"type": "odd", "timestamp": "2090-01-01"})
    )
    assert list_rows(open_timeline(conversation))[0][2] == "0 ms"


def make_models(*names: str) -> Conversation:
    changes = [ConfigDelta({"assistant": {"model": {"id": f"p/{name}"}}}) for name in names]
    return mirror_conversation(
        *(kind for change in changes for kind in (change, TurnStart(), ChatRequest("Go")))
    )


def read_model(page: ParsedPage) -> tuple[str, list[str]]:
    """Return what a page says about the model, and where it leads from there."""
    (model,) = [tag for tag in page if tag.get("id") == "model"]
    links = [tag["href"] for tag in page if tag.tag == "a" and tag.inside(id="model")]
    return " ".join(model.text.split()), links


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_the_model_in_effect_is_named_with_where_it_changed(headers: dict[str, str]):
    conversation = make_models("a", "b", "c-1")
    anchors = list(conversation.journal.order_by("position").values_list("anchor", flat=True))
    text, links = read_model(open_timeline(conversation, **headers))
    assert text == "Model: c-1 changed 2 times: turn 2, turn 3"
    address = f"/conversations/{conversation.pk}"
    assert links == [f"{address}?at={anchors[n]}#{anchors[n]}" for n in (3, 6)]


def test_the_row_of_a_change_names_the_new_model():
    conversation = make_models("a", "b")
    page = parse_page(sign_in(conversation).get(f"/conversations/{conversation.pk}"))
    rows = [tag for tag in page if tag.tag == "details" and tag.get("data-kind") == "config_delta"]
    summaries = [tag.text for tag in page if tag.tag == "summary" and tag.parents[-1] in rows]
    words = [text.partition(" 0")[0].strip() for text in summaries]
    assert words == ["Model: p/a", "Model: p/b"]


def test_a_provider_that_hides_characters_is_spelled_out():
    model_id = {"provider": "<b>\u202e", "name": "x"}
    conversation = mirror_conversation(ConfigDelta({"assistant": {"model": {"id": model_id}}}))
    text = parse_page(sign_in(conversation).get(f"/conversations/{conversation.pk}")).text
    assert "Model: <b>⟨U+202E⟩/x" in " ".join(text.split())


def test_timeline_with_many_model_changes_links_to_all():
    conversation = make_models("a", "b", "c", "d", "e")
    text, links = read_model(open_timeline(conversation))
    assert text == "Model: e changed 4 times: all, turn 3, turn 4, turn 5"
    assert links[0] == f"/conversations/{conversation.pk}/configuration"


def test_a_model_that_never_changed_has_no_links():
    assert read_model(open_timeline(make_models("a"))) == ("Model: a", [])


def test_timeline_without_a_recorded_model_names_none():
    page = open_timeline(mirror_turns())
    assert not [tag for tag in page if tag.get("id") == "model"]


def run_turns(count: int) -> tuple[Conversation, list[Run]]:
    """Return a conversation that ran turns here, and their runs."""
    conversation = making.conversation(making.workspace())
    turn_runs = []
    for number in range(count):
        kinds = (TurnStart(), ChatRequest(f"Ask {number}"))
        events = [making.event(kind) for kind in kinds]
        run = making.acquire_run(
            runs.start_run(conversation.pk, making.person().pk, "openai", "", events)
        )
        turn_runs.append(run)
        runs.end_run(run, RunState.DONE)
    conversation.refresh_from_db()
    return conversation, turn_runs


def test_the_strip_says_that_the_last_turn_runs_until_its_run_has_ended():
    conversation, (run,) = run_turns(1)
    for state in (RunState.PARKED, RunState.RUNNING):
        Run.objects.filter(pk=run.pk).update(state=state)
        text = open_timeline(conversation, **{"HX-Request": "true"}).text
        assert "Turn 1: running" in text
        assert "· running" in text
        assert "0 ms" not in text
    runs.end_run(run, RunState.DONE)
    assert "running" not in open_timeline(conversation, **{"HX-Request": "true"}).text


def test_timeline_shows_recorded_tokens_and_no_zeros_for_missing_ones():
    conversation, turn_runs = run_turns(3)
    token_usage.add_report(turn_runs[0], UsageReport(12_000, 345, 9_000))
    for run in turn_runs[:2]:
        token_usage.add_report(run, UsageReport(None, None))
    page = open_timeline(conversation)
    assert [row[-2:] for row in list_rows(page)] == [
        ["at least 12,000 (9,000 cached)", "at least 345"],
        ["not on record", "not on record"],
        ["not on record", "not on record"],
    ]
    strip = open_timeline(conversation, **{"HX-Request": "true"})
    text = " ".join(strip.text.split())
    assert "at least 12,000 tokens in, 345 out (1 of 3 turns)" in text


def test_tokens_of_which_none_is_on_record_are_not_mentioned():
    conversation, turn_runs = run_turns(1)
    assert "token" not in open_timeline(conversation).text.lower()
    token_usage.add_report(turn_runs[0], UsageReport(None, None))
    assert "token" not in open_timeline(conversation).text.lower()
    token_usage.add_report(turn_runs[0], UsageReport(7, 5))
    assert "7 tokens in, 5 out" in " ".join(open_timeline(conversation).text.split())
