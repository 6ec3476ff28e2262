"""Downloads: made as they are taken, one large one a person, ended with their readers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper

from jpweb.runtime import downloads as under_way
from jpweb.runtime import exports, process_identity
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.downloads import DownloadUnderWay
from jpweb.store import audit
from jpweb.store import exports as store_exports
from jpweb.store.choices import Act, Role
from jpweb.store.exports import ExportChunk
from jpweb.store.maintenance import downloads as leases
from jpweb.store.maintenance import task_leases
from jpweb.store.maintenance.downloads import DownloadLease
from jpweb.store.models import Conversation, LedgerEntry, Membership, Person, TaskLease
from jpweb.store.transcript import item_batches
from jpweb.web.security import download_responses, file_names
from jpweb.web.views import events
from tests.architecture.tree import list_modules, read_text
from tests.machine import ports
from tests.machine.sizes import mark_proof
from tests.web.security.receiving import send_request, wait_until
from tests.web.security.shelves import Shelf

FORMATS, RAW_ROUTE = [f"export/{name}" for name in exports.FORMATS], "events/{anchor}/raw.txt"
#: Every route that answers with a file; in make test one of each way in which files are made.
ROUTES = ["/audit.csv", "events/{anchor}.json", FORMATS[0], *mark_proof(*FORMATS[1:], RAW_ROUTE)]
pytestmark = pytest.mark.django_db(transaction=True)


class Steps:
    """Counts the batches that were read, or cut from what was read."""

    count = 0


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    counter = Steps()

    def count_steps(function: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any) -> Any:
            counter.count += 1
            return function(*arguments)

        return count

    def cut(data: bytes) -> Iterator[ExportChunk]:
        for piece in download_responses.cut_into_pieces(data):
            counter.count += 1
            yield piece

    monkeypatch.setattr(audit, "_read_rows", count_steps(audit._read_rows))
    monkeypatch.setattr(store_exports, "_read_rows", count_steps(store_exports._read_rows))
    monkeypatch.setattr(item_batches, "_read_entries", count_steps(item_batches._read_entries))
    monkeypatch.setattr(events, "cut_into_pieces", cut)
    return counter


def count_exports() -> int:
    return LedgerEntry.objects.filter(act=Act.EXPORTED).count()


def find_lease(shelf: Shelf) -> DownloadLease | None:
    return leases.find_lease(shelf.person.pk)


async def wait_for_no_mark(shelf: Shelf) -> None:
    """Wait until neither this process nor the database says that a download is under way."""
    await wait_until(lambda: shelf.person.pk not in under_way._marks)
    async with asyncio.timeout(30):
        while await run_in_background_thread(find_lease, shelf) is not None:  # noqa: ASYNC110  a row
            await asyncio.sleep(0.01)


def test_files_are_sent_by_one_function_alone():
    senders = [
        str(path)
        for path in list_modules("jpweb")
        if any(
            word in read_text(path) for word in ("Content-Disposition", "StreamingHttp", "FileResp")
        )
    ]
    assert senders == ["jpweb/web/security/download_responses.py"]


@pytest.mark.parametrize("route", ROUTES)
async def test_download_sends_its_first_part_before_the_second_is_made(
    shelf: Shelf, steps: Steps, route: str
):
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        assert receiver.status == 200
        assert b"attachment" in receiver.headers[b"content-disposition"]
        assert b"content-length" not in receiver.headers
        assert steps.count == 1
        assert len(await receiver.take()) > 0
        # One part waits to be taken, and one is being made.
        assert steps.count <= 3
        await receiver.take_all()
        assert steps.count > 5


@pytest.mark.parametrize("route", ROUTES)
async def test_reader_that_leaves_ends_the_work_and_the_mark(
    shelf: Shelf, steps: Steps, route: str
):
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        await receiver.take()
    count_before = steps.count
    await wait_for_no_mark(shelf)
    assert steps.count == count_before <= 4


@pytest.mark.parametrize("route", ROUTES)
async def test_second_large_download_of_a_person_is_refused_with_the_name(shelf: Shelf, route: str):
    async with send_request(shelf.path("export/jp"), shelf.cookie) as first:
        export_count = await run_in_background_thread(count_exports)
        async with send_request(shelf.path(route), shelf.cookie) as second:
            assert second.status == 429
            page = (await second.take_all()).decode()
            name = file_names.name_conversation_file(shelf.conversation, ".events.json")
            assert f"You are downloading {name}." in page
            assert f'<a href="{shelf.path(route)}">try again</a>' in page
            assert await run_in_background_thread(count_exports) == export_count
        async with send_request(shelf.path(route), shelf.others_cookie) as another:
            assert another.status == 200
            assert await another.take_all()
        assert await first.take_all()
    async with send_request(shelf.path(route), shelf.cookie) as third:
        assert third.status == 200


EVENT_ROUTES = [
    ("events/{anchor}.json", "_encode_item"),
    ("events/{anchor}/raw.txt", "_encode_payload"),
]


@pytest.mark.parametrize(("route", "name"), EVENT_ROUTES, ids=["item", "payload"])
async def test_large_event_is_made_once_its_mark_is_taken(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, route: str, name: str
):
    is_marked = []
    encode = getattr(events, name)

    def note_mark(*arguments: Any) -> bytes:
        is_marked.append(shelf.person.pk in under_way._marks)
        data: bytes = encode(*arguments)
        return data

    monkeypatch.setattr(events, name, note_mark)
    async with send_request(shelf.path(route), shelf.cookie) as first:
        assert first.status == 200
        async with send_request(shelf.path(route), shelf.cookie) as second:
            assert second.status == 429
        assert is_marked == [True]
        assert await first.take_all()


async def test_large_event_without_the_payload_is_missing_and_has_no_mark(shelf: Shelf):
    async with send_request(shelf.path("events/{anchor}/none.txt"), shelf.cookie) as receiver:
        assert receiver.status == 404
    await wait_for_no_mark(shelf)


async def test_small_download_is_whole_beside_a_large_one(shelf: Shelf):
    small = f"/conversations/{shelf.small_conversation.pk}/export/jp"
    export_count = await run_in_background_thread(count_exports)
    large = send_request(shelf.path("export/jp"), shelf.cookie)
    async with large, send_request(small, shelf.cookie) as receiver:
        assert receiver.status == 200
        length = int(receiver.headers[b"content-length"])
        assert len(await receiver.take_all()) == length
    assert await run_in_background_thread(count_exports) == export_count + 2


async def test_head_request_of_a_download_builds_nothing(shelf: Shelf, steps: Steps):
    async with send_request(shelf.path("export/jp"), shelf.cookie, "HEAD") as receiver:
        assert receiver.status == 200
        assert await receiver.take_all() == b""
    assert steps.count == 0


async def test_mark_ends_with_the_download_and_says_how_far_it_is(shelf: Shelf):
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        await receiver.take()
        lease = under_way.find_download(shelf.person.pk)
        assert lease is not None
        assert (lease.file_name, 0 < lease.percent < 50) == (
            file_names.name_conversation_file(shelf.conversation, ".events.json"),
            True,
        )
        async with send_request("/download", shelf.cookie) as status:
            page = (await status.take_all()).decode()
            assert f"You are downloading {lease.file_name}." in page
            assert 'hx-trigger="every 2s"' in page
        await receiver.take_all()
    await wait_for_no_mark(shelf)


@pytest.mark.parametrize("route", [*FORMATS])
async def test_conversation_rewritten_meanwhile_cuts_the_connection(shelf: Shelf, route: str):
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        await receiver.take()
        queryset = Conversation.objects.filter(pk=shelf.conversation.pk)
        await run_in_background_thread(queryset.update, revision=shelf.conversation.revision + 1)
        await receiver.take_all()
        assert receiver.has_left
        await wait_for_no_mark(shelf)


@pytest.mark.parametrize("route", ["export/jp", "export/jsonl"])
async def test_download_of_a_conversation_rewritten_before_it_is_refused(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, route: str
):
    make_key = download_responses._make_key

    def rewrite(request: Any) -> Any:
        Conversation.objects.filter(pk=shelf.conversation.pk).update(
            revision=shelf.conversation.revision + 1
        )
        return make_key(request)

    monkeypatch.setattr(download_responses, "_make_key", rewrite)
    async with send_request(shelf.path(route), shelf.cookie) as receiver:
        assert receiver.status == 412
        assert b"Download it again" in await receiver.take_all()


async def test_download_is_cut_at_a_database_outage(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async with send_request("/audit.csv", shelf.cookie) as receiver:
        await receiver.take()

        def fail(*_: object) -> None:
            raise OperationalError("the server has not replied for 3 seconds")

        monkeypatch.setattr(audit, "_read_rows", fail)
        await receiver.take_all()
        assert receiver.has_left
        await wait_for_no_mark(shelf)
    assert [r.getMessage() for r in caplog.records if "was aborted" in r.getMessage()] == [
        "The download of /audit.csv was aborted: the server has not replied for 3 seconds"
    ]


@pytest.mark.parametrize("change", ["role", "sign-in"])
async def test_download_ends_with_the_right_to_read(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, change: str
):
    monkeypatch.setattr(under_way, "RENEWAL_SECONDS", 0.01)
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        await receiver.take()
        if change == "role":
            membership = Membership.objects.filter(person=shelf.person)
            await run_in_background_thread(membership.update, role=Role.READER)
        else:
            person = Person.objects.filter(pk=shelf.person.pk)
            await run_in_background_thread(person.update, is_active=False)
        mark = under_way._marks[shelf.person.pk]
        await wait_until(lambda: mark.is_revoked)
        await receiver.take_all()
        assert receiver.has_left


@pytest.mark.parametrize("route", ["/audit.csv", "/audit.jsonl"])
async def test_file_of_the_audit_is_cut_where_the_next_rows_are_not_readable(
    shelf: Shelf, route: str
):
    async with send_request(route, shelf.cookie) as receiver:
        await receiver.take()
        membership = Membership.objects.filter(person=shelf.person)
        await run_in_background_thread(membership.update, role=Role.READER)
        await receiver.take_all()
        assert receiver.has_left
        await wait_for_no_mark(shelf)


async def test_unclosed_download_releases_its_mark_when_collected(shelf: Shelf):
    begin = partial(
        under_way.begin_download, shelf.person.pk, "a.csv", ExportChunk(b"", 1, 2), iter(())
    )
    download = await begin(lambda: True)
    with pytest.raises(DownloadUnderWay, match=r"a\.csv is being downloaded"):
        await begin(lambda: True)
    del download
    gc.collect()
    await wait_for_no_mark(shelf)


async def test_download_that_ends_while_its_lease_is_read_refuses_no_other(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    person_id, is_read = shelf.person.pk, Event()
    find, release = leases.find_lease, leases.release_lease
    read_leases: list[DownloadLease | None] = []

    def find_until_released(person_id: int) -> DownloadLease | None:
        lease = find(person_id)
        read_leases.append(lease)
        is_read.set()
        ports.wait_until(lambda: person_id not in under_way._ending_marks, "the lease is released")
        return lease

    def release_once_read(lease: DownloadLease) -> None:
        is_read.wait(30)
        release(lease)

    first_piece = ExportChunk(b"", 1, 2)
    download = await under_way.begin_download(person_id, "a", first_piece, iter(()), lambda: True)
    lease = under_way.find_download(person_id)
    monkeypatch.setattr(leases, "find_lease", find_until_released)
    monkeypatch.setattr(leases, "release_lease", release_once_read)
    download.close()
    assert await run_in_db_thread(under_way.find_rival, person_id) is None
    assert read_leases == [lease]


def _other_lease(shelf: Shelf, name: str = "other#1") -> DownloadLease:
    return DownloadLease(shelf.person.pk, name, "b.csv", 42)


async def test_download_in_another_process_refuses_one_here(shelf: Shelf):
    assert await run_in_background_thread(leases.acquire_lease, _other_lease(shelf)) is None
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        assert receiver.status == 429
        page = (await receiver.take_all()).decode()
        assert "You are downloading b.csv." in page
        assert "42%" in page
    assert shelf.person.pk not in under_way._marks
    await run_in_background_thread(leases.release_lease, _other_lease(shelf))
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        assert receiver.status == 200


async def test_lease_of_a_killed_process_ends_by_itself(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(leases, "LEASE_SECONDS", -1.0)
    await run_in_background_thread(leases.acquire_lease, _other_lease(shelf))
    async with send_request(shelf.path("export/jp"), shelf.cookie) as receiver:
        assert receiver.status == 200


def test_server_that_starts_again_drops_the_leases_of_the_killed_one(shelf: Shelf):
    leases.acquire_lease(_other_lease(shelf, f"{process_identity.get_installation_name()}#1"))
    task_leases.expire_installation(process_identity.get_installation_name())
    assert find_lease(shelf) is None


def test_renew_lease_keeps_the_download_lease_and_its_progress(shelf: Shelf):
    leases.acquire_lease(_other_lease(shelf))
    further = DownloadLease(shelf.person.pk, "other#1", "b.csv", 77)
    assert leases.renew_lease(further)
    assert leases.find_lease(shelf.person.pk) == further
    TaskLease.objects.all().delete()
    assert leases.renew_lease(further), "a lease that ran out is taken again"
    assert not leases.renew_lease(_other_lease(shelf, "other#2"))


async def test_download_is_refused_when_its_record_cannot_be_written(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
):
    execute = CursorWrapper._execute_with_wrappers  # type: ignore[attr-defined]  # of Django

    def execute_read(cursor: CursorWrapper, sql: str, *args: Any, **options: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise OperationalError("database or disk is full")
        return execute(cursor, sql, *args, **options)

    monkeypatch.setattr(CursorWrapper, "_execute_with_wrappers", execute_read)
    async with send_request(shelf.path("events/{anchor}.json"), shelf.cookie) as receiver:
        assert receiver.status == 200
        async with send_request(shelf.path("events/{anchor}/raw.txt"), shelf.cookie) as second:
            assert second.status == 429
        assert len(await receiver.take_all()) > 0
    for route in ("/audit.csv", "export/jp"):
        async with send_request(shelf.path(route), shelf.cookie) as export:
            assert export.status == 503
            assert b"Database disk full" in await export.take_all()


def test_holder_of_the_longest_names_fits_its_column(shelf: Shelf):
    longest = max((export_format.suffix for export_format in exports.FORMATS.values()), key=len)
    lease = DownloadLease(2**31, f"{'x' * 100}#12345678", f"{'t' * 150}{longest}", 99)
    assert len(lease.holder_text) <= (TaskLease._meta.get_field("holder").max_length or 0)
    assert len(lease.name) <= (TaskLease._meta.get_field("name").max_length or 0)
