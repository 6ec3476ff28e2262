"""Labels of the pages that have forms, by the names of their routes."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.web.labels import ledger_labels

#: Pages that no entry of the ledger names.
_UNRECORDED_LABELS: Mapping[str, str] = {
    "account": "Account",
    "group": "Group",
    "groups": "Groups",
    "notifications": "Notifications",
    "people": "People",
    "question-settings": "Question settings",
    "second-factor": "Second factor",
    "settings": "Settings",
    "sign-in": "Sign in",
    "tools": "Tools",
    "workspace-add": "Add a workspace",
}
_RECORDED_PAGES = (
    "home", "conversation", "conversation-configuration", "conversation-reviews", "comments",
    "event-redact", "mentions", "search", "question", "approval", "audit", "secret",
    "review-queue",
)  # fmt: skip
FORM_PAGE_LABELS: Mapping[str, str] = {
    **_UNRECORDED_LABELS,
    **{name: ledger_labels.PAGE_LABELS[name] for name in _RECORDED_PAGES},
}
