from __future__ import annotations

import pytest

from jpweb.agent.ports import TokenUsage
from jpweb.agent.providers.adapter import model_request
from tests.agent.providers.conversing import PROTOCOLS, VENDORS, make_provider, receive_usage
from tests.machine.vendors import Call, Reply, Say, run_vendor

#: What a stand-in reports; until then nothing is known.
COUNTED, UNKNOWN = TokenUsage(9, 7), TokenUsage()


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_usage_of_a_reply_is_what_its_vendor_reports(name: str):
    with run_vendor(name, [Reply(Say("Let me see."), Call("fs_read", {}, "c1"))]) as standin:
        assert await receive_usage(make_provider(standin)) == [UNKNOWN, COUNTED]


@pytest.mark.parametrize("name", VENDORS)
async def test_usage_of_a_reply_that_breaks_off_is_unknown(name: str):
    with run_vendor(name, [Reply(Say("Half a"), end="cut")]) as standin:
        assert await receive_usage(make_provider(standin)) == [UNKNOWN]


@pytest.mark.parametrize("name", VENDORS)
async def test_usage_of_a_reply_at_its_token_limit_is_reported(name: str):
    is_reported = name != "openai"  # whose incomplete responses have none in the stand-in
    with run_vendor(name, [Reply(Say("Too long"), end="length")]) as standin:
        reports = await receive_usage(make_provider(standin))
    assert reports == [UNKNOWN, COUNTED][: 1 + is_reported]


async def test_usage_that_is_no_count_is_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model_request, "_MAX_TOKENS", 8)
    with run_vendor("anthropic", [Reply(Say("Done."))]) as standin:
        assert await receive_usage(make_provider(standin)) == [UNKNOWN]
