from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from jpweb.runtime.inquiries.secret_channels import (
    AssociatedData,
    SealKey,
    SecretDelivery,
    UndecryptableSecret,
    seal_secret,
)
from jpweb.store.inquiries import Decider
from tests.runtime.inquiries.secret_channel.wire import CANARY

BY = Decider("person", "Ada", 1)
LABEL = AssociatedData(7, "call_1.pin.1", "here#1", "m1", BY)


@pytest.mark.parametrize("value", [CANARY, "x", "", "alone: \ud800", "\0", "long " * 20_000])
def test_sealed_secret_opens_with_its_key(value: str):
    lock = SealKey("call_1.pin.1")
    sealed = seal_secret(value, lock.public_key, LABEL)
    assert lock.open_secret(sealed, LABEL) == value
    assert len(value) < 9 or value[:9].encode(errors="replace") not in base64.b64decode(sealed)


def test_the_same_secret_is_never_sealed_the_same_way_twice():
    lock = SealKey("call_1.pin.1")
    assert len({seal_secret(CANARY, lock.public_key, LABEL) for _ in range(20)}) == 20
    assert SealKey("q").public_key != SealKey("q").public_key


@pytest.mark.parametrize(
    "other_label",
    [
        replace(LABEL, inquiry_key=8),
        replace(LABEL, inquiry_id="call_1.pin.2"),
        replace(LABEL, process_name="here#2"),
        replace(LABEL, message="m2"),
        replace(LABEL, decider=Decider("person", "Eve", 1)),
        replace(LABEL, decider=Decider("person", "Ada", 2)),
        replace(LABEL, decider=Decider("person", "Ada")),
        replace(LABEL, decider=Decider("system", "Ada", 1)),
    ],
)
def test_sealed_secret_does_not_open_with_another_label(other_label: AssociatedData):
    lock = SealKey("call_1.pin.1")
    with pytest.raises(UndecryptableSecret):
        lock.open_secret(seal_secret(CANARY, lock.public_key, LABEL), other_label)


def test_sealed_secret_does_not_open_with_another_key():
    with pytest.raises(UndecryptableSecret) as error:
        SealKey("call_1.pin.1").open_secret(
            seal_secret(CANARY, SealKey("q").public_key, LABEL), LABEL
        )
    assert CANARY not in f"{error.value!r} {error.value.args} {error.value.__context__!r}"


@pytest.mark.parametrize(
    "broken", ["", "Zürich", "A", "AAAA", base64.b64encode(bytes(99)).decode()]
)
def test_open_secret_refuses_malformed_text(broken: str):
    with pytest.raises(UndecryptableSecret):
        SealKey("q").open_secret(broken, LABEL)


def test_sealed_secret_that_was_changed_does_not_open():
    lock = SealKey("call_1.pin.1")
    sealed_bytes = bytearray(base64.b64decode(seal_secret(CANARY, lock.public_key, LABEL)))
    for at in (0, 31, 32, len(sealed_bytes) - 1):
        tampered_bytes = sealed_bytes.copy()
        tampered_bytes[at] ^= 1
        with pytest.raises(UndecryptableSecret):
            lock.open_secret(base64.b64encode(tampered_bytes).decode(), LABEL)


@pytest.mark.parametrize("key", ["", "no key", "AAAA", base64.b64encode(bytes(32)).decode()])
def test_seal_secret_refuses_an_invalid_public_key(key: str):
    with pytest.raises(UndecryptableSecret) as error:
        seal_secret(CANARY, key, LABEL)
    assert CANARY not in f"{error.value!r} {error.value.args}"


def test_reprs_of_seal_key_and_delivery_hide_their_content():
    lock, errand = SealKey("q"), SecretDelivery(CANARY, BY)
    private = lock._private_key.private_bytes_raw()
    for text in (repr(lock), str(lock), repr(lock._private_key), repr(errand), str(errand)):
        assert CANARY not in text
        assert repr(private)[2:-1] not in text
        assert private.hex() not in text
    assert not hasattr(lock, "__dict__")
