"""A forced tool beside reasoning, where the vendor refuses both together."""

from __future__ import annotations

import pytest

from tests.agent.providers.conversing import make_provider, make_request, receive_events
from tests.machine.vendors import Reply, Say, run_vendor


@pytest.mark.parametrize("name", ["anthropic", "openrouter"])
@pytest.mark.parametrize(
    ("choice", "wanted"), [("required", "one of your tools"), ("fs_read", "the tool “fs_read”")]
)
async def test_a_forced_tool_is_asked_for_in_words_where_the_model_reasons(
    name: str, choice: str, wanted: str
):
    with run_vendor(name, [Reply(Say("."))]) as standin:
        await receive_events(
            make_provider(standin, {"reasoning": {"effort": "low"}}),
            make_request(tool_choice=choice),
        )
        body = standin.requests[0].body
    assert body.get("tool_choice") in ({"type": "auto"}, "auto", None)
    system = body["system"] if name == "anthropic" else [body["messages"][0]]
    nudge = system[-1 if name == "anthropic" else 0]
    assert f"You must call {wanted}" in str(nudge) or f"must call at least {wanted}" in str(nudge)
    assert "reasoning" in body or body["thinking"]["type"] == "adaptive"
