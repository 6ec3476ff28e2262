"""Owners' settings of a workspace: trusted commands, and configuration overrides."""
