"""Executing runs: taking one, seeing it through, putting it down while people think."""
