"""Pages, downloads and bundles while texts of the ledger are damaged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Act
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import LedgerEntry
from tests import bundles
from tests.machine.sizes import choose_size, mark_proof
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address
from tests.web.world import World, clear_limits, undone

#: A query that may return texts of the ledger.
LEDGER_QUERY = re.compile(rf'SELECT\b.*"?{LedgerEntry._meta.db_table}"?', re.DOTALL)
DAMAGED_TEXTS = (
    "no JSON",
    "[1]",
    "{}",
    "[" * 20_000,
    '{"act": 7, "by": 7, "details": 7, "at": 7, "conversation": []}',
    '{"act": "redacted", "by": {"name": 7}, "conversation": {}, "details": {"event": []}}',
    '{"act": "evidence_imported", "details": {"reviews": "x", "sequences": 7, "before": 7}}',
)


#: What all entries hold in turn: each text for each of them under proof, else some for each.
#: Seven rounds of requests took 5 s of processor time more than two.
ROUNDS = range(choose_size(1, len(DAMAGED_TEXTS)))


def damage_entries(round_number: int) -> None:
    """Give each entry a text, another one in each round."""
    for number, entry in enumerate(LedgerEntry.objects.order_by("pk")):
        text = DAMAGED_TEXTS[(number + round_number) % len(DAMAGED_TEXTS)]
        LedgerEntry.objects.filter(pk=entry.pk).update(text=text)


def record_every_act(world: World) -> None:
    owner = Actor.from_person(world.people["owner"])
    for act in Act:
        record_act(act, owner, Place(world.workspace.pk, world.conversation.pk))
    sealing.seal_entries()


def read_status(client: Client, url: str) -> int:
    clear_limits()
    response = client.get(url)
    b"".join(response) if response.streaming else response.content
    return response.status_code


def find_reading_routes(client: Client, addresses: dict[str, str]) -> dict[str, int]:
    """Return the status of each route that selects from the table of the ledger.

    The others cannot differ: asking all of them under each text took 22 s of processor time more.
    """
    statuses = {}
    for name, url in addresses.items():
        with undone(), CaptureQueriesContext(connection) as captured:
            status = read_status(client, url)
        if any(LEDGER_QUERY.search(query["sql"]) for query in captured):
            statuses[name] = status
    return statuses


def test_every_page_reads_a_ledger_with_damaged_texts(world: World):
    record_every_act(world)
    client, client.raise_request_exception = world.client("owner"), False
    names = [name for name, route in ROUTES.items() if route.method == "get"]
    addresses = {name: make_address(name, world) for name in names}
    statuses = find_reading_routes(client, addresses)
    assert {"ledger", "ledger-file", "readers", "personal-data"} <= set(statuses)
    faults = {}
    for round_number in ROUNDS:
        damage_entries(round_number)
        for name, expected_status in statuses.items():
            with undone():
                status = read_status(client, addresses[name])
            if status != expected_status:
                faults[name, round_number] = status
    assert faults == {}


@pytest.mark.parametrize(
    "text", [DAMAGED_TEXTS[-1], *mark_proof(*DAMAGED_TEXTS[:-1])], ids=lambda text: text[:20]
)
def test_verifier_of_a_bundle_names_the_entry_with_a_damaged_text(
    world: World, tmp_path: Path, text: str
):
    record_every_act(world)
    entry = LedgerEntry.objects.filter(conversation_id=world.conversation.pk).latest("sequence")
    LedgerEntry.objects.filter(pk=entry.pk).update(text=text)
    path = bundles.write_bundle(world.conversation, tmp_path)
    assert f"the text of entry {entry.sequence} was changed" in " ".join(
        bundles.list_problems(path)
    )


def test_personal_data_has_a_damaged_text_as_it_is(world: World):
    record_every_act(world)
    LedgerEntry.objects.filter(act=Act.SEARCHED).update(text="no JSON")
    content = b"".join(world.client("owner").get("/account/data.json"))
    entries = [line["entry"] for line in json.loads(content)["ledger_entries"]]
    assert [entry for entry in entries if not isinstance(entry, dict)] == ["no JSON"]
