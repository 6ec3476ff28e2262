"""JSON as people read it: its parts coloured; the arguments of a call field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from jpweb.runtime.prose import code, differences, terminal
from jpweb.runtime.prose.characters import visible

#: A string that is a key, any other string, a number, a word. None can take long.
_PARTS = re.compile(
    r'("(?:[^"\\\n]|\\.)*")([ ]*:)|("(?:[^"\\\n]|\\.)*")|(-?\d[\d.eE+-]*)|\b(true|false|null)\b'
)
_KINDS = ("v", "", "s", "n", "k")
#: Characters of a value that stands on one line with its name.
_LINE = 160
#: Blanks that may stand around JSON.
_MARGIN = 1_000
#: Fields that are shown while it is not asked for the whole.
FEW = 20
#: Names of fields that say what file a text belongs to.
_FILES = ("path", "file", "filename", "file_path", "file_name", "target")


def text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def indented(raw: str) -> str | None:
    """Return JSON indented, its numbers and escapes as they are; None where it is none."""
    if not may_be_json(raw):
        return None
    try:
        return msgspec.json.format(raw, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def may_be_json(raw: str) -> bool:
    """Tell whether a text begins and ends as an object or an array."""
    return (raw[:_MARGIN].lstrip()[:1], raw[-_MARGIN:].rstrip()[-1:]) in (("{", "}"), ("[", "]"))


def coloured(shown: str) -> SafeString:
    """Return JSON as HTML, its text as it is; what is none stays plain."""
    made: list[str] = []
    at = 0
    for part in _PARTS.finditer(shown):
        made.append(escape(shown[at : part.start()]))
        group = part.lastindex or 1
        if group == 2:  # noqa: PLR2004  a key and what follows it
            made.append(f'<span class="v">{escape(part[1])}</span>{part[2]}')
        else:
            made.append(f'<span class="{_KINDS[group - 1]}">{escape(part[0])}</span>')
        at = part.end()
    made.append(escape(shown[at:]))
    return SafeString("".join(made))


class Fields(NamedTuple):
    """Arguments as HTML; ``cut`` where something of them is left out.

    ``better`` tells that there is code in them that could be coloured.
    """

    html: SafeString
    cut: bool
    better: bool = False


def fields(values: Mapping[str, Any], most: int, *, colours: bool) -> Fields:
    """Return arguments as a list of names and values, up to so many characters in all."""
    named = _language(values)
    known = named if colours else ""
    better = bool(named) and not colours
    made: list[str] = []
    left = most
    for name, value in values.items():
        if left <= 0 or (not colours and len(made) == FEW):
            return Fields(_list(made), cut=True)
        whole = value if isinstance(value, str) else text(value)
        shown = whole[:left]
        left -= len(name[:left]) + len(shown)
        made.append(_field(name[:_LINE], shown, value, known))
        if len(shown) < len(whole):
            return Fields(_list(made), cut=True)
    return Fields(_list(made), cut=False, better=better and any("\n" in one for one in made))


def _list(made: list[str]) -> SafeString:
    return format_html('<dl class="fields">{}</dl>', SafeString("".join(made)))


def _field(name: str, shown: str, value: Any, known: str) -> str:
    """Return one field: on one line where it fits, else as a text of its own."""
    is_text = isinstance(value, str)
    clean = visible(shown)
    if "\n" not in clean and len(clean) <= _LINE:
        quoted = not is_text or _looks_like_json(clean)
        inner = coloured(clean if not is_text else text(clean)) if quoted else escape(clean)
        return format_html(
            "<div><dt>{}</dt><dd><code>{}</code></dd></div>", visible(name), SafeString(inner)
        )
    inner = _text(shown, known) if is_text else coloured(clean)
    return format_html(
        '<div class="long"><dt>{}</dt><dd><pre class="text code" tabindex="0">{}</pre></dd></div>',
        visible(name),
        inner,
    )


def _text(shown: str, known: str) -> SafeString:
    if terminal.is_one(shown):
        return terminal.html(shown)
    clean = visible(shown)
    return code.coloured(clean, "diff" if differences.is_one(clean) else known)


def _looks_like_json(shown: str) -> bool:
    """Tell whether a text would be taken for a number, a word or nothing."""
    return not shown.strip() or bool(re.fullmatch(r"-?\d[\d.eE+-]*|true|false|null", shown))


def _language(values: Mapping[str, Any]) -> str:
    """Return the language of the file that the arguments name."""
    named = (values.get(name) for name in _FILES)
    path = next((name for name in named if isinstance(name, str)), "")
    return code.language(PurePosixPath(path[:_LINE]).suffix.removeprefix("."))
