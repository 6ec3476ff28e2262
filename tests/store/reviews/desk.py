"""A workspace with auditors, and closed questions to review."""

from __future__ import annotations

from jpweb.store.choices import Role, Verdict
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry, Person, Review
from jpweb.store.reviews import reviews, subjects
from jpweb.store.reviews.reviews import ReviewInput
from jpweb.store.reviews.subjects import ReviewSubject
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryOutcome
from tests.store import making

DECLINED = Cancelled(CancellationReason.USER)


class ReviewDesk:
    """Three auditors of a workspace, and a conversation whose questions a responder closes."""

    def __init__(self) -> None:
        self.workspace = making.workspace("Garden")
        self.ada, self.ben, self.cleo = (
            making.person(name, Role.AUDITOR, self.workspace) for name in ("ada", "ben", "cleo")
        )
        self.rita = making.person("rita", Role.RESPONDER, self.workspace)
        self.conversation = making.conversation(self.workspace, "A talk", self.rita)
        self.run = making.start_run(self.conversation, self.rita)

    def close(self, outcome: InquiryOutcome = making.ANSWER, by: Decider | None = None) -> Inquiry:
        """Return the row of a question that is closed."""
        row = making.question(self.run)
        return making.settle(row, outcome, by or making.decider(self.rita))

    def require_two(self) -> None:
        self.workspace.reviews_required = 2
        self.workspace.save()


def load(row: Inquiry) -> ReviewSubject:
    return subjects.load_question(Inquiry.objects.get(pk=row.pk))


def send(
    subject: ReviewSubject,
    person: Person,
    verdict: Verdict = Verdict.FINE,
    note: str = "",
    seen: int | None = None,
) -> Review:
    """Submit a review of what the person's page shows now, unless ``seen`` says otherwise."""
    count = len(reviews.load_history(subject).rows) if seen is None else seen
    return reviews.submit_review(
        subject, person, ReviewInput(verdict, note, subject.version, count)
    )
