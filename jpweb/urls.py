"""Every page has its line here; each view carries its access rule."""

from __future__ import annotations

from django.urls import path

from jpweb.web.pages import audit, conversations, people, questions, signing

urlpatterns = [
    path("", conversations.index, name="conversations"),
    path("conversations/new", conversations.begin, name="conversation-new"),
    path("conversations/<int:conversation_id>", conversations.detail, name="conversation"),
    path("conversations/<int:conversation_id>/turns", conversations.ask, name="conversation-ask"),
    path("conversations/<int:conversation_id>/stop", conversations.stop, name="conversation-stop"),
    path(
        "conversations/<int:conversation_id>/events/<slug:anchor>",
        conversations.event,
        name="event",
    ),
    path(
        "conversations/<int:conversation_id>/export/<slug:format_name>",
        conversations.export,
        name="conversation-export",
    ),
    path("questions", questions.index, name="questions"),
    path("questions/<int:inquiry_id>/answer", questions.answer, name="question-answer"),
    path("questions/<int:inquiry_id>/decline", questions.decline, name="question-decline"),
    path("audit", audit.index, name="audit"),
    path("audit.csv", audit.csv_file, name="audit-csv"),
    path("workspaces/<int:workspace_id>/people", people.index, name="people"),
    path("workspaces/<int:workspace_id>/writing", people.choose_writing, name="writing"),
    path("workspaces/<int:workspace_id>/people/invite", people.invite, name="people-invite"),
    path("memberships/<int:membership_id>/role", people.change_role, name="member-role"),
    path("memberships/<int:membership_id>/link", people.new_link, name="member-link"),
    path("memberships/<int:membership_id>/remove", people.remove, name="member-remove"),
    path("sign-in", signing.help_page, name="sign-in"),
    path("sign-in/<str:token>", signing.sign_in, name="sign-in-link"),
    path("sign-out", signing.sign_out, name="sign-out"),
]

handler404 = "jpweb.web.pages.signing.not_found"
handler403 = "jpweb.web.pages.signing.forbidden"
