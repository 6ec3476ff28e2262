"""What one process at a time does for the whole installation."""
