"""One module a page family; they do not import each other."""
