"""Texts that were not sent: pages show them again, so that nobody loses what they typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import redirect

from jpweb.web import transcript

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Key in a session's data, of a conversation and a text for it that was not sent.
_UNSENT_TEXT_KEY = "rejected_text"
#: Field or button in which a form names the field that a refusal may repeat; secrets have none.
_DRAFT_FIELD = "draft"
#: Errors of a body that is too large, of no form, or broken off.
_INVALID_BODIES = (SuspiciousOperation, MultiPartParserError, UnreadablePostError)


def redirect_with_text(request: Request, conversation: Conversation, text: str) -> HttpResponse:
    """Go to the end of a conversation with a text that was not sent, so that nobody loses it.

    The session keeps it until that page is shown. A page at the address of the form would have
    relative links, and a reload, that lead to this address, which takes no GET.
    """
    request.session[_UNSENT_TEXT_KEY] = conversation.pk, text
    return redirect(transcript.make_composer_url(conversation.pk))


def take_text(request: Request, conversation: Conversation) -> str:
    """Return the text for a conversation that was not sent, once; "" without one."""
    key, text = request.session.get(_UNSENT_TEXT_KEY, (None, ""))
    if key != conversation.pk:
        return ""
    del request.session[_UNSENT_TEXT_KEY]
    return str(text)


def find_draft(request: HttpRequest) -> str:
    """Return the text of a form whose sender may not send it, or may not any more; "" without one.

    The form alone says whether its text may be shown: the person may not see whether the row of the
    form's address exists, nor whether that asks for a secret.
    """
    if request.method != "POST" or request.resolver_match is None:
        return ""
    try:
        return request.POST.get(request.POST.get(_DRAFT_FIELD, ""), "")
    except _INVALID_BODIES:
        return ""
