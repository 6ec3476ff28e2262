from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.system_prompt import (
    DEFAULT_PROMPT,
    TOOL_USAGE,
    add_tool_usage,
    read_system_prompt,
)
from jpweb.stream.thread import SystemPart
from tests.agent.config.making import get_refusal, read_prompt_parts


def test_system_prompt_puts_the_prompt_first_and_the_rest_by_position():
    prompt_parts = read_prompt_parts(
        """
        [assistant]
        system_prompt = "You are."
        system_prompt_sections = [
          {content = "late", position = 5},
          {tag = "who", content = "early\\n", position = -900},
          "plain",
        ]
        [[assistant.instructions]]
        title = "Rust"
        items = ["one", "two"]
        position = 1
        """
    )
    assert [getattr(part, "content", part) for part in prompt_parts] == [
        "You are.", "early\n", "plain", "- one\n- two", "late",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (
            {"tag": "rules", "title": "House", "content": "- one\n- two"},
            '<rules title="House">\n- one\n- two\n</rules>',
        ),
        ({"tag": "rules", "content": "\n  plain text \n\n"}, "<rules>\nplain text\n</rules>"),
        ({"title": "Tone", "content": "  be kind\n"}, "# Tone\n\n  be kind\n"),
        ({"content": "\n bare \n"}, "bare"),
        ({"tag": "x", "content": "a < b"}, "<x>\n<![CDATA[\na < b\n]]>\n</x>"),
        ({"tag": "x", "content": "  a & b\n"}, "<x>\n<![CDATA[\n  a & b\n\n]]>\n</x>"),
        (
            {"tag": "x", "content": "end ]]> here"},
            "<x>\n<![CDATA[\nend ]]]]><![CDATA[> here\n]]>\n</x>",
        ),
        (
            {"tag": "x", "title": 'A "b" & <c>', "content": "y"},
            '<x title="A &quot;b&quot; &amp; &lt;c&gt;">\ny\n</x>',
        ),
        ({"title": "R&D <x>", "content": "1 < 2"}, "# R&D <x>\n\n1 < 2"),
        ({"tag": "x", "content": ""}, "<x>\n\n</x>"),
    ],
)
def test_a_section_is_rendered_byte_for_byte_as_jp_does(section: dict[str, str], expected: str):
    layer = Layer("f", {"assistant": {"system_prompt": "", "system_prompt_sections": [section]}})
    (part,) = read_system_prompt([layer], ("assistant",))
    assert isinstance(part, SystemPart)
    assert part.render_text() == expected


GOOD_AND_BAD = {"good": "g", "bad": "b"}


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        (
            {"title": "Style", "items": ["short", "plain"]},
            '<instruction title="Style">\n- short\n- plain\n</instruction>',
        ),
        (
            {"title": "T", "description": "Why."},
            '<instruction title="T">\nWhy.\n</instruction>',
        ),
        (
            {
                "title": "T", "description": "Why.", "items": ["a"],
                "examples": ["say it", GOOD_AND_BAD, {"good": "h", "bad": "c", "reason": "r"}],
            },
            '<instruction title="T">\nWhy.\n\n- a\n\n**Examples**\n\nsay it\n\nGood: g\nBad: b\n\n'
            "Good: h\nBad: c\nReason: r\n</instruction>",
        ),
        (
            {"title": "T", "examples": ["e"]},
            '<instruction title="T">\n**Examples**\n\ne\n</instruction>',
        ),
        (
            {"title": "T", "description": "D", "examples": ["e"]},
            '<instruction title="T">\nD\n\n\n**Examples**\n\ne\n</instruction>',
        ),
        (
            {"title": "Q&A", "items": ["x > y"]},
            '<instruction title="Q&amp;A">\n<![CDATA[\n- x > y\n]]>\n</instruction>',
        ),
    ],
)  # fmt: skip
def test_an_instruction_is_rendered_byte_for_byte_as_jp_does(instruction: Any, expected: str):
    layer = Layer("f", {"assistant": {"system_prompt": "", "instructions": [instruction]}})
    (part,) = read_system_prompt([layer], ("assistant",))
    assert isinstance(part, SystemPart)
    assert part.render_text() == expected


def test_the_use_of_tools_comes_after_all_of_position_0():
    system = ("You are.", SystemPart("early", position=-1), SystemPart("usual"),
              SystemPart("late", position=1))  # fmt: skip
    assert add_tool_usage(system) == (*system[:3], TOOL_USAGE, system[3])


def test_the_default_prompt_is_sent_where_no_layer_sets_one():
    assert read_prompt_parts("") == [DEFAULT_PROMPT]
    assert read_prompt_parts('assistant.system_prompt = ""') == []
    append = 'assistant.system_prompt = {value = "b", strategy = "append"}'
    assert read_prompt_parts(append) == ["b"]


