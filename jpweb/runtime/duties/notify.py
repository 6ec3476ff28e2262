"""Tells people elsewhere, by mail or chat, of what has waited for them for a while.

A message says who asks, where, and the beginning of the question; of a secret it says only that
one is asked for. Whatever becomes of it, the question waits where it did.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse

from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.duties import carrier
from jpweb.store.telling import addresses, notices
from jpweb.store.terms import PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jpweb.store.models import Address
    from jpweb.store.telling.notices import Due

#: Messages of one round, and how many of its addresses are told at once.
ROUND, AT_ONCE = 100, 8
#: Characters of a question, and of a name or title, that are sent.
QUESTION, NAME = 300, 80

#: What a title says before the name of the tool, by the kind of the prompt; None is a question.
_SUBJECTS = {
    None: "question from",
    PromptKind.RUN: "approval needed for",
    PromptKind.DELIVER: "review the result of",
}
_ASKED = {
    PromptKind.RUN: "A tool call needs your approval.",
    PromptKind.DELIVER: "A tool's result needs your approval before the model sees it.",
}
#: What chat programs make mentions, links and pictures of; parted, it stays what it is.
_MARKUP = re.compile(r"(?<=[@<])(?=\S)|(?<=\])(?=\()")
_PARTED = "\N{ZERO WIDTH SPACE}"
_JOINER = "\N{ZERO WIDTH JOINER}"


async def tell_due() -> int:
    """Send what is due to be told, each once whoever else does the same; returns how many arrived.

    A message that fails is not sent again. An address is told at most ``notices.EACH`` a round, and
    nothing more in that round once one has failed, so a round ends even where nobody takes a
    message.
    """
    due = await in_background(notices.due, ROUND)
    queues: dict[int, list[Due]] = defaultdict(list)
    for what in due:
        queues[what.address_id].append(what)
    gate = asyncio.Semaphore(AT_ONCE)
    return sum(await asyncio.gather(*(_tell(queue, gate) for queue in queues.values())))


async def test(address: Address) -> str:
    """Send a test to an address; returns why it failed, or nothing. What it says is kept."""
    if carrier.busy(address.pk):
        return "The previous message is still being sent."
    title = f"jpweb: test notification for {_line(address.workspace.name)}"
    body = (
        f"Questions in {_line(address.workspace.name)} that wait for you will be sent here."
        f"\n\n{settings.PUBLIC_URL}{reverse('questions')}"
    )
    problem = await carrier.send(address.pk, address.url, title, body)
    await in_store(addresses.note, address.pk, problem)
    return problem


async def _tell(queue: Sequence[Due], gate: asyncio.Semaphore) -> int:
    """Tell an address of one thing after another; returns how many arrived."""
    async with gate:
        told = 0
        for what in queue:
            if carrier.busy(what.address_id):
                return told
            claimed = await in_store(notices.claim, what)
            if claimed is None:
                continue
            notice_id, token = claimed
            title, body = message(what, token)
            problem = await carrier.send(what.address_id, what.url, title, body)
            await in_store(addresses.note, what.address_id, problem)
            if problem:
                await in_store(notices.failed, notice_id, problem)
                return told
            told += 1
        return told


def message(what: Due, token: str) -> tuple[str, str]:
    """Return title and text of what is sent; nobody's words in it are more than words."""
    asker, workspace = _line(what.asker) or "jpweb", _line(what.workspace)
    title = f"{workspace}: {_SUBJECTS[what.prompt]} {asker}"
    where = f"In “{_line(what.conversation) or 'Untitled'}”, {workspace}."
    if what.prompt is not None:
        link = reverse("prompt", kwargs={"prompt_id": what.prompt_id})
        decide = "Review and decide (sign-in required)"
        return title, f"{_ASKED[what.prompt]}\n\n{where}\n{decide}: {settings.PUBLIC_URL}{link}"
    asked = (
        "A secret is requested." if what.secret else _words(what.text) or "A question is waiting."
    )
    link = reverse("answer-link", kwargs={"token": token})
    answer = "Answer (single-use link, valid for seven days)"
    return title, f"{asked}\n\n{where}\n{answer}: {settings.PUBLIC_URL}{link}"


def _words(text: str) -> str:
    """Return the beginning of a text, its line ends kept."""
    lines = [_clean(line) for line in text.strip()[: QUESTION * 4].splitlines()]
    whole = "\n".join(lines).strip()
    cut = len(whole) > QUESTION or len(text.strip()) > QUESTION * 4
    return _inert(whole[:QUESTION] + ("…" if cut else ""))


def _line(text: str) -> str:
    """Return a name or title on one line, cut where it is long."""
    whole = _clean(text[: NAME * 4])
    return _inert(whole if len(whole) <= NAME else f"{whole[:NAME]}…")


def _clean(text: str) -> str:
    """Return a text without what cannot be seen, or turns what stands around it."""
    seen = (
        char if char == _JOINER or unicodedata.category(char)[0] != "C" else " " for char in text
    )
    return " ".join("".join(seen).split())


def _inert(text: str) -> str:
    return _MARKUP.sub(_PARTED, text)
