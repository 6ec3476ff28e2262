"""What a program wrote for a terminal: colours become classes, everything else is not obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString
from rich.ansi import AnsiDecoder
from rich.color import Color, ColorSystem
from rich.style import Style

from jpweb.runtime.prose.characters import visible

_FOR_ONE = re.compile(r"\x1b[\[\]P(]|[^\r\n]\r(?!\n)")
#: Strings for the terminal itself: titles, links, clipboards. Of a link its text stays.
_STRINGS = re.compile(r"\x1b[\]PX^_](?:[^\x07\x1b\n]*(?:\x07|\x1b\\))?")
#: Sequences that are no colours move the cursor or wipe; longer ones than these are no colours.
_OTHERS = re.compile(r"\x1b\[[0-?]{0,64}[ -/]*[@-ln-~]|\x1b\[[0-?]{65,}[ -/]*[@-~]?|\x1b[(-+].")
#: Pieces of another look; what follows more of them is plain.
MOST_PIECES = 20_000
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse")


def is_one(text: str) -> bool:
    """Tell whether a text was written for a terminal."""
    return ("\x1b" in text or "\r" in text) and bool(_FOR_ONE.search(text))


def plain(text: str) -> str:
    """Return what stays on the screen, but for colours: a line drawn anew counts as it was last."""
    text = _OTHERS.sub("", _STRINGS.sub("", text.replace("\r\n", "\n")))
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def html(text: str) -> SafeString:
    """Return terminal output as HTML. Only SGR counts: colours, bold, faint, italic, underlined."""
    made: list[str] = []
    held, last = "", ""
    for named, piece in _pieces(plain(text)):
        look = named if len(made) < MOST_PIECES else ""
        if look != last:
            made.append(_span(last, held))
            held = ""
        last, held = look, held + piece
    made.append(_span(last, held))
    return SafeString("".join(made))


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield each stretch of the same look with its classes."""
    decoder, between = AnsiDecoder(), ""
    for line in text.split("\n"):
        if between:
            yield "", between
        between = "\n"
        decoded = decoder.decode_line(line)
        at = 0
        for span in decoded.spans:
            yield "", decoded.plain[at : span.start]
            style = span.style
            look = _look(style) if isinstance(style, Style) else ""
            yield look, decoded.plain[span.start : span.end]
            at = span.end
        yield "", decoded.plain[at:]


def _look(style: Style) -> str:
    """Return the classes of a style: one of 16 inks, one of 16 grounds, attributes."""
    names = [name for name in _ATTRIBUTES if getattr(style, name)]
    names += [f"ink-{_nearest(style.color)}"] if style.color and not style.color.is_default else []
    ground = style.bgcolor
    names += [f"ground-{_nearest(ground)}"] if ground and not ground.is_default else []
    return " ".join(names)


def _nearest(colour: Color) -> int:
    return colour.downgrade(ColorSystem.STANDARD).number or 0


def _span(look: str, text: str) -> str:
    safe = escape(visible(text))
    return f'<span class="{look}">{safe}</span>' if look and text else str(safe)
