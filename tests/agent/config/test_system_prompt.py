from __future__ import annotations

import pytest

from jpweb.stream.thread import SystemPart
from tests.agent.config.making import get_refusal, read_prompt_parts


def test_the_prompt_comes_first_and_sections_and_instructions_by_their_position():
    assert read_prompt_parts(
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
        description = "How we write it."
        items = ["one ", "two"]
        examples = ["just so", {good = "g", bad = "b", reason = "r"}, {good = "g", bad = "b"}]
        position = 1
        """
    ) == [
        "You are.",
        SystemPart("early", "who"),
        SystemPart("plain"),
        SystemPart(
            "# Rust\n\nHow we write it.\n\n- one\n- two\n\nExample: just so\n\n"
            "Good: g\nBad: b\nReason: r\n\nGood: g\nBad: b",
            "instruction",
        ),
        SystemPart("late"),
    ]


def test_nothing_is_sent_where_nothing_is_said():
    assert read_prompt_parts("") == read_prompt_parts('assistant.system_prompt = ""') == []


def test_a_text_takes_the_place_of_the_one_below():
    assert read_prompt_parts('assistant.system_prompt = "a"', 'assistant.system_prompt = "b"') == [
        "b"
    ]


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("", "a\n\nb"),
        ('strategy = "append"', "a\n\nb"),
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


def test_joining_nothing_keeps_what_is_below():
    assert read_prompt_parts('assistant.system_prompt = "a"', "[assistant.system_prompt]") == ["a"]


def test_what_is_only_a_default_goes_when_anything_is_laid_over_it():
    for key, low, high in (
        ("system_prompt", '"a"', '{value = "b", strategy = "append"}'),
        ("system_prompt_sections", '["a"]', '{value = ["b"], strategy = "append"}'),
    ):
        below = f"[assistant]\n{key} = {{value = {low}, discard_when_merged = true}}"
        prompt_parts = read_prompt_parts(below, f"[assistant]\n{key} = {high}")
        assert [str(getattr(part, "content", part)) for part in prompt_parts] == ["b"]


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
        '[assistant]\nsystem_prompt_sections = ["a"]',
        f"[assistant]\nsystem_prompt_sections = {above}",
    )
    assert [part.content for part in prompt_parts] == list(order)


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
    ],
)
def test_what_is_no_prompt_is_refused_and_names_its_file(toml: str, expected: str):
    message = get_refusal("", f"[assistant]\n{toml}", "")
    assert message.startswith("1.toml: assistant.")
    assert expected in message
