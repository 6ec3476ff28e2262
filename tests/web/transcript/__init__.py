"""A conversation on a page: its windows, and what comes while it is open."""
