"""Replacement of text in elements and in the columns that repeat them."""
