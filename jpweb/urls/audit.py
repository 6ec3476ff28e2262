"""URL patterns of the audit tables, their exports and suspected secrets."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import APPROVAL, CONVERSATION
from jpweb.web.views.audit import (
    charts,
    decision_table,
    inquiry_table,
    ledger,
    saved_views,
    suspected_secrets,
)
from jpweb.web.views.audit import exports as audit_exports

urlpatterns = [
    path(
        f"{CONVERSATION}/evidence.zip",
        audit_exports.export_conversation_evidence,
        name="conversation-evidence",
    ),
    path("audit", inquiry_table.list_inquiries, name="audit"),
    path("audit/views/save", saved_views.save_view, name="view-save"),
    path("audit/views/delete", saved_views.delete_view, name="view-delete"),
    path("audit/charts", charts.show_charts, name="audit-charts"),
    path("audit/decisions", decision_table.list_decisions, name="decisions"),
    path("audit/decisions.csv", audit_exports.export_decisions_csv, name="decisions-csv"),
    path("audit/decisions.jsonl", audit_exports.export_decision_lines, name="decisions-jsonl"),
    path(
        "audit/decisions/evidence.zip",
        audit_exports.export_decisions_evidence,
        name="decisions-evidence",
    ),
    path(f"{APPROVAL}/call", decision_table.open_call, name="approval-call"),
    path("audit/ledger", ledger.show_ledger, name="ledger"),
    path("audit/ledger.jsonl", ledger.download_ledger, name="ledger-file"),
    path("audit/ledger/entries.csv", ledger.export_entries_csv, name="ledger-csv"),
    path("audit/ledger/entries.jsonl", ledger.export_entry_lines, name="ledger-jsonl"),
    path("audit/ledger-verifier", ledger.download_verifier, name="ledger-verifier"),
    path("audit/secrets.csv", suspected_secrets.export_csv, name="secrets-csv"),
    path("audit/secrets.jsonl", suspected_secrets.export_lines, name="secrets-jsonl"),
    path("audit/secrets", suspected_secrets.list_suggestions, name="secrets"),
    path(
        "audit/secrets/<key:suspected_secret_id>",
        suspected_secrets.show_suspected_secret,
        name="secret",
    ),
    path(
        "audit/secrets/<key:suspected_secret_id>/reveal",
        suspected_secrets.reveal_secret,
        name="secret-reveal",
    ),
    path(
        "audit/secrets/<key:suspected_secret_id>/dismiss",
        suspected_secrets.dismiss_suspected_secret,
        name="secret-dismiss",
    ),
    path("audit.csv", inquiry_table.export_csv, name="audit-csv"),
    path("audit.jsonl", audit_exports.export_json_lines, name="audit-jsonl"),
    path("audit/evidence.zip", audit_exports.export_audit_evidence, name="audit-evidence"),
    path(
        "audit/evidence-verifier", audit_exports.download_bundle_verifier, name="evidence-verifier"
    ),
]
