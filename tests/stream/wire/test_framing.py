"""The array around the elements, byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import wire
from jpweb.stream.errors import MalformedStream
from jpweb.stream.events import BrokenEvent, ChatRequest, TurnStart
from jpweb.stream.wire import framing
from tests.builders import make_element, stream
from tests.machine.sizes import choose_size, mark_proof
from tests.stream import strategies

JPS = "[\n  1,\n  2,\n  3\n]\n"


spaces = st.text(" \t\r\n", max_size=3)
values = st.lists(strategies.jsons, max_size=6)


def identical(data: bytes) -> list[str]:
    """Split and join; the bytes must be the same. Returns the texts."""
    texts, framing = wire.split_with_framing(data)
    assert wire.join_array(texts, framing).encode() == data
    assert wire.split_array(data) == texts
    return texts


@st.composite
def files(draw):
    """An array with any white space that JSON allows, before, between and after."""
    texts = [json.dumps(value, ensure_ascii=draw(st.booleans())) for value in draw(values)]
    inner_gaps = [draw(spaces) + "," + draw(spaces) for _ in texts[1:]]
    gaps = [draw(spaces) + "[" + draw(spaces), *inner_gaps]
    inner = "".join(gap + text for gap, text in zip(gaps, texts, strict=bool(texts)))
    start = draw(st.sampled_from(["", "\ufeff"]))
    return start + (inner or gaps[0]) + draw(spaces) + "]" + draw(spaces), texts


@given(files())
@settings(deadline=None)
def test_framing_round_trips_any_array(array):
    data, texts = array
    assert identical(data.encode()) == texts


@given(strategies.jsons.filter(lambda value: not isinstance(value, list)))
@settings(deadline=None)
def test_split_array_refuses_json_that_is_no_array(value):
    with pytest.raises(MalformedStream):
        wire.split_array(json.dumps(value).encode())


@pytest.mark.parametrize("data", [JPS, "[]\n", "[\n  {}\n]\n"])
def test_the_framing_of_jps_form_is_empty(data):
    assert wire.split_with_framing(data.encode())[1] == ""
    identical(data.encode())


@pytest.mark.parametrize(
    "data",
    [
        "[]",
        "[ ]",
        "[\n  ]",
        " [\t]\r\n",
        "[1,2,3]",
        "[1]",
        JPS[:-1],
        JPS.replace("  ", "\t"),
        JPS.replace("\n", "\r\n"),
        "[\n  1 ,\n  2 ,\n  3\n]\n",
        "[\n   1,\n  2\n]\n",
        "[1, 2,3,\n4]",
        "[\n        [1,\n  2],3,4]\n",
        "[\n  [\n],[\n]]\n",
        "[\n     [\n],\n  [\n]\n]\n",
        "\ufeff[1]",
        "\ufeff" + JPS,
        "[NaN,\t1 ,2]\n",
        "\ufeff [ NaN , 1 ] ",
    ],
)
def test_framing_round_trips_unusual_layouts(data):
    assert wire.split_with_framing(data.encode())[1] != ""
    identical(data.encode())


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("gap", [",\n", ",\n   ", " ,\n  ", ",\n  \n", ",\r\n  "])
def test_a_gap_that_nearly_is_the_one_of_jp_comes_back(at, gap):
    gaps = [",\n  "] * 4
    gaps[at] = gap
    gap_pairs = zip("12345", [*gaps, "\n]\n"], strict=True)
    data = ("[\n  " + "".join(text + end for text, end in gap_pairs)).encode()
    assert wire.split_with_framing(data)[1] != ""
    identical(data)


@given(
    st.lists(st.sampled_from(["1", "[]", "[\n]", "[1,\n  2]", "[\n  1\n]\n"]), min_size=1),
    st.data(),
)
@settings(deadline=None, max_examples=choose_size(75, 300))
def test_framing_round_trips_elements_that_contain_jps_gaps(texts, data):
    gaps = st.sampled_from([",\n  ", ",", ",\n     ", ",\n        ", "\n,"])
    end_gaps = [data.draw(gaps) for _ in texts[1:]] + [data.draw(st.sampled_from(["\n]\n", "]\n"]))]
    head = data.draw(st.sampled_from(["[\n  ", "[\n    ", "[\n         "]))
    array_text = head + "".join(
        text.strip() + end for text, end in zip(texts, end_gaps, strict=True)
    )
    identical(array_text.encode())
    usual = {head, *end_gaps} <= {"[\n  ", ",\n  ", "\n]\n"}
    assert (wire.split_with_framing(array_text.encode())[1] == "") is usual


def test_a_regular_framing_is_short_and_carries_more_elements():
    texts, framing = wire.split_with_framing(("[" + ",".join("1" * 5000) + "]").encode())
    assert framing == '["[",",","]",{}]'
    assert wire.join_array([*texts[:2], "4"], framing) == "[1,1,4]"
    _, lone_framing = wire.split_with_framing(b"[\n\t1\n]")
    assert wire.join_array(["1", "2"], lone_framing) == "[\n\t1,\n\t2\n]"
    _, empty = wire.split_with_framing(b"[]")
    assert wire.join_array(["1", "2"], empty) == "[1,2]"


def test_an_odd_gap_is_kept_where_it_is_and_costs_itself_alone():
    texts, framing = wire.split_with_framing(b"[1,2, 3,4]")
    assert framing == '["[",",","]",{"1":", "}]'
    assert wire.join_array([*texts, "5"], framing) == "[1,2, 3,4,5]"
    assert wire.join_array(["1"], framing) == "[1]"
    assert wire.join_array([], framing) == "[]"


@pytest.mark.parametrize("odd", ["x", "[]", '["["]', "{}", '["[",1,"]"]'])
def test_join_array_refuses_invalid_framing(odd):
    with pytest.raises(MalformedStream, match="no framing"):
        wire.join_array([], odd)


@pytest.mark.parametrize("text", ["[" * 10_000 + "]" * 10_000, '"\t"', "9" * 9000, "-Infinity"])
def test_invalid_value_inside_an_element_breaks_that_element_only(text):
    texts = identical(f'[1,{text} , {{"a": [NaN, "]["]}}]'.encode())
    assert texts == ["1", text, '{"a": [NaN, "]["]}']
    assert isinstance(wire.read_element(text).body, BrokenEvent)


@given(strategies.streams)
@settings(deadline=None)
def test_a_joined_stream_splits_into_the_same_texts(elements):
    texts = [element.raw for element in elements]
    assert wire.split_array(wire.join_array(texts).encode()) == texts


def test_a_stream_is_written_as_jp_writes_it():
    stream_text = wire.join_array([e.raw for e in stream(TurnStart(), ChatRequest("Hi"))])
    values = [
        {"timestamp": "2026-01-02 03:00:00.0", "type": "turn_start"},
        {"timestamp": "2026-01-02 03:00:01.0", "type": "chat_request", "content": "Hi"},
    ]
    assert stream_text == json.dumps(values, indent=2) + "\n"


def test_an_empty_stream_is_two_brackets():
    assert wire.join_array([]) == "[]\n"
    assert wire.split_array(b"[]\n") == []
    assert wire.split_array(b"[\n]") == []


def test_broken_element_leaves_the_other_elements_readable():
    good = make_element(ChatRequest("Hi")).raw
    bad = [
        '{"type": "chat_request"}',
        '{"type": "chat_response", "message": "\\ud800"}',
        '{"type": "chat_response", "data": NaN}',
        '{"type": "chat_response", "data": 1e400}',
        "[" * 500 + "]" * 500,
        "-Infinity",
    ]
    texts = [text for bad_text in bad for text in (bad_text, good)]
    split = wire.split_array(f"[ {','.join(texts)}\n]\n".encode())
    assert split == texts
    elements = [wire.read_element(text) for text in split]
    assert all(isinstance(element.body, BrokenEvent) for element in elements[::2])
    assert all(element.kind == ChatRequest("Hi") for element in elements[1::2])


@pytest.mark.parametrize(
    ("data", "pattern"),
    [
        (b"\xff[]", "not UTF-8 at byte 0"),
        (b"", "truncated"),
        (b"{}", "Expected `array`"),
        (b"]", "byte 0"),
        (b"[1,", "truncated"),
        (b"[1,]", "trailing comma"),
        (b"[NaN,]", "byte 1"),
        (b"[NaN,,1]", "byte 1"),
        (b"[NaN}", "byte 1"),
        (b"[NaN]]", "byte 1"),
        (b'[NaN,"a]', "byte 1"),
        (b"\xef\xbb\xbf", "truncated"),
        (b"\xef\xbb[]", "not UTF-8 at byte 0"),
        (b'["\xc3"]', "not UTF-8 at byte 2"),
        (b"\x0c[1]", "byte 0"),
        (b"[1 2]", "byte 3"),
        (b"[NaN[1]", "byte 1"),
        (b"[NaN] x", "byte 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[NaN," + b"[" * 100_000, "byte 1"),
    ],
)
def test_split_array_refuses_data_that_is_no_array(data, pattern):
    with pytest.raises(MalformedStream, match=pattern):
        wire.split_array(data)


@pytest.mark.parametrize("piece", [1, 7, *mark_proof(2, 3, 1024)])
@settings(max_examples=50)
@given(elements=values, gap=spaces)
def test_has_more_elements_counts_the_elements_of_the_array(
    piece: int, elements: list[object], gap: str
):
    data = (gap + "[" + gap + f"{gap},".join(map(json.dumps, elements)) + gap + "]").encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(framing, "_CHUNK_BYTES", piece)
        assert not wire.has_more_elements(data, max(len(elements), 1))
        assert wire.has_more_elements(data, len(elements) - 1) or len(elements) < 2


def test_has_more_elements_counts_tiny_elements():
    assert wire.has_more_elements(b"[" + b"0," * 1000 + b"0]", 1000)
    assert not wire.has_more_elements(b"[" + b"0," * 999 + b"0]", 1000)
    assert not wire.has_more_elements(b'["' + b"," * 1000 + b'"]', 1000)


@given(files(), st.integers(1, 9))
@settings(deadline=None)
def test_parts_of_an_array_make_the_whole(array, size):
    data, texts = array
    _, framing = wire.split_with_framing(data.encode())
    starts = range(0, max(len(texts), 1), size)
    parts = [wire.join_array_part(texts[at : at + size], at, len(texts), framing) for at in starts]
    assert "".join(parts) == data
