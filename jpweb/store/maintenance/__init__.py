"""Maintenance: leases of periodic tasks, expiry of inquiries, cleanup of old rows."""
