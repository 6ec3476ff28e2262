"""What the model was sent of a turn, beside what happened in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime.prose import values
from jpweb.store.browsing import record, turns, windows
from jpweb.store.terms import Role
from jpweb.stream.compaction import Overlays, Policy
from jpweb.stream.events import ChatResponse, ToolCallRequest
from jpweb.stream.layout.items import Item
from jpweb.stream.layout.sending import Sent, order, requests, sent, withheld
from jpweb.stream.layout.shortening import shortened
from jpweb.stream.repair import INTERRUPTED
from jpweb.web import access, numbers
from jpweb.web.pages.views import shortenings
from jpweb.web.pages.views.counting import listed
from jpweb.web.pages.views.weight import Scales
from jpweb.web.templatetags.jpweb_events import item as item_html

if TYPE_CHECKING:
    from jpweb.store.browsing.record import Shortening
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Characters that are shown of a message.
CUT = 1_500
_ROLES = {"user": "User", "assistant": "Model", "tool": "Tool result"}


@access.conversation(Role.READER)
def index(request: Request, conversation: Conversation) -> HttpResponse:
    """Show a turn, by its number from 0; the last one unless the address says which."""
    chosen = numbers.read(request.GET.get("turn"))
    last = conversation.turns - 1
    turn = last if chosen is None else chosen
    context: dict[str, Any] = {"conversation": conversation, "turn": turn, "last": last}
    if last < 0:
        return render(request, "views/thread.html", context)
    starts = turns.starts(conversation.pk, turn, turn + 1)
    if turn not in starts:
        raise Http404
    start, end = starts[turn], starts.get(turn + 1, conversation.length)
    found = record.shortenings(conversation.pk)
    before = [each for each in found or () if each.overlay.position < start]
    page = _Page(conversation, _policy(before, turn))
    at = max(numbers.read(request.GET.get("from")) or 0, start)
    page.fill(turn, at, end)
    context |= {
        "start": start,
        "requests": page.requests(),
        "happened": page.happened,
        "differences": page.differences(),
        **shortenings.listed(before),
        "too_many": found is None,
        "shortened_then": shortenings.deeds(page.policy),
        "shortened_since": _policy(found or (), turn) != page.policy,
        "begins_later": at > start,
        "later": page.later,
    }
    return render(request, "views/thread.html", context)


def _policy(found: list[Shortening] | tuple[()], turn: int) -> Policy:
    return Overlays(each.overlay for each in found).policy(turn)


class _Page:
    """What of a turn is on a page: as it happened, and as it was sent.

    ``policy`` is what compactions that stood before the turn do to it; ``later`` the position of
    the next page.
    """

    def __init__(self, conversation: Conversation, policy: Policy) -> None:
        self.policy = policy
        self.happened: list[SafeString] = []
        self.later: int | None = None
        self._conversation = conversation
        self._scales = Scales()
        self._sent: list[tuple[Sent, SafeString]] = []
        self._withheld: Counter[str] = Counter()

    def fill(self, turn: int, at: int, end: int) -> None:
        """Put what fits of a turn's items, from a position on."""
        window = windows.after(self._conversation.pk, at - 1)
        contents = window.contents
        self._conversation.question_keys = contents.questions  # type: ignore[attr-defined]  # for the tag
        shown = [item for number, item in contents.items if number == turn]
        for item in shown:
            if not self._takes(item):
                self.later = item.first
                return
        if shown:
            self.later = record.next_head(self._conversation.pk, shown[-1].first, end)

    def requests(self) -> list[list[SafeString]]:
        """Return what was sent in pieces, a request of the model between them."""
        found = sorted(self._sent, key=lambda each: order(each[0]))
        html = iter([html for _, html in found])
        return [[next(html) for _ in piece] for piece in requests(each for each, _ in found)]

    def differences(self) -> list[str]:
        """Say what sets both sides apart."""
        said = [f"Not sent: {words}." for words in listed(self._withheld)]
        made = sum(each.made for each, _ in self._sent)
        if made:
            calls = "1 call has" if made == 1 else f"{made} calls have"
            said.append(f"{calls} no stored result; the model receives “{INTERRUPTED}”")
        if any(is_reasoning(each) for each, _ in self._sent):
            said.append("Reasoning is sent back if the provider accepts it.")
        return said

    def _takes(self, item: Item) -> bool:
        """Put an item on both sides; tell whether it fits."""
        left = shortened(item, self.policy)
        own = [(each, self._message(each)) for each in (sent([left]) if left else ())]
        html = item_html(item, self._conversation)
        if not self._scales.takes(html, *(message for _, message in own)):
            if self.happened:
                return False
            html, own = self._rendered("_item", id=item.elements[0].anchor), []
        self.happened.append(html)
        self._sent += own
        self._withheld += withheld([item])
        return True

    def _message(self, each: Sent) -> SafeString:
        title, text = said(each)
        return self._rendered(
            "_sent",
            role=each.role,
            who=_ROLES[each.role],
            title=title,
            text=text[:CUT],
            size=len(text),
            cut=len(text) > CUT,
            id=each.placed.anchor,
            made=each.made,
        )

    def _rendered(self, name: str, **about: Any) -> SafeString:
        about["conversation"] = self._conversation
        return render_to_string(f"views/{name}.html", about)


def said(each: Sent) -> tuple[str, str]:
    """Return what kind of message it is, and its text as it is sent."""
    match each.kind:
        case ToolCallRequest(name=name, arguments=arguments):
            return f"tool call {name}", values.text(arguments)
        case ChatResponse(variant="reasoning", content=content):
            return "reasoning", str(content)
        case ChatResponse(variant="data", content=content):
            return "structured output", values.text(content)
        case kind:
            return "", str(getattr(kind, "content", ""))


def is_reasoning(each: Sent) -> bool:
    """Tell whether it is the model's reasoning."""
    return isinstance(each.kind, ChatResponse) and each.kind.variant == "reasoning"
