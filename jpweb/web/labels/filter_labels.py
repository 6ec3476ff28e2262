"""Labels of the filters of searches and lists, in the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import DecisionKind
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text
from jpweb.web.labels import audit_labels, ledger_labels, review_labels, suspected_secret_labels

#: Filters, by the names of their parameters; a name without a label is shown as it is.
FILTER_LABELS: Mapping[str, str] = {
    "in": "workspace",
    "who": "person",
    "words": "question contains",
    "identifier": "ID",
    "source": "asked by",
    "decided": "type of decider",
    "decider": "decided by",
    "demo": "with the demo",
    "unattended": "with calls that ran without asking",
    "since": "from",
    "after": "from",
    "until": "to",
}
#: Filters that are on or off.
_FLAGS = frozenset({"demo", "unattended"})
_LABELS_BY_FILTER: Mapping[str, Mapping[str, str]] = {
    "outcome": {tag: label for tag, (label, _) in display_text.STATE_LABELS.items()},
    "source": display_text.SOURCE_LABELS,
    "decided": audit_labels.DECIDER_KIND_LABELS,
    "act": ledger_labels.ACT_LABELS,
    "queue": {name: label for name, (label, _) in review_labels.QUEUE_LABELS.items()},
    "state": suspected_secret_labels.STATE_LABELS,
    "kind": display_text.SEARCH_KIND_LABELS | dict(DecisionKind.choices),
}


def describe_filters(
    filters: Mapping[str, str],
    workspace_names: Mapping[int, str],
    page_labels: Mapping[str, str] | None = None,
) -> str:
    """Return filters in words, such as *person: Ada; outcome: Cancelled*.

    ``page_labels`` are labels that a page has in place of those of this module.
    """
    labels = {**FILTER_LABELS, **(page_labels or {})}
    return "; ".join(
        _describe_filter(labels.get(name, name), name, value, workspace_names)
        for name, value in filters.items()
    )


def _describe_filter(label: str, name: str, value: str, workspace_names: Mapping[int, str]) -> str:
    if name in _FLAGS:
        return label
    if name == "reason":
        value = outcome_texts.describe_reason(value)
    elif name == "workspace" and value.isdecimal():
        value = workspace_names.get(int(value), value)
    return f"{label}: {_LABELS_BY_FILTER.get(name, {}).get(value, value)}"
