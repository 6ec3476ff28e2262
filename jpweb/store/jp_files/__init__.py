"""JP's files: found, read, copied here, and written as JP writes them."""
