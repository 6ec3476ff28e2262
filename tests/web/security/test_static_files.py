from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from jpweb import installation


def test_static_file_is_kept_by_the_browser_without_asking(client: Client):
    with closing(client.get(static("jpweb.js"))) as response:
        assert response.status_code == 200
        assert "immutable" in response.headers["Cache-Control"]


def test_static_file_of_another_version_leads_to_the_present_one(client: Client):
    response = client.get("/static/0123456789ab/parts/page.js")
    assert response.headers["Location"] == static("parts/page.js")
    assert "no-store" in response.headers["Cache-Control"]
    with closing(client.get(response.headers["Location"])) as present:
        assert present.status_code == 200


@pytest.mark.parametrize("version", ["0123456789ab", settings.STATIC_URL.split("/")[-2]])
@pytest.mark.parametrize(
    ("name", "status"), [("", 404), ("nothing.js", 404), ("../manage.py", 400)]
)
def test_static_file_that_is_none_is_refused(client: Client, version: str, name: str, status: int):
    assert client.get(f"/static/{version}/{name}").status_code == status


def test_compute_static_version_changes_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(installation, "RESOURCE_DIR", tmp_path)
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "a.js").write_text("1")
    before = installation.compute_static_version()
    assert installation.compute_static_version() == before
    (tmp_path / "static" / "a.js").write_text("2")
    assert installation.compute_static_version() != before
