"""The subjects of ledger entries that an id names: of questions, and of decisions on tool calls."""

from __future__ import annotations

from django.db.models import QuerySet

from jpweb.store.models import Approval, Inquiry, Membership
from jpweb.store.sql.call_ids import build_inquiry_match

#: Questions, and decisions on tool calls, of one id whose entries are let through: the newest.
MAX_MATCHES = 100


def list_subjects(audited_memberships: QuerySet[Membership], identifier: str) -> list[str]:
    """Return the subjects that an inquiry or a tool call of this id has; at most two queries.

    ``audited_memberships`` are the memberships of the workspaces in which it is looked for.
    """
    if "\x00" in identifier:
        return []  # no row contains NUL, and PostgreSQL refuses it
    in_audited = {"conversation__workspace_id__in": audited_memberships.values("workspace_id")}
    inquiries = Inquiry.objects.filter(build_inquiry_match(identifier), **in_audited)
    approvals = Approval.objects.filter(tool_call_id=identifier, **in_audited)
    approval_ids = approvals.order_by("-pk").values_list("pk", flat=True)[:MAX_MATCHES]
    places = inquiries.order_by("-pk").values_list("pk", "anchor")[:MAX_MATCHES]
    subjects = [name for key, anchor in places for name in (f"inquiry:{key}", f"event:{anchor}")]
    return [*subjects, *(f"approval:{key}" for key in approval_ids)]
