"""Secrets between processes: sealed for the one call that waits, and opened nowhere else.

The process whose call waits holds a key that it made for this wait; the question's row names the
process and the public half. What passes between processes is ciphertext (HPKE, RFC 9180) and its
acknowledgement. An acknowledgement only says that there is something to look at: the row tells.

What this does not do: Python cannot wipe what it held, so key and secret stay in the memory of
both processes until that is used again; the length of a secret shows in that of its ciphertext; and
who can read the row and write to the channel layer can seal as anybody, as they could by the row.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import Delivery, Handover, NobodyWaits
from jpweb.store import inquiries
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.running import leases, waiters
from jpweb.store.terms import UNFINISHED, RunState

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry, Run

#: Seconds in which a call has to come to wait for a secret that somebody typed; their page waits
#: for 45 (``questions/_card.html``), and a dead process is found within its lease and a third.
WAITS_WITHIN = 40.0
#: Seconds in which the process of a call that waits has to acknowledge.
ACKNOWLEDGED_WITHIN = 15.0
#: Seconds between two looks at the row meanwhile.
LOOK_AGAIN = 0.25
#: Looks that an acknowledgement is waited for although the row has changed.
_GRACE = 4
#: Messages whose repetition is recognised.
_REMEMBERED = 1000

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
# A form sends no lone surrogates; the error that one would raise would hold the secret.
_CODEC = ("utf-8", "surrogatepass")


class Transport(Protocol):
    """What is needed of the signals."""

    async def to_process(self, name: str, kind: str, **data: Any) -> None:
        """Send something to one process; it may be lost."""

    async def run(self, run_id: int) -> None:
        """Say that a run may be taken."""


class Unopenable(Exception):
    """This was not sealed for the call that waits, or was changed on its way; nothing is opened."""


class Received(StrEnum):
    """What became of a sealed secret."""

    TAKEN = "taken"
    SETTLED = "settled"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Label:
    """What a secret is sealed with: it opens with the same label only, whatever the key."""

    inquiry_key: int
    inquiry_id: str
    process: str
    message: str
    by: Decider

    def encoded(self) -> bytes:
        """Return it as bytes; no two labels are alike."""
        who = [self.by.kind, self.by.name, self.by.person_id]
        bound = [self.inquiry_key, self.inquiry_id, self.process, self.message, *who]
        return json.dumps(["jpweb secret", 1, *bound]).encode()


class Lock:
    """The key of one wait; its private half never leaves this object."""

    __slots__ = ("_key", "inquiry_id", "public")

    def __init__(self, inquiry_id: str) -> None:
        self._key = X25519PrivateKey.generate()
        self.inquiry_id = inquiry_id
        self.public = base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def open(self, sealed: str, label: Label) -> str:
        """Return what was sealed for this key with this label. Raises Unopenable."""
        try:
            whole = base64.b64decode(sealed, validate=True)
            return _SUITE.decrypt(whole, self._key, info=label.encoded()).decode(*_CODEC)
        except (InvalidTag, ValueError):
            raise Unopenable from None


@sensitive_variables()
def seal(value: str, public: str, label: Label) -> str:
    """Seal a secret for who holds a key. Raises Unopenable where that is no key."""
    try:
        key = X25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        sealed = _SUITE.encrypt(value.encode(*_CODEC), key, info=label.encoded())
    except ValueError:
        raise Unopenable from None
    return base64.b64encode(sealed).decode()


@dataclass(frozen=True, slots=True)
class Expectation:
    """One wait for a secret.

    ``run`` is the run as it is held now: once another process has it, nothing is recorded with it.
    ``is_sent`` tells whether somebody sent the secret before the call came to wait.
    """

    arrival: asyncio.Future[Delivery]
    run: Run | None
    is_sent: bool


@dataclass(slots=True)
class Errand:
    """A secret that somebody typed, until it is known what became of it.

    ``tried``: the keys that it was sealed for; ``sent``: one of their holders may have taken it.
    """

    value: str = field(repr=False)
    by: Decider
    tried: set[str] = field(default_factory=set)
    sent: bool = False

    def succeeded(self, row: Inquiry) -> bool:
        """Tell whether the row, open when this began, shows that this secret was taken."""
        return (
            self.sent
            and row.state == "redacted"
            and (row.decided_by, row.decider_id) == (self.by.kind, self.by.person_id)
        )


class Courier:
    """Brings secrets to the calls that wait for them, in this process or in another."""

    def __init__(
        self, handover: Handover, transport: Transport, process: Callable[[], str]
    ) -> None:
        self._handover = handover
        self._transport = transport
        self._name = process
        self._locks: dict[int, Lock] = {}
        self._replies: dict[str, asyncio.Future[Received]] = {}
        self._heard: deque[str] = deque(maxlen=_REMEMBERED)
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def expected(self, row: Inquiry) -> AsyncIterator[Expectation]:
        """Wait for the secret of a question for as long as the block lasts, and let all know."""
        lock = Lock(row.inquiry_id)
        with self._handover.expected(row.pk) as arrival:
            self._locks[row.pk] = lock
            try:
                waiting = await in_store(waiters.wait, row.pk, self._name(), lock.public)
                yield Expectation(arrival, *waiting)
            finally:
                if self._locks.get(row.pk) is lock:
                    del self._locks[row.pk]
                await in_store(waiters.leave, row.pk, self._name(), lock.public)

    @sensitive_variables()
    async def deliver(self, inquiry_key: int, value: str, by: Decider) -> None:
        """Bring a secret to the call that waits; returns once ``redacted`` is on record.

        A run that is parked is woken, and not parked again before its call has the secret; until
        its call waits the secret is in the memory of this call alone. Raises AlreadySettled, and
        NobodyWaits where it was not taken in time.
        """
        errand = Errand(value, by)
        clock = asyncio.get_running_loop().time
        until = clock() + WAITS_WITHIN
        while True:
            row = await in_store(inquiries.get, inquiry_key)
            if row.state != inquiries.OPEN:
                if errand.succeeded(row):
                    return
                raise AlreadySettled(row)
            if await self._offered(row, errand):
                continue
            if row.run is None or row.run.state not in UNFINISHED or clock() >= until:
                await in_store(waiters.leave, row.pk, "", waiters.SENT)
                raise NobodyWaits
            if row.run.state != RunState.RUNNING or not row.waiter:
                await self._wake(row, row.run)
            await asyncio.sleep(LOOK_AGAIN)

    async def _wake(self, row: Inquiry, run: Run) -> None:
        """Wake a run that is parked; its call learns from the row that the secret was sent."""
        if not await in_store(waiters.note_sent, row):
            return  # the row has changed: the next look tells
        if run.state == RunState.PARKED and await in_store(leases.wake, run.pk):
            await self._transport.run(run.pk)

    def hear(self, data: dict[str, Any]) -> None:
        """Take what another process has sealed for a call of this one (kind ``secret``)."""
        message, sender = data.get("message"), data.get("sender")
        if isinstance(message, str) and isinstance(sender, str) and message not in self._heard:
            self._heard.append(message)
            self._spawn(self._take(message, sender, data))

    def hear_back(self, data: dict[str, Any]) -> None:
        """Take an acknowledgement (kind ``secret_ack``)."""
        reply = self._replies.get(str(data.get("message")))
        if reply is not None and not reply.done() and data.get("became") in list(Received):
            reply.set_result(Received(data["became"]))

    async def _offered(self, row: Inquiry, errand: Errand) -> bool:
        """Offer the secret to the call that waits now; tells whether the row may tell more."""
        if self._handover.expects(row.pk) and row.waiter in ("", self._name()):
            try:
                await self._handover.deliver(row.pk, errand.value, errand.by)
            except NobodyWaits:
                return False  # that call has ended; the row tells whether another will come
            errand.sent = True
            return True
        running = row.run is not None and row.run.state == RunState.RUNNING
        if not running or row.waiter in ("", self._name()) or row.seal_key in errand.tried:
            return False
        errand.tried.add(row.seal_key)
        return await self._send(row, errand)

    async def _send(self, row: Inquiry, errand: Errand) -> bool:
        """Send the secret to the one process whose call waits, and wait for what became of it."""
        message = secrets.token_hex(16)
        label = Label(row.pk, row.inquiry_id, row.waiter, message, errand.by)
        try:
            sealed = seal(errand.value, row.seal_key, label)
        except Unopenable:
            return False
        reply: asyncio.Future[Received] = asyncio.get_running_loop().create_future()
        self._replies[message] = reply
        try:
            await self._transport.to_process(
                row.waiter,
                "secret",
                message=message,
                sender=self._name(),
                inquiry=row.pk,
                by=asdict(errand.by),
                sealed=sealed,
            )
            became = await self._reply(row, reply)
        finally:
            del self._replies[message]
        errand.sent = errand.sent or became in (Received.TAKEN, None)
        return True

    async def _reply(self, row: Inquiry, reply: asyncio.Future[Received]) -> Received | None:
        """Return the acknowledgement; None where it does not come, or does not come any more."""
        clock = asyncio.get_running_loop().time
        until, grace = clock() + ACKNOWLEDGED_WITHIN, _GRACE
        while clock() < until and grace:
            await asyncio.wait([reply], timeout=LOOK_AGAIN)
            if reply.done():
                return reply.result()
            now = await in_store(inquiries.get, row.pk)
            if (now.state, now.seal_key) != (row.state, row.seal_key):
                grace -= 1
        return None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self._tasks.add(task)  # the loop itself holds no task
        task.add_done_callback(self._tasks.discard)

    async def _take(self, message: str, sender: str, data: dict[str, Any]) -> None:
        """Open what was sent, hand it over, and acknowledge; only the key's holder can."""
        became = await self._became(message, data)
        await self._transport.to_process(sender, "secret_ack", message=message, became=became)

    @sensitive_variables()
    async def _became(self, message: str, data: dict[str, Any]) -> Received:
        try:
            key, value, by = self._opened(message, data)
            await self._handover.deliver(key, value, by)
        except (Unopenable, NobodyWaits):
            return Received.NOBODY
        except AlreadySettled:
            return Received.SETTLED
        return Received.TAKEN

    def _opened(self, message: str, data: dict[str, Any]) -> tuple[int, str, Decider]:
        """Return what a message says. Raises Unopenable, also where no such call waits."""
        try:
            key, by = data["inquiry"], Decider(**data["by"])
            lock = self._locks[key]
            label = Label(key, lock.inquiry_id, self._name(), message, by)
            return key, lock.open(data["sealed"], label), by
        except (KeyError, TypeError):  # nobody waits, or it is no message of ours
            raise Unopenable from None
