"""What the tools of a turn are handed from the server's environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import current_thread

import pytest
from asgiref.sync import async_to_sync

from jpweb.agent.tools.local import LocalTool
from jpweb.runtime import conversation_config, wiring
from jpweb.runtime.configuration import WorkspaceConfig
from jpweb.store.models import Conversation, Person, Workspace
from tests.runtime.configuring import LOCAL, trust_all, write_config
from tests.store import making


def make_workspace(folder: Path, name: str, text: str) -> Workspace:
    (folder / name / ".jp").mkdir(parents=True)
    workspace = making.workspace(name)
    workspace.root = str(folder / name)
    workspace.save()
    write_config(workspace, text)
    return workspace


@async_to_sync
async def read_environment(conversation: Conversation) -> Mapping[str, str]:
    """Return the environment of a workspace's local tool in a turn."""
    async with wiring.open_turn_resources(conversation) as resources:
        tool = resources.setup.outside["t"]
        assert isinstance(tool, LocalTool)
        return tool._context.environment


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_trusted", [True, False])
def test_tool_gets_no_key_that_another_workspace_trusts(
    ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_trusted: bool
):
    provider_texts = [
        f'[providers.llm.{name}]\napi_key_env = "{variable}"\n'
        for name, variable in (("anthropic", "TEAM_A_KEY"), ("openai", "PATH"))
    ]
    workspace = make_workspace(tmp_path, "a", "".join(provider_texts))
    other_workspace = make_workspace(tmp_path, "b", LOCAL)
    if is_trusted:
        trust_all(workspace, ada)
    trust_all(other_workspace, ada)
    monkeypatch.setenv("TEAM_A_KEY", "key")
    monkeypatch.setenv("EDITOR", "ed")
    environment = read_environment(making.conversation(other_workspace))
    assert ("TEAM_A_KEY" in environment) is not is_trusted
    assert {"EDITOR", "PATH"} < environment.keys()


@pytest.mark.django_db(transaction=True)
def test_a_turn_loads_its_configuration_off_the_shared_thread(
    ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Loading one that costs much kept all answers over WebSockets waiting."""
    real, load_threads, shared_threads = conversation_config.load_conversation_config, [], []

    def load_config(conversation: Conversation) -> WorkspaceConfig:
        load_threads.append(current_thread())
        return real(conversation)

    def get_workspace(conversation: Conversation) -> Workspace:
        shared_threads.append(current_thread())
        return conversation.workspace

    monkeypatch.setattr(wiring, "load_conversation_config", load_config)
    monkeypatch.setattr(wiring, "_get_workspace", get_workspace)
    workspace = make_workspace(tmp_path, "a", LOCAL)
    trust_all(workspace, ada)
    read_environment(making.conversation(workspace))
    assert (len(load_threads), len(shared_threads)) == (1, 1)
    assert load_threads != shared_threads
