"""Conversations as files to read."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from jpweb.runtime import exports
from jpweb.runtime.exports import FORMATS
from jpweb.store.disk import mirror
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatResponse, EventKind
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryResponse,
    Outcome,
    Redacted,
    UnknownReason,
)
from tests.builders import answered, asked, called, returned, stream
from tests.store.making import folder

pytestmark = pytest.mark.django_db
#: What loads something, or runs it.
LOADS = {"script", "iframe", "object", "embed", "img", "link", "base", "form", "video", "audio"}
LOADS |= {"svg", "math", "source", "textarea", "button", "frame"}
ADDRESSES = {"src", "srcset", "data", "action", "formaction", "poster", "background", "style"}


@pytest.fixture(autouse=True)
def no_silo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))


class Page(HTMLParser):
    """Keeps every tag with its attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


def demo() -> list[Conversation]:
    home, _ = mirror.mirror(mirror.DEMO, "Demo")
    return list(home.conversations.order_by("jp_id"))


def one(tmp_path: Path, *kinds: EventKind, title: str = "A talk") -> Conversation:
    folder(tmp_path, "17000000000", stream(*kinds), title=title)
    mirror.mirror(tmp_path)
    return Conversation.objects.get()


def outcomes(tmp_path: Path) -> Conversation:
    said: tuple[tuple[str, Outcome], ...] = (
        ("c.q.1", Redacted()),
        ("c.q.2", Cancelled(CancellationReason.USER)),
        ("c.q.3", Cancelled(UnknownReason("of\nlater"))),
    )
    pairs: list[EventKind] = [
        kind for key, outcome in said for kind in (asked(key), InquiryResponse(key, outcome))
    ]
    return one(tmp_path, called("c"), *pairs, asked("c.x.1"), answered("c.x.1", "ß"), returned("c"))


def test_markdown_has_each_outcome_in_jps_words(tmp_path: Path):
    lines = FORMATS["markdown"].make(outcomes(tmp_path)).decode().split("\n")
    assert lines[0] == "# A talk"
    for line in ("Answer: <redacted>", "Cancelled (user)", 'Answer: "ß"'):
        assert line in lines
    assert "Cancelled (of\\nlater)" in lines


def test_the_demo_has_them_too():
    whole = "\n".join(FORMATS["markdown"].make(talk).decode() for talk in demo()).split("\n")
    assert "Answer: <redacted>" in whole
    assert "Cancelled (user)" in whole


def test_reasoning_is_there_unless_it_is_not_wanted(tmp_path: Path):
    talk = one(tmp_path, ChatResponse("reasoning", "Deep thought"), ChatResponse("message", "Hi"))
    assert "> Deep thought" in exports.text(talk)
    assert "Deep thought" not in exports.text(talk, reasoning=False)
    assert "Left out: reasoning 1." in exports.text(talk, reasoning=False)


def test_without_a_title_the_id_stands_for_it(tmp_path: Path):
    talk = one(tmp_path, title="")
    assert exports.text(talk).startswith("# jp\\-c17000000000")
    assert "<title>jp-c17000000000</title>" in FORMATS["html"].make(talk).decode()


@pytest.mark.parametrize("position", range(5))
def test_the_page_loads_and_runs_nothing(position: int):
    talk = demo()[position]
    page = Page(FORMATS["html"].make(talk).decode())
    assert LOADS & {tag for tag, _ in page.tags} == set()
    for tag, attributes in page.tags:
        assert [name for name in attributes if name.startswith("on")] == [], tag
        assert ADDRESSES & attributes.keys() == set(), tag
        href = attributes.get("href") or "https://"
        assert href.startswith(("https://", "http://", "mailto:", "#")), href
    policies = [a["content"] for _, a in page.tags if a.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert [tag for tag, _ in page.tags].count("style") == 1


def test_the_style_of_the_page_loads_nothing():
    page = FORMATS["html"].make(demo()[0]).decode()
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert ".prose" in style
    assert "url(" not in style
    assert "@import" not in style


def test_hostile_text_is_shown_as_text():
    (talk,) = [talk for talk in demo() if "hostile" in talk.source]
    page = Page(FORMATS["html"].make(talk).decode())
    assert "<script>alert(1)</script>" in page.said
    assert "<img src=x onerror=alert(1)>" in page.said


def test_a_hostile_title_stays_in_its_place(tmp_path: Path):
    title = "</title></style><script>alert(1)</script># *x*"
    page = Page(FORMATS["html"].make(one(tmp_path, title=title)).decode())
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.said.count(title) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_every_conversation_as_text(name: str):
    for talk in demo():
        assert FORMATS[name].make(talk).decode()
