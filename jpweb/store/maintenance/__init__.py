"""Maintenance: leases of periodic tasks and downloads, expiry, cleanup, deactivation."""
