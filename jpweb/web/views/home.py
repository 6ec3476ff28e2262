"""Start page and *Go to*: the rows that wait for a person, and every page that they can open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.store import accounts
from jpweb.store.conversation_list import dashboard, paginator
from jpweb.store.conversation_list.filters import ListFilters
from jpweb.store.people import group_members, invitations
from jpweb.store.reviews import queues
from jpweb.web import access, review_pages
from jpweb.web.http import require_POST
from jpweb.web.security import browser_sessions, rate_limits

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: Conversations that *Go to* offers.
_MAX_CONVERSATIONS = 8
#: Characters of its search words.
_MAX_WORDS_CHARS = 200


def _read_words(request: Request) -> str:
    return request.GET.get("q", "").strip()[:_MAX_WORDS_CHARS]


@access.signed_in
def show_dashboard(request: Request) -> HttpResponse:
    """Show pending questions, reviews, running turns, recent changes and pinned conversations."""
    own_queues = queues.load_own_queues(request.user.pk)
    context = {
        "dashboard": dashboard.get_dashboard(request.user.pk),
        "review_queues": [review_pages.describe_progress(queue) for queue in own_queues],
        "invitations": invitations.list_addressed(
            request.user, browser_sessions.list_proven_emails(request)
        ),
        "pending_groups": group_members.list_pending_groups(request.user.pk),
        "may_join_groups": not browser_sessions.has_other_maker(request),
    }
    return render(request, "home/index.html", context)


@require_POST
@access.signed_in
def dismiss_welcome(request: Request) -> HttpResponse:
    """Close the panel of the first visit for good."""
    accounts.mark_welcomed(request.user.pk)
    return redirect("home")


@access.signed_in
@rate_limits.limit_words(_read_words, rate_limits.TYPING_LIMIT)
def show_command_palette(request: Request) -> HttpResponse:
    """List every page that the person can open, and conversations whose titles have the words.

    htmx and the command palette get the lists alone.
    """
    words = _read_words(request)
    page = paginator.get_page(request.user.pk, ListFilters(words=words))
    context = {
        "words": words,
        "rows": page.rows[:_MAX_CONVERSATIONS],
    }
    name = "_palette_entries" if request.htmx else "palette"
    return render(request, f"home/{name}.html", context)
