"""An auditor's way from last month's questions to evidence that a third person verifies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DEMO
from tests.browser.pages import Home, Visit, serve_home
from tests.machine.browsing import Pages
from tests.machine.serving import Server

# Its own server and three people: 13 s. tests/web/views/audit and tests/runtime/evidence prove the
# steps one by one.
pytestmark = [pytest.mark.browser, pytest.mark.proof]

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+")
_UNATTENDED = "no one available to ask"
_WORKSPACE = "orchard"


@pytest.fixture
def orchard(tmp_path: Path) -> Iterator[Home]:
    """Serve a workspace with a night of last month in which nobody was there to answer."""
    root = tmp_path / _WORKSPACE
    source = next((DEMO / "conversations").glob("*-nobody-*"))
    last_month = (datetime.now(UTC).replace(day=1) - timedelta(days=1)).strftime("%Y-%m-")
    begun = datetime.fromisoformat(f"{last_month}15T01:00:00+00:00")
    folder = root / ".jp" / "conversations" / f"{int(begun.timestamp() * 10)}-a-night-alone"
    folder.mkdir(parents=True)
    for file in source.iterdir():
        moved = _TIMESTAMP.sub(lambda match: f"{last_month}15{match[0][10:]}", file.read_text())
        (folder / file.name).write_text(moved)
    (root / ".jp" / ".id").write_text("night\n")
    with serve_home(Server(tmp_path / "data", workspace=root)) as home:
        yield home


def test_auditors_find_review_and_export_unattended_questions(
    orchard: Home, open_page: Pages, tmp_path: Path
):
    visit = Visit(orchard, open_page)
    choose_two_reviews(visit.open("/"))
    ada, ben = (orchard.invite(name, "auditor", _WORKSPACE) for name in ("Ada", "Ben"))

    page = visit.open("/audit", who=ada)
    find_unattended_questions_of_last_month(page)
    page.locator("tbody a.details").first.click()
    expect(page.locator("#question-details")).to_be_visible()
    page.get_by_role("button", name="Start review").click()
    give_verdict(page, "Wrong", "Somebody should have been on call.")
    expect(page.locator("#reviews")).to_contain_text("1 of 2 reviews")

    second = visit.open("/audit/reviews", who=ben)
    second.get_by_role("button", name="Review Waiting for a second review").click()
    expect(second.locator("#reviews")).to_contain_text("hidden until the second review is in")
    expect(second.locator("body")).not_to_contain_text("on call")
    give_verdict(second, "Wrong", "The same night went wrong twice.")

    page.reload()
    for note in ("on call", "went wrong twice"):
        expect(page.locator("#reviews")).to_contain_text(note)
    page.goto(f"{visit.server.url}/audit")
    find_unattended_questions_of_last_month(page)
    page.get_by_text("More formats").click()
    bundle = download(page, page.get_by_role("link", name=re.compile("^Evidence bundle")), tmp_path)
    verifier = download(page, page.get_by_role("link", name="Verifier of evidence"), tmp_path)
    page.get_by_role("link", name="Ledger", exact=True).click()
    key_row = page.locator("dl div", has_text="Public key")
    public_key = key_row.locator("code").inner_text()

    verified = verify(verifier, bundle, public_key)
    assert (verified.returncode, verified.stderr) == (0, ""), verified.stdout
    assert list_reviewers(bundle) == ["Ada", "Ben"]
    other_key = "0" * len(public_key)
    assert verify(verifier, bundle, other_key).returncode == 1


def choose_two_reviews(page: Page) -> None:
    page.locator("header details.menu summary").click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name=f"Question settings of {_WORKSPACE}").click()
    page.get_by_label("Two reviews").check()
    page.get_by_role("button", name="Save").last.click()
    expect(page.locator(".notice").first).to_be_visible()


def find_unattended_questions_of_last_month(page: Page) -> None:
    page.locator(".quick-ranges a").last.click()
    page.get_by_label("Reason").select_option(label=_UNATTENDED)
    page.get_by_role("button", name="Filter").click()
    rows = page.locator("tbody tr")
    expect(rows.first).to_have_attribute("data-reason", "no_prompt_backend")
    reasons = rows.evaluate_all("rows => rows.map(row => row.dataset.reason)")
    assert set(reasons) == {"no_prompt_backend"}


def give_verdict(page: Page, verdict: str, note: str) -> None:
    form = page.locator("form[data-review]")
    form.get_by_label(verdict).check()
    form.get_by_label("Note").fill(note)
    form.get_by_role("button", name="Save").click()
    expect(page.locator(".notice").first).to_have_text("Saved your review.")


def download(page: Page, link: Locator, folder: Path) -> Path:
    with page.expect_download() as event:
        link.click()
    path = folder / event.value.suggested_filename
    event.value.save_as(path)
    return path


def verify(verifier: Path, bundle: Path, public_key: str) -> subprocess.CompletedProcess[str]:
    """Run the downloaded verifier, apart from jpweb and its libraries."""
    command = [sys.executable, "-I", "-S", str(verifier), str(bundle), "--public-key", public_key]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def list_reviewers(bundle: Path) -> list[str]:
    """Return who reviewed, by the ledger's entries of the bundle, in their order."""
    with zipfile.ZipFile(bundle) as archive:
        lines = archive.read("ledger/entries.jsonl").decode().splitlines()
    entries = [json.loads(json.loads(line)["text"]) for line in lines]
    return [entry["by"]["name"] for entry in entries if entry["act"] == "reviewed"]
