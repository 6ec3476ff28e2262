"""Syntax highlighting by CSS classes (Pygments), bounded in time for any input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from time import thread_time

from django.utils.html import escape
from django.utils.safestring import SafeString
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Token, _TokenType

from jpweb.runtime.rendering import diff, text_chunks

#: Characters of a highlighted block; a longer one stays plain.
MAX_HIGHLIGHTED_CHARS = 65_536
#: Characters of a line: Pygments' slow patterns backtrack along one line, or along whitespace.
MAX_LINE_CHARS = 1_000
_LONG_BLANKS = re.compile(r"\s{200}")
#: Seconds of processor time per part of a text, checked before each chunk of so many characters;
#: the rest stays plain. 200,000 characters of ordinary code take 0.25 s. Some patterns take
#: quadratic time, those of _SLOW_LANGUAGES more than others: 9 blocks of 998 characters 0.78 s.
_TIMEOUT_SECONDS, _CHUNK_CHARS, _SLOW_CHUNK_CHARS = 0.5, 8_000, 3_000
_SLOW_LANGUAGES = frozenset({"java", "terraform"})
#: Highlighted languages by name or file suffix, each tested with adversarial text.
LANGUAGES = {
    **{name: name for name in ("bash", "c", "cpp", "css", "dart", "docker", "elixir")},
    **{name: name for name in ("fish", "go", "graphql", "haskell", "html", "ini", "java", "json")},
    **{name: name for name in ("kotlin", "lua", "make", "nix", "perl", "php", "powershell")},
    **{name: name for name in ("protobuf", "python", "r", "ruby", "rust", "scala", "scss", "sql")},
    **{name: name for name in ("swift", "terraform", "toml", "xml", "yaml", "zig", "javascript")},
    "typescript": "typescript",
    "ts": "typescript",
    "tsx": "typescript",
    "jsx": "javascript",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "node": "javascript",
    "py": "python",
    "python3": "python",
    "pyi": "python",
    "rs": "rust",
    "rb": "ruby",
    "sh": "bash",
    "shell": "bash",
    "zsh": "bash",
    "ksh": "bash",
    "ps1": "powershell",
    "yml": "yaml",
    "jsonc": "json",
    "json5": "json",
    "jsonl": "json",
    "svg": "xml",
    "xhtml": "html",
    "htm": "html",
    "c++": "cpp",
    "cc": "cpp",
    "hpp": "cpp",
    "h": "c",
    "cs": "csharp",
    "kt": "kotlin",
    "hs": "haskell",
    "ex": "elixir",
    "exs": "elixir",
    "dockerfile": "docker",
    "makefile": "make",
    "mk": "make",
    "tf": "terraform",
    "hcl": "terraform",
    "proto": "protobuf",
    "cfg": "ini",
    "conf": "ini",
    "pl": "perl",
    "golang": "go",
    "gql": "graphql",
    "postgresql": "sql",
    "sqlite": "sql",
    "mysql": "sql",
}
_CSS_CLASSES: dict[_TokenType, str] = {
    Token.Comment: "c",
    Token.Keyword: "k",
    Token.Operator.Word: "k",
    Token.Literal.String: "s",
    Token.Literal.Number: "n",
    Token.Keyword.Constant: "n",
    Token.Name.Function: "f",
    Token.Name.Class: "f",
    Token.Name.Decorator: "f",
    Token.Name.Builtin: "t",
    Token.Name.Tag: "t",
    Token.Keyword.Type: "t",
    Token.Name.Attribute: "v",
    Token.Name.Variable: "v",
    Token.Generic.Heading: "f",
}


def find_language(name: str) -> str:
    """Return the language of a fence's info word or a file suffix, or an empty text."""
    name = name.lower()
    return "diff" if name in ("diff", "patch") else LANGUAGES.get(name, "")


def make_deadline() -> float:
    """Return the processor time of this thread until which the code of a part is highlighted."""
    return thread_time() + _TIMEOUT_SECONDS


def highlight_code(
    text: str, name: str, max_chars: int = MAX_HIGHLIGHTED_CHARS, *, deadline: float
) -> SafeString:
    """Return code as HTML; plain where the language is unknown or the code too long.

    A diff is highlighted at any length. All blocks of a part have one ``deadline``.
    """
    language_name = find_language(name)
    if language_name == "diff":
        return diff.render_diff(text)
    if not language_name or len(text) > max_chars or _can_take_long(text):
        return escape(text)
    spans = list(_iter_spans(text, language_name, deadline))
    if "".join(value for _, value in spans) != text:
        return escape(text)
    return SafeString("".join(_make_span(kind, value) for kind, value in spans))


def _iter_spans(text: str, language_name: str, deadline: float) -> Iterator[tuple[str, str]]:
    """Yield runs of the same CSS class, in order: class and text."""
    for chunk in text_chunks.split_text(
        text, _SLOW_CHUNK_CHARS if language_name in _SLOW_LANGUAGES else _CHUNK_CHARS
    ):
        buffer, last_kind = "", ""
        for kind, value in (
            _iter_tokens(chunk, language_name) if thread_time() < deadline else [("", chunk)]
        ):
            if kind != last_kind and buffer:
                yield last_kind, buffer
                buffer = ""
            last_kind, buffer = kind, buffer + value
        yield last_kind, buffer


def _iter_tokens(text: str, language_name: str) -> Iterator[tuple[str, str]]:
    for _, kind, value in _load_lexer(language_name)().get_tokens_unprocessed(text):
        yield _find_css_class(kind), value


def _make_span(kind: str, value: str) -> str:
    return f'<span class="{kind}">{escape(value)}</span>' if kind else str(escape(value))


@cache
def _find_css_class(kind: _TokenType) -> str:
    for token_type in reversed(kind.split()):
        if token_type in _CSS_CLASSES:
            return _CSS_CLASSES[token_type]
    return ""


@cache
def _load_lexer(language_name: str) -> type[Lexer]:
    lexer_class: type[Lexer] = find_lexer_class_by_name(language_name)
    return lexer_class


def _can_take_long(text: str) -> bool:
    return max(map(len, text.split("\n"))) > MAX_LINE_CHARS or bool(_LONG_BLANKS.search(text))
