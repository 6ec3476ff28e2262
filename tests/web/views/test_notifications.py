from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.views.debug import SafeExceptionReporterFilter

from jpweb.runtime.notifications import apprise_sender
from jpweb.store.choices import Role
from jpweb.store.models import Membership, NotificationDestination
from jpweb.store.notifications import destinations
from jpweb.web.views import notifications
from tests.runtime.notifications.receiver import NotificationReceiver, run_receiver
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World

KEY = "tk_c4n4ryc4n4ryc4n4ry"
URL = f"ntfys://{KEY}@ntfy.example.org/garden"


@pytest.fixture
def receiver(settings: Any) -> Iterator[NotificationReceiver]:
    settings.NOTIFY_PRIVATE = ("127.0.0.1",)
    with run_receiver() as running_receiver:
        yield running_receiver


def page(world: World, person_name: str = "responder") -> ParsedPage:
    html_page = parse_page(world.client(person_name).get("/notifications"))
    assert (html_page.crossed, html_page.unclosed) == ([], [])
    return html_page


def add(world: World, person_name: str = "responder", **data: Any) -> Any:
    form = {"url": URL, "delay": "60", "workspace": str(world.workspace.pk)} | data
    return world.client(person_name).post("/notifications/add", form)


def test_notifications_page_names_sent_and_withheld_content(world: World):
    text = " ".join(page(world).text.split())
    assert "the first 300 characters of the question, and a single-use link to answer it" in text
    never = "the text of a secret question or of a comment, any answer, the arguments or results"
    assert never in text
    for example in ("mailtos://", "hooks.slack.com", "ntfy://"):
        assert example in text
    assert page(world).find_one(name="delay")["value"] == "60"


@pytest.mark.parametrize("name", ["auditor only", "reader"])
def test_people_who_cannot_answer_are_told_of_mentions_alone(world: World, name: str):
    client = world.client(name)
    text = page(world, name).text + parse_page(client.get("/settings")).text
    assert "a comment mentions you" in text
    for promise in ("question waits", "has been waiting for you", "answers Yes", "single-use"):
        assert promise not in text
    assert "a question waits" in parse_page(world.client("responder").get("/settings")).text


def test_menu_links_to_notifications(world: World):
    page = parse_page(world.client("reader").get("/"))
    links = [tag for tag in page if tag.inside(**{"class": "menu-body"})]
    assert [tag.text for tag in links if tag.get("href") == "/notifications"] == ["Notifications"]


def test_an_address_is_added_and_from_then_on_shown_without_its_key(world: World):
    client = world.client("responder")
    form = {"url": f" {URL} ", "delay": "90", "workspace": str(world.workspace.pk)}
    response = client.post("/notifications/add", form, follow=True)
    assert "Added ntfys://t...y@ntfy.example.org/garden." in response.content.decode()
    destination = NotificationDestination.objects.get()
    assert (destination.url, destination.delay, destination.person) == (
        URL,
        90,
        world.people["responder"],
    )
    html = client.get("/notifications").content.decode()
    assert "ntfys://t...y@ntfy.example.org/garden" in html
    assert "after 90 seconds" in html
    assert KEY not in html + response.content.decode()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"url": ""}, "Enter a URL."),
        (
            {"url": "json://127.0.0.1/x"},
            "“json” is not supported here. Use one of: mailto, mailtos",
        ),
        ({"url": f"slack://{KEY}"}, "An invalid Slack"),
        ({"delay": "-1"}, "a whole number of seconds from 0 to 86400 (one day)"),
        ({"delay": "86401"}, "a whole number of seconds"),
        ({"delay": "soon"}, "a whole number of seconds"),
        ({"delay": ""}, "a whole number of seconds"),
        ({"workspace": "x"}, "Choose a workspace in which you can answer."),
        ({"workspace": "99999999999"}, "Choose a workspace in which you can answer."),
    ],
    ids=str,
)
def test_invalid_destination_is_refused_and_stays_in_the_form(
    world: World, wrong: dict[str, str], message: str
):
    response = add(world, **wrong)
    html_page = parse_page(response)
    assert response.status_code == 422
    assert "no-store" in response["Cache-Control"]
    assert message in html_page.find_one(role="alert").text
    assert html_page.find_one(name="url")["value"] == wrong.get("url", URL)
    assert html_page.find_one(name="delay")["value"] == wrong.get("delay", "60")
    assert not NotificationDestination.objects.exists()


@pytest.mark.parametrize(("name", "input_text"), [("url", "json://x"), ("delay", "soon")])
def test_refused_field_names_its_problem(world: World, name: str, input_text: str):
    html_page = parse_page(add(world, **{name: input_text}))
    field = html_page.find_one(name=name)
    assert field["aria-invalid"] == "true"
    ids = field["aria-describedby"].split()
    assert [html_page.find_one(id=element_id)["id"] for element_id in ids][-1] == f"id_{name}_error"


