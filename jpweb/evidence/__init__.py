"""Evidence: checks by a third person without jpweb. No module here imports another package."""
