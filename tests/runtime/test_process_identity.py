from __future__ import annotations

from pytest_django import Settings

from jpweb.runtime import process_identity


def test_a_process_is_named_for_its_installation(settings: Settings):
    first = process_identity.get_process_name()
    assert process_identity.get_process_name() == first
    settings.DATA_DIR = "/somewhere/" + "x" * 200
    assert process_identity.get_process_name() != first
    assert process_identity.get_process_name().startswith(process_identity.get_installation_name())
    assert len(process_identity.get_process_name()) <= 150
