"""Renders terminal output: SGR colours become classes, other control sequences are removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString
from rich.ansi import AnsiDecoder
from rich.color import Color, ColorSystem
from rich.style import Style

from jpweb.runtime.rendering.invisible_characters import reveal_invisible

_TERMINAL_CODE = re.compile(r"\x1b[\[\]P(]|[^\r\n]\r(?!\n)")
#: Control strings (OSC, DCS, SOS, PM, APC), such as titles, links and clipboard writes. The text
#: of a link is outside them and stays.
_TERMINAL_STRINGS = re.compile(r"\x1b[\]PX^_](?:[^\x07\x1b\n]*(?:\x07|\x1b\\))?")
#: Sequences other than SGR: cursor movement, CSI sequences of over 64 parameter bytes, character
#: sets, and those of two characters.
_OTHER_SEQUENCES = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]*[@-ln-~]|\x1b\[[0-?]{65,}[ -/]*[@-~]?|\x1b[(-+].|\x1b[0-Z\\]"
)
#: ESC that begins no SGR. Removed sequences may leave ``ESC ]`` behind, for each of which rich
#: scans to the end of the line: 17.7 s for 210 kB.
_STRAY_ESCAPE = re.compile(r"\x1b(?!\[[0-?]{0,64}[ -/]*m)")
_ESCAPE_PICTURE = "\u241b"
#: SGR, and the codes that programs send with it and that hide no text: erase to the end of the
#: line, select ASCII.
_COLOR_CODES = re.compile(r"\x1b(?:\[[0-9;:]{0,64}m|\[0?K|\(B)")
#: Styled spans per text; the text after them is plain.
MAX_STYLED_PIECES = 20_000
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse")


def is_terminal_output(text: str) -> bool:
    """Return whether a text contains terminal codes."""
    return ("\x1b" in text or "\r" in text) and bool(_TERMINAL_CODE.search(text))


def remove_colors(text: str) -> str:
    """Return the text without its colour codes; other codes stay, as they can hide text."""
    return _COLOR_CODES.sub("", text)


def has_only_colors(text: str) -> bool:
    """Return whether colour codes are the only terminal codes in a text."""
    plain_text = remove_colors(text.replace("\r\n", "\n"))
    return "\x1b" not in plain_text and "\r" not in plain_text


def strip_codes(text: str) -> str:
    """Return the text with SGR codes only; of a line rewritten by CR the last version.

    An escape character that begins none is replaced by its picture.
    """
    text = _OTHER_SEQUENCES.sub("", _TERMINAL_STRINGS.sub("", text.replace("\r\n", "\n")))
    text = _STRAY_ESCAPE.sub(_ESCAPE_PICTURE, text)
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def render_terminal(text: str) -> SafeString:
    """Return terminal output as HTML with its SGR styles, such as colours, bold and italic."""
    parts: list[str] = []
    buffer, last_classes = "", ""
    for piece_classes, piece in _iter_pieces(strip_codes(text)):
        css_classes = piece_classes if len(parts) < MAX_STYLED_PIECES else ""
        if css_classes != last_classes:
            parts.append(_make_span(last_classes, buffer))
            buffer = ""
        last_classes, buffer = css_classes, buffer + piece
    parts.append(_make_span(last_classes, buffer))
    return SafeString("".join(parts))


def _iter_pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield runs of the same style: classes and text."""
    decoder, separator = AnsiDecoder(), ""
    for line in text.split("\n"):
        if separator:
            yield "", separator
        separator = "\n"
        if "\x1b" not in line:  # rich takes 5 µs for a line without codes, too
            yield (_find_css_classes(decoder.style) if line and decoder.style else ""), line
            continue
        decoded_line = decoder.decode_line(line)
        position = 0
        for span in decoded_line.spans:
            yield "", decoded_line.plain[position : span.start]
            style = span.style
            css_classes = _find_css_classes(style) if isinstance(style, Style) else ""
            yield css_classes, decoded_line.plain[span.start : span.end]
            position = span.end
        yield "", decoded_line.plain[position:]


def _find_css_classes(style: Style) -> str:
    """Return the classes of a style: one of 16 foregrounds, one of 16 backgrounds, attributes."""
    names = [name for name in _ATTRIBUTES if getattr(style, name)]
    names += (
        [f"fg-{_find_nearest_color(style.color)}"]
        if style.color and not style.color.is_default
        else []
    )
    ground = style.bgcolor
    names += [f"bg-{_find_nearest_color(ground)}"] if ground and not ground.is_default else []
    return " ".join(names)


def _find_nearest_color(color: Color) -> int:
    return color.downgrade(ColorSystem.STANDARD).number or 0


def _make_span(css_classes: str, text: str) -> str:
    escaped_html = escape(reveal_invisible(text))
    return (
        f'<span class="{css_classes}">{escaped_html}</span>'
        if css_classes and text
        else str(escaped_html)
    )
