"""A configuration as jp itself resolved it, where one is at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.agent.config import BuiltinSource, Configuration, ModelConfig, QuestionTarget
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.trust import list_trust_items
from tests.agent.config.making import OWN

FOLDER = Path(__file__).parents[3].parent / "shared" / "workspace" / ".jp" / "conversations"
FILES = sorted(FOLDER.glob("*/base_config.json"))
pytestmark = pytest.mark.skipif(not FILES, reason=f"no real configuration at {FOLDER}")


@pytest.fixture
def configuration() -> Configuration:
    return load_configuration([Layer("base", json.loads(FILES[0].read_bytes()))], OWN)


def test_real_configuration_is_read_without_notes(configuration: Configuration):
    assert configuration.notes == ()
    assert configuration.assistant.model == ModelConfig(
        "anthropic",
        "claude-opus-4-6",
        {"reasoning": {"effort": "auto", "exclude": False}, "stop_words": [], "other": {}},
    )
    assert configuration.inquiry.model is not None
    assert configuration.inquiry.model.name == "claude-haiku-4-5"
    assert len(configuration.assistant.system) == 40


def test_real_configuration_has_its_tools_and_the_built_ins(configuration: Configuration):
    assert {"ask_user", "cargo_check", "describe_tools", "github_issues"} < set(configuration.tools)
    assert isinstance(configuration.tools["describe_tools"].source, BuiltinSource)
    question = configuration.tools["fs_create_file"].get_question("overwrite_file")
    assert question.target is QuestionTarget.USER
    assert question.answer is not None


def test_real_configuration_needs_trust_for_all_that_runs(configuration: Configuration):
    kinds = [item.kind.value for item in list_trust_items(configuration)]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "tool": 37,
        "formatter": 2,
        "server": 4,
    }
