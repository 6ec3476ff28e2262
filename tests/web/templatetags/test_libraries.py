"""The libraries of template tags: no name is in two, and templates load those that they use."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import combinations
from pathlib import Path

from django.template.base import Lexer, TokenType

from tests.architecture.tree import list_templates, read_text

NAMES = sorted(path.stem for path in Path("jpweb/web/templatetags").glob("jpweb_*.py"))
LIBRARIES = {name: import_module(f"jpweb.web.templatetags.{name}").register for name in NAMES}
_FILTER = re.compile(r"\|(\w+)")


def test_template_tag_names_are_unique_across_libraries():
    names = [library.tags.keys() | library.filters.keys() for library in LIBRARIES.values()]
    assert not [one & other for one, other in combinations(names, 2) if one & other]


def list_libraries(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of libraries that a template loads, and of those that it uses."""
    loaded_names: list[str] = []
    used_names = set()
    for token in Lexer(read_text(path)).tokenize():
        tag, *words = token.split_contents() if token.token_type is TokenType.BLOCK else [""]
        if tag == "load":
            loaded_names += [name for name in words if name in LIBRARIES]
        elif token.token_type in (TokenType.BLOCK, TokenType.VAR):
            filters = set(_FILTER.findall(token.contents))
            used_names |= {
                name
                for name, library in LIBRARIES.items()
                if tag in library.tags or filters & library.filters.keys()
            }
    return loaded_names, sorted(used_names)


def test_a_template_loads_the_libraries_that_it_uses():
    faults = []
    for path in list_templates():
        loaded_names, used_names = list_libraries(path)
        if loaded_names != used_names:
            faults.append(f"{path} loads {loaded_names} and uses {used_names}")
    assert not faults, "\n".join(faults)
