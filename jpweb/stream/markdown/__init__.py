"""Conversations as Markdown."""
