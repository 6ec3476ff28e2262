"""A page as a browser holds it, without scripts: updates are swapped in by id, as htmx does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.web.reading import VOID

#: Attributes that say how an element came, or what a person opened.
_ATTRIBUTES_OF_THE_WAY = {"hx-swap-oob", "open"}
#: What a browser with scripts does not show, or what they count: the place of a card in its queue.
_TAG_WITHOUT_SCRIPTS, _PLACE_OF_CARD = "noscript", "data-position"


@dataclass(eq=False)
class Node:
    """An element: its attributes and its children, which are elements and texts."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield this element and those in it, in order.

        A generator for each level took a tenth of the processor time of ``test_reloads``.
        """
        nodes = [self]
        while nodes:
            node = nodes.pop()
            yield node
            nodes += [child for child in reversed(node.children) if isinstance(child, Node)]

    def find(self, element_id: str) -> Node | None:
        return next((n for n in self.walk() if n.attributes.get("id") == element_id), None)

    def find_parent(self, node: Node) -> Node:
        return next(parent for parent in self.walk() if node in parent.children)

    def list_marked(self, name: str, value: str | None = None) -> list[Node]:
        """Return the elements with an attribute, of a value where one is given."""
        return [
            node
            for node in self.walk()
            if name in node.attributes and value in (None, node.attributes[name])
        ]

    def describe(self) -> str:
        """Return the element as text, without what depends on how it came to the page."""
        if self.tag == _TAG_WITHOUT_SCRIPTS or _PLACE_OF_CARD in self.attributes:
            return ""
        if self.tag == "time":  # how long ago it was depends on when a page was rendered
            return f"<time {self.attributes['datetime']}>"
        attributes = {k: v for k, v in self.attributes.items() if k not in _ATTRIBUTES_OF_THE_WAY}
        if attributes.get("name") == "csrfmiddlewaretoken":
            attributes["value"] = ""
        head = " ".join([self.tag, *(f'{k}="{v}"' for k, v in sorted(attributes.items()))])
        return f"<{head}>{self.describe_children()}</{self.tag}>"

    def describe_children(self) -> str:
        """Return what is in the element; spaces between its parts don't count."""
        texts = [
            child.describe() if isinstance(child, Node) else " ".join(child.split())
            for child in self.children
        ]
        return "\n".join(text for text in texts if text)


class _TreeBuilder(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if self._open[-1].tag == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


class LivePage:
    """The page of a conversation, which receives updates."""

    def __init__(self, html: str, show: str = "") -> None:
        self.root, self._show = _TreeBuilder(html).root, show

    def get(self, element_id: str) -> Node:
        node = self.root.find(element_id)
        assert node is not None, f"the page has no #{element_id}"
        return node

    def read_state(self) -> dict[str, Any]:
        """Return the state that ``socket.js`` sends when it connects."""
        counts = self.get("counts").attributes
        cards = self.root.list_marked("data-outcome", "open")
        return {
            "conversation": int(self.get("page").attributes["data-conversation"]),
            "inbox": True,
            "show": self._show,
            "questions": [n.attributes["data-question"] for n in cards if _is_card(n, "question")],
            "approvals": [n.attributes["data-approval"] for n in cards if _is_card(n, "approval")],
            "entry_count": counts["data-entry-count"],
            "revision": counts["data-revision"],
            "run": self.get("composer").attributes["data-run"],
            "approval_state": self.get("approval-state").attributes["data-approvals"],
            "run_status": self._read_run_status(),
            "metadata": self.get("metadata").attributes["data-metadata"],
        }

    def _read_run_status(self) -> str:
        marked_nodes = self.get("run-status").list_marked("data-run-status")
        return marked_nodes[0].attributes["data-run-status"] if marked_nodes else ""

    def apply_update(self, html: str) -> None:
        """Swap in the elements of messages, those by their own id and those at a target."""
        for node in _TreeBuilder(html).root.children:
            if isinstance(node, Node):
                self._swap(node)

    def _swap(self, node: Node) -> None:
        style, _, target_id = node.attributes.get("hx-swap-oob", "true").partition(":#")
        target = self.root.find(target_id or node.attributes["id"])
        if target is None:
            return
        if style in ("beforeend", "innerHTML"):
            kept_children = target.children if style == "beforeend" else []
            target.children = [*kept_children, *node.children]
            return
        siblings = self.root.find_parent(target).children
        at = siblings.index(target)
        match style:
            case "true":
                siblings[at : at + 1] = [node]
            case "delete":
                del siblings[at]
            case "beforebegin":
                siblings[at:at] = node.children
            case "afterend":
                siblings[at + 1 : at + 1] = node.children
            case _:
                raise AssertionError(style)

    def describe(self) -> dict[str, str]:
        """Return the parts of the page that updates keep up to date, by their ids."""
        parts = {name: self.get(name).describe() for name in _PARTS}
        windows = [
            node
            for node in self.get("transcript").walk()
            if node.attributes.get("class") == "window"
        ]
        cards = [
            node
            for node in self.get("inbox").children
            if isinstance(node, Node) and node.attributes.get("data-outcome") == "open"
        ]
        return parts | {
            "transcript": "\n".join(window.describe_children() for window in windows),
            "inbox": "\n".join(card.describe() for card in cards),
            "partial-text": self._describe_partial_text(),
            # Its attributes are for notifications of what is new, which a reload does not repeat.
            "question-count": self.get("question-count").describe_children(),
        }

    def _describe_partial_text(self) -> str:
        node = self.get("partial-text")
        return "" if "hidden" in node.attributes else node.describe()


#: Ids of the parts that are compared as a whole.
_PARTS = (
    "heading",
    "conversation-problem",
    "empty-transcript",
    "comment-status",
    "metadata",
    "counts",
    "event-filter",
    "filter-summary",
    "composer",
    "hidden-count",
    "snoozed",
)


def _is_card(node: Node, kind: str) -> bool:
    return "card" in node.attributes.get("class", "").split() and (
        f"data-{kind}" in node.attributes
    )
