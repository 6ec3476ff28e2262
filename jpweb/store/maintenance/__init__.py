"""Leases of periodic tasks, expiry of inquiries, cleanup."""
