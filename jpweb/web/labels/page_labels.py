"""The pages that have forms, and their labels by the names of their routes."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import NoReverseMatch, Resolver404, ResolverMatch, resolve, reverse

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
#: The page of a form, by the form's route, where it is not the page above the form's address.
_PAGE_BY_FORM = {
    "event-redact-preview": "event-redact",
    "event-redact-confirm": "event-redact",
    "question-answer-by-notification": "question",
    "question-review-start": "question",
    "question-review-assign": "question",
    "conversation-review": "conversation-reviews",
    "conversation-review-start": "conversation-reviews",
    "conversation-review-assign": "conversation-reviews",
    "review-count-choose": "question-settings",
    **dict.fromkeys(
        ("write-policy", "following-choose", "copies-confirm", "group-role-choose"), "people"
    ),
    "group-role-take": "people",
    **dict.fromkeys(("member-role", "member-link", "member-remove"), "settings"),
    "passkey-sign-in-options": "sign-in",
    "sign-out": "sign-in",
}


def find_form_page(path: str, match: ResolverMatch) -> tuple[str, str]:
    """Return the route and the path of the page that has a form, by the form's address."""
    if name := _PAGE_BY_FORM.get(match.url_name or ""):
        try:
            return name, reverse(name, kwargs=match.kwargs)
        except NoReverseMatch:
            return name, reverse(name)
    while path := path.rpartition("/")[0]:
        try:
            page_match = resolve(path)
        except Resolver404:
            continue
        if (page_match.url_name or "") in FORM_PAGE_LABELS:
            return page_match.url_name or "", path
    return "home", reverse("home")
