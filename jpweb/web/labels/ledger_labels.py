"""Labels of the ledger: its acts, and the details of their entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.runtime.exports import FORMATS
from jpweb.store.choices import Act, ApprovalKind, DecisionKind, InterruptKind, Role, RunState
from jpweb.store.notifications import channel_acts
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text
from jpweb.web.labels import policy_labels, review_labels

#: Acts of the ledger.
ACT_LABELS: Mapping[str, str] = {
    Act.INQUIRY_ANSWERED: "Question answered",
    Act.INQUIRY_CANCELLED: "Question closed without an answer",
    Act.APPROVAL_DECIDED: "Approval decided",
    Act.APPROVAL_WITHDRAWN: "Approval withdrawn",
    Act.CALL_DECIDED_BY_POLICY: "Tool call decided without asking",
    Act.CALL_RAN_UNATTENDED: "Tool call ran without asking",
    Act.RESULT_DECIDED_BY_POLICY: "Result decided without asking",
    Act.RUN_STARTED: "Turn started",
    Act.RUN_INTERRUPTED: "Turn interrupted",
    Act.RUN_ENDED: "Turn ended",
    Act.TRUST_GIVEN: "Commands trusted",
    Act.TRUST_WITHDRAWN: "Trust withdrawn",
    Act.SETTING_CHANGED: "Workspace setting changed",
    Act.MEMBER_INVITED: "Member invited",
    Act.INVITATION_WITHDRAWN: "Invitation withdrawn",
    Act.INVITATION_DECLINED: "Invitation declined",
    Act.MEMBER_ADDED: "Member added",
    Act.ROLE_CHANGED: "Role changed",
    Act.MEMBER_REMOVED: "Member removed",
    Act.GROUP_CHANGED: "Group changed",
    Act.LINK_MADE: "Sign-in link created",
    Act.SIGNED_IN: "Signed in",
    Act.SIGNED_OUT: "Signed out",
    Act.SIGN_INS_ENDED: "Sign-ins ended",
    Act.PERSON_DEACTIVATED: "Person deactivated",
    Act.PERSON_REACTIVATED: "Person reactivated",
    Act.READ: "Page viewed",
    Act.SEARCHED: "Searched",
    Act.EXPORTED: "Exported",
    Act.PURGED: "Ledger entries purged",
    Act.RESTORED: "Database restored from a backup",
    Act.REVIEWED: "Reviewed",
    Act.REVIEW_ASSIGNED: "Review assigned",
    Act.REDACTED: "Event redacted",
    Act.EVIDENCE_IMPORTED: "Evidence imported",
    Act.TEXT_REVEALED: "Masked text revealed",
    Act.SUSPICION_DISMISSED: "Suspected secret dismissed",
    Act.QUESTION_CLAIMED: "Question claimed",
    Act.CLAIM_RELEASED: "Claim on a question released",
    Act.APPROVAL_CLAIMED: "Approval claimed",
    Act.APPROVAL_CLAIM_RELEASED: "Claim on an approval released",
    Act.IDENTITY_CONNECTED: "Single sign-on connected",
    Act.IDENTITY_DISCONNECTED: "Single sign-on disconnected",
    Act.PASSKEY_ADDED: "Passkey added",
    Act.PASSKEY_REMOVED: "Passkey removed",
    Act.SECOND_FACTOR_ADDED: "Second factor turned on",
    Act.SECOND_FACTOR_REMOVED: "Second factor turned off",
    Act.SECOND_FACTOR_LOCKED: "Code entry locked",
    Act.RECOVERY_CODES_MADE: "Recovery codes created",
    Act.COMMENT_ADDED: "Comment added",
    Act.COMMENT_EDITED: "Comment edited",
    Act.COMMENT_DELETED: "Comment deleted",
    Act.COMMENTS_RESOLVED: "Comments resolved",
    Act.COMMENTS_REOPENED: "Comments reopened",
    Act.WORKSPACE_ADDED: "Workspace added",
    Act.LEDGER_KEY_CHANGED: "Ledger's signing key changed",
    Act.ANSWER_LINK_ISSUED: "Answer link created",
    Act.CHANNEL_ADDED: "Notification channel added",
    Act.CHANNEL_CHANGED: "Notification channel changed",
    Act.CHANNEL_REMOVED: "Notification channel removed",
}
#: Objects of acts, by the kind of their page.
OBJECT_LABELS: Mapping[str, str] = {
    "inquiry": "Question",
    "approval": "Tool call",
    "event": "Event",
    "conversation": "Conversation",
}
#: Words for true and false in details.
FLAG_LABELS = {True: "yes", False: "no"}
#: Details of an entry that its row shows; hashes and references stay in the ledger file.
LEDGER_DETAIL_LABELS: Mapping[str, str] = {
    "person": "person",
    "group": "group",
    "old_role": "role before",
    "role": "role",
    "own_role": "own role",
    "outcome": "outcome",
    "reason": "reason",
    "channel": "via",
    "asked_at": "asked at",
    "number": "redaction number",
    "scope": "replaced",
    "places": "in",
    "change": "change",
    **{name: name for name in ("tool", "kind", "name", "state", "failure", "model")},
    "policy": "policy",
    "allow": "allowed",
    "remember": "for this turn",
    "setting": "setting",
    "value": "value",
    "view": "page",
    "count": "times",
    "query": "query",
    "filters": "filters",
    "file": "file",
    "format": "format",
    "comments": "comments",
    "masked_count": "masked texts revealed",
    "made_at": "made at",
    "rows": "rows",
    "replaced_rows": "rows deleted before",
    "before": "from before",
    "purged_count": "entries",
    "sequences": "numbered",
    **{name: name for name in ("round", "verdict")},
    "note": "note",
    "first_verdict": "verdict of the first review",
    "provider": "provider",
    "passkey": "passkey",
    "second_factor": "second factor",
    "until": "until",
    "folder": "folder",
    "service": "channel",
    "browser": "browser",
}
#: Details that are times, as ISO text.
TIME_DETAILS = frozenset({"asked_at", "before", "made_at", "until"})
#: Kinds of a group's changes.
GROUP_CHANGE_LABELS: Mapping[str, str] = {
    "made": "created",
    "deleted": "deleted",
    "accepted": "joined",
    "declined": "declined",
    "left": "left",
    "person added": "person added",
    "person removed": "person removed",
    "role given": "role given",
    "role taken": "role removed",
}
#: Kinds of the subjects of acts: approvals, interrupts, ended sign-ins, exports, trusted items.
KIND_LABELS: Mapping[str, str] = {
    ApprovalKind.RUN: DecisionKind.RUN.label,
    ApprovalKind.DELIVER: DecisionKind.DELIVER.label,
    InterruptKind.STOP: "Stop",
    InterruptKind.RESTART: "Rerun tool calls",
    InterruptKind.RESPOND: "Interrupt with a reply",
    "one": "One browser",
    "others": "All other browsers",
    "backup": "Backup",
    **display_text.TRUST_KIND_LABELS,
}
#: Ends of turns.
RUN_END_LABELS: Mapping[str, str] = {
    RunState.DONE: "Done",
    RunState.FAILED: "Failed",
    RunState.STOPPED: "Stopped",
    RunState.LOST: "Interrupted",
}
#: Settings of a workspace.
SETTING_LABELS: Mapping[str, str] = {
    "expires_after": "Unanswered questions",
    "reviews_required": "Reviews",
    "following": "Workspace files followed",
    "writing": "Save web conversations to the workspace",
    "overrides": "Overrides",
    "user_local_copies": "User-local copies",
}
#: Labels of a setting's values, by the name of the setting.
SETTING_VALUE_LABELS: Mapping[str, Mapping[Any, str]] = {
    "following": {"on": "yes", "off": "no"},
    "reviews_required": review_labels.REVIEW_COUNT_LABELS,
    "writing": display_text.WRITE_POLICY_LABELS,
}
#: Pages, of which entries have the names of their routes; a name without a label is shown as it is.
PAGE_LABELS: Mapping[str, str] = {
    "home": "Home",
    "questions": "Questions",
    "bookmarks": "Bookmarks",
    "mentions": "Mentions",
    "audit": "Audit",
    "audit-charts": "Charts",
    "decisions": "Decisions",
    "review-queue": "Reviews",
    "ledger": "Ledger",
    "secrets": "Suspected secrets",
    "conversation": "Conversation",
    "question": "Question",
    "search": "Search",
    "answer-link": "Answer link",
    "live-updates": "Live updates",
    "conversation-outline": "Outline",
    "conversation-find": "Find in conversation",
    "conversation-step": "Next event",
    "conversation-neighbour": "Next conversation",
    "conversation-raw": "Raw",
    "conversation-compacted": "Compacted",
    "conversation-timeline": "Timeline",
    "conversation-configuration": "Configuration",
    "conversation-thread": "What the model saw",
    "conversation-reviews": "Reviews of a conversation",
    "comments": "Comments",
    "event": "Event",
    "event-whole": "Event as JSON",
    "event-part": "Part of an event",
    "event-text": "Text of an event",
    "event-redact": "Redact",
    "question-context": "Context of a question",
    "question-claim-choose": "I'm on it",
    "question-snooze-choose": "Snooze",
    "question-notification": "Notification",
    "approval": "Approval",
    "approval-call": "Tool call of an approval",
    "approval-claim-choose": "I'm on it",
    "secret": "Suspected secret",
}
_ROLE_LABELS: Mapping[Any, str] = {role.label: role.label.capitalize() for role in Role}
_VERDICT_LABELS = {tag: label for tag, (label, _) in review_labels.VERDICT_LABELS.items()}
#: Labels of details' values, by the name of the detail.
VALUE_LABELS: Mapping[str, Mapping[Any, str]] = {
    "change": GROUP_CHANGE_LABELS,
    "channel": {
        outcome_texts.NOTIFICATION_CHANNEL: "a notification's button",
        outcome_texts.LINK_CHANNEL: "an answer link",
        outcome_texts.REPLY_CHANNEL: "a reply to the model",
    },
    "comments": {"included": "Included"},
    "failure": display_text.FAILURE_TEXTS,
    "first_verdict": _VERDICT_LABELS,
    "format": {name: export_format.description for name, export_format in FORMATS.items()},
    "kind": KIND_LABELS,
    "old_role": _ROLE_LABELS,
    "outcome": {tag: label for tag, (label, _) in display_text.STATE_LABELS.items()},
    "own_role": _ROLE_LABELS,
    "policy": policy_labels.POLICY_LABELS,
    "role": _ROLE_LABELS,
    "places": {"tool_calls": "tool calls", "other": "another field"},
    "round": review_labels.ROUND_LABELS,
    "service": {channel_acts.WEB_PUSH: "Web Push"},
    "scope": {"strings": "strings", "content": "all content"},
    "setting": SETTING_LABELS,
    "state": RUN_END_LABELS,
    "verdict": _VERDICT_LABELS,
    "view": PAGE_LABELS,
}
