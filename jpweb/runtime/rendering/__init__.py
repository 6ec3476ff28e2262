"""Renders untrusted content of events as safe HTML."""

from jpweb.runtime.rendering.markdown import render_markdown

__all__ = ["render_markdown"]
