"""A person's bookmarks: their page, and the button that sets and removes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render

from jpweb.store.annotations import bookmarks
from jpweb.store.choices import Role
from jpweb.store.errors import BookmarkRefused, UnknownAnchor
from jpweb.web import access, annotation_blocks, converters, notice_text, transcript
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@access.signed_in
def list_bookmarks(request: Request) -> HttpResponse:
    """List the person's bookmarks where they may still read."""
    before_key = converters.parse_key(request.GET.get("before"))
    rows, next_key = bookmarks.get_page(request.user.pk, before_key or None)
    context = {"rows": rows, "next_key": next_key}
    return render(request, "annotations/bookmarks.html", context)


@require_POST
@access.conversation(Role.READER)
def toggle_bookmark(request: Request, conversation: Conversation) -> HttpResponse:
    """Set or remove the bookmark of an event, or of the conversation without an anchor."""
    anchor = converters.parse_anchor(request.POST.get("anchor"))
    try:
        is_set = bookmarks.toggle_bookmark(request.user.pk, conversation, anchor)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error
    except BookmarkRefused as error:
        if request.htmx:
            return HttpResponse(str(error), status=400, content_type="text/plain")
        messages.error(request, str(error))
        return HttpResponseRedirect(_find_return_url(request, conversation, ""))
    if request.htmx:
        html = anchor and annotation_blocks.render_block(
            request, conversation, anchor, has_forms=False
        )
        return HttpResponse(html, headers={"X-Bookmarked": "1" if is_set else "0"})
    text = notice_text.BOOKMARK_SET if is_set else notice_text.BOOKMARK_REMOVED
    messages.success(request, text)
    if request.POST.get("next") == "bookmarks":
        return redirect("bookmarks")
    return HttpResponseRedirect(_find_return_url(request, conversation, anchor))


def _find_return_url(request: Request, conversation: Conversation, anchor: str) -> str:
    """Return the form's local URL with the anchor of the event; else that of its transcript."""
    return_url = converters.parse_local_url(request.POST.get("next", ""))
    if not return_url:
        return transcript.make_event_url(conversation.pk, anchor)
    return f"{return_url}#{anchor}" if anchor else return_url
