"""Answers with a file: small ones at once, large ones in pieces and one at a time for a person."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.runtime import downloads
from jpweb.runtime.crossing import in_store
from jpweb.runtime.downloads import Download, DownloadUnderWay
from jpweb.runtime.signals.line import CUT
from jpweb.store import accounts
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import Piece
from jpweb.store.outage import DATABASE_ERROR, find_outage

if TYPE_CHECKING:
    from jpweb.web.http import Request

logger = logging.getLogger(__name__)

#: Bytes that a text which is in memory already is cut into.
SLICE_BYTES = 512 * 1024


async def send_file(
    request: Request,
    pieces: Iterator[Piece],
    file_name: str,
    content_type: str,
    may_read: Callable[[], bool] = lambda: True,
) -> HttpResponseBase:
    """Return a file to download; a large one counts, and a second of the same person is refused.

    What fits one piece is small. ``may_read`` is asked again while a large one is under way, and
    whether the sign-in lasts.
    """
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    if request.method == "HEAD":
        return HttpResponse(content_type=content_type, headers=headers)
    first = await downloads.read_first(pieces)
    if first.is_last:
        return HttpResponse(first.data, content_type=content_type, headers=headers)
    session_key = request.session.session_key or ""

    def may_go_on() -> bool:
        return accounts.signed_in(session_key) is not None and may_read()

    try:
        download = await downloads.begin(request.user.pk, file_name, first, pieces, may_go_on)
    except DownloadUnderWay as refusal:
        return await in_store(_refuse, request, refusal)
    return StreamingHttpResponse(
        _Sending(request, download), content_type=content_type, headers=headers
    )


def cut_into_pieces(data: bytes) -> Iterator[Piece]:
    """Yield bytes that are in memory already."""
    for start in range(0, max(len(data), 1), SLICE_BYTES):
        yield Piece(data[start : start + SLICE_BYTES], start + SLICE_BYTES, len(data))


class _Sending:
    """A download on its way to a browser; what cannot be made whole ends with its connection.

    The browser then says that the download failed. A file that merely ended would look whole.
    """

    def __init__(self, request: Request, download: Download) -> None:
        self._download = download
        self._path = request.path
        self._cut: Callable[[], None] | None = getattr(request, "scope", {}).get(CUT)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._download)
        except (ExportBroken, DATABASE_ERROR) as problem:
            if isinstance(problem, DATABASE_ERROR) and find_outage(problem) is None:
                raise
            if self._cut is None:
                raise
            logger.warning("%s was broken off: %s", self._path, problem)
            self._cut()
            raise StopAsyncIteration from problem

    def close(self) -> None:
        """End the person's mark."""
        self._download.close()


def _refuse(request: Request, refusal: DownloadUnderWay) -> HttpResponse:
    context = {"lease": refusal.lease, "again": request.get_full_path()}
    response = render(request, "downloads/busy.html", context, status=429)
    response["Retry-After"] = "30"
    return response
