"""The reviews of a conversation as a whole; those of a question are on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.store.choices import Role
from jpweb.store.reviews import subjects
from jpweb.web import access, annotation_blocks, review_pages
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.forms.verdicts import VerdictForm
    from jpweb.web.http import Request


@access.conversation(Role.AUDITOR)
def show_reviews(request: Request, conversation: Conversation) -> HttpResponse:
    return _render_page(request, conversation)


@require_POST
@access.conversation(Role.AUDITOR)
def review_conversation(request: Request, conversation: Conversation) -> HttpResponse:
    def render_page(form: VerdictForm, status: int) -> HttpResponse:
        return _render_page(request, conversation, form, status)

    subject = subjects.load_conversation(conversation)
    return review_pages.submit_review(request, subject, render_page)


@require_POST
@access.conversation(Role.AUDITOR)
def start_review(request: Request, conversation: Conversation) -> HttpResponse:
    return review_pages.start_review(request, subjects.load_conversation(conversation))


@require_POST
@access.conversation(Role.AUDITOR)
def assign_review(request: Request, conversation: Conversation) -> HttpResponse:
    return review_pages.assign_review(request, subjects.load_conversation(conversation))


def _render_page(
    request: Request,
    conversation: Conversation,
    form: VerdictForm | None = None,
    status: int = 200,
) -> HttpResponse:
    subject = subjects.load_conversation(conversation)
    panel = review_pages.build_panel(request, subject, form)
    context = {
        "conversation": conversation,
        "review": panel,
        "open_comment_count": annotation_blocks.build_status(conversation.pk)["open_count"],
    }
    return render(request, "reviews/conversation.html", context, status=status)
