"""Second factors: the code that a sign-in link also asks for, recovery codes, and the lock-out.

Wrong codes are counted in the person's row, under its lock: for all server processes together.
"""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger.entries import SYSTEM, Actor, Place, record_act
from jpweb.store.models import Person, RecoveryCode, SecondFactor
from jpweb.store.people import totp
from jpweb.store.people.token_hashes import hash_token

MAX_FAILURES = 5
FIRST_LOCK = timedelta(minutes=15)
LONGEST_LOCK = timedelta(days=1)
RECOVERY_CODE_COUNT = 10
#: 80 random bits: nobody finds such a code by its hash.
_RECOVERY_CODE_BYTES = 10
#: Locks after which the next one is no longer.
_MAX_DOUBLINGS = 10


class CodeCheck(NamedTuple):
    """The result of a code: ``method`` is its kind, empty for a refused one."""

    method: str
    locked_until: datetime | None = None


REFUSED = CodeCheck("")


def find_factor(person_id: int) -> SecondFactor | None:
    """Return the second factor of a person; None where none is turned on."""
    return SecondFactor.objects.filter(person_id=person_id, confirmed_at__isnull=False).first()


def count_recovery_codes(factor: SecondFactor) -> int:
    """Return how many recovery codes are left."""
    return factor.recovery_codes.filter(used_at=None).count()


@transaction.atomic
def begin_setup(person: Person, *, is_own: bool = True) -> bytes | None:
    """Return a new secret, which no sign-in asks for yet; None where a factor is turned on.

    ``is_own`` tells whether no sign-in link of another person can have led to the session. The
    setup goes on in such sessions alone, or in others alone: neither shows its secret to the other.
    """
    secret = totp.make_secret()
    factor, _ = SecondFactor.objects.select_for_update().get_or_create(person=person)
    if factor.confirmed_at is not None:
        return None
    factor.sealed_secret, factor.is_own = totp.seal_secret(secret, person.pk), is_own
    factor.save()
    return secret


def find_setup(person_id: int, *, is_own: bool = True) -> bytes | None:
    """Return the secret that is not confirmed yet; a confirmed one is never shown again."""
    setups = SecondFactor.objects.filter(person_id=person_id, confirmed_at=None, is_own=is_own)
    factor = setups.first()
    return totp.open_secret(factor.sealed_secret, person_id) if factor else None


@transaction.atomic
def confirm_setup(person: Person, typed_code: str, *, is_own: bool = True) -> list[str] | None:
    """Turn a factor on by the first code of its app.

    Returns the recovery codes, which are not shown again; None for a wrong code.
    """
    factors = SecondFactor.objects.select_for_update()
    factor = factors.filter(person=person, confirmed_at=None, is_own=is_own).first()
    secret = totp.open_secret(factor.sealed_secret, person.pk) if factor else None
    step = totp.find_step(secret, typed_code, 0) if secret else None
    if factor is None or step is None:
        return None
    factor.confirmed_at, factor.last_step = clock.now(), step
    factor.save()
    _record(Act.SECOND_FACTOR_ADDED, Actor.from_person(person), person.pk)
    return _make_recovery_codes(factor)


@transaction.atomic
def renew_recovery_codes(person: Person) -> list[str]:
    """Return new recovery codes, which replace the earlier ones; none without a factor."""
    factor = find_factor(person.pk)
    if factor is None:
        return []
    factor.recovery_codes.all().delete()
    _record(Act.RECOVERY_CODES_MADE, Actor.from_person(person), person.pk)
    return _make_recovery_codes(factor)


@transaction.atomic
def remove_factor(person_id: int, actor: Actor) -> bool:
    """Turn a person's factor off, with its recovery codes and its lock; False where there is none.

    A secret that is not confirmed goes as well.
    """
    is_on = find_factor(person_id) is not None
    SecondFactor.objects.filter(person_id=person_id).delete()
    if is_on:
        _record(Act.SECOND_FACTOR_REMOVED, actor, person_id)
    return is_on


def find_unproven(person_id: int) -> SecondFactor | None:
    """Return the factor of a person, turned on or not, that another person can have set up."""
    return SecondFactor.objects.filter(person_id=person_id, is_own=False).first()


def remove_unproven(person_id: int, actor: Actor) -> bool:
    """Remove a factor that another person can have set up; tells whether it was turned on.

    Only that person could give its codes. Every sign-in link of the account would ask for one.
    """
    return find_unproven(person_id) is not None and remove_factor(person_id, actor)


@transaction.atomic
def check_code(person_id: int, typed_code: str) -> CodeCheck:
    """Use a code of the app, or a recovery code. Both count once; while locked, none counts."""
    factors = SecondFactor.objects.select_for_update()
    factor = factors.filter(person_id=person_id, confirmed_at__isnull=False).first()
    if factor is None:
        return REFUSED
    if factor.is_locked:
        return CodeCheck("", factor.locked_until)
    factor.locked_until = None
    method = _use_code(factor, typed_code)
    if method:
        factor.failure_count = factor.lock_count = 0
    else:
        _count_failure(factor)
    factor.save()
    return CodeCheck(method, factor.locked_until)


def _use_code(factor: SecondFactor, typed_code: str) -> str:
    secret = totp.open_secret(factor.sealed_secret, factor.person_id)
    step = totp.find_step(secret, typed_code, factor.last_step) if secret else None
    if step is not None:
        factor.last_step = step
        return "app code"
    unused_codes = factor.recovery_codes.filter(code_hash=_hash_code(typed_code), used_at=None)
    return "recovery code" if unused_codes.update(used_at=clock.now()) else ""


def _count_failure(factor: SecondFactor) -> None:
    factor.failure_count += 1
    if factor.failure_count < MAX_FAILURES:
        return
    duration = FIRST_LOCK * 2 ** min(factor.lock_count, _MAX_DOUBLINGS)
    end = clock.now() + min(duration, LONGEST_LOCK) + timedelta(minutes=1)
    factor.locked_until = end.replace(second=0, microsecond=0)  # pages tell the minute
    factor.failure_count = 0
    factor.lock_count = min(factor.lock_count + 1, _MAX_DOUBLINGS)
    until = factor.locked_until.isoformat(timespec="seconds")
    _record(Act.SECOND_FACTOR_LOCKED, SYSTEM, factor.person_id, until=until)


def _make_recovery_codes(factor: SecondFactor) -> list[str]:
    texts = [
        base64.b32encode(secrets.token_bytes(_RECOVERY_CODE_BYTES)).decode()
        for _ in range(RECOVERY_CODE_COUNT)
    ]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(second_factor=factor, code_hash=_hash_code(text)) for text in texts
    )
    return ["-".join(text[start : start + 4] for start in range(0, len(text), 4)) for text in texts]


def _hash_code(typed_code: str) -> str:
    return hash_token("".join(typed_code.upper().replace("-", " ").split()))


def _record(act: Act, actor: Actor, person_id: int, **details: str) -> None:
    record_act(act, actor, Place(subject=f"person:{person_id}"), **details)
