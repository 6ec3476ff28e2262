"""People: sessions, invitations, and rules for names."""
