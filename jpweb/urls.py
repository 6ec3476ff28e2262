"""URL patterns of all pages; each view declares its access rule."""

from __future__ import annotations

from django.urls import path, register_converter

from jpweb.web import converters
from jpweb.web.access import public
from jpweb.web.security import static_files
from jpweb.web.views import (
    account,
    answer_links,
    approvals,
    conversation_list,
    conversations,
    events,
    find,
    home,
    invitations,
    notifications,
    questions,
    search,
    sign_in,
    turns,
)
from jpweb.web.views.annotations import bookmarks, comments, neighbours
from jpweb.web.views.audit import (
    charts,
    conversation_reviews,
    decision_table,
    inquiry_table,
    ledger,
    redaction,
    review_queues,
    saved_views,
    suspected_secrets,
)
from jpweb.web.views.audit import exports as audit_exports
from jpweb.web.views.help import pages as help_pages
from jpweb.web.views.identity import group_joining, passkeys, second_factor, single_sign_on
from jpweb.web.views.transcript_modes import compacted, configuration, raw, thread, timeline
from jpweb.web.views.workspaces import (
    addition,
    following,
    groups,
    people,
    question_settings,
    settings_page,
    tools,
    user_local_copies,
)

register_converter(converters.KeyConverter, "key")
_CONVERSATION = "conversations/<key:conversation_id>"
urlpatterns = [
    path("", home.show_dashboard, name="home"),
    path("welcome/dismiss", home.dismiss_welcome, name="welcome-dismiss"),
    path("go", home.show_command_palette, name="go"),
    path("settings", settings_page.show_settings, name="settings"),
    path("settings/appearance", settings_page.save_appearance, name="settings-appearance"),
    path("settings/demo", settings_page.save_demo, name="settings-demo"),
    path("conversations", conversation_list.list_conversations, name="conversations"),
    path(f"{_CONVERSATION}/facts", conversation_list.show_metadata_forms, name="conversation-edit"),
    path(
        f"{_CONVERSATION}/change", conversation_list.change_conversation, name="conversation-change"
    ),
    path("conversations/new", conversations.start_conversation, name="conversation-new"),
    path(_CONVERSATION, conversations.show_conversation, name="conversation"),
    path(f"{_CONVERSATION}/outline", conversations.show_turn_outline, name="conversation-outline"),
    path(f"{_CONVERSATION}/find", find.search_conversation, name="conversation-find"),
    path(f"{_CONVERSATION}/step", find.step_to_event, name="conversation-step"),
    path(f"{_CONVERSATION}/read", conversations.mark_read, name="conversation-read"),
    path(f"{_CONVERSATION}/raw", raw.show_raw, name="conversation-raw"),
    path(f"{_CONVERSATION}/compacted", compacted.show_compacted, name="conversation-compacted"),
    path(f"{_CONVERSATION}/timeline", timeline.show_timeline, name="conversation-timeline"),
    path(
        f"{_CONVERSATION}/configuration",
        configuration.show_configuration,
        name="conversation-configuration",
    ),
    path(
        f"{_CONVERSATION}/configuration/trust",
        configuration.change_trust,
        name="conversation-trust",
    ),
    path(f"{_CONVERSATION}/thread", thread.show_thread, name="conversation-thread"),
    path(f"{_CONVERSATION}/turns", turns.start_turn, name="conversation-start-turn"),
    path(f"{_CONVERSATION}/stop", turns.stop_run, name="conversation-stop"),
    path(f"{_CONVERSATION}/retry", turns.retry_turn, name="conversation-retry"),
    path(f"{_CONVERSATION}/restart", turns.restart_tool_calls, name="conversation-restart"),
    path(f"{_CONVERSATION}/respond", turns.respond_to_turn, name="conversation-respond"),
    path(f"{_CONVERSATION}/events/<slug:anchor>", events.show_event, name="event"),
    path(f"{_CONVERSATION}/events/<slug:anchor>.json", events.download_item, name="event-whole"),
    path(
        f"{_CONVERSATION}/events/<slug:anchor>/redaction/edit",
        redaction.show_redaction,
        name="event-redact",
    ),
    path(
        f"{_CONVERSATION}/events/<slug:anchor>/redaction/preview",
        redaction.preview_redaction,
        name="event-redact-preview",
    ),
    path(
        f"{_CONVERSATION}/events/<slug:anchor>/redaction/confirm",
        redaction.redact_event,
        name="event-redact-confirm",
    ),
    path(
        f"{_CONVERSATION}/events/<slug:anchor>/<slug:payload>",
        events.show_payload_part,
        name="event-part",
    ),
    path(
        f"{_CONVERSATION}/events/<slug:anchor>/<slug:payload>.txt",
        events.download_payload,
        name="event-text",
    ),
    path(
        f"{_CONVERSATION}/export/<slug:format_name>",
        conversations.export_conversation,
        name="conversation-export",
    ),
    path(
        f"{_CONVERSATION}/evidence.zip",
        audit_exports.export_conversation_evidence,
        name="conversation-evidence",
    ),
    path(f"{_CONVERSATION}/comments/next", comments.open_next, name="comment-next"),
    path(f"{_CONVERSATION}/comments/<slug:anchor>", comments.show_comments, name="comments"),
    path(f"{_CONVERSATION}/comments/<slug:anchor>/add", comments.add_comment, name="comment-add"),
    path(
        f"{_CONVERSATION}/comments/<slug:anchor>/edit", comments.edit_comment, name="comment-edit"
    ),
    path(
        f"{_CONVERSATION}/comments/<slug:anchor>/delete",
        comments.delete_comment,
        name="comment-delete",
    ),
    path(
        f"{_CONVERSATION}/comments/<slug:anchor>/resolve",
        comments.resolve_comments,
        name="comments-resolve",
    ),
    path(f"{_CONVERSATION}/bookmark", bookmarks.toggle_bookmark, name="bookmark"),
    path(f"{_CONVERSATION}/neighbour", neighbours.open_neighbour, name="conversation-neighbour"),
    path("bookmarks", bookmarks.list_bookmarks, name="bookmarks"),
    path("mentions", comments.list_mentions, name="mentions"),
    path("mentions/seen", comments.mark_mentions_seen, name="mentions-seen"),
    path("search", search.search_conversations, name="search"),
    path("search/save", search.save_search, name="search-save"),
    path("search/forget", search.delete_search, name="search-delete"),
    path("questions", questions.list_questions, name="questions"),
    path("questions/<key:inquiry_id>", questions.show_question, name="question"),
    path(
        "questions/<key:inquiry_id>/context",
        questions.show_question_context,
        name="question-context",
    ),
    path("questions/<key:inquiry_id>/answer", questions.answer_question, name="question-answer"),
    path(
        "questions/<key:inquiry_id>/claim/choose",
        questions.choose_claim,
        name="question-claim-choose",
    ),
    path("questions/<key:inquiry_id>/claim", questions.claim_question, name="question-claim"),
    path("questions/<key:inquiry_id>/release", questions.release_claim, name="question-release"),
    path(
        "questions/<key:inquiry_id>/snooze/choose",
        questions.choose_snooze,
        name="question-snooze-choose",
    ),
    path("questions/<key:inquiry_id>/snooze", questions.snooze_question, name="question-snooze"),
    path("questions/<key:inquiry_id>/wake", questions.wake_question, name="question-wake"),
    path("questions/<key:inquiry_id>/decline", questions.decline_question, name="question-decline"),
    path(
        "questions/<key:inquiry_id>/notification",
        questions.show_notification_buttons,
        name="question-notification",
    ),
    path(
        "questions/<key:inquiry_id>/notification/answer",
        questions.answer_by_notification,
        name="question-answer-by-notification",
    ),
    path("prompts/<key:approval_id>", approvals.show_approval, name="approval"),
    path("prompts/<key:approval_id>/allow", approvals.allow_call, name="approval-allow"),
    path(
        "prompts/<key:approval_id>/claim/choose",
        approvals.choose_claim,
        name="approval-claim-choose",
    ),
    path("prompts/<key:approval_id>/claim", approvals.claim_approval, name="approval-claim"),
    path("prompts/<key:approval_id>/release", approvals.release_claim, name="approval-release"),
    path("prompts/<key:approval_id>/refuse", approvals.deny_call, name="approval-deny"),
    path("answer/<str:token>", answer_links.answer_by_link, name="answer-link"),
    path("notifications", notifications.list_destinations, name="notifications"),
    path("notifications/add", notifications.add_destination, name="notification-add"),
    path("notifications/test", notifications.send_test, name="notification-test"),
    path("notifications/remove", notifications.remove_destination, name="notification-remove"),
    path("notifications/mentions", notifications.save_mentions, name="notification-mentions"),
    path("notifications/browsers/add", notifications.add_browser, name="push-add"),
    path("notifications/browsers/test", notifications.send_browser_test, name="push-test"),
    path("notifications/browsers/remove", notifications.remove_browser, name="push-remove"),
    path("notifications/waiting", notifications.list_waiting, name="notifications-waiting"),
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
    path("prompts/<key:approval_id>/call", decision_table.open_call, name="approval-call"),
    path("audit/ledger", ledger.show_ledger, name="ledger"),
    path("audit/ledger.jsonl", ledger.download_ledger, name="ledger-file"),
    path("audit/ledger/entries.csv", ledger.export_entries_csv, name="ledger-csv"),
    path("audit/ledger/entries.jsonl", ledger.export_entry_lines, name="ledger-jsonl"),
    path("audit/ledger-verifier", ledger.download_verifier, name="ledger-verifier"),
    path("audit/reviews", review_queues.list_queues, name="reviews"),
    path("audit/reviews/<slug:queue_name>", review_queues.show_queue, name="review-queue"),
    path(
        "audit/reviews/<slug:queue_name>.csv", review_queues.export_queue, name="review-queue-csv"
    ),
    path("audit/reviews/<slug:queue_name>/next", review_queues.open_next, name="review-next"),
    path("questions/<key:inquiry_id>/review", questions.review_question, name="question-review"),
    path(
        "questions/<key:inquiry_id>/review/start",
        questions.start_review,
        name="question-review-start",
    ),
    path(
        "questions/<key:inquiry_id>/review/assign",
        questions.assign_review,
        name="question-review-assign",
    ),
    path(
        f"{_CONVERSATION}/reviews", conversation_reviews.show_reviews, name="conversation-reviews"
    ),
    path(
        f"{_CONVERSATION}/review",
        conversation_reviews.review_conversation,
        name="conversation-review",
    ),
    path(
        f"{_CONVERSATION}/review/start",
        conversation_reviews.start_review,
        name="conversation-review-start",
    ),
    path(
        f"{_CONVERSATION}/review/assign",
        conversation_reviews.assign_review,
        name="conversation-review-assign",
    ),
    path(
        "workspaces/<key:workspace_id>/reviews",
        question_settings.choose_review_count,
        name="review-count-choose",
    ),
    path("audit/secrets.csv", suspected_secrets.export_suggestions, name="secrets-csv"),
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
    path("workspaces/add", addition.show_form, name="workspace-add"),
    path("workspaces/add/check", addition.check_folder, name="workspace-check"),
    path("workspaces/add/confirm", addition.add_workspace, name="workspace-confirm"),
    path("workspaces/<key:workspace_id>/people", people.list_members, name="people"),
    path("workspaces/<key:workspace_id>/writing", people.choose_writing, name="write-policy"),
    path("workspaces/<key:workspace_id>/files", following.show_files, name="workspace-files"),
    path(
        "workspaces/<key:workspace_id>/following",
        following.choose_following,
        name="following-choose",
    ),
    path(
        "workspaces/<key:workspace_id>/copies",
        user_local_copies.confirm_copies,
        name="copies-confirm",
    ),
    path("workspaces/<key:workspace_id>/people/invite", people.invite_member, name="people-invite"),
    path(
        "workspaces/<key:workspace_id>/people/withdraw",
        people.withdraw_invitation,
        name="people-withdraw",
    ),
    path(
        "workspaces/<key:workspace_id>/waiting",
        question_settings.show_question_settings,
        name="question-settings",
    ),
    path(
        "workspaces/<key:workspace_id>/waiting/choose",
        question_settings.choose_expiry,
        name="question-settings-choose",
    ),
    path("workspaces/<key:workspace_id>/tools", tools.show_tools, name="tools"),
    path("workspaces/<key:workspace_id>/tools/trust", tools.give_trust, name="tools-trust"),
    path(
        "workspaces/<key:workspace_id>/tools/withdraw", tools.withdraw_trust, name="tools-withdraw"
    ),
    path("workspaces/<key:workspace_id>/tools/switch", tools.switch_tool, name="tools-switch"),
    path(
        "workspaces/<key:workspace_id>/tools/overrides",
        tools.save_overrides,
        name="tools-overrides",
    ),
    path("groups", groups.list_groups, name="groups"),
    path("groups/new", groups.create_group, name="group-new"),
    path("groups/<key:group_id>", groups.show_group, name="group"),
    path("groups/<key:group_id>/add", groups.add_person, name="group-add"),
    path("groups/<key:group_id>/remove", groups.remove_person, name="group-remove"),
    path("groups/<key:group_id>/delete", groups.delete_group, name="group-delete"),
    path(
        "workspaces/<key:workspace_id>/groups/choose", groups.choose_role, name="group-role-choose"
    ),
    path("workspaces/<key:workspace_id>/groups/take", groups.take_role, name="group-role-take"),
    path("memberships/<key:membership_id>/role", people.change_role, name="member-role"),
    path("memberships/<key:membership_id>/link", people.make_member_link, name="member-link"),
    path("memberships/<key:membership_id>/remove", people.remove_member, name="member-remove"),
    path(
        static_files.SERVICE_WORKER_NAME,
        public(static_files.serve_service_worker),
        name="service-worker",
    ),
    path("static/<path:path>", public(static_files.redirect_to_current), name="static-file"),
    path("sign-in", sign_in.sign_in, name="sign-in"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("join", invitations.join_workspace, name="join"),
    path("download", account.show_download, name="download"),
    path("help", help_pages.index, name="help"),
    path("help/<slug:name>", help_pages.page, name="help-page"),
    path("account", account.show_account, name="account"),
    path("account/readers", ledger.show_readers, name="readers"),
    path("account/link", account.make_sign_in_link, name="account-link"),
    path("account/end", account.sign_out_everywhere, name="sign-out-everywhere"),
    path("account/end-one", account.end_sign_in, name="account-end-sign-in"),
    path("account/end-others", account.end_other_sign_ins, name="account-end-others"),
    path("account/data.json", account.download_personal_data, name="personal-data"),
    path("sign-in/with/<slug:provider_name>", single_sign_on.start_sign_in, name="sign-on"),
    path(
        "sign-in/with/<slug:provider_name>/callback",
        single_sign_on.finish_sign_on,
        name="sign-on-callback",
    ),
    path("account/groups/join", group_joining.join_group, name="group-join"),
    path("account/groups/leave", group_joining.leave_group, name="group-leave"),
    path(
        "account/identities/<slug:provider_name>/connect",
        single_sign_on.connect_identity,
        name="identity-connect",
    ),
    path(
        "account/identities/disconnect",
        single_sign_on.disconnect_identity,
        name="identity-disconnect",
    ),
    path("sign-in/passkey/options", passkeys.begin_sign_in, name="passkey-sign-in-options"),
    path("sign-in/passkey", passkeys.sign_in, name="passkey-sign-in"),
    path("account/passkeys/options", passkeys.begin_adding, name="passkey-options"),
    path("account/passkeys/add", passkeys.add_passkey, name="passkey-add"),
    path("account/passkeys/remove", passkeys.remove_passkey, name="passkey-remove"),
    path("sign-in/code", second_factor.enter_code, name="sign-in-code"),
    path("account/second-factor", second_factor.show_factor, name="second-factor"),
    path("account/second-factor/start", second_factor.begin_setup, name="second-factor-start"),
    path(
        "account/second-factor/confirm", second_factor.confirm_setup, name="second-factor-confirm"
    ),
    path(
        "account/second-factor/recovery-codes",
        second_factor.renew_recovery_codes,
        name="recovery-codes",
    ),
    path("account/second-factor/off", second_factor.turn_off, name="second-factor-off"),
]

handler404 = "jpweb.web.views.sign_in.page_not_found"
handler403 = "jpweb.web.views.sign_in.permission_denied"
