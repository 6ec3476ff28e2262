"""Rows of tables: what follows from a stream, and many of them at once."""
