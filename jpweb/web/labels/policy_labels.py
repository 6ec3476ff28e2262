"""Labels of the policies that decided about a tool call or its result in place of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jpweb.stream.events import ConversationEvent
from jpweb.stream.transcript.items import PlacedElement
from jpweb.web import display_text

#: The policies, by their tag in the record.
POLICY_LABELS = {
    "skip": "configured to skip",
    "detached": "no one was reachable",
    "remembered": "decided for the rest of the turn",
}
_CONFIGURED_TEXTS = {
    "skip": "by configuration",
    "detached": "by configuration: no one was reachable",
}
_REMEMBERED_TEXT = "by {name}, for the rest of the turn"
_UNNAMED = "an earlier decision"
#: The kinds of decisions by the name of their note.
_KIND_BY_NAME = {"permission": "run", "delivery": "deliver"}


class PolicyLabel(NamedTuple):
    """The badge of a policy's decision, who decided, and the key of the approval that holds."""

    kind: str
    tag: str
    label: str
    mark: str
    text: str
    approval: int | None


def has_policy(response: PlacedElement) -> bool:
    """Tell whether a policy decided about a call or its result in place of a person."""
    return any(name in _get_note(response) for name in _KIND_BY_NAME)


def describe_policy(response: PlacedElement | None, name: str) -> PolicyLabel | None:
    """Return the label of a policy in the note of a response; None where there is none."""
    policy_note = _get_note(response).get(name) if response else None
    if not isinstance(policy_note, dict):
        return None
    kind, approval = _KIND_BY_NAME[name], policy_note.get("approval")
    badge = display_text.describe_decision(kind, "decided", {"allow": policy_note.get("allow")})
    text = _describe_decider(str(policy_note.get("policy", "")), policy_note.get("by"))
    return PolicyLabel(kind, *badge, text, approval if isinstance(approval, int) else None)


def _get_note(response: PlacedElement) -> Mapping[str, Any]:
    body = response.element.body
    return body.note if isinstance(body, ConversationEvent) else {}


def _describe_decider(policy: str, by: Any) -> str:
    if policy == "remembered":
        name = by.get("name") if isinstance(by, dict) else ""
        return _REMEMBERED_TEXT.format(name=name or _UNNAMED)
    return _CONFIGURED_TEXTS.get(policy, _CONFIGURED_TEXTS["skip"])
