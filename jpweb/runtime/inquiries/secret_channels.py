"""Delivers secrets between processes, sealed for the one call that waits (HPKE, RFC 9180).

The process of the waiting call makes a key pair for this wait; the inquiry's row names the
process and the public key. Processes exchange ciphertext and an acknowledgement. The
acknowledgement is only a hint: the row decides.

Limits: Python cannot wipe memory, so key and secret stay in both processes until it is reused;
the ciphertext's length reveals the secret's; and a party that reads the row and writes to the
channel layer can seal under any name, as it could through the row.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall, PendingSecret, SecretHandover
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import inquiries
from jpweb.store.choices import UNFINISHED_STATES, RunState
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.run_queue import leases, secret_waiters

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry, Run

#: Seconds within which a call has to wait for a submitted secret. The page's request times out
#: after 45 s (``questions/_card.html``); a dead process is detected within 4/3 of its lease.
SECRET_TIMEOUT_SECONDS = 40.0
#: Seconds within which the waiting call's process has to acknowledge.
ACK_TIMEOUT_SECONDS = 15.0
#: Seconds between two queries of the row during a delivery.
ROW_POLL_SECONDS = 0.25
#: Polls for which an acknowledgement is awaited after the row has changed.
_MAX_GRACE_POLLS = 4
#: Message ids that are remembered, to recognise repeated messages.
_MAX_RECENT_MESSAGES = 1000

_HPKE_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
# A form sends no lone surrogates. Strict encoding would raise an error that holds the secret.
_CODEC = ("utf-8", "surrogatepass")


class SignalTransport(Protocol):
    """The signals that a secret channel sends."""

    async def send_to_process(self, process_name: str, kind: str, **data: Any) -> None:
        """Send a signal to one process; it may be lost."""

    async def publish_run_changed(self, run_id: int) -> None:
        """Publish that a run is queued."""


class UndecryptableSecret(Exception):
    """The ciphertext was sealed for another key or label, or was changed in transit."""


class DeliveryResult(StrEnum):
    """Outcome of a delivery, as the acknowledgement carries it."""

    TAKEN = "taken"
    SETTLED = "settled"
    NO_CALL = "no_call"


@dataclass(frozen=True, slots=True)
class AssociatedData:
    """Associated data of a sealed secret: it decrypts with equal data only, under any key."""

    inquiry_key: int
    inquiry_id: str
    process_name: str
    message: str
    decider: Decider

    def to_bytes(self) -> bytes:
        """Return canonical bytes; two different labels never encode to the same."""
        decider_fields = [*asdict(self.decider).values()]
        fields = [
            self.inquiry_key,
            self.inquiry_id,
            self.process_name,
            self.message,
            *decider_fields,
        ]
        return json.dumps(["jpweb secret", 1, *fields]).encode()


class SealKey:
    """Key pair of one wait; the private key never leaves this object."""

    __slots__ = ("_private_key", "inquiry_id", "public_key")

    def __init__(self, inquiry_id: str) -> None:
        self._private_key = X25519PrivateKey.generate()
        self.inquiry_id = inquiry_id
        self.public_key = base64.b64encode(
            self._private_key.public_key().public_bytes_raw()
        ).decode()

    def open_secret(self, sealed_text: str, associated_data: AssociatedData) -> str:
        """Decrypt a text that was sealed for this key and data. Raises UndecryptableSecret."""
        try:
            ciphertext = base64.b64decode(sealed_text, validate=True)
            return _HPKE_SUITE.decrypt(
                ciphertext, self._private_key, info=associated_data.to_bytes()
            ).decode(*_CODEC)
        except (InvalidTag, ValueError):
            raise UndecryptableSecret from None


@sensitive_variables()
def seal_secret(value: str, public_key: str, associated_data: AssociatedData) -> str:
    """Seal a secret for a public key. Raises UndecryptableSecret where the key is invalid."""
    try:
        key = X25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        ciphertext = _HPKE_SUITE.encrypt(
            value.encode(*_CODEC), key, info=associated_data.to_bytes()
        )
    except ValueError:
        raise UndecryptableSecret from None
    return base64.b64encode(ciphertext).decode()


@dataclass(frozen=True, slots=True)
class SecretExpectation:
    """One wait for a secret.

    ``run`` is the run as this process holds it: once another process has it, a commit with it
    fails.
    ``is_sent``: the secret was sent before this wait began.
    """

    arrival: asyncio.Future[PendingSecret]
    run: Run | None
    is_sent: bool


@dataclass(slots=True)
class SecretDelivery:
    """A typed secret under delivery.

    ``tried_keys``: the public keys it was sealed for; ``is_sent``: a holder may have received it.
    """

    value: str = field(repr=False)
    decider: Decider
    tried_keys: set[str] = field(default_factory=set)
    is_sent: bool = False

    def has_succeeded(self, row: Inquiry) -> bool:
        """Return whether the row, open when delivery began, was settled by this secret."""
        return (
            self.is_sent
            and row.state == "redacted"
            and (row.decided_by, row.decider_id) == (self.decider.kind, self.decider.person_id)
        )


class SecretChannel:
    """Delivers secrets to waiting calls, in this process or another."""

    def __init__(
        self,
        handover: SecretHandover,
        transport: SignalTransport,
        get_process_name: Callable[[], str],
    ) -> None:
        self._handover = handover
        self._transport = transport
        self._get_process_name = get_process_name
        self._seal_keys: dict[int, SealKey] = {}
        self._acknowledgements: dict[str, asyncio.Future[DeliveryResult]] = {}
        self._recent_messages: deque[str] = deque(maxlen=_MAX_RECENT_MESSAGES)
        self._background_tasks = BackgroundTasks()

    @asynccontextmanager
    async def expect_secret(
        self, row: Inquiry, held_run: Run | None = None
    ) -> AsyncIterator[SecretExpectation]:
        """Wait for an inquiry's secret while the block runs; its row publishes the key.

        ``held_run`` is the run as this process holds it: raises LeaseLost where another one has it,
        whose call may wait already.
        """
        seal_key = SealKey(row.inquiry_id)
        with self._handover.expect_secret(row.pk) as arrival:
            self._seal_keys[row.pk] = seal_key
            try:
                run_and_is_sent = await run_in_db_thread(
                    secret_waiters.register_waiter,
                    row.pk,
                    self._get_process_name(),
                    seal_key.public_key,
                    held_run,
                )
                yield SecretExpectation(arrival, *run_and_is_sent)
            finally:
                if self._seal_keys.get(row.pk) is seal_key:
                    del self._seal_keys[row.pk]
                await run_in_db_thread(
                    secret_waiters.unregister_waiter,
                    row.pk,
                    self._get_process_name(),
                    seal_key.public_key,
                )

    @sensitive_variables()
    async def deliver_secret(self, inquiry_key: int, value: str, decider: Decider) -> None:
        """Deliver a secret to the waiting call; return once ``redacted`` is committed.

        A parked run is requeued, and stays unparked until its call has the secret; until then the
        secret is in the memory of this coroutine alone. Raises AlreadySettled, and NoWaitingCall
        after SECRET_TIMEOUT_SECONDS.
        """
        delivery = SecretDelivery(value, decider)
        clock = asyncio.get_running_loop().time
        deadline = clock() + SECRET_TIMEOUT_SECONDS
        while True:
            row = await run_in_db_thread(inquiries.get_inquiry, inquiry_key)
            if row.state != inquiries.OPEN_STATE:
                if delivery.has_succeeded(row):
                    return
                raise AlreadySettled(row)
            if await self._offer_secret(row, delivery):
                continue
            if row.run is None or row.run.state not in UNFINISHED_STATES or clock() >= deadline:
                await run_in_db_thread(
                    secret_waiters.unregister_waiter, row.pk, "", secret_waiters.SENT_MARK
                )
                raise NoWaitingCall
            if row.run.state != RunState.RUNNING or not row.waiter:
                await self._wake_run(row, row.run)
            await asyncio.sleep(ROW_POLL_SECONDS)

    async def _wake_run(self, row: Inquiry, run: Run) -> None:
        """Requeue a parked run; its call learns from the row that the secret was sent."""
        if not await run_in_db_thread(secret_waiters.mark_secret_sent, row):
            return  # the row has changed: the next poll reads it
        if run.state == RunState.PARKED and await run_in_db_thread(leases.requeue_parked, run.pk):
            await self._transport.publish_run_changed(run.pk)

    def on_secret(self, data: dict[str, Any]) -> None:
        """Handle a sealed secret for a call of this process (kind ``secret``)."""
        message, sender = data.get("message"), data.get("sender")
        if (
            isinstance(message, str)
            and isinstance(sender, str)
            and message not in self._recent_messages
        ):
            self._recent_messages.append(message)
            self._background_tasks.spawn_task(self._handle_secret(message, sender, data))

    def on_acknowledgement(self, data: dict[str, Any]) -> None:
        """Handle an acknowledgement (kind ``secret_ack``)."""
        acknowledgement = self._acknowledgements.get(str(data.get("message")))
        if (
            acknowledgement is not None
            and not acknowledgement.done()
            and data.get("result") in list(DeliveryResult)
        ):
            acknowledgement.set_result(DeliveryResult(data["result"]))

    async def _offer_secret(self, row: Inquiry, delivery: SecretDelivery) -> bool:
        """Offer the secret to the waiting call; return whether to read the row again at once."""
        if self._handover.is_expecting(row.pk) and row.waiter in ("", self._get_process_name()):
            try:
                await self._handover.deliver_secret(row.pk, delivery.value, delivery.decider)
            except NoWaitingCall:
                # That call has ended: another secret was first, or the row says who waits next.
                return await run_in_db_thread(inquiries.get_if_settled, row.pk) is not None
            delivery.is_sent = True
            return True
        is_running = row.run is not None and row.run.state == RunState.RUNNING
        if (
            not is_running
            or row.waiter in ("", self._get_process_name())
            or row.seal_key in delivery.tried_keys
        ):
            return False
        delivery.tried_keys.add(row.seal_key)
        return await self._send_sealed(row, delivery)

    async def _send_sealed(self, row: Inquiry, delivery: SecretDelivery) -> bool:
        """Send the sealed secret to the waiting process and await the acknowledgement."""
        message = secrets.token_hex(16)
        associated_data = AssociatedData(
            row.pk, row.inquiry_id, row.waiter, message, delivery.decider
        )
        try:
            sealed_text = seal_secret(delivery.value, row.seal_key, associated_data)
        except UndecryptableSecret:
            return False
        acknowledgement: asyncio.Future[DeliveryResult] = asyncio.get_running_loop().create_future()
        self._acknowledgements[message] = acknowledgement
        try:
            await self._transport.send_to_process(
                row.waiter,
                "secret",
                message=message,
                sender=self._get_process_name(),
                inquiry=row.pk,
                by=asdict(delivery.decider),
                sealed=sealed_text,
            )
            result = await self._wait_for_ack(row, acknowledgement)
        finally:
            del self._acknowledgements[message]
        delivery.is_sent = delivery.is_sent or result in (DeliveryResult.TAKEN, None)
        return True

    async def _wait_for_ack(
        self, row: Inquiry, acknowledgement: asyncio.Future[DeliveryResult]
    ) -> DeliveryResult | None:
        """Return the acknowledgement, or None where it timed out or the row has changed."""
        clock = asyncio.get_running_loop().time
        deadline, grace_polls = clock() + ACK_TIMEOUT_SECONDS, _MAX_GRACE_POLLS
        while clock() < deadline and grace_polls:
            await asyncio.wait([acknowledgement], timeout=ROW_POLL_SECONDS)
            if acknowledgement.done():
                return acknowledgement.result()
            current_row = await run_in_db_thread(inquiries.get_inquiry, row.pk)
            if (current_row.state, current_row.seal_key) != (row.state, row.seal_key):
                grace_polls -= 1
        return None

    async def _handle_secret(self, message: str, sender: str, data: dict[str, Any]) -> None:
        """Decrypt a secret, deliver it locally and send the acknowledgement."""
        result = await self._deliver_locally(message, data)
        await self._transport.send_to_process(sender, "secret_ack", message=message, result=result)

    @sensitive_variables()
    async def _deliver_locally(self, message: str, data: dict[str, Any]) -> DeliveryResult:
        try:
            key, value, decider = self._open_message(message, data)
            await self._handover.deliver_secret(key, value, decider)
        except (UndecryptableSecret, NoWaitingCall):
            return DeliveryResult.NO_CALL
        except AlreadySettled:
            return DeliveryResult.SETTLED
        return DeliveryResult.TAKEN

    def _open_message(self, message: str, data: dict[str, Any]) -> tuple[int, str, Decider]:
        """Decrypt a message. Raises UndecryptableSecret, also where no call waits."""
        try:
            key, decider = data["inquiry"], Decider(**data["by"])
            seal_key = self._seal_keys[key]
            associated_data = AssociatedData(
                key, seal_key.inquiry_id, self._get_process_name(), message, decider
            )
            return key, seal_key.open_secret(data["sealed"], associated_data), decider
        except (KeyError, TypeError):  # no call waits, or the message is malformed
            raise UndecryptableSecret from None
