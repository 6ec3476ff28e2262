"""Records reads and exports of conversations in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.datastructures import MultiValueDict

from jpweb.runtime import read_log
from jpweb.runtime.read_log import ReadRecord
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Act, Role
from jpweb.store.evidence import contents
from jpweb.store.ledger.entries import Actor, NewAct, Place, record_act, record_acts
from jpweb.store.ledger.listing import LedgerFilters
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.store.search import query_parser
from jpweb.web.labels import ledger_labels, page_labels

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from jpweb.store.models import Conversation, Person
    from jpweb.web.http import Request

#: Statuses of responses that show content; with 304 the browser has it.
CONTENT_STATUSES = frozenset({200, 206, 304})
#: Statuses of replies to forms that show their page again.
REPLY_STATUSES = frozenset({200, 409, 422})
#: Routes of a conversation that show none of its events.
METADATA_ROUTES = frozenset(
    {
        "conversation-edit", "conversation-change", "question-claim", "question-release",
        "approval-claim", "approval-release",
    }
)  # fmt: skip
#: Routes that show questions, answers, notes or reasons of several conversations.
LISTING_ROUTES = frozenset(
    {
        "home", "questions", "audit", "decisions", "review-queue", "audit-charts", "bookmarks",
        "mentions", "ledger", "secrets",
    }
)  # fmt: skip
#: The role that a list needs in each workspace of which it shows rows. The other lists show what
#: is asked of a person, told to them or kept by them: their reads are entries of the person alone.
ROLE_BY_ROUTE: Mapping[str, Role] = {
    "questions": Role.RESPONDER,
    "audit": Role.AUDITOR,
    "audit-charts": Role.AUDITOR,
    "decisions": Role.AUDITOR,
    "ledger": Role.AUDITOR,
    "review-queue": Role.AUDITOR,
    "secrets": Role.AUDITOR,
}
#: Lists that leave out the demo unless it is asked for, or all that their reader audits.
DEMOLESS_ROUTES = frozenset({"audit", "audit-charts", "decisions", "review-queue"})
#: Characters of a searched text, and of an export's query string, in an entry: a bundle leaves up
#: to a thousand entries.
MAX_QUERY_CHARS = query_parser.MAX_QUERY_CHARS
#: Characters of a filter's value in an entry.
MAX_FILTER_CHARS = 200
#: Routes that search for the text of the parameter ``q``.
TEXT_ROUTES = frozenset({"search", "conversation-find"})
#: Parameters of a route that narrow its content.
FILTERS_BY_ROUTE: Mapping[str, tuple[str, ...]] = {
    "search": tuple(query_parser.FILTER_DESCRIPTIONS),
    "audit": tuple(field.name for field in fields(AuditFilters)),
    "audit-charts": tuple(field.name for field in fields(AuditFilters)),
    "decisions": tuple(field.name for field in fields(DecisionFilters)),
    "ledger": tuple(field.name for field in fields(LedgerFilters)),
    "questions": ("workspace",),
    "secrets": ("state", "workspace"),
    "review-queue": ("queue_name",),
}
#: Parameters that entries name otherwise: of *Audit*, a person is a name and an account a key.
_NAMES_BY_ROUTE = {
    "decisions": {"decider": "person", "person": "account"},
    "ledger": {"person": "account"},
    "review-queue": {"queue_name": "queue"},
}
#: Routes that hand out a file. They are recorded at once, other reads within a second.
EXPORT_ROUTES = frozenset({"conversation-export", "conversation-evidence"})


class _PlaceForm(forms.Form):
    """The filters that name a place, as the most lenient form of a list parses them."""

    workspace = forms.IntegerField(required=False)
    conversation = forms.IntegerField(required=False)


def note_response(
    request: HttpRequest,
    view_args: dict[str, Any],
    response: HttpResponseBase,
    get_roles: Callable[[], Mapping[int, Role]],
) -> None:
    """Gather the read of a conversation, or of a list, if this response shows one to any method.

    A list is one read in each of its places.
    """
    person = request.user
    conversation = _find_conversation(view_args)
    route = request.resolver_match.url_name if request.resolver_match else None
    if (
        (conversation is not None or route in LISTING_ROUTES)
        and person.is_authenticated
        and route not in METADATA_ROUTES | EXPORT_ROUTES
        and _shows_content(request, response)
    ):
        route = _find_page(request)
        if conversation is None:
            places = _list_places(route, request.GET, get_roles)
        else:
            places = [Place(conversation.workspace_id, conversation.pk)]
        # A queue's name is a part of its path.
        path_params = {name: view_args[name] for name in ("queue_name",) if name in view_args}
        query, filters = _read_criteria(route, request.GET.dict() | path_params)
        read_record = ReadRecord(
            Act.READ, Actor.from_person(person), Place(), route, query, filters
        )
        has_demo = forms.CheckboxInput().value_from_datadict(request.GET, MultiValueDict(), "demo")
        omits_demo = len(places) > 1 and route in DEMOLESS_ROUTES and not has_demo
        for place in places:
            read_log.note_read(read_record._replace(place=place, omits_demo=omits_demo))


def note_link_read(person: Person, conversation: Conversation) -> None:
    """Gather the read of a question by a person's answer link, signed in or not."""
    place = Place(conversation.workspace_id, conversation.pk)
    read_log.note_read(ReadRecord(Act.READ, Actor.from_person(person), place, "answer-link"))


