"""Transcript model: the category of an element, its item, and items built of elements."""
