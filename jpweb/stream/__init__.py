"""A JP conversation as values and rules: pure, no Django, no I/O."""
