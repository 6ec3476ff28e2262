"""Every page has its line here; each view carries its access rule."""

from __future__ import annotations

from django.urls import path, register_converter

from jpweb.web import numbers
from jpweb.web.access import public
from jpweb.web.pages import (
    account,
    audit,
    conversations,
    finding,
    invitations,
    links,
    lists,
    notifications,
    payloads,
    prompts,
    questions,
    search,
    signing,
    start,
    turns,
)
from jpweb.web.pages.help import pages as help_pages
from jpweb.web.pages.owners import copies, people, tools, waiting
from jpweb.web.pages.views import compacted, raw, thread
from jpweb.web.security import static_files

register_converter(numbers.Key, "key")
urlpatterns = [
    path("", start.index, name="start"),
    path("conversations", lists.index, name="conversations"),
    path("conversations/<key:conversation_id>/facts", lists.facts_page, name="conversation-facts"),
    path("conversations/<key:conversation_id>/change", lists.change, name="conversation-change"),
    path("conversations/new", conversations.begin, name="conversation-new"),
    path("conversations/<key:conversation_id>", conversations.detail, name="conversation"),
    path(
        "conversations/<key:conversation_id>/outline",
        conversations.outline,
        name="conversation-outline",
    ),
    path("conversations/<key:conversation_id>/find", finding.find, name="conversation-find"),
    path("conversations/<key:conversation_id>/step", finding.step, name="conversation-step"),
    path("conversations/<key:conversation_id>/read", conversations.read, name="conversation-read"),
    path("conversations/<key:conversation_id>/raw", raw.index, name="conversation-raw"),
    path(
        "conversations/<key:conversation_id>/compacted",
        compacted.index,
        name="conversation-compacted",
    ),
    path("conversations/<key:conversation_id>/thread", thread.index, name="conversation-thread"),
    path("conversations/<key:conversation_id>/turns", conversations.ask, name="conversation-ask"),
    path("conversations/<key:conversation_id>/stop", conversations.stop, name="conversation-stop"),
    path("conversations/<key:conversation_id>/retry", turns.retry, name="conversation-retry"),
    path("conversations/<key:conversation_id>/restart", turns.restart, name="conversation-restart"),
    path("conversations/<key:conversation_id>/respond", turns.respond, name="conversation-respond"),
    path(
        "conversations/<key:conversation_id>/events/<slug:anchor>",
        payloads.event,
        name="event",
    ),
    path(
        "conversations/<key:conversation_id>/events/<slug:anchor>.json",
        payloads.whole,
        name="event-whole",
    ),
    path(
        "conversations/<key:conversation_id>/events/<slug:anchor>/<slug:payload>",
        payloads.part,
        name="event-part",
    ),
    path(
        "conversations/<key:conversation_id>/events/<slug:anchor>/<slug:payload>.txt",
        payloads.text,
        name="event-text",
    ),
    path(
        "conversations/<key:conversation_id>/export/<slug:format_name>",
        conversations.export,
        name="conversation-export",
    ),
    path("search", search.index, name="search"),
    path("search/save", search.save, name="search-save"),
    path("search/forget", search.forget, name="search-forget"),
    path("questions", questions.index, name="questions"),
    path("questions/<key:inquiry_id>", questions.detail, name="question"),
    path("questions/<key:inquiry_id>/answer", questions.answer, name="question-answer"),
    path("questions/<key:inquiry_id>/decline", questions.decline, name="question-decline"),
    path("prompts/<key:prompt_id>", prompts.detail, name="prompt"),
    path("prompts/<key:prompt_id>/allow", prompts.allow, name="prompt-allow"),
    path("prompts/<key:prompt_id>/refuse", prompts.refuse, name="prompt-refuse"),
    path("answer/<str:token>", links.answer, name="answer-link"),
    path("notifications", notifications.index, name="notifications"),
    path("notifications/add", notifications.add, name="notification-add"),
    path("notifications/test", notifications.test, name="notification-test"),
    path("notifications/remove", notifications.remove, name="notification-remove"),
    path("audit", audit.index, name="audit"),
    path("audit.csv", audit.csv_file, name="audit-csv"),
    path("workspaces/<key:workspace_id>/people", people.index, name="people"),
    path("workspaces/<key:workspace_id>/writing", people.choose_writing, name="writing"),
    path("workspaces/<key:workspace_id>/copies", copies.confirm, name="copies-confirm"),
    path("workspaces/<key:workspace_id>/people/invite", people.invite, name="people-invite"),
    path("workspaces/<key:workspace_id>/people/withdraw", people.withdraw, name="people-withdraw"),
    path("workspaces/<key:workspace_id>/waiting", waiting.index, name="waiting"),
    path("workspaces/<key:workspace_id>/waiting/choose", waiting.choose, name="waiting-choose"),
    path("workspaces/<key:workspace_id>/tools", tools.index, name="tools"),
    path("workspaces/<key:workspace_id>/tools/trust", tools.trust, name="tools-trust"),
    path("workspaces/<key:workspace_id>/tools/withdraw", tools.withdraw, name="tools-withdraw"),
    path("workspaces/<key:workspace_id>/tools/switch", tools.switch, name="tools-switch"),
    path("workspaces/<key:workspace_id>/tools/overrides", tools.override, name="tools-overrides"),
    path("memberships/<key:membership_id>/role", people.change_role, name="member-role"),
    path("memberships/<key:membership_id>/link", people.new_link, name="member-link"),
    path("memberships/<key:membership_id>/remove", people.remove, name="member-remove"),
    path("static/<path:path>", public(static_files.redirect_to_current), name="static-file"),
    path("sign-in", signing.sign_in, name="sign-in"),
    path("sign-out", signing.sign_out, name="sign-out"),
    path("join", invitations.join, name="join"),
    path("download", account.download, name="download"),
    path("help", help_pages.index, name="help"),
    path("help/<slug:name>", help_pages.page, name="help-page"),
    path("account", account.index, name="account"),
    path("account/link", account.new_link, name="account-link"),
    path("account/end", account.sign_out_everywhere, name="sign-out-everywhere"),
]

handler404 = "jpweb.web.pages.signing.not_found"
handler403 = "jpweb.web.pages.signing.forbidden"
