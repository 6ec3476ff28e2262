from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import RequestFactory

from jpweb.runtime import configuration
from jpweb.web.security import security_log
from tests.web.world import World


def test_record_of_a_hostile_name_is_one_line(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "jpweb.security")
    security_log.log_event("invited", name='eve"\n2026 sign-in person=1\u202e\u2028')
    assert caplog.messages == ['invited name="eve\\"\\n2026 sign-in person=1\\u202e\\u2028"']


@pytest.mark.parametrize(("trusted", "expected"), [(True, "203.0.113.9"), (False, "127.0.0.1")])
def test_find_client_address_believes_a_trusted_proxy_alone(
    settings: Any, trusted: bool, expected: str
):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if trusted else None
    request = RequestFactory().get("/", headers={"x-forwarded-for": "10.0.0.1, 203.0.113.9"})
    assert security_log.find_client_address(request) == expected


def test_trust_that_is_given_or_withdrawn_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "jpweb.security")
    for name in ("grant_trust", "revoke_trust"):
        monkeypatch.setattr(configuration, name, lambda *_args: None)
    client = world.client("owner")
    for action in ("trust", "withdraw"):
        client.post(f"/workspaces/{world.home.pk}/tools/{action}", {})
        client.post(f"/workspaces/{world.home.pk}/tools/{action}", {"item": ["seal tool t"]})
    messages = [re.sub(" from=.* items=", " ", message) for message in caplog.messages]
    assert messages == ['trust given ["t"]', 'trust withdrawn ["t"]']
