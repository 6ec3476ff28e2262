"""Files that nobody should write: a clear message or a stream, never a crash."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jpweb.stream import anchor_ids, wire
from jpweb.stream.compaction import project_turns
from jpweb.stream.errors import MalformedStream
from jpweb.stream.events import BrokenEvent, ConversationEvent
from jpweb.stream.markdown.export import MarkdownOptions
from jpweb.stream.outline import build_outline
from jpweb.stream.sanitize import sanitize_stream
from jpweb.stream.thread import Thread
from jpweb.stream.turns import find_unfinished_turn
from tests.builders import AT, list_placed
from tests.stream.markdown.whole_export import export_markdown

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = [path.read_bytes() for path in sorted((SAMPLES / "layouts").glob("*.json"))]
EVENTS = [path.read_bytes() for path in sorted((SAMPLES / "events").glob("*.json"))]
ALL = b"[\n" + b",\n".join(EVENTS) + b"]\n"
SECONDS = float(os.environ.get("JPWEB_FUZZ_SECONDS", "3"))
SIZE = 200_000_000


def process_file(data: bytes) -> Any:
    """Do with a file all that this package does; the one error that may come is NotAStream."""
    try:
        texts, framing = wire.split_with_framing(data)
    except MalformedStream:
        return None
    assert wire.join_array(texts, framing).encode() == data
    elements = [wire.read_element(text) for text in texts]
    outline = build_outline(elements)
    assert {placed_element.position for placed_element in list_placed(outline)} == set(
        range(len(elements))
    )
    assert outline.anchors == tuple(anchor_ids.make_anchors(elements))
    export_markdown(outline, MarkdownOptions(title="?", reasoning=True))
    repaired = sanitize_stream(elements).elements
    assert sanitize_stream(repaired).changes == ()
    find_unfinished_turn(elements)
    assert len(project_turns(repaired)) <= len(repaired)
    Thread((), repaired).build_parts()
    wire.find_incompatibilities(elements, framing)
    return elements


def event(fields: str) -> bytes:
    return f'[{{"timestamp":"{AT}","type":"chat_response",{fields}}}]'.encode()


@pytest.mark.parametrize("brackets", ["[]", "{}"])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_nesting_of_10_000(brackets, is_closed):
    opening = brackets[0] if brackets == "[]" else '{"a":'
    deep = opening * 10_000 + "1" + (brackets[1] * 10_000 if is_closed else "")
    result = process_file(event(f'"data":{deep}'))
    if is_closed:
        assert [type(element.body) for element in result] == [BrokenEvent]
    else:
        assert result is None


def test_a_key_and_an_id_of_a_megabyte():
    long = "k" * 1_000_000
    (element,) = process_file(event(f'"message":"","{long}":"{long}"'))
    assert isinstance(element.body, ConversationEvent)
    call = f'[{{"timestamp":"{AT}","type":"tool_call_request","id":"{long}","name":"{long}"}}]'
    assert process_file(call.encode())[0].kind.id == long
    (unknown,) = process_file(f'[{{"type":"{long}"}}]'.encode())
    assert unknown.tag == long


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 5000])
def test_a_number_that_is_none_costs_its_element(number):
    (element,) = process_file(event(f'"data":{number}'))
    assert isinstance(element.body, BrokenEvent)


@pytest.mark.parametrize("number", ["9" * 30, "-0", "1E5", "1.0e-999"])
def test_an_odd_number_is_read(number):
    (element,) = process_file(event(f'"data":{number}'))
    assert isinstance(element.body, ConversationEvent)


def test_text_that_is_not_unicode():
    with pytest.raises(MalformedStream, match="not UTF-8 at byte 72"):
        wire.split_array(event('"message":"?"').replace(b"?", b"\xff"))
    (half,) = process_file(event(r'"message":"\ud800"'))
    assert isinstance(half.body, BrokenEvent)
    by_hand = wire.read_element('"\ud800"')
    assert isinstance(by_hand.body, BrokenEvent)
    assert anchor_ids.make_content_anchor(by_hand).startswith("e-")


def test_a_byte_order_mark_is_passed_over():
    assert process_file(b"\xef\xbb\xbf" + FILES[0]) == process_file(FILES[0])


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_a_file_cut_at_any_byte_is_no_stream_and_says_so(data):
    length = len(data.rstrip())
    for end in range(length):
        with pytest.raises(MalformedStream) as error:
            wire.split_array(data[:end])
        assert str(error.value)
    for end in range(length, len(data) + 1):
        process_file(data[:end])


TOKENS = [
    *(b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"null", b"true", b"-", b"1e400", b"NaN"),
    *(b"\\ud800", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\n", b"`" * 5, b"[" * 200, b"9" * 40),
    *(b'"type":"turn_start"', b'"id":"c1"', b'"message":[]', b'"reply":{}', b'"metadata":1'),
]


def mutate(data: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 4)):
        at, to = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        match dice.randrange(5):
            case 0:
                data = data[:at] + dice.choice(TOKENS) + data[at:]
            case 1:
                data = data[:at] + data[min(to, at + 40) :]
            case 2:
                data = data[:at] + data[at:to] + data[at:]
            case 3:
                data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
            case _:
                data = data.replace(dice.choice(TOKENS), dice.choice(TOKENS), 1)
    return data[:100_000]


def elements_shuffled(dice: random.Random) -> bytes:
    texts = [text for data in (*FILES, ALL) for text in wire.split_array(data)]
    return wire.join_array(dice.choices(texts, k=dice.randrange(30))).encode()


@pytest.mark.skipif(SECONDS <= 0, reason="JPWEB_FUZZ_SECONDS is 0")
def test_mutated_samples_raise_nothing_but_not_a_stream():
    dice = random.Random()  # noqa: S311  nothing is kept secret with it
    end = time.monotonic() + SECONDS
    data = b""
    try:
        while time.monotonic() < end:
            data = elements_shuffled(dice)
            process_file(data)
            data = mutate(dice.choice([*FILES, ALL, data]), dice)
            process_file(data)
    finally:  # pytest shows it where this fails
        print(f"the last file was {data!r}")


PROGRAM = """
import resource, sys
from pathlib import Path
from jpweb.stream import wire
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
texts, framing = wire.split_with_framing(Path(sys.argv[1]).read_bytes())
broken = sum(wire.read_element(text).tag == "unknown" for text in texts)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(texts), broken, framing == "", (after - before) * 1024)
"""


def test_200_megabytes_take_little_more_than_twice_their_size(tmp_path):
    file = tmp_path / "events.json"
    body = "x" * 99_000
    text = (
        f'{{\n    "timestamp": "{AT}",\n    "type": "chat_response",\n    "message": "{body}"\n  }}'
    )
    count = SIZE // len(text)
    with file.open("w") as handle:
        handle.write("[\n  ")
        handle.writelines([f"{text},\n  "] * (count - 1))
        handle.write(f"{text}\n]\n")
    try:
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(file)], check=True, capture_output=True, text=True
        )
    finally:
        file.unlink()
    element_count, broken_count, is_own, memory = result.stdout.split()
    assert (int(element_count), broken_count, is_own) == (count, "0", "True")
    assert int(memory) < 2.5 * SIZE
