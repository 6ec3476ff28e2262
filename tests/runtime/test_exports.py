"""Conversations as files to read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings

from jpweb.runtime import exports, rendering
from jpweb.runtime.exports import FORMATS
from jpweb.store import exports as store_exports
from jpweb.store import journal
from jpweb.store.choices import ApprovalState
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import ExportChunk
from jpweb.store.jp_files import mirror
from jpweb.store.models import Approval, Conversation
from jpweb.store.transcript import call_decisions, item_batches
from jpweb.stream.events import ChatResponse, EventKind
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
    Redacted,
    UnknownReason,
)
from jpweb.stream.markdown import escaping
from jpweb.stream.markdown.export import MarkdownOptions
from jpweb.stream.outline import build_outline
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.exporting import join_pieces
from tests.load.synthetic import import_conversation
from tests.machine.sizes import mark_proof
from tests.store import making
from tests.store.making import write_folder
from tests.stream.markdown.whole_export import export_markdown

pytestmark = pytest.mark.django_db
LAYOUTS = Path(__file__).parents[1] / "samples" / "layouts"
#: What loads something, or runs it.
LOADS = {"script", "iframe", "object", "embed", "img", "link", "base", "form", "video", "audio"}
LOADS |= {"svg", "math", "source", "textarea", "button", "frame"}
ADDRESSES = {"src", "srcset", "data", "action", "formaction", "poster", "background", "style"}


@pytest.fixture(autouse=True)
def no_silo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))


class ExportedPage(HTMLParser):
    """Keeps every tag with its attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(autouse=True)
