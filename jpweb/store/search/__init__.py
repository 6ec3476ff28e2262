"""Search: what was said anywhere, and the index of the database that it is found with."""
