"""JP's files: discovery, locks, mirroring, and writing as JP does."""
