"""Who can answer now, who has seen what, and how people are told elsewhere."""
