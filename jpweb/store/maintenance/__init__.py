"""Maintenance: leases of periodic tasks and downloads, expiry of inquiries, cleanup of old rows."""
