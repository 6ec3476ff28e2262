from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from django.test import RequestFactory

from jpweb.runtime import configuration
from jpweb.store.choices import Role
from jpweb.store.jp_files import attachments, silo_bindings
from jpweb.store.workspace_config import addition, overrides
from jpweb.web.security import security_log
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import VIEWS
from tests.web.world import World

#: Forms of owners that change neither a right nor what runs.
SILENT_ROUTES = {
    "following-choose", "group-new", "question-settings-choose", "review-count-choose",
    "workspace-check",
}  # fmt: skip


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
    for name in ("grant_trust", "withdraw_trust"):
        monkeypatch.setattr(configuration, name, lambda *_args: None)
    client = world.client("owner")
    for action in ("trust", "withdraw"):
        client.post(f"/workspaces/{world.workspace.pk}/tools/{action}", {})
        client.post(f"/workspaces/{world.workspace.pk}/tools/{action}", {"item": ["seal tool t"]})
    messages = [re.sub(" from=.* items=", " ", message) for message in caplog.messages]
    assert messages == ['trust given ["t"]', 'trust withdrawn ["t"]']


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("tools/overrides", {"overrides_hash": overrides.hash_text("")}, "overrides saved"),
        ("tools/switch", {"tool": "t", "to": "on"}, 'tool switched tool="t" to="on"'),
        ("tools/switch", {"to": "off"}, 'tool switched tool="all" to="off"'),
        ("copies", {"jp_id": "abc"}, 'copies confirmed jp_id="abc"'),
        ("writing", {"writing": "off"}, 'writing changed to="off"'),
    ],
    ids=["overrides", "tool", "all tools", "copies", "writing"],
)
def test_security_log_records_changes_of_tools_and_writing(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    data: dict[str, str],
    expected: str,
):
    for module, name in (
        (configuration, "save_overrides"), (configuration, "switch_tool"),
        (configuration, "switch_all_tools"), (silo_bindings, "confirm_silo"),
        (attachments, "set_write_policy"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, lambda *_args: None)
    client = world.client("owner")
    caplog.set_level("INFO", "jpweb.security")
    client.post(f"/workspaces/{world.workspace.pk}/{path}", data)
    messages = [re.sub(r" from=.* workspace=\d+", "", message) for message in caplog.messages]
    assert messages == [expected]


def test_added_workspace_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(addition, "add_workspace", lambda *_args: world.workspace)
    client = world.client("owner")
    caplog.set_level("INFO", "jpweb.security")
    client.post("/workspaces/add/confirm", {"folder": "/", "name": "Garden"})
    assert [message.partition(" from=")[0] for message in caplog.messages] == ["workspace added"]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, route in ROUTES.items()
        if route.method == "post" and route.needs is Role.OWNER
    ],
)
def test_form_of_owners_is_recorded(name: str):
    view: Any = inspect.unwrap(VIEWS[name].callback)
    helpers = [view.__globals__.get(helper_name) for helper_name in view.__code__.co_names]
    own_helpers = [
        helper
        for helper in helpers
        if inspect.isfunction(helper) and helper.__module__ == view.__module__
    ]
    sources = [inspect.getsource(function) for function in (view, *own_helpers)]
    assert any("log_event(" in source for source in sources) is (name not in SILENT_ROUTES)
