"""Transcript modes: raw, compacted, and as the model was sent it."""
