"""Labels of the ledger: its acts, and the details of their entries."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import Act

#: Acts of the ledger.
ACT_LABELS: Mapping[str, str] = {
    Act.INQUIRY_ANSWERED: "Question answered",
    Act.INQUIRY_CANCELLED: "Question closed without an answer",
    Act.APPROVAL_DECIDED: "Approval decided",
    Act.APPROVAL_WITHDRAWN: "Approval withdrawn",
    Act.RUN_STARTED: "Turn started",
    Act.RUN_INTERRUPTED: "Turn interrupted",
    Act.RUN_ENDED: "Turn ended",
    Act.TRUST_GIVEN: "Commands trusted",
    Act.TRUST_WITHDRAWN: "Trust withdrawn",
    Act.SETTING_CHANGED: "Workspace setting changed",
    Act.MEMBER_INVITED: "Member invited",
    Act.INVITATION_WITHDRAWN: "Invitation withdrawn",
    Act.MEMBER_ADDED: "Member added",
    Act.ROLE_CHANGED: "Role changed",
    Act.MEMBER_REMOVED: "Member removed",
    Act.GROUP_CHANGED: "Group changed",
    Act.LINK_MADE: "Sign-in link created",
    Act.SIGNED_IN: "Signed in",
    Act.SIGNED_OUT: "Signed out",
    Act.SIGN_INS_ENDED: "Sign-ins ended",
    Act.READ: "Read",
    Act.SEARCHED: "Search",
    Act.EXPORTED: "Export",
    Act.PURGED: "Ledger entries purged",
    Act.RESTORED: "Database restored from a backup",
    Act.REVIEWED: "Reviewed",
    Act.REVIEW_ASSIGNED: "Review assigned",
    Act.REDACTED: "Event redacted",
    Act.EVIDENCE_IMPORTED: "Evidence imported",
    Act.TEXT_REVEALED: "Masked text revealed",
    Act.SUSPICION_DISMISSED: "Suspected secret dismissed",
    Act.IDENTITY_CONNECTED: "Single sign-on connected",
    Act.IDENTITY_DISCONNECTED: "Single sign-on disconnected",
    Act.PASSKEY_ADDED: "Passkey added",
    Act.PASSKEY_REMOVED: "Passkey removed",
}
#: Details of an entry that its row shows; hashes and references stay in the ledger file.
LEDGER_DETAIL_LABELS: Mapping[str, str] = {
    "outcome": "outcome",
    "reason": "reason",
    **{name: name for name in ("tool", "kind", "name", "role", "state", "failure", "model")},
    "allow": "allowed",
    "remember": "for the rest of the turn",
    "group": "group",
    "person": "person",
    "setting": "setting",
    "value": "value",
    "view": "page",
    "count": "times",
    "query": "query",
    "file": "file",
    "format": "format",
    "made_at": "made at",
    "rows": "rows",
    "replaced_rows": "rows deleted before",
    "sequences": "entries",
    **{name: name for name in ("round", "verdict")},
    "note": "note",
    "first_verdict": "verdict of the first review",
    "provider": "provider",
    "passkey": "passkey",
}
