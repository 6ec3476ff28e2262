"""Reviews that entries of the ledger record, as a person may see them."""

from __future__ import annotations

from jpweb.store.choices import Act, Role, Verdict
from jpweb.store.models import Conversation, LedgerEntry
from jpweb.store.reviews import recorded_reviews, subjects
from tests.store import making
from tests.store.reviews.desk import ReviewDesk, send


def test_note_of_an_owner_who_decided_is_shown_to_all_auditors(desk: ReviewDesk):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ada, Verdict.ESCALATE, "Look.")
    desk.close()
    desk.require_two()
    decision = send(
        subjects.load_conversation(Conversation.objects.get()), olga, Verdict.WRONG, "No."
    )
    entries = list(LedgerEntry.objects.filter(act=Act.REVIEWED))
    shown = recorded_reviews.load_shown_reviews(entries, desk.ben.pk)
    assert decision.note in {row.note for row in shown.values()}
