"""Pages of what people add beside conversations: comments, mentions and bookmarks."""
