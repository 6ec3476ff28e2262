from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties import watching
from jpweb.runtime.signals import announce
from jpweb.store.disk import mirror
from jpweb.store.disk.mirror import Report
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatResponse
from tests.builders import stream
from tests.runtime.playing import ear, eventually
from tests.store.making import folder

NAME = "17000000000-a-talk"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    folder(tmp_path / "repository", NAME, stream(ChatResponse("message", "One")))
    return tmp_path / "repository"


async def test_what_jp_writes_is_on_the_page_at_once(root: Path):
    await in_store(mirror.mirror, root)
    talk = await in_store(Conversation.objects.get)
    told: list[Report] = []
    async with ear(announce.conversation_group(talk.pk)) as reading:
        task = asyncio.create_task(watching.follow(root, told.append))
        words = (ChatResponse("message", "One"), ChatResponse("message", "Two"))

        async def grown() -> bool:
            folder(root, NAME, stream(*words))
            await asyncio.sleep(0.2)
            return (await in_store(Conversation.objects.get)).length == 2

        await eventually(grown)
        assert await reading() == {"kind": "conversation"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told[0].events == 1


async def test_nothing_is_followed_where_there_is_nothing(tmp_path: Path):
    await asyncio.wait_for(watching.follow(tmp_path), 5)


async def test_a_pass_that_finds_nothing_tells_nobody(root: Path):
    await in_store(mirror.mirror, root)
    told: list[Report] = []
    await watching.refresh(root, told.append)
    assert told == []


async def test_a_workspace_that_went_away_is_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    await watching.refresh(tmp_path / "away", lambda _report: None)
    assert "cannot be mirrored" in caplog.text


async def test_problems_are_lines_in_the_log(root: Path, caplog: pytest.LogCaptureFixture):
    (root / ".jp" / "conversations" / NAME / "events.json").write_text("{")
    await watching.refresh(root, watching._log)
    assert f"{NAME}: events.json" in caplog.text
