"""Filters of decisions as conditions of SQL, and the places of a page between them."""
