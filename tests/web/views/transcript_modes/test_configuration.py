"""The configuration of a conversation, as of each change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Workspace
from jpweb.stream.events import ChatRequest, ConfigDelta, TurnStart
from tests.web.views.transcript_modes.reading import get_words, mirror_conversation, open_view
from tests.web.world import World

REAL = Path(__file__).parents[4].parent / "shared" / "workspace"
KEY = "sk-ant-api03-" + "Zk4" * 31 + "AA"

#: By conversation of the real workspace: its model, parts of its prompt, and tools.
REAL_CONFIGURATIONS = {
    17648402467: ("google/gemini-2.5-pro", 4, 28),
    17662304290: ("google/gemini-pro-latest", 4, 31),
    17671120783: ("google/gemini-3-flash-preview", 4, 32),
    17673969718: ("google/gemini-3-flash-preview", 4, 32),
    17727391057: ("anthropic/claude-opus-4-6", 49, 36),
    17727484633: ("anthropic/claude-opus-4-6", 33, 36),
    17727496665: ("anthropic/claude-opus-4-6", 33, 36),
    17727523543: ("anthropic/claude-opus-4-6", 33, 36),
    17728322628: ("anthropic/claude-opus-4-6", 33, 39),
    17728424428: ("anthropic/claude-opus-4-6", 33, 39),
    17758406187: ("anthropic/claude-opus-4-6", 40, 50),
}


def make_change(name: str, prompt: str) -> ConfigDelta:
    model = {"id": {"provider": "anthropic", "name": name}, "parameters": {"max_tokens": 900}}
    return ConfigDelta({"assistant": {"model": model, "system_prompt": prompt}})


def list_prompt_parts(page: str) -> list[str]:
    return re.findall(r"data-prompt-part>(.*?)</pre>", page, re.DOTALL)


def test_model_parameters_and_prompt_are_shown_as_of_each_change(world: World):
    conversation = mirror_conversation(
        world,
        make_change("m-1", "Be short."), TurnStart(), ChatRequest("Hi"),
        make_change("m-2", "Be long."), TurnStart(), ChatRequest("On"),
    )  # fmt: skip
    latest = open_view(world, conversation, "configuration")
    assert 'data-model="anthropic/m-2"' in latest
    assert "max_tokens 900" in get_words(latest)
    assert list_prompt_parts(latest) == ["Be long."]
    assert "Turn 2 anthropic/m-2 model: anthropic/m-1 → anthropic/m-2 system prompt Event 3" in (
        get_words(latest)
    )
    first = open_view(world, conversation, "configuration", "?from=0")
    assert 'data-model="anthropic/m-1"' in first
    assert list_prompt_parts(first) == ["Be short."]


def test_an_unknown_change_shows_the_latest(world: World):
    conversation = mirror_conversation(world, make_change("m-1", "Be short."), TurnStart())
    assert "anthropic/m-1" in open_view(world, conversation, "configuration", "?from=99")


def test_markup_in_a_prompt_is_text(world: World):
    conversation = mirror_conversation(world, make_change("m-1", "<script>alert(1)</script>"))
    page = open_view(world, conversation, "configuration")
    assert list_prompt_parts(page) == ["&lt;script&gt;alert(1)&lt;/script&gt;"]


def test_configuration_view_hides_a_prompt_with_a_possible_secret(world: World):
    conversation = mirror_conversation(world, make_change("m-1", f"Use {KEY} there."))
    page = open_view(world, conversation, "configuration")
    assert KEY not in page
    assert "data-prompt-hidden" in page


def test_parameters_that_people_need_not_see_are_named_alone(world: World):
    model = {"id": "openai/m", "parameters": {"headers": {"x": "canary-value"}}}
    conversation = mirror_conversation(world, ConfigDelta({"assistant": {"model": model}}))
    page = open_view(world, conversation, "configuration")
    assert "canary-value" not in page
    assert "headers (set, not shown)" in get_words(page)


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real workspace at {REAL}")
def test_configuration_view_of_real_conversations_has_model_and_tools(world: World):
    Workspace.objects.filter(pk=world.workspace.pk).update(root=str(REAL.resolve()))
    mirror.mirror_workspace(REAL)
    seen = {}
    for conversation in Conversation.objects.filter(workspace=world.workspace, source__gt=""):
        page = open_view(world, conversation, "configuration")
        (model,) = re.findall(r'data-model="([^"]*)"', page)
        prompt_count, tool_count = len(list_prompt_parts(page)), page.count("<tr data-tool=")
        seen[conversation.jp_id] = (model, prompt_count, tool_count)
        assert "data-config-problem" not in page
        assert "data-prompt-hidden" not in page
    assert seen == REAL_CONFIGURATIONS
