"""Steps from a conversation to the next or previous one of the list that led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect

from jpweb.store.choices import Role
from jpweb.store.conversation_list import neighbors
from jpweb.web import access, notice_text
from jpweb.web.forms.filters.conversation_filters import ConversationFilterForm, find_list_query
from jpweb.web.security import rate_limits

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


def _read_list_words(request: Request) -> str:
    return QueryDict(find_list_query(request)).get("q", "")


@access.conversation(Role.READER)
@rate_limits.limit_words(_read_list_words, rate_limits.TYPING_LIMIT)
def open_neighbor(request: Request, conversation: Conversation) -> HttpResponse:
    """Redirect to the next or previous conversation, in the order of the list in ``list``."""
    list_query = find_list_query(request)
    is_backward = request.GET.get("to") == "previous"
    filters = ConversationFilterForm(QueryDict(list_query)).build_filters()
    key = neighbors.find_neighbor(request.user.pk, filters, conversation, is_backward=is_backward)
    if key is None:
        messages.info(
            request,
            notice_text.FIRST_CONVERSATION if is_backward else notice_text.LAST_CONVERSATION,
        )
    response = redirect("conversation", conversation_id=key or conversation.pk)
    if list_query:
        response["Location"] += f"?{urlencode({'list': list_query})}"
    return response
