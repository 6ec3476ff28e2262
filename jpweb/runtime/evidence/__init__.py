"""Evidence bundles: files with which a third person checks conversations without jpweb."""
