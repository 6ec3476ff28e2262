"""Limits of a workspace's configuration, and a check of TOML's depth before it is parsed.

A TOML parser keeps every prefix of a dotted key: one key of 40 KB took 1.5 GB.
"""

from __future__ import annotations

import re

from jpweb.store.errors import InvalidConfigFile

#: Bytes of one file, and of all files together.
MAX_FILE_BYTES, MAX_TOTAL_BYTES = 256 * 1024, 1024 * 1024
MAX_FILES = 200
#: Layers, counting a file once for each file that extends it.
MAX_LAYERS = 400
#: Patterns in ``extends``, and characters of each.
MAX_PATTERNS, MAX_PATTERN_CHARACTERS = 50, 500
#: Directory entries that patterns are matched against.
MAX_LISTED_ENTRIES = 10_000
#: Steps of matching all patterns: an entry compared with a part of a pattern, or a directory
#: visited. They take 0.1 to 0.6 s of the process that serves pages.
MAX_MATCH_STEPS = 100_000
#: Levels of nested directories that patterns are matched against.
MAX_LEVELS = 32
#: Levels of tables and arrays, and parts of one key.
MAX_DEPTH = 64
#: Keys and items of one file, and of all layers together.
MAX_VALUES, MAX_TOTAL_VALUES = 20_000, 40_000

#: Strings and comments of TOML. An unterminated string is an error to any parser: it ends with the
#: text, so that each character is read once.
_TOKEN_PATTERN = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""(?:"{0,2})|\\?\Z)'
    r"|'''.*?(?:'''(?:'{0,2})|\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:"|.*)'
    r"|'[^'\n]*(?:'|.*)"
    r"|#[^\n]*",
    re.DOTALL,
)
_MARK_PATTERN = re.compile(r"[\[\]{}=,\n.]")


def check_depth(name: str, text: str) -> None:
    """Raise InvalidConfigFile for a TOML text nested deeper than ``MAX_DEPTH``.

    Parsing it would cost too much time and memory.
    """
    stripped_text = strip_tokens(text)
    levels = dots = 0
    for match in _MARK_PATTERN.finditer(stripped_text):
        mark = match[0]
        if mark == ".":
            dots += 1
        else:
            dots = 0
            levels += (mark in "[{") - (mark in "]}")
        if max(levels, dots) > MAX_DEPTH:
            raise InvalidConfigFile(
                f"{name}: nested too deep to be read; {MAX_DEPTH} levels are the most."
            )


def strip_tokens(text: str) -> str:
    """Return a TOML text without comments, each string as one letter; no quotation mark is left."""
    return _TOKEN_PATTERN.sub(lambda token: "" if token[0].startswith("#") else "s", text)
