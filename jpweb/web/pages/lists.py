"""The list of conversations, and what people change about one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store.disk import facts
from jpweb.store.disk.facts import Change
from jpweb.store.errors import StoreError
from jpweb.store.listing import pages, ranges
from jpweb.store.listing.choice import Choice, Sort
from jpweb.store.terms import Origin, Role
from jpweb.web import access

if TYPE_CHECKING:
    from django.http import QueryDict

    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Each order by its word, and the words for going on and back in it.
SORTS = {
    Sort.ACTIVITY: ("Last activity", "Older", "Newer"),
    Sort.WAITING: ("Longest waiting", "Shorter-waiting", "Longer-waiting"),
    Sort.LENGTH: ("Most events", "Shorter", "Longer"),
}
ORIGINS = {Origin.NATIVE: "Web", Origin.MIRRORED: "From jp (read-only)"}
#: What a filter is at the most; no title, label or key is longer.
_LONGEST = 600
#: The parameters of an address, and what those may be that have few values.
_NAMES = ("q", "workspace", "label", "archived", "origin", "has", "sort", "before", "after")
_KNOWN: dict[str, Callable[[str], object]] = {
    "workspace": re.compile(r"\d{0,18}", re.ASCII).fullmatch,
    "origin": {"", *Origin}.__contains__,
    "has": {"", "waiting", "problem"}.__contains__,
    "sort": {"", *Sort}.__contains__,
}
#: What a button changes, and what is said then.
_SWITCHES = {
    "pin": (Change(pinned=True), "Pinned {}."),
    "unpin": (Change(pinned=False), "Unpinned {}."),
    "archive": (Change(archived=True), "Archived {}."),
    "unarchive": (Change(archived=False), "Unarchived {}."),
}


@access.signed_in
def index(request: Request) -> HttpResponse:
    """List what the person may read; everything chosen is in the URL."""
    choice, odd = _choice(request.GET)
    page = pages.page(request.user.pk, choice)
    _, older, newer = SORTS[choice.sort]
    given = _spelled(choice)
    context = {
        "page": page,
        "scan": f"{ranges.SCAN:,}",
        "choice": choice,
        "odd": odd,
        "narrowed": bool(given.keys() - {"q", "sort", "archived"}),
        "filtered": choice != Choice(sort=choice.sort, archived=choice.archived),
        "beginning": not (choice.before or choice.after),
        "responds": set(pages.workspaces(request.user.pk, Role.RESPONDER)),
        "ways": [
            (word, f"?{urlencode(given | {name: key})}", rel)
            for word, name, key, rel in (
                (newer, "after", page.newer, "prev"),
                (older, "before", page.older, "next"),
            )
            if key
        ],
        "first": f"?{urlencode(given)}",
        "sorts": [(sort.value, words[0]) for sort, words in SORTS.items()],
        "origins": [(origin.value, word) for origin, word in ORIGINS.items()],
        "here": request.get_full_path(),
    }
    name = "conversations/_list.html" if request.htmx else "conversations/index.html"
    return render(request, name, context)


@access.conversation(Role.RESPONDER)
def facts_page(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the forms that change a conversation's title, labels, pin and place."""
    return _forms(request, conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def change(request: Request, conversation: Conversation) -> HttpResponse:
    """Change a conversation, and tell those who look at it; then go back to where it was asked."""
    there = _there(request, conversation)
    try:
        wanted, said = _wanted(request.POST, conversation)
        made = await in_store(facts.change, conversation.pk, wanted)
    except StoreError as problem:
        messages.error(request, str(problem))
        return redirect(there)
    messages.success(request, said)
    await announce.conversation(made.pk)
    return redirect(there)


def _forms(request: Request, conversation: Conversation) -> HttpResponse:
    context = {
        "conversation": conversation,
        "may_change": True,
        "here": request.get_full_path(),
    }
    return render(request, "conversations/facts.html", context)


def _wanted(sent: QueryDict, conversation: Conversation) -> tuple[Change, str]:
    """Return the change that a form asks for, and what is said once it is made.

    Raises StoreError where it asks for nothing that is known.
    """
    title, do, label = conversation.title or "Untitled", sent.get("do", ""), sent.get("label", "")
    if do in _SWITCHES:
        wanted, said = _SWITCHES[do]
        return wanted, said.format(f"“{title}”")
    if do == "rename":
        wanted = facts.titled(sent.get("title", ""))
        return wanted, f"Renamed to “{wanted.title or 'Untitled'}”."
    if do == "label":
        return facts.labelled(label), f"Added the label “{label.strip()}” to “{title}”."
    if do == "unlabel":
        return Change(drop=frozenset([label])), f"Removed the label “{label}” from “{title}”."
    raise StoreError("Choose what to change.")


def _there(request: Request, conversation: Conversation) -> str:
    """Return the page of ours that a form names, at the conversation's row; else its own page."""
    there = request.POST.get("next", "").partition("#")[0]
    if there.startswith("/") and url_has_allowed_host_and_scheme(there, allowed_hosts=None):
        return f"{there}#c{conversation.pk}"
    return reverse("conversation", args=[conversation.pk])


def _choice(given: QueryDict) -> tuple[Choice, list[str]]:
    """Return what an address chooses, and what of it nobody understands."""
    said = {name: given.get(name, "").strip()[:_LONGEST] for name in _NAMES}
    odd = [f"{name}={said[name]}" for name, known in _KNOWN.items() if not known(said[name])]
    said |= {name: "" for name, known in _KNOWN.items() if not known(said[name])}
    # What waits is few of many, and has an order of its own.
    sort = Sort.WAITING if said["has"] == "waiting" else Sort(said["sort"] or Sort.ACTIVITY)
    return Choice(
        words=said["q"],
        workspace=int(said["workspace"]) if said["workspace"] else None,
        label=said["label"],
        origin=Origin(said["origin"]) if said["origin"] else None,
        archived=bool(said["archived"]),
        problem=said["has"] == "problem",
        sort=sort,
        before=said["before"],
        after=said["after"],
    ), odd


def _spelled(choice: Choice) -> dict[str, str]:
    """Return a choice as an address spells it, without where the page begins."""
    given = {
        "q": choice.words,
        "workspace": str(choice.workspace or ""),
        "label": choice.label,
        "origin": choice.origin or "",
        "has": "problem" if choice.problem else "",
        "archived": "1" if choice.archived else "",
        "sort": "" if choice.sort == Sort.ACTIVITY else choice.sort,
    }
    return {name: str(value) for name, value in given.items() if value}
