"""Rows derived from a stream: of a whole stream, or of one appended event."""
