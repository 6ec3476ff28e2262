"""Files of a conversation run here that vanish, or lack the end of its journal."""

from __future__ import annotations

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import NoWorkspace
from jpweb.store.models import Run
from tests.runtime import providers
from tests.store.jp_files.test_attachments import Attached, stage
from tests.store.making import read_tree

__all__ = ["stage"]


async def test_workspace_without_its_jp_is_not_the_one_above_it(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    outer = stage.root.parent / ".jp"
    (outer / "conversations").mkdir(parents=True)
    (stage.root / ".jp").rename(stage.root / "away")
    before = read_tree(outer)
    providers.use_provider(monkeypatch, providers.Says())
    with pytest.raises(NoWorkspace, match="garden is no JP workspace any more"):
        await stage.play_turn()
    assert read_tree(outer) == before
    assert await run_in_db_thread(Run.objects.count) == 0
