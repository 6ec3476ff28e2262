"""Parts of conversations, each found and read without the rest."""
