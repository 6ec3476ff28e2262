"""Audit: labels and values of ledger entries, for the pages *Ledger* and *Decisions*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jpweb.store.choices import Act
from jpweb.store.ledger import entry_macs, listing, retention
from jpweb.store.ledger.entries import parse_content
from jpweb.stream import timestamps
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text
from jpweb.web.labels import filter_labels, ledger_labels

if TYPE_CHECKING:
    from jpweb.store.models import LedgerEntry, Review

#: Details that a row omits while they have this value.
_ONCE = {"count": 1, "number": 1}
#: Details of a call that ran without asking, which its act implies.
_DETAILS_IMPLIED_BY_ACT = frozenset({"policy", "allow"})


def make_rows(
    entries: Sequence[LedgerEntry],
    workspace_names: Mapping[int, str],
    reviews: Mapping[int, Review] | None = None,
) -> list[dict[str, Any]]:
    """Return the template values of entries; those of a purged or forged one are empty.

    ``reviews`` are those that the person may see, by the key of their entry.
    """
    subject_names = listing.load_subject_names(entries)
    rows = []
    for entry in entries:
        review = (reviews or {}).get(entry.pk)
        texts = {"verdict": review.verdict, "note": review.note} if review else {}
        subject_name = subject_names.get(entry.subject, "")
        rows.append(_make_row(entry, workspace_names, subject_name, texts))
    return rows


def _make_row(
    entry: LedgerEntry, workspace_names: Mapping[int, str], subject_name: str, texts: dict[str, str]
) -> dict[str, Any]:
    is_forged = entry_macs.is_forged(entry)
    content = {} if is_forged else parse_content(entry.text)
    details = content.get("details", {}) | texts
    if entry.act == Act.CALL_RAN_UNATTENDED:
        details = {name: details[name] for name in details.keys() - _DETAILS_IMPLIED_BY_ACT}
    if content and not isinstance(details.get("person"), str):
        # Some entries have the person's key alone, which no page shows.
        details = details | {"person": subject_name}
    if entry.act == Act.GROUP_CHANGED and "kind" in details:
        details = {name: details[name] for name in details if name != "kind"} | {
            "change": details["kind"]
        }
    details |= _describe_tags(entry.act, details)
    if isinstance(details.get("filters"), dict):
        details["filters"] = filter_labels.describe_filters(details["filters"], workspace_names)
    decider = content.get("by", {})
    return {
        "entry": entry,
        "is_forged": is_forged,
        "event": details.get("event", ""),
        "act": ledger_labels.ACT_LABELS.get(entry.act, entry.act),
        "actor": _describe_actor(decider, details),
        "decider_kind": decider.get("kind", ""),
        "decider_name": decider.get("name", ""),
        "decider_id": decider.get("id", ""),
        "round": details.get("round", ""),
        "verdict": details.get("verdict", ""),
        "workspace": workspace_names.get(entry.workspace_id or 0, ""),
        "details": [
            (label, _describe_value(name, details[name]))
            for name, label in ledger_labels.LEDGER_DETAIL_LABELS.items()
            if details.get(name, "") not in ("", None, _ONCE.get(name))
        ],
    }


def _describe_tags(act: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels of details whose words depend on the act or on other details."""
    if act == Act.INQUIRY_CANCELLED and details.get("reason"):
        channel = str(details.get("channel", ""))
        return {"reason": outcome_texts.describe_reason(str(details["reason"]), channel)}
    if act == Act.SETTING_CHANGED:
        return _describe_setting(details.get("setting"), details.get("value"))
    if act == Act.PURGED:
        return {"purged_count": retention.count_purged(details.get("sequences"))}
    return {}


def _describe_setting(setting: Any, value: Any) -> dict[str, str]:
    labels = ledger_labels.SETTING_VALUE_LABELS.get(setting, {})
    if setting == "expires_after":
        is_time = isinstance(value, int)
        return {
            "value": display_text.describe_expiry(value)
            if is_time
            else display_text.NEVER_EXPIRE_LABEL
        }
    return {"value": labels[value]} if value in labels else {}


def _describe_actor(decider: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    kind, name = decider.get("kind", ""), decider.get("name", "")
    # A person's decision for the rest of the turn decided about this call too.
    is_person = details.get("policy") == "remembered" and name
    return outcome_texts.describe_decider("person" if is_person else kind, name)


def _describe_value(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return ledger_labels.FLAG_LABELS[value]
    if name in ledger_labels.TIME_DETAILS:
        at = timestamps.parse_timestamp(str(value))
        return display_text.format_minute(at) if at else value
    labels = ledger_labels.VALUE_LABELS.get(name, {})
    if isinstance(value, list):
        return ", ".join(str(labels.get(item, item)) for item in value)
    return labels.get(value, value)
