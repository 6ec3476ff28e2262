"""Search over all conversations, and the full-text index of the database behind it."""
