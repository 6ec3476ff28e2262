"""Codes entered at the same time; tests/web/views/identity/test_second_factor.py has the rest."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.models import LedgerEntry, Person, SecondFactor
from jpweb.store.people import second_factors, totp
from tests.store import making
from tests.store.test_races import MANY, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def set_up(person: Person) -> tuple[bytes, list[str]]:
    """Turn a second factor on; return its secret and the recovery codes."""
    secret = second_factors.begin_setup(person)
    assert secret
    codes = second_factors.confirm_setup(person, make_code(secret, 0))
    assert codes
    return secret, codes


def make_code(secret: bytes, later_steps: int) -> str:
    step = int(clock.get_timestamp()) // totp.STEP_SECONDS
    return totp.compute_code(secret, step + later_steps)


def test_twenty_wrong_codes_at_once_lock_once():
    person = making.person("ada")
    set_up(person)
    checks: list[second_factors.CodeCheck] = []
    at_once(MANY, lambda _: checks.append(second_factors.check_code(person.pk, "wrong")))
    assert [check.method for check in checks] == [""] * MANY
    is_told = [check.locked_until is not None for check in checks]
    assert is_told.count(False) == second_factors.MAX_FAILURES - 1
    factor = SecondFactor.objects.get()
    assert (factor.lock_count, factor.failure_count, factor.is_locked) == (1, 0, True)
    assert LedgerEntry.objects.filter(act=Act.SECOND_FACTOR_LOCKED).count() == 1


@pytest.mark.parametrize("method", ["app code", "recovery code"])
def test_check_code_accepts_one_of_twenty_concurrent_uses(method: str):
    person = making.person("ada")
    secret, codes = set_up(person)
    code = make_code(secret, 1) if method == "app code" else codes[0]
    methods: list[str] = []
    at_once(MANY, lambda _: methods.append(second_factors.check_code(person.pk, code).method))
    assert sorted(methods) == [""] * (MANY - 1) + [method]
