from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pytest_django import Settings


def test_check_reports_an_unknown_provider(settings: Settings):
    call_command("check")
    settings.PROVIDER = "gpt-17"
    with pytest.raises(SystemCheckError, match="which is not a provider"):
        call_command("check")
