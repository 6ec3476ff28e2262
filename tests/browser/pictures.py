"""Takes the pictures of README and ``docs``; ``make pictures`` runs it.

    python -m tests.browser.pictures [FOLDER]

A server of its own shows the demo and a copy of the sample workspace, in which a stand-in plays
the model. So the pictures differ from the last ones only where the pages do, and in the time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser.workshop.shop import ENVIRONMENT, NAME, Shop, Stay, copy_sample, visit_workshop
from tests.machine.browsing import PHONE, Pages, run_chromium
from tests.machine.ports import wait_until
from tests.machine.programs import HEADLESS_CHROMIUM, ensure_program
from tests.machine.serving import ROOT, Server
from tests.machine.vendors import Call, Reply, Say, Think, run_vendor

FOLDER = ROOT / "docs" / "pictures"
MAX_BYTES = 150_000
#: The people of a workspace, without the path of its folder below them.
_ABOVE_FILES: FloatRect = {"x": 0, "y": 0, "width": 1240, "height": 530}
_DESK, _WINDOW = (1240, 800), (1000, 860)
_CHANGED = (
    "Yes, and no. **Three files** have changed since the last time:\n\n"
    "- `posts/autumn.md` is new.\n- `posts/apples.md` and `index.html` were edited."
)
_PLAN = (
    "The changes are only texts, so nothing has to be built first. The deploy tool asks for "
    "consent and for the passphrase by itself."
)


@contextmanager
def serve_workshop() -> Iterator[Stay]:
    """Serve the demo and a workshop in which everything is trusted."""
    with (
        tempfile.TemporaryDirectory(prefix="jpweb-pictures-") as folder,
        run_vendor("anthropic") as model,
        run_chromium(ensure_program(HEADLESS_CHROMIUM)) as pool,
    ):
        root = copy_sample(Path(folder))
        server = Server(Path(folder) / "data", workspace=root, settings=dict(ENVIRONMENT))
        try:
            shop = Shop(root, model, server.start())
            shop.open_up()
            yield visit_workshop(shop, Pages(pool))
        finally:
            server.close()


def begin_deployment(visit: Stay) -> str:
    """Have two turns, of which the second waits for an answer; return the conversation's path."""
    visit.shop.set_replies(
        Reply(Say(_CHANGED)),
        Reply(Think(_PLAN), Say("I'll deploy the blog now."), Call("deploy", {"service": "blog"})),
    )
    owner = visit.home.owner
    path = owner.begin(visit.home.workspaces()[NAME], "Is the blog online as it is here?")
    form = f'action="{path}/turns"'
    wait_until(lambda: form in owner.get(path).text, "the first turn ends")
    owner.post(f"{path}/turns", path, text="Then bring it online, please.")
    return path


def begin_approval(visit: Stay) -> Page:
    """Have a turn that waits for an approval and for an answer; return its page."""
    visit.shop.set_replies(Reply(Call("wild"), Call("deploy", {"service": "shop"}, id="call_2")))
    return visit.begin("Tidy up, then deploy the shop", workspace=NAME, size=_WINDOW)


def wait_for_cards(page: Page, count: int) -> Locator:
    """Return the open cards of a page, once there are as many."""
    cards = page.locator("#inbox .card[data-outcome=open]")
    expect(cards).to_have_count(count, timeout=20_000)
    return cards


def take_pictures(visit: Stay) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each picture, and the picture as PNG."""
    path = begin_deployment(visit)
    phone = visit.open(path, size=PHONE)
    wait_for_cards(phone, 1).evaluate("card => card.scrollIntoView({block: 'end'})")
    yield "phone", phone.screenshot()
    page = visit.open(path, size=_DESK)
    wait_for_cards(page, 1).evaluate("card => card.scrollIntoView({block: 'end'})")
    yield "conversation", page.screenshot()
    approval = begin_approval(visit)
    wait_for_cards(approval, 2)
    yield "waiting", approval.locator("#inbox").screenshot()
    # Without the demo's hostile texts, which are the newest.
    yield "audit", visit.open("/audit?demo=on&until=2026-10-15", size=_DESK).screenshot()
    yield "ledger", visit.open("/audit/ledger", size=_DESK).screenshot()
    workspace_page = f"/workspaces/{visit.home.workspaces()[NAME]}"
    yield "tools", visit.open(f"{workspace_page}/tools", size=_DESK).screenshot()
    people = visit.open(f"{workspace_page}/people", size=_DESK)
    yield "people", people.screenshot(clip=_ABOVE_FILES)
    yield "configuration", visit.open(f"{path}/configuration", size=_DESK).screenshot()
    yield "settings", visit.open("/settings", size=_DESK).screenshot()
    yield "account", visit.open("/account", size=_DESK).screenshot()


def main(folder: Path = FOLDER) -> int:
    """Write all pictures; return 1 if one is too large for the repository."""
    code = 0
    folder.mkdir(parents=True, exist_ok=True)
    with serve_workshop() as visit:
        for name, picture in take_pictures(visit):
            (folder / f"{name}.png").write_bytes(picture)
            print(f"{name}.png: {len(picture):,} bytes", flush=True)
            if len(picture) > MAX_BYTES:
                print(f"{name}.png is larger than {MAX_BYTES:,} bytes.", file=sys.stderr)
                code = 1
        visit.leave()
    return code


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
