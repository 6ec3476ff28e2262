"""Reviews: the rights to give and see them, and their insertion.

A subject has up to two rounds, by different people. Where the workspace requires two, the second
is blind: verdict and note of the first are shown once both are in. Where the two disagree, or one
escalates, an owner who gave neither may decide.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.db import IntegrityError, transaction

from jpweb.evidence import record_checks
from jpweb.store import accounts, db_text, journal
from jpweb.store.choices import Act, ReviewState, Role, Verdict
from jpweb.store.database import clock
from jpweb.store.errors import ReviewRefused, UnknownConversation
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Inquiry, Person, Review, ReviewTask
from jpweb.store.reviews import reservations, subjects
from jpweb.store.reviews.subjects import ReviewSubject

#: The rounds: those of reviewers, and that of an owner, whose verdict counts alone.
FIRST, SECOND, DECISION = 1, 2, 3
#: Characters of a note; longer ones are cut.
MAX_NOTE_CHARS = 4000
_NONCE_BYTES = 16
#: States in which an owner may decide.
_UNDECIDED_STATES = frozenset({ReviewState.DISAGREED, ReviewState.ESCALATED})
_OPEN_REFUSAL = "A question can be reviewed once it is closed."
_ESCALATION_REFUSAL = "You decide this as an owner. Choose another verdict than “Escalate”."


class ReviewInput(NamedTuple):
    """The form that a person sends; ``version`` and ``seen_count`` are those of their page."""

    verdict: Verdict
    note: str
    version: str
    seen_count: int


class Slot(NamedTuple):
    """The review that a person can give next: its round, and its number in the round."""

    round: int
    revision: int

    @property
    def can_escalate(self) -> bool:
        """Whether the review may ask an owner to look: a decision is that of an owner."""
        return self.round != DECISION


class ShownReview(NamedTuple):
    """A review as one person sees it: a hidden one shows neither verdict nor note."""

    review: Review
    is_hidden: bool
    is_latest: bool
    is_outdated: bool

    @property
    def is_withheld(self) -> bool:
        """Whether the bundle from which the review was imported has neither verdict nor note."""
        return not self.review.verdict


class SubjectState(NamedTuple):
    """The state of a subject's reviews; ``verdict``: on which they agree, else empty."""

    state: ReviewState
    verdict: str


