"""The system prompt: one text, sections, instructions. Each layer may add to those below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jpweb.agent.config.layered_list import LayeredList
from jpweb.agent.config.layers import SEPARATOR_TEXTS, Layer, Separator, Strategy
from jpweb.agent.config.table_reader import TableReader
from jpweb.stream.thread import SystemPart

_POSITION_LIMIT = 2**31
#: JP's prompt where no layer sets one.
DEFAULT_PROMPT = "You are a helpful assistant."
#: Sent while a tool is offered, among the parts of position 0.
TOOL_USAGE = SystemPart(
    "How to work with the tools that you have.\n\n"
    "- Use each tool that helps with the task, more than one where that is useful.\n"
    "- Check a tool's name, description and parameters before you call it.\n"
    "- Verify with a tool what you have only reasoned out.",
    "instruction",
    "Tool Usage",
)


def read_system_prompt(
    layers: Sequence[Layer], path: Sequence[str]
) -> tuple[str | SystemPart, ...]:
    """Return the parts of the system prompt in the order in which they are sent."""
    text, sections, instructions = DEFAULT_PROMPT, LayeredList(), LayeredList()
    discard = True  # any value displaces the default
    for layer in layers:
        table = TableReader.from_layer(layer).descend(path)
        if table.get("system_prompt") is not None:
            text, discard = _merge_text(table, "" if discard else text)
        sections.add_layer(table, "system_prompt_sections")
        instructions.add_layer(table, "instructions")
    parts = [_read_section(*entry) for entry in sections.entries]
    parts += [_read_instruction(*entry) for entry in instructions.entries]
    ordered_parts = sorted(parts, key=lambda part: part.position)
    return (text, *ordered_parts) if text else tuple(ordered_parts)


def add_tool_usage(system: Sequence[str | SystemPart]) -> tuple[str | SystemPart, ...]:
    """Return the system prompt of a request that offers tools."""
    parts = [*system, TOOL_USAGE]
    return tuple(
        sorted(
            parts, key=lambda part: (1, part.position) if isinstance(part, SystemPart) else (0, 0)
        )
    )


def _merge_text(table: TableReader, base_text: str) -> tuple[str, bool]:
    if not isinstance(table.get("system_prompt"), Mapping):
        return table.get_text("system_prompt") or "", False
    prompt_table = table.get_table("system_prompt")
    overlay_text = prompt_table.get_text("value") or ""
    strategy = prompt_table.get_choice("strategy", Strategy) or Strategy.APPEND
    between = SEPARATOR_TEXTS[prompt_table.get_choice("separator", Separator) or Separator.NONE]
    discard = prompt_table.get_flag("discard_when_merged") or False
    if strategy is Strategy.REPLACE or not (overlay_text and base_text):
        return overlay_text if strategy is Strategy.REPLACE else overlay_text or base_text, discard
    pair = (overlay_text, base_text) if strategy is Strategy.PREPEND else (base_text, overlay_text)
    return between.join(pair), discard


def _make_entry_table(parent: TableReader, number: int, item: Any, main_key: str) -> TableReader:
    """Return an entry as a table; a text is the value of its main key."""
    if isinstance(item, str):
        item = {main_key: item}
    if not isinstance(item, Mapping):
        raise parent.make_child(str(number), {main_key: item}).make_error(
            main_key, "a string or a table"
        )
    return parent.make_child(str(number), item)


def _read_section(parent: TableReader, number: int, item: Any) -> SystemPart:
    table = _make_entry_table(parent, number, item, "content")
    content, tag = table.get_text("content"), table.get_text("tag")
    if content is None:
        raise table.make_error("content", "a string")
    return SystemPart(content, tag or "", table.get_text("title") or "", _read_position(table))


def _read_instruction(parent: TableReader, number: int, item: Any) -> SystemPart:
    table = _make_entry_table(parent, number, item, "title")
    title, description = table.get_text("title"), table.get_text("description")
    items = table.get_texts("items") or ()
    examples = table.get("examples") or []
    if not isinstance(examples, list):
        raise table.make_error("examples", "a list")
    content = f"{description}\n\n" if description else ""
    content += "".join(f"- {item}\n" for item in items)
    if examples:
        content += "\n**Examples**\n"
    for index, example in enumerate(examples):
        content += f"\n{_format_example(table, index, example)}\n"
    return SystemPart(content.rstrip(), "instruction", title or "", _read_position(table))


def _format_example(parent: TableReader, number: int, example: Any) -> str:
    table = _make_entry_table(parent.make_child("examples", {}), number, example, "text")
    if isinstance(example, str):
        return example
    good_example, bad_example, reason = (table.get_text(key) for key in ("good", "bad", "reason"))
    for key, text in (("good", good_example), ("bad", bad_example)):
        if text is None:
            raise table.make_error(key, "a string")
    return f"Good: {good_example}\nBad: {bad_example}" + (
        "" if reason is None else f"\nReason: {reason}"
    )


def _read_position(table: TableReader) -> int:
    value = table.get("position")
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _POSITION_LIMIT:
        return value
    raise table.make_error("position", "a whole number")
