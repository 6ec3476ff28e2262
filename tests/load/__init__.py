"""Benchmarks: each against a floor that is measured in the same run. ``python -m tests.load``."""