@dataclass(frozen=True, slots=True)
class ReviewHistory:
    """All reviews of a subject, the oldest first."""

    subject: ReviewSubject
    rows: list[Review]
    rounds_required: int

    def find_latest(self, number: int) -> Review | None:
        """Return the latest review of a round, of the present version."""
        version = self.subject.version
        rows = [row for row in self.rows if (row.round, row.version) == (number, version)]
        return rows[-1] if rows else None

    def is_complete(self) -> bool:
        """Tell whether all required reviews of the present version are in, or an owner decided."""
        if self.find_latest(DECISION) is not None:
            return True
        row = self.find_latest(FIRST)
        if row is None:
            return False
        return row.rounds_required < SECOND or self.find_latest(SECOND) is not None

    @property
    def is_disputed(self) -> bool:
        """Tell whether the present version has two reviews whose verdicts differ."""
        rows = self.find_latest(FIRST), self.find_latest(SECOND)
        return len({row.verdict for row in rows if row}) > 1

    def find_escalation(self) -> Review | None:
        """Return the latest review that asks an owner to look, of any version; None once one did.

        Left out are reviews that ``list_disclosed`` leaves out, and those whose reviewer has given
        another one since.
        """
        disclosed_keys = list_disclosed(self.rows)
        latest_keys = {(row.version, row.round): row.pk for row in self.rows}
        own_keys = {(row.reviewer_id, row.reviewer_name): row.pk for row in self.rows}
        for row in reversed(self.rows):
            if row.round == DECISION:
                return None
            is_latest = (
                latest_keys[row.version, row.round]
                == own_keys[row.reviewer_id, row.reviewer_name]
                == row.pk
            )
            if row.verdict == Verdict.ESCALATE and is_latest and row.pk in disclosed_keys:
                return row
        return None

    @property
    def state(self) -> SubjectState:
        """State of the present version."""
        first_review, decision = self.find_latest(FIRST), self.find_latest(DECISION)
        if self.find_escalation() is not None:
            return SubjectState(ReviewState.ESCALATED, "")
        if decision is not None:
            return SubjectState(ReviewState.DONE, decision.verdict)
        if first_review is None:
            return SubjectState(ReviewState.UNREVIEWED, "")
        if not self.is_complete():
            return SubjectState(ReviewState.PARTIAL, "")
        if self.is_disputed:
            return SubjectState(ReviewState.DISAGREED, "")
        return SubjectState(ReviewState.DONE, first_review.verdict)

    @property
    def is_changed(self) -> bool:
        """Tell whether only other versions of the subject were reviewed.

        Of a review that an imported bundle withheld, nothing says to which version it belongs.
        """
        is_reviewed = self.find_latest(FIRST) or self.find_latest(DECISION)
        return any(row.verdict for row in self.rows) and not is_reviewed

    def list_shown(self, person_id: int) -> list[ShownReview]:
        """Return the reviews as a person sees them, the newest first."""
        disclosed_keys = list_disclosed(self.rows)
        latest_keys = {(row.version, row.round): row.pk for row in self.rows}
        return [
            ShownReview(
                row,
                is_hidden=not row.verdict
                or not (row.pk in disclosed_keys or row.reviewer_id == person_id),
                is_latest=latest_keys[row.version, row.round] == row.pk,
                is_outdated=row.version != self.subject.version,
            )
            for row in reversed(self.rows)
        ]

    def find_slot(self, person_id: int, *, took_part: bool | None = None) -> Slot:
        """Return the review that a person can give; ``took_part`` saves a query.

        Raises ReviewRefused.
        """
        if subjects.is_open(self.subject):
            raise ReviewRefused(_OPEN_REFUSAL)
        if subjects.is_own(self.subject, person_id) if took_part is None else took_part:
            raise ReviewRefused(subjects.describe_own_part(self.subject, person_id))
        if slot := self._find_deciding_slot(person_id):
            return slot
        names = []
        for number in (FIRST, SECOND):
            row = self.find_latest(number)
            if row is None:
                return Slot(number, 1)
            if row.reviewer_id == person_id:
                return Slot(number, row.revision + 1)
            names.append(row.reviewer_name)
        refusal = f"Both reviews are in, by {names[0]} and {names[1]}."
        if self.state.state in _UNDECIDED_STATES:
            refusal += " An owner who gave neither can decide."
        raise ReviewRefused(refusal)

    def _find_deciding_slot(self, person_id: int) -> Slot | None:
        """Return the decision that an owner can give who is none of the reviewers."""
        decision = self.find_latest(DECISION)
        is_mine = decision is not None and decision.reviewer_id == person_id
        if not is_mine and self.state.state not in _UNDECIDED_STATES:
            return None
        reviews = (self.find_latest(FIRST), self.find_latest(SECOND), self.find_escalation())
        if any(row is not None and row.reviewer_id == person_id for row in reviews):
            return None
        workspace_id = self.subject.conversation.workspace_id
        if accounts.get_role(person_id, workspace_id) is not Role.OWNER:
            return None
        return Slot(DECISION, decision.revision + 1 if decision else 1)


def list_disclosed(rows: Iterable[Review]) -> set[int]:
    """Return the keys of the reviews that all auditors may see; ``rows`` has the oldest first.

    They are those whose version, or a later one of the same question or conversation, is complete.
    A blind review of an earlier version can get no second one, so it waits for that of a later one.
    """
    disclosed_keys: set[int] = set()
    waiting_keys: dict[tuple[int, str], list[int]] = defaultdict(list)
    complete_versions: set[tuple[int, str, str]] = set()
    for row in rows:
        if not row.verdict:
            continue
        place = row.conversation_id, row.anchor
        waiting_keys[place].append(row.pk)
        if row.round != FIRST or row.rounds_required < SECOND:
            complete_versions.add((*place, row.version))
        if (*place, row.version) in complete_versions:
            disclosed_keys.update(waiting_keys.pop(place))
    return disclosed_keys


def load_history(subject: ReviewSubject) -> ReviewHistory:
    """Return the reviews of a subject; one query."""
    rows = Review.objects.filter(conversation=subject.conversation, anchor=subject.anchor)
    workspace = subject.conversation.workspace
    return ReviewHistory(subject, list(rows.order_by("pk")), workspace.reviews_required)


def clean_note(text: str) -> str:
    """Return a note with normal line ends, cut to its maximum."""
    return db_text.clean_text(text.replace("\r\n", "\n")).strip()[:MAX_NOTE_CHARS]


def submit_review(subject: ReviewSubject, person: Person, draft: ReviewInput) -> Review:
    """Insert a person's review of the version on their page, and end their reservation.

    The same review sent twice is inserted once. Raises ReviewRefused where the person may not, or
    where another review or a change of the subject came first.
    """
    try:
        with transaction.atomic():
            return _insert_review(subject, person, draft)
    except IntegrityError as error:
        # The row's lock makes this unlikely; the constraint decides where it does not hold.
        raise ReviewRefused("Another review came first. Reload to see whose it is.") from error


