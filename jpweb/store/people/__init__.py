"""Sign-ins, invitations, and the names that people and workspaces may have."""
