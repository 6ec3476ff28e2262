"""Executes runs: acquires them, plays their turns, parks them while people think."""
