"""Transcript modes: raw, compacted, and as messages to the model."""
