"""Periodic tasks that one process at a time runs for the whole installation."""
