"""``JPWEB_URL`` and what follows from it; ``JPWEB_NOTIFY_SCHEMAS``."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import Client

from jpweb.cli.management.commands.serve import Command
from jpweb.store import accounts
from tests.machine.fixtures import ReadSettings

HTTPS = "https://jp.example.org"
FOLLOWS = {
    "CSRF_TRUSTED_ORIGINS",
    "CSRF_COOKIE_SECURE",
    "SESSION_COOKIE_SECURE",
    "SECURE_HSTS_SECONDS",
    "SECURE_HSTS_INCLUDE_SUBDOMAINS",
}
COOKIES = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME")
PROXY = "SECURE_PROXY_SSL_HEADER"


def test_public_url_defaults_to_this_machine(read_settings: ReadSettings):
    values = read_settings(JPWEB_PORT="8123")
    assert values["PUBLIC_URL"] == "http://127.0.0.1:8123"
    assert values["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]
    assert not (FOLLOWS | {PROXY}) & set(values)


@pytest.mark.parametrize(
    ("url_text", "url", "host"),
    [
        (HTTPS, HTTPS, "jp.example.org"),
        (" HTTPS://JP.Example.org/ ", HTTPS, "jp.example.org"),
        ("https://jp.example.org:8443", "https://jp.example.org:8443", "jp.example.org"),
        ("https://[::2]:8443", "https://[::2]:8443", "[::2]"),
        ("https://jp.Bücher.de", "https://jp.xn--bcher-kva.de", "jp.xn--bcher-kva.de"),
        ("https://faß.de:8443", "https://xn--fa-hia.de:8443", "xn--fa-hia.de"),
        ("https://jp.example.org.", "https://jp.example.org.", "jp.example.org"),
    ],
)
def test_behind_https_the_host_is_known_and_cookies_are_secure(
    read_settings: ReadSettings, url_text: str, url: str, host: str
):
    values = read_settings(JPWEB_URL=url_text)
    assert values["PUBLIC_URL"] == url
    assert values["ALLOWED_HOSTS"][-1] == host
    assert values["CSRF_TRUSTED_ORIGINS"] == [url]
    assert values["CSRF_COOKIE_SECURE"] is values["SESSION_COOKIE_SECURE"] is True
    assert values[PROXY] == ("HTTP_X_FORWARDED_PROTO", "https")
    assert values["SECURE_HSTS_SECONDS"] >= 31_536_000
    assert all(values[name].startswith("__Host-jpweb_") for name in COOKIES)


def test_public_url_without_https_sets_no_secure_cookies_or_proxy(read_settings: ReadSettings):
    values = read_settings(JPWEB_URL="http://10.0.0.5:8000", JPWEB_HOSTS="other")
    assert values["ALLOWED_HOSTS"] == ["other", "10.0.0.5"]
    assert not any(values[name].startswith("__") for name in COOKIES)
    assert not (FOLLOWS | {PROXY}) & set(values)


@pytest.mark.parametrize(
    "url_text",
    [
        *("jp.example.org", "ftp://x", "https://", "https://x/y", "https://x?q", "https://x#f"),
        *("https://u:p@x", "https://x:99999", "https://x:y", "https://[x", "https:/x"),
        *("https://a_b", "https://a_b.bücher.de", "https://ü..de", "https://bü cher.de"),
    ],
)
def test_public_url_that_is_no_address_is_refused_in_one_line(
    read_settings: ReadSettings, url_text: str
):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(JPWEB_URL=url_text)
    assert str(error.value).startswith("JPWEB_URL must be an address such as https://")
    assert "\n" not in str(error.value)


def test_the_services_that_may_be_used_can_be_chosen(read_settings: ReadSettings):
    usual = read_settings()["NOTIFY_SCHEMAS"]
    assert {"mailto", "mailtos", "slack", "ntfy", "ntfys"} < set(usual)
    assert not {"json", "xml", "form", "file", "dbus", "syslog", "windows", "macosx"} & set(usual)
    assert read_settings(JPWEB_NOTIFY_SCHEMAS="Slack, ntfys")["NOTIFY_SCHEMAS"] == (
        "slack",
        "ntfys",
    )


@pytest.mark.django_db
def test_a_form_sent_through_the_proxy_is_taken_and_its_cookies_are_secure(
    read_settings: ReadSettings, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    values = read_settings(JPWEB_URL=HTTPS)
    for name in (*FOLLOWS, *COOKIES, PROXY, "ALLOWED_HOSTS"):
        setattr(settings, name, values[name])
    client = Client(
        enforce_csrf_checks=True,
        headers={"host": "jp.example.org", "x-forwarded-proto": "https", "origin": HTTPS},
    )
    page = client.get("/sign-in")
    assert page.status_code == 200
    token = str(page.context["csrf_token"])
    cookie = page.cookies["__Host-jpweb_csrf"]
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert page["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    reply = client.post("/sign-out", {"csrfmiddlewaretoken": token})
    assert (reply.status_code, reply["Location"]) == (302, "/sign-in")
    foreign_headers = {"origin": "https://evil.example"}
    assert (
        client.post(
            "/sign-out", {"csrfmiddlewaretoken": token}, headers=foreign_headers
        ).status_code
        == 403
    )


def print_link(settings: Any, command: str, values: dict[str, Any]) -> tuple[str, str]:
    """Return what a command writes to its output and to its errors while it prints a link."""
    accounts.get_or_create_owner()
    settings.ALLOWED_HOSTS, settings.PUBLIC_URL = values["ALLOWED_HOSTS"], values["PUBLIC_URL"]
    out, err = io.StringIO(), io.StringIO()
    if command == "serve":
        Command(stdout=out, stderr=err)._print_greeting()
    else:
        call_command(command, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "runs"),
    [("serve", "embedded"), ("serve", "workers"), ("sign_in_link", "embedded")],
)
def test_link_to_a_host_that_is_not_served_has_a_warning(
    read_settings: ReadSettings, settings: Any, command: str, runs: str
):
    settings.RUN_MODE = runs
    out, err = print_link(settings, command, read_settings(JPWEB_HOSTS="jp.lan"))
    assert ("http://127.0.0.1:8000/sign-in#" in out) is (runs == "embedded")
    assert err == (
        "Links begin with http://127.0.0.1:8000, and JPWEB_HOSTS does not name 127.0.0.1, so they "
        "lead to an error. Set JPWEB_URL to the address that people open.\n"
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        ("", ""),
        ("jp.lan,127.0.0.1", ""),
        ("*", ""),
        ("jp.lan", "http://jp.lan:81"),
        ("x", "http://[::2]:81"),
    ],
)
def test_link_to_a_host_that_is_served_has_no_warning(
    read_settings: ReadSettings, settings: Any, hosts: str, url: str
):
    values = read_settings(JPWEB_HOSTS=hosts, JPWEB_URL=url)
    assert print_link(settings, "sign_in_link", values)[1] == ""
