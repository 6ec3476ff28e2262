"""Steps from a conversation to the next or previous one of the list that led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from jpweb.store.choices import Role
from jpweb.store.conversation_list import neighbours
from jpweb.web import access, notice_text
from jpweb.web.forms.conversation_filters import ConversationFilterForm

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Characters of a list's query string that are passed on.
MAX_QUERY_CHARS = 1000


@access.conversation(Role.READER)
def open_neighbour(request: Request, conversation: Conversation) -> HttpResponse:
    """Redirect to the next or previous conversation, in the order of the list in ``list``."""
    list_query = request.GET.get("list", "")[:MAX_QUERY_CHARS]
    is_backward = request.GET.get("to") == "previous"
    filters = ConversationFilterForm(QueryDict(list_query)).build_filters()
    key = neighbours.find_neighbour(request.user.pk, filters, conversation, is_backward=is_backward)
    if key is None:
        messages.info(
            request,
            notice_text.FIRST_CONVERSATION if is_backward else notice_text.LAST_CONVERSATION,
        )
    response = redirect("conversation", conversation_id=key or conversation.pk)
    if list_query:
        response["Location"] += f"?{urlencode({'list': list_query})}"
    return response


def find_list_query(request: Request) -> str:
    """Return the query string of the list from which a person came to a conversation.

    It is in the address after a step, and else in the referrer; the first page of all
    conversations is "".
    """
    if "list" in request.GET:
        return request.GET["list"][:MAX_QUERY_CHARS]
    referrer = urlsplit(request.headers.get("Referer", ""))
    is_list = referrer.netloc == request.get_host() and referrer.path == reverse("conversations")
    return referrer.query[:MAX_QUERY_CHARS] if is_list else ""
