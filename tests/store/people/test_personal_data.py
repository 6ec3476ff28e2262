from __future__ import annotations

import json

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import (
    Inquiry,
    LedgerEntry,
    Membership,
    NotificationDestination,
    Person,
    SavedSearch,
    SignIn,
    Workspace,
)
from jpweb.store.notifications import answer_links
from jpweb.store.people import data_sections, personal_data
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
#: Columns that name a person and are in no file, with the reason.
OMITTED = {
    ("SignIn", "maker"): "in the list of the person who signed in",
    ("Passkey", "maker"): "in the list of the person whom it signs in",
    ("Identity", "maker"): "in the list of the person whom it signs in",
}

#: Columns of a person that are in no file, with the reason.
OMITTED_COLUMNS = {
    "password": "nobody has one",
    "last_name": "never set: the name is in first_name",
    "is_staff": "never set: roles are those of workspaces",
    "is_superuser": "as is_staff",
}


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, workspace)


def make_file(person: Person) -> str:
    chunks = list(personal_data.make_personal_data(person, lambda url: url.partition("://")[0]))
    assert [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    return b"".join(chunk.data for chunk in chunks).decode()


def answer(workspace: Workspace, person: Person) -> Inquiry:
    row = making.question(making.start_run(making.conversation(workspace, "Our talk"), person))
    making.settle(row, Answered(True), making.decider(person))
    return row


def test_data_sections_cover_all_columns_that_reference_people():
    named = {
        (model.__name__, field.name)
        for model in apps.get_app_config("store").get_models()
        for field in model._meta.fields
        if field.related_model is Person
    }
    covered = {
        (section.model.__name__, column)
        for section in data_sections.SECTIONS
        for column in section.person_columns
    }
    assert named - covered == set(OMITTED)


def test_file_has_each_column_of_a_person_that_is_not_omitted():
    columns = {field.name for field in Person._meta.concrete_fields}
    assert columns - personal_data.ACCOUNT_NAMES.keys() == OMITTED_COLUMNS.keys()


def test_file_holds_the_settings_of_the_account(ada: Person):
    settings = {"theme": "dark", "density": "compact", "is_notified_of_mentions": False}
    Person.objects.update(**settings, hidden_demo_role=Role.RESPONDER)
    ada.refresh_from_db()
    account = json.loads(make_file(ada))["account"]
    assert account.items() >= (settings | {"hidden_demo_role": "responder"}).items()
    assert account["name"] == "Ada"


def test_file_holds_the_account_its_roles_answers_and_acts(workspace: Workspace, ada: Person):
    row = answer(workspace, ada)
    accounts.change_role(Membership.objects.get(person=ada), Role.AUDITOR)
    data = json.loads(make_file(ada))
    assert data["account"]["account"] == "ada"
    assert data["memberships"] == [
        {"workspace": {"id": workspace.pk, "name": workspace.name}, "role": "auditor"}
    ]
    (answer_row,) = data["answers"]
    assert (answer_row["answer"], answer_row["state"]) == (True, "answered")
    assert answer_row["question"] == row.question
    assert answer_row["conversation"]["title"] == "Our talk"
    acts = [entry["entry"]["act"] for entry in data["ledger_entries"]]
    assert Act.INQUIRY_ANSWERED in acts
    assert acts[-1] == Act.ROLE_CHANGED, "others' acts that name the person"


def test_file_of_a_person_holds_nothing_of_another(workspace: Workspace, ada: Person):
    eve = making.person("eve", Role.OWNER, workspace)
    answer(workspace, eve)
    SavedSearch.objects.create(person=eve, name="x", query="q=1", made_at="2026-01-01T00:00:00Z")
    data = json.loads(make_file(ada))
    assert {key for key, value in data.items() if value} == {
        *("exported_at", "account", "memberships"),
    }


def test_data_file_omits_unreadable_content_of_other_people(workspace: Workspace, ada: Person):
    answer(workspace, ada)
    Membership.objects.filter(person=ada).delete()
    text = make_file(ada)
    (answer_row,) = json.loads(text)["answers"]
    assert answer_row["answer"] is True
    assert "question" not in answer_row
    assert "Our talk" not in text
    assert "Go on?" not in text


def test_keys_codes_and_their_hashes_are_in_no_file(workspace: Workspace, ada: Person):
    client = Client()
    client.force_login(ada)
    row = making.question(making.start_run(making.conversation(workspace), ada))
    tokens = [accounts.issue_link(ada, maker=ada), answer_links.issue_link(row.pk, ada.pk)]
    NotificationDestination.objects.create(
        person=ada, workspace=workspace, url="mailto://s3cret-key@example.org", delay=5
    )
    text = make_file(ada)
    data = json.loads(text)
    lists = ("sign_ins", "sign_in_links", "answer_links", "notification_destinations")
    assert [len(data[name]) for name in lists] == [1, 1, 1, 1]
    hashes = [
        *ada.links.values_list("token_hash", flat=True),
        *ada.answer_links.values_list("token_hash", flat=True),
    ]
    session_key = client.session.session_key or ""
    secrets = [*tokens, *hashes, SignIn.objects.get().pk, session_key]
    assert [secret for secret in (*secrets, "s3cret-key") if secret in text] == []


def test_long_file_is_made_in_pieces_by_one_query_a_batch(workspace: Workspace, ada: Person):
    with CaptureQueriesContext(connection) as few:
        make_file(ada)
    count = 2 * personal_data.BATCH_ROWS + 10
    for number in range(count):
        place = Place(workspace.pk, subject=f"person:{ada.pk}")
        actor = Actor.from_person(ada) if number % 2 else Actor("operator")
        record_act(Act.LINK_MADE, actor, place)
    with CaptureQueriesContext(connection) as many:
        chunks = list(personal_data.make_personal_data(ada, str))
    assert len(chunks) > 1
    data = json.loads(b"".join(chunk.data for chunk in chunks))
    assert len(data["ledger_entries"]) == count
    assert len({entry["text_hash"] for entry in data["ledger_entries"]}) == count
    assert len(many) - len(few) == 2, "one more of each of the two lists"


def test_purged_entry_is_its_hash(ada: Person):
    record_act(Act.SIGNED_IN, Actor.from_person(ada), Place())
    LedgerEntry.objects.update(text="")
    (entry,) = json.loads(make_file(ada))["ledger_entries"]
    assert entry["entry"] is None
    assert len(entry["text_hash"]) == 64


def test_half_a_surrogate_pair_is_a_json_escape():
    note = {"note": "Grün \ud800 \x00"}
    encoded = personal_data._encode(personal_data._format(note))
    assert "Grün" in encoded.decode()
    assert json.loads(encoded) == note
