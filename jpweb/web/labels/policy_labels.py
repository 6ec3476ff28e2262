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
    "remembered": "decided for this turn",
}
_CONFIGURED_TEXTS = {
    "skip": "by configuration",
    "detached": "by configuration: no one was reachable",
}
_UNATTENDED_LABEL, _UNATTENDED_TEXT = "Ran without asking:", "configuration"
_PLACE_TEXT = "{text} ({setting} in {file})"
_REMEMBERED_TEXT = "by {name}, for this turn"
_UNNAMED = "an earlier decision"
#: The kinds of decisions by the name of their note.
_KIND_BY_NAME = {"permission": "run", "delivery": "deliver"}


class PolicyLabel(NamedTuple):
    """The badge of a policy's decision, its decider, and its row among decisions.

    That is the approval that holds, else the policy's own: ``row_name`` and ``key`` name it.
    """

    kind: str
    tag: str
    label: str
    mark: str
    text: str
    row_name: str
    key: int | str


def has_policy(response: PlacedElement) -> bool:
    """Tell whether a policy decided about a call or its result where a person may be asked."""
    note = _get_note(response)
    return any(name in note and not _is_unattended(note[name]) for name in _KIND_BY_NAME)


def describe_policy(response: PlacedElement | None, name: str) -> PolicyLabel | None:
    """Return the label of a policy in the note of a response; None where there is none."""
    policy_note = _get_note(response).get(name) if response else None
    if response is None or not isinstance(policy_note, dict):
        return None
    kind, approval = _KIND_BY_NAME[name], policy_note.get("approval")
    if _is_unattended(policy_note):
        return _describe_unattended(kind, policy_note, response.anchor)
    badge = display_text.describe_decision(kind, "decided", {"allow": policy_note.get("allow")})
    text = _describe_decider(str(policy_note.get("policy", "")), policy_note.get("by"))
    row = ("approval", approval) if isinstance(approval, int) else (kind, response.anchor)
    return PolicyLabel(kind, *badge, text, *row)


def _get_note(response: PlacedElement) -> Mapping[str, Any]:
    body = response.element.body
    return body.note if isinstance(body, ConversationEvent) else {}


def _is_unattended(policy_note: Any) -> bool:
    return isinstance(policy_note, dict) and policy_note.get("policy") == "unattended"


def _describe_unattended(kind: str, policy_note: Mapping[str, Any], anchor: str) -> PolicyLabel:
    tag, _, mark = display_text.describe_decision(kind, "decided", {"allow": True})
    text, setting, file = _UNATTENDED_TEXT, policy_note.get("setting"), policy_note.get("file")
    if isinstance(setting, str) and isinstance(file, str):
        text = _PLACE_TEXT.format(text=text, setting=setting, file=file)
    return PolicyLabel(kind, tag, _UNATTENDED_LABEL, mark, text, "unattended", anchor)


def _describe_decider(policy: str, by: Any) -> str:
    if policy == "remembered":
        name = by.get("name") if isinstance(by, dict) else ""
        return _REMEMBERED_TEXT.format(name=name or _UNNAMED)
    return _CONFIGURED_TEXTS.get(policy, _CONFIGURED_TEXTS["skip"])
