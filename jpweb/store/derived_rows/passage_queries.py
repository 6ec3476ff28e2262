"""Compiled queries of the search index's update (``store/search/indexer.py``).

A step takes 23 statements: compiling them took 19 of its 26 ms of processor time.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from django.db.models import Q, Value

from jpweb.store.models import Conversation, Inquiry, Passage
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream.answer_type import Secret

#: Columns by which a stored passage and a draft are compared, where their instant is the same.
COMPARED_COLUMNS = (
    "position", "part", "item_position", "anchor", "category", "body", "tags", "tool", "who",
    "state", "reason",
)  # fmt: skip
STORED_COLUMNS = ("id", "at", *COMPARED_COLUMNS)
StoredRow: TypeAlias = tuple[Any, ...]


class PassageInquiry(NamedTuple):
    """Columns of a question that its passages have."""

    inquiry_id: str
    asker: str
    state: str
    reason: str
    decided_by: str
    decider_name: str
    position: int
    response_position: int | None


find_pending = CompiledQuery(
    lambda excluded_keys: (
        Conversation.objects.filter(~Q(pk__in=excluded_keys), needs_indexing=True)
        .order_by("-last_activity", "-id")
        .values_list("pk")[:1]
    )
)
find_conversation = CompiledQuery(lambda keys: Conversation.objects.filter(pk__in=keys))
lock_columns = CompiledQuery(
    lambda keys: (
        Conversation.objects.select_for_update()
        .filter(pk__in=keys)
        .values_list("entry_count", "revision", "title", "labels")
    )
)
find_range = CompiledQuery(
    lambda keys, starts, ends: Passage.objects.filter(
        conversation_id__in=keys, position__gte=Value(starts[0]), position__lt=Value(ends[0])
    ).values_list(*STORED_COLUMNS)
)
find_at_positions = CompiledQuery(
    lambda keys, positions: Passage.objects.filter(
        conversation_id__in=keys, position__in=positions
    ).values_list(*STORED_COLUMNS)
)
find_taken_ids = CompiledQuery(lambda ids: Passage.objects.filter(pk__in=ids).values_list("pk"))
find_secrets = CompiledQuery(
    lambda keys: Inquiry.objects.filter(
        conversation_id__in=keys, answer_type=Secret.TAG
    ).values_list("inquiry_id")
)
find_inquiries = CompiledQuery(
    lambda keys, first_positions, last_positions: Inquiry.objects.filter(
        Q(position__gte=Value(first_positions[0]), position__lte=Value(last_positions[0]))
        | Q(
            response_position__gte=Value(first_positions[0]),
            response_position__lte=Value(last_positions[0]),
        ),
        conversation_id__in=keys,
    ).values_list(*PassageInquiry._fields)
)
# Of questions that were indexed earlier: answered since, and indexed as open by their passages.
find_settled_later = CompiledQuery(
    lambda keys, first_positions: Inquiry.objects.filter(
        conversation_id__in=keys,
        position__lt=Value(first_positions[0]),
        response_position__gte=Value(first_positions[0]),
    ).values_list("position")
)
find_settled_before = CompiledQuery(
    lambda keys, first_positions, open_states: (
        Inquiry.objects.filter(
            conversation_id__in=keys,
            position__lt=Value(first_positions[0]),
            position__in=Passage.objects.filter(
                conversation_id__in=keys, state__in=open_states
            ).values("position"),
        )
        .exclude(state__in=open_states)
        .values_list("position")
    )
)
