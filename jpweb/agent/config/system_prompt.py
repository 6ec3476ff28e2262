"""The system prompt: one text, sections, instructions. Each layer may add to those below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.table_reader import TableReader
from jpweb.stream.thread import SystemPart

_POSITION_LIMIT = 2**31


class Strategy(StrEnum):
    """How a layer's value is merged with the one below it."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class Separator(StrEnum):
    """The text between two merged texts."""

    NONE = "none"
    SPACE = "space"
    LINE = "line"
    PARAGRAPH = "paragraph"


_SEPARATOR_TEXTS = {
    Separator.NONE: "",
    Separator.SPACE: " ",
    Separator.LINE: "\n",
    Separator.PARAGRAPH: "\n\n",
}


def read_system_prompt(
    layers: Sequence[Layer], path: Sequence[str]
) -> tuple[str | SystemPart, ...]:
    """Return the parts of the system prompt in the order in which they are sent."""
    text, sections, instructions = "", _LayeredList(), _LayeredList()
    discard = False
    for layer in layers:
        table = TableReader.from_layers([layer])
        for key in path:
            table = table.get_table(key)
        if table.get("system_prompt") is not None:
            text, discard = _merge_text(table, "" if discard else text)
        sections.add_layer(table, "system_prompt_sections")
        instructions.add_layer(table, "instructions")
    parts = [_read_section(*entry) for entry in sections.entries]
    parts += [_read_instruction(*entry) for entry in instructions.entries]
    ordered = [part for _, part in sorted(parts, key=lambda entry: entry[0])]
    return (text, *ordered) if text else tuple(ordered)


class _LayeredList:
    """The entries of a list that layers add to; each with the table that it came in."""

    def __init__(self) -> None:
        self.entries: list[tuple[TableReader, int, Any]] = []
        self.discard = False

    def add_layer(self, table: TableReader, key: str) -> None:
        value, strategy, discard = table.get(key), Strategy.APPEND, False
        if value is None:
            return
        if isinstance(value, Mapping):
            value_table = table.get_table(key)
            strategy = value_table.get_choice("strategy", Strategy) or strategy
            discard = value_table.get_flag("discard_when_merged") or False
            value, table, key = value_table.get("value"), value_table, "value"
        if not isinstance(value, list):
            raise table.make_error(key, "a list, or a table of value and strategy")
        above = [(table.make_child(key, {}), index, item) for index, item in enumerate(value)]
        below = [] if self.discard or strategy is Strategy.REPLACE else self.entries
        self.entries = above + below if strategy is Strategy.PREPEND else below + above
        self.discard = discard


def _merge_text(table: TableReader, below: str) -> tuple[str, bool]:
    if not isinstance(table.get("system_prompt"), Mapping):
        return table.get_text("system_prompt") or "", False
    prompt_table = table.get_table("system_prompt")
    above = prompt_table.get_text("value") or ""
    strategy = prompt_table.get_choice("strategy", Strategy) or Strategy.APPEND
    between = _SEPARATOR_TEXTS[
        prompt_table.get_choice("separator", Separator) or Separator.PARAGRAPH
    ]
    discard = prompt_table.get_flag("discard_when_merged") or False
    if strategy is Strategy.REPLACE or not (above and below):
        return above if strategy is Strategy.REPLACE else above or below, discard
    pair = (above, below) if strategy is Strategy.PREPEND else (below, above)
    return between.join(pair), discard


def _entry_table(parent: TableReader, number: int, item: Any, main_key: str) -> TableReader:
    """Return an entry as a table; a text is the value of its main key."""
    if isinstance(item, str):
        item = {main_key: item}
    if not isinstance(item, Mapping):
        raise parent.make_child(str(number), {main_key: item}).make_error(
            main_key, "a string or a table"
        )
    return parent.make_child(str(number), item)


def _read_section(parent: TableReader, number: int, item: Any) -> tuple[int, SystemPart]:
    table = _entry_table(parent, number, item, "content")
    content, tag = table.get_text("content"), table.get_text("tag")
    if content is None:
        raise table.make_error("content", "a string")
    return _read_position(table), SystemPart(content.rstrip("\n"), tag or "")


def _read_instruction(parent: TableReader, number: int, item: Any) -> tuple[int, SystemPart]:
    table = _entry_table(parent, number, item, "title")
    title, description = table.get_text("title"), table.get_text("description")
    heading = [f"# {title}"] if title else []
    items = "\n".join(f"- {entry.strip()}" for entry in table.get_texts("items") or ())
    examples = table.get("examples") or []
    if not isinstance(examples, list):
        raise table.make_error("examples", "a list")
    parts = [*heading, description or "", items, *(_format_example(entry) for entry in examples)]
    content = "\n\n".join(part.strip() for part in parts if part.strip())
    return _read_position(table), SystemPart(content, "instruction")


def _format_example(example: Any) -> str:
    if not isinstance(example, Mapping):
        return f"Example: {example}"
    labels = {"good": "Good", "bad": "Bad", "reason": "Reason"}
    return "\n".join(f"{label}: {example[key]}" for key, label in labels.items() if key in example)


def _read_position(table: TableReader) -> int:
    value = table.get("position")
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _POSITION_LIMIT:
        return value
    raise table.make_error("position", "a whole number")
