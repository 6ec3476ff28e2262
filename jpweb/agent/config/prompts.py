"""The system prompt: one text, sections, instructions. Each layer may add to those below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.tables import Table
from jpweb.stream.thread import SystemPart

_POSITIONS = 2**31


class Strategy(StrEnum):
    """What a layer's value does to the one below it."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class Separator(StrEnum):
    """What stands between two texts."""

    NONE = "none"
    SPACE = "space"
    LINE = "line"
    PARAGRAPH = "paragraph"


_BETWEEN = {
    Separator.NONE: "",
    Separator.SPACE: " ",
    Separator.LINE: "\n",
    Separator.PARAGRAPH: "\n\n",
}


def system(layers: Sequence[Layer], path: Sequence[str]) -> tuple[str | SystemPart, ...]:
    """Return the parts of the system prompt in the order in which they are sent."""
    text, sections, instructions = "", _Pile(), _Pile()
    discard = False
    for layer in layers:
        table = Table.root([layer])
        for key in path:
            table = table.table(key)
        if table.get("system_prompt") is not None:
            text, discard = _text(table, "" if discard else text)
        sections.lay(table, "system_prompt_sections")
        instructions.lay(table, "instructions")
    parts = [_section(*each) for each in sections.entries]
    parts += [_instruction(*each) for each in instructions.entries]
    ordered = [part for _, part in sorted(parts, key=lambda each: each[0])]
    return (text, *ordered) if text else tuple(ordered)


class _Pile:
    """The entries of a list that layers add to; each with the table that it came in."""

    def __init__(self) -> None:
        self.entries: list[tuple[Table, int, Any]] = []
        self.discard = False

    def lay(self, table: Table, key: str) -> None:
        value, strategy, discard = table.get(key), Strategy.APPEND, False
        if value is None:
            return
        if isinstance(value, Mapping):
            inner = table.table(key)
            strategy = inner.choice("strategy", Strategy) or strategy
            discard = inner.flag("discard_when_merged") or False
            value, table, key = inner.get("value"), inner, "value"
        if not isinstance(value, list):
            raise table.refuse(key, "a list, or a table of value and strategy")
        above = [(table.beneath(key, {}), place, item) for place, item in enumerate(value)]
        below = [] if self.discard or strategy is Strategy.REPLACE else self.entries
        self.entries = above + below if strategy is Strategy.PREPEND else below + above
        self.discard = discard


def _text(table: Table, below: str) -> tuple[str, bool]:
    if not isinstance(table.get("system_prompt"), Mapping):
        return table.text("system_prompt") or "", False
    inner = table.table("system_prompt")
    above = inner.text("value") or ""
    strategy = inner.choice("strategy", Strategy) or Strategy.APPEND
    between = _BETWEEN[inner.choice("separator", Separator) or Separator.PARAGRAPH]
    discard = inner.flag("discard_when_merged") or False
    if strategy is Strategy.REPLACE or not (above and below):
        return above if strategy is Strategy.REPLACE else above or below, discard
    pair = (above, below) if strategy is Strategy.PREPEND else (below, above)
    return between.join(pair), discard


def _entry(place: Table, number: int, item: Any, only: str) -> Table:
    """Return an entry as a table; a text stands for its most important key."""
    if isinstance(item, str):
        item = {only: item}
    if not isinstance(item, Mapping):
        raise place.beneath(str(number), {only: item}).refuse(only, "a string or a table")
    return place.beneath(str(number), item)


def _section(place: Table, number: int, item: Any) -> tuple[int, SystemPart]:
    table = _entry(place, number, item, "content")
    content, tag = table.text("content"), table.text("tag")
    if content is None:
        raise table.refuse("content", "a string")
    return _position(table), SystemPart(content.rstrip("\n"), tag or "")


def _instruction(place: Table, number: int, item: Any) -> tuple[int, SystemPart]:
    table = _entry(place, number, item, "title")
    title, description = table.text("title"), table.text("description")
    heading = [f"# {title}"] if title else []
    items = "\n".join(f"- {each.strip()}" for each in table.texts("items") or ())
    examples = table.get("examples") or []
    if not isinstance(examples, list):
        raise table.refuse("examples", "a list")
    parts = [*heading, description or "", items, *(_example(each) for each in examples)]
    content = "\n\n".join(part.strip() for part in parts if part.strip())
    return _position(table), SystemPart(content, "instruction")


def _example(example: Any) -> str:
    if not isinstance(example, Mapping):
        return f"Example: {example}"
    words = {"good": "Good", "bad": "Bad", "reason": "Reason"}
    return "\n".join(f"{word}: {example[key]}" for key, word in words.items() if key in example)


def _position(table: Table) -> int:
    value = table.get("position")
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _POSITIONS:
        return value
    raise table.refuse("position", "a whole number")
