"""The second factor of sign-in links, recovery codes, and the lock-out after wrong codes."""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger.entries import OPERATOR
from jpweb.store.models import LedgerEntry, Person, RecoveryCode, SecondFactor, SignInLink
from jpweb.store.people import second_factors, totp
from jpweb.web.security import rate_limits
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain
from tests.web.views.identity.authenticator import sign_in as sign_in_with_passkey
from tests.web.world import World, signed_in

PAGE, CODE_PAGE = "/account/second-factor", "/sign-in/code"


class App:
    """An authenticator app of a person, and the time that it and the server agree on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, person: Person) -> None:
        self.person, self.moment = person, clock.now()
        monkeypatch.setattr(clock, "now", lambda: self.moment)
        secret = second_factors.begin_setup(person)
        assert secret
        self.secret = secret
        self.recovery_codes = second_factors.confirm_setup(person, self.code) or []

    @property
    def code(self) -> str:
        return totp.compute_code(self.secret, int(self.moment.timestamp()) // totp.STEP_SECONDS)

    @property
    def wrong_code(self) -> str:
        return f"{(int(self.code) + 1) % 10**6:06}"

    def wait(self, **duration: float) -> None:
        self.moment += timedelta(**(duration or {"seconds": totp.STEP_SECONDS}))

    def open_link(self, maker: Person | None = None, next_url: str = "/") -> Client:
        """Return a browser that opened a new sign-in link of the person."""
        client = Client()
        fields = {"code": accounts.issue_link(self.person, maker), "next": next_url}
        response = client.post("/sign-in", fields)
        assert response["Location"] == CODE_PAGE
        return client


@pytest.fixture
def app(world: World, monkeypatch: pytest.MonkeyPatch) -> App:
    app = App(monkeypatch, world.people["reader"])
    app.wait()
    return app


def enter(client: Client, code: str) -> Any:
    return client.post(CODE_PAGE, {"code": code})


def find_problem(response: Any) -> str:
    return parse_page(response).find_one(role="alert").text


def list_details(act: Act) -> list[dict[str, Any]]:
    texts = LedgerEntry.objects.filter(act=act).values_list("text", flat=True)
    return [json.loads(text).get("details", {}) for text in texts]


def count_acts(*acts: Act) -> list[int]:
    return [LedgerEntry.objects.filter(act=act).count() for act in acts]


def test_person_sets_up_a_factor_and_gets_key_and_recovery_codes_once(world: World):
    person = world.people["reader"]
    client = signed_in(person)
    page = parse_page(client.post(f"{PAGE}/start"))
    assert page.find_one(role="img").text == ""
    (key,) = [tag.text for tag in page if tag.get("class") == "key"]
    secret = base64.b32decode(key.replace(" ", ""))
    assert not second_factors.find_factor(person.pk), "not confirmed yet"
    response = client.post(f"{PAGE}/confirm", {"code": "000000"})
    assert (response.status_code, key in response.content.decode()) == (422, True)
    code = totp.compute_code(secret, int(clock.get_timestamp()) // totp.STEP_SECONDS)
    response = client.post(f"{PAGE}/confirm", {"code": f"{code[:3]} {code[3:]}"})
    page = parse_page(response)
    codes = page.find_one(**{"aria-label": "Recovery codes"}).text.split()
    download = page.find_one(download="jpweb-recovery-codes.txt")["href"]
    assert unquote(download.partition(",")[2]).split() == codes
    assert (len(codes), len(set(codes))) == (10, 10)
    assert key not in response.content.decode()
    for path in (PAGE, f"{PAGE}/start", f"{PAGE}/confirm"):
        text = client.post(path, follow=True) if path != PAGE else client.get(path)
        assert key not in text.content.decode()
        assert codes[0] not in text.content.decode()
    assert count_acts(Act.SECOND_FACTOR_ADDED) == [1]


@pytest.mark.parametrize("maker", [None, "owner"])
def test_sign_in_link_made_by_any_person_requires_a_code(world: World, app: App, maker: str | None):
    client = app.open_link(world.people[maker] if maker else None, "/questions#e-1")
    assert client.get("/")["Location"].startswith("/sign-in")
    assert parse_page(client.get(CODE_PAGE)).find_one(name="code")["autocomplete"]
    response = enter(client, app.wrong_code)
    assert (response.status_code, "This code is wrong" in find_problem(response)) == (403, True)
    assert SignInLink.objects.get().used_at is None
    assert client.get("/")["Location"].startswith("/sign-in")
    before = client.session.session_key
    assert enter(client, app.code)["Location"] == "/questions#e-1"
    assert client.session.session_key != before
    assert "Reader" in parse_page(client.get("/")).text
    maker_id = world.people[maker].pk if maker else None
    assert list_details(Act.SIGNED_IN) == [{"link_maker": maker_id, "second_factor": "app code"}]
    assert SignInLink.objects.get().used_at is not None
    assert client.get(CODE_PAGE)["Location"] == "/sign-in", "the session waits for no code"


def test_code_counts_once_and_for_a_minute_and_a_half(app: App):
    assert enter(app.open_link(), app.code)["Location"] == "/"
    assert enter(app.open_link(), app.code).status_code == 403
    late_code = app.code
    app.wait(seconds=2 * totp.STEP_SECONDS)
    assert enter(app.open_link(), late_code).status_code == 403
    early_code = totp.compute_code(app.secret, int(app.moment.timestamp()) // 30 + 1)
    assert enter(app.open_link(), early_code)["Location"] == "/"
    assert enter(app.open_link(), app.code).status_code == 403, "older than the last one"


def test_codes_are_those_of_rfc_6238():
    vectors = {59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"}
    for moment, code in vectors.items():
        assert totp.compute_code(b"12345678901234567890", moment // 30) == code


def test_recovery_code_counts_once_however_it_is_typed(app: App):
    code = app.recovery_codes[3]
    client = app.open_link()
    assert enter(client, f" {code.lower().replace('-', ' ')} ")["Location"] == "/"
    assert list_details(Act.SIGNED_IN)[0]["second_factor"] == "recovery code"
    assert enter(app.open_link(), code).status_code == 403
    assert "9 of 10 recovery codes left" in parse_page(client.get(PAGE)).text


def test_second_factor_refuses_malformed_codes(app: App):
    wide_digits = "".join(chr(ord(digit) + 0xFEE0) for digit in app.code)
    for code in ("", "0", wide_digits, "x" * 5000, "\0", "-"):
        assert enter(app.open_link(), code).status_code == 403
        SecondFactor.objects.update(failure_count=0)


def test_five_wrong_codes_lock_longer_each_time_also_for_a_right_one(
    world: World, app: App, caplog: pytest.LogCaptureFixture
):
    client = app.open_link()
    for minutes in (15, 30, 60, 120, 240, 480, 960, 1440, 1440):
        texts = [find_problem(enter(client, app.wrong_code)) for _ in range(5)]
        until = app.moment + timedelta(minutes=minutes + 1)
        assert ["Too many" in text for text in texts] == [False] * 4 + [True]
        until_text = f"{until.day} {until:%b %Y, %H:%M}"
        assert f"Try again after {until_text} UTC" in texts[-1]
        assert "Too many wrong codes" in find_problem(enter(client, app.code))
        assert not parse_page(client.get(CODE_PAGE)).find_all(name="code")
        people_page = world.client("owner").get(f"/workspaces/{world.workspace.pk}/people")
        assert f"locked until {until_text}" in parse_page(people_page).text
        app.wait(minutes=minutes - 1)
        assert SecondFactor.objects.get().is_locked
        app.wait(minutes=2)
        client = app.open_link()
        rate_limits.REFUSED_LINK_LIMIT.clear()
    assert count_acts(Act.SECOND_FACTOR_LOCKED) == [9]
    assert "second factor refused" in caplog.text
    people_page = world.client("owner").get(f"/workspaces/{world.workspace.pk}/people")
    assert "locked until" not in parse_page(people_page).text
    assert enter(client, app.code)["Location"] == "/"
    assert SecondFactor.objects.get().lock_count == 0


def test_wrong_codes_above_the_limit_write_no_line(app: App, caplog: pytest.LogCaptureFixture):
    client, count = app.open_link(), rate_limits.REFUSED_LINK_LIMIT.count
    caplog.set_level("INFO", "jpweb.security")
    statuses = [enter(client, app.wrong_code).status_code for _ in range(count + 5)]
    assert statuses == [403] * count + [429] * 5
    assert [message.split(" from=")[0] for message in caplog.messages] == [
        "second factor refused"
    ] * count


def test_label_of_each_code_says_that_a_recovery_code_counts(world: World, app: App):
    page = parse_page(world.client(app.person.username).get(PAGE))
    labels = [tag.text.strip() for tag in page if tag.tag == "label" and "ode" in tag.text]
    assert labels == ["Code from your app, or a recovery code"] * 2


def test_turning_off_and_new_recovery_codes_require_a_code(app: App):
    client = signed_in(app.person)
    for path in ("off", "recovery-codes"):
        response = client.post(f"{PAGE}/{path}", {"code": app.wrong_code})
        assert (response.status_code, "is wrong" in find_problem(response)) == (422, True)
    assert SecondFactor.objects.get().failure_count == 2
    response = client.post(f"{PAGE}/recovery-codes", {"code": app.code})
    codes = parse_page(response).find_one(**{"aria-label": "Recovery codes"}).text.split()
    assert enter(app.open_link(), app.recovery_codes[0]).status_code == 403
    assert enter(app.open_link(), codes[0])["Location"] == "/"
    assert client.post(f"{PAGE}/off", {"code": codes[1]})["Location"] == "/account"
    assert not RecoveryCode.objects.exists()
    assert count_acts(Act.RECOVERY_CODES_MADE, Act.SECOND_FACTOR_REMOVED) == [1, 1]
    token = accounts.issue_link(app.person)
    assert Client().post("/sign-in", {"code": token})["Location"] == "/"
    assert client.post(f"{PAGE}/off", {"code": codes[2]})["Location"] == PAGE


def test_lock_holds_for_turning_off_as_well(app: App):
    client = signed_in(app.person)
    for _ in range(4):
        client.post(f"{PAGE}/off", {"code": app.wrong_code})
    response = client.post(f"{PAGE}/off", {"code": app.wrong_code})
    assert "Too many wrong codes" in find_problem(response)
    assert "Too many wrong codes" in find_problem(client.post(f"{PAGE}/off", {"code": app.code}))
    assert "Too many wrong codes" in find_problem(app.open_link().get(CODE_PAGE))


def test_passkey_asks_for_no_code(world: World, app: App):
    authenticator = Authenticator()
    add_passkey(at_domain(signed_in(app.person)), authenticator)
    assert sign_in_with_passkey(at_domain(Client()), authenticator)["Location"] == "/"


def test_code_is_asked_for_ten_minutes_in_the_links_session_alone(app: App):
    assert Client().get(CODE_PAGE)["Location"] == "/sign-in"
    assert enter(Client(), app.code).status_code == 403
    client = app.open_link()
    app.wait(minutes=11)
    response = enter(client, app.code)
    assert (response.status_code, "Open your sign-in link again" in find_problem(response)) == (
        403,
        True,
    )
    assert client.get(CODE_PAGE)["Location"] == "/sign-in"
    client = app.open_link()
    Person.objects.filter(pk=app.person.pk).update(is_active=False)
    assert "link is invalid" in find_problem(enter(client, app.code))


def test_sign_in_link_with_second_factor_signs_in_one_of_two_browsers(app: App):
    token = accounts.issue_link(app.person)
    clients = Client(), Client()
    for client in clients:
        assert client.post("/sign-in", {"code": token})["Location"] == CODE_PAGE
    assert enter(clients[0], app.code)["Location"] == "/"
    app.wait()
    assert "link is invalid" in find_problem(enter(clients[1], app.code))


def test_secret_is_sealed_for_its_person_by_the_key_of_the_installation(app: App, settings: Any):
    factor = SecondFactor.objects.get()
    sealed = base64.b64decode(factor.sealed_secret)
    assert app.secret not in sealed
    assert totp.open_secret(factor.sealed_secret, app.person.pk) == app.secret
    assert totp.open_secret(factor.sealed_secret, app.person.pk + 1) is None
    hashes = set(RecoveryCode.objects.values_list("code_hash", flat=True))
    assert all(re.fullmatch("[0-9a-f]{64}", code_hash) for code_hash in hashes)
    settings.SECRET_KEY = "another installation's, into which a backup was restored"
    assert enter(app.open_link(), app.code).status_code == 403
    assert enter(app.open_link(), app.recovery_codes[0])["Location"] == "/"


def test_setup_of_a_factor_that_is_on_changes_nothing(app: App):
    client = signed_in(app.person)
    assert client.post(f"{PAGE}/start")["Location"] == PAGE
    assert client.post(f"{PAGE}/confirm", {"code": app.code})["Location"] == PAGE
    assert enter(app.open_link(), app.code)["Location"] == "/"


def test_operator_removes_factor_codes_and_lock(app: App):
    for _ in range(5):
        second_factors.check_code(app.person.pk, "wrong")
    assert second_factors.remove_factor(app.person.pk, OPERATOR)
    assert not SecondFactor.objects.exists()
    assert not second_factors.remove_factor(app.person.pk, OPERATOR)
    assert count_acts(Act.SECOND_FACTOR_REMOVED) == [1]
