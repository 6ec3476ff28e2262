from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from jpweb import installation


@pytest.mark.django_db  # a response that is closed looks at a connection that is open
def test_static_file_is_kept_by_the_browser_without_asking(client: Client):
    with closing(client.get(static("jpweb.js"))) as response:
        assert response.status_code == 200
        assert "immutable" in response.headers["Cache-Control"]


@pytest.mark.django_db  # a response that is closed looks at a connection that is open
def test_static_file_of_another_version_leads_to_the_present_one(client: Client):
    response = client.get("/static/0123456789ab/js/socket.js")
    assert response.headers["Location"] == static("js/socket.js")
    assert "no-store" in response.headers["Cache-Control"]
    with closing(client.get(response.headers["Location"])) as present:
        assert present.status_code == 200


@pytest.mark.parametrize("version", ["0123456789ab", settings.STATIC_URL.split("/")[-2]])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="no-name"),
        pytest.param("nothing.js", id="no-file"),
        pytest.param("../manage.py", id="parent"),
        pytest.param("..%2fmanage.py", id="escaped-parent"),
        pytest.param("//evil.example/x", id="network-path"),
        pytest.param("http://evil.example/x", id="address"),
        pytest.param("jpweb.js%00", id="NUL"),
        pytest.param("..\\manage.py", id="backslash"),
        pytest.param("..%5cmanage.py", id="escaped-backslash"),
        pytest.param("\\\\evil.example\\x", id="network-path-in-backslashes"),
    ],
)
def test_static_file_that_is_none_is_missing(
    client: Client, caplog: pytest.LogCaptureFixture, version: str, name: str
):
    assert client.get(f"/static/{version}/{name}").status_code == 404
    assert [record for record in caplog.records if record.exc_info] == [], "a traceback in the log"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a.js": "1"}, {"a.js": "2"}, id="other-content"),
        pytest.param({"a.js": "1"}, {"b.js": "1"}, id="other-name"),
        pytest.param({"a/x.js": "1"}, {"b/x.js": "1"}, id="other-folder"),
        pytest.param(
            {"a/x.js": "1", "b/x.js": "1x.js1"},
            {"a/x.js": "1x.js1", "b/x.js": "1"},
            id="swapped-folders",
        ),
        pytest.param(
            {"../docs/pictures/a.png": "1"}, {"../docs/pictures/a.png": "2"}, id="other-picture"
        ),
    ],
)
def test_compute_static_version_changes_with_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, str], after: dict[str, str]
):
    versions = [
        _compute_version(tmp_path / str(number), monkeypatch, files)
        for number, files in enumerate((before, before, after))
    ]
    assert versions[0] == versions[1] != versions[2]


def _compute_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch, contents: dict[str, str]
) -> str:
    """Return the version of these files as the static files of an installation."""
    for name, content in contents.items():
        file = (folder / "static" / name).resolve()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    monkeypatch.setattr(installation, "RESOURCE_DIR", folder)
    monkeypatch.setattr(installation, "PICTURES_DIR", folder / "docs" / "pictures")
    return installation.compute_static_version()
