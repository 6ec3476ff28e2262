"""Runs between processes: who holds which, what is said to one, what its calls came to."""
