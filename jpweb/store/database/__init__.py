"""Database connections: timeouts, classification of outages, and the database's clock."""