def _insert_review(subject: ReviewSubject, person: Person, draft: ReviewInput) -> Review:
    try:
        journal.lock_conversation(subject.conversation.pk)  # first, as a redaction of the note does
    except UnknownConversation as error:
        raise ReviewRefused(str(error)) from error
    tasks = ReviewTask.objects.select_for_update()
    task, _ = tasks.get_or_create(conversation=subject.conversation, anchor=subject.anchor)
    try:
        history = load_history(subjects.reload(subject))
    except Inquiry.DoesNotExist as error:
        raise ReviewRefused("This question is no longer in the conversation.") from error
    repeated_review = _find_repeated(history, person, draft)
    if repeated_review is not None:
        return repeated_review
    _require_unchanged(history, person, draft)
    slot = history.find_slot(person.pk)
    if draft.verdict == Verdict.ESCALATE and not slot.can_escalate:
        raise ReviewRefused(_ESCALATION_REFUSAL)
    _require_unreserved(history.subject, person)
    review = _make_review(history, person, draft, slot)
    review.save(force_insert=True)
    history.rows.append(review)
    _update_task(task, history, person)
    _record_review(history, review, person)
    return review


def _find_repeated(history: ReviewHistory, person: Person, draft: ReviewInput) -> Review | None:
    """Return the person's review that this one repeats, as after a double click."""
    row = history.rows[-1] if history.rows else None
    if row is None or len(history.rows) != draft.seen_count + 1:
        return None
    is_same = (row.reviewer_id, row.version, row.verdict, row.note) == (
        person.pk,
        draft.version,
        draft.verdict,
        clean_note(draft.note),
    )
    return row if is_same else None


def _require_unchanged(history: ReviewHistory, person: Person, draft: ReviewInput) -> None:
    """Raise ReviewRefused where the person's page is out of date."""
    if history.subject.version != draft.version:
        noun = "question" if history.subject.inquiry else "conversation"
        raise ReviewRefused(
            f"This {noun} has changed since you opened it. Look at it again, then send your review."
        )
    if len(history.rows) <= draft.seen_count:
        return
    name = history.rows[-1].reviewer_name
    slot = history.find_slot(person.pk)
    position = {SECOND: "second review", DECISION: "decision"}.get(slot.round, "review")
    raise ReviewRefused(
        f"{name} reviewed this while you were writing, and their review stands. "
        f"Send yours again to add it as the {position}."
    )


def _require_unreserved(subject: ReviewSubject, person: Person) -> None:
    reservation = reservations.find_reservation(subject)
    if reservation is not None and reservation.person.pk != person.pk:
        raise ReviewRefused(
            f"{reservation.person.display_name} is reviewing this now. "
            f"Send yours after {reservation.until:%H:%M} UTC, or when their review is in."
        )


def _make_review(history: ReviewHistory, person: Person, draft: ReviewInput, slot: Slot) -> Review:
    first_review = history.find_latest(FIRST)
    return Review(
        conversation=history.subject.conversation,
        anchor=history.subject.anchor,
        version=history.subject.version,
        content_hash=subjects.hash_content(history.subject),
        round=slot.round,
        revision=slot.revision,
        rounds_required=first_review.rounds_required if first_review else history.rounds_required,
        verdict=draft.verdict,
        note=clean_note(draft.note),
        nonce=secrets.token_hex(_NONCE_BYTES),
        reviewer=person,
        reviewer_name=person.display_name[:200],
        reviewed_at=clock.now(),
    )


def _update_task(task: ReviewTask, history: ReviewHistory, person: Person) -> None:
    """Store the state of a subject's reviews, and end the person's part in it."""
    first_review = history.find_latest(FIRST)
    task.state, task.verdict = history.state
    task.first_reviewer_id = first_review.reviewer_id if first_review else None
    task.holder, task.held_until = None, None
    if task.assignee_id == person.pk:
        task.assignee = None
    task.save()


def _record_review(history: ReviewHistory, review: Review, person: Person) -> None:
    """Record a review. The note is in the ledger as a hash: it may quote later redactions.

    So is the verdict of a review that the other reviewer must not know yet. The entry that
    completes a blind review names both verdicts.
    """
    details: dict[str, object] = {
        "round": review.round,
        "content_hash": review.content_hash,
        "review_hash": hash_review(review),
    }
    if history.is_complete():
        details["verdict"] = review.verdict
        row = history.find_latest(FIRST)
        if row is not None and row.pk != review.pk and row.rounds_required == SECOND:
            details["first_verdict"] = row.verdict
    subject = history.subject
    conversation = subject.conversation
    place = Place(conversation.workspace_id, conversation.pk, subject.ledger_subject)
    record_act(Act.REVIEWED, Actor.from_person(person), place, **details)


def hash_review(review: Review) -> str:
    """Return the SHA-256 that the ledger keeps of a review's verdict and note."""
    return record_checks.hash_review(str(review.verdict), review.note, review.nonce)
