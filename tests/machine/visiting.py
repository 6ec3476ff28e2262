"""Someone without a browser: keeps cookies, sends forms, opens sockets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import (
    HTTPCookieProcessor,
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    build_opener,
)

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.machine.ports import wait_until

#: Seconds between two looks at the page of search, which is limited to 120 a minute.
_SEARCH_PAUSE_SECONDS = 1.0
#: What that page says until everything is indexed, and said in earlier versions.
_INDEXING = re.compile(r"Still indexing|yet to be indexed")
#: The path of a conversation.
_BEGUN = re.compile(r"/conversations/\d+")
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class _NoRedirects(HTTPRedirectHandler):
    """Leaves redirects to the caller."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


class HttpReply(NamedTuple):
    """What came back, redirects followed."""

    status: int
    text: str
    url: str


@dataclass(slots=True)
class Visitor:
    """Visits the server at ``url``; links may be paths or whole."""

    url: str
    cookies: CookieJar = field(default_factory=CookieJar)
    #: The CSRF token of a form, with the cookie that it belongs to.
    _token: tuple[str, str] = ("", "")

    def get(self, link: str = "/") -> HttpReply:
        """Follow a link."""
        return self._open(link, None)

    def post(self, link: str, page: str = "/", **fields: str) -> HttpReply:
        """Send a form as it stands on ``page``, from which the CSRF token is taken."""
        self._take_token(page)
        return self._send(link, fields)

    def post_again(self, link: str, page: str = "/", **fields: str) -> HttpReply:
        """Send a form with the last CSRF token while it is valid; else as ``post`` does."""
        if not self._token[1] or self._token[0] != self._csrf_cookie():
            return self.post(link, page, **fields)
        return self._send(link, fields)

    def begin(self, workspace: str, text: str) -> str:
        """Begin a conversation; return its path, whose page is not fetched.

        Raises AssertionError where none was begun.
        """
        form = "/conversations/new"
        if not self._token[1] or self._token[0] != self._csrf_cookie():
            self._take_token(form)
        reply = self._send(form, {"workspace": workspace, "text": text}, _NoRedirects())
        match = _BEGUN.search(reply.url)
        assert match, reply.text
        return match[0]

    def wait_until_indexed(self, seconds: float = 30) -> None:
        """Wait until search finds everything that the person may read."""
        wait_until(self._is_indexed, "everything is indexed", seconds, _SEARCH_PAUSE_SECONDS)

    def _is_indexed(self) -> bool:
        reply = self.get("/search")  # refused (429) where somebody searched too often
        return reply.status == 200 and not _INDEXING.search(reply.text)

    def sign_in(self, link: str) -> HttpReply:
        """Use a sign-in link up, as its page does."""
        return self.post("/sign-in", "/sign-in", code=link)

    def socket(self, path: str = "/ws") -> ClientConnection:
        """Open a websocket as this visitor; use it as a context."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)
        address = urljoin(self.url.replace("http", "ws", 1), path)
        headers = {"Cookie": cookies}
        return connect(address, origin=Origin(self.url), additional_headers=headers, proxy=None)

    def _csrf_cookie(self) -> str:
        values = (cookie.value for cookie in self.cookies if cookie.name == "jpweb_csrf")
        return next(values, "") or ""

    def _take_token(self, page: str) -> None:
        token = _CSRF.search(self.get(page).text)
        assert token, f"{page} holds no form"
        self._token = (self._csrf_cookie(), token[1])

    def _send(self, link: str, fields: dict[str, str], *handlers: HTTPRedirectHandler) -> HttpReply:
        form = {"csrfmiddlewaretoken": self._token[1]} | fields
        return self._open(link, urlencode(form).encode(), *handlers)

    def _open(self, link: str, body: bytes | None, *handlers: HTTPRedirectHandler) -> HttpReply:
        proxy_handler, cookie_handler = ProxyHandler({}), HTTPCookieProcessor(self.cookies)
        opener: OpenerDirector = build_opener(proxy_handler, cookie_handler, *handlers)
        try:
            answer = opener.open(urljoin(self.url, link), body, timeout=20)
        except HTTPError as refusal:
            answer = refusal
        with answer:
            url = urljoin(answer.url, answer.headers.get("Location", ""))
            return HttpReply(answer.status or 0, answer.read().decode(), url)
