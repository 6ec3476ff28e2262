from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.errors import InvalidName
from jpweb.store.jp_files import mirror
from jpweb.store.models import Workspace
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("name", "message"),
    [("Gard\u200ben", "200B"), ("G\u0430rden", "two scripts"), ("garden", "like .*Garden")],
)
def test_mirror_of_a_name_that_imitates_is_refused(tmp_path: Path, name: str, message: str):
    making.workspace("Garden")
    root = tmp_path / name
    (root / ".jp").mkdir(parents=True)
    with pytest.raises(InvalidName, match=f"{message}.*--name NAME"):
        mirror.mirror_workspace(root)
    assert Workspace.objects.count() == 1
    workspace, _ = mirror.mirror_workspace(root, "Another")
    assert mirror.mirror_workspace(root)[0].name == workspace.name == "Another"


def test_mirror_of_two_folders_of_one_name_is_allowed(tmp_path: Path):
    for place in ("a", "b"):
        (tmp_path / place / "app" / ".jp").mkdir(parents=True)
        assert mirror.mirror_workspace(tmp_path / place / "app")[0].name == "app"