def test_a_text_takes_the_place_of_the_one_below():
    assert read_prompt_parts('assistant.system_prompt = "a"', 'assistant.system_prompt = "b"') == [
        "b"
    ]


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("", "ab"),
        ('strategy = "append"', "ab"),
        ('strategy = "append", separator = "paragraph"', "a\n\nb"),
        ('strategy = "append", separator = "line"', "a\nb"),
        ('strategy = "append", separator = "none"', "ab"),
        ('strategy = "prepend", separator = "space"', "b a"),
        ('strategy = "replace"', "b"),
    ],
)
def test_a_text_may_be_joined_to_the_one_below(strategy: str, text: str):
    above = f'[assistant]\nsystem_prompt = {{value = "b", {strategy}}}'.replace(", }", "}")
    assert read_prompt_parts('assistant.system_prompt = "a"', above) == [text]
    assert read_prompt_parts(above) == ["b"]


def test_system_prompt_merged_with_nothing_keeps_the_lower_layer():
    assert read_prompt_parts('assistant.system_prompt = "a"', "[assistant.system_prompt]") == ["a"]


def test_system_prompt_default_is_discarded_when_merged():
    for key, low, high in (
        ("system_prompt", '"a"', '{value = "b", strategy = "append"}'),
        ("system_prompt_sections", '["a"]', '{value = ["b"], strategy = "append"}'),
    ):
        below = f"[assistant]\n{key} = {{value = {low}, discard_when_merged = true}}"
        prompt_parts = read_prompt_parts(below, f"[assistant]\n{key} = {high}")
        assert str(getattr(prompt_parts[-1], "content", prompt_parts[-1])) == "b"
        assert "a" not in [getattr(part, "content", part) for part in prompt_parts]


@pytest.mark.parametrize(
    ("above", "order"),
    [
        ('["b"]', "ab"),
        ('{value = ["b"]}', "ab"),
        ('{value = ["b"], strategy = "prepend"}', "ba"),
        ('{value = ["b"], strategy = "replace"}', "b"),
    ],
)
def test_a_list_is_added_to_the_one_below(above: str, order: str):
    prompt_parts = read_prompt_parts(
        '[assistant]\nsystem_prompt = ""\nsystem_prompt_sections = ["a"]',
        f"[assistant]\nsystem_prompt_sections = {above}",
    )
    assert [part.content for part in prompt_parts] == list(order)


@pytest.mark.parametrize(
    ("layers", "order"),
    [
        (["{value = ['a', 'b', 'c'], dedup = true}", "['b', 'c', 'd']"], "abcd"),
        (["{value = [], dedup = true, discard_when_merged = true}", "['a', 'b', 'a']"], "ab"),
        (
            [
                "{value = [], dedup = true, discard_when_merged = true}",
                "{value = ['a', 'b', 'a'], dedup = false}",
            ],
            "aba",
        ),
        (["['a', 'b']", "['b', 'c']"], "abbc"),
        (["['a']", "{value = ['a', 'b', 'b'], strategy = 'replace', dedup = true}"], "ab"),
        (["{value = ['a'], dedup = 'true'}", "{value = ['a'], dedup = 'inherit'}"], "a"),
    ],
)
def test_system_prompt_sections_with_dedup_drop_duplicates(layers: list[str], order: str):
    files = [f"[assistant]\nsystem_prompt = ''\nsystem_prompt_sections = {v}" for v in layers]
    assert [part.content for part in read_prompt_parts(*files)] == list(order)


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("system_prompt = 1", "assistant.system_prompt is 1. It must be a string."),
        (
            'system_prompt = {value = "x", strategy = "shuffle"}',
            'system_prompt.strategy is "shuffle". It must be append, prepend or replace.',
        ),
        ("system_prompt_sections = 1", "is 1. It must be a list, or a table of value"),
        ('system_prompt_sections = {strategy = "append"}', "sections.value is missing."),
        ("system_prompt_sections = [1]", "sections.0.content is 1. It must be a string or a"),
        ('system_prompt_sections = [{tag = "x"}]', "sections.0.content is missing."),
        ('system_prompt_sections = [{content = "x", position = "1"}]', "It must be a whole number"),
        ("instructions = [{items = 1}]", "instructions.0.items is 1. It must be a list of strings"),
        ("instructions = [{examples = 1}]", "instructions.0.examples is 1. It must be a list."),
        ('instructions = [{examples = [{good = "g"}]}]', "examples.0.bad is missing."),
        ("system_prompt_sections = {value = [], dedup = 2}", "dedup is 2. It must be true, false"),
    ],
)
def test_system_prompt_of_a_wrong_type_is_refused_with_its_file(toml: str, expected: str):
    message = get_refusal("", f"[assistant]\n{toml}", "")
    assert message.startswith("1.toml: assistant.")
    assert expected in message
