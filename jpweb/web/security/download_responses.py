"""File responses: small files in one piece, large ones streamed, one at a time per person."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.runtime import downloads
from jpweb.runtime.broadcast.flow_control import CUT_CONNECTION_KEY
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.downloads import Download, DownloadUnderWay
from jpweb.store import accounts
from jpweb.store.database.availability import DATABASE_ERROR, find_outage
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import ExportChunk

if TYPE_CHECKING:
    from jpweb.web.http import Request

logger = logging.getLogger(__name__)

#: Bytes per piece when a file that is in memory is streamed.
SLICE_BYTES = 512 * 1024


async def send_file(
    request: Request,
    pieces: Iterator[ExportChunk],
    file_name: str,
    content_type: str,
    may_read: Callable[[], bool] = lambda: True,
) -> HttpResponseBase:
    """Return a file to download; a person's second large download at a time is refused.

    A file of one piece is small. ``may_read`` and the session are checked again while a large one
    is sent.
    """
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    if request.method == "HEAD":
        return HttpResponse(content_type=content_type, headers=headers)
    first_piece = await downloads.read_first_piece(pieces)
    if first_piece.is_last:
        return HttpResponse(first_piece.data, content_type=content_type, headers=headers)
    session_key = request.session.session_key or ""

    def may_continue() -> bool:
        return accounts.get_signed_in_person(session_key) is not None and may_read()

    try:
        download = await downloads.begin_download(
            request.user.pk, file_name, first_piece, pieces, may_continue
        )
    except DownloadUnderWay as refusal:
        return await run_in_db_thread(_refuse_download, request, refusal)
    return StreamingHttpResponse(
        _DownloadStream(request, download), content_type=content_type, headers=headers
    )


def cut_into_pieces(data: bytes) -> Iterator[ExportChunk]:
    """Yield bytes from memory in pieces of ``SLICE_BYTES``."""
    for start in range(0, max(len(data), 1), SLICE_BYTES):
        yield ExportChunk(data[start : start + SLICE_BYTES], start + SLICE_BYTES, len(data))


class _DownloadStream:
    """A streamed download; an error aborts the connection.

    The browser then reports a failed download; a stream that only ended would look complete.
    """

    def __init__(self, request: Request, download: Download) -> None:
        self._download = download
        self._path = request.path
        self._abort_connection: Callable[[], None] | None = getattr(request, "scope", {}).get(
            CUT_CONNECTION_KEY
        )

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._download)
        except (ExportBroken, DATABASE_ERROR) as error:
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


def _refuse_download(request: Request, refusal: DownloadUnderWay) -> HttpResponse:
    context = {"lease": refusal.lease, "retry_url": request.get_full_path()}
    response = render(request, "downloads/busy.html", context, status=429)
    response["Retry-After"] = "30"
    return response
