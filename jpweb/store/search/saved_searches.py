"""Saved searches and views of tables: queries that a person saves under a name."""

from __future__ import annotations

from jpweb.store import db_text
from jpweb.store.choices import SavedPage
from jpweb.store.database import clock
from jpweb.store.models import SavedSearch
from jpweb.store.sql.compiled_query import CompiledQuery

#: Saved searches per person and page, and characters of a name and of a query.
MAX_SAVED = 100
MAX_NAME_CHARS = 80
MAX_QUERY_CHARS = 2000


def list_saved(person_id: int, page: SavedPage = SavedPage.SEARCH) -> list[SavedSearch]:
    """Return a person's searches of a page, by name."""
    return _saved_query([person_id], [page])


#: The ORM takes 0.35 ms longer, for each page of the audit or of search.
_saved_query = CompiledQuery(
    lambda person_ids, pages: SavedSearch.objects.filter(
        person_id__in=person_ids, page__in=pages
    ).order_by("name")[:MAX_SAVED]
)


def save_search(person_id: int, name: str, query: str, page: SavedPage = SavedPage.SEARCH) -> bool:
    """Save a search or overwrite that of the same name; False at ``MAX_SAVED``."""
    my_searches = SavedSearch.objects.filter(person_id=person_id, page=page)
    clean_name = db_text.clean_text(name)[:MAX_NAME_CHARS]
    if my_searches.count() >= MAX_SAVED and not my_searches.filter(name=clean_name).exists():
        return False
    SavedSearch.objects.update_or_create(
        person_id=person_id,
        page=page,
        name=clean_name,
        defaults={"query": db_text.clean_text(query)[:MAX_QUERY_CHARS], "made_at": clock.now()},
    )
    return True


def delete_saved(person_id: int, key: int) -> bool:
    """Delete a saved search of this person; tells whether it existed."""
    return SavedSearch.objects.filter(person_id=person_id, pk=key).delete()[0] > 0