def test_typed_url_is_in_no_report_of_an_error(world: World, monkeypatch: pytest.MonkeyPatch):
    def fail(field: forms.CharField, value: str) -> None:
        raise RuntimeError("It broke.")

    monkeypatch.setattr(forms.CharField, "clean", fail)
    client = world.client("responder")
    client.raise_request_exception = False
    form = {"url": URL, "delay": "60", "workspace": str(world.workspace.pk)}
    response: Any = client.post("/notifications/add", form)
    reporter = SafeExceptionReporterFilter()
    frames = [frame for frame, _ in traceback.walk_tb(response.exc_info[2])]
    variables = [reporter.get_traceback_frame_variables(None, frame) for frame in frames]
    assert frames[-1].f_code.co_name == "fail"
    assert KEY not in str(variables)


def test_a_day_and_no_delay_at_all_are_taken(world: World):
    add(world, delay="0")
    add(world, delay="86400", url="ntfy://other")
    assert "immediately" in page(world).text
    assert "after 1 day" in page(world).text


@pytest.mark.parametrize("person_name", ["reader", "rival", "outsider"])
def test_add_destination_without_an_answering_role_is_refused(world: World, person_name: str):
    assert add(world, person_name).status_code == 422
    assert not NotificationDestination.objects.exists()


def test_notifications_page_without_an_answering_role_has_no_form(world: World):
    html_page = page(world, "reader")
    assert not html_page.find_all(name="url")
    assert "you need the Responder role" in html_page.text


def test_addresses_of_others_are_neither_shown_nor_removed_nor_tested(world: World):
    add(world)
    key = str(NotificationDestination.objects.get().pk)
    assert not page(world, "owner").find_all(**{"data-address": key})
    for action in ("remove", "test"):
        client = world.client("owner")
        response = client.post(f"/notifications/{action}", {"address": key}, follow=True)
        assert "No such channel." in response.content.decode()
    assert NotificationDestination.objects.exists()


@pytest.mark.parametrize("key", ["", "x", "0", "99999999999", "²"])
def test_remove_or_test_of_an_unknown_channel_is_refused(world: World, key: str):
    client = world.client("responder")
    for action in ("remove", "test"):
        response = client.post(f"/notifications/{action}", {"address": key}, follow=True)
        assert "No such channel." in response.content.decode()


def test_an_address_is_removed_even_by_who_may_no_longer_answer(world: World):
    add(world)
    Membership.objects.update(role=Role.READER)
    html_page = page(world)
    assert "Nothing is sent: you can no longer answer in Garden." in html_page.text
    key = html_page.find_one(form="remove")["value"]
    client = world.client("responder")
    response = client.post("/notifications/remove", {"address": key}, follow=True)
    assert "Removed the channel." in response.content.decode()
    assert not NotificationDestination.objects.exists()


def test_ledger_names_the_service_of_a_channel_and_never_its_key(world: World):
    add(world)
    key = NotificationDestination.objects.get().pk
    world.client("responder").post("/notifications/remove", {"address": key})
    html = world.client("owner").get("/audit/ledger").content.decode()
    rows = html.partition("<tbody>")[2]
    for label in ("Notification channel added", "Notification channel removed"):
        assert label in rows
    assert rows.count("channel</span> ntfys") == 2
    assert KEY not in html


def test_a_test_is_sent(world: World, receiver: NotificationReceiver):
    destination = destinations.add_destination(
        world.people["responder"].pk, world.workspace.pk, receiver.url(), 60
    )
    client = world.client("responder")
    response = client.post("/notifications/test", {"address": destination.pk}, follow=True)
    assert "Sent a test to ntfy://127.0.0.1" in response.content.decode()
    assert "test notification for Garden" in receiver.bodies[0]


def test_failed_test_notification_is_shown_without_the_key(
    world: World, receiver: NotificationReceiver
):
    receiver.manner = "fails"
    url = receiver.url(key=f"{KEY}@")
    destination = destinations.add_destination(
        world.people["responder"].pk, world.workspace.pk, url, 60
    )
    client = world.client("responder")
    response = client.post("/notifications/test", {"address": destination.pk}, follow=True)
    html = response.content.decode() + client.get("/notifications").content.decode()
    assert html.count(f"failed. {apprise_sender.UNDELIVERED_TEXT}") == 3
    assert KEY not in html


def test_notifications_page_marks_a_service_no_longer_allowed(world: World, settings: Any):
    add(world)
    settings.NOTIFY_SCHEMAS = ("slack",)
    html_page = page(world)
    assert "This service is no longer supported here. Remove the channel." in html_page.text
    assert "ntfys://…" in html_page.text
    assert KEY not in html_page.text


@pytest.mark.parametrize("example", [url for _, url in notifications.URL_EXAMPLES])
def test_destination_examples_are_valid(example: str):
    apprise_sender.check_address(example)


def test_mentions_are_turned_off_and_on_by_each_person(world: World):
    client = world.client("reader")
    assert "checked" in page(world, "reader").find_one(name="mentions")
    for data, is_on in (({}, False), ({"mentions": "1"}, True)):
        assert client.post("/notifications/mentions", data).status_code == 302
        assert ("checked" in page(world, "reader").find_one(name="mentions")) is is_on
    assert "checked" in page(world).find_one(name="mentions")