def exported_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every export be made in the same second."""
    clock = SimpleNamespace(now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    monkeypatch.setattr(exports, "clock", clock)


def demo() -> list[Conversation]:
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    return list(workspace.conversations.order_by("jp_id"))


def make_conversation(tmp_path: Path, *kinds: EventKind, title: str = "A talk") -> Conversation:
    write_folder(tmp_path, "17000000000", stream(*kinds), title=title)
    mirror.mirror_workspace(tmp_path)
    return Conversation.objects.get()


def outcomes(tmp_path: Path) -> Conversation:
    outcome_pairs: tuple[tuple[str, InquiryOutcome], ...] = (
        ("c.q.1", Redacted()),
        ("c.q.2", Cancelled(CancellationReason.USER)),
        ("c.q.3", Cancelled(UnknownReason("of\nlater"))),
    )
    pairs: list[EventKind] = [
        kind
        for key, outcome in outcome_pairs
        for kind in (make_inquiry(key), InquiryResponse(key, outcome))
    ]
    return make_conversation(
        tmp_path,
        make_call("c"),
        *pairs,
        make_inquiry("c.x.1"),
        make_answer("c.x.1", "ß"),
        make_result("c"),
    )


def _text(conversation: Conversation, *, reasoning: bool = True) -> str:
    return join_pieces(exports.make_markdown(conversation, reasoning=reasoning)).decode()


def test_markdown_has_each_outcome_in_jps_words(tmp_path: Path):
    lines = join_pieces(FORMATS["markdown"].make_pieces(outcomes(tmp_path))).decode().split("\n")
    assert lines[0] == "# A talk"
    for line in ("Answer: <redacted>", "Cancelled (user)", 'Answer: "ß"'):
        assert line in lines
    assert "Cancelled (of\\nlater)" in lines


def test_export_of_the_demo_has_redacted_and_cancelled_outcomes():
    text = "\n".join(
        join_pieces(FORMATS["markdown"].make_pieces(conversation)).decode()
        for conversation in demo()
    ).split("\n")
    assert "Answer: <redacted>" in text
    assert "Cancelled (user)" in text


def test_reasoning_is_there_unless_it_is_not_wanted(tmp_path: Path):
    conversation = make_conversation(
        tmp_path, ChatResponse("reasoning", "Deep thought"), ChatResponse("message", "Hi")
    )
    assert "> Deep thought" in _text(conversation)
    assert "Deep thought" not in _text(conversation, reasoning=False)
    assert "Omitted: 1 reasoning block." in _text(conversation, reasoning=False)


def test_export_without_a_title_has_the_id(tmp_path: Path):
    conversation = make_conversation(tmp_path, title="")
    assert _text(conversation).startswith("# jp\\-c17000000000")
    assert (
        "<title>jp-c17000000000</title>"
        in join_pieces(FORMATS["html"].make_pieces(conversation)).decode()
    )


@pytest.mark.parametrize("position", range(5))
def test_html_export_loads_and_runs_nothing(position: int):
    conversation = demo()[position]
    page = ExportedPage(join_pieces(FORMATS["html"].make_pieces(conversation)).decode())
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
    page = join_pieces(FORMATS["html"].make_pieces(demo()[0])).decode()
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert ".prose" in style
    assert "url(" not in style
    assert "@import" not in style


def test_hostile_text_is_shown_as_text():
    (conversation,) = [conversation for conversation in demo() if "hostile" in conversation.source]
    page = ExportedPage(join_pieces(FORMATS["html"].make_pieces(conversation)).decode())
    assert "<script>alert(1)</script>" in page.text
    assert "<img src=x onerror=alert(1)>" in page.text


def test_a_hostile_title_stays_in_its_place(tmp_path: Path):
    title = "</title></style><script>alert(1)</script># *x*"
    page = ExportedPage(
        join_pieces(FORMATS["html"].make_pieces(make_conversation(tmp_path, title=title))).decode()
    )
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.text.count(title) == 2


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_export_names_its_address_and_time(tmp_path: Path, name: str):
    conversation = make_conversation(tmp_path)
    text = join_pieces(FORMATS[name].make_pieces(conversation)).decode()
    address = f"{settings.PUBLIC_URL}/conversations/{conversation.pk}"
    assert "Exported by jpweb, 2026-01-02 03:04:05 UTC, from" in text
    assert (f'href="{address}"' if name == "html" else f"<{address}>") in text


@pytest.mark.parametrize("name", FORMATS)
def test_export_formats_cover_all_demo_conversations(name: str):
    for conversation in demo():
        assert join_pieces(FORMATS[name].make_pieces(conversation)).decode()


def _expected(conversation: Conversation) -> str:
    """Return the Markdown made of the whole conversation at once."""
    outline = build_outline(journal.read_elements(conversation.pk))
    return export_markdown(
        outline,
        MarkdownOptions(title=conversation.title or f"jp-c{conversation.jp_id}", reasoning=True),
    )


def _layouts(root: Path) -> list[Conversation]:
    """Return a conversation of each layout that JP ever wrote."""
    for number, sample in enumerate(sorted(LAYOUTS.glob("*.json"))):
        write_folder(root, f"{17000000000 + number}", sample.read_bytes())
    workspace, _ = mirror.mirror_workspace(root)
    return list(workspace.conversations.order_by("jp_id"))


@pytest.mark.parametrize(
    "entries",
    [*mark_proof(1, 2, 300), 7],
)
def test_pieces_of_any_size_make_the_file_of_the_whole_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
):
    (tmp_path / ".jp").mkdir()
    conversations = [*demo(), *_layouts(tmp_path), import_conversation(making.workspace(), 700)]
    monkeypatch.setattr(item_batches, "MAX_BATCH_ENTRIES", entries)
    for conversation in conversations:
        expected = _expected(conversation)
        assert _text(conversation) == expected, conversation.source
        page = join_pieces(exports.make_html(conversation)).decode()
        html = rendering.render_markdown(expected, keep_line_ends=True)
        # As one text, what holds many quotes counts as too deep and would be shown plain.
        assert html in page or html.startswith("<pre># 700 events"), conversation.source
        assert "<h1>" in page
    assert entries > 1 or len(list(exports.make_markdown(conversations[-1]))) > 100


@pytest.mark.parametrize("characters", [pytest.param(1, marks=pytest.mark.proof), 3000])
def test_pieces_of_few_characters_make_the_same_files(
    monkeypatch: pytest.MonkeyPatch, characters: int
):
    conversations = [*demo(), import_conversation(making.workspace(), 300)]
    files = {
        (conversation, name): join_pieces(FORMATS[name].make_pieces(conversation))
        for conversation in conversations
        for name in FORMATS
    }
    monkeypatch.setattr(store_exports, "MAX_CHUNK_CHARS", characters)
    monkeypatch.setattr(store_exports, "FETCH_ROWS", 1)
    monkeypatch.setattr(item_batches, "MAX_BATCH_CHARS", characters)
    for (conversation, name), expected in files.items():
        assert join_pieces(FORMATS[name].make_pieces(conversation)) == expected, (
            conversation.source,
            name,
        )
    assert len(list(FORMATS["html"].make_pieces(conversations[-1]))) > 10
    assert len(list(FORMATS["jp"].make_pieces(conversations[-1]))) > 10


@pytest.mark.parametrize("name", ["html", "markdown"])
def test_long_message_and_result_are_exported_in_bounded_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    text = "[^1] *Quick* foxes\n" * 20_000
    conversation = make_conversation(
        tmp_path, ChatResponse("message", text), make_call("c"), make_result("c", text)
    )
    rendered_lengths = []

    def render_markdown(markdown: str, *, keep_line_ends: bool) -> str:
        rendered_lengths.append(len(markdown))
        return rendering.markdown.render_markdown(markdown, keep_line_ends=keep_line_ends)

    monkeypatch.setattr(rendering, "render_markdown", render_markdown)
    pieces = list(FORMATS[name].make_pieces(conversation))
    first, *others = (len(piece.data) for piece in pieces)
    assert len(others) > 6
    assert max(others) < 3 * exports.MAX_PIECE_CHARS
    assert first < 6 * exports.MAX_PIECE_CHARS  # of HTML it has the style
    assert max(rendered_lengths, default=0) < 2 * escaping.MAX_BLOCK_CHARS
    file_text = join_pieces(pieces).decode()
    assert file_text.count("foxes") == 40_000
    assert _text(conversation) == _expected(conversation)


def test_a_reference_of_one_text_reaches_into_no_other(tmp_path: Path):
    definition, use = "[docs]: https://elsewhere.example", "See [docs] and[^1]"
    conversation = make_conversation(
        tmp_path, ChatResponse("message", definition), ChatResponse("message", use)
    )
    assert "elsewhere" not in join_pieces(FORMATS["html"].make_pieces(conversation)).decode()


@pytest.fixture(params=FORMATS)
def begun_export(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[Conversation, Iterator[ExportChunk]]:
    """Make the first of several pieces of an export; return its conversation and the others."""
    conversation = import_conversation(making.workspace(), 60)
    monkeypatch.setattr(store_exports, "MAX_CHUNK_ENTRIES", 20)
    monkeypatch.setattr(item_batches, "MAX_BATCH_ENTRIES", 20)
    pieces = FORMATS[request.param].make_pieces(conversation)
    assert not next(pieces).is_last
    return conversation, pieces


def test_conversation_rewritten_between_two_pieces_breaks_the_file(
    begun_export: tuple[Conversation, Iterator[ExportChunk]],
):
    conversation, pieces = begun_export
    Conversation.objects.filter(pk=conversation.pk).update(revision=conversation.revision + 1)
    with pytest.raises(ExportBroken, match="rewritten"):
        next(pieces)


def test_conversation_removed_between_two_pieces_breaks_the_file(
    begun_export: tuple[Conversation, Iterator[ExportChunk]],
):
    conversation, pieces = begun_export
    Conversation.objects.filter(pk=conversation.pk).delete()
    with pytest.raises(ExportBroken):
        next(pieces)


def test_export_ends_where_the_conversation_ended_when_it_began(monkeypatch: pytest.MonkeyPatch):
    conversation = making.conversation(making.workspace())
    making.question(making.start_run(conversation))
    conversation.refresh_from_db()
    expected = {name: join_pieces(FORMATS[name].make_pieces(conversation)) for name in FORMATS}
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Later"))])
    files = {name: join_pieces(FORMATS[name].make_pieces(conversation)) for name in FORMATS}
    assert files == expected


def test_markdown_has_every_decision_about_a_call():
    conversation = making.conversation(making.workspace())
    run = making.start_run(conversation)
    count = call_decisions.MAX_PAGE_APPROVALS + 1
    decided = {"state": ApprovalState.DECIDED, "decision": {"allow": False}, "subject": {}}
    Approval.objects.bulk_create(
        Approval(conversation=conversation, run=run, kind="run", tool_call_id="call_1", **decided)
        for _ in range(count)
    )
    withdrawn = {"state": ApprovalState.WITHDRAWN, "subject": {}}
    Approval.objects.create(
        conversation=conversation, run=run, kind="run", tool_call_id="call_1", **withdrawn
    )
    conversation.refresh_from_db()
    text = _text(conversation)
    assert text.count("\n\nDenied") == count
    assert "\n\nWithdrawn by jpweb" in text
