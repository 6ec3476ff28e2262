"""URL patterns of comments, bookmarks and mentions."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import CONVERSATION
from jpweb.web.views.annotations import bookmarks, comments, neighbors

urlpatterns = [
    path(f"{CONVERSATION}/comments/next", comments.open_next, name="comment-next"),
    path(f"{CONVERSATION}/comments/<slug:anchor>", comments.show_comments, name="comments"),
    path(f"{CONVERSATION}/comments/<slug:anchor>/add", comments.add_comment, name="comment-add"),
    path(f"{CONVERSATION}/comments/<slug:anchor>/edit", comments.edit_comment, name="comment-edit"),
    path(
        f"{CONVERSATION}/comments/<slug:anchor>/delete",
        comments.delete_comment,
        name="comment-delete",
    ),
    path(
        f"{CONVERSATION}/comments/<slug:anchor>/resolve",
        comments.resolve_comments,
        name="comments-resolve",
    ),
    path(f"{CONVERSATION}/bookmark", bookmarks.toggle_bookmark, name="bookmark"),
    path(f"{CONVERSATION}/neighbour", neighbors.open_neighbor, name="conversation-neighbour"),
    path("bookmarks", bookmarks.list_bookmarks, name="bookmarks"),
    path("mentions", comments.list_mentions, name="mentions"),
    path("mentions/seen", comments.mark_mentions_seen, name="mentions-seen"),
]
