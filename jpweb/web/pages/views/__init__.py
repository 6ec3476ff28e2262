"""A conversation otherwise than as its transcript: raw, compacted, and as the model saw it."""
