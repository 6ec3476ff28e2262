"""Downloads that were cut: resumed by those who began them, while nothing was hidden since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from jpweb.runtime import kept_downloads
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.store.choices import Act, Role
from jpweb.store.exports import ExportChunk
from jpweb.store.maintenance.downloads import ContentVersion
from jpweb.store.models import Conversation, LedgerEntry, Membership, Redaction, SignIn
from tests.machine.sizes import mark_proof
from tests.web.security.receiving import Headers, send_request
from tests.web.security.shelves import Shelf

pytestmark = pytest.mark.django_db(transaction=True)
ROUTES = ["/audit.csv", "export/jp", *mark_proof("export/markdown", "events/{anchor}/raw.txt")]


async def cut(shelf: Shelf, route: str = "export/jp") -> tuple[bytes, bytes]:
    """Take the first part of a download and leave; return that part and the ETag."""
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        assert receiver.headers[b"accept-ranges"] == b"bytes"
        return await receiver.take(), receiver.headers[b"etag"]


def ask_for(offset: int, etag: bytes) -> Headers:
    return [(b"range", f"bytes={offset}-".encode()), (b"if-range", etag)]


async def resume(
    shelf: Shelf, headers: Headers, route: str = "export/jp", cookie: str = ""
) -> tuple[int, bytes, dict[bytes, bytes]]:
    """Return status, body and headers; waits until the one that was cut has left its mark."""
    while True:
        path = shelf.path(route)
        async with send_request(path, cookie or shelf.cookie, headers=headers) as receiver:
            body = await receiver.take_all()
            if receiver.status != 429:
                return receiver.status, body, receiver.headers
        await asyncio.sleep(0.02)


def count_exports() -> int:
    return LedgerEntry.objects.filter(act=Act.EXPORTED).count()


@pytest.mark.parametrize("route", ROUTES)
async def test_resumed_download_gives_the_rest_without_another_entry(shelf: Shelf, route: str):
    part, etag = await cut(shelf, route)
    exports = await run_in_background_thread(count_exports)
    status, remaining_bytes, headers = await resume(shelf, ask_for(len(part), etag), route)
    assert status == 206
    total = len(part) + len(remaining_bytes)
    assert headers[b"content-range"] == f"bytes {len(part)}-{total - 1}/{total}".encode()
    assert int(headers[b"content-length"]) == len(remaining_bytes) > 0
    again = await resume(shelf, ask_for(0, etag), route)
    assert again[:2] == (206, part + remaining_bytes)
    assert await run_in_background_thread(count_exports) == exports
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        whole = await receiver.take_all()
    if route != "export/markdown":  # which says when it was made
        assert whole == part + remaining_bytes


async def test_resumption_takes_the_place_of_a_response_that_nobody_reads(shelf: Shelf):
    path = shelf.path("export/jp")
    async with send_request(path, shelf.cookie) as unread:
        part, etag = await unread.take(), unread.headers[b"etag"]
        headers = ask_for(len(part), etag)
        async with send_request(path, shelf.cookie, headers=headers) as receiver:
            assert receiver.status == 206
            remaining_bytes = await receiver.take_all()
        await unread.wait_for_end()
        assert unread.has_left
    assert (await resume(shelf, ask_for(0, etag)))[:2] == (206, part + remaining_bytes)


async def test_resumed_download_is_one_of_the_large_ones_of_its_person(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept_downloads, "SLICE_BYTES", 1000)
    _, etag = await cut(shelf)
    whole = (await resume(shelf, ask_for(0, etag)))[1]
    path, headers = shelf.path("export/jp"), ask_for(0, etag)
    async with send_request(path, shelf.cookie, headers=headers) as first:
        assert first.status == 206
        await first.take()
        async with send_request(shelf.path("export/jsonl"), shelf.cookie) as other:
            assert other.status == 429
            await other.take_all()
        async with send_request(path, shelf.cookie, headers=headers) as second:
            assert (second.status, await second.take_all()) == (206, whole)
        await first.wait_for_end()
        assert first.has_left
    assert (await resume(shelf, [], "export/jsonl"))[0] == 200


async def test_range_beyond_the_end_is_refused_with_the_length(shelf: Shelf):
    _, etag = await cut(shelf)
    status, _, headers = await resume(shelf, ask_for(10**9, etag))
    assert status == 416
    assert headers[b"content-range"].startswith(b"bytes */")


@pytest.mark.parametrize(
    ("range_header", "has_etag"),
    [
        ("bytes=5-", False),
        ("bytes=1-2,5-", True),
        *mark_proof(("bytes=-5", True), ("bytes=٣-", True)),
    ],
)
async def test_resumed_download_with_another_range_starts_again(
    shelf: Shelf, range_header: str, has_etag: bool
):
    _, etag = await cut(shelf)
    exports = await run_in_background_thread(count_exports)
    tag = [(b"if-range", etag)] if has_etag else []
    status, body, _ = await resume(shelf, [(b"range", range_header.encode()), *tag])
    assert (status, body[:1]) == (200, b"[")
    assert await run_in_background_thread(count_exports) == exports + 1


async def test_resumed_download_requires_its_person_and_url(shelf: Shelf):
    part, etag = await cut(shelf)
    assert (await resume(shelf, ask_for(len(part), b'"another"')))[0] == 200
    part, etag = await cut(shelf)
    wanted = ask_for(len(part), etag)
    assert (await resume(shelf, wanted, cookie=shelf.others_cookie))[0] == 200
    assert (await resume(shelf, wanted, "export/jsonl"))[0] == 200


def _hide_something(shelf: Shelf) -> None:
    Redaction.objects.create(conversation=shelf.conversation, anchor=shelf.anchor, reason="Leaked")


def _change_role(shelf: Shelf) -> None:
    Membership.objects.filter(person=shelf.person).update(role=Role.OWNER)


@pytest.mark.parametrize("change", [_hide_something, _change_role])
async def test_resumed_download_starts_again_after_a_redaction_or_role_change(
    shelf: Shelf, change: Callable[..., None]
):
    part, etag = await cut(shelf)
    await run_in_background_thread(change, shelf)
    assert (await resume(shelf, ask_for(len(part), etag)))[0] == 200


def _remove_member(shelf: Shelf) -> None:
    Membership.objects.filter(person=shelf.person).delete()


def _end_sign_ins(shelf: Shelf) -> None:
    SignIn.objects.filter(person=shelf.person).delete()


@pytest.mark.parametrize("change", [_remove_member, _hide_something, *mark_proof(_end_sign_ins)])
async def test_resumed_download_breaks_off_like_one_that_is_made(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None]
):
    monkeypatch.setattr(kept_downloads, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(kept_downloads, "SLICE_BYTES", 1000)
    _, etag = await cut(shelf)
    whole_length = len((await resume(shelf, ask_for(0, etag)))[1])
    headers = ask_for(0, etag)
    async with send_request(shelf.path("export/jp"), shelf.cookie, headers=headers) as receiver:
        assert receiver.status == 206
        slice_length = len(await receiver.take())
        await run_in_background_thread(change, shelf)
        # One slice waits to be taken, and one may be on its way.
        assert slice_length + len(await receiver.take_all()) <= 3000 < whole_length
        assert receiver.has_left
    assert kept_downloads.find_kept(shelf.person.pk, shelf.path("export/jp"), etag.decode()) is None


async def test_resumed_download_is_checked_again_after_a_while(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    _, etag = await cut(shelf)
    assert (await resume(shelf, ask_for(0, etag)))[0] == 206
    kept_download = kept_downloads.find_kept(
        shelf.person.pk, shelf.path("export/jp"), etag.decode()
    )
    assert kept_download is not None
    seconds, checks = [0.0], []
    monkeypatch.setattr(kept_downloads, "SLICE_BYTES", 1000)
    monkeypatch.setattr(kept_downloads, "monotonic", lambda: seconds[0])
    slices = kept_download.read_from(0, lambda: not checks.append(seconds[0]))  # type: ignore[func-returns-value]  # None
    for seconds[0] in (1.0, 4.0, 7.0, 8.0, 12.5):
        await anext(slices)
    assert checks == [7.0, 12.5]


async def test_conversation_that_was_rewritten_is_not_mixed(shelf: Shelf):
    part, etag = await cut(shelf)
    rows = Conversation.objects.filter(pk=shelf.conversation.pk)
    await run_in_background_thread(rows.update, revision=shelf.conversation.revision + 1)
    status, body, _ = await resume(shelf, ask_for(len(part), etag))
    assert status == 412
    assert b"Download it again" in body


@pytest.mark.parametrize(("limit", "value"), [("KEPT_SECONDS", 0.0), ("MAX_KEPT_BYTES", 10)])
async def test_kept_downloads_are_bounded_in_time_and_size(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, limit: str, value: Any
):
    monkeypatch.setattr(kept_downloads, limit, value)
    part, etag = await cut(shelf)
    assert (await resume(shelf, ask_for(len(part), etag)))[0] == 200


async def test_full_disk_ends_the_chance_to_resume_and_not_the_download(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_downloads._NamelessFile, "write", fail)
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        assert (await receiver.take_all()).endswith(b"]\n")
        assert receiver.status == 200


def list_contents(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


async def test_kept_bytes_have_no_name_in_the_data_folder(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    part, etag = await cut(shelf)
    assert list_contents(tmp_path) == []
    assert (await resume(shelf, ask_for(len(part), etag)))[0] == 206


async def test_process_keeps_the_newest_downloads():
    pieces = iter([ExportChunk(b"x", 1, 1)])
    keys = [
        kept_downloads.DownloadKey(person_id, "/a", ContentVersion(0, 0, ()))
        for person_id in range(10_000, 10_001 + kept_downloads.MAX_KEPT_DOWNLOADS)
    ]
    downloads = [kept_downloads.KeptDownload(key, pieces) for key in keys]
    for download in downloads:
        download.keep_bytes(b"x")
        kept_downloads.keep_download(download)

    def is_kept(download: kept_downloads.KeptDownload) -> bool:
        kept_download = kept_downloads.find_kept(download.key.person_id, "/a", download.etag)
        return kept_download is download

    assert [is_kept(download) for download in downloads] == [False, *[True] * (len(keys) - 1)]


def fail_after_one_piece() -> Iterator[ExportChunk]:
    yield ExportChunk(b"x", 1, 2)
    raise OperationalError("the server closed the connection")


def test_download_whose_source_failed_is_not_kept_as_if_it_were_complete():
    """A generator that has raised is exhausted: the next call looks like the end."""
    key = kept_downloads.DownloadKey(1, "/a", ContentVersion(0, 0, ()))
    download = kept_downloads.KeptDownload(key, fail_after_one_piece())
    assert next(download).data == b"x"
    assert download.is_kept
    with pytest.raises(OperationalError):
        next(download)
    assert next(download, None) is None
    assert not download.is_kept
