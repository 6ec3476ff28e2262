"""People: sessions, invitations, download leases, and rules for names."""
