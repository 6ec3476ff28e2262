from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime.rendering import ansi
from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from tests.web.reading import parse_page

SEQUENCES = [
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[1;4;38;5;200m",
    "\x1b[2J",
    "\x1b]8;;https://x\x07",
    "\x1b",
]
SEQUENCES += [
    "\x1b]0;title\x1b\\",
    "\x1b[",
    "\r",
    "\r\n",
    "\n",
    "a",
    "b ",
    "<b>",
    "\x9b31m",
    "\x1b[m",
    *"\x1b]X",
    "\x1b[K",
]
OUTPUT = st.lists(st.sampled_from(SEQUENCES), max_size=40).map("".join)


def list_styles(text: str) -> list[tuple[str, str]]:
    return [(tag["class"], tag.text) for tag in parse_page(ansi.render_terminal(text))]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("\x1b[31mred\x1b[0m plain", [("fg-1", "red")]),
        ("\x1b[1;3;4mall\x1b[22m", [("bold italic underline", "all")]),
        ("\x1b[38;2;255;0;0mx\x1b[48;5;2my", [("fg-1", "x"), ("fg-1 bg-2", "y")]),
        ("\x1b[8mconcealed\x1b[5mblinking", []),
        ("\x1b[38;5mbroken \x1b[999mcode", []),
    ],
)
def test_render_terminal_turns_colors_and_emphasis_into_classes(
    text: str, marks: list[tuple[str, str]]
):
    assert list_styles(text) == marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b]8;;https://evil.example\x07a link\x1b]8;;\x07", "a link"),
        ("\x1b]0;a title\x1b\\text", "text"),
        ("\x1b]8;;never ended", "8;;never ended"),
        ("\x1b[2J\x1b[Hwiped", "wiped"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("\x1bc\x9b31m", "␛c⟨U+009B⟩31m"),
        ("\x1b[" + "9" * 5000 + "mx", "x"),
        ("<script>\x1b[1m&amp;", "<script>&amp;"),
        ("\x1b\x1b\x1b[KX]hidden\x1b\\", "␛␛X]hidden"),
        ("\x1b7a\x1b=b\x1bMc\x1b#8", "abc␛#8"),
        ("\x1b[>4;2ma\x1b[31 mb\x1b[3", "ab␛[3"),
    ],
)
def test_render_terminal_ignores_other_control_sequences(text: str, expected: str):
    assert parse_page(ansi.render_terminal(text)).text == expected


@given(OUTPUT)
def test_render_terminal_keeps_all_text(text: str):
    rendered_text = parse_page(ansi.render_terminal(text)).text
    assert "\x1b" not in rendered_text
    assert rendered_text.count("b ") == reveal_invisible(ansi.strip_codes(text)).count("b ")
    assert rendered_text.count("<b>") == ansi.strip_codes(text).count("<b>")


@given(OUTPUT)
def test_strip_codes_of_its_own_result_changes_nothing(text: str):
    stripped_text = ansi.strip_codes(text)
    assert ansi.strip_codes(stripped_text) == stripped_text


@given(
    st.lists(st.sampled_from(["\x1b[31m", "\x1b[0m", "a<b", "\n", " "]), max_size=40).map("".join)
)
def test_colors_change_nothing_of_the_text(text: str):
    assert parse_page(ansi.render_terminal(text)).text == text.replace("\x1b[31m", "").replace(
        "\x1b[0m", ""
    )


def test_colors_without_end_stop_being_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ansi, "MAX_STYLED_PIECES", 10)
    text = "\x1b[31ma\x1b[32mb" * 50
    assert len(list_styles(text)) <= 10
    assert parse_page(ansi.render_terminal(text)).text == "ab" * 50


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("\x1b[1mx", True), ("1%\r2%", True), ("a\r\nb\r\n", False), ("a", False), ("\x1b", False)],
)
def test_is_terminal_output_detects_color_codes(text: str, is_one: bool):
    assert ansi.is_terminal_output(text) is is_one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[m\x1b[K\x1b(B", "red"),
        ("1%\r2%", "1%\r2%"),
        ("\x1b]8;;https://x\x07a link", "\x1b]8;;https://x\x07a link"),
        ("\x1b[2Jwiped", "\x1b[2Jwiped"),
    ],
)
def test_remove_colors_keeps_every_other_code(text: str, expected: str):
    assert ansi.remove_colors(text) == expected
