"""Passkeys and second factors in a browser, whose authenticator is Chromium's virtual one."""

from __future__ import annotations

import re
import time
from base64 import b32decode
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from jpweb.store.people import totp
from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import Visit
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def make_link(visitor: Visitor) -> str:
    """Return a new sign-in link, at a name that passkeys can belong to."""
    text = visitor.post("/account/link", "/account").text
    link: str = re.findall("data-link>([^<]+)<", text)[0]
    return link.replace("127.0.0.1", "localhost")


def add_authenticator(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def sign_out(page: Page) -> None:
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def open_account(page: Page) -> None:
    address = urlsplit(page.url)
    page.goto(f"{address.scheme}://{address.netloc}/account")


def add_passkey(page: Page) -> None:
    """Add a passkey, and sign in again with it."""
    open_account(page)
    add_authenticator(page)
    page.get_by_label("Name, such as the device").fill("Ada's phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("You can now sign in with the passkey “Ada's phone”.")).to_be_visible()
    check_under_proof(page)
    page.get_by_label("Name, such as the device").fill("Ada's phone again")
    page.get_by_role("button", name="Add a passkey").click()
    alert = page.get_by_role("alert")
    expect(alert).to_have_text("This device has a passkey for your account already.")
    expect(page.get_by_text("You can now sign in with the passkey")).to_have_count(0)
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator(".menu summary")).to_contain_text("Ada")
    open_account(page)
    expect(page.locator("#passkeys")).to_contain_text("last used")


def set_up_factor(page: Page) -> list[str]:
    """Set up a second factor from the account's page; return the recovery codes."""
    page.get_by_role("link", name="Set up a second factor").click()
    page.get_by_role("button", name="Set up").click()
    secret = b32decode(page.locator(".key").inner_text().replace(" ", ""))
    check_accessibility(page)
    code = totp.compute_code(secret, int(time.time()) // totp.STEP_SECONDS)
    page.get_by_role("textbox", name="Code").fill(code)
    page.get_by_role("button", name="Turn on").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as text").click()
    codes = Path(download.value.path()).read_text().split()
    assert codes == page.get_by_label("Recovery codes").inner_text().split()
    check_under_proof(page)
    return codes


def test_passkey_signs_in_and_second_factor_guards_a_link(visit: Visit):
    ada = visit.home.invite("Ada with a passkey", "responder")
    page = visit.pages(make_link(ada))
    expect(page.locator(".menu summary")).to_contain_text("Ada")
    add_passkey(page)
    codes = set_up_factor(page)
    sign_out(page)
    page.goto("about:blank")
    page.goto(make_link(ada))
    expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("textbox", name="Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".menu summary")).to_contain_text("Ada")
