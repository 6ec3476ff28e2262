"""A conversation as its compactions leave it: what a model gets of it from now on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.store.browsing import record, turns, windows
from jpweb.store.terms import Role
from jpweb.stream.compaction import SUMMARY_REQUEST, Overlays, Policy
from jpweb.stream.layout.facets import facet
from jpweb.stream.layout.items import Entry, Item, ToolCall
from jpweb.stream.layout.shortening import shortened
from jpweb.web import access, numbers
from jpweb.web.pages.views import shortenings
from jpweb.web.pages.views.counting import listed
from jpweb.web.pages.views.weight import Scales
from jpweb.web.templatetags.jpweb_events import item as item_html

if TYPE_CHECKING:
    from jpweb.store.browsing.record import Shortening
    from jpweb.store.models import Conversation, Turn
    from jpweb.web.http import Request

#: Summaries and windows of a page.
STEPS = 4
#: Elements that a step back goes.
_BACK = 50


@access.conversation(Role.READER)
def index(request: Request, conversation: Conversation) -> HttpResponse:
    """Show what is left, from the position ``from`` on, and up to ``to`` where it says so."""
    found = record.shortenings(conversation.pk)
    start = numbers.read(request.GET.get("from")) or 0
    context: dict[str, Any] = {"conversation": conversation, "most": record.OVERLAYS}
    if found is None:
        return render(request, "views/compacted.html", context | {"too_many": True})
    if found:
        page = _Page(conversation, found)
        page.fill(start, numbers.read(request.GET.get("to")))
        context |= {
            **shortenings.listed(found),
            "pieces": page.pieces,
            "earlier": max(page.start - _BACK, 0) if page.start else None,
            "start": page.start,
            "later": page.later,
        }
    return render(request, "views/compacted.html", context)


@dataclass
class _Dropped:
    """What is left out in a row, and the permalink of the first of it."""

    anchor: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, item: Item) -> None:
        match item:
            case ToolCall(inquiries=inquiries):
                self.counts["call"] += 1
                self.counts["question"] += len(inquiries)
            case Entry(placed=here):
                self.counts[facet(here.element)] += 1
            case _:
                pass
        self.anchor = self.anchor or item.elements[0].anchor


class _Page:
    """Fills a page with pieces of HTML until it is full or the conversation ends.

    ``start`` is the position of its beginning, ``later`` that of the next page.
    """

    def __init__(self, conversation: Conversation, found: list[Shortening]) -> None:
        self.pieces: list[SafeString] = []
        self.start = 0
        self.later: int | None = None
        self._conversation = conversation
        self._overlays = Overlays(each.overlay for each in found)
        self._found = found
        self._scales = Scales()
        self._dropped = _Dropped()
        self._turn, self._end = -1, 0
        self._has_items = self._full = False

    def fill(self, start: int, end: int | None = None) -> None:
        """Put pieces from a position on, up to another: of one window at most, of few summaries."""
        self.start, at = start, start
        length = self._conversation.length
        self._end = length if end is None else min(end, length)
        for step in range(STEPS):
            turn = turns.at(self._conversation.pk, at)
            if turn is None or self._full or at >= self._end:
                break
            if self._overlays.policy(turn.number).summary is None:
                at = self._window(at)
            else:
                at = self._summary(turn.number, is_first=step == 0)
        self.later = at if at < length else None
        self._flush()

    def _summary(self, turn: int, *, is_first: bool) -> int:
        """Put a summary in place of its turns; return where it goes on."""
        first, last = self._overlays.run(turn)
        last = min(last, self._conversation.turns - 1)
        starts = turns.starts(self._conversation.pk, first, last + 1)
        start, end = starts.get(first, 0), starts.get(last + 1, self._conversation.length)
        if is_first:
            self.start = start
        policy = self._overlays.policy(turn)
        stay = record.staying(self._conversation.pk, start, end)
        about = {"text": policy.summary, "id": self._anchor(policy), "first": first, "last": last}
        about |= {"replaced": end - start - stay, "stay": stay, "request": SUMMARY_REQUEST}
        return end if self._put("_summary", **about) else start

    def _anchor(self, policy: Policy) -> str:
        """Return the anchor of the compaction that a summary is of."""
        overlays = ((each.anchor, Overlays([each.overlay]), each.overlay) for each in self._found)
        return next(
            anchor
            for anchor, alone, overlay in overlays
            if alone.policy(overlay.kind.from_turn).overlay == policy.overlay
        )

    def _window(self, at: int) -> int:
        """Put the items from a position on, up to a summary; return where it goes on."""
        window = windows.after(self._conversation.pk, at - 1)
        contents = window.contents
        self._conversation.question_keys = contents.questions  # type: ignore[attr-defined]  # for the tag
        for turn, item in contents.items:
            policy = self._overlays.policy(turn)
            if item.first >= self._end:
                return item.first
            if policy.summary is not None:
                return contents.turns[turn].position
            left = shortened(item, policy)
            if left is None:
                self._dropped.add(item)
            elif not self._item(contents.turns[turn], item, left, policy):
                return item.first
        self._full = True
        return window.heads[-1] + 1 if window.later else self._conversation.length

    def _item(self, turn: Turn, item: Item, left: Item, policy: Policy) -> bool:
        """Put what is left of an item, with the heading of its turn; tell whether it fits."""
        if turn.number != self._turn:
            about = {"number": turn.number, "continued": turn.position < item.first}
            if not self._put("_turn", does=shortenings.deeds(policy), **about):
                return False
            self._turn = turn.number
        html = item_html(left, self._conversation)
        # What is too large for any page is led to, so that the pages go on.
        anchor = item.elements[0].anchor
        fits = self._put("_item", html=html, id=anchor, shortened=left != item)
        if not fits and not self._has_items:
            fits = self._put("_item", id=anchor)
        self._has_items = self._has_items or fits
        return fits

    def _put(self, name: str, **about: Any) -> bool:
        html = self._rendered(name, **about)
        if not self._scales.takes(html):
            self._full = True
            return False
        self._flush()
        self.pieces.append(html)
        return True

    def _flush(self) -> None:
        """Say what was left out since the last piece."""
        counts = +self._dropped.counts
        del counts["compaction"], counts["turn"]
        if counts:
            about = {"words": listed(counts), "id": self._dropped.anchor}
            self.pieces.append(self._rendered("_dropped", **about))
        self._dropped = _Dropped()

    def _rendered(self, name: str, **about: Any) -> SafeString:
        about["conversation"] = self._conversation
        return render_to_string(f"views/{name}.html", about)
