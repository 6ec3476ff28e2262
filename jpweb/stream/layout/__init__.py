"""Where a reader finds each element: what it is, which item it is part of, items from a part."""
