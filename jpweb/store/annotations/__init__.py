"""Comments on events, mentions in them, and bookmarks: stored beside a conversation by anchor."""
