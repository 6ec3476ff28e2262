"""Masks suspected secrets in elements for pages, search and exports."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from jpweb.store.choices import SuspectedSecretState
from jpweb.store.masking import replacement
from jpweb.store.models import SuspectedSecret
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import base64_fields, wire
from jpweb.stream.errors import MalformedElement
from jpweb.stream.events import ConversationEvent, Element

#: Characters of the longest text whose element is cached, and elements in the cache of a process:
#: those of some 25 pages. Reading them took 1.4 ms of the 19 of a page.
_MAX_CACHED_CHARS, _MAX_CACHED_ELEMENTS = 4_000, 2_000
_read_cached_element = lru_cache(_MAX_CACHED_ELEMENTS)(wire.read_element)


class ContentText(NamedTuple):
    """A string in the content of an element, and the field that has it."""

    place: str
    text: str


class Masks:
    """The masks of some events of a conversation, by anchor."""

    def __init__(self, rows: Iterable[SuspectedSecret] = ()) -> None:
        self._rows_by_anchor: dict[str, list[SuspectedSecret]] = defaultdict(list)
        for row in rows:
            self._rows_by_anchor[row.anchor].append(row)

    def __contains__(self, anchor: str) -> bool:
        return anchor in self._rows_by_anchor

    def read_element(self, anchor: str, text: str) -> Element:
        """Return the element of a stored text, masked."""
        is_short = len(text) <= _MAX_CACHED_CHARS
        element = _read_cached_element(text) if is_short else wire.read_element(text)
        rows = self._rows_by_anchor.get(anchor)
        return mask_element(element, read_secrets(element, rows)) if rows else element

    def mask_text(self, anchor: str, text: str) -> str:
        """Return a stored text, masked."""
        return self.read_element(anchor, text).raw if anchor in self else text


def load_masks(conversation_id: int, anchors: Iterable[str]) -> Masks:
    """Return the masks of these events; one query."""
    keys = list(anchors)
    return Masks(_open_query([conversation_id], keys) if keys else ())


def load_open_rows(conversation_id: int) -> dict[str, list[SuspectedSecret]]:
    """Return all open suspicions of a conversation by the anchor of their event; one query."""
    rows_by_anchor: dict[str, list[SuspectedSecret]] = {}
    for row in _conversation_query([conversation_id]):
        rows_by_anchor.setdefault(row.anchor, []).append(row)
    return rows_by_anchor


def load_conversation_masks(conversation_id: int) -> Masks:
    """Return all masks of a conversation; one query."""
    return Masks(_conversation_query([conversation_id]))


#: The ORM takes 0.4 to 0.5 ms longer for each of these, for each part of a transcript.
_open_query = CompiledQuery(
    lambda conversation_ids, anchors: SuspectedSecret.objects.filter(
        conversation_id__in=conversation_ids, anchor__in=anchors, state=SuspectedSecretState.OPEN
    ).order_by("id")
)
_conversation_query = CompiledQuery(
    lambda conversation_ids: SuspectedSecret.objects.filter(
        conversation_id__in=conversation_ids, state=SuspectedSecretState.OPEN
    ).order_by("id")
)


def list_texts(element: Element) -> list[ContentText]:
    """Return the strings in the content of an element, always in the same order."""
    event = element.body
    if not isinstance(event, ConversationEvent):
        return [ContentText(element.tag, text) for text in _list_raw_texts(element)]
    unread_fields = replacement.read_unread_fields(element)
    metadata = {"metadata": replacement.decode_metadata(event.metadata)}
    fields = event.kind.to_fields() | metadata | unread_fields
    return [
        ContentText(name, text)
        for name in [*replacement.list_content_keys(event), "metadata", *unread_fields]
        for text in replacement.list_strings(fields[name])
    ]


def read_secrets(element: Element, rows: Iterable[SuspectedSecret]) -> dict[str, str]:
    """Return the secrets that these rows find in an element, with their markers."""
    return dict(list_secrets(element, rows))


def list_secrets(element: Element, rows: Iterable[SuspectedSecret]) -> list[tuple[str, str]]:
    """Return the secrets with their markers; one that is of two kinds has two of these."""
    texts = list_texts(element)
    secrets = []
    for row in rows:
        if row.text_index < len(texts):
            text = texts[row.text_index].text
            if secret := text[row.start : row.start + row.length]:
                secrets.append((secret, row.marker))
    return secrets


def mask_element(element: Element, markers_by_secret: Mapping[str, str]) -> Element:
    """Return an element with secrets replaced by their markers, the longest first."""
    for secret in sorted(markers_by_secret, key=len, reverse=True):
        marker = markers_by_secret[secret]
        try:
            element = replacement.replace_in_element(element, [secret], marker).element
        except MalformedElement:  # its form needs the text
            return replacement.replace_whole(element, marker).element
    return element


def _list_raw_texts(element: Element) -> list[str]:
    try:
        value = json.loads(element.raw)
    except (ValueError, RecursionError):
        return [element.raw]
    return replacement.list_strings(base64_fields.map_strings(base64_fields.decode_content, value))
