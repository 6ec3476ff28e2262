"""The socket of a page."""
