"""Bulk writes and compiled SQL."""
