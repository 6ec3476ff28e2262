"""Names of files that people download: by title or filter, and date; ASCII, bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

from jpweb.store.database import clock

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Characters of a title or a filter's value, and of all parts of a name.
MAX_PART_CHARS, MAX_NAME_CHARS = 60, 120
#: Filters that name files, in this order.
_NAMED_FILTERS = (
    "conversation", "workspace", "outcome", "reason", "source", "tool", "decider", "person",
    "account", "decided", "words", "identifier", "kind", "act", "state",
)  # fmt: skip
#: Parts of file names for filters that are on or off.
_FLAG_PARTS = {"demo": "with-demo", "unattended": "with-unattended"}
_OTHER_CHARS = re.compile(r"[^a-z0-9]+")


def name_conversation_file(conversation: Conversation, suffix: str) -> str:
    """Return the title and the day of the last activity, such as ``a-plan-2026-10-01.md``."""
    title = _make_slug(conversation.title) or f"jp-c{conversation.jp_id}"
    return f"{title}-{conversation.last_activity.date().isoformat()}{suffix}"


def name_filtered_file(
    prefix: str, query: Mapping[str, str], names: Mapping[str, str], suffix: str
) -> str:
    """Return the filters and the days, such as ``questions-cancelled-2026-10-01-to-….csv``.

    Without days it is today; ``query`` is valid. ``names`` are those of the filters' keys.
    """
    parts = [prefix, *(_name_filter(name, query, names) for name in _NAMED_FILTERS)]
    parts += [part for name, part in _FLAG_PARTS.items() if query.get(name)]
    name = "-".join(filter(None, parts))[:MAX_NAME_CHARS].strip("-")
    return f"{name}-{_name_days(query.get('since', ''), query.get('until', ''))}{suffix}"


def _name_filter(name: str, query: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return the part of a filter; one whose name has no ASCII letter is named by its key."""
    value = query.get(name, "").strip()
    if not value:
        return ""
    if name in names:
        return _make_slug(names[name]) or f"{name}-{_make_slug(value)}"
    return _make_slug(value) or name


def _name_days(since: str, until: str) -> str:
    since, until = _make_slug(since), _make_slug(until)
    if since and until:
        return f"{since}-to-{until}"
    if since or until:
        return f"from-{since}" if since else f"until-{until}"
    return clock.now().date().isoformat()


def _make_slug(text: str) -> str:
    """Return the letters and digits of a text in ASCII, in lower case, joined by hyphens."""
    ascii_text = unicodedata.normalize("NFKD", text[:500]).encode("ascii", "ignore").decode()
    return _OTHER_CHARS.sub("-", ascii_text.lower()).strip("-")[:MAX_PART_CHARS].strip("-")
