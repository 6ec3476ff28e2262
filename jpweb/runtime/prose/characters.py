"""Characters that cannot be seen, or that make others lie, shown as what they are.

Text that turns its own direction around reads otherwise than a machine takes it; text that is
invisible is read by a model and by no person. Both are shown between ⟨ and ⟩.
"""

from __future__ import annotations

import re

#: Line breaks of any origin become one; a lone carriage return is shown.
_BREAK = re.compile(r"\r\n?")
#: Embeddings, overrides and isolates: what follows is shown in another order.
_TURNING = "\u202a-\u202e\u2066-\u2069"
#: Widthless; a few belong to scripts and emoji, more of them hide something.
_WIDTHLESS = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065"
_WIDTHLESS += "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
_MARKS += "\u20d0-\u20ff\ufe20-\ufe2f"
#: A copy of ASCII that no font shows.
_FIRST_TAG = 0xE0000
_TAGS = "\U000e0000-\U000e007f"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_LENIENT = "surrogatepass"
_SURROGATES = "\ud800-\udfff"
_SUSPECT = re.compile(f"[{_CONTROLS}{_TURNING}{_WIDTHLESS}{_MARKS}{_TAGS}{_SURROGATES}]")
_PLAIN = bytes([9, 10, *range(0x20, 0x7F)])
_ODD = re.compile(r"[^\n\t\x20-\x7e]+")
#: Marks on one letter, and widthless characters side by side, that are shown as they are.
_STACKED, _SIDE_BY_SIDE = 4, 3
_SHOWN = re.compile(
    # Emoji flags of regions are made of tag characters behind a black flag.
    f"(?P<flag>\U0001f3f4[{_TAGS}]{{2,7}})"
    f"|(?P<tags>[{_TAGS}]+)"
    f"|(?P<one>[{_CONTROLS}{_TURNING}{_SURROGATES}])"
    f"|(?P<many>[{_WIDTHLESS}]{{{_SIDE_BY_SIDE + 1},}})"
    f"|(?<=[{_MARKS}]{{{_STACKED}}})(?P<marks>[{_MARKS}]+)"
)
_PICTURES, _DELETE = 0x2400, 0x7F


def visible(text: str) -> str:
    """Return the text with nothing in it that hides or turns around, its line ends plain."""
    if "\r" in text:
        text = _BREAK.sub(_one_break, text)
    # Most texts hold little but plain characters, and bytes are rid of those fastest.
    odd = text.encode("utf-8", _LENIENT).translate(None, _PLAIN).decode("utf-8", _LENIENT)
    return _ODD.sub(_run, text) if _SUSPECT.search(odd) else text


def _run(found: re.Match[str]) -> str:
    return _SHOWN.sub(_sign, found[0])


def _one_break(found: re.Match[str]) -> str:
    return "\n" if len(found[0]) > 1 else "\u240d"


def _sign(found: re.Match[str]) -> str:
    text = found[0]
    match found.lastgroup:
        case "flag":
            return text
        case "tags":
            hidden = "".join(chr(ord(c) - _FIRST_TAG) for c in text)
            return f"⟨hidden: {''.join(c for c in hidden if c.isprintable())}⟩"
        case "many":
            return f"⟨{len(text)} invisible characters⟩"
        case "marks":
            return f"⟨and {len(text)} more marks⟩"
        case _:
            return _named(ord(text))


def _named(code: int) -> str:
    if code < ord(" "):
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else f"⟨U+{code:04X}⟩"
