"""The rules against a real JP workspace, where one is at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.stream import outline, wire
from jpweb.stream.anchor_ids import make_anchors
from jpweb.stream.events import BrokenEvent, ConversationEvent, UnknownEvent
from jpweb.stream.transcript.items import ToolCall

FOLDER = Path(__file__).parents[2].parent / "shared" / "workspace" / ".jp" / "conversations"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no real workspace at {FOLDER}")

# elements, turn_starts, inquiry requests, inquiry responses, as counted in the files
COUNTS = {
    "17648402467": (10, 0, 0, 0),
    "17662304290": (25, 0, 0, 0),
    "17671120783": (27, 0, 0, 0),
    "17673969718": (4, 0, 0, 0),
    "17727391057": (118, 8, 3, 3),
    "17727484633": (29, 1, 2, 2),
    "17727496665": (36, 3, 2, 2),
    "17727523543": (120, 6, 4, 4),
    "17728322628": (692, 12, 41, 41),
    "17728424428": (85, 2, 5, 5),
    "17758406187": (29, 2, 0, 0),
}


def data(ds) -> Any:
    (path,) = FOLDER.glob(f"{ds}-*/events.json")
    return path.read_bytes()


def elements(ds) -> Any:
    return [wire.read_element(text) for text in wire.split_array(data(ds))]


def test_real_workspace_has_the_listed_conversations():
    assert {path.parent.name.split("-")[0] for path in FOLDER.glob("*/events.json")} == set(COUNTS)


@pytest.mark.parametrize("ds", COUNTS)
def test_real_workspace_files_round_trip(ds):
    assert wire.join_array([element.raw for element in elements(ds)]).encode() == data(ds)


@pytest.mark.parametrize("ds", COUNTS)
def test_the_counts_are_those_of_the_storage_document(ds):
    tags = [element.tag for element in elements(ds)]
    kinds = ("turn_start", "inquiry_request", "inquiry_response")
    assert (len(tags), *(tags.count(kind) for kind in kinds)) == COUNTS[ds]


@pytest.mark.parametrize("ds", COUNTS)
def test_real_workspace_has_no_unknown_or_broken_elements(ds):
    odd = [e.body for e in elements(ds) if isinstance(e.body, UnknownEvent | BrokenEvent)]
    assert odd == []


@pytest.mark.parametrize("ds", COUNTS)
def test_real_workspace_elements_are_written_as_by_jp(ds):
    """But for legacy answers, flattened config and old content, which change their form."""
    for element in elements(ds):
        assert isinstance(element.body, ConversationEvent)
        second_element = wire.write_element(element.body)
        if second_element.raw != element.raw:
            assert element.tag in ("inquiry_response", "config_delta", "tool_call_response")
            assert wire.read_element(second_element.raw).kind == element.kind


@pytest.mark.parametrize("ds", COUNTS)
def test_anchors_are_all_different(ds):
    assert len(set(make_anchors(elements(ds)))) == COUNTS[ds][0]


def test_real_workspace_inquiries_belong_to_the_calls_of_their_ids():
    pairs = [pair for ds in COUNTS for pair in outline.build_outline(elements(ds)).list_inquiries()]
    assert len(pairs) == 57
    assert [call and call.call.id for _, call in pairs] == [
        inquiry.inquiry_request.id.removesuffix(".apply_changes") for inquiry, _ in pairs
    ]
    assert {inquiry.state for inquiry, _ in pairs} == {"answered"}


def test_a_reused_tool_call_id_has_a_result_each_time():
    calls = [
        item
        for turn in outline.build_outline(elements("17671120783")).turns
        for item in turn.items
        if isinstance(item, ToolCall) and item.call.id == "fs_modify_file_0"
    ]
    positions = [[element.position for element in call.elements] for call in calls]
    assert positions == [[18, 19], [22, 23]]


def test_old_url_safe_contents_are_readable():
    element_list = elements("17671120783")
    assert all(" " in element_list[position].kind.content for position in (4, 7, 21))
