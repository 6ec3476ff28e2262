"""Evidence: what a third person checks without jpweb. No module here imports another package."""