def note_search(request: Request) -> None:
    """Gather a search of all conversations that the person may read."""
    query, filters = _read_criteria("search", request.GET)
    actor = Actor.from_person(request.user)
    read_log.note_read(ReadRecord(Act.SEARCHED, actor, Place(), "search", query, filters))


def record_export(request: Request, place: Place, **details: str | int) -> None:
    """Record a person's export, before its first byte is sent."""
    record_act(Act.EXPORTED, Actor.from_person(request.user), place, **details)


def record_workspace_exports(
    request: Request,
    list_workspace_ids: Callable[[], Iterable[int]],
    conversation_id: int | None = None,
    **details: str,
) -> None:
    """Record an export of several conversations, with an entry in each workspace that it is of.

    So those who audit there see it. ``conversation_id`` is the only conversation that its filters
    let through, if any. An export without rows is an entry of the person alone.
    """
    places = [Place(key, conversation_id) for key in list_workspace_ids()] or [Place()]
    actor = Actor.from_person(request.user)
    record_acts(NewAct(Act.EXPORTED, actor, place, dict(details)) for place in places)


def record_bundle(request: Request, conversation_ids: list[int], file_name: str) -> None:
    """Record the export of an evidence bundle, with an entry of each conversation in it.

    So the people who started them see it. Each entry says how many masked texts the events of its
    conversation reveal. A bundle without conversations is an entry of the person alone.
    """
    details = {"format": "evidence", "file": file_name, "query": get_query(request)}
    actor = Actor.from_person(request.user)
    masked_counts = contents.count_masked_places(conversation_ids)
    new_acts = [
        NewAct(
            Act.EXPORTED,
            actor,
            Place(workspace_id, key),
            details | _count_masks(masked_counts[key]),
        )
        for key, workspace_id in contents.find_workspace_ids(conversation_ids).items()
    ]
    record_acts(new_acts or [NewAct(Act.EXPORTED, actor, Place(), details)])


def get_query(request: Request) -> str:
    """Return the query string of an export, as its entry has it."""
    query: str = request.META["QUERY_STRING"]
    return query[:MAX_QUERY_CHARS]


def _shows_content(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Tell whether a response has content, or the browser has it."""
    if request.method == "GET":
        return response.status_code in CONTENT_STATUSES
    has_body = response.streaming or bool(getattr(response, "content", b""))
    return request.method != "HEAD" and has_body and response.status_code in REPLY_STATUSES


def _find_page(request: HttpRequest) -> str:
    """Return the route of a request; of a form, that of its page, which the reply shows again."""
    match = request.resolver_match
    if match is None:
        return ""
    if request.method == "GET" or match.url_name in ledger_labels.PAGE_LABELS:
        return match.url_name or ""
    return page_labels.find_form_page(request.path_info, match)[0]


def _list_places(
    route: str, params: Mapping[str, str], get_roles: Callable[[], Mapping[int, Role]]
) -> list[Place]:
    """Return the places of which a list shows rows.

    That is the conversation or the workspace that its filters name, else each workspace that the
    person audits, also the demo (``ReadRecord.omits_demo``). A place where they lack the list's
    role shows them nothing.
    """
    role = ROLE_BY_ROUTE.get(route)
    if role is None:
        return [Place()]
    roles = get_roles()
    workspace_ids = [key for key in sorted(roles) if roles[key].has_rights_of(role)]
    place = _find_filtered_place(route, params)
    if place is not None:
        return [place if place.workspace_id in workspace_ids else Place()]
    if role is not Role.AUDITOR:
        return [Place()]
    return [Place(key) for key in workspace_ids]


def _find_filtered_place(route: str, params: Mapping[str, str]) -> Place | None:
    """Return the place that the filters of a list name; None without such a filter."""
    names = FILTERS_BY_ROUTE.get(route, ())
    form = _PlaceForm({name: params[name] for name in names if name in params})
    form.is_valid()
    conversation_id = form.cleaned_data.get("conversation")
    if conversation_id is not None:
        workspace_id = contents.find_workspace_ids([conversation_id]).get(conversation_id)
        return Place(workspace_id, conversation_id)
    workspace_id = form.cleaned_data.get("workspace")
    return None if workspace_id is None else Place(workspace_id)


def _read_criteria(
    route: str, params: Mapping[str, str]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the text of a search, and the filters that have a value."""
    text = params.get("q", "").strip()[:MAX_QUERY_CHARS] if route in TEXT_ROUTES else ""
    names = _NAMES_BY_ROUTE.get(route, {})
    values = {
        names.get(name, name): params.get(name, "").strip()[:MAX_FILTER_CHARS]
        for name in FILTERS_BY_ROUTE.get(route, ())
    }
    return text, tuple((name, value) for name, value in values.items() if value)


def _count_masks(count: int) -> dict[str, int]:
    return {"masked_count": count} if count else {}


def _find_conversation(view_args: dict[str, Any]) -> Conversation | None:
    """Return the conversation that an access rule admitted a view to."""
    for name in ("inquiry", "approval", "suggestion"):
        if name in view_args:
            conversation: Conversation = view_args[name].conversation
            return conversation
    return view_args.get("conversation")
