"""Makes invisible and direction-changing characters visible.

Text with bidirectional controls reads otherwise than a machine parses it (Trojan Source);
invisible text is read by a model and by no person. Both are shown between ⟨ and ⟩.
"""

from __future__ import annotations

import re

#: CRLF and a lone carriage return.
_LINE_BREAK = re.compile(r"\r\n?")
#: Embeddings, overrides and isolates, which reorder the text after them.
_BIDI_CONTROLS = "\u202a-\u202e\u2066-\u2069"
#: Characters without width. Scripts and emoji use a few, ASCII none; long runs hide data.
_WIDTHLESS = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065"
_WIDTHLESS += "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
_MARKS += "\u20d0-\u20ff\ufe20-\ufe2f"
#: Unicode's tag characters, a copy of ASCII that no font displays.
_FIRST_TAG = 0xE0000
_TAGS = "\U000e0000-\U000e007f"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_ERROR_HANDLER = "surrogatepass"
_SURROGATES = "\ud800-\udfff"
_SUSPECT = re.compile(f"[{_CONTROLS}{_BIDI_CONTROLS}{_WIDTHLESS}{_MARKS}{_TAGS}{_SURROGATES}]")
_PLAIN_BYTES = bytes([9, 10, *range(0x20, 0x7F)])
_NON_PLAIN = re.compile(r"[^\n\t\x20-\x7e]+")
#: Combining marks on one letter, and adjacent widthless characters, that stay unescaped.
_MAX_STACKED_MARKS, _MAX_WIDTHLESS_RUN = 4, 3
_REVEALED = re.compile(
    # Emoji flags of regions: a black flag followed by tag characters.
    f"(?P<flag>\U0001f3f4[{_TAGS}]{{2,7}})"
    f"|(?P<tags>[{_TAGS}]+)"
    f"|(?P<one>[{_CONTROLS}{_BIDI_CONTROLS}{_SURROGATES}])"
    f"|(?P<many>[{_WIDTHLESS}]{{{_MAX_WIDTHLESS_RUN + 1},}})"
    f"|(?<=[{_MARKS}]{{{_MAX_STACKED_MARKS}}})(?P<marks>[{_MARKS}]+)"
)
_WIDTHLESS_RUN = re.compile(f"[{_WIDTHLESS}]{{1,{_MAX_WIDTHLESS_RUN}}}")
_CONTROL_PICTURES, _DELETE = 0x2400, 0x7F


def reveal_invisible(text: str) -> str:
    """Return the text with hidden characters spelled out and plain line ends."""
    if "\r" in text:
        text = _LINE_BREAK.sub(_replace_break, text)
    # Fast path: most texts are plain, and bytes.translate deletes plain characters fastest.
    non_plain = (
        text.encode("utf-8", _ERROR_HANDLER)
        .translate(None, _PLAIN_BYTES)
        .decode("utf-8", _ERROR_HANDLER)
    )
    return _NON_PLAIN.sub(_replace_run, text) if _SUSPECT.search(non_plain) else text


def _replace_run(match: re.Match[str]) -> str:
    if _WIDTHLESS_RUN.fullmatch(match[0]) and _is_inside_ascii(match):
        return "".join(_name_control(ord(char)) for char in match[0])
    return _REVEALED.sub(_describe_hidden, match[0])


def _is_inside_ascii(match: re.Match[str]) -> bool:
    """Tell whether a run is between two visible plain characters, as in a path."""
    before = match.string[max(match.start() - 1, 0) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    return bool(before.strip() and after.strip())


def _replace_break(match: re.Match[str]) -> str:
    return "\n" if len(match[0]) > 1 else "\u240d"


def _describe_hidden(run: re.Match[str]) -> str:
    text = run[0]
    match run.lastgroup:
        case "flag":
            return text
        case "tags":
            hidden_text = "".join(chr(ord(char) - _FIRST_TAG) for char in text)
            return f"⟨hidden: {''.join(char for char in hidden_text if char.isprintable())}⟩"
        case "many":
            return f"⟨{len(text)} invisible characters⟩"
        case "marks":
            return f"⟨and {len(text)} more marks⟩"
        case _:
            return _name_control(ord(text))


def _name_control(code: int) -> str:
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    return "\u2421" if code == _DELETE else f"⟨U+{code:04X}⟩"
