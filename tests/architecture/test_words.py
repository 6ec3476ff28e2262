"""One vocabulary: what the code calls by a name, ARCHITECTURE.md explains by that name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from jpweb.store.choices import Role
from jpweb.stream import answer_type, events, inquiry
from tests.architecture.tree import modules, templates, text

TAGS = [
    *events.KINDS,
    *(outcome.TAG for outcome in get_args(inquiry.InquiryOutcome)),
    *(reason.value for reason in inquiry.CancellationReason),
    *answer_type.ANSWER_TYPES,
    *Role.labels,
]
#: The folders that are a table of plug-ins; a file there is named by its table.
PLUGINS = ("pages", "tools", "providers", "commands", "templatetags")
MODULES = [
    path
    for path in modules("jpweb")
    if path.name != "__init__.py" and path.parent.name not in PLUGINS
]


def words(*paths: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", "\n".join(text(path) for path in paths)))


def test_each_module_is_in_the_tree_of_the_architecture():
    explained = words(Path("ARCHITECTURE.md"))
    assert [str(path) for path in MODULES if path.stem not in explained] == []


def test_each_tag_is_a_word_that_people_can_look_up():
    explained = words(Path("ARCHITECTURE.md")) | words(*templates())
    assert [tag for tag in TAGS if tag not in explained] == []
