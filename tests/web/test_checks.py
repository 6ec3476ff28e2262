from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pytest_django import Settings

from jpweb.web import checks


def test_check_reports_an_unknown_provider(settings: Settings):
    call_command("check")
    settings.PROVIDER = "gpt-17"
    with pytest.raises(SystemCheckError, match="which is not a provider"):
        call_command("check")


def test_check_names_an_allowed_service_that_apprise_does_not_know(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    settings.NOTIFY_SCHEMAS = ("slak", "slack")
    monkeypatch.setenv("JPWEB_NOTIFY_SCHEMAS", "slak,slack")
    (warning,) = checks.check_services()
    assert "JPWEB_NOTIFY_SCHEMAS has “slak”, which is not a service" in warning.msg
