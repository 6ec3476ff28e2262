"""Queries for parts of a conversation, which never read all of it."""
