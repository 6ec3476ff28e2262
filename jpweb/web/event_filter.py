"""The event filter of a page: groups of categories, and counts of shown and omitted entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from jpweb.store.transcript import windows
from jpweb.stream.transcript.categories import CATEGORY_GROUPS, PROBLEM_CATEGORIES
from jpweb.web import display_text
from jpweb.web.transcript import FILTER_GROUPS, TranscriptQuery

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Presets by name: the groups that they choose, and the categories that they count.
FILTER_PRESETS = {
    "messages": (("person", "assistant"), ("person", "message", "structure")),
    "questions": (("questions",), ("question",)),
    "problems": (("problems",), PROBLEM_CATEGORIES),
}


@dataclass(frozen=True, slots=True)
class FilterGroup:
    """A group of categories: its entries, how many are omitted, and its query strings."""

    name: str
    label: str
    count: int
    omitted_count: int
    base_query: TranscriptQuery

    @property
    def is_chosen(self) -> bool:
        """Whether the query chooses the group."""
        return self.name in self.base_query.show

    @property
    def toggle_query(self) -> str:
        """The query string that adds the group, or removes it where it is chosen."""
        show = self.base_query.show
        other_groups = [name for name in FILTER_GROUPS if (name in show) != (name == self.name)]
        return replace(self.base_query, show=tuple(other_groups)).to_query_string()

    @property
    def only_query(self) -> str:
        """The query string that chooses the group alone."""
        return replace(self.base_query, show=(self.name,)).to_query_string()


@dataclass(frozen=True, slots=True)
class FilterPreset:
    """A named choice of groups: its entries and its query string."""

    label: str
    count: int
    is_chosen: bool
    query_string: str


@dataclass(frozen=True, slots=True)
class FilterCounts:
    """Entry counts of a filtered conversation.

    ``shown_count``, the omitted entries of ``omitted_groups``, and ``omitted_turn_marks``
    (beginnings of turns) add up to its length.
    """

    groups: list[FilterGroup]
    shown_count: int
    omitted_turn_marks: int

    @property
    def omitted_groups(self) -> list[FilterGroup]:
        """The groups with omitted entries."""
        return [
            group for group in self.groups if group.name in CATEGORY_GROUPS and group.omitted_count
        ]


def build_filter_context(conversation: Conversation, query: TranscriptQuery) -> dict[str, Any]:
    """Return the context of the event filter's template."""
    return {
        "conversation": conversation,
        "page_url": reverse("conversation", args=[conversation.pk]),
        "query": query,
        "counts": count_entries(conversation, query),
        "presets": build_presets(conversation, query),
    }


def count_entries(conversation: Conversation, query: TranscriptQuery) -> FilterCounts:
    """Return how many entries of a conversation a query shows, and how many it omits."""
    shown_categories = query.categories
    shown_counts = (
        conversation.category_counts
        if shown_categories is None
        else windows.count_by_category(conversation.pk, shown_categories)
    )
    groups: list[FilterGroup] = []
    for name, categories in FILTER_GROUPS.items():
        count, shown_count = (
            _sum_counts(conversation.category_counts, categories),
            _sum_counts(shown_counts, categories),
        )
        groups.append(
            FilterGroup(
                name, display_text.FILTER_GROUP_LABELS[name], count, count - shown_count, query
            )
        )
    omitted_turn_marks = conversation.category_counts.get("turn", 0) - shown_counts.get("turn", 0)
    return FilterCounts(groups, sum(shown_counts.values()), omitted_turn_marks)


def build_presets(conversation: Conversation, query: TranscriptQuery) -> list[FilterPreset]:
    """Return the presets that have entries, and the one that is chosen."""
    filter_presets = [
        FilterPreset(
            display_text.FILTER_PRESET_LABELS[name],
            _sum_counts(conversation.category_counts, categories),
            query.show == groups,
            replace(query, show=groups).to_query_string(),
        )
        for name, (groups, categories) in FILTER_PRESETS.items()
    ]
    return [preset for preset in filter_presets if preset.count or preset.is_chosen]


def _sum_counts(counts: Mapping[str, int], categories: Iterable[str]) -> int:
    return sum(counts.get(category, 0) for category in categories)
