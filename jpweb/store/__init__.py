"""The store: the only package that accesses the database or JP's files."""
