"""The values of ledger entries, as the pages *Ledger* and *Decisions* show them."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place, record_act
from tests.web.reading import parse_page
from tests.web.world import World


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ("2026-11-27T20:06:42.419492+00:00", "until 27 Nov 2026, 20:06 UTC"),
        ("2026-11-27T20:06:42+02:00", "until 27 Nov 2026, 18:06 UTC"),
        ("soon", "until soon"),
    ],
)
def test_end_of_a_claim_is_written_as_pages_write_times(world: World, until: str, text: str):
    actor = Actor.from_person(world.people["owner"])
    place = Place(world.workspace.pk, world.conversation.pk)
    record_act(Act.QUESTION_CLAIMED, actor, place, until=until)
    page = parse_page(world.client("auditor").get("/audit/ledger?act=question_claimed"))
    assert text in page.text


@pytest.mark.parametrize(
    ("act", "details", "text"),
    [
        (
            Act.INQUIRY_CANCELLED,
            {"outcome": "cancelled", "reason": "user"},
            "outcome Cancelled, reason declined or stopped",
        ),
        (
            Act.INQUIRY_CANCELLED,
            {"outcome": "cancelled", "reason": "user", "channel": "reply"},
            "outcome Cancelled, reason interrupted with a reply, via a reply to the model",
        ),
        (
            Act.ROLE_CHANGED,
            {"old_role": "auditor only", "role": "responder"},
            "role before Auditor only, role Responder",
        ),
        (Act.APPROVAL_DECIDED, {"kind": "deliver", "allow": True}, "kind Result, allowed yes"),
        (Act.RUN_INTERRUPTED, {"kind": "respond"}, "kind Interrupt with a reply"),
        (
            Act.RUN_ENDED,
            {"state": "failed", "failure": "refusal"},
            "state Failed, failure The model refused to reply.",
        ),
        (Act.RUN_ENDED, {"state": "lost"}, "state Interrupted"),
        (Act.TRUST_GIVEN, {"kind": "server", "name": "git"}, "kind MCP server, name git"),
        (Act.SIGN_INS_ENDED, {"kind": "others"}, "kind All other browsers"),
        (Act.EXPORTED, {"format": "jsonl"}, "format JSON Lines, one event per line"),
        (
            Act.SETTING_CHANGED,
            {"setting": "expires_after", "value": 7200},
            "setting Unanswered questions, value Expire after 2 hours",
        ),
        (
            Act.SETTING_CHANGED,
            {"setting": "expires_after", "value": None},
            "setting Unanswered questions, value Never expire (default)",
        ),
        (
            Act.SETTING_CHANGED,
            {"setting": "reviews_required", "value": 2},
            "setting Reviews, value Two reviews by different people",
        ),
        (
            Act.SETTING_CHANGED,
            {"setting": "writing", "value": "compatible"},
            "setting Save web conversations to the workspace, value Yes, readable by an older jp",
        ),
        (
            Act.INQUIRY_ANSWERED,
            {"outcome": "answered", "asked_at": "2026-11-27T20:06:42.419492+00:00"},
            "outcome Answered, asked at 27 Nov 2026, 20:06 UTC",
        ),
        (Act.READ, {"view": "conversation-thread"}, "page What the model saw"),
    ],
)
def test_details_have_the_words_of_other_pages(
    world: World, act: Act, details: dict[str, Any], text: str
):
    actor = Actor.from_person(world.people["owner"])
    record_act(act, actor, Place(world.workspace.pk, world.conversation.pk), **details)
    page = parse_page(world.client("auditor").get(f"/audit/ledger?act={act}"))
    cells = page.find_all(**{"data-label": "Details"})
    assert text in [" ".join(cell.text.split()) for cell in cells]


def test_words_of_a_redaction_are_not_read_as_a_tag(world: World):
    actor = Actor.from_person(world.people["owner"])
    record_act(Act.REDACTED, actor, Place(world.workspace.pk, world.conversation.pk), reason="lost")
    page = parse_page(world.client("auditor").get(f"/audit/ledger?act={Act.REDACTED}"))
    assert "reason lost" in " ".join(page.text.split())
