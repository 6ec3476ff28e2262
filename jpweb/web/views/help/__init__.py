"""The documentation, as pages of the product."""
