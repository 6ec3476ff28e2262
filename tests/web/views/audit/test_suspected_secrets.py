"""Suspected secrets: masked on every page until an auditor reveals, redacts or dismisses them."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from jpweb.store.choices import Act
from jpweb.store.models import Conversation, JournalEntry, LedgerEntry, SuspectedSecret
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.search import indexer
from jpweb.store.suspected_secrets import scanner, suggestions
from jpweb.stream.events import ChatRequest, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import Answered, InquiryResponse
from jpweb.web.websocket.conversation_updates import RenderedState, find_conversation_updates
from tests.builders import make_inquiry
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import scan_all
from tests.web.reading import parse_page
from tests.web.world import SECRET, World

#: The beginning of the marker that stands instead.
MARKER = "[masked AWS Access Key, "


@pytest.fixture
def conversation(world: World) -> Conversation:
    """Return a conversation with the secret in each kind of event, searched and indexed."""
    conversation = making.mirrored_conversation(
        world.workspace,
        ChatRequest(f"Log in with {SECRET}, please"),
        ToolCallRequest("c", "vault", {"path": f"a {SECRET} b"}),
        make_inquiry("c.apply.1", f"Use {SECRET} now?"),
        InquiryResponse("c.apply.1", Answered(SECRET)),
        ToolCallResponse("c", f"wrote {SECRET}", False),
    )
    conversation.title = f"Log in with {SECRET}"
    conversation.save()
    while scanner.scan_next() or indexer.index_next():
        pass
    return conversation


def read_page(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200, url
    return (b"".join(response) if response.streaming else response.content).decode()


def list_pages(conversation: Conversation, question_id: int) -> list[str]:
    """Return the addresses of everything that shows content of a conversation."""
    key = conversation.pk
    pages = [
        reverse(name, args=[key])
        for name in (
            *("conversation", "conversation-raw", "conversation-thread", "conversation-compacted"),
            "conversation-outline",
        )
    ]
    for anchor in JournalEntry.objects.filter(conversation=conversation).values_list(
        "anchor", flat=True
    ):
        pages += [reverse("event", args=[key, anchor]), reverse("event-whole", args=[key, anchor])]
        pages.append(reverse("event-text", args=[key, anchor, "raw"]))
    return [
        *pages,
        reverse("question", args=[question_id]),
        *("/", "/conversations", f"/conversations/{key}/find?q=masked", "/search?q=log"),
        "/search?q=vault",
    ]


@pytest.mark.parametrize("name", ["reader", "auditor"])
def test_suspected_secret_is_masked_on_all_pages(
    world: World, conversation: Conversation, name: str
):
    client = world.client(name)
    question = conversation.inquiries.get()
    pages = list_pages(conversation, question.pk)
    if name == "auditor":
        formats = ("jp", "jsonl", "markdown", "html")
        pages += [reverse("conversation-export", args=[conversation.pk, tag]) for tag in formats]
        pages += ["/audit", "/audit.csv", "/audit.jsonl", "/audit/decisions", "/audit/secrets"]
        pages += [reverse("secret", args=[row.pk]) for row in SuspectedSecret.objects.all()]
    texts = {url: read_page(client, url) for url in pages}
    assert [url for url, text in texts.items() if has_secret(text, SECRET)] == []
    assert MARKER in texts[reverse("conversation", args=[conversation.pk])]


@pytest.mark.parametrize("act", ["mask", "redact"])
def test_open_page_is_sent_its_window_and_outline_without_the_secret(world: World, act: str):
    conversation = making.mirrored_conversation(
        world.workspace, ChatRequest(f"Log in with {SECRET}, please")
    )
    page = RenderedState(entry_count=conversation.entry_count, revision=conversation.revision)
    if act == "mask":
        scan_all()
    else:
        request = RedactionRequest("", "leaked", (SECRET,), is_conversation_wide=True)
        application.redact(conversation, request, world.people["auditor"])
    reader = world.people["reader"].pk
    update = find_conversation_updates(conversation.pk, [(reader, page)])[reader, page]
    assert update is not None
    assert SECRET not in update.html
    mark = MARKER if act == "mask" else "[redacted by Auditor: leaked]"
    assert update.html.count(f"Log in with {mark}") >= 2  # the event and the outline


def test_search_for_the_secret_finds_nothing(world: World, conversation: Conversation):
    text = read_page(world.client("auditor"), f"/conversations/{conversation.pk}/find?q={SECRET}")
    assert "No matches" in text


def test_reveal_shows_the_secret_in_its_response_alone(world: World):
    row, client = world.suggestion, world.client("auditor")
    assert SECRET not in read_page(client, reverse("secret", args=[row.pk]))
    response = client.post(reverse("secret-reveal", args=[row.pk]))
    assert SECRET in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert SECRET not in read_page(client, reverse("secret", args=[row.pk]))
    entry = LedgerEntry.objects.get(act=Act.TEXT_REVEALED)
    assert entry.person_id == world.people["auditor"].pk
    assert SECRET not in entry.text


@pytest.mark.parametrize("address", ["/audit/evidence.zip", "/conversations/{0}/evidence.zip"])
def test_bundle_is_recorded_with_the_masks_that_it_reveals(
    world: World, conversation: Conversation, address: str
):
    client = world.client("auditor")
    client.get(address.format(conversation.pk))
    entry = LedgerEntry.objects.get(act=Act.EXPORTED, conversation_id=conversation.pk)
    details = json.loads(entry.text)["details"]
    count = SuspectedSecret.objects.filter(conversation=conversation).count()
    assert details["masked_count"] == count > 3
    assert f"masked texts revealed</span> {count}" in read_page(client, "/audit/ledger")


@pytest.mark.parametrize("decision", ["dismissed", "redacted"])
def test_reveal_of_a_decided_suggestion_shows_and_records_nothing(world: World, decision: str):
    """Another auditor decides while the page is open."""
    row, auditor = world.suggestion, world.people["auditor"]
    if decision == "dismissed":
        suggestions.dismiss(row, auditor, "an example")
    else:
        request = RedactionRequest(row.anchor, "leaked", (row.marker,))
        application.redact(row.conversation, request, auditor)
    client, page = world.client("auditor"), reverse("secret", args=[row.pk])
    response = client.post(reverse("secret-reveal", args=[row.pk]))
    assert (response.status_code, response["Location"]) == (302, page)
    assert "Someone has already decided about this suggestion." in read_page(client, page)
    assert not LedgerEntry.objects.filter(act=Act.TEXT_REVEALED).exists()


def test_dismissal_shows_the_text_again(world: World):
    row, client = world.suggestion, world.client("auditor")
    assert f'data-suggestion="{row.pk}"' in read_page(client, "/audit/secrets")
    page = reverse("conversation", args=[row.conversation_id])
    assert SECRET not in read_page(client, page)
    response = client.post(reverse("secret-dismiss", args=[row.pk]), {"note": "an example"})
    assert response.status_code == 302
    assert SECRET in read_page(client, page)
    assert "an example" in read_page(client, "/audit/secrets?state=dismissed")


@pytest.mark.parametrize(
    ("note", "status", "problem"),
    [("", 422, "Say why it is not a secret."), ("x" * 501, 422, "Shorten the note")],
    ids=["empty", "long"],
)
def test_dismissal_without_a_note_is_refused(world: World, note: str, status: int, problem: str):
    row = world.suggestion
    url = reverse("secret-dismiss", args=[row.pk])
    response = world.client("auditor").post(url, {"note": note})
    assert response.status_code == status
    assert problem in response.content.decode()
    assert SECRET not in response.content.decode()
    assert SuspectedSecret.objects.get().state == "open"


def test_note_that_repeats_the_secret_is_refused(world: World):
    row, client = world.suggestion, world.client("auditor")
    url = reverse("secret-dismiss", args=[row.pk])
    response = client.post(url, {"note": f"Not {SECRET}: it is old"})
    page = parse_page(response)
    assert response.status_code == 422
    assert "Say it in other words." in page.find_one(role="alert").text
    assert page.find_one(name="note")["value"] == "Not …: it is old"
    assert SECRET not in response.content.decode()
    assert SuspectedSecret.objects.get().state == "open"


def test_redaction_is_prefilled_with_the_marker_and_closes_the_suggestion(world: World):
    row, client = world.suggestion, world.client("auditor")
    key, anchor = row.conversation_id, row.anchor
    form = read_page(client, f"{reverse('event-redact', args=[key, anchor])}?suggestion={row.pk}")
    assert row.marker in form
    assert SECRET not in form
    data = {"scope": "conversation", "strings": row.marker, "reason": "leaked AWS Access Key"}
    preview = client.post(reverse("event-redact-preview", args=[key, anchor]), data)
    assert SECRET not in preview.content.decode()
    assert client.post(reverse("event-redact-confirm", args=[key, anchor]), data).status_code == 302
    assert not JournalEntry.objects.filter(text__contains=SECRET).exists()
    assert "Event 0" in read_page(client, "/audit/secrets?state=redacted")


def test_export_menu_says_how_many_texts_are_masked(world: World):
    address = f"/conversations/{world.suggestion.conversation_id}"
    page = read_page(world.client("auditor"), address)
    assert 'data-masked="1">Masked in these files: 1 suspected secret.' in page
    assert "Masked in these files" not in read_page(world.client("responder"), address)
    other = f"/conversations/{world.conversation.pk}"
    assert "Masked in these files" not in read_page(world.client("auditor"), other)
