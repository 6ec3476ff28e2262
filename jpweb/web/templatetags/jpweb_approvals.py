"""Tags and filters of approvals: their arguments and results, clipped or in a field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template

from jpweb.runtime.inquiries.approvals import MAX_EDITABLE_BYTES, get_editable_text
from jpweb.runtime.rendering import payloads
from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from jpweb.store import approvals

if TYPE_CHECKING:
    from jpweb.store.models import Approval
    from jpweb.store.models import Inquiry as Row

register = template.Library()
#: Characters of a long text that are shown, with a link to the rest.
MAX_CLIPPED_CHARS = 12_000


@register.filter
def is_approval(row: Row | Approval) -> bool:
    """Tell whether a row is an approval, not a question."""
    return approvals.is_approval(row)


@register.inclusion_tag("approvals/_clipped_text.html")
def clipped_text(row: Approval, text: str, is_full: bool = False) -> dict[str, Any]:
    """Render arguments or a result: the first characters, the size, and the link to the rest."""
    is_clipped = len(text) > MAX_CLIPPED_CHARS and not is_full
    fields = "" if is_clipped else _render_fields(text)
    return {
        "fields": fields,
        "row": row,
        "shown_text": reveal_invisible(text[:MAX_CLIPPED_CHARS] if is_clipped else text),
        "char_count": len(text),
        "is_cut": is_clipped,
    }


def _render_fields(text: str) -> str:
    """Render a result that is JSON with texts of several lines; return "" for other texts."""
    payload = payloads.make_result_payload(text)
    part = payload.render_part(1) if payload.style == "fields" else None
    return part.html if part and not part.has_more else ""


@register.filter
def is_editable(row: Approval) -> bool:
    """Tell whether the arguments or the result are small enough to be edited in a form."""
    return len(get_editable_text(row).encode()) <= MAX_EDITABLE_BYTES


@register.filter
def editable_text(row: Approval) -> str:
    """Return the arguments or the result as the text of a form field."""
    return get_editable_text(row)
