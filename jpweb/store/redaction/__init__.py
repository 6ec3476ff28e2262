"""Redaction: the one exception to the append-only journal."""
