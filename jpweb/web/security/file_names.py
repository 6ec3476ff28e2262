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
#: Filters of the audit table that name its files, in this order.
_NAMED_FILTERS = ("outcome", "reason", "source", "tool", "person", "decided", "words", "kind")
_OTHER_CHARS = re.compile(r"[^a-z0-9]+")


def name_conversation_file(conversation: Conversation, suffix: str) -> str:
    """Return the title and the day of the last activity, such as ``a-plan-2026-10-01.md``."""
    title = _make_slug(conversation.title) or f"jp-c{conversation.jp_id}"
    return f"{title}-{conversation.last_activity.date().isoformat()}{suffix}"


def name_audit_file(query: Mapping[str, str], suffix: str, prefix: str = "questions") -> str:
    """Return the filters and the days, such as ``questions-cancelled-2026-10-01-to-….csv``.

    Without days it is today; ``query`` is valid.
    """
    parts = [prefix, *(_make_slug(query.get(name, "")) for name in _NAMED_FILTERS)]
    if query.get("workspace"):
        parts.append(f"workspace-{_make_slug(query['workspace'])}")
    name = "-".join(filter(None, parts))[:MAX_NAME_CHARS].strip("-")
    return f"{name}-{_name_days(query.get('since', ''), query.get('until', ''))}{suffix}"


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
