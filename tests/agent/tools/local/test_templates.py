from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import ToolCommand
from jpweb.agent.tools.local.templates import render_argv
from tests.agent.tools.local.commands import by_shell

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("plain", "plain"),
        ("{{ v.text }}", "a <b> 'c'"),
        ("{{ v.number }}", "7"),
        ("{{ v.float }}", "1.5"),
        ("{{ v.yes }} {{ v.no }}", "true false"),
        ("{{ v.null }}", "null"),
        ("{{ v.missing }}", "null"),
        ("{{ missing }}", "null"),
        ("{{ v.list }}", '[1,null,{"k":"é"}]'),
        ("{{ v.list[2] }}", '{"k":"é"}'),
        ("{% if v.yes %}y{% endif %}", "y"),
    ],
)
def test_values_are_written_as_jp_writes_them(template, rendered):
    values = {
        "text": "a <b> 'c'",
        "number": 7,
        "float": 1.5,
        "yes": True,
        "no": False,
        "null": None,
        "list": [1, None, {"k": "é"}],
    }
    assert render_argv(ToolCommand("p", (template,)), {"v": values}) == ("p", rendered)


def test_a_shell_gets_the_program_as_it_is_and_the_arguments_quoted():
    command = by_shell("a | b", "{{ v }}", "$d")
    assert render_argv(command, {"v": "c c"}) == ("sh", "-c", "a | b 'c c' '$d'")
    assert render_argv(by_shell("a"), {}) == ("sh", "-c", "a")


@given(value=st.lists(JSON, max_size=3) | st.dictionaries(TEXT, JSON, max_size=3))
def test_maps_and_lists_survive_as_json(value):
    (rendered,) = render_argv(ToolCommand("{{ v }}"), {"v": value})
    assert json.loads(rendered) == value
    assert rendered == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(words=st.lists(TEXT.filter(lambda text: "\0" not in text)))
def test_render_argv_quotes_arguments_for_the_shell(words):
    command = by_shell("p", *(f"{{{{ v[{i}] }}}}" for i in range(len(words))))
    assert shlex.split(render_argv(command, {"v": words})[2]) == ["p", *words]
