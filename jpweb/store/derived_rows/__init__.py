"""Rows of tables: what follows from a stream; many at once, or one, by SQL that is made once."""
