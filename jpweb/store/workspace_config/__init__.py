"""What owners decide for a workspace: what may run, what is laid over its files."""
