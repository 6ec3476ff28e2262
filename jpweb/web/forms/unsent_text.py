"""A message that was not sent: the session keeps it until its field is shown again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect

from jpweb.web import transcript

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Key in a session's data, of a conversation and a text for it that was not sent.
_UNSENT_TEXT_KEY = "rejected_text"


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
