"""File responses: small files in one piece, large ones streamed, one at a time per person."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.runtime import downloads, kept_downloads
from jpweb.runtime.broadcast.flow_control import CUT_CONNECTION_KEY
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.downloads import Download, DownloadUnderWay
from jpweb.runtime.kept_downloads import SLICE_BYTES, DownloadKey, KeptDownload
from jpweb.store import accounts
from jpweb.store.database.availability import DATABASE_ERROR, find_outage
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import ExportChunk
from jpweb.store.maintenance.downloads import load_content_version
from jpweb.web import notice_text

if TYPE_CHECKING:
    from jpweb.web.http import Request

logger = logging.getLogger(__name__)

#: Keeps on a request which download it resumes.
_RESUMED_ATTRIBUTE = "resumed_download"


async def send_file(
    request: Request,
    pieces: Iterator[ExportChunk],
    file_name: str,
    content_type: str,
    may_read: Callable[[], bool] = lambda: True,
    record: Callable[[], None] = lambda: None,
) -> HttpResponseBase:
    """Return a file to download; a person's second large download at a time is refused.

    ``record`` records the export of a file that is not refused; a resumed one is no other export.
    A file of one piece is small. One that begins with a piece without bytes is made once the mark
    is taken. ``may_read`` and the session are checked again while a large one is sent. A large one
    that was cut is resumed where the request asks for that.
    """
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    if request.method == "HEAD":
        return HttpResponse(content_type=content_type, headers=headers)
    session_key = request.session.session_key or ""

    def can_continue() -> bool:
        return accounts.get_signed_in_person(session_key) is not None and may_read()

    resumed_download = await run_in_db_thread(_find_resumed, request)
    if resumed_download is not None:
        return await _resume(
            request, resumed_download, file_name, content_type, headers, can_continue
        )
    # Before the first piece: what is hidden meanwhile ends the chance to resume.
    key = await run_in_db_thread(_make_key, request)
    try:
        first_piece = await _read_first_piece(request, pieces, record)
        if first_piece.is_last:
            return HttpResponse(first_piece.data, content_type=content_type, headers=headers)
        kept_download = KeptDownload(key, pieces)
        download = await downloads.begin_download(
            request.user.pk, file_name, first_piece, kept_download, can_continue
        )
    except DownloadUnderWay as refusal:
        return await run_in_db_thread(_refuse_download, request, refusal)
    except ExportBroken:
        return HttpResponse(notice_text.DOWNLOAD_CHANGED, status=412, content_type="text/plain")
    if first_piece.data:
        await run_in_background_thread(kept_download.keep_bytes, first_piece.data)
    else:
        await download.make_first_piece()
    kept_downloads.keep_download(kept_download)
    headers |= {"ETag": kept_download.etag, "Accept-Ranges": "bytes"}
    stream = _DownloadStream(request, download, kept_download, download)
    return StreamingHttpResponse(stream, content_type=content_type, headers=headers)


async def _read_first_piece(
    request: Request, pieces: Iterator[ExportChunk], record: Callable[[], None]
) -> ExportChunk:
    """Return the first piece, and record the export. Raises DownloadUnderWay, ExportBroken.

    It is recorded before the piece is made, because a bundle and personal data hold that entry;
    beside another download only once the piece shows that the file is small.
    """
    lease = await run_in_db_thread(downloads.find_rival, request.user.pk)
    if lease is None:
        await run_in_db_thread(record)
    piece = await downloads.read_first_piece(pieces)
    if lease is not None:
        if not piece.is_last:
            raise DownloadUnderWay(lease)
        await run_in_db_thread(record)
    return piece


def _find_resumed(request: Request) -> KeptDownload | None:
    """Return the download that a request resumes; None where it begins a new one.

    The answer is the same for the whole request, however long it takes.
    """
    if not hasattr(request, _RESUMED_ATTRIBUTE):
        etag, range_header = (request.headers.get(name, "") for name in ("If-Range", "Range"))
        address = request.get_full_path()
        kept_download = (
            kept_downloads.find_kept(request.user.pk, address, etag)
            if kept_downloads.parse_range(range_header) is not None
            else None
        )
        if kept_download is not None and kept_download.key != _make_key(request):
            kept_downloads.drop_download(kept_download)
            kept_download = None
        setattr(request, _RESUMED_ATTRIBUTE, kept_download)
    resumed_download: KeptDownload | None = getattr(request, _RESUMED_ATTRIBUTE)
    return resumed_download


async def _resume(
    request: Request,
    kept_download: KeptDownload,
    file_name: str,
    content_type: str,
    headers: dict[str, str],
    can_continue: Callable[[], bool],
) -> HttpResponseBase:
    """Return the rest of a download, once all of it is made."""

    def can_resume() -> bool:
        version = load_content_version(request.user.pk)
        return can_continue() and version == kept_download.key.version

    if not await run_in_db_thread(can_resume):
        kept_downloads.drop_download(kept_download)
        return HttpResponse(notice_text.DOWNLOAD_CHANGED, status=412, content_type="text/plain")
    try:
        download = await downloads.resume_download(
            request.user.pk, file_name, kept_download, can_resume
        )
        return await _send_remaining(
            request, kept_download, download, content_type, headers, can_resume
        )
    except DownloadUnderWay as refusal:
        return await run_in_db_thread(_refuse_download, request, refusal)
    except ExportBroken:
        kept_downloads.drop_download(kept_download)
        return HttpResponse(notice_text.DOWNLOAD_CHANGED, status=412, content_type="text/plain")


async def _send_remaining(
    request: Request,
    kept_download: KeptDownload,
    download: Download,
    content_type: str,
    headers: dict[str, str],
    can_resume: Callable[[], bool],
) -> HttpResponseBase:
    """Return the rest, once it is made; it has the mark of ``download`` until it is sent.

    Raises the errors of ``Download``.
    """
    is_sent = False
    try:
        if not kept_download.is_complete:
            await download.make_remaining()
        if not kept_download.is_kept or not kept_download.is_complete:
            raise ExportBroken(notice_text.DOWNLOAD_CHANGED)
        offset = kept_downloads.parse_range(request.headers["Range"]) or 0
        total = kept_download.byte_count
        headers |= {"ETag": kept_download.etag, "Accept-Ranges": "bytes"}
        if offset >= total:
            headers["Content-Range"] = f"bytes */{total}"
            return HttpResponse(status=416, headers=headers)
        headers["Content-Range"] = f"bytes {offset}-{total - 1}/{total}"
        headers["Content-Length"] = str(total - offset)
        remaining_chunks = kept_download.read_from(offset, can_resume)
        stream = _DownloadStream(request, remaining_chunks, kept_download, download)
        is_sent = True
        return StreamingHttpResponse(stream, status=206, content_type=content_type, headers=headers)
    finally:
        if not is_sent:
            download.close()


def is_large(byte_count: int) -> bool:
    """Tell whether bytes from memory take several pieces."""
    return byte_count > SLICE_BYTES


def cut_into_pieces(data: bytes) -> Iterator[ExportChunk]:
    """Yield bytes from memory in pieces of ``SLICE_BYTES``."""
    for start in range(0, max(len(data), 1), SLICE_BYTES):
        yield ExportChunk(data[start : start + SLICE_BYTES], start + SLICE_BYTES, len(data))


class _DownloadStream:
    """A streamed download, or the rest of one; an error aborts the connection.

    The browser then reports a failed download; a stream that only ended would look complete.
    """

    def __init__(
        self,
        request: Request,
        source: AsyncIterator[bytes],
        kept_download: KeptDownload,
        download: Download,
    ) -> None:
        self._source = source
        self._download = download
        self._kept = kept_download
        self._path = request.path
        self._abort_connection: Callable[[], None] | None = getattr(request, "scope", {}).get(
            CUT_CONNECTION_KEY
        )
        if self._abort_connection is not None:
            download.call_when_superseded(self._abort_connection)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            self._download.check_mark()
            return await anext(self._source)
        except DownloadUnderWay as error:
            if self._abort_connection is None:
                raise
            raise StopAsyncIteration from error  # the connection is cut
        except (ExportBroken, DATABASE_ERROR) as error:
            kept_downloads.drop_download(self._kept)
            if isinstance(error, DATABASE_ERROR) and find_outage(error) is None:
                raise
            if self._abort_connection is None:
                raise
            logger.warning("The download of %s was aborted: %s", self._path, error)
            self._abort_connection()
            raise StopAsyncIteration from error

    def close(self) -> None:
        """Release the person's download lease."""
        self._download.close()


def _make_key(request: Request) -> DownloadKey:
    version = load_content_version(request.user.pk)
    return DownloadKey(request.user.pk, request.get_full_path(), version)


def _refuse_download(request: Request, refusal: DownloadUnderWay) -> HttpResponse:
    context = {"lease": refusal.lease, "retry_url": request.get_full_path()}
    response = render(request, "downloads/busy.html", context, status=429)
    response["Retry-After"] = "30"
    return response
