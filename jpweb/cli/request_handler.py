"""Handles HTTP requests in threads that keep their database connection.

Django's ASGI handler starts a thread for each request, opens a connection to the database in it,
and enters it some twenty times: for each middleware, before and after the view. Here a thread is
used again, and a synchronous view runs in one piece with all middleware.
"""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from jpweb.runtime.db_threads import DbThread, run_in_db_thread

#: Idle threads that are kept, each with a connection: more requests at once are rare.
MAX_IDLE_THREADS = 8


class Utf8Request(ASGIRequest):
    """A request in UTF-8, whatever charset its ``Content-Type`` names.

    Pages send no other. Python has charsets that no text can be decoded from, such as ``hex``; and
    where Django refuses a form's charset, its pages of errors read the form again and fail.
    """

    @property
    def encoding(self) -> None:
        """The default charset."""

    @encoding.setter
    def encoding(self, _charset: str | None) -> None:
        """Ignore a charset."""


class RequestHandler(ASGIHandler):
    """Django's ASGI handler with threads that outlive a request."""

    request_class = Utf8Request

    def __init__(self) -> None:
        super().__init__()
        self._sync_handler = BaseHandler()
        self._sync_handler.load_middleware()
        self._idle_threads: list[DbThread] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request; the synchronous parts run in one thread."""
        thread = self._idle_threads.pop() if self._idle_threads else DbThread()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(scope, receive, send)
        finally:
            # A cancelled request may have left a view that still runs.
            if thread.is_idle and len(self._idle_threads) < MAX_IDLE_THREADS:
                self._idle_threads.append(thread)
            else:
                thread.retire_thread()

    async def get_response_async(self, request: HttpRequest) -> Any:
        """Return the response of an asynchronous view, or of a synchronous one from its thread."""
        if _has_async_view(request.path_info):
            return await super().get_response_async(request)
        return await run_in_db_thread(self._sync_handler.get_response, request)


def _has_async_view(path: str) -> bool:
    """Tell whether the view of a path is a coroutine function; False where there is no view."""
    try:
        return iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return False
