"""The Tools page names where the configuration comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.reading import parse_page
from tests.web.world import World

pytestmark = pytest.mark.django_db


def test_tools_page_names_config_sources_and_untrusted_commands(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own, root = tmp_path / "own", tmp_path / "ws"
    for folder, text in ((own, 'command = "run mine"'), (root / ".jp", 'run = "ask"')):
        folder.mkdir(parents=True)
        table = f'[conversation.tools.mine]\nsource = "local"\n{text}\n'
        (folder / "config.toml").write_text(table)
    world.workspace.root = str(root)
    world.workspace.save()
    monkeypatch.setenv("JP_GLOBAL_CONFIG_DIR", str(own))
    monkeypatch.setenv("JP_CFG_ASSISTANT_MODEL_ID", "openai/other")
    html_page = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/tools"))
    text = html_page.find_one(**{"data-sources": ""}).text
    assert text.startswith("3 sources, and the overrides saved here")
    names = ("user-global/config.toml", ".jp/config.toml", "JP_CFG_ASSISTANT_MODEL_ID")
    positions = [text.index(name) for name in names]
    assert positions == sorted(positions)
    assert html_page.find_one(**{"data-model": "openai/other"})
    tool_text = html_page.find_one(**{"data-tool": "mine"}).text
    assert "not trusted yet" in tool_text
    assert "required" in tool_text
    assert [tag for tag in html_page.find_all(name="item") if tag["value"].endswith(" mine")]
