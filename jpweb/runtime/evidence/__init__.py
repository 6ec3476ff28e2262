"""Evidence bundles: what a third person needs to check conversations without jpweb."""
