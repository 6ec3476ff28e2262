"""Pages of annotations beside conversations: comments, mentions and bookmarks."""
