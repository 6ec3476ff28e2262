"""The access rule of every route, and the request that a test makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jpweb.store.choices import Role
from jpweb.store.workspace_config import overrides

PUBLIC, SIGNED_IN, FIRST_PERSON = "public", "signed in", "first person"


@dataclass(frozen=True)
class Route:
    """What is expected of a route: its rule, and what those get who are let in."""

    rule: str
    status: int
    method: str = "get"
    needs: Role | None = None
    key: str = ""
    data: tuple[tuple[str, str], ...] = ()


def member(scope: str, needs: Role, status: int = 200, **options: Any) -> Route:
    return Route(f"{scope}: {needs.label}", status, needs=needs, key=f"{scope}_id", **options)


def somewhere(needs: Role, **options: Any) -> Route:
    return Route(f"somewhere: {needs.label}", 200, needs=needs, **options)


def managed_group(status: int, **options: Any) -> Route:
    """Return a route of a group, which is not there for whoever does not manage it."""
    return Route("group: manager", status, needs=Role.OWNER, key="group_id", **options)


POST: dict[str, Any] = {"method": "post"}
SAY: dict[str, Any] = {"method": "post", "data": (("text", "Hi"),)}
ROUTES = {
    "home": Route(SIGNED_IN, 200),
    "conversations": Route(SIGNED_IN, 200),
    "conversation-edit": member("conversation", Role.RESPONDER),
    "conversation-change": member("conversation", Role.RESPONDER, 302, method="post"),
    "conversation-new": somewhere(Role.RESPONDER),
    "conversation": member("conversation", Role.READER),
    "conversation-outline": member("conversation", Role.READER),
    "conversation-read": member(
        "conversation", Role.READER, 204, method="post", data=(("entry_count", "1"),)
    ),
    "conversation-find": member("conversation", Role.READER),
    "conversation-step": member("conversation", Role.READER, 302),
    **{
        f"conversation-{mode}": member("conversation", Role.READER)
        for mode in ("raw", "compacted", "configuration", "thread", "timeline")
    },
    "conversation-start-turn": member("conversation", Role.RESPONDER, 302, **SAY),
    "conversation-stop": member("conversation", Role.RESPONDER, 302, **POST),
    "conversation-retry": member("conversation", Role.RESPONDER, 302, **POST),
    "conversation-trust": member("conversation", Role.OWNER, 302, **POST),
    "conversation-restart": member("conversation", Role.RESPONDER, 302, **POST),
    "conversation-respond": member("conversation", Role.RESPONDER, 302, **SAY),
    "event": member("conversation", Role.READER),
    "event-whole": member("conversation", Role.READER),
    "event-part": member("conversation", Role.READER, 302),
    "event-text": member("conversation", Role.READER),
    "event-redact": member("conversation", Role.AUDITOR),
    "event-redact-preview": member(
        "conversation", Role.AUDITOR, 422, method="post", data=(("scope", "whole"),)
    ),
    "event-redact-confirm": member(
        "conversation", Role.AUDITOR, 422, method="post", data=(("scope", "whole"),)
    ),
    "conversation-export": member("conversation", Role.AUDITOR),
    "comment-next": member("conversation", Role.READER, 302),
    "comments": member("conversation", Role.READER),
    "comment-add": member("conversation", Role.READER, 302, **SAY),
    "comment-edit": member("conversation", Role.READER, 422, **SAY),
    "comment-delete": member("conversation", Role.READER, 422, **POST),
    "comments-resolve": member("conversation", Role.READER, 422, **POST),
    "bookmark": member("conversation", Role.READER, 302, **POST),
    "conversation-neighbour": member("conversation", Role.READER, 302),
    "bookmarks": Route(SIGNED_IN, 200),
    "mentions": Route(SIGNED_IN, 200),
    "mentions-seen": Route(SIGNED_IN, 302, "post"),
    "go": Route(SIGNED_IN, 200),
    "welcome-dismiss": Route(SIGNED_IN, 302, "post"),
    "settings": Route(SIGNED_IN, 200),
    "settings-appearance": Route(SIGNED_IN, 302, "post"),
    "settings-demo": Route(SIGNED_IN, 302, "post"),
    "search": Route(SIGNED_IN, 200),
    "search-save": Route(SIGNED_IN, 302, "post"),
    "search-delete": Route(SIGNED_IN, 302, "post"),
    "questions": somewhere(Role.RESPONDER),
    "question": member("inquiry", Role.READER),
    "question-context": member("inquiry", Role.READER),
    "question-answer": member(
        "inquiry", Role.RESPONDER, 302, method="post", data=(("answer", "true"),)
    ),
    "question-decline": member("inquiry", Role.RESPONDER, 302, **POST),
    "question-claim": member("inquiry", Role.RESPONDER, 302, **POST),
    "question-release": member("inquiry", Role.RESPONDER, 302, **POST),
    "question-snooze": member("inquiry", Role.RESPONDER, 302, method="post", data=(("for", "1h"),)),
    "question-claim-choose": member("inquiry", Role.RESPONDER),
    "question-snooze-choose": member("inquiry", Role.RESPONDER),
    "question-wake": member("inquiry", Role.RESPONDER, 302, **POST),
    "approval": member("approval", Role.RESPONDER),
    "approval-allow": member("approval", Role.RESPONDER, 302, **POST),
    "approval-deny": member("approval", Role.RESPONDER, 302, **POST),
    "approval-claim": member("approval", Role.RESPONDER, 302, **POST),
    "approval-release": member("approval", Role.RESPONDER, 302, **POST),
    "approval-claim-choose": member("approval", Role.RESPONDER),
    "answer-link": Route(PUBLIC, 200),
    "notifications": Route(SIGNED_IN, 200),
    "notification-add": Route(SIGNED_IN, 422, "post"),
    "notification-mentions": Route(SIGNED_IN, 302, "post"),
    "notification-test": Route(SIGNED_IN, 302, "post"),
    "notification-remove": Route(SIGNED_IN, 302, "post"),
    "push-add": Route(SIGNED_IN, 302, "post"),
    "push-test": Route(SIGNED_IN, 302, "post"),
    "push-remove": Route(SIGNED_IN, 302, "post"),
    "notifications-waiting": Route(SIGNED_IN, 200),
    "service-worker": Route(PUBLIC, 200),
    "question-notification": member("inquiry", Role.RESPONDER, **POST),
    # Without its token, which only a notification has.
    "question-answer-by-notification": member("inquiry", Role.RESPONDER, 403, **POST),
    **dict.fromkeys(
        (
            "audit",
            "audit-csv",
            "audit-jsonl",
            "audit-evidence",
            "evidence-verifier",
            "decisions",
            "decisions-csv",
            "decisions-jsonl",
            "decisions-evidence",
            "audit-charts",
            "secrets",
            "secrets-csv",
            "secrets-jsonl",
            "ledger",
            "ledger-file",
            "ledger-csv",
            "ledger-jsonl",
            "ledger-verifier",
            "reviews",
            "review-queue",
            "review-queue-csv",
            "review-queue-jsonl",
            "review-queue-evidence",
        ),
        somewhere(Role.AUDITOR),
    ),
    "conversation-evidence": member("conversation", Role.AUDITOR),
    "view-save": Route("somewhere: auditor", 302, "post", needs=Role.AUDITOR),
    "view-delete": Route("somewhere: auditor", 302, "post", needs=Role.AUDITOR),
    "approval-call": member("approval", Role.READER, 302),
    "secret": member("suspected_secret", Role.AUDITOR),
    "secret-reveal": member("suspected_secret", Role.AUDITOR, **POST),
    "secret-dismiss": member(
        "suspected_secret", Role.AUDITOR, 302, method="post", data=(("note", "an example"),)
    ),
    "review-next": Route("somewhere: auditor", 302, "post", needs=Role.AUDITOR),
    "question-review": member("inquiry", Role.AUDITOR, 422, **POST),
    "question-review-start": member("inquiry", Role.AUDITOR, 302, **POST),
    "question-review-assign": member("inquiry", Role.AUDITOR, 302, **POST),
    "conversation-reviews": member("conversation", Role.AUDITOR),
    "conversation-review": member("conversation", Role.AUDITOR, 422, **POST),
    "conversation-review-start": member("conversation", Role.AUDITOR, 302, **POST),
    "conversation-review-assign": member("conversation", Role.AUDITOR, 302, **POST),
    "review-count-choose": member(
        "workspace", Role.OWNER, 302, method="post", data=(("reviews_required", "2"),)
    ),
    "workspace-add": Route(FIRST_PERSON, 200, needs=Role.OWNER),
    "workspace-check": Route(FIRST_PERSON, 422, "post", needs=Role.OWNER),
    "workspace-confirm": Route(FIRST_PERSON, 422, "post", needs=Role.OWNER),
    "people": member("workspace", Role.OWNER),
    "workspace-files": member("workspace", Role.READER, 302),
    "write-policy": member("workspace", Role.OWNER, 302, method="post", data=(("writing", "off"),)),
    "following-choose": member(
        "workspace", Role.OWNER, 302, method="post", data=(("following", "stop"),)
    ),
    "copies-confirm": member("workspace", Role.OWNER, 302, **POST),
    "people-invite": member(
        "workspace", Role.OWNER, method="post", data=(("name", "Eve"), ("role", "10"))
    ),
    "people-withdraw": member("workspace", Role.OWNER, 302, **POST),
    "question-settings": member("workspace", Role.OWNER),
    "question-settings-choose": member(
        "workspace", Role.OWNER, 302, method="post", data=(("after", "never"),)
    ),
    "tools": member("workspace", Role.READER),
    "tools-trust": member("workspace", Role.OWNER, 302, **POST),
    "tools-withdraw": member("workspace", Role.OWNER, 302, **POST),
    "tools-switch": member(
        "workspace", Role.OWNER, 302, method="post", data=(("tool", "ask_user"), ("to", "off"))
    ),
    "tools-overrides": member(
        "workspace",
        Role.OWNER,
        302,
        method="post",
        data=(("overrides_hash", overrides.hash_text("")),),
    ),
    "member-role": member("membership", Role.OWNER, 302, method="post", data=(("role", "20"),)),
    "member-link": member("membership", Role.OWNER, **POST),
    "member-remove": member("membership", Role.OWNER, 302, **POST),
    "groups": somewhere(Role.OWNER),
    "group-new": Route(
        "somewhere: owner", 302, "post", needs=Role.OWNER, data=(("name", "Day shift"),)
    ),
    "group": managed_group(200),
    "group-add": managed_group(302, **POST),
    "group-remove": managed_group(302, **POST),
    "group-delete": managed_group(302, **POST),
    "group-role-choose": member("workspace", Role.OWNER, 302, **POST),
    "group-role-take": member("workspace", Role.OWNER, 302, **POST),
    "group-join": Route(SIGNED_IN, 302, "post"),
    "group-leave": Route(SIGNED_IN, 302, "post"),
    "sign-in": Route(PUBLIC, 200),
    "static-file": Route(PUBLIC, 302),
    "sign-out": Route(PUBLIC, 302, "post"),
    "join": Route(PUBLIC, 200),
    "download": Route(SIGNED_IN, 200),
    "help": Route(SIGNED_IN, 200),
    "help-page": Route(SIGNED_IN, 200),
    "account": Route(SIGNED_IN, 200),
    "readers": Route(SIGNED_IN, 200),
    "account-link": Route(SIGNED_IN, 200, "post"),
    "sign-out-everywhere": Route(SIGNED_IN, 302, "post"),
    "account-end-sign-in": Route(SIGNED_IN, 302, "post"),
    "account-end-others": Route(SIGNED_IN, 302, "post"),
    "personal-data": Route(SIGNED_IN, 200),
    "sign-on": Route(PUBLIC, 404, "post"),
    "sign-on-callback": Route(PUBLIC, 404),
    "identity-connect": Route(SIGNED_IN, 404, "post"),
    "identity-disconnect": Route(SIGNED_IN, 302, "post"),
    "passkey-sign-in-options": Route(PUBLIC, 422, "post"),
    "passkey-sign-in": Route(PUBLIC, 403, "post"),
    "passkey-options": Route(SIGNED_IN, 422, "post"),
    "passkey-add": Route(SIGNED_IN, 302, "post"),
    "passkey-remove": Route(SIGNED_IN, 302, "post"),
    "sign-in-code": Route(PUBLIC, 302),
    "second-factor": Route(SIGNED_IN, 200),
    "second-factor-start": Route(SIGNED_IN, 200, "post"),
    "second-factor-confirm": Route(SIGNED_IN, 302, "post"),
    "recovery-codes": Route(SIGNED_IN, 422, "post"),
    "second-factor-off": Route(SIGNED_IN, 302, "post"),
}
#: Keys of the content of one conversation.
SCOPES = ("conversation_id", "inquiry_id", "approval_id", "suspected_secret_id")
CONTENT_ROUTES = [
    name
    for name, route in ROUTES.items()
    if route.method == "get" and route.key in SCOPES and route.status == 200
]
#: Routes of downloads over several conversations: the export is the entry.
DOWNLOAD_ROUTES = {
    "audit-csv", "audit-jsonl", "audit-evidence", "decisions-csv", "decisions-jsonl",
    "decisions-evidence", "ledger-csv", "ledger-file", "ledger-jsonl", "personal-data",
    "review-queue-csv", "review-queue-evidence", "review-queue-jsonl", "secrets-csv",
    "secrets-jsonl",
}  # fmt: skip
