"""The connection to the database: how long it may be silent, and what time it is there."""
