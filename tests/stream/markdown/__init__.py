"""Where a reader finds each element."""
