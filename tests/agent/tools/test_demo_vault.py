from __future__ import annotations

from jpweb.agent.tool_outcome import NeedsInput, Success
from jpweb.agent.tools.demo_vault import DemoVault
from jpweb.stream.answer_type import Secret
from jpweb.stream.inquiry import InquirySource


async def test_demo_vault_asks_for_a_secret():
    outcome = await DemoVault().execute({}, {})
    assert isinstance(outcome, NeedsInput)
    assert outcome.question.id == "passphrase"
    assert outcome.question.answer_type == Secret()
    assert outcome.question.default is None
    assert outcome.question.is_human_only


async def test_demo_vault_result_does_not_depend_on_the_secret():
    results = [await DemoVault().execute({}, {"passphrase": text}) for text in ("", "a", "ab" * 99)]
    assert results == [Success("The demonstration vault is open.")] * 3


def test_demo_vault_description_states_that_it_is_a_demonstration():
    assert "A demonstration of secret questions" in DemoVault.DESCRIPTION
    assert DemoVault.PARAMETERS["additionalProperties"] is False


def test_demo_vault_inquiry_source_is_the_tool():
    assert DemoVault().make_inquiry_source("demo_vault") == InquirySource.for_tool("demo_vault")
