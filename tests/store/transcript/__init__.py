"""Parts of conversations."""
