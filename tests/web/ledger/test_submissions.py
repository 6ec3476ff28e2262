"""Each submission leaves its act in the ledger, or is known to need none."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.models import Invitation, LedgerEntry
from jpweb.store.people import invitations
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address, no_real_runs
from tests.web.views.audit.test_ledger import ACTS_BY_ROUTE, list_acts
from tests.web.world import World, take_invitation

__all__ = ["no_real_runs"]

ROOT = Path(__file__).parents[3]


class Proof(NamedTuple):
    """The test module, below ``tests``, that shows the acts of a submission."""

    module: str
    acts: set[Act]


#: Routes of pages whose forms are submitted to the page itself.
PAGES_WITH_SUBMISSIONS = {"answer-link", "conversation-new", "join", "sign-in", "sign-in-code"}
_STARTED = Proof("store/test_runs.py", {Act.RUN_STARTED})
_TRUST = {Act.TRUST_GIVEN, Act.TRUST_WITHDRAWN}
_REVIEW = Proof("store/reviews/test_reviews.py", {Act.REVIEWED})
_ASSIGNMENT = Proof("store/reviews/test_assignments.py", {Act.REVIEW_ASSIGNED})
_GROUP = Proof("store/people/test_group_changes.py", {Act.GROUP_CHANGED})
_CONSENT = Proof("store/people/test_group_consent.py", {Act.GROUP_CHANGED})
_CHANNELS = "store/notifications/test_channel_acts.py"
_PASSKEYS = "web/views/identity/test_passkeys.py"
_FACTOR = "web/views/identity/test_second_factor.py"
#: Submissions whose acts need more than one request: who proves them.
PROOFS_BY_ROUTE = {
    "account-end-sign-in": Proof("web/security/test_account_page.py", {Act.SIGN_INS_ENDED}),
    "comment-edit": Proof("web/annotations/test_comments.py", {Act.COMMENT_EDITED}),
    "comment-delete": Proof("web/annotations/test_comments.py", {Act.COMMENT_DELETED}),
    "comments-resolve": Proof(
        "web/annotations/test_comments.py", {Act.COMMENTS_RESOLVED, Act.COMMENTS_REOPENED}
    ),
    "conversation-new": _STARTED,
    "conversation-retry": _STARTED,
    "conversation-start-turn": _STARTED,
    "conversation-trust": Proof(
        "web/views/transcript_modes/test_conversation_trust.py", {Act.TRUST_GIVEN}
    ),
    "conversation-review": _REVIEW,
    "conversation-review-assign": _ASSIGNMENT,
    "copies-confirm": Proof("web/test_people.py", {Act.SETTING_CHANGED}),
    "event-redact-confirm": Proof("web/views/audit/test_redaction.py", {Act.REDACTED}),
    "group-add": _GROUP,
    "group-remove": _GROUP,
    "group-role-choose": _GROUP,
    "group-role-take": _GROUP,
    "group-join": _CONSENT,
    "group-leave": _CONSENT,
    "identity-disconnect": Proof(
        "web/views/identity/test_single_sign_on.py", {Act.IDENTITY_DISCONNECTED}
    ),
    "notification-add": Proof(_CHANNELS, {Act.CHANNEL_ADDED}),
    "notification-remove": Proof(_CHANNELS, {Act.CHANNEL_REMOVED}),
    "passkey-add": Proof(_PASSKEYS, {Act.PASSKEY_ADDED}),
    "passkey-remove": Proof(_PASSKEYS, {Act.PASSKEY_REMOVED}),
    "passkey-sign-in": Proof(_PASSKEYS, {Act.SIGNED_IN}),
    "push-add": Proof(_CHANNELS, {Act.CHANNEL_ADDED, Act.CHANNEL_CHANGED}),
    "push-remove": Proof(_CHANNELS, {Act.CHANNEL_REMOVED}),
    "question-answer-by-notification": Proof(
        "web/forms/test_push_subscriptions.py", {Act.INQUIRY_ANSWERED}
    ),
    "question-review": _REVIEW,
    "question-review-assign": _ASSIGNMENT,
    "recovery-codes": Proof(_FACTOR, {Act.RECOVERY_CODES_MADE}),
    "second-factor-confirm": Proof(_FACTOR, {Act.SECOND_FACTOR_ADDED}),
    "second-factor-off": Proof(_FACTOR, {Act.SECOND_FACTOR_REMOVED}),
    "settings-demo": Proof(
        "web/views/workspaces/test_settings_page.py", {Act.MEMBER_ADDED, Act.MEMBER_REMOVED}
    ),
    "sign-in-code": Proof(_FACTOR, {Act.SIGNED_IN, Act.SECOND_FACTOR_LOCKED}),
    "tools-trust": Proof("store/workspace_config/test_trust.py", _TRUST),
    "tools-withdraw": Proof("store/workspace_config/test_trust.py", _TRUST),
    "workspace-confirm": Proof("web/views/workspaces/test_addition.py", {Act.WORKSPACE_ADDED}),
}
#: Submissions that this module proves.
ACTS_PROVED_HERE = {
    "answer-link": Act.INQUIRY_ANSWERED,
    "approval-release": Act.APPROVAL_CLAIM_RELEASED,
    "join": Act.MEMBER_ADDED,
    "people-withdraw": Act.INVITATION_WITHDRAWN,
    "question-release": Act.CLAIM_RELEASED,
    "sign-in": Act.SIGNED_IN,
}
#: Submissions that change no right and no record, with the reason.
REASONS_WITHOUT_ACT = {
    "bookmark": "private to the person",
    "conversation-change": "title, labels and archive are no events, and jp changes them too",
    "conversation-read": "the person's own mark",
    "conversation-review-start": "a reservation that lapses; the review is the act",
    "event-redact-preview": "shows what the redaction would replace; the redaction is the act",
    "identity-connect": "leads to the provider, whose reply is the act",
    "mentions-seen": "the person's own mark",
    "notification-mentions": "what the person is notified of",
    "notification-test": "a fixed text to the person's own channel",
    "passkey-options": "a challenge; the passkey is the act",
    "passkey-sign-in-options": "a challenge; the sign-in is the act",
    "push-test": "a fixed text to the person's own browser",
    "question-notification": "the buttons of a question that the page shows",
    "question-review-start": "a reservation that lapses; the review is the act",
    "question-snooze": "the person's own queue",
    "question-wake": "the person's own queue",
    "review-next": "a reservation that lapses; the review is the act",
    "search-delete": "private to the person",
    "search-save": "private to the person",
    "second-factor-start": "a key that counts once a code confirms it, which is the act",
    "settings-appearance": "how the person's own pages look",
    "sign-on": "leads to the provider, whose reply is the act",
    "view-delete": "private to the person",
    "view-save": "private to the person",
    "welcome-dismiss": "how the person's own pages look",
    "workspace-check": "shows what a folder holds; the addition is the act",
}


def test_submission_routes_all_have_an_act_or_a_reason_for_none():
    submissions = {name for name, route in ROUTES.items() if route.method == "post"}
    tables = (ACTS_BY_ROUTE, PROOFS_BY_ROUTE, ACTS_PROVED_HERE, REASONS_WITHOUT_ACT)
    names = [name for table in tables for name in table]
    assert sorted(names) == sorted(submissions | PAGES_WITH_SUBMISSIONS)
    assert all(REASONS_WITHOUT_ACT.values())


@pytest.mark.parametrize("name", PROOFS_BY_ROUTE)
def test_module_that_proves_a_submission_names_its_acts(name: str):
    proof = PROOFS_BY_ROUTE[name]
    source = (ROOT / "tests" / proof.module).read_text()
    spellings_by_act = {act: (f"Act.{act.name}", f'"{act}"') for act in proof.acts}
    unnamed_acts = [
        act
        for act, spellings in spellings_by_act.items()
        if not any(spelling in source for spelling in spellings)
    ]
    assert unnamed_acts == []


@pytest.mark.parametrize("name", ["question-release", "approval-release"])
def test_release_of_a_claim_is_an_entry_of_its_person(world: World, name: str):
    client = world.client("owner")
    client.post(make_address(name.replace("release", "claim"), world))
    LedgerEntry.objects.all().delete()
    client.post(make_address(name, world))
    assert list_acts(world.people["owner"].pk) == {ACTS_PROVED_HERE[name]}


def test_answer_by_a_link_is_an_entry_of_its_person(world: World):
    Client().post(make_address("answer-link", world), {"answer": "true"})
    assert ACTS_PROVED_HERE["answer-link"] in list_acts(world.people["responder"].pk)


def test_sign_in_by_a_link_is_an_entry_of_its_person(world: World):
    reader = world.people["reader"]
    Client().post(make_address("sign-in", world), {"code": accounts.issue_link(reader)})
    assert list_acts(reader.pk) == {ACTS_PROVED_HERE["sign-in"]}


def test_invitation_that_is_accepted_or_withdrawn_is_an_entry(world: World):
    owner = world.people["owner"]
    tokens = [
        invitations.create_invitation(world.workspace, name, Role.READER, owner)
        for name in ("Eve", "Rita")
    ]
    take_invitation(Client(), tokens[0])
    assert LedgerEntry.objects.filter(act=ACTS_PROVED_HERE["join"]).exists()
    key = Invitation.objects.get().pk
    world.client("owner").post(make_address("people-withdraw", world), {"invitation": key})
    assert ACTS_PROVED_HERE["people-withdraw"] in list_acts(owner.pk)
