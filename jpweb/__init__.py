"""The web side of JP: read, steer and audit conversations with LLM agents."""
