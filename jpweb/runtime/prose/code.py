"""Source code with its parts coloured, by classes; bounded in time for whatever it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from time import monotonic

from django.utils.html import escape
from django.utils.safestring import SafeString
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Token, _TokenType

from jpweb.runtime.prose import cuts, differences

#: Characters of one block that are coloured.
MOST = 65_536
#: Patterns that take long do so along one line, or along blanks.
LONGEST_LINE = 1_000
_BLANKS = re.compile(r"\s{200}")
#: Seconds, looked at after so many characters; what is left stays plain. Some patterns take the
#: square of what they are given, and those of a few languages long.
_TIME, _AT_ONCE, _FEWER = 0.5, 8_000, 3_000
_SLOW = frozenset({"java", "terraform"})
#: The languages that are coloured, each tried with text that is made to take long.
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
_CLASSES: dict[_TokenType, str] = {
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


def language(name: str) -> str:
    """Return the language that a fence or the end of a file's name stands for, or nothing."""
    name = name.lower()
    return "diff" if name in ("diff", "patch") else LANGUAGES.get(name, "")


def coloured(text: str, name: str, most: int = MOST) -> SafeString:
    """Return code as HTML, its text as it is; plain where the language is unknown or it is long.

    A diff is marked however long it is.
    """
    known = language(name)
    if known == "diff":
        return differences.marked(text)
    if not known or len(text) > most or _may_take_long(text):
        return escape(text)
    pieces = list(_pieces(text, known))
    if "".join(value for _, value in pieces) != text:
        return escape(text)
    return SafeString("".join(_span(kind, value) for kind, value in pieces))


def _pieces(text: str, known: str) -> Iterator[tuple[str, str]]:
    """Yield the parts that look the same, in order, with their class."""
    end = monotonic() + _TIME
    for part in cuts.parts(text, _FEWER if known in _SLOW else _AT_ONCE):
        held, last = "", ""
        for kind, value in _tokens(part, known) if monotonic() < end else [("", part)]:
            if kind != last and held:
                yield last, held
                held = ""
            last, held = kind, held + value
        yield last, held


def _tokens(text: str, known: str) -> Iterator[tuple[str, str]]:
    for _, kind, value in _lexer(known)().get_tokens_unprocessed(text):
        yield _class(kind), value


def _span(kind: str, value: str) -> str:
    return f'<span class="{kind}">{escape(value)}</span>' if kind else str(escape(value))


@cache
def _class(kind: _TokenType) -> str:
    for each in reversed(kind.split()):
        if each in _CLASSES:
            return _CLASSES[each]
    return ""


@cache
def _lexer(known: str) -> type[Lexer]:
    found: type[Lexer] = find_lexer_class_by_name(known)
    return found


def _may_take_long(text: str) -> bool:
    return max(map(len, text.split("\n"))) > LONGEST_LINE or bool(_BLANKS.search(text))
