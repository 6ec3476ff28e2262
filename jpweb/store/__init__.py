"""The only code that touches the database or JP's files."""
